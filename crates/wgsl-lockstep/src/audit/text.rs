//! The text report.

use super::figures::{degree, table};
use super::notes::Note;
use super::outcome::Audit;
use super::rules::Severity;
use super::subject::Subject;
use super::table::{Table, plural, ratio, share, short};
use crate::report::{Site, Space};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::Duration;

/// Number of notes of a kernel printed with lines of the source. Others are headlines only.
const IN_FULL: usize = 6;

impl Audit {
    /// The text report: `header`, a row of counts for each kernel, notes, and the verdict.
    ///
    /// With `lines` it lists all lines that access memory, and all notes in full. Without, it has
    /// only failures and warnings.
    #[must_use]
    pub fn text(&self, header: &str, lines: bool) -> String {
        report(self, header, lines)
    }

    /// Failures and warnings as in [`Audit::text`], without tables. Empty if there are none.
    #[must_use]
    pub fn brief(&self) -> String {
        let wrong = self.wrong_result.iter().map(|wrong| format!("{wrong}\n"));
        let noted = self.subjects.iter().zip(&self.notes);
        let text: String = wrong
            .chain(noted.map(|(subject, notes)| noted_text(subject, notes, false)))
            .collect();
        text.trim_start_matches('\n').to_owned()
    }
}

fn report(audit: &Audit, header: &str, in_full: bool) -> String {
    let mut text = String::new();
    if !header.is_empty() {
        let _ = writeln!(text, "{}", header.trim_end());
    }
    let all = audit.lane_instructions() as f64;
    let _ = writeln!(
        text,
        "{} lane-instructions in {}: {} a second; warps of {} lanes, {} banks\n",
        short(all).trim_end(),
        time(audit.time),
        short(all / audit.time.as_secs_f64().max(1e-9)),
        audit.config.warp,
        audit.config.banks,
    );
    if !audit.subjects.is_empty() {
        text += &table(&audit.subjects).text();
    }
    let titled = audit.subjects.len() > 1 || audit.subjects.iter().any(|s| s.phase.is_some());
    for (subject, notes) in audit.subjects.iter().zip(&audit.notes) {
        if in_full {
            text += &lines(subject, titled);
        }
        text += &noted_text(subject, notes, in_full);
    }
    let _ = writeln!(text, "\n{}", verdict(audit));
    text
}

/// The notes on a kernel: all of them, or failures and warnings only.
fn noted_text(subject: &Subject, notes: &[Note], all: bool) -> String {
    let mut text = String::new();
    // The notes of a long program would be too many to read.
    let wanted = notes
        .iter()
        .filter(|note| all || note.severity != Severity::Note);
    let mut helps = HashSet::new();
    for (number, note) in wanted.enumerate() {
        let headline = note.headline(&subject.file);
        // One missing barrier causes notes in many locations: the first ones suffice.
        if number >= IN_FULL {
            let gap = if number == IN_FULL { "\n" } else { "" };
            let _ = writeln!(text, "{gap}{headline}");
            continue;
        }
        let _ = write!(text, "\n{headline}\n{}", note.excerpt(&subject.source));
        if helps.insert(&note.help) {
            let _ = writeln!(text, "      = help: {}", note.help);
        }
    }
    text
}

/// Formats a time, in a suitable unit.
fn time(time: Duration) -> String {
    match time.as_secs_f64() {
        s if s >= 1.0 => format!("{s:.3} s"),
        s if s >= 0.01 => format!("{:.2} ms", s * 1e3),
        s if s >= 1e-4 => format!("{:.3} ms", s * 1e3),
        s => format!("{:.1} us", s * 1e6),
    }
}

/// Lists all locations that access memory.
fn lines(subject: &Subject, titled: bool) -> String {
    let mut text = String::new();
    if titled {
        let phase = subject.phase.as_ref().map(|p| format!("{p}: "));
        let _ = write!(text, "\n{}{}\n", phase.unwrap_or_default(), subject.file);
    }
    let location = |site: &Site| format!("{}:{}", site.location.line, site.location.column);
    let mut banked = Table::new(
        3,
        &[
            "workgroup memory",
            "variable",
            "kind",
            "bytes",
            "accesses",
            "lanes",
            "conflict-free",
            "degree",
            "oblivious",
            "cycles",
            "/ least",
        ],
    );
    for site in subject.report.in_space(Space::Workgroup) {
        banked.row(vec![
            location(site),
            site.variable.clone(),
            site.kind.to_string(),
            site.bytes.to_string(),
            site.accesses.to_string(),
            active(site),
            share(site.banks.conflict_free, site.accesses),
            degree(
                site.accesses,
                site.banks.max_degree,
                site.banks_by_word.max_degree,
            ),
            if site.oblivious { "yes" } else { "no" }.to_owned(),
            site.banks.cycles.to_string(),
            ratio(site.banks.cycles, site.banks.min_cycles),
        ]);
    }
    let mut stored = Table::new(
        3,
        &[
            "storage memory",
            "variable",
            "kind",
            "bytes",
            "accesses",
            "lanes",
            "sectors",
            "/ least",
        ],
    );
    for site in subject.report.in_space(Space::Storage) {
        stored.row(vec![
            location(site),
            site.variable.clone(),
            site.kind.to_string(),
            site.bytes.to_string(),
            site.accesses.to_string(),
            active(site),
            site.sectors.to_string(),
            ratio(site.sectors, site.min_sectors),
        ]);
    }
    for table in [banked, stored] {
        if !table.is_empty() {
            let _ = write!(text, "\n{}", table.text());
        }
    }
    text
}

/// The mean number of active lanes per access.
fn active(site: &Site) -> String {
    let mean = site.lanes as f64 / site.accesses.max(1) as f64;
    format!("{mean:.1}")
}

fn verdict(audit: &Audit) -> String {
    let count = |severity| {
        let all = audit.notes.iter().flatten();
        all.filter(|note| note.severity == severity).count()
    };
    let failures = count(Severity::Failure) + usize::from(audit.wrong_result.is_some());
    let mut parts: Vec<String> = [
        (failures, "failure"),
        (count(Severity::Warning), "warning"),
        (count(Severity::Note), "note"),
    ]
    .into_iter()
    .filter(|&(number, _)| number > 0)
    .map(|(number, what)| plural(number as u64, what))
    .collect();
    if failures == 0 {
        parts.insert(0, "clean".to_owned());
    }
    let counts = parts.join(", ");
    match &audit.wrong_result {
        Some(wrong) => format!("{wrong}\n{counts}"),
        None => counts,
    }
}

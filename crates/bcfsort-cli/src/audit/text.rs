//! The report for people.

use super::figures::{degree, table};
use super::notes::{Note, Severity};
use super::sort::hardware;
use super::table::{Table, plural, ratio, share, short};
use super::{Args, Audit, Job, Subject, shader};
use bcfsort_term::timings::time;
use std::collections::HashSet;
use std::fmt::Write as _;
use wgsl_lockstep::{Site, Space};

/// Notes of a kernel that come with the lines of the source; of the others, only the headline.
const IN_FULL: usize = 6;

pub(crate) fn report(audit: &Audit, args: &Args, notes: &[Vec<Note>]) -> String {
    let mut text = String::new();
    match &audit.job {
        Job::Shader(job) => text += &header(job, args),
        Job::Sort(job) => {
            let result = if job.sorted {
                "sorted, the same bytes as the CPU's sort"
            } else {
                "NOT SORTED"
            };
            let _ = writeln!(text, "{}: {result}", job.name());
        }
        Job::All(job) => {
            let _ = writeln!(
                text,
                "{} sorts and prefix sums: {} as the CPU's, byte for byte",
                job.sorts,
                job.sorts - job.unsorted.len()
            );
        }
    }
    let all = audit.lane_instructions() as f64;
    let _ = writeln!(
        text,
        "{} lane-instructions in {}: {} a second; {}\n",
        short(all).trim_end(),
        time(audit.time),
        short(all / audit.time.as_secs_f64().max(1e-9)),
        hardware(&args.config()),
    );
    if !audit.subjects.is_empty() {
        text += &table(audit).text();
    }

    let in_full = args.lines || matches!(audit.job, Job::Shader(_));
    for (subject, notes) in audit.subjects.iter().zip(notes) {
        if in_full {
            text += &lines(subject, !matches!(audit.job, Job::Shader(_)));
        }
        // What is merely slow, there is more of than anyone reads who did not ask for it.
        let wanted = |note: &&Note| in_full || note.severity != Severity::Note;
        let mut helps = HashSet::new();
        for (number, note) in notes.iter().filter(wanted).enumerate() {
            // One missing barrier shows in many places: the first ones tell.
            if number >= IN_FULL {
                let gap = if number == IN_FULL { "\n" } else { "" };
                let _ = writeln!(text, "{gap}{}", note.headline);
                continue;
            }
            let _ = write!(text, "\n{}\n{}", note.headline, note.body);
            if helps.insert(&note.help) {
                let _ = writeln!(text, "      = help: {}", note.help);
            }
        }
    }
    let _ = writeln!(text, "\n{}", verdict(audit, notes, in_full));
    text
}

/// What is run, on what.
fn header(job: &shader::Job, args: &Args) -> String {
    let lanes: u32 = job.workgroup_size.iter().product();
    let mut text = format!(
        "{}: entry point {}: {} of {} ({}), {} bytes of workgroup memory\n",
        job.file,
        job.entry,
        extent(job.workgroups, "workgroup"),
        extent(job.workgroup_size, "lane"),
        plural(lanes.div_ceil(args.warp).into(), "warp"),
        job.workgroup_bytes,
    );
    for buffer in &job.buffers {
        // A count of elements that is 0 makes a shader do nothing, and look clean.
        let advice = if buffer.space == Space::Uniform && !buffer.given {
            format!(" (--buffer {}=words:... sets it)", buffer.place())
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "buffer {} ({}, {}): {}{advice}",
            buffer.place(),
            buffer.name,
            buffer.space,
            buffer.contents
        );
    }
    text
}

/// A size in as many dimensions as it has.
fn extent(size: [u32; 3], what: &str) -> String {
    match size {
        [x, 1, 1] => plural(x.into(), what),
        [x, y, 1] => format!("{x} x {y} {what}s"),
        [x, y, z] => format!("{x} x {y} x {z} {what}s"),
    }
}

/// Every place that accesses memory.
fn lines(subject: &Subject, titled: bool) -> String {
    let mut text = String::new();
    if titled {
        let phase = subject.phase.map(|p| format!("{p}: "));
        let _ = write!(text, "\n{}{}\n", phase.unwrap_or_default(), subject.file);
    }
    let place = |site: &Site| format!("{}:{}", site.location.line, site.location.column);
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
            place(site),
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
            place(site),
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

/// Lanes that take part in an access, in the mean.
fn active(site: &Site) -> String {
    let mean = site.lanes as f64 / site.accesses.max(1) as f64;
    format!("{mean:.1}")
}

fn verdict(audit: &Audit, notes: &[Vec<Note>], in_full: bool) -> String {
    let count = |severity| {
        let all = notes.iter().flatten();
        all.filter(|note| note.severity == severity).count()
    };
    let mut failures = count(Severity::Failure);
    let mut text = String::new();
    if let Some(wrong) = audit.wrong_result() {
        failures += 1;
        text = format!("{wrong}\n");
    }
    let mut parts: Vec<String> = [
        (failures, "failure"),
        (count(Severity::Warning), "warning"),
        (count(Severity::Note), "note"),
    ]
    .into_iter()
    .filter(|&(number, _)| number > 0)
    .map(|(number, what)| plural(number as u64, what))
    .collect();
    if !in_full && count(Severity::Note) > 0 {
        if let Some(last) = parts.last_mut() {
            *last += " (--lines shows them)";
        }
    }
    if failures == 0 {
        parts.insert(0, "clean".to_owned());
    }
    text + &parts.join(", ")
}

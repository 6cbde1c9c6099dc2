//! Notes on a kernel: failures and slow accesses, with locations and advice.

use super::rules::{Rule, Severity};
use super::subject::Subject;
use super::table::{plural, ratio};
use crate::report::{Fault, Finding, Location, Report, Site, Space};
use std::collections::HashSet;
use std::fmt::Write as _;

/// A note is made if accesses to storage touch more than this multiple of the minimum number.
const UNCOALESCED: u64 = 2;

/// WebGPU's default limit of workgroup memory, `maxComputeWorkgroupStorageSize`, in bytes.
const DEFAULT_WORKGROUP_BYTES: u32 = 16_384;

/// A note on a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// The rule that it is about.
    pub rule: Rule,
    /// Its severity.
    pub severity: Severity,
    /// Its location.
    pub location: Location,
    /// The other access of a race, if it is at another location.
    pub other: Option<Location>,
    /// Describes it in one line.
    pub message: String,
    /// Evidence: the lanes and their addresses.
    pub detail: Option<String>,
    /// Advice.
    pub help: String,
}

impl Note {
    /// The location and the message in one line, as compilers print it.
    #[must_use]
    pub fn headline(&self, file: &str) -> String {
        let severity = match self.severity {
            Severity::Failure => "",
            Severity::Warning => "warning: ",
            Severity::Note => "note: ",
        };
        let message = &self.message;
        match self.location.line {
            0 => format!("{file}: {severity}{message}"),
            line => format!(
                "{file}:{line}:{}: {severity}{message}",
                self.location.column
            ),
        }
    }

    /// The lines of the source with the details below.
    pub(super) fn excerpt(&self, source: &str) -> String {
        let mut text = self.location.excerpt(source);
        if let Some(other) = self.other {
            let excerpt = other.excerpt(source);
            if !excerpt.is_empty() {
                let _ = write!(text, "\n      | the other access:\n{excerpt}");
            }
        }
        if !text.is_empty() {
            text.push('\n');
        }
        for line in self.detail.iter().flat_map(|detail| detail.lines()) {
            let _ = writeln!(text, "      = {line}");
        }
        text
    }
}

/// All notes on a kernel, in the order of its source. Conflicts above `max_degree` are failures. So
/// is a limit if no access to workgroup memory was executed.
pub(super) fn of(subject: &Subject, max_degree: Option<u32>) -> Vec<Note> {
    let report = &subject.report;
    let mut notes: Vec<Note> = report
        .findings
        .iter()
        .map(|finding| fault(subject, finding))
        .collect();
    notes.extend(
        groups(report, |site| {
            site.space == Space::Workgroup && site.banks.max_degree > 1
        })
        .iter()
        .map(|sites| conflict(sites, max_degree)),
    );
    notes.extend(
        groups(report, |site| {
            site.space == Space::Storage && site.sectors > UNCOALESCED * site.min_sectors
        })
        .iter()
        .map(|sites| uncoalesced(sites)),
    );
    notes.extend(workgroup_memory(subject));
    // A run that was stopped is a failure already, and may have missed anything.
    if subject.warn_unreached && report.count(Fault::Runaway) == 0 {
        notes.extend(unreached(subject, Space::Workgroup, max_degree));
        notes.extend(unreached(subject, Space::Storage, None));
    }
    notes.sort_by_key(|note| (note.location.line, note.location.column, note.severity));
    notes
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

fn fault(subject: &Subject, finding: &Finding) -> Note {
    let name = finding.variable.as_deref().unwrap_or("memory");
    let often = times(finding.count);
    let storage = finding.space == Some(Space::Storage);
    let rule = Rule::of(finding.fault);
    let other = finding.other.filter(|&other| other != finding.location);
    let (message, help) = match finding.fault {
        Fault::Race => {
            let location = match other {
                None => "here, too,".to_owned(),
                Some(other) => format!("at {}:{}", other.line, other.column),
            };
            (
                format!(
                    "race: another lane touches the same bytes of '{name}' {location} with no \
                     barrier between ({often})"
                ),
                if storage {
                    "within a workgroup, storageBarrier() orders storage (workgroupBarrier() does \
                     not); nothing orders two workgroups: let them touch different bytes, use \
                     atomics, or make it two dispatches"
                } else {
                    "put workgroupBarrier() between the two accesses, where all lanes come by; in \
                     a loop, the next round's accesses count, too"
                }
                .to_owned(),
            )
        }
        Fault::OutOfBounds => (
            format!("bounds: access past the end of '{name}' ({often})"),
            bounds_help(subject, storage),
        ),
        Fault::DivergentBarrier => (
            format!("barrier: not all lanes of the workgroup come here together ({often})"),
            "move it out of the branch or loop that lanes leave one by one: let those that have \
             nothing to do skip the work, not the barrier"
                .to_owned(),
        ),
        Fault::Runaway => (
            format!("loop: it does not end within the limits ({often})"),
            "if it is to take so long, raise --max-iterations or --max-lane-instructions"
                .to_owned(),
        ),
        Fault::Uninitialised => (
            format!("'{name}' is read where no lane of the workgroup has written ({often})"),
            "WGSL makes it zero there, which costs a pass over the memory before each workgroup; \
             without that it is garbage"
                .to_owned(),
        ),
        Fault::AtomicOrder => {
            let location = match other {
                None => "here, too,".to_owned(),
                Some(other) => format!("at {}:{}", other.line, other.column),
            };
            (
                format!(
                    "order of atomics: the result depends on the order of lanes: another lane \
                     changes the same word of '{name}' {location} with no barrier between ({often})"
                ),
                "put a barrier between the two operations; it is no race, and if any order will \
                 do, leave it so"
                    .to_owned(),
            )
        }
    };
    Note {
        rule,
        severity: rule.severity(),
        location: finding.location,
        other,
        message,
        detail: Some(format!("first: {}", finding.example)),
        help,
    }
}

/// Advice for an access out of bounds.
fn bounds_help(subject: &Subject, storage: bool) -> String {
    let mut help = if storage {
        "do it only if the index is below arrayLength(), or give the buffer more room"
    } else {
        "do it only if the index is below the array's length"
    }
    .to_owned();
    let made_up: Vec<String> = subject
        .default_buffers
        .iter()
        .filter(|buffer| buffer.space == Space::Storage)
        .map(|buffer| format!("{}.{} ({})", buffer.group, buffer.binding, buffer.name))
        .collect();
    if !made_up.is_empty() {
        let _ = write!(
            help,
            "; nobody chose the contents of {}: if the shader takes sizes or indices from there, \
             they are made up, too: set them by --buffer",
            made_up.join(", ")
        );
    }
    help
}

/// Accesses as a reader of the source counts them: a struct's members are one.
fn distinct<'a>(sites: impl Iterator<Item = &'a Site>) -> Vec<&'a Site> {
    let mut known = HashSet::new();
    sites
        .filter(|site| known.insert((site.location, site.kind)))
        .collect()
}

/// A note on all accesses to one kind of memory that were never executed: another branch of a
/// `switch` would otherwise cause a note for each of its lines. A warning, and a failure if a limit
/// is set and none was executed, since every limit then holds.
fn unreached(subject: &Subject, space: Space, max_degree: Option<u32>) -> Option<Note> {
    /// Number of accesses listed after the first.
    const LISTED: usize = 8;
    let report = &subject.report;
    let unreached = distinct(report.unreached(space));
    let (first, others) = unreached.split_first()?;
    let all = distinct(report.in_space(space)).len();
    let memory = match space {
        Space::Workgroup => "workgroup memory",
        _ => "storage",
    };
    let limit = max_degree.filter(|_| unreached.len() == all);
    let message = match (limit, unreached.len()) {
        (Some(most), _) => format!(
            "unreached: no access to {memory} was executed, so --max-degree {most} checks nothing"
        ),
        (None, 1) => format!("unreached: {} was never executed", action(&[first])),
        (None, count) => format!(
            "unreached: {count} of {all} accesses to {memory} were never executed, the first: {}",
            action(&[first])
        ),
    };
    let name = |site: &&Site| {
        let Location { line, column, .. } = site.location;
        format!("{line}:{column} ({} of '{}')", site.kind, site.variable)
    };
    let mut list: Vec<String> = others.iter().take(LISTED).map(name).collect();
    if others.len() > LISTED {
        list.push(format!("and {} more", others.len() - LISTED));
    }
    let severity = match limit {
        Some(_) => Severity::Failure,
        None => Rule::UnreachedAccess.severity(),
    };
    Some(Note {
        rule: Rule::UnreachedAccess,
        severity,
        location: first.location,
        other: None,
        message,
        detail: (!list.is_empty()).then(|| format!("others: {}", list.join(", "))),
        help: unreached_help(subject),
    })
}

/// Advice for accesses that were never executed.
fn unreached_help(subject: &Subject) -> String {
    let buffers = subject.default_buffers.iter();
    let zero: Vec<String> = buffers
        .filter(|buffer| buffer.space == Space::Uniform)
        .map(|b| format!("--buffer {}.{}=... ({})", b.group, b.binding, b.name))
        .collect();
    if zero.is_empty() {
        "another --buffer, --override or --workgroups may reach it".to_owned()
    } else {
        let options = zero.join(", ");
        format!("is a buffer all zero? set it with {options}; uniforms are zero by default")
    }
}

/// A note if the kernel uses more workgroup memory than WebGPU guarantees.
fn workgroup_memory(subject: &Subject) -> Option<Note> {
    let variables = &subject.workgroup_variables;
    // WebGPU rounds each variable up to 16 bytes.
    let bytes: u32 = variables.iter().map(|v| v.bytes.next_multiple_of(16)).sum();
    if bytes <= DEFAULT_WORKGROUP_BYTES {
        return None;
    }
    let largest = variables.iter().max_by_key(|variable| variable.bytes)?;
    let each = variables.iter().map(|v| format!("{} {}", v.name, v.bytes));
    Some(Note {
        rule: Rule::WorkgroupMemory,
        severity: Rule::WorkgroupMemory.severity(),
        location: largest.location,
        other: None,
        message: format!(
            "workgroup memory: {bytes} bytes, and WebGPU guarantees {DEFAULT_WORKGROUP_BYTES}"
        ),
        detail: Some(format!(
            "bytes by variable: {}",
            each.collect::<Vec<_>>().join(", ")
        )),
        help: "use less, or request maxComputeWorkgroupStorageSize of as much from the device and \
               check that the adapter has it"
            .to_owned(),
    })
}

/// Groups sites that share a note: `a[i] += 1` loads and stores with one stride.
fn groups(report: &Report, wanted: impl Fn(&Site) -> bool) -> Vec<Vec<&Site>> {
    let mut groups: Vec<Vec<&Site>> = Vec::new();
    let key = |site: &Site| {
        let distance = Distance::of(&site.worst).map(|distance| distance.bytes);
        (
            site.location.line,
            site.banks.max_degree,
            site.bytes,
            distance,
        )
    };
    for site in report.sites.iter().filter(|site| wanted(site)) {
        let same = |group: &&mut Vec<&Site>| {
            key(group[0]) == key(site) && group[0].variable == site.variable
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(site),
            None => groups.push(vec![site]),
        }
    }
    groups
}

/// Describes the accesses of sites: `load and store of 'a'`.
fn action(sites: &[&Site]) -> String {
    let mut kinds: Vec<&str> = sites.iter().map(|site| site.kind.name()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let kinds = kinds.join(" and ");
    let atomic = if kinds.ends_with("atomic") {
        " access"
    } else {
        ""
    };
    format!("{kinds}{atomic} of '{}'", sites[0].variable)
}

fn conflict(sites: &[&Site], max_degree: Option<u32>) -> Note {
    let site = sites[0];
    let degree = site.banks.max_degree;
    let (severity, limit) = match max_degree.filter(|&most| degree > most) {
        Some(most) => (Severity::Failure, format!(", above --max-degree {most}")),
        None => (Rule::BankConflict.severity(), String::new()),
    };
    let sum = |of: fn(&Site) -> u64| sites.iter().map(|&site| of(site)).sum();
    let message = format!(
        "conflict: degree {degree}{limit}: {degree} different words of one bank at once, by {}; {} \
         the cycles",
        action(sites),
        ratio(sum(|s| s.banks.cycles), sum(|s| s.banks.min_cycles)),
    );
    let banks = site.bank_degrees.len() as u32;
    let distance = Distance::of(&site.worst).filter(|distance| distance.bytes % 4 == 0);
    let apart = distance.map(|distance| {
        format!(
            "{} are {} apart, and every {banks} words the banks are the same again",
            distance.who(),
            plural(distance.bytes.unsigned_abs() / 4, "word"),
        )
    });
    let detail: Vec<String> = apart
        .into_iter()
        .chain(meeting(&site.worst, banks))
        .collect();
    let help = match distance {
        Some(Distance { all: false, .. }) if site.oblivious => {
            "a warp spans several rows of lanes, which meet: let it span one, or choose the rows' \
             distance so that their banks do not overlap"
                .to_owned()
        }
        Some(Distance { bytes, .. }) if site.bytes == 4 && bytes / 4 % 2 == 0 => format!(
            "let lanes side by side take words side by side, or pad: {} words apart, or any odd \
             number, they do not meet",
            bytes.abs() / 4 + 1
        ),
        Some(_) if site.oblivious => {
            "let lanes side by side take elements side by side, or keep each member in an array \
             of its own"
                .to_owned()
        }
        None if site.oblivious => {
            "change the layout, so that the lanes of a warp take words of different banks in each \
             step: by padding, or by a rotation that depends on the row"
                .to_owned()
        }
        _ => "the data decides where lanes go: sort or bin it before, or keep a copy for each few \
              lanes"
            .to_owned(),
    };
    Note {
        rule: Rule::BankConflict,
        severity,
        location: site.location,
        other: None,
        message,
        detail: (!detail.is_empty()).then(|| detail.join("\n")),
        help,
    }
}

fn uncoalesced(sites: &[&Site]) -> Note {
    let site = sites[0];
    let sum = |of: fn(&Site) -> u64| sites.iter().map(|&site| of(site)).sum();
    let message = format!(
        "uncoalesced {}: {} the sectors of 32 bytes that would do",
        action(sites),
        ratio(sum(|s| s.sectors), sum(|s| s.min_sectors)),
    );
    let detail = if let Some(distance) = Distance::of(&site.worst) {
        format!(
            "{} are {} bytes apart, and take {} each",
            distance.who(),
            distance.bytes.abs(),
            site.bytes
        )
    } else {
        format!(
            "{} lanes at no regular distance take {} bytes each",
            site.worst.len(),
            site.bytes
        )
    };
    Note {
        rule: Rule::UncoalescedAccess,
        severity: Rule::UncoalescedAccess.severity(),
        location: site.location,
        other: None,
        message,
        detail: Some(detail),
        help: "let lanes side by side take elements side by side (index = step * lanes + lane), \
               keep each member in an array of its own, or go through workgroup memory"
            .to_owned(),
    }
}

/// The distance in bytes from a lane's address to the next lane's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Distance {
    bytes: i64,
    /// True if it holds for all lanes. A warp may cover several rows of a workgroup.
    all: bool,
}

impl Distance {
    /// The distance between most lanes. `None` if most lanes have no common distance, or share an
    /// address.
    fn of(lanes: &[(u32, u32)]) -> Option<Self> {
        let pairs = lanes.windows(2).filter(|pair| pair[1].0 == pair[0].0 + 1);
        let mut distances: Vec<i64> = pairs
            .map(|pair| i64::from(pair[1].1) - i64::from(pair[0].1))
            .collect();
        distances.sort_unstable();
        let most = distances
            .chunk_by(|a, b| a == b)
            .max_by_key(|equal| equal.len())?;
        let bytes = most[0];
        (most.len() * 2 > lanes.len() && bytes != 0).then_some(Self {
            bytes,
            all: most.len() + 1 == lanes.len(),
        })
    }

    const fn who(self) -> &'static str {
        if self.all {
            "lanes side by side"
        } else {
            "most lanes side by side"
        }
    }
}

/// Describes two lanes that access different words of the bank with the most words.
fn meeting(lanes: &[(u32, u32)], banks: u32) -> Option<String> {
    let first_two = |bank: u32| {
        let in_bank = || {
            let words = lanes.iter().map(|&(lane, byte)| (lane, byte / 4));
            words.filter(move |(_, word)| word % banks == bank)
        };
        let first = in_bank().next()?;
        let second = in_bank().find(|other| other.1 != first.1)?;
        let mut words: Vec<u32> = in_bank().map(|(_, word)| word).collect();
        words.sort_unstable();
        words.dedup();
        Some((words.len(), bank, first, second))
    };
    let worst = (0..banks.max(1))
        .filter_map(first_two)
        .max_by_key(|w| w.0)?;
    let (_, bank, (a, word_a), (b, word_b)) = worst;
    Some(format!(
        "lane {a} is at word {word_a} and lane {b} at word {word_b}, both in bank {bank}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        let of = |lanes: &[(u32, u32)]| Distance::of(lanes).map(|d| (d.bytes, d.all));
        assert_eq!(of(&[(0, 8), (1, 16), (2, 24)]), Some((8, true)));
        assert_eq!(of(&[(0, 8), (1, 4), (2, 0)]), Some((-4, true)));
        let rows = [(0, 0), (1, 64), (2, 128), (3, 192), (4, 4), (5, 68)];
        assert_eq!(of(&rows), Some((64, false)));
        assert_eq!(of(&[(0, 8), (1, 16), (2, 20)]), None);
        assert_eq!(of(&[(0, 8), (2, 16)]), None);
        assert_eq!(of(&[(0, 8), (1, 8), (2, 8)]), None);
        assert_eq!(of(&[(5, 8)]), None);
    }

    #[test]
    fn lanes_that_meet() {
        let text = meeting(&[(0, 0), (1, 4), (2, 4 + 128), (3, 4)], 32).unwrap();
        assert_eq!(
            text,
            "lane 1 is at word 1 and lane 2 at word 33, both in bank 1"
        );
        assert_eq!(meeting(&[(0, 0), (1, 0)], 32), None);
    }
}

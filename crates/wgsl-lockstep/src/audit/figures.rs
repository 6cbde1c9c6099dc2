//! The total counts of a kernel, and the table of kernels.

use super::outcome::Audit;
use super::subject::Subject;
use super::table::{Table, number, ratio, share, short};
use crate::report::{Fault, Report, Space};

/// Sums over all sites of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// Number of dispatches.
    pub dispatches: u64,
    /// Number of workgroups run.
    pub workgroups: u64,
    /// Operations on lanes.
    pub lane_instructions: u64,
    /// Accesses to workgroup memory.
    pub accesses: u64,
    /// Accesses to workgroup memory without bank conflicts.
    pub conflict_free: u64,
    /// The largest degree of a bank conflict.
    pub max_degree: u32,
    /// The largest degree if accesses are split into 4-byte accesses.
    pub max_degree_by_word: u32,
    /// True if the counts of workgroup memory hold for all data.
    pub oblivious: bool,
    /// Cycles of workgroup memory: the sum of all degrees.
    pub cycles: u64,
    /// Cycles of the same accesses without conflicts.
    pub min_cycles: u64,
    /// Accesses to storage.
    pub storage_accesses: u64,
    /// 32-byte sectors of storage touched.
    pub sectors: u64,
    /// The minimum number of sectors for these bytes.
    pub min_sectors: u64,
    /// Races, lane by lane.
    pub races: u64,
    /// Accesses out of bounds, lane by lane.
    pub out_of_bounds: u64,
    /// Divergent barriers.
    pub divergent_barriers: u64,
    /// Loops that exceeded their limit.
    pub runaway_loops: u64,
    /// Reads of uninitialised workgroup memory.
    pub uninitialised: u64,
    /// Atomic operations whose order no barrier decides, and that do not commute.
    pub atomic_orders: u64,
}

impl Figures {
    /// Sums the counts of a report.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        let mut figures = Self {
            dispatches: report.dispatches,
            workgroups: report.workgroups,
            lane_instructions: report.lane_instructions,
            races: report.count(Fault::Race),
            out_of_bounds: report.count(Fault::OutOfBounds),
            divergent_barriers: report.count(Fault::DivergentBarrier),
            runaway_loops: report.count(Fault::Runaway),
            uninitialised: report.count(Fault::Uninitialised),
            atomic_orders: report.count(Fault::AtomicOrder),
            oblivious: report.is_oblivious(Space::Workgroup),
            ..Self::default()
        };
        for site in report.in_space(Space::Workgroup) {
            figures.accesses += site.accesses;
            figures.conflict_free += site.banks.conflict_free;
            figures.max_degree = figures.max_degree.max(site.banks.max_degree);
            figures.max_degree_by_word = figures
                .max_degree_by_word
                .max(site.banks_by_word.max_degree);
            figures.cycles += site.banks.cycles;
            figures.min_cycles += site.banks.min_cycles;
        }
        for site in report.in_space(Space::Storage) {
            figures.storage_accesses += site.accesses;
            figures.sectors += site.sectors;
            figures.min_sectors += site.min_sectors;
        }
        figures
    }

    /// Adds the counts of another run or kernel.
    pub fn add(&mut self, other: &Self) {
        self.dispatches += other.dispatches;
        self.workgroups += other.workgroups;
        self.lane_instructions += other.lane_instructions;
        self.accesses += other.accesses;
        self.conflict_free += other.conflict_free;
        self.max_degree = self.max_degree.max(other.max_degree);
        self.max_degree_by_word = self.max_degree_by_word.max(other.max_degree_by_word);
        self.oblivious &= other.oblivious;
        self.cycles += other.cycles;
        self.min_cycles += other.min_cycles;
        self.storage_accesses += other.storage_accesses;
        self.sectors += other.sectors;
        self.min_sectors += other.min_sectors;
        self.races += other.races;
        self.out_of_bounds += other.out_of_bounds;
        self.divergent_barriers += other.divergent_barriers;
        self.runaway_loops += other.runaway_loops;
        self.uninitialised += other.uninitialised;
        self.atomic_orders += other.atomic_orders;
    }

    fn degree(&self) -> String {
        degree(self.accesses, self.max_degree, self.max_degree_by_word)
    }
}

/// Formats whether counts hold for all data; `-` without accesses.
fn oblivious(figures: &Figures) -> String {
    let answer = match (figures.accesses, figures.oblivious) {
        (0, true) => "-",
        (_, true) => "yes",
        (_, false) => "no",
    };
    answer.to_owned()
}

/// Formats the degree, and the degree by 4-byte words if it differs.
pub(super) fn degree(accesses: u64, wide: u32, by_word: u32) -> String {
    if wide == by_word {
        return number(wide.into(), accesses);
    }
    format!("{wide} (by word {by_word})")
}

/// A row: the phase, the kernel's name, and the sum over all subjects with both.
type Row<'a> = (Option<&'a str>, &'a str, Figures);

fn rows(subjects: &[Subject]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for subject in subjects {
        let figures = Figures::of(&subject.report);
        let (phase, kernel) = (subject.phase.as_deref(), subject.kernel.as_str());
        match rows
            .iter_mut()
            .find(|row| (row.0, row.1) == (phase, kernel))
        {
            Some(row) => row.2.add(&figures),
            None => rows.push((phase, kernel, figures)),
        }
    }
    rows
}

/// A table of all kernels with all counts.
pub(super) fn table(subjects: &[Subject]) -> Table {
    let rows = rows(subjects);
    let phases = rows.iter().any(|row| row.0.is_some());
    let mut head = vec![
        "kernel",
        "dispatches",
        "workgroups",
        "lane-instr.",
        "wg accesses",
        "conflict-free",
        "degree",
        "oblivious",
        "cycles",
        "/ least",
        "sectors",
        "/ least",
        "races",
        "bounds",
        "barriers",
        "loops",
        "uninit.",
    ];
    if phases {
        head.insert(0, "phase");
    }
    let mut table = Table::new(1 + usize::from(phases), &head);
    for (phase, kernel, f) in rows {
        let mut cells = vec![
            kernel.to_owned(),
            f.dispatches.to_string(),
            f.workgroups.to_string(),
            short(f.lane_instructions as f64),
            f.accesses.to_string(),
            share(f.conflict_free, f.accesses),
            f.degree(),
            oblivious(&f),
            number(f.cycles, f.accesses),
            ratio(f.cycles, f.min_cycles),
            number(f.sectors, f.storage_accesses),
            ratio(f.sectors, f.min_sectors),
            f.races.to_string(),
            f.out_of_bounds.to_string(),
            f.divergent_barriers.to_string(),
            f.runaway_loops.to_string(),
            f.uninitialised.to_string(),
        ];
        if phases {
            cells.insert(0, phase.unwrap_or_default().to_owned());
        }
        table.row(cells);
    }
    table
}

impl Audit {
    /// The counts of all kernels as a Markdown table.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown(&self.subjects)
    }
}

/// The most important counts of all kernels, as Markdown.
fn markdown(subjects: &[Subject]) -> String {
    let rows = rows(subjects);
    let phases = rows.iter().any(|row| row.0.is_some());
    let mut head = vec![
        "kernel",
        "workgroup accesses",
        "conflict-free",
        "max degree",
        "oblivious",
        "races",
        "out of bounds",
        "sectors / least",
    ];
    if phases {
        head.insert(0, "phase");
    }
    let mut table = Table::new(1 + usize::from(phases), &head);
    for (phase, kernel, f) in rows {
        let mut cells = vec![
            format!("`{kernel}`"),
            f.accesses.to_string(),
            share(f.conflict_free, f.accesses),
            f.degree(),
            oblivious(&f),
            f.races.to_string(),
            f.out_of_bounds.to_string(),
            ratio(f.sectors, f.min_sectors),
        ];
        if phases {
            cells.insert(0, phase.unwrap_or_default().to_owned());
        }
        table.row(cells);
    }
    table.markdown()
}

//! The counts of a kernel as a whole, and the table of kernels.

use super::table::{Table, number, ratio, share, short};
use super::{Audit, rows};
use wgpu_bcfsort::internals::recording::Phase;
use wgsl_lockstep::{Fault, Report, Space};

/// Sums over all places of a kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) dispatches: u64,
    pub(crate) workgroups: u64,
    pub(crate) lane_instructions: u64,
    /// Accesses to workgroup memory.
    pub(crate) accesses: u64,
    pub(crate) conflict_free: u64,
    pub(crate) max_degree: u32,
    pub(crate) max_degree_by_word: u32,
    /// Whether the counts of workgroup memory hold for all data.
    pub(crate) oblivious: bool,
    pub(crate) cycles: u64,
    pub(crate) min_cycles: u64,
    pub(crate) storage_accesses: u64,
    pub(crate) sectors: u64,
    pub(crate) min_sectors: u64,
    pub(crate) races: u64,
    pub(crate) out_of_bounds: u64,
    pub(crate) divergent_barriers: u64,
    pub(crate) runaway_loops: u64,
    pub(crate) uninitialised: u64,
}

impl Figures {
    pub(crate) fn of(report: &Report) -> Self {
        let mut figures = Self {
            dispatches: report.dispatches,
            workgroups: report.workgroups,
            lane_instructions: report.lane_instructions,
            races: report.count(Fault::Race),
            out_of_bounds: report.count(Fault::OutOfBounds),
            divergent_barriers: report.count(Fault::DivergentBarrier),
            runaway_loops: report.count(Fault::Runaway),
            uninitialised: report.count(Fault::Uninitialised),
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

    /// Adds those of another run, or of another kernel of the same name.
    pub(crate) fn add(&mut self, other: &Self) {
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
    }

    fn degree(&self) -> String {
        degree(self.accesses, self.max_degree, self.max_degree_by_word)
    }
}

/// Whether counts hold for all data; `-` where there is nothing to count.
fn oblivious(figures: &Figures) -> String {
    let answer = match (figures.accesses, figures.oblivious) {
        (0, true) => "-",
        (_, true) => "yes",
        (_, false) => "no",
    };
    answer.to_owned()
}

/// The degree, and in words of 4 bytes where that is another.
pub(crate) fn degree(accesses: u64, wide: u32, by_word: u32) -> String {
    if wide == by_word {
        return number(wide.into(), accesses);
    }
    format!("{wide} (by word {by_word})")
}

/// Every kernel with every count.
pub(crate) fn table(audit: &Audit) -> Table {
    let rows = rows(audit);
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
            kernel,
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
            cells.insert(0, phase.map_or("", Phase::name).to_owned());
        }
        table.row(cells);
    }
    table
}

/// Every kernel with what matters most, as Markdown.
pub(crate) fn markdown(audit: &Audit) -> String {
    let rows = rows(audit);
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
            cells.insert(0, phase.map_or("", Phase::name).to_owned());
        }
        table.row(cells);
    }
    table.markdown()
}

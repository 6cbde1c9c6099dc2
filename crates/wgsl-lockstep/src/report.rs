//! What a run found: counts for every location in the source that touches memory, and what went
//! wrong.

use std::fmt;

/// A location in the WGSL source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// The line, from 1; 0 where the compiler lost it.
    pub line: u32,
    /// The column in bytes, from 1.
    pub column: u32,
    /// Bytes of the construct.
    pub length: u32,
}

impl Location {
    /// The line of the source with the construct underlined, for terminals; empty where the line is
    /// unknown.
    #[must_use]
    pub fn excerpt(self, source: &str) -> String {
        let Some(line) = (self.line as usize)
            .checked_sub(1)
            .and_then(|n| source.lines().nth(n))
        else {
            return String::new();
        };
        let column = (self.column as usize).saturating_sub(1);
        let before: String = line
            .bytes()
            .take(column)
            .map(|b| if b == b'\t' { '\t' } else { ' ' })
            .collect();
        let rest = line.len().saturating_sub(column).max(1);
        let marks = "^".repeat((self.length as usize).clamp(1, rest));
        format!("{:>5} | {line}\n      | {before}{marks}", self.line)
    }
}

/// A kind of memory that lanes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Space {
    /// `var<workgroup>`: banked.
    Workgroup,
    /// `var<storage>`: fetched in sectors.
    Storage,
    /// `var<uniform>`.
    Uniform,
    /// A lane's own variables: nothing is counted there but accesses out of bounds.
    Private,
}

impl Space {
    /// The name used in tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Workgroup => "workgroup",
            Self::Storage => "storage",
            Self::Uniform => "uniform",
            Self::Private => "private",
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessKind {
    /// It reads.
    Load,
    /// It writes.
    Store,
    /// It does both at once, or either by an atomic built-in.
    Atomic,
}

impl AccessKind {
    /// The name used in tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Atomic => "atomic",
        }
    }
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Bank conflicts of one kind of access to workgroup memory.
///
/// The degree of an access is the greatest number of different 4-byte words that the lanes of a
/// warp touch in one bank: it is served in that many cycles, and 1 is free of conflict. Lanes that
/// read one word share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Banks {
    /// Accesses with degree 1 (in every part, where the hardware splits them).
    pub conflict_free: u64,
    /// The greatest degree.
    pub max_degree: u32,
    /// Cycles: the sum of all degrees.
    pub cycles: u64,
    /// The cycles that as many accesses take with no conflict.
    pub min_cycles: u64,
}

impl Banks {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.conflict_free += other.conflict_free;
        self.max_degree = self.max_degree.max(other.max_degree);
        self.cycles += other.cycles;
        self.min_cycles += other.min_cycles;
    }
}

/// One location in the source that accesses memory, and what happened there.
///
/// An access is counted once for each warp with at least one active lane.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Site {
    /// Where.
    pub location: Location,
    /// The variable's name.
    pub variable: String,
    /// The kind of memory.
    pub space: Space,
    /// What the access does.
    pub kind: AccessKind,
    /// Bytes a lane.
    pub bytes: u32,
    /// Whether no value from a data buffer decided where it accesses, or that it does: then what is
    /// counted here is the same for all data. Data buffers are all storage buffers, unless
    /// [`Shader::run_with_data`](crate::Shader::run_with_data) says otherwise.
    pub oblivious: bool,
    /// Accesses: executions of this location by a warp. 0 where no lane came by.
    pub accesses: u64,
    /// Lanes active in them, all together.
    pub lanes: u64,
    /// Workgroup memory: conflicts as hardware with wide accesses has them. A warp is served in
    /// parts that take as many words as there are banks, each with a degree of its own: accesses of
    /// 8 bytes a lane, on as many banks as lanes, in two halves of the warp, those of 16 bytes in
    /// four quarters (as NVIDIA documents for its GPUs), and a warp of 64 lanes on 32 banks in two
    /// halves. Any other width is as many 4-byte accesses.
    pub banks: Banks,
    /// Workgroup memory: conflicts where every access is split into 4-byte accesses, one after the
    /// other.
    pub banks_by_word: Banks,
    /// Workgroup memory: for each bank the most different words of it in one 4-byte access.
    pub bank_degrees: Vec<u32>,
    /// Storage: 32-byte sectors touched, counted for each access.
    pub sectors: u64,
    /// Storage: the fewest sectors that hold as many bytes.
    pub min_sectors: u64,
    /// The access with the greatest degree, or to storage with the most sectors, of several the
    /// first: the active lanes of the warp, in order, and the first byte that each touches of the
    /// buffer or of all workgroup memory.
    pub worst: Vec<(u32, u32)>,
}

impl Site {
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        (
            self.location,
            self.kind,
            self.space,
            self.bytes,
            &self.variable,
        ) == (
            other.location,
            other.kind,
            other.space,
            other.bytes,
            &other.variable,
        )
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.oblivious &= other.oblivious;
        self.accesses += other.accesses;
        self.lanes += other.lanes;
        // Accesses to storage cannot be compared any more: the first one stands for both.
        if self.worst.is_empty() || other.banks.max_degree > self.banks.max_degree {
            self.worst.clone_from(&other.worst);
        }
        self.banks.merge(&other.banks);
        self.banks_by_word.merge(&other.banks_by_word);
        for (a, b) in self.bank_degrees.iter_mut().zip(&other.bank_degrees) {
            *a = (*a).max(*b);
        }
        self.sectors += other.sectors;
        self.min_sectors += other.min_sectors;
    }
}

/// A way for a shader to go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Fault {
    /// Two lanes touch the same bytes, one of them writes, and no barrier orders them.
    Race,
    /// An index past the end of an array, or an address past the end of a buffer.
    OutOfBounds,
    /// A barrier that some lanes of the workgroup do not reach.
    DivergentBarrier,
    /// Workgroup memory is read where this workgroup has written nothing. WGSL reads zeros there,
    /// which costs a pass over the memory at the start; without it, it is garbage.
    Uninitialised,
    /// A loop went round more often than it was allowed, or the run did more than it was allowed.
    Runaway,
}

impl Fault {
    /// The name used in tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Race => "race",
            Self::OutOfBounds => "out of bounds",
            Self::DivergentBarrier => "divergent barrier",
            Self::Uninitialised => "uninitialised read",
            Self::Runaway => "runaway loop",
        }
    }

    /// Whether the shader is wrong: not so of [`Fault::Uninitialised`], which WGSL allows.
    #[must_use]
    pub const fn is_error(self) -> bool {
        !matches!(self, Self::Uninitialised)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something that went wrong at a location in the source, however often.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What.
    pub fault: Fault,
    /// The kind of memory, where it is about memory.
    pub space: Option<Space>,
    /// The variable's name, where it is about one.
    pub variable: Option<String>,
    /// Where.
    pub location: Location,
    /// A race's other access, which came before.
    pub other: Option<Location>,
    /// Times it happened, lane by lane.
    pub count: u64,
    /// The first time in words, with its lanes and numbers.
    pub example: String,
}

/// What a dispatch, or several of one shader, did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Every location that accesses memory, reached or not, in order of the source.
    pub sites: Vec<Site>,
    /// Everything that went wrong, in order of the source.
    pub findings: Vec<Finding>,
    /// Dispatches.
    pub dispatches: u64,
    /// Workgroups run.
    pub workgroups: u64,
    /// Operations on a lane, active lanes only. An operation on a vector counts a component each.
    pub lane_instructions: u64,
}

impl Report {
    /// Adds another report on the same shader.
    pub fn merge(&mut self, other: &Self) {
        for site in &other.sites {
            match self.sites.iter_mut().find(|s| s.is_same_place(site)) {
                Some(known) => known.merge(site),
                None => self.sites.push(site.clone()),
            }
        }
        for finding in &other.findings {
            let same = |f: &&mut Finding| {
                (f.fault, f.location, f.other, f.space)
                    == (
                        finding.fault,
                        finding.location,
                        finding.other,
                        finding.space,
                    )
            };
            match self.findings.iter_mut().find(same) {
                Some(known) => known.count += finding.count,
                None => self.findings.push(finding.clone()),
            }
        }
        self.sort();
        self.dispatches += other.dispatches;
        self.workgroups += other.workgroups;
        self.lane_instructions += other.lane_instructions;
    }

    pub(crate) fn sort(&mut self) {
        self.sites.sort_by_key(|s| (s.location, s.kind, s.space));
        self.findings
            .sort_by_key(|f| (f.location, f.fault, f.other, f.space));
    }

    /// The sites of one kind of memory.
    pub fn in_space(&self, space: Space) -> impl Iterator<Item = &Site> {
        self.sites.iter().filter(move |s| s.space == space)
    }

    /// Bank conflicts of all accesses to workgroup memory together.
    #[must_use]
    pub fn banks(&self) -> Banks {
        let mut all = Banks::default();
        for site in self.in_space(Space::Workgroup) {
            all.merge(&site.banks);
        }
        all
    }

    /// How often a fault happened, lane by lane.
    #[must_use]
    pub fn count(&self, fault: Fault) -> u64 {
        let of = self.findings.iter().filter(|f| f.fault == fault);
        of.map(|f| f.count).sum()
    }

    /// Whether all accesses of a kind of memory are [oblivious](Site::oblivious) to the data.
    #[must_use]
    pub fn is_oblivious(&self, space: Space) -> bool {
        self.in_space(space).all(|s| s.oblivious)
    }

    /// Accesses of a kind of memory by warps.
    #[must_use]
    pub fn accesses(&self, space: Space) -> u64 {
        self.in_space(space).map(|s| s.accesses).sum()
    }
}

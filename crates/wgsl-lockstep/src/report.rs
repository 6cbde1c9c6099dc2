//! The results of a run: counts for each location in the source that accesses memory, and faults.

use std::fmt;

/// A location in the WGSL source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// The line, from 1; 0 if it is unknown.
    pub line: u32,
    /// The column in bytes, from 1.
    pub column: u32,
    /// Length of the construct in bytes.
    pub length: u32,
}

impl Location {
    /// The line of the source with the construct underlined, for terminals. Empty if the line is
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

/// A kind of memory: an address space of WGSL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Space {
    /// `var<workgroup>`, in banks.
    Workgroup,
    /// `var<storage>`, fetched in sectors.
    Storage,
    /// `var<uniform>`.
    Uniform,
    /// A lane's own variables. Only accesses out of bounds are counted.
    Private,
}

impl Space {
    /// Its name in tables and JSON.
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

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessKind {
    /// A read.
    Load,
    /// A write.
    Store,
    /// A read or write by an atomic built-in, or both at once.
    Atomic,
}

impl AccessKind {
    /// Its name in tables and JSON.
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

/// Bank conflicts of accesses to workgroup memory.
///
/// The degree of an access is the largest number of different 4-byte words that the lanes of a warp
/// access in one bank, which is the number of cycles that it needs. Degree 1 is free of conflicts,
/// and degree n is an n-way conflict. Lanes that read the same word share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Banks {
    /// Accesses with degree 1, in all parts if the hardware splits them.
    pub conflict_free: u64,
    /// The largest degree. 0: no access.
    pub max_degree: u32,
    /// Cycles, the sum of all degrees.
    pub cycles: u64,
    /// Cycles of the same accesses without conflicts.
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

/// One location in the source that accesses memory, with its counts.
///
/// An access counts once for each warp with at least one active lane.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Site {
    /// Its location.
    pub location: Location,
    /// The variable's name.
    pub variable: String,
    /// The kind of memory.
    pub space: Space,
    /// The kind of access.
    pub kind: AccessKind,
    /// Bytes per lane.
    pub bytes: u32,
    /// True if no value of a data buffer affects the addresses of this site, or whether it is
    /// executed. Its counts are then the same for all data. All storage buffers are data buffers,
    /// unless [`Shader::run_with_data`](crate::Shader::run_with_data) is used.
    pub oblivious: bool,
    /// Accesses: executions of this location by a warp. 0 if it was not reached, or out of bounds
    /// in all lanes: [`Report::unreached`].
    pub accesses: u64,
    /// Sum of the active lanes of all accesses.
    pub lanes: u64,
    /// Workgroup memory: conflicts on hardware with wide accesses. A warp is served in parts of as
    /// many words as there are banks, and each part has its own degree. With as many banks as
    /// lanes, accesses of 8 bytes per lane are served in two halves of the warp, and accesses of 16
    /// bytes in four quarters, as NVIDIA documents for its GPUs. A warp of 64 lanes on 32 banks is
    /// served in two halves. An access of any other width is split into 4-byte accesses.
    pub banks: Banks,
    /// Workgroup memory: conflicts if each access is split into successive 4-byte accesses.
    pub banks_by_word: Banks,
    /// Workgroup memory: for each bank, the largest number of different words in a 4-byte access.
    pub bank_degrees: Vec<u32>,
    /// Storage: 32-byte sectors touched, summed over all accesses.
    pub sectors: u64,
    /// Storage: the minimum number of sectors for these bytes.
    pub min_sectors: u64,
    /// The first access with the largest degree, or for storage with the most sectors. It lists
    /// each active lane of the warp, with the first byte that it accesses, as an offset in the
    /// buffer or in all of workgroup memory.
    pub worst: Vec<(u32, u32)>,
}

impl Site {
    pub(crate) fn is_same_site(&self, other: &Self) -> bool {
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
        // Accesses to storage cannot be compared any more: the first one is kept.
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

/// A kind of fault in a shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Fault {
    /// Two lanes access the same bytes, one of them writes, and no barrier orders them.
    Race,
    /// An index past the end of an array, or an address past the end of a buffer.
    OutOfBounds,
    /// A barrier that some lanes of the workgroup do not reach.
    DivergentBarrier,
    /// A read of workgroup memory that this workgroup has not written. WGSL guarantees zeros there,
    /// which costs a pass over the memory at the start; without it, the value is undefined.
    Uninitialised,
    /// A loop or the run exceeded its limit.
    Runaway,
    /// Two lanes change a word by atomic operations that do not commute, such as a store and an
    /// addition, and no barrier orders them: the result depends on which comes first. WGSL allows
    /// that. Exchanges and stores among each other are not counted but for stores of different
    /// values.
    AtomicOrder,
}

impl Fault {
    /// Its name in tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Race => "race",
            Self::OutOfBounds => "out of bounds",
            Self::DivergentBarrier => "divergent barrier",
            Self::Uninitialised => "uninitialised read",
            Self::Runaway => "runaway loop",
            Self::AtomicOrder => "order of atomics",
        }
    }

    /// True if the shader is wrong. That excludes [`Fault::Uninitialised`] and
    /// [`Fault::AtomicOrder`], which WGSL allows.
    #[must_use]
    pub const fn is_error(self) -> bool {
        !matches!(self, Self::Uninitialised | Self::AtomicOrder)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A fault at a location in the source, once or more often.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The kind of fault.
    pub fault: Fault,
    /// The kind of memory, if it concerns memory.
    pub space: Option<Space>,
    /// The variable's name, if it concerns one.
    pub variable: Option<String>,
    /// Its location.
    pub location: Location,
    /// A race's other, earlier access.
    pub other: Option<Location>,
    /// Number of occurrences, lane by lane.
    pub count: u64,
    /// Describes the first occurrence, with its lanes and numbers.
    pub example: String,
}

/// The results of a dispatch, or of several dispatches of one shader.
///
/// # Examples
///
/// The sites with bank conflicts, and all faults:
///
/// ```
/// use wgsl_lockstep::{Buffers, Config, Shader, Space};
///
/// let wgsl = "
///     @group(0) @binding(0) var<storage, read_write> data: array<u32, 32>;
///     var<workgroup> tile: array<u32, 64>;
///     @compute @workgroup_size(32)
///     fn main(@builtin(local_invocation_index) lane: u32) {
///         tile[2u * lane] = data[lane];
///     }";
/// let shader = Shader::new(wgsl, None, &[])?;
/// let mut buffers = Buffers::from([((0, 0), vec![0; 32])]);
/// let report = shader.run(&mut buffers, [1, 1, 1], &Config::default())?;
///
/// let site = report.in_space(Space::Workgroup).next().unwrap();
/// assert_eq!((site.location.line, site.variable.as_str()), (6, "tile"));
/// assert_eq!((site.accesses, site.banks.max_degree), (1, 2));
/// for finding in &report.findings {
///     println!("{}\n{}", finding.fault, finding.location.excerpt(wgsl));
/// }
/// # Ok::<(), wgsl_lockstep::ShaderError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// All locations that access memory, reached or not, in order of the source.
    pub sites: Vec<Site>,
    /// All faults, in order of the source.
    pub findings: Vec<Finding>,
    /// Number of dispatches.
    pub dispatches: u64,
    /// Number of workgroups run.
    pub workgroups: u64,
    /// Operations on active lanes. An operation on a vector counts once per component.
    pub lane_instructions: u64,
}

impl Report {
    /// Adds another report of the same shader.
    pub fn merge(&mut self, other: &Self) {
        for site in &other.sites {
            match self.sites.iter_mut().find(|s| s.is_same_site(site)) {
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

    /// The sites of one kind of memory that no lane has executed.
    ///
    /// A limit such as `banks.max_degree <= 1` also holds if there was no access. An early return
    /// because a size is 0 is a common reason. A site in another branch may be unreached with
    /// reason, so test for what the input has to reach.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgsl_lockstep::{Buffers, Config, Shader, Space};
    ///
    /// let shader = Shader::new(
    ///     "@group(0) @binding(0) var<uniform> size: u32;
    ///      var<workgroup> tile: array<u32, 1024>;
    ///      @compute @workgroup_size(32)
    ///      fn main(@builtin(local_invocation_index) lane: u32) {
    ///          if size == 0u {
    ///              return;
    ///          }
    ///          tile[lane * 32u] = lane;
    ///      }",
    ///     None,
    ///     &[],
    /// )?;
    /// let run = |size| {
    ///     let mut buffers = Buffers::from([((0, 0), vec![size])]);
    ///     shader.run(&mut buffers, [1, 1, 1], &Config::default())
    /// };
    /// let report = run(0)?;
    /// assert_eq!(report.banks().max_degree, 0); // No conflict,
    /// assert_eq!(report.unreached(Space::Workgroup).count(), 1); // since nothing was accessed.
    ///
    /// let report = run(1)?;
    /// assert_eq!(report.banks().max_degree, 32);
    /// assert_eq!(report.unreached(Space::Workgroup).count(), 0);
    /// # Ok::<(), wgsl_lockstep::ShaderError>(())
    /// ```
    pub fn unreached(&self, space: Space) -> impl Iterator<Item = &Site> {
        // An access that is out of bounds in all lanes was executed, and has no count.
        let is_out_of_bounds = |site: &Site| {
            self.findings.iter().any(|finding| {
                finding.fault == Fault::OutOfBounds
                    && finding.space == Some(site.space)
                    && finding.location == site.location
            })
        };
        self.in_space(space)
            .filter(move |site| site.accesses == 0 && !is_out_of_bounds(site))
    }

    /// The sum of the bank conflicts of all accesses to workgroup memory. Without any access, its
    /// `max_degree` is 0.
    #[must_use]
    pub fn banks(&self) -> Banks {
        let mut all = Banks::default();
        for site in self.in_space(Space::Workgroup) {
            all.merge(&site.banks);
        }
        all
    }

    /// Number of occurrences of a fault, lane by lane.
    #[must_use]
    pub fn count(&self, fault: Fault) -> u64 {
        let of = self.findings.iter().filter(|f| f.fault == fault);
        of.map(|f| f.count).sum()
    }

    /// True if all accesses to this kind of memory are [oblivious](Site::oblivious).
    #[must_use]
    pub fn is_oblivious(&self, space: Space) -> bool {
        self.in_space(space).all(|s| s.oblivious)
    }

    /// Number of accesses by warps to this kind of memory.
    #[must_use]
    pub fn accesses(&self, space: Space) -> u64 {
        self.in_space(space).map(|s| s.accesses).sum()
    }
}

//! A sort, or prefix sums, as a list of dispatches. It knows no graphics API: `gpu` encodes it into
//! a command encoder, and anything else that can run WGSL may run it too.

use crate::kernel::{Kernel, Parameters, Specialised};
use crate::{BufferRole, Comparator, KeyType, Order};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// A phase of the sort or of the prefix sums, as the paper divides them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Phase {
    /// Keys are copied to the buffer in which the base case sorts them.
    Copy,
    /// Each tile of keys, in most base cases 1024, is sorted.
    BaseCase,
    /// Pairs of runs are merged until at most P are left; or few tiles are, all at once.
    Merge,
    /// Samples are taken and sorted: the splitters.
    Splitters,
    /// Ranks of the splitters in every run, and where each part goes.
    Ranks,
    /// The parts move to their buckets.
    Distribution,
    /// The parts of each bucket are merged.
    FinalMerge,
    /// Each child of a bucket is gathered and sorted.
    BucketSort,
    /// The number of records is read from a GPU buffer.
    Count,
    /// Counting sort of packed keys.
    CountingSort,
    /// Keys are encoded as the records of a sort of words.
    Encode,
    /// Sorted words are decoded to keys.
    Decode,
    /// Payload rows are moved to the order of the sort.
    Gather,
    /// Neighbouring keys are compared.
    IsSorted,
    /// Prefix sums: each tile's sums.
    TileSums,
    /// Prefix sums: the tiles' offsets.
    TileOffsets,
    /// Prefix sums: those of each tile, from its offsets on.
    PrefixSums,
}

impl Phase {
    /// The name used in tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::BaseCase => "base case",
            Self::Merge => "merge",
            Self::Splitters => "splitters",
            Self::Ranks => "ranks",
            Self::Distribution => "distribution",
            Self::FinalMerge => "final merge",
            Self::BucketSort => "bucket sort",
            Self::Count => "count",
            Self::CountingSort => "counting sort",
            Self::Encode => "encode",
            Self::Decode => "decode",
            Self::Gather => "gather",
            Self::IsSorted => "is sorted",
            Self::TileSums => "tile sums",
            Self::TileOffsets => "tile offsets",
            Self::PrefixSums => "prefix sums",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the sort of words takes along with each key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PayloadKind {
    /// Nothing.
    #[default]
    None,
    /// A 32-bit value. Values of equal keys end in some order, the same in every run and on every
    /// device.
    Values,
    /// The key's index, by which payload is gathered: a stable sort.
    Indices,
}

impl PayloadKind {
    /// The name in tables and labels.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "keys",
            Self::Values => "values",
            Self::Indices => "indices",
        }
    }
}

/// A buffer of a recording, by its role. The samples are sorted by the same sorter, which has
/// tables of its own: hence the levels, 0 for the sort itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Buffer {
    /// The caller's keys, where the result ends; of prefix sums, the caller's values.
    Keys,
    /// As many keys again.
    Scratch,
    /// The samples taken at a level, where they end sorted.
    Samples(u8),
    /// As many samples again.
    SamplesScratch(u8),
    /// Where each bucket begins in each run.
    Ranks(u8),
    /// Where each run's part of each bucket lies after the distribution.
    Separators(u8),
    /// How far each pair is merged, between two dispatches.
    Progress,
    /// The index of each key, which the sort writes: the caller's. (In a sort of words alone, the
    /// value of each key.)
    Values,
    /// As many values again.
    ScratchValues,
    /// A column of the payload: the caller's.
    Payload(u8),
    /// The sorted keys or structs, if out of place: the caller's, and not read.
    Output,
    /// The sorted rows of a column, if out of place: the caller's, and not read.
    PayloadOutput(u8),
    /// The number of records: the caller's, and not written.
    Count,
    /// Parameters of steps that a kernel is to tell how many records there are: a block for each
    /// step that binds them, in order, with the number for its first word. They are no scratch
    /// memory.
    Parameters,
    /// Counting sort: tables with a bin for each key that there can be; later, where the copies of
    /// each end.
    Counts,
    /// Counting sort: inclusive prefix sums of the bins of each workgroup.
    GroupSums,
    /// Where each of many arrays begins: the caller's, and not written.
    Offsets,
    /// The keys of encoded records, with their segments.
    EncodedKeys,
    /// The values of encoded records: indices, or the low words of 64-bit keys in segments.
    EncodedValues,
    /// Ranks in the first order of a two-pass argsort.
    SegmentRanks,
    /// Payload rows on their way to their own buffer: as many as the largest column has.
    ScratchRows,
    /// Sample sort: the splitters, encoded.
    Splitters,
    /// Sample sort: from which tiles those of the buckets are gathered.
    TileTable,
    /// Sample sort: the segments of a level.
    Segments(u8),
    /// Sample sort: what is to be sorted.
    Items,
    /// Keys from the first on that is out of order.
    OutOfOrder,
    /// The color of each value of prefix sums: the caller's, and not written.
    Colors,
    /// The sums of each tile, a row a color; later the tiles' offsets.
    Sums,
}

impl Buffer {
    /// Whether it holds keys (or will), and not numbers of keys. Values, their sums and their
    /// colors are the caller's data as keys are.
    #[must_use]
    pub const fn holds_keys(self) -> bool {
        match self {
            Self::Keys
            | Self::Scratch
            | Self::Samples(_)
            | Self::SamplesScratch(_)
            | Self::Values
            | Self::ScratchValues
            | Self::Payload(_)
            | Self::Output
            | Self::PayloadOutput(_)
            | Self::EncodedKeys
            | Self::EncodedValues
            | Self::SegmentRanks
            | Self::ScratchRows
            | Self::Splitters
            | Self::Colors
            | Self::Sums => true,
            Self::Ranks(_)
            | Self::Separators(_)
            | Self::Progress
            | Self::Count
            | Self::Parameters
            | Self::Counts
            | Self::GroupSums
            | Self::Offsets
            | Self::TileTable
            | Self::Segments(_)
            | Self::Items
            | Self::OutOfOrder => false,
        }
    }

    /// Whether these are the same words for it. The sample sort's items are a list: a word that
    /// counts, and as many entries, in the order in which workgroups got there, which may be
    /// another on each run. Then it is whether they have the same entries.
    #[must_use]
    pub fn is_same(self, a: &[u32], b: &[u32]) -> bool {
        const ENTRY: usize = 3;
        if self != Self::Items {
            return a == b;
        }
        let entries = |words: &[u32]| {
            let count = words.first().copied().unwrap_or(0);
            let listed = words.get(1..).unwrap_or_default();
            let mut entries: Vec<Vec<u32>> = (listed.chunks(ENTRY))
                .take(count as usize)
                .map(<[u32]>::to_vec)
                .collect();
            entries.sort_unstable();
            (count, entries)
        };
        entries(a) == entries(b)
    }
}

impl From<BufferRole> for Buffer {
    fn from(role: BufferRole) -> Self {
        match role {
            BufferRole::Output => Self::Output,
            BufferRole::Indices => Self::Values,
            BufferRole::Payload(number) => Self::Payload(number),
            BufferRole::PayloadOutput(number) => Self::PayloadOutput(number),
            BufferRole::Count => Self::Count,
            BufferRole::Offsets => Self::Offsets,
            BufferRole::Found => Self::OutOfOrder,
            BufferRole::Colors => Self::Colors,
            BufferRole::Scratch => Self::Scratch,
            BufferRole::Keys | BufferRole::Values | BufferRole::Download => Self::Keys,
        }
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keys => f.write_str("keys"),
            Self::Scratch => f.write_str("scratch"),
            Self::Samples(level) => write!(f, "samples.{level}"),
            Self::SamplesScratch(level) => write!(f, "samples_scratch.{level}"),
            Self::Ranks(level) => write!(f, "ranks.{level}"),
            Self::Separators(level) => write!(f, "separators.{level}"),
            Self::Progress => f.write_str("progress"),
            Self::Values => f.write_str("values"),
            Self::ScratchValues => f.write_str("scratch_values"),
            Self::Payload(number) => write!(f, "payload.{number}"),
            Self::Output => f.write_str("output"),
            Self::PayloadOutput(number) => write!(f, "payload_output.{number}"),
            Self::Count => f.write_str("count"),
            Self::Parameters => f.write_str("parameters"),
            Self::Counts => f.write_str("counts"),
            Self::GroupSums => f.write_str("group_sums"),
            Self::Offsets => f.write_str("offsets"),
            Self::EncodedKeys => f.write_str("encoded_keys"),
            Self::EncodedValues => f.write_str("encoded_values"),
            Self::SegmentRanks => f.write_str("segment_ranks"),
            Self::ScratchRows => f.write_str("scratch_rows"),
            Self::Splitters => f.write_str("splitters"),
            Self::TileTable => f.write_str("tile_table"),
            Self::Segments(parity) => write!(f, "segments.{parity}"),
            Self::Items => f.write_str("items"),
            Self::OutOfOrder => f.write_str("out_of_order"),
            Self::Colors => f.write_str("colors"),
            Self::Sums => f.write_str("sums"),
        }
    }
}

/// One dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The phase it belongs to.
    pub phase: Phase,
    /// The round within the phase, from 0.
    pub round: u32,
    /// The kernel.
    pub kernel: Kernel,
    /// Workgroups in x and y.
    pub workgroups: [u32; 2],
    /// The kernel's storage bindings by name, and `params` where it is [counted](Step::is_counted).
    pub bindings: Vec<(&'static str, Buffer)>,
    /// The kernel's parameters, of the struct that [it takes](Kernel::parameters).
    pub parameters: Parameters,
    /// Keys that the dispatch moves, about: what its time is proportional to.
    pub keys: u64,
}

impl Step {
    /// A parameter's value, or `None` if the step has none of this name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<u32> {
        self.parameters.get(name)
    }

    /// Whether a kernel tells this one how many records there are: its first parameter, in
    /// [`Buffer::Parameters`].
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.buffer("params").is_some()
    }

    /// The buffer bound to a name, or `None` if the step binds none.
    #[must_use]
    pub fn buffer(&self, name: &str) -> Option<Buffer> {
        self.bindings.iter().find(|b| b.0 == name).map(|b| b.1)
    }
}

/// A whole sort, or prefix sums: its dispatches in order, and the buffers they use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Keys to sort, or values to add up, in [`Buffer::Keys`].
    pub len: u32,
    /// The type of the keys or values.
    pub key: KeyType,
    /// Bits of a key: those of its type, or, of keys that share words, fewer.
    pub bits: u32,
    /// The direction. Prefix sums have none, and say [`Order::Ascending`].
    pub order: Order,
    /// The payload, or the indices that it is moved by.
    pub payload: PayloadKind,
    /// What compares rows, where keys are their numbers.
    pub comparator: Option<Comparator>,
    /// The ranks that are to be in order, where not all are.
    pub selected: Option<Range<u32>>,
    /// The dispatches. Each sees what the ones before it wrote.
    pub steps: Vec<Step>,
    /// Bytes of every buffer but the [`Buffer::Parameters`] and the caller's: [`Buffer::Keys`],
    /// [`Buffer::Output`], [`Buffer::Values`], [`Buffer::Payload`], [`Buffer::PayloadOutput`],
    /// [`Buffer::Count`], [`Buffer::Offsets`] and [`Buffer::Colors`], and [`Buffer::OutOfOrder`]
    /// where it is one.
    pub buffers: BTreeMap<Buffer, u64>,
}

impl Recording {
    /// An empty recording.
    #[must_use]
    pub const fn new(len: u32, key: KeyType, order: Order) -> Self {
        Self {
            len,
            key,
            bits: key.words() * 32,
            order,
            payload: PayloadKind::None,
            comparator: None,
            selected: None,
            steps: Vec::new(),
            buffers: BTreeMap::new(),
        }
    }

    /// Makes sure that a buffer has at least these bytes, and returns it.
    pub fn reserve(&mut self, buffer: Buffer, bytes: u64) -> Buffer {
        let size = self.buffers.entry(buffer).or_default();
        *size = bytes.max(*size);
        buffer
    }

    /// A step's kernel for this recording's keys.
    #[must_use]
    pub fn specialised(&self, step: &Step) -> Specialised {
        step.kernel.specialise(self.key)
    }

    /// Bytes of scratch memory: of every buffer but the caller's.
    #[must_use]
    pub fn scratch_bytes(&self) -> u64 {
        self.buffers.values().sum()
    }
}

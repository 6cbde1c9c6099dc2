//! A sort, or prefix sums, as a list of dispatches. It is independent of graphics APIs: `gpu`
//! encodes it into a command encoder; anything else that can run WGSL may run it, too.

use crate::error::{BufferRole, Error};
use crate::key::KeyType;
use crate::order::Order;
use crate::row_function::RowFunction;
use crate::shader::{Kernel, PARAMETER_BLOCK, Parameters};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// The budget of one submission, in multiples of `keys_per_dispatch`.
const DISPATCHES_PER_SUBMISSION: u64 = 4;

/// A phase of the sort or of the prefix sums, as in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Phase {
    /// Copies keys to the buffer in which the base case sorts them.
    Copy,
    /// Sorts each tile of keys; most base cases have tiles of 1024.
    BaseCase,
    /// Merges pairs of runs until at most P runs are left. Sample sort: merges all tiles at once.
    /// Merge: merges each tile.
    Merge,
    /// Samples the keys, and sorts the samples to choose splitters.
    Splitters,
    /// Ranks the splitters in every run, and computes the offset of each part.
    Ranks,
    /// Moves the parts to their buckets.
    Distribution,
    /// Merges the parts of each bucket.
    FinalMerge,
    /// Sample sort: sorts the items of the last level.
    BucketSort,
    /// Reads the number of records from a GPU buffer.
    Count,
    /// Counting sort of packed keys.
    CountingSort,
    /// Radix sort by at most 16 bits of a key.
    RadixSort,
    /// Encodes keys as the records of a sort of words.
    Encode,
    /// Decodes keys from sorted words.
    Decode,
    /// Gathers payload rows in sorted order.
    Gather,
    /// Compares neighbouring keys.
    IsSorted,
    /// Finds the runs of equal keys among sorted ones.
    Runs,
    /// Finds the places of other keys, or of cells, among sorted keys. Merge: finds what each tile
    /// is merged from.
    Search,
    /// Selects and sorts the first records of each segment.
    TopK,
    /// Counts keys in bins.
    Histogram,
    /// Prefix sums: each tile's sums.
    TileSums,
    /// Prefix sums: the tiles' offsets.
    TileOffsets,
    /// Prefix sums: the prefix sums of each tile, plus its offsets.
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
            Self::RadixSort => "radix sort",
            Self::Encode => "encode",
            Self::Decode => "decode",
            Self::Gather => "gather",
            Self::IsSorted => "is sorted",
            Self::Runs => "runs",
            Self::Search => "search",
            Self::TopK => "top-k",
            Self::Histogram => "histogram",
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

/// The value that the sort of words moves with each key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PayloadKind {
    /// No value.
    #[default]
    None,
    /// A 32-bit value. Values of equal keys are in any order, the same in every run and on every
    /// device.
    Values,
    /// The key's index, by which payload is gathered. The sort is stable.
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

/// A buffer of a recording, by its role. Samples are sorted by the same sort with tables of its
/// own: hence the levels, 0 for the sort itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Buffer {
    /// The keys and their result, or the values of prefix sums: a user buffer.
    Keys,
    /// Scratch memory for as many keys.
    Scratch,
    /// The samples of a level, finally sorted.
    Samples(u8),
    /// Scratch memory for as many samples.
    SamplesScratch(u8),
    /// The rank of each bucket's start in each run.
    Ranks(u8),
    /// The offset of each run's part of each bucket after the distribution.
    Separators(u8),
    /// The progress of each pair's merge between two dispatches.
    Progress,
    /// The index of each key, written by the sort: a user buffer. In a sort of words without a
    /// layout, the value of each key.
    Values,
    /// Scratch memory for as many values.
    ScratchValues,
    /// A payload buffer: a user buffer.
    Payload(u8),
    /// The sorted keys or structs of an out-of-place sort: a user buffer, not read.
    Output,
    /// The sorted rows of a payload buffer, out of place: a user buffer, not read.
    PayloadOutput(u8),
    /// The number of records: a user buffer, not written.
    Count,
    /// Parameters of the steps with an indirect count: a block for each step that binds them, in
    /// order. A kernel writes the number of records to the first word. They are not scratch memory.
    Parameters,
    /// Counting sort: tables with a bin for each possible key; later, their inclusive prefix sums.
    /// Sample sort: the records of each child; later, their offsets.
    /// Radix sort: the records of each digit in each tile; later, those of the tiles before.
    Counts,
    /// Counting sort: inclusive prefix sums of the bins of each workgroup.
    /// Radix sort: the records of each digit.
    GroupSums,
    /// The offset of each segment: a user buffer, not written.
    Offsets,
    /// The keys of encoded records, with their segments.
    EncodedKeys,
    /// The values of encoded records: indices, or the low words of 64-bit keys in segments.
    EncodedValues,
    /// Ranks in the order of the pass before, of an argsort in several passes.
    PassRanks,
    /// The bits in which some keys differ.
    DifferingBits,
    /// The indices of records that are equal in the first part of their keys: those to be sorted,
    /// or in the order of a pass, by turns.
    TiedRecords(u8),
    /// Payload rows of an in-place gather, with room for the largest payload buffer.
    ScratchRows,
    /// Sample sort: the splitters, encoded.
    Splitters,
    /// Sample sort: the segment of each tile.
    TileTable,
    /// Sample sort: the segments of a level, by the level's parity.
    Segments(u8),
    /// Sample sort: the list of items to be sorted.
    Items,
    /// The number of keys from the first one that is out of order to the end.
    OutOfOrder,
    /// The number of runs of equal keys: a user buffer, not read; or scratch memory.
    RunCount,
    /// The first record of each run: a user buffer, not read; or scratch memory.
    RunStarts,
    /// The number of records of each run: a user buffer, not read.
    RunLengths,
    /// The key of each run: a user buffer, not read.
    RunKeys,
    /// The payload row of each run's first record: a user buffer, not read.
    RunPayload(u8),
    /// The same of packed keys: mapped, a word for each.
    RunWords,
    /// The heads of runs: a bit for each record.
    RunHeads,
    /// The number of heads in each tile of records; later, of those before it.
    RunTiles,
    /// The first record of each cell: a user buffer, not read.
    Cells,
    /// The first records of some cells, between which those of the others are.
    CellBounds,
    /// Keys to search for: a user buffer, not written.
    Needles,
    /// The place of each of them among the sorted keys: a user buffer, not read.
    Places,
    /// Some of the sorted keys, mapped, between which the others are searched.
    SearchIndex,
    /// The keys of a merge's second input: a user buffer, not written.
    SecondKeys,
    /// The number of its records: a user buffer, not written.
    SecondCount,
    /// Merge: the numbers of records, and how many of the first input are before each tile.
    Splits,
    /// The bounds of a histogram's bins: a user buffer, or uploaded; not written.
    Bounds,
    /// The number of keys in each bin: a user buffer.
    BinCounts,
    /// The color of each value of prefix sums: a user buffer, not written.
    Colors,
    /// The sums of each tile, a row per color; later the tiles' offsets.
    Sums,
}

impl Buffer {
    /// Returns true if it holds keys, and not counts or offsets. Values, their sums and their
    /// colors are user data, as keys are.
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
            | Self::PassRanks
            | Self::DifferingBits
            | Self::TiedRecords(_)
            | Self::ScratchRows
            | Self::Splitters
            | Self::RunKeys
            | Self::RunPayload(_)
            | Self::RunWords
            | Self::Needles
            | Self::SearchIndex
            | Self::SecondKeys
            | Self::Bounds
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
            | Self::RunCount
            | Self::RunStarts
            | Self::RunLengths
            | Self::RunHeads
            | Self::RunTiles
            | Self::Cells
            | Self::CellBounds
            | Self::Places
            | Self::SecondCount
            | Self::Splits
            | Self::BinCounts
            | Self::OutOfOrder => false,
        }
    }

    /// Returns true if `a` and `b` are equivalent contents of this buffer. The sample sort's items
    /// are a list: their number, and entries in an order that may differ between runs. Two lists
    /// are equivalent if they have the same entries.
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
            BufferRole::RunCount | BufferRole::Kept => Self::RunCount,
            BufferRole::RunStarts => Self::RunStarts,
            BufferRole::RunLengths => Self::RunLengths,
            BufferRole::RunKeys => Self::RunKeys,
            BufferRole::RunPayload(number) => Self::RunPayload(number),
            BufferRole::Cells => Self::Cells,
            BufferRole::Needles => Self::Needles,
            BufferRole::Places => Self::Places,
            BufferRole::SecondKeys => Self::SecondKeys,
            BufferRole::SecondCount => Self::SecondCount,
            BufferRole::Bounds => Self::Bounds,
            BufferRole::BinCounts => Self::BinCounts,
            BufferRole::Colors => Self::Colors,
            BufferRole::Scratch => Self::Scratch,
            BufferRole::Keys | BufferRole::Flags | BufferRole::Values | BufferRole::Download => {
                Self::Keys
            }
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
            Self::PassRanks => f.write_str("pass_ranks"),
            Self::DifferingBits => f.write_str("differing_bits"),
            Self::TiedRecords(parity) => write!(f, "tied_records.{parity}"),
            Self::ScratchRows => f.write_str("scratch_rows"),
            Self::Splitters => f.write_str("splitters"),
            Self::TileTable => f.write_str("tile_table"),
            Self::Segments(parity) => write!(f, "segments.{parity}"),
            Self::Items => f.write_str("items"),
            Self::OutOfOrder => f.write_str("out_of_order"),
            Self::RunCount => f.write_str("run_count"),
            Self::RunStarts => f.write_str("run_starts"),
            Self::RunLengths => f.write_str("run_lengths"),
            Self::RunKeys => f.write_str("run_keys"),
            Self::RunPayload(number) => write!(f, "run_payload.{number}"),
            Self::RunWords => f.write_str("run_words"),
            Self::RunHeads => f.write_str("run_heads"),
            Self::RunTiles => f.write_str("run_tiles"),
            Self::Cells => f.write_str("cells"),
            Self::CellBounds => f.write_str("cell_bounds"),
            Self::Needles => f.write_str("needles"),
            Self::Places => f.write_str("places"),
            Self::SearchIndex => f.write_str("search_index"),
            Self::SecondKeys => f.write_str("second_keys"),
            Self::SecondCount => f.write_str("second_count"),
            Self::Splits => f.write_str("splits"),
            Self::Bounds => f.write_str("bounds"),
            Self::BinCounts => f.write_str("bin_counts"),
            Self::Colors => f.write_str("colors"),
            Self::Sums => f.write_str("sums"),
        }
    }
}

/// One dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The phase of the dispatch.
    pub phase: Phase,
    /// The round within the phase, from 0.
    pub round: u32,
    /// The kernel.
    pub kernel: Kernel,
    /// Workgroups in x and y.
    pub workgroups: [u32; 2],
    /// The kernel's storage bindings by name, and `params` for an [indirect
    /// count](Step::is_counted).
    pub bindings: Vec<(&'static str, Buffer)>,
    /// The kernel's parameters, as [`Kernel::parameters`].
    pub parameters: Parameters,
    /// Keys that the dispatch moves, approximately. Its time is proportional to them.
    pub keys: u64,
}

impl Step {
    /// A parameter's value, or `None` if no parameter has this name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<u32> {
        self.parameters.get(name)
    }

    /// Returns true if the number of records is an indirect count: a kernel writes it to the step's
    /// first parameter, in [`Buffer::Parameters`].
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

/// The parameters of all steps: a block of 256 bytes for each, the alignment of dynamic offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParameterBlocks {
    /// Blocks that are constant.
    pub fixed: Vec<u8>,
    /// Blocks of steps with an [indirect count](Step::is_counted): [`Buffer::Parameters`].
    pub indirect: Vec<u8>,
    /// The byte offset of each step's block in its buffer.
    pub offsets: Vec<u32>,
}

/// A whole sort, or prefix sums: its dispatches in order, and the buffers they use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Keys to sort, or values to add up, in [`Buffer::Keys`].
    pub len: u32,
    /// The type of the keys or values.
    pub key: KeyType,
    /// Bits of a key: those of its type, or 8 or 16 for packed keys.
    pub bits: u32,
    /// The direction. Prefix sums have [`Order::Ascending`].
    pub order: Order,
    /// The values that move with the keys: payload, or indices to gather payload by.
    pub payload: PayloadKind,
    /// The custom function of rows, if any. With a comparator, keys are the indices of rows.
    pub custom: Option<RowFunction>,
    /// The ranks that must be in order, or `None` for all.
    pub selected: Option<Range<u32>>,
    /// The dispatches. Each sees the results of the ones before it.
    pub steps: Vec<Step>,
    /// Bytes of every scratch buffer: not of [`Buffer::Parameters`], nor of the user buffers
    /// [`Buffer::Keys`], [`Buffer::Output`], [`Buffer::Values`], [`Buffer::Payload`],
    /// [`Buffer::PayloadOutput`], [`Buffer::Count`], [`Buffer::Offsets`], [`Buffer::Colors`],
    /// [`Buffer::SecondKeys`], [`Buffer::SecondCount`], [`Buffer::Bounds`] and
    /// [`Buffer::BinCounts`], nor of [`Buffer::OutOfOrder`] and what is found among sorted keys if
    /// the user owns it.
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
            custom: None,
            selected: None,
            steps: Vec::new(),
            buffers: BTreeMap::new(),
        }
    }

    /// Grows a buffer to at least this many bytes, and returns it.
    pub fn reserve(&mut self, buffer: Buffer, bytes: u64) -> Buffer {
        let size = self.buffers.entry(buffer).or_default();
        *size = bytes.max(*size);
        buffer
    }

    /// The parameters of all steps, as buffers hold them.
    ///
    /// # Errors
    ///
    /// [`Error::Kernel`] if a step has not the parameters of its kernel: a bug in this crate.
    pub fn parameter_blocks(&self) -> Result<ParameterBlocks, Error> {
        let mut blocks = ParameterBlocks::default();
        for step in &self.steps {
            let fail = |message: &str| Error::Kernel {
                kernel: step.kernel.name().to_owned(),
                message: message.to_owned(),
            };
            let parameters = &step.parameters;
            if !parameters.is_like(&step.kernel.parameters()) {
                return Err(fail("the step has another kernel's parameters"));
            }
            if step.is_counted() && parameters.names()[0] != "len" {
                return Err(fail("its first parameter is not the number of records"));
            }
            let buffer = if step.is_counted() {
                &mut blocks.indirect
            } else {
                &mut blocks.fixed
            };
            blocks.offsets.push(buffer.len() as u32);
            let end = buffer.len() + PARAMETER_BLOCK as usize;
            buffer.extend_from_slice(bytemuck::cast_slice(parameters.words()));
            buffer.resize(end, 0);
        }
        Ok(blocks)
    }

    /// The number of a step's block in [`Buffer::Parameters`]; `None` if it has none.
    #[must_use]
    pub fn block(&self, step: &Step) -> Option<usize> {
        let at = self.steps.iter().position(|other| other == step)?;
        let before = self.steps[..at].iter().filter(|step| step.is_counted());
        step.is_counted().then(|| before.count())
    }

    /// The steps of each submission, short enough for a driver's watchdog: together they move a few
    /// times `keys_per_dispatch` keys. A step that moves more is a submission by itself.
    #[must_use]
    pub fn submissions(&self, keys_per_dispatch: u32) -> Vec<Range<usize>> {
        if self.steps.is_empty() {
            return Vec::new();
        }
        let budget = u64::from(keys_per_dispatch) * DISPATCHES_PER_SUBMISSION;
        let mut submissions = Vec::new();
        let (mut start, mut keys) = (0, 0);
        for (i, step) in self.steps.iter().enumerate() {
            if keys > 0 && keys + step.keys > budget {
                submissions.push(start..i);
                (start, keys) = (i, 0);
            }
            keys += step.keys;
        }
        submissions.push(start..self.steps.len());
        submissions
    }

    /// Bytes of scratch memory: of every buffer except user buffers.
    #[must_use]
    pub fn scratch_bytes(&self) -> u64 {
        self.buffers.values().sum()
    }
}

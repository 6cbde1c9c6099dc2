//! The steps around a sort of words: encode, decode, gather; and what is found among sorted keys.
//!
//! ```text
//! encode     the user's keys (sub-range, strided, packed, segmented) -> words
//! sort       words, each with its index if payload moves
//! decode     words -> the user's keys
//! gather     payload rows in the order of the indices
//! found      runs of equal keys, cells, places of other keys
//! ```
//!
//! [`Strategy`] selects the steps of a sort; no step depends on another one. The sort of words is
//! passed in as a function: this module knows no algorithm.
//!
//! # GPU-side count
//!
//! The first parameter of every kernel is the number of records. With an indirect count, the first
//! dispatch copies it from the user's buffer into the parameters of all others. These are planned
//! for the capacity of the buffers.
//!
//! # Segments
//!
//! The upper word of a composed key is the number of its segment. An argsort of segments of 64-bit
//! keys would need records of four words. It takes two passes instead: by (key, index), then by
//! (segment, rank in the first pass). So do wider keys, and comparators.
//!
//! # Keys of more than 64 bits
//!
//! They are sorted by their first part alone, and then the records that are equal in it, if there
//! are any, by all others: see `parts.rs`.

mod compared;
mod counting;
mod encode;
mod found;
pub mod kernels;
mod parts;
mod strategy;

pub use compared::record_compared;
pub use encode::record_copy;
pub use found::{Cells, Found, Runs, Search};
pub use kernels::Heads;
pub use strategy::Strategy;

use crate::device::DeviceLimits;
use crate::key::{KeyMap, KeyType};
use crate::order::Order;
use crate::radixsort::{self, MOST_BITS};
use crate::recording::{Buffer, PayloadKind, Phase, Recording, Step};
use crate::samplesort::{Records, Tuning, WordSort};
use encode::Composer;
use kernels::SetCountParams;
use std::ops::Range;

/// Where the records of a sort are, and what the sort writes.
///
/// Bindings begin at multiples of 256 bytes, which every device can bind. The fields named `first`
/// hold the rest of a range's offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortLayout {
    /// The first key in [`Buffer::Keys`], counted in keys.
    pub first: u32,
    /// The distance of consecutive keys, in keys: 1 if they are contiguous.
    pub stride: u32,
    /// Bits of a packed key, 8 or 16. In the upper bits of a word it has the order of its type.
    pub bits: Option<u32>,
    /// The bits of an unsigned key of 32 bits that count, if not all do.
    pub selected: Option<Range<u32>>,
    /// The parts that a key consists of, the first one above the others, if it is not in memory as
    /// it is compared.
    pub parts: Vec<Part>,
    /// The structs in [`Buffer::Keys`] that the keys are fields of, or that a comparator compares.
    /// The sort moves them instead of the keys.
    pub structs: Option<Structs>,
    /// The number of segments, whose offsets are in [`Buffer::Offsets`].
    pub segments: Option<u32>,
    /// The first word of the offsets.
    pub offsets_first: u32,
    /// Where keys or structs are written.
    pub output: Output,
    /// The word of [`Buffer::Count`] that holds the number of records.
    pub count_at: Option<u32>,
    /// The first word of the indices in [`Buffer::Values`], if indices are written.
    pub indices: Option<u32>,
    /// The payload buffers: column i is [`Buffer::Payload`] i.
    pub columns: Vec<Column>,
    /// Whether the keys are in order already, so that nothing is sorted.
    pub is_sorted: bool,
    /// What is found among the sorted keys.
    pub found: Found,
}

/// A part of a key, of up to 64 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Fields of the structs, the first one above the others. One has 64 bits, or all have up to
    /// 32.
    pub fields: Vec<Field>,
}

impl Part {
    /// Words of the part in composed records.
    fn words(&self) -> u32 {
        let bits: u32 = self.fields.iter().map(|field| field.bits).sum();
        bits.div_ceil(32)
    }
}

/// A field of the structs, in a part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The first one in [`Buffer::Keys`], counted in keys of its bits.
    pub first: u32,
    /// The distance of consecutive ones.
    pub stride: u32,
    /// Its bits: 8, 16, 32 or 64.
    pub bits: u32,
    /// Its order. One of few bits is in the upper ones of a word.
    pub map: KeyMap,
}

/// Structs that move as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structs {
    /// 32-bit words of a struct.
    pub words: u32,
    /// The first word of the first one.
    pub first: u32,
    /// Whether a comparator compares them. If not, they are sorted by a key.
    pub compared: bool,
}

/// Where a sort writes the sorted keys or structs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// Over the input.
    #[default]
    InPlace,
    /// To [`Buffer::Output`].
    OutOfPlace {
        /// The index there of the first key; for structs, of the first word.
        first: u32,
    },
    /// Nowhere: the input is read-only.
    None,
}

/// A buffer of payload rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// 32-bit words of a row.
    pub words: u32,
    /// The first word of the first row.
    pub first: u32,
    /// Out of place: the first word in [`Buffer::PayloadOutput`].
    pub output: Option<u32>,
    /// Whether rows of equal keys may change their order.
    pub unstable: bool,
    /// The first word in [`Buffer::RunPayload`], if the row of each run's first record is written
    /// there.
    pub firsts: Option<u32>,
}

impl Column {
    /// Whether a row is a value that a sort of words can move with the key, in place.
    const fn is_value(&self) -> bool {
        self.unstable && self.words == 1 && self.output.is_none()
    }
}

impl Default for SortLayout {
    fn default() -> Self {
        Self {
            first: 0,
            stride: 1,
            bits: None,
            selected: None,
            parts: Vec::new(),
            structs: None,
            segments: None,
            offsets_first: 0,
            output: Output::InPlace,
            count_at: None,
            indices: None,
            columns: Vec::new(),
            is_sorted: false,
            found: Found::default(),
        }
    }
}

/// The keys or words of a buffer from the first one on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Rows {
    buffer: Buffer,
    first: u32,
}

impl SortLayout {
    /// What the sort of words moves with each key.
    #[must_use]
    pub fn payload(&self) -> PayloadKind {
        if self.has_values() {
            PayloadKind::Values
        } else if self.has_payload() {
            PayloadKind::Indices
        } else {
            PayloadKind::None
        }
    }

    /// Whether anything moves with the keys, their structs included.
    fn has_payload(&self) -> bool {
        self.indices.is_some() || !self.columns.is_empty() || self.moves_structs()
    }

    /// Whether structs are written.
    fn moves_structs(&self) -> bool {
        self.structs.is_some() && self.output != Output::None
    }

    /// Whether the payload is one value for each key, which the sort of words can move itself.
    fn has_values(&self) -> bool {
        let [column] = self.columns[..] else {
            return false;
        };
        column.is_value() && self.indices.is_none() && self.structs.is_none()
    }

    /// Whether keys are written.
    fn writes_keys(&self) -> bool {
        self.structs.is_none() && self.output != Output::None
    }

    /// Bits of a key that count, for keys of up to 32 bits.
    #[must_use]
    pub fn key_bits(&self) -> u32 {
        match &self.selected {
            Some(selected) => selected.end - selected.start,
            None => self.bits.unwrap_or(32),
        }
    }

    /// The buffers of keys and values that a radix sort reads and writes in place: contiguous keys
    /// of which some bits count, and one value or index for each. Keys alone have indices in
    /// scratch memory.
    fn digit_pairs(&self) -> Option<Records> {
        let is_plain =
            self.selected.is_some() && self.has_plain_words() && self.output == Output::InPlace;
        let values = match (self.indices, &self.columns[..]) {
            (None, []) => Buffer::EncodedValues,
            (Some(0), []) => Buffer::Values,
            (None, [column]) if column.is_value() && column.first == 0 => Buffer::Payload(0),
            _ => return None,
        };
        let keys = Buffer::Keys;
        let values = Some(values);
        is_plain.then_some(Records { keys, values })
    }

    /// Whether keys of 32 bits are contiguous at the beginning of their buffer, each by itself.
    fn has_plain_words(&self) -> bool {
        let is_struct = self.structs.is_some_and(|structs| structs.words > 1);
        self.bits.is_none() && self.stride == 1 && self.first == 0 && !is_struct
    }

    /// Words of the key of the composed records, the segment's included.
    #[must_use]
    pub fn composed_words(&self, key: KeyType) -> u32 {
        match self.segments {
            Some(_) => 2,
            None => key.words(),
        }
    }

    /// The most bytes of scratch memory that a sort of `len` records may take.
    ///
    /// At most 16 MiB and, for a sort in the user's buffers, 1.15 times the bytes of keys and
    /// values; for composed records, 2.5 times their bytes and a copy of the payload with the
    /// largest rows that move in place; and what is found among the sorted keys.
    #[must_use]
    pub fn scratch_bound(&self, key: KeyType, len: u32) -> u64 {
        let len = u64::from(len);
        let strategy = Strategy::new(self, key.words(), true, false);
        let words = match strategy {
            Strategy::Nothing => 0,
            // A segment and a rank, too.
            Strategy::Compared if self.segments.is_some() => 4,
            Strategy::Compared => 1,
            Strategy::TwoPassArgsort => 4,
            // A part of a key, and two orders. Those of the ties take the rest of the bound.
            Strategy::Parts => 5,
            // A 64-bit key and its segment.
            Strategy::Keys if self.segments.is_some() => key.words() + 1,
            _ => self.composed_words(key) + u32::from(self.has_payload()),
        };
        let composed = len * u64::from(words) * 4;
        let found = self.found_bound(key, len) + (16 << 20);
        if strategy == Strategy::Direct {
            return composed * 23 / 20 + found;
        }
        let in_place = self.output == Output::InPlace;
        let structs = self
            .structs
            .filter(|_| in_place)
            .map(|structs| structs.words);
        // The second pass gathers the keys.
        let moves_keys = words == 4 && in_place && self.structs.is_none();
        let columns = self.columns.iter().filter(|column| column.output.is_none());
        let rows = columns.map(|column| column.words);
        let compared = self.structs.filter(|_| strategy == Strategy::Parts);
        let rows = rows.chain(compared.map(|structs| structs.words));
        let rows = rows.chain(structs).chain(moves_keys.then_some(2)).max();
        composed * 5 / 2 + len * u64::from(rows.unwrap_or(0)) * 4 + found
    }

    /// The most bytes that take what is found among `len` sorted keys, up to a few for each
    /// workgroup.
    fn found_bound(&self, key: KeyType, len: u64) -> u64 {
        let mut bytes = 0;
        if let Some(runs) = self.found.runs {
            // A bit for each head. Lengths and first rows are written by way of the starts.
            bytes += len / 8;
            let writes_structs = runs.keys.is_some() && self.structs.is_some();
            let firsts = |column: &Column| column.firsts.is_some();
            let has_firsts = writes_structs || self.columns.iter().any(firsts);
            if runs.starts.is_none() && (runs.lengths.is_some() || has_firsts) {
                bytes += len * 4;
            }
            if runs.keys.is_some() && self.bits.is_some() && self.segments.is_some() {
                bytes += len * 4;
            }
        }
        if self.found.search.is_some() {
            bytes += len * key.bytes() / u64::from(kernels::INDEXED);
        }
        bytes
    }

    /// The most runs of `len` keys of few bits.
    fn most_packed_runs(&self, bits: u32, len: u32) -> u32 {
        match self.segments {
            // Each of them may have all keys.
            Some(_) => len,
            None => len.min(1 << bits),
        }
    }

    /// Whether the keys are contiguous words at the beginning of their buffers.
    fn is_plain(&self) -> bool {
        let output = match self.output {
            Output::OutOfPlace { first } => first,
            Output::InPlace | Output::None => 0,
        };
        let is_keys = self.structs.is_none() && self.bits.is_none() && self.segments.is_none();
        self.first == 0 && output == 0 && is_keys
    }

    /// Where the records at `input` are written, if they are.
    fn output_of(&self, input: Rows) -> Option<Rows> {
        match self.output {
            Output::InPlace => Some(input),
            Output::OutOfPlace { first } => Some(Rows {
                buffer: Buffer::Output,
                first,
            }),
            Output::None => None,
        }
    }

    /// Where keys are written, if they are, and the index of the first one there.
    fn key_output(&self) -> Option<Rows> {
        let input = Rows {
            buffer: Buffer::Keys,
            first: self.first,
        };
        self.output_of(input).filter(|_| self.structs.is_none())
    }

    /// The gathers: source, words of a row, destination.
    fn rows(&self) -> Vec<(Rows, u32, Rows)> {
        let at = |buffer, first| Rows { buffer, first };
        let column = |(i, column): (usize, &Column)| {
            let from = at(Buffer::Payload(i as u8), column.first);
            let to = column
                .output
                .map(|to| at(Buffer::PayloadOutput(i as u8), to));
            (from, column.words, to.unwrap_or(from))
        };
        let structs = self.structs.and_then(|structs| {
            let from = at(Buffer::Keys, structs.first);
            Some((from, structs.words, self.output_of(from)?))
        });
        let columns = self.columns.iter().enumerate().map(column);
        columns.chain(structs).collect()
    }

    /// The rows of the first records of runs: source, words of a row, destination.
    fn first_rows(&self) -> Vec<(Rows, u32, Rows)> {
        let column = |(i, column): (usize, &Column)| {
            let number = i as u8;
            // Nothing is moved if the keys are in order.
            let sorted = column.output.filter(|_| !self.is_sorted);
            let from = match sorted {
                Some(first) => Rows {
                    buffer: Buffer::PayloadOutput(number),
                    first,
                },
                None => Rows {
                    buffer: Buffer::Payload(number),
                    first: column.first,
                },
            };
            let to = Rows {
                buffer: Buffer::RunPayload(number),
                first: column.firsts?,
            };
            Some((from, column.words, to))
        };
        self.columns.iter().enumerate().filter_map(column).collect()
    }
}

/// A sort of a [`SortLayout`].
#[derive(Clone, Debug)]
pub struct LayoutSort<'a> {
    /// The number of records; with an indirect count, the capacity.
    pub len: u32,
    /// The key type; for packed keys, a type of 32 bits with the same order.
    pub key: KeyType,
    /// The direction.
    pub order: Order,
    /// Where records are, and what the sort writes.
    pub layout: &'a SortLayout,
    /// The ranks that must be in order; `None` for all.
    pub ranks: Option<Range<u32>>,
    /// Whether the sort of words applies the order-preserving transform itself, in its first and
    /// last pass. If not, separate dispatches do.
    pub maps_keys: bool,
    /// The plan of a counting or radix sort, for keys of which at most 16 bits count.
    pub counting: Option<&'a Tuning>,
    /// The limits of the device.
    pub limits: &'a DeviceLimits,
}

impl LayoutSort<'_> {
    /// The strategy.
    #[must_use]
    pub fn strategy(&self) -> Strategy {
        let counts = self
            .counting
            .is_some_and(|tuning| counting::pays(self.len, tuning))
            && self.key.words() == 1
            && self.layout.key_bits() <= MOST_BITS
            && (!self.layout.has_payload() || radixsort::fits(self.limits));
        // A single key is always in order.
        let maps = self.maps_keys || self.key.map(self.order).is_identity() || self.len == 1;
        Strategy::new(self.layout, self.key.words(), maps, counts)
    }

    /// Records the sort. `sort` records a sort of words.
    ///
    /// For sorts by a key only; [`record_compared`] is for comparators.
    #[must_use]
    pub fn record(&self, sort: &dyn Fn(&mut Recording, &WordSort)) -> Recording {
        let mut composer = Composer::new(self);
        if self.len > 0 {
            match self.strategy() {
                Strategy::Nothing | Strategy::Compared => {}
                Strategy::Direct => composer.direct(sort),
                Strategy::Counting => composer.counting(),
                Strategy::Keys => composer.keys(sort),
                Strategy::Digits => composer.digits(),
                Strategy::Argsort => composer.argsort(sort),
                Strategy::TwoPassArgsort => composer.two_pass_argsort(sort),
                Strategy::Parts => composer.in_parts(sort),
            }
        }
        composer.found();
        counted(composer.recording, self.layout.count_at)
    }
}

/// The recording, with all its counts in GPU buffers: the number of records, if it is one, is
/// copied from the word `count_at` of [`Buffer::Count`] into the parameters of the steps by a
/// dispatch in front of them.
pub(crate) fn counted(mut recording: Recording, count_at: Option<u32>) -> Recording {
    let set_count = kernels::set_count();
    let mut blocks = 0;
    for step in &mut recording.steps {
        if step.kernel == set_count {
            if let Some(first) = step.parameters.get_mut("first_block") {
                *first = blocks;
            }
        } else if count_at.is_some() && !step.is_counted() {
            step.bindings.push(("params", Buffer::Parameters));
        }
        blocks += u32::from(step.is_counted());
    }
    if let Some(count_at) = count_at.filter(|_| blocks > 0) {
        let count = count_step(Buffer::Count, count_at, blocks, recording.len);
        recording.steps.insert(0, count);
    }
    recording
}

/// A dispatch that copies a number of records, at most `room`, from a word of a buffer into the
/// parameters of some others, from the first block on.
fn count_step(counts: Buffer, count_at: u32, blocks: u32, room: u32) -> Step {
    Step {
        phase: Phase::Count,
        round: 0,
        kernel: kernels::set_count(),
        workgroups: [1, 1],
        bindings: vec![("counts", counts), ("parameters", Buffer::Parameters)],
        parameters: SetCountParams {
            first_block: 0,
            blocks,
            count_at,
            room,
        }
        .into(),
        keys: 0,
    }
}

/// Records a check of the order of keys. A word of [`Buffer::OutOfOrder`] must be 0 before. It
/// stays 0 if the keys are sorted; else it becomes the number of keys from the first one on that
/// precedes its predecessor.
#[must_use]
pub fn record_is_sorted(job: &LayoutSort<'_>, word: u32) -> Recording {
    let mut composer = Composer::new(job);
    composer.is_sorted(word);
    composer.recording
}

//! What comes before and after a sort of words: encode, decode, gather.
//!
//! ```text
//! encode     keys of the caller (part, strided, packed, segmented) -> words
//! sort       words, with each one's index where payload is to move
//! decode     words -> keys of the caller
//! gather     payload rows in the order of the indices
//! ```
//!
//! Every feature is composed of these when it is recorded ([`Strategy`]); no step changes another.
//! Who sorts the words is the caller's choice: this module knows no algorithm.
//!
//! # GPU-side count
//!
//! Every kernel works out what it has to do from its first parameter, the number of records. Where
//! that number is in a buffer of the caller's, the first dispatch writes it into the parameters of
//! all others, which are planned for as many records as there is room for.
//!
//! # Segments
//!
//! The number of a record's segment is the upper word of its composed key. An argsort of segments
//! of 64-bit keys would have records of four words. It takes two passes: by (key, index), then by
//! (segment, rank in the first order).

mod compared;
mod counting;
mod encode;
mod strategy;

pub use compared::record_compared;
pub use encode::record_copy;
pub use strategy::Strategy;

use crate::kernel::{Kernel, LayoutKernel, SetCountParams};
use crate::plan::{DeviceLimits, Tuning};
use crate::recording::{Buffer, PayloadKind, Phase, Recording, Step};
use crate::samplesort::WordSort;
use crate::{KeyType, Order};
use encode::Composer;
use std::ops::Range;

/// Where the records of a sort are, and what is to be produced.
///
/// A caller's binding begins at a multiple of 256 bytes, which every device can bind. What is left
/// of its offset are the fields named `first`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortLayout {
    /// The first key in [`Buffer::Keys`], counted in keys.
    pub first: u32,
    /// From one key to the next, in keys: 1 if they are contiguous.
    pub stride: u32,
    /// Bits of a packed key, 8 or 16, whose type's order is that of the upper bits of a word.
    pub bits: Option<u32>,
    /// The structs in [`Buffer::Keys`] that the keys are fields of, or that a comparator compares.
    /// They are what moves, and not the keys.
    pub structs: Option<Structs>,
    /// The number of segments, whose offsets are in [`Buffer::Offsets`].
    pub segments: Option<u32>,
    /// The first word of the offsets.
    pub offsets_first: u32,
    /// Where keys or structs are written.
    pub output: Output,
    /// The word of [`Buffer::Count`] that is the number of records.
    pub count_at: Option<u32>,
    /// The first word in [`Buffer::Values`] for the index of each record, if it is wanted.
    pub indices: Option<u32>,
    /// The payload: column i is in [`Buffer::Payload`] i.
    pub columns: Vec<Column>,
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

/// Where a [`SortLayout`] has its keys, or the structs that they are fields of, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// Where they were.
    #[default]
    InPlace,
    /// In [`Buffer::Output`], from a first key on, or from a first word on for structs.
    OutOfPlace {
        /// The key or the word.
        first: u32,
    },
    /// Nowhere: they are only read.
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
    /// Whether rows of equal keys may be in any order that is the same in every run.
    pub unstable: bool,
}

impl Default for SortLayout {
    fn default() -> Self {
        Self {
            first: 0,
            stride: 1,
            bits: None,
            structs: None,
            segments: None,
            offsets_first: 0,
            output: Output::InPlace,
            count_at: None,
            indices: None,
            columns: Vec::new(),
        }
    }
}

/// Words of a buffer, from one on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Rows {
    buffer: Buffer,
    first: u32,
}

impl SortLayout {
    /// What the sort of words takes along with the keys.
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

    /// Whether the payload is one value for each key, which the sort of words may take along.
    fn has_values(&self) -> bool {
        let [column] = self.columns[..] else {
            return false;
        };
        let is_value = column.unstable && column.words == 1 && column.output.is_none();
        is_value && self.indices.is_none() && self.structs.is_none()
    }

    /// Whether keys are written.
    fn writes_keys(&self) -> bool {
        self.structs.is_none() && self.output != Output::None
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
    /// Sorts in the caller's own buffers: 1.15 times the bytes of keys and values. What is
    /// composed: 2.5 times those of the composed records, and a copy of the largest payload row
    /// that moves in place. And 16 MiB with each.
    #[must_use]
    pub fn scratch_bound(&self, key: KeyType, len: u32) -> u64 {
        let len = u64::from(len);
        let strategy = Strategy::new(self, key.words(), true, false);
        let words = match strategy {
            Strategy::Nothing => 0,
            Strategy::Compared => 1,
            Strategy::TwoPassArgsort => 4,
            // (A 64-bit key and its segment.)
            Strategy::Keys if self.segments.is_some() => key.words() + 1,
            _ => self.composed_words(key) + u32::from(self.has_payload()),
        };
        let composed = len * u64::from(words) * 4;
        if strategy == Strategy::Direct {
            return composed * 23 / 20 + (16 << 20);
        }
        let in_place = self.output == Output::InPlace;
        let structs = self
            .structs
            .filter(|_| in_place)
            .map(|structs| structs.words);
        // (The second pass moves keys by index.)
        let moves_keys = words == 4 && in_place && self.structs.is_none();
        let columns = self.columns.iter().filter(|column| column.output.is_none());
        let rows = columns.map(|column| column.words);
        let rows = rows.chain(structs).chain(moves_keys.then_some(2)).max();
        composed * 5 / 2 + len * u64::from(rows.unwrap_or(0)) * 4 + (16 << 20)
    }

    /// Whether the keys are whole words from the beginning of their buffers on, and nothing else.
    fn is_plain(&self) -> bool {
        let output = match self.output {
            Output::OutOfPlace { first } => first,
            Output::InPlace | Output::None => 0,
        };
        let is_keys = self.structs.is_none() && self.bits.is_none() && self.segments.is_none();
        self.first == 0 && output == 0 && is_keys
    }

    /// Where keys are written, if they are, and which is the first of them there.
    fn key_output(&self) -> Option<Rows> {
        let at = |buffer, first| Rows { buffer, first };
        match self.output {
            _ if self.structs.is_some() => None,
            Output::InPlace => Some(at(Buffer::Keys, self.first)),
            Output::OutOfPlace { first } => Some(at(Buffer::Output, first)),
            Output::None => None,
        }
    }

    /// What moves by index: from where, words of a row, to where.
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
            let to = match self.output {
                Output::InPlace => from,
                Output::OutOfPlace { first } => at(Buffer::Output, first),
                Output::None => return None,
            };
            Some((from, structs.words, to))
        });
        let columns = self.columns.iter().enumerate().map(column);
        columns.chain(structs).collect()
    }
}

/// A sort of a [`SortLayout`].
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// Records, or room for them.
    pub len: u32,
    /// The type of the keys; of packed keys, one of 32 bits with their order.
    pub key: KeyType,
    /// The direction.
    pub order: Order,
    /// Where records are, and what is to be produced.
    pub layout: &'a SortLayout,
    /// The ranks that are to be in order, if not all are.
    pub ranks: Option<Range<u32>>,
    /// Whether the sort of words maps keys where it reads them first and writes them last. For one
    /// that does not, keys of other types and orders are mapped before and after.
    pub maps_keys: bool,
    /// How packed keys alone are counted, if they may be.
    pub counting: Option<&'a Tuning>,
    /// What the device can do.
    pub limits: &'a DeviceLimits,
}

impl Job<'_> {
    /// The strategy.
    #[must_use]
    pub fn strategy(&self) -> Strategy {
        let counts = self
            .counting
            .is_some_and(|tuning| self.layout.bits.is_some() && counting::pays(self.len, tuning));
        // (One key is in order whatever it is.)
        let maps = self.maps_keys || self.key.map(self.order).is_identity() || self.len == 1;
        Strategy::new(self.layout, self.key.words(), maps, counts)
    }

    /// Records the sort. `sort` records a sort of words.
    ///
    /// Not for what a comparator compares: see [`record_compared`].
    #[must_use]
    pub fn record(&self, sort: &dyn Fn(&mut Recording, &WordSort)) -> Recording {
        let mut composer = Composer::new(self);
        if self.len > 0 {
            match self.strategy() {
                Strategy::Nothing | Strategy::Compared => {}
                Strategy::Direct => composer.direct(sort),
                Strategy::Counting => composer.counting(),
                Strategy::Keys => composer.keys(sort),
                Strategy::Argsort => composer.argsort(sort),
                Strategy::TwoPassArgsort => composer.two_pass_argsort(sort),
            }
        }
        self.layout.counted(composer.recording)
    }
}

impl SortLayout {
    /// The recording, for a number of records in a GPU buffer if there is one.
    fn counted(&self, recording: Recording) -> Recording {
        match self.count_at {
            Some(count_at) => with_count(recording, count_at),
            None => recording,
        }
    }
}

/// The recording for the number of records in a word of [`Buffer::Count`]: one dispatch more writes
/// that to the parameters of all others.
fn with_count(mut recording: Recording, count_at: u32) -> Recording {
    let blocks = recording.steps.len() as u32;
    if blocks == 0 {
        return recording;
    }
    for step in &mut recording.steps {
        step.bindings.push(("params", Buffer::Parameters));
    }
    let count = Step {
        phase: Phase::Count,
        round: 0,
        kernel: Kernel::Layout(LayoutKernel::SetCount),
        workgroups: [1, 1],
        bindings: vec![
            ("counts", Buffer::Count),
            ("parameters", Buffer::Parameters),
        ],
        parameters: SetCountParams {
            blocks,
            count_at,
            room: recording.len,
        }
        .into(),
        keys: 0,
    };
    recording.steps.insert(0, count);
    recording
}

/// Records a check whether keys are in order: a word of [`Buffer::OutOfOrder`], which is 0 before,
/// stays 0 if they are; else it is the number of keys from the first one on that precedes its
/// predecessor.
#[must_use]
pub fn record_is_sorted(job: &Job<'_>, word: u32) -> Recording {
    let mut composer = Composer::new(job);
    composer.is_sorted(word);
    composer.recording
}

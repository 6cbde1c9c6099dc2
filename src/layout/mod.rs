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
use crate::recording::{Buffer, Phase, Recording, Step};
use crate::samplesort::WordSort;
use crate::{KeyType, Order, Payload};
use encode::Composer;
use std::ops::Range;

/// Where the records of a sort are, and what is to be produced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrangement {
    /// The first record, in every buffer of records.
    pub first: u32,
    /// Of strided keys, the fields of structs: the stride, and the offset of the first key, both in
    /// keys. They stay in their structs, which are the first of the [columns](Carried::Columns) if
    /// these move.
    pub field: Option<(u32, u32)>,
    /// Bits of a packed key, 8 or 16, whose type's order is that of the upper bits of a word.
    pub bits: Option<u32>,
    /// The number of segments, whose offsets are in [`Buffer::Offsets`].
    pub segments: Option<u32>,
    /// 32-bit words of the rows that a comparator compares, which are in the place of the keys.
    pub compared: Option<u32>,
    /// Where keys end, or the rows that are compared.
    pub sorted: Sorted,
    /// The word of [`Buffer::Count`] that is the number of records.
    pub count_at: Option<u32>,
    /// The payload.
    pub carried: Carried,
}

/// Where the keys of an [`Arrangement`] end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sorted {
    /// In place.
    #[default]
    Here,
    /// Out of place: at the same records of [`Buffer::SortedKeys`].
    Elsewhere,
    /// Keys are not written.
    Nowhere,
}

/// The payload of an [`Arrangement`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Carried {
    /// None.
    #[default]
    Nothing,
    /// A word each in [`Buffer::Values`]. Values of equal keys may be in any order.
    Values,
    /// The index of each key, counted from the first record, is written to [`Buffer::Values`].
    Indices,
    /// Payload rows, in a stable sort: the first column in [`Buffer::Values`], others in
    /// [`Buffer::Column`].
    Columns(Vec<Column>),
}

/// A buffer of payload rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// 32-bit words of a row.
    pub words: u32,
    /// Whether they end in [`Buffer::SortedColumn`], out of place.
    pub elsewhere: bool,
}

/// Where the rows of a column are.
#[must_use]
pub const fn carried_by(number: usize) -> Buffer {
    match number {
        0 => Buffer::Values,
        _ => Buffer::Column(number as u8),
    }
}

impl Arrangement {
    /// What the sort of words takes along.
    #[must_use]
    pub const fn payload(&self) -> Payload {
        match self.carried {
            Carried::Nothing => Payload::None,
            Carried::Values => Payload::Values,
            Carried::Indices | Carried::Columns(_) => Payload::Indices,
        }
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
        let valued = self.carried != Carried::Nothing;
        let strategy = Strategy::new(self, key.words(), true, false);
        let words = match strategy {
            Strategy::Nothing => 0,
            Strategy::Compared => 1,
            Strategy::TwoPassArgsort => 4,
            // (A 64-bit key and its segment.)
            Strategy::Keys if self.segments.is_some() => key.words() + 1,
            _ => self.composed_words(key) + u32::from(valued),
        };
        let composed = len * u64::from(words) * 4;
        if strategy == Strategy::Direct {
            return composed * 23 / 20 + (16 << 20);
        }
        let compared = self.compared.filter(|_| self.sorted == Sorted::Here);
        // (The second pass moves keys by index.)
        let keys = (words == 4 && self.end_of_keys() == Some(Buffer::Keys)).then_some(2);
        let columns = self.columns().into_iter();
        let in_place = columns
            .filter(|(from, _, to)| from == to)
            .map(|column| column.1);
        let rows = in_place.chain(compared).chain(keys).max().unwrap_or(0);
        composed * 5 / 2 + len * u64::from(rows) * 4 + (16 << 20)
    }

    /// Whether the records are all that is in their buffers.
    const fn is_whole(&self) -> bool {
        self.first == 0 && self.field.is_none() && self.bits.is_none() && self.segments.is_none()
    }

    /// The first key in its buffer, the stride, and the logarithm of the keys that share a word.
    fn key_places(&self) -> [u32; 3] {
        let (stride, offset) = self.field.unwrap_or((1, 0));
        let shift = (32 / self.bits.unwrap_or(32)).ilog2();
        [self.first * stride + offset, stride, shift]
    }

    /// The columns: from where, of how many words, to where.
    fn columns(&self) -> Vec<(Buffer, u32, Buffer)> {
        let carried: &[Column] = match &self.carried {
            Carried::Columns(columns) => columns,
            Carried::Values => &[Column {
                words: 1,
                elsewhere: false,
            }],
            Carried::Nothing | Carried::Indices => &[],
        };
        let number = |(i, column): (usize, &Column)| {
            let from = carried_by(i);
            let elsewhere = column.elsewhere.then_some(Buffer::SortedColumn(i as u8));
            (from, column.words, elsewhere.unwrap_or(from))
        };
        carried.iter().enumerate().map(number).collect()
    }

    /// Where keys are written, if they are.
    fn end_of_keys(&self) -> Option<Buffer> {
        match self.sorted {
            _ if self.field.is_some() => None,
            Sorted::Here => Some(Buffer::Keys),
            Sorted::Elsewhere => Some(Buffer::SortedKeys),
            Sorted::Nowhere => None,
        }
    }
}

/// A sort of an [`Arrangement`].
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// Records, or room for them.
    pub len: u32,
    /// The type of the keys; of packed keys, one of 32 bits with their order.
    pub key: KeyType,
    /// The direction.
    pub order: Order,
    /// Where records are.
    pub arrangement: &'a Arrangement,
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
        let counts = self.counting.is_some_and(|tuning| {
            self.arrangement.bits.is_some() && counting::pays(self.len, tuning)
        });
        // (One key is in order whatever it is.)
        let maps = self.maps_keys || self.key.map(self.order).is_identity() || self.len == 1;
        Strategy::new(self.arrangement, self.key.words(), maps, counts)
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
        self.arrangement.counted(composer.recording)
    }
}

impl Arrangement {
    /// The recording, of as many records as a buffer says, if one does.
    fn counted(&self, recording: Recording) -> Recording {
        match self.count_at {
            Some(count_at) => with_count(recording, count_at),
            None => recording,
        }
    }
}

/// The recording, of as many records as a word of [`Buffer::Count`] says: one dispatch more writes
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

/// Records a check whether keys are in order: [`Buffer::OutOfOrder`], which is 0 before, stays 0 if
/// they are; else it is the number of keys from the first on that precedes the one before it.
#[must_use]
pub fn record_order_check(job: &Job<'_>) -> Recording {
    let mut composer = Composer::new(job);
    composer.is_sorted();
    composer.recording
}

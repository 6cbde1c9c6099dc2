//! What is around a sort of keys that do not lie in a row of their own, or that more goes with than a word: keys are
//! taken out, sorted, and put back; what goes with them is moved once, at the end.
//!
//! ```text
//! keys elsewhere        keys -> taken keys                  fields of rows, a sub-range, a number that the GPU knows
//! the sort              taken keys, with each one's index
//! keys to be put back   taken keys -> keys
//! each column           rows in order -> scratch, scratch -> rows
//! ```

use super::grid;
use crate::kernel::{Kernel, MOVED, RowsKernel};
use crate::plan::DeviceLimits;
use crate::recording::{Buffer, Phase, Recording, Step};
use crate::{KeyType, Order, Payload};

/// Where the records of a sort lie, and what is to be done with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrangement {
    /// The first record of every buffer that takes part.
    pub first: u32,
    /// Where keys are fields of rows: keys from one row's to the next, and those of the row before it. They
    /// stay with their rows, the first column of what is [carried](Arrangement::carried).
    pub field: Option<(u32, u32)>,
    /// Bits of a narrow key, 8 or 16, which is sorted as a code of 32; a key of 32 bits may be, too.
    pub bits: Option<u32>,
    /// How many arrays there are, which [`Buffer::Offsets`] tells apart. Each is sorted by itself; keys are of 32 bits
    /// at most.
    pub segments: Option<u32>,
    /// 32-bit words of the rows that are in the keys' place, where it is rows that are compared: what is sorted is their numbers.
    pub compared: Option<u32>,
    /// Whether keys are sorted in memory of their own, and put back then. Where they lie apart, have no row of their
    /// own, are kept or counted, they are anyway.
    pub apart: bool,
    /// Whether the keys are left as they are.
    pub keeps_keys: bool,
    /// The word of [`Buffer::Count`] that says how many records there are.
    pub count_at: Option<u32>,
    /// What goes with the keys.
    pub carried: Carried,
}

/// What goes with the keys of an [`Arrangement`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Carried {
    /// Nothing.
    #[default]
    Nothing,
    /// A word each in [`Buffer::Values`], in any order where keys are equal.
    Values,
    /// Indices, which are written to [`Buffer::Values`]: counted from the first record on.
    Indices,
    /// Rows of so many words each, in the order of the input where keys are equal: the first column in
    /// [`Buffer::Values`], others in [`Buffer::Column`].
    Columns(Vec<u32>),
}

impl Arrangement {
    /// Whether keys lie in a row of their own, which they may be sorted in.
    #[must_use]
    pub const fn is_in_place(&self) -> bool {
        self.first == 0
            && self.field.is_none()
            && !self.is_coded()
            && self.compared.is_none()
            && !self.apart
            && !self.keeps_keys
            && self.count_at.is_none()
    }

    /// Whether codes of the keys are sorted.
    const fn is_coded(&self) -> bool {
        self.bits.is_some() || self.segments.is_some()
    }

    /// The type and the order of what is sorted: the keys', or those of their codes.
    #[must_use]
    pub const fn sorted_as(&self, key: KeyType, order: Order) -> (KeyType, Order) {
        if self.segments.is_some() {
            (KeyType::U64, Order::Ascending)
        } else if self.is_coded() {
            (KeyType::U32, Order::Ascending)
        } else {
            (key, order)
        }
    }

    /// What the sort itself takes along.
    #[must_use]
    pub const fn payload(&self) -> Payload {
        match self.carried {
            // Rows' numbers are their indices.
            _ if self.compared.is_some() => Payload::None,
            Carried::Nothing => Payload::None,
            Carried::Values if self.is_in_place() => Payload::Values,
            Carried::Values | Carried::Indices | Carried::Columns(_) => Payload::Indices,
        }
    }

    /// Records what is to be done around `sort`, which is a recording of as many keys as there is room for, of what they are
    /// [sorted as](Self::sorted_as), with the [payload](Self::payload) of this arrangement.
    #[must_use]
    pub fn around(
        &self,
        key: KeyType,
        order: Order,
        sort: Recording,
        limits: &DeviceLimits,
    ) -> Recording {
        let columns = match &self.carried {
            Carried::Columns(columns) => columns.as_slice(),
            // In order, as all that is moved by index.
            Carried::Values => &[1],
            Carried::Nothing | Carried::Indices => &[],
        };
        let keys_in_place = self.is_in_place();
        // The sort writes indices where the caller wants them, if it is there that they are wanted.
        let indices_in_place = keys_in_place && self.carried == Carried::Indices;
        let goes_along = sort.payload == Payload::Indices && !indices_in_place;
        let compares = sort.comparator.is_some();
        if sort.len == 0 || keys_in_place && !goes_along {
            return sort;
        }
        let mut around = Around {
            arrangement: self,
            limits,
            recording: Recording {
                key,
                order,
                steps: Vec::new(),
                ..sort.clone()
            },
        };
        let mut keys = Buffer::Keys;
        if !keys_in_place {
            keys = Buffer::TakenKeys;
            around.take_keys();
        }
        let mut indices = Buffer::Values;
        if compares {
            indices = keys;
        }
        if goes_along {
            indices = Buffer::Indices;
            let bytes = u64::from(sort.len) * 4;
            around.recording.reserve(indices, bytes);
        }
        let steps = sort.steps.into_iter().map(|mut step| {
            for (_, buffer) in &mut step.bindings {
                match buffer {
                    Buffer::Keys => *buffer = keys,
                    Buffer::Values => *buffer = indices,
                    _ => {}
                }
            }
            if compares && step.kernel.carries() {
                step.bindings.push(("compared_rows", Buffer::Keys));
            }
            step
        });
        around.recording.steps.extend(steps);
        if !keys_in_place && !self.keeps_keys && self.field.is_none() && !compares {
            around.put_keys_back();
        }
        if self.carried == Carried::Indices && !indices_in_place {
            around.move_rows((indices, 0), (Buffer::Values, self.first), 1, None);
        }
        let columns = columns.iter().enumerate();
        let mut columns: Vec<_> = columns.map(|(i, &words)| (column(i), words)).collect();
        if !self.keeps_keys {
            columns.extend(self.compared.map(|words| (Buffer::Keys, words)));
        }
        for (column, words) in columns {
            // The sort's own scratch memory holds a word a record.
            let scratch = if words > 1 {
                Buffer::ScratchRows
            } else if compares {
                Buffer::Scratch
            } else {
                Buffer::ScratchValues
            };
            let bytes = u64::from(sort.len) * u64::from(words) * 4;
            around.recording.reserve(scratch, bytes);
            let first = self.first * words;
            around.move_rows((column, first), (scratch, 0), words, Some(indices));
            around.move_rows((scratch, 0), (column, first), words, None);
        }
        around.recording
    }
}

/// The recording, and behind it a look whether its keys are in order, in [`Buffer::Keys`]: [`Buffer::OutOfOrder`], which is 0
/// before, is 0 if they are; if not, keys from the first on that precedes the one before it.
#[must_use]
pub fn with_order_check(recording: Recording, limits: &DeviceLimits) -> Recording {
    let len = recording.len;
    let mut around = Around {
        arrangement: &Arrangement::default(),
        limits,
        recording,
    };
    let found = around.recording.reserve(Buffer::OutOfOrder, 4);
    let buffers = [("source", Buffer::Keys), ("found", found)];
    let kernel = RowsKernel::OutOfOrder;
    around.step(Phase::OrderCheck, kernel, &buffers, &[], len.into());
    around.recording
}

/// Where the rows of a column are.
#[must_use]
pub const fn column(number: usize) -> Buffer {
    match number {
        0 => Buffer::Values,
        _ => Buffer::Column(number as u8),
    }
}

/// A recording of what is around a sort.
struct Around<'a> {
    arrangement: &'a Arrangement,
    limits: &'a DeviceLimits,
    recording: Recording,
}

impl Around<'_> {
    /// Brings the keys to where they are sorted, and fills the places of those that are not there.
    fn take_keys(&mut self) {
        let bytes = u64::from(self.recording.len) * self.recording.sorted_as.0.bytes();
        let taken = self.recording.reserve(Buffer::TakenKeys, bytes);
        if self.recording.comparator.is_some() {
            let kernel = RowsKernel::Numbers {
                counted: self.arrangement.count_at.is_some(),
            };
            let len = self.recording.len;
            self.step(
                Phase::TakenKeys,
                kernel,
                &[("destination", taken)],
                &[],
                len.into(),
            );
            return;
        }
        let (stride, offset) = self.arrangement.field.unwrap_or((1, 0));
        let first = self.arrangement.first * stride + offset;
        if self.arrangement.is_coded() {
            let segments = self.arrangement.segments.unwrap_or(0);
            let kernel = RowsKernel::TakenCodes {
                counted: self.arrangement.count_at.is_some(),
                segmented: self.arrangement.segments.is_some(),
            };
            let mut buffers = vec![("source", Buffer::Keys), ("destination", taken)];
            if self.arrangement.segments.is_some() {
                buffers.push(("offsets", Buffer::Offsets));
            }
            let parameters = [
                ("source_first", first),
                ("source_stride", stride),
                ("bits", self.arrangement.bits.unwrap_or(32)),
                ("segments", segments),
                ("segments_power", (segments / 2 + 1).next_power_of_two()),
            ];
            let len = self.recording.len;
            self.step(Phase::TakenKeys, kernel, &buffers, &parameters, len.into());
            return;
        }
        let places = [
            ("source_first", first),
            ("source_stride", stride),
            ("destination_first", 0),
            ("destination_stride", 1),
            ("padded", self.arrangement.count_at.is_some().into()),
        ];
        self.move_keys(Phase::TakenKeys, (Buffer::Keys, taken), &places);
    }

    fn put_keys_back(&mut self) {
        if self.arrangement.is_coded() {
            let bits = self.arrangement.bits.unwrap_or(32);
            let kernel = RowsKernel::ReturnedCodes {
                counted: self.arrangement.count_at.is_some(),
            };
            let buffers = [("source", Buffer::TakenKeys), ("destination", Buffer::Keys)];
            let first = self.arrangement.first;
            let parameters = [
                ("code_words", self.recording.sorted_as.0.words()),
                ("destination_first", first),
                ("bits", bits),
            ];
            let per_word = 32 / bits;
            let words = (first + self.recording.len).div_ceil(per_word) - first / per_word;
            self.step(
                Phase::MovedRows,
                kernel,
                &buffers,
                &parameters,
                words.into(),
            );
            return;
        }
        let places = [
            ("source_first", 0),
            ("source_stride", 1),
            ("destination_first", self.arrangement.first),
            ("destination_stride", 1),
            ("padded", 0),
        ];
        let buffers = (Buffer::TakenKeys, Buffer::Keys);
        self.move_keys(Phase::MovedRows, buffers, &places);
    }

    fn move_keys(
        &mut self,
        phase: Phase,
        (from, to): (Buffer, Buffer),
        places: &[(&'static str, u32)],
    ) {
        let kernel = RowsKernel::MovedKeys {
            counted: self.arrangement.count_at.is_some(),
        };
        let buffers = [("source", from), ("destination", to)];
        let len = self.recording.len;
        self.step(phase, kernel, &buffers, places, len.into());
    }

    /// Moves rows of so many words, in the order of the sort or as they are.
    fn move_rows(
        &mut self,
        (from, from_word): (Buffer, u32),
        (to, to_word): (Buffer, u32),
        words: u32,
        order: Option<Buffer>,
    ) {
        let kernel = RowsKernel::MovedRows {
            counted: self.arrangement.count_at.is_some(),
            ordered: order.is_some(),
        };
        let mut buffers = vec![("source", from), ("destination", to)];
        buffers.extend(order.map(|order| ("order", order)));
        let places = [
            ("source_first", from_word),
            ("destination_first", to_word),
            ("words", words),
        ];
        let all_words = u64::from(self.recording.len) * u64::from(words);
        self.step(Phase::MovedRows, kernel, &buffers, &places, all_words);
    }

    /// Adds the dispatches of a kernel that moves so many keys or words.
    fn step(
        &mut self,
        phase: Phase,
        kernel: RowsKernel,
        buffers: &[(&'static str, Buffer)],
        places: &[(&'static str, u32)],
        moved: u64,
    ) {
        let mut bindings = buffers.to_vec();
        let mut parameters = places.to_vec();
        parameters.push(("len", self.recording.len));
        parameters.push(("count_at", self.arrangement.count_at.unwrap_or(0)));
        if self.arrangement.count_at.is_some() {
            bindings.push(("counts", Buffer::Count));
        }
        let groups = moved.div_ceil(MOVED.into()) as u32;
        let part = (self.limits.keys_per_dispatch / MOVED).max(1);
        for first in (0..groups).step_by(part as usize) {
            let end = groups.min(first.saturating_add(part));
            self.recording.steps.push(Step {
                phase,
                round: 0,
                kernel: Kernel::Rows(kernel),
                workgroups: grid(end - first, self.limits),
                bindings: bindings.clone(),
                parameters: [&parameters[..], &[("first", first), ("end", end)]].concat(),
                keys: u64::from(end - first) * u64::from(MOVED),
            });
        }
    }
}

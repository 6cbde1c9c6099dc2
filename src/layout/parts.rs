//! Keys of several fields, and of more than 64 bits.
//!
//! Fields are composed to parts of up to 64 bits. A key of more has several parts. The sort is by the
//! first one, and all that is left to do is among records that are equal in it, the ties:
//!
//! ```text
//! sort     first part, index -> indices
//! ties     sorted keys -> positions, their number
//! gather   indices, structs by position -> tied records, rows
//! sort     the ties by their last part, then stably by the one before it, and so on up to the first
//! scatter  tied records in that order -> indices at the positions
//! ```
//!
//! Equal records are neighbours, and the last of the sorts of ties is by the first part again. So
//! the positions of each group of ties get the records of that group.
//!
//! The number of ties stays on the GPU, where it is the number of records of all steps after the
//! second one. If there are none, as among random keys, these do nothing.

use super::encode::{Composer, Sort, whole};
use super::kernels::{self, Heads, LayoutParams};
use super::{Field, Part, Rows};
use crate::recording::{Buffer, Phase};
use crate::samplesort::Records;

impl Field {
    /// The parameters with which a kernel loads this field.
    fn of(&self, parameters: LayoutParams) -> LayoutParams {
        let bits = self.bits.min(32);
        LayoutParams {
            key_first: self.first,
            key_stride: self.stride,
            key_shift: (32 / bits).ilog2(),
            key_low: 0,
            key_up: 32 - bits,
            unused: 32 - bits,
            sign_low: self.map.sign_mask as u32,
            sign_high: (self.map.sign_mask >> 32) as u32,
            flip_low: self.map.flip as u32,
            flip_high: (self.map.flip >> 32) as u32,
            ..parameters
        }
    }

    /// The field in structs of which the first one is at the beginning of a buffer, and not at word
    /// `first`.
    const fn moved(&self, first: u32) -> Self {
        // In keys of its bits, of which the structs have whole numbers.
        let before = (first as u64 * 32 / self.bits as u64) as u32;
        Self {
            first: self.first - before,
            ..*self
        }
    }
}

impl Composer<'_> {
    /// Sorts records by the first part of their keys, and those that are equal in it by all others.
    pub(super) fn in_parts(&mut self, sort: Sort<'_>) {
        let parts = &self.layout().parts;
        let Some(first) = parts.first() else { return };
        let words = parts.iter().map(Part::words).max().unwrap_or(2);
        let keys = self.reserve(Buffer::EncodedKeys, words);
        let indices = self.whole_index_buffer();
        let values = Some(indices);
        self.encode_part(first, false, Buffer::Keys, Records { keys, values });
        self.sort_encoded(sort, first.words(), Records { keys, values });
        self.ties(sort, keys, indices);
        let indices = self.by_segment(sort, indices);
        self.payload(indices);
    }

    /// Sorts the records whose neighbours in `keys` are equal, and writes their indices in that
    /// order.
    fn ties(&mut self, sort: Sort<'_>, keys: Buffer, indices: Buffer) {
        let layout = self.layout();
        let Some(structs) = layout.structs else {
            return;
        };
        let (count, positions) = self.tied_positions(keys);

        let records = whole(self.reserve(Buffer::TiedRecords, 1));
        let order = whole(self.reserve(Buffer::TiedOrder, 1));
        let ranks = whole(self.reserve(Buffer::PassRanks, 1));
        let rows = whole(self.reserve(Buffer::ScratchRows, structs.words));
        let before = self.recording.steps.len();
        self.move_rows(whole(indices), records, 1, Some(positions));
        let from = Rows {
            buffer: Buffer::Keys,
            first: structs.first,
        };
        self.move_rows(from, rows, structs.words, Some(records));
        for (number, part) in layout.parts.iter().rev().enumerate() {
            let words = part.words();
            let part = Part {
                fields: (part.fields.iter())
                    .map(|field| field.moved(structs.first))
                    .collect(),
            };
            let values = |rows: Rows| Some(rows.buffer);
            if number == 0 {
                let tied = Records {
                    keys,
                    values: values(order),
                };
                self.encode_part(&part, false, rows.buffer, tied);
                self.sort_encoded(sort, words, tied);
                continue;
            }
            // The scratch memory of the sort is free between two of them.
            let unsorted = self.reserve(Buffer::Scratch, words);
            let of_all = Records {
                keys: unsorted,
                values: values(ranks),
            };
            self.encode_part(&part, false, rows.buffer, of_all);
            self.move_rows(whole(unsorted), whole(keys), words, Some(order));
            self.sort_encoded(sort, words, Records { keys, ..of_all });
            let composed = whole(self.reserve(Buffer::ScratchValues, 1));
            self.move_rows(order, composed, 1, Some(ranks));
            self.move_rows(composed, order, 1, None);
        }
        self.move_rows(records, ranks, 1, Some(order));
        let bindings = [
            ("source", ranks.buffer),
            ("destination", indices),
            ("places", positions.buffer),
        ];
        let parameters = LayoutParams {
            room: self.job.len,
            ..self.parameters()
        };
        let len = self.job.len.into();
        self.step(
            Phase::Gather,
            &kernels::scatter(),
            &bindings,
            parameters,
            len,
        );
        self.count_from(before, count, self.job.len);
    }

    /// Records the positions of keys, sorted, whose neighbours are equal, and their number.
    fn tied_positions(&mut self, keys: Buffer) -> ((Buffer, u32), Rows) {
        let count = (self.recording.reserve(Buffer::RunCount, 4), 0);
        let parameters = LayoutParams {
            room: self.job.len,
            ..self.encoded_parameters()
        };
        let bits = 32 * self.job.key.words();
        self.heads((keys, parameters), (bits, Heads::OfTies), count);
        let positions = whole(self.reserve(Buffer::RunStarts, 1));
        let bindings = [("starts", positions.buffer)];
        self.write_runs(kernels::RunOutput::Starts, parameters, &bindings);
        (count, positions)
    }

    /// Composes the records of a part of keys, with their indices, from structs in `source`.
    pub(super) fn encode_part(
        &mut self,
        part: &Part,
        segmented: bool,
        source: Buffer,
        records: Records,
    ) {
        let Some((first, others)) = part.fields.split_first() else {
            return;
        };
        let words = part.words();
        let common = LayoutParams {
            words: words + u32::from(segmented),
            source_stride: words,
            ..self.parameters()
        };
        let mut parameters = first.of(common);
        let kernel = match others.first() {
            Some(second) => {
                let second = second.of(common);
                parameters = LayoutParams {
                    second_first: second.key_first,
                    second_stride: second.key_stride,
                    second_shift: second.key_shift,
                    second_unused: second.unused,
                    second_sign: second.sign_low,
                    second_flip: second.flip_low,
                    ..parameters
                };
                kernels::encode_fields(words, segmented)
            }
            // Its bits are the upper ones: their order is the same.
            None => kernels::encode_keys(words, segmented, true),
        };
        let mut bindings = vec![("source", source), ("destination", records.keys)];
        let appended = bindings.clone();
        bindings.extend(records.values.map(|values| ("values", values)));
        if segmented {
            bindings.push(("offsets", Buffer::Offsets));
        }
        let len = self.job.len.into();
        self.step(Phase::Encode, &kernel, &bindings, parameters, len);
        for field in others.iter().skip(1) {
            let kernel = kernels::append_field();
            self.step(Phase::Encode, &kernel, &appended, field.of(common), len);
        }
    }
}

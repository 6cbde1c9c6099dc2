//! Keys of several fields, and of more than 64 bits.
//!
//! Fields are composed to parts of up to 64 bits. A key of more has several parts. The sort is by
//! the first one, or by its upper bits without those that all keys have in common. All that is left
//! to do is among records that are equal in these, the ties:
//!
//! ```text
//! sort     bits of the first part, index -> indices
//! ties     sorted keys -> positions, their number
//! gather   indices by position -> tied records
//! for each part, the last one first:
//!     gather   structs by tied record -> rows
//!     sort     (part, rank), and the tied records in that order
//! scatter  tied records -> indices at the positions
//! ```
//!
//! Equal records are neighbours, and the last of the sorts of ties is by the first part again. So
//! the positions of each group of ties get the records of that group.
//!
//! Each of these sorts is stable, so the first part counts most. The number of ties stays on the
//! GPU, where it is the number of records of all steps after the second one. If there are none, as
//! among random keys, these do nothing.

use super::encode::{Composer, Sort, whole};
use super::kernels::{self, Heads, LayoutParams};
use super::{Field, Part, Rows};
use crate::recording::{Buffer, Phase};
use crate::samplesort::Records;

/// The most workgroups of a step among ties, or of one that ends with atomic operations: many more
/// take some time even if there is nothing to do, and fewer are not all at work on a large GPU.
const FEW_GROUPS: u32 = 2048;

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
    /// Sorts records by the first part of their keys, and those that are equal in it by all parts.
    pub(super) fn in_parts(&mut self, sort: Sort<'_>) {
        let parts = &self.layout().parts;
        let Some(first) = parts.first() else { return };
        let words = parts.iter().map(Part::words).max().unwrap_or(2);
        let keys = self.reserve(Buffer::EncodedKeys, words);
        let indices = self.whole_index_buffer();
        let is_wide = first.words() == 2;
        // The kernel for several fields writes indices in any case.
        let values = Some(indices).filter(|_| !is_wide || first.fields.len() > 1);
        self.encode_part(first, false, Buffer::Keys, Records { keys, values });
        let mut index_mask = 0;
        if is_wide {
            index_mask = self.indexed_sort(sort, keys, indices);
        } else {
            self.sort_encoded(sort, 1, (Records { keys, values }, None));
        }
        self.ties(sort, (keys, index_mask), indices);
        let indices = self.by_segment(sort, indices);
        self.payload(indices);
    }

    /// Sorts keys of 64 bits by the upper bits in which some differ, as many as an index leaves
    /// room for in as many bits. Returns the mask of the others.
    ///
    /// A sort of keys alone takes two fifths of the time of one of keys and indices.
    fn indexed_sort(&mut self, sort: Sort<'_>, keys: Buffer, indices: Buffer) -> u32 {
        let phase = Phase::Encode;
        let differing = self.recording.reserve(Buffer::DifferingBits, 8);
        self.clear(phase, differing, (0, 2));
        let index_bits = 32 - (self.job.len - 1).leading_zeros();
        let index_mask = u32::MAX.checked_shr(32 - index_bits).unwrap_or(0);
        let parameters = LayoutParams {
            room: index_mask,
            ..self.parameters()
        };
        let len = self.job.len.into();
        self.most_groups = FEW_GROUPS;
        let bindings = [("source", keys), ("differing", differing)];
        self.step(phase, &kernels::common_bits(), &bindings, parameters, len);
        self.most_groups = u32::MAX;
        let bindings = [("keys", keys), ("differing", differing)];
        self.step(phase, &kernels::pack_indices(), &bindings, parameters, len);
        self.sort_encoded(sort, 2, (Records { keys, values: None }, None));
        let bindings = [("source", keys), ("destination", indices)];
        let phase = Phase::Decode;
        self.step(
            phase,
            &kernels::unpack_indices(),
            &bindings,
            parameters,
            len,
        );
        index_mask
    }

    /// Sorts the records whose neighbours in `keys` are equal, and writes their indices in that
    /// order.
    fn ties(&mut self, sort: Sort<'_>, (keys, index_mask): (Buffer, u32), indices: Buffer) {
        let layout = self.layout();
        let Some(structs) = layout.structs else {
            return;
        };
        let (count, positions) = self.tied_positions(keys, index_mask);

        let mut records = whole(self.reserve(Buffer::TiedRecords(0), 1));
        let mut sorted = whole(self.reserve(Buffer::TiedRecords(1), 1));
        let ranks = whole(self.reserve(Buffer::PassRanks, 1));
        let rows = whole(self.reserve(Buffer::ScratchRows, structs.words));
        let from = Rows {
            buffer: Buffer::Keys,
            first: structs.first,
        };
        let before = self.recording.steps.len();
        self.most_groups = FEW_GROUPS;
        self.move_rows(whole(indices), records, 1, Some(positions));
        for part in layout.parts.iter().rev() {
            self.move_rows(from, rows, structs.words, Some(records));
            let fields = part.fields.iter();
            let part = Part {
                fields: fields.map(|field| field.moved(structs.first)).collect(),
            };
            let values = Some(ranks.buffer);
            self.encode_part(&part, false, rows.buffer, Records { keys, values });
            self.sort_encoded(sort, part.words(), (Records { keys, values }, None));
            self.move_rows(records, sorted, 1, Some(ranks));
            std::mem::swap(&mut records, &mut sorted);
        }
        let bindings = [
            ("source", records.buffer),
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
        self.most_groups = u32::MAX;
        self.count_from(before, count, self.job.len);
    }

    /// Records the positions of keys, sorted, whose neighbours are equal but for the bits of a
    /// mask, and their number.
    fn tied_positions(&mut self, keys: Buffer, index_mask: u32) -> ((Buffer, u32), Rows) {
        let count = (self.recording.reserve(Buffer::RunCount, 4), 0);
        let parameters = LayoutParams {
            room: index_mask,
            ..self.encoded_parameters()
        };
        let bits = 32 * self.layout().parts.first().map_or(2, Part::words);
        self.heads((keys, parameters), (bits, Heads::OfTies), count);
        let parameters = LayoutParams {
            room: self.job.len,
            ..parameters
        };
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
            None => kernels::encode_keys(words, segmented, records.values.is_some()),
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

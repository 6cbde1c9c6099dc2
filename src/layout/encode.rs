//! The steps before and after a sort of words.

use super::kernels::{self, LayoutParams, MOVED};
use super::{LayoutSort, Output, Rows, SortLayout, count_step};
use crate::device::{DeviceLimits, grid, parts};
use crate::key::KeyMap;
use crate::order::Order;
use crate::radixsort::{self, DigitParams, DigitSort, Source};
use crate::recording::{Buffer, Phase, Recording, Step};
use crate::samplesort::{AS_THEY_ARE, Ranks, Records, Shape, WordSort};
use crate::shader::Kernel;

/// A function that records a sort of words.
pub(super) type Sort<'a> = &'a dyn Fn(&mut Recording, &WordSort);

/// A buffer from its first word.
pub(super) const fn whole(buffer: Buffer) -> Rows {
    Rows { buffer, first: 0 }
}

/// Composes the steps of a recording.
pub(super) struct Composer<'a> {
    pub(super) job: &'a LayoutSort<'a>,
    pub(super) recording: Recording,
    /// The most workgroups of a step whose kernel processes items independently.
    pub(super) most_groups: u32,
}

impl<'a> Composer<'a> {
    pub(super) fn new(job: &'a LayoutSort<'a>) -> Self {
        let mut recording = Recording::new(job.len, job.key, job.order);
        recording.payload = job.layout.payload();
        recording.bits = job.layout.bits.unwrap_or(recording.bits);
        recording.selected.clone_from(&job.ranks);
        let most_groups = u32::MAX;
        Self {
            job,
            recording,
            most_groups,
        }
    }

    pub(super) const fn layout(&self) -> &'a SortLayout {
        self.job.layout
    }

    /// Sorts the user's own key buffer, and values or indices, in place.
    pub(super) fn direct(&mut self, sort: Sort<'_>) {
        let layout = self.layout();
        let values = match layout.columns[..] {
            [] => layout.indices.map(|_| Buffer::Values),
            _ => Some(Buffer::Payload(0)),
        };
        if layout.indices.is_some() {
            self.iota(Buffer::Values);
        }
        let at = |keys| Records { keys, values };
        let shape = Shape::new(self.job.key.words(), values.is_some());
        let map = self.job.key.map(self.job.order);
        let target = layout.key_output().map_or(Buffer::Keys, |to| to.buffer);
        let direct = self.word_sort(shape, at(Buffer::Keys), at(target), map);
        sort(&mut self.recording, &direct);
    }

    /// Sorts keys without payload in scratch memory.
    pub(super) fn keys(&mut self, sort: Sort<'_>) {
        let words = self.layout().composed_words(self.job.key);
        // The low words of 64-bit keys. The high words are in the keys, with the segments.
        let low_words = (self.is_segmented() && self.job.key.words() == 2)
            .then(|| self.reserve(Buffer::EncodedValues, 1));
        let keys = self.reserve(Buffer::EncodedKeys, words);
        self.encode(keys, low_words);
        let values = low_words;
        let mut encoded = self.encoded(words, Records { keys, values });
        // The encoded keys are elsewhere, so a contiguous output buffer is free as scratch memory.
        let output = self.layout().key_output();
        if let Some(to) = output.filter(|_| self.layout().is_plain()) {
            encoded.scratch.keys = to.buffer;
        }
        sort(&mut self.recording, &encoded);
        self.decode(keys, low_words);
    }

    /// Sorts keys with their indices, and gathers the payload by index.
    pub(super) fn argsort(&mut self, sort: Sort<'_>) {
        let words = self.layout().composed_words(self.job.key);
        let keys = self.reserve(Buffer::EncodedKeys, words);
        let indices = self.index_buffer(Buffer::EncodedValues);
        self.encode(keys, Some(indices));
        let records = Records {
            keys,
            values: Some(indices),
        };
        self.sort_encoded(sort, words, (records, self.ranks()));
        self.decode(keys, None);
        self.payload(indices);
    }

    /// Sorts keys of few bits with their indices by digits, and gathers the payload by index; or
    /// sorts pairs of the user's.
    pub(super) fn digits(&mut self) {
        let layout = self.layout();
        let sort = |source, target, bits| DigitSort {
            len: self.job.len,
            source,
            target,
            bits,
            is_descending: false,
            writes_keys: true,
        };
        if let (Some(pairs), Some(bits)) = (layout.digit_pairs(), layout.selected.clone()) {
            let source = if layout.columns.is_empty() {
                // As they lie, since whole keys move.
                Source::Keys(DigitParams {
                    key_stride: 1,
                    ..DigitParams::default()
                })
            } else {
                Source::Pairs(pairs)
            };
            if pairs.values == Some(Buffer::EncodedValues) {
                self.reserve(Buffer::EncodedValues, 1);
            }
            let sort = DigitSort {
                is_descending: self.job.order == Order::Descending,
                ..sort(source, pairs, bits)
            };
            radixsort::record(&mut self.recording, &sort, self.job.limits);
            return;
        }
        let finds_encoded = layout.found.is_any() && layout.output == Output::None;
        let keys = self.parameters();
        let source = Source::Keys(DigitParams {
            key_first: keys.key_first,
            key_stride: keys.key_stride,
            key_shift: keys.key_shift,
            key_low: keys.key_low,
            key_up: keys.key_up,
            sign_low: keys.sign_low,
            flip_low: keys.flip_low,
            ..DigitParams::default()
        });
        let target = Records {
            keys: Buffer::EncodedKeys,
            values: None,
        };
        // Mapped keys have the bits that count above all others.
        let sort = DigitSort {
            writes_keys: layout.key_output().is_some() || finds_encoded,
            ..sort(source, target, 32 - layout.key_bits()..32)
        };
        if !sort.is_one_word() {
            self.reserve(target.keys, 1);
        }
        let indices = self.index_buffer(Buffer::EncodedValues);
        let target = Records {
            values: Some(indices),
            ..target
        };
        let sort = DigitSort { target, ..sort };
        radixsort::record(&mut self.recording, &sort, self.job.limits);
        self.decode(target.keys, None);
        self.payload(indices);
    }

    /// Sorts 64-bit keys with their indices, and then the ranks in that order by segment.
    pub(super) fn two_pass_argsort(&mut self, sort: Sort<'_>) {
        let keys = self.reserve(Buffer::EncodedKeys, 2);
        let by_keys = self.reserve(Buffer::EncodedValues, 1);
        self.encode_with((2, false), keys, Some(by_keys));
        let records = |values| Records {
            keys,
            values: Some(values),
        };
        self.sort_encoded(sort, 2, (records(by_keys), None));
        let indices = self.by_segment(sort, by_keys);
        self.payload(indices);
        if let Some(to) = self.layout().key_output() {
            // 64-bit keys have two words each.
            let words = |rows: Rows| Rows {
                first: rows.first * 2,
                ..rows
            };
            let from = Rows {
                buffer: Buffer::Keys,
                first: self.layout().first,
            };
            self.column(words(from), 2, words(to), indices);
        }
    }

    /// Sorts indices in the order of all records stably by segment, if there are segments. Returns
    /// their buffer.
    pub(super) fn by_segment(&mut self, sort: Sort<'_>, by_keys: Buffer) -> Buffer {
        if !self.is_segmented() {
            return by_keys;
        }
        let keys = self.reserve(Buffer::EncodedKeys, 1);
        let ranks = self.reserve(Buffer::PassRanks, 1);
        let bindings = [
            ("source", by_keys),
            ("destination", keys),
            ("values", ranks),
            ("offsets", Buffer::Offsets),
        ];
        self.each(Phase::Encode, &kernels::encode_segments(), &bindings);
        let values = Some(ranks);
        let records = Records { keys, values };
        self.sort_encoded(sort, 1, (records, self.ranks()));

        // The scratch memory of the sort is free again.
        let indices = self.index_buffer(Buffer::ScratchValues);
        self.move_rows(whole(by_keys), whole(indices), 1, Some(whole(ranks)));
        indices
    }

    /// Writes the indices if the user wants them, and gathers all payload rows by index.
    pub(super) fn payload(&mut self, indices: Buffer) {
        let wanted = self.layout().indices;
        if let Some(first) = wanted.filter(|_| indices != Buffer::Values) {
            let to = Rows {
                buffer: Buffer::Values,
                first,
            };
            self.move_rows(whole(indices), to, 1, None);
        }
        for (from, words, to) in self.layout().rows() {
            self.column(from, words, to, indices);
        }
    }

    /// Gathers rows of `words` words by index: in one step out of place, or in place through
    /// scratch memory.
    fn column(&mut self, from: Rows, words: u32, to: Rows, indices: Buffer) {
        if from.buffer != to.buffer {
            self.move_rows(from, to, words, Some(whole(indices)));
            return;
        }
        let scratch = whole(self.reserve(Buffer::ScratchRows, words));
        self.move_rows(from, scratch, words, Some(whole(indices)));
        self.move_rows(scratch, to, words, None);
    }

    /// Checks whether keys are in order (`is_sorted`).
    pub(super) fn is_sorted(&mut self, word: u32) {
        let found = self.recording.reserve(Buffer::OutOfOrder, 4);
        let kernel = kernels::is_sorted(self.job.key.words());
        let (keys, parameters) = if self.layout().parts.is_empty() {
            (Buffer::Keys, self.parameters())
        } else {
            let keys = self.reserve(Buffer::EncodedKeys, self.job.key.words());
            let indices = self.reserve(Buffer::EncodedValues, 1);
            self.encode(keys, Some(indices));
            (keys, self.encoded_parameters())
        };
        let bindings = [("source", keys), ("found", found)];
        let parameters = LayoutParams {
            destination_first: word,
            ..parameters
        };
        let len = self.job.len.into();
        self.step(Phase::IsSorted, &kernel, &bindings, parameters, len);
    }

    /// The buffer of the indices in the order of all records: that of the payload, unless they are
    /// sorted by segment afterwards.
    pub(super) fn whole_index_buffer(&mut self) -> Buffer {
        if self.is_segmented() {
            return self.reserve(Buffer::EncodedValues, 1);
        }
        self.index_buffer(Buffer::EncodedValues)
    }

    /// The buffer of the indices that payload is gathered by: the user's index buffer if the
    /// indices begin at its first word, otherwise `own`.
    pub(super) fn index_buffer(&mut self, own: Buffer) -> Buffer {
        match self.layout().indices {
            Some(0) => Buffer::Values,
            _ => self.reserve(own, 1),
        }
    }

    const fn is_segmented(&self) -> bool {
        self.job.layout.segments.is_some()
    }

    /// Reserves a buffer of `words` words per record.
    pub(super) fn reserve(&mut self, buffer: Buffer, words: u32) -> Buffer {
        let bytes = u64::from(self.job.len) * u64::from(words) * 4;
        self.recording.reserve(buffer, bytes)
    }

    /// The ranks that the job wants in order. A sort by anything before the user's segments, or
    /// another pass, needs all.
    fn ranks(&self) -> Option<Ranks> {
        let layout = self.layout();
        self.job.ranks.clone().map(|range| Ranks {
            range,
            segments: (layout.segments).map(|count| (layout.offsets_first, count)),
        })
    }

    /// The same for a sort of all records, before they are sorted by segment, if at all.
    pub(super) fn ranks_of_all(&self) -> Option<Ranks> {
        self.ranks().filter(|ranks| ranks.segments.is_none())
    }

    /// Sorts encoded records in place, with keys of `words` words, and puts these ranks in order.
    pub(super) fn sort_encoded(
        &mut self,
        sort: Sort<'_>,
        words: u32,
        (records, ranks): (Records, Option<Ranks>),
    ) {
        let encoded = WordSort {
            ranks,
            ..self.encoded(words, records)
        };
        sort(&mut self.recording, &encoded);
    }

    fn encoded(&self, words: u32, records: Records) -> WordSort {
        let shape = Shape::new(words, records.values.is_some());
        self.word_sort(shape, records, records, AS_THEY_ARE)
    }

    fn word_sort(&self, shape: Shape, source: Records, target: Records, map: KeyMap) -> WordSort {
        WordSort {
            len: self.job.len,
            shape,
            source,
            target,
            scratch: Records {
                keys: Buffer::Scratch,
                values: source.values.map(|_| Buffer::ScratchValues),
            },
            map,
            ranks: self.ranks(),
        }
    }

    /// The parameters of every step: the layout and the map of the user's keys, and the segments.
    pub(super) fn parameters(&self) -> LayoutParams {
        let layout = self.layout();
        let map = self.job.key.map(self.job.order);
        let segments = layout.segments.unwrap_or(0);
        LayoutParams {
            len: self.job.len,
            key_first: layout.first,
            key_stride: layout.stride,
            // Log2 of the keys per word.
            key_shift: (32 / layout.bits.unwrap_or(32)).ilog2(),
            key_low: layout.selected.as_ref().map_or(0, |bits| bits.start),
            key_up: 32 - layout.key_bits(),
            unused: 32 - layout.key_bits(),
            sign_low: map.sign_mask as u32,
            sign_high: (map.sign_mask >> 32) as u32,
            flip_low: map.flip as u32,
            flip_high: (map.flip >> 32) as u32,
            segments,
            offsets_first: layout.offsets_first,
            segments_power: segments.checked_ilog2().map_or(0, |log| 1 << log),
            ..LayoutParams::default()
        }
    }

    /// The same for composed keys, which are contiguous and mapped.
    pub(super) fn encoded_parameters(&self) -> LayoutParams {
        LayoutParams {
            key_first: 0,
            key_stride: 1,
            key_shift: 0,
            key_low: 0,
            key_up: 0,
            sign_low: 0,
            sign_high: 0,
            flip_low: 0,
            flip_high: 0,
            ..self.parameters()
        }
    }

    /// Composes the records of the sort: keys, and values if there is a buffer for them.
    fn encode(&mut self, keys: Buffer, values: Option<Buffer>) {
        let of = (self.job.key.words(), self.is_segmented());
        self.encode_with(of, keys, values);
    }

    fn encode_with(
        &mut self,
        (words, segmented): (u32, bool),
        keys: Buffer,
        values: Option<Buffer>,
    ) {
        if let (Some(part), Some(values)) = (self.layout().parts.first(), values) {
            self.encode_part(
                part,
                segmented,
                Buffer::Keys,
                Records {
                    keys,
                    values: Some(values),
                },
            );
            return;
        }
        let kernel = kernels::encode_keys(words, segmented, values.is_some());
        let mut bindings = vec![("source", Buffer::Keys), ("destination", keys)];
        bindings.extend(values.map(|values| ("values", values)));
        if segmented {
            bindings.push(("offsets", Buffer::Offsets));
        }
        self.each(Phase::Encode, &kernel, &bindings);
    }

    /// Writes the sorted keys to the output, if there is one.
    fn decode(&mut self, keys: Buffer, low_words: Option<Buffer>) {
        let Some(to) = self.layout().key_output() else {
            return;
        };
        if self.job.key.words() == 1 {
            let stride = self.layout().composed_words(self.job.key);
            let source = ("source", keys);
            self.decode_words(&kernels::decode_keys(), source, stride, to);
            return;
        }
        let mut bindings = vec![("source", keys), ("destination", to.buffer)];
        bindings.extend(low_words.map(|words| ("values", words)));
        let kernel = kernels::decode_wide_keys(low_words.is_some());
        let parameters = LayoutParams {
            key_first: to.first,
            ..self.parameters()
        };
        let len = self.job.len.into();
        self.step(Phase::Decode, &kernel, &bindings, parameters, len);
    }

    /// Writes keys of 8, 16 or 32 bits. Each lane writes whole words of the user's buffer.
    pub(super) fn decode_words(
        &mut self,
        kernel: &Kernel,
        from: (&'static str, Buffer),
        source_stride: u32,
        to: Rows,
    ) {
        let parameters = LayoutParams {
            source_stride,
            ..self.parameters()
        };
        self.decode_with(kernel, from, parameters, to);
    }

    /// Writes `parameters.len` keys of 8, 16 or 32 bits.
    pub(super) fn decode_with(
        &mut self,
        kernel: &Kernel,
        from: (&'static str, Buffer),
        parameters: LayoutParams,
        to: Rows,
    ) {
        let first = to.first;
        let per_word = 32 / self.layout().bits.unwrap_or(32);
        let parameters = LayoutParams {
            key_first: first,
            ..parameters
        };
        let words = (u64::from(first) + u64::from(parameters.len)).div_ceil(per_word.into())
            - u64::from(first / per_word);
        let bindings = [from, ("destination", to.buffer)];
        self.step(Phase::Decode, kernel, &bindings, parameters, words);
    }

    /// Writes zeros to some words of a buffer.
    pub(super) fn clear(&mut self, phase: Phase, to: Buffer, (first, words): (u32, u32)) {
        let parameters = LayoutParams {
            words,
            destination_first: first,
            ..LayoutParams::default()
        };
        let bindings = [("destination", to)];
        self.step(
            phase,
            &kernels::clear(),
            &bindings,
            parameters,
            words.into(),
        );
    }

    /// Lets the steps from number `first` on take the number of their records, at most `room`, from
    /// a word of a buffer.
    pub(super) fn count_from(&mut self, first: usize, counts: (Buffer, u32), room: u32) {
        let steps = &mut self.recording.steps;
        for step in &mut steps[first..] {
            step.bindings.push(("params", Buffer::Parameters));
        }
        let blocks = (steps.len() - first) as u32;
        steps.insert(first, count_step(counts.0, counts.1, blocks, room));
    }

    /// Writes the indices 0, 1, 2, ...
    pub(super) fn iota(&mut self, to: Buffer) {
        let bindings = [("destination", to)];
        self.each(Phase::Encode, &kernels::iota(), &bindings);
    }

    /// Gathers rows by index if there is an `order`, or copies them.
    pub(super) fn move_rows(&mut self, from: Rows, to: Rows, words: u32, order: Option<Rows>) {
        let kernel = match order {
            Some(_) => kernels::gather(),
            None => kernels::copy(),
        };
        let mut bindings = vec![("source", from.buffer), ("destination", to.buffer)];
        bindings.extend(order.map(|order| ("order", order.buffer)));
        let parameters = LayoutParams {
            words,
            source_first: from.first,
            destination_first: to.first,
            rows: self.job.len,
            order_first: order.map_or(0, |order| order.first),
            ..self.parameters()
        };
        let all_words = u64::from(self.job.len) * u64::from(words);
        self.step(Phase::Gather, &kernel, &bindings, parameters, all_words);
    }

    /// Records a kernel with one item per record.
    fn each(&mut self, phase: Phase, kernel: &Kernel, bindings: &[(&'static str, Buffer)]) {
        let len = self.job.len.into();
        self.step(phase, kernel, bindings, self.parameters(), len);
    }

    /// Records a kernel with `items` items.
    pub(super) fn step(
        &mut self,
        phase: Phase,
        kernel: &Kernel,
        bindings: &[(&'static str, Buffer)],
        parameters: LayoutParams,
        items: u64,
    ) {
        let groups = (items.div_ceil(MOVED.into()) as u32, MOVED);
        let before = self.recording.steps.len();
        self.groups(phase, kernel, bindings, parameters, groups);
        for step in &mut self.recording.steps[before..] {
            let [x, y] = step.workgroups;
            if x.saturating_mul(y) > self.most_groups {
                step.workgroups = [self.most_groups, 1];
            }
        }
    }

    /// Records a kernel with `groups` workgroups, each of which has `each` items.
    pub(super) fn groups(
        &mut self,
        phase: Phase,
        kernel: &Kernel,
        bindings: &[(&'static str, Buffer)],
        parameters: LayoutParams,
        groups: (u32, u32),
    ) {
        let limits = self.job.limits;
        let recording = &mut self.recording;
        record_groups(
            recording, phase, kernel, bindings, parameters, groups, limits,
        );
    }
}

/// Records a copy of the first `len` keys of a buffer to another one.
pub fn record_copy(
    recording: &mut Recording,
    phase: Phase,
    len: u32,
    [from, to]: [Buffer; 2],
    limits: &DeviceLimits,
) {
    let words = recording.key.words();
    let parameters = LayoutParams {
        len,
        words,
        ..LayoutParams::default()
    };
    let bindings = [("source", from), ("destination", to)];
    let items = u64::from(len) * u64::from(words);
    let kernel = &kernels::copy();
    let groups = (items.div_ceil(MOVED.into()) as u32, MOVED);
    record_groups(
        recording, phase, kernel, &bindings, parameters, groups, limits,
    );
}

/// Records a kernel with `groups` workgroups of `each` items, as many per dispatch as the limits
/// allow.
fn record_groups(
    recording: &mut Recording,
    phase: Phase,
    kernel: &Kernel,
    bindings: &[(&'static str, Buffer)],
    parameters: LayoutParams,
    (groups, each): (u32, u32),
    limits: &DeviceLimits,
) {
    for (first, end) in parts(groups, each, limits) {
        recording.steps.push(Step {
            phase,
            round: 0,
            kernel: kernel.clone(),
            workgroups: grid(end - first, limits),
            bindings: bindings.to_vec(),
            parameters: LayoutParams {
                first,
                end,
                ..parameters
            }
            .into(),
            keys: u64::from(end - first) * u64::from(each),
        });
    }
}

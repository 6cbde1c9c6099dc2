//! The steps before and after a sort of words.

use super::{Job, Rows, SortLayout};
use crate::kernel::{Kernel, LayoutKernel, LayoutParams, MOVED};
use crate::key::KeyMap;
use crate::plan::{DeviceLimits, grid, parts};
use crate::recording::{Buffer, Phase, Recording, Step};
use crate::samplesort::{AS_THEY_ARE, Records, Shape, WordSort};

/// Records a sort of words.
type Sort<'a> = &'a dyn Fn(&mut Recording, &WordSort);

/// A buffer from its first word on.
const fn whole(buffer: Buffer) -> Rows {
    Rows { buffer, first: 0 }
}

/// A recording in the making.
pub(super) struct Composer<'a> {
    pub(super) job: &'a Job<'a>,
    pub(super) recording: Recording,
}

impl<'a> Composer<'a> {
    pub(super) fn new(job: &'a Job<'a>) -> Self {
        let mut recording = Recording::new(job.len, job.key, job.order);
        recording.payload = job.layout.payload();
        recording.bits = job.layout.bits.unwrap_or(recording.bits);
        recording.selected.clone_from(&job.ranks);
        Self { job, recording }
    }

    const fn layout(&self) -> &'a SortLayout {
        self.job.layout
    }

    /// Sorts the caller's own keys, and values or indices in place.
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

    /// Sorts keys alone in scratch memory.
    pub(super) fn keys(&mut self, sort: Sort<'_>) {
        let words = self.layout().composed_words(self.job.key);
        // (The low words of 64-bit keys, of which the high words have the segments with them.)
        let low_words = (self.is_segmented() && self.job.key.words() == 2)
            .then(|| self.reserve(Buffer::EncodedValues, 1));
        let keys = self.reserve(Buffer::EncodedKeys, words);
        self.encode(keys, low_words);
        let values = low_words;
        let mut encoded = self.encoded(words, Records { keys, values });
        // Keys that are all of a buffer leave it free meanwhile.
        if let Some(to) = self.layout().key_output()
            && self.layout().is_plain()
        {
            encoded.scratch.keys = to.buffer;
        }
        sort(&mut self.recording, &encoded);
        self.decode(keys, low_words);
    }

    /// Sorts keys with their indices, and moves the payload by these.
    pub(super) fn argsort(&mut self, sort: Sort<'_>) {
        let words = self.layout().composed_words(self.job.key);
        let keys = self.reserve(Buffer::EncodedKeys, words);
        let indices = self.index_buffer(Buffer::EncodedValues);
        self.encode(keys, Some(indices));
        self.sort_encoded(
            sort,
            words,
            Records {
                keys,
                values: Some(indices),
            },
        );
        self.decode(keys, None);
        self.payload(indices);
    }

    /// Sorts 64-bit keys with their indices, and then the ranks in that order by their records'
    /// segments.
    pub(super) fn two_pass_argsort(&mut self, sort: Sort<'_>) {
        let keys = self.reserve(Buffer::EncodedKeys, 2);
        let by_keys = self.reserve(Buffer::EncodedValues, 1);
        let encode = LayoutKernel::EncodeKeys {
            words: 2,
            segmented: false,
            valued: true,
        };
        self.encode_with(encode, keys, Some(by_keys));
        let records = |values| Records {
            keys,
            values: Some(values),
        };
        self.sort_encoded(sort, 2, records(by_keys));

        let ranks = self.reserve(Buffer::SegmentRanks, 1);
        let bindings = [
            ("source", by_keys),
            ("destination", keys),
            ("values", ranks),
            ("offsets", Buffer::Offsets),
        ];
        self.each(Phase::Encode, LayoutKernel::EncodeSegments, &bindings);
        self.sort_encoded(sort, 1, records(ranks));

        // (The sort's own memory is free.)
        let indices = self.index_buffer(Buffer::ScratchValues);
        self.move_rows(whole(by_keys), whole(indices), 1, Some(ranks));
        self.payload(indices);
        if let Some(to) = self.layout().key_output() {
            // (64-bit keys: two words each.)
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

    /// Writes the indices if they are wanted, and moves all payload rows by them.
    pub(super) fn payload(&mut self, indices: Buffer) {
        if let Some(first) = self.layout().indices
            && indices != Buffer::Values
        {
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

    /// Moves rows of `words` words to the order of the indices: out of place at once, in place by
    /// way of scratch memory.
    fn column(&mut self, from: Rows, words: u32, to: Rows, indices: Buffer) {
        if from.buffer != to.buffer {
            self.move_rows(from, to, words, Some(indices));
            return;
        }
        let scratch = whole(self.reserve(Buffer::ScratchRows, words));
        self.move_rows(from, scratch, words, Some(indices));
        self.move_rows(scratch, to, words, None);
    }

    /// Checks whether keys are in order.
    pub(super) fn is_sorted(&mut self, word: u32) {
        let found = self.recording.reserve(Buffer::OutOfOrder, 4);
        let kernel = LayoutKernel::IsSorted {
            words: self.job.key.words(),
        };
        let bindings = [("source", Buffer::Keys), ("found", found)];
        let parameters = LayoutParams {
            destination_first: word,
            ..self.parameters()
        };
        let len = self.job.len.into();
        self.step(Phase::IsSorted, kernel, &bindings, parameters, len);
    }

    /// Where the sort has the indices by which payload moves: in the caller's buffer for them, if
    /// its first word is the first index.
    pub(super) fn index_buffer(&mut self, own: Buffer) -> Buffer {
        match self.layout().indices {
            Some(0) => Buffer::Values,
            _ => self.reserve(own, 1),
        }
    }

    const fn is_segmented(&self) -> bool {
        self.job.layout.segments.is_some()
    }

    /// A buffer of so many words a record.
    pub(super) fn reserve(&mut self, buffer: Buffer, words: u32) -> Buffer {
        let bytes = u64::from(self.job.len) * u64::from(words) * 4;
        self.recording.reserve(buffer, bytes)
    }

    /// Sorts encoded records, keys of so many words, in place.
    fn sort_encoded(&mut self, sort: Sort<'_>, words: u32, records: Records) {
        let encoded = self.encoded(words, records);
        sort(&mut self.recording, &encoded);
    }

    fn encoded(&self, words: u32, records: Records) -> WordSort {
        let shape = Shape::new(words, records.values.is_some());
        self.word_sort(shape, records, records, AS_THEY_ARE)
    }

    fn word_sort(&self, shape: Shape, source: Records, target: Records, map: KeyMap) -> WordSort {
        let len = self.job.len;
        WordSort {
            len,
            shape,
            source,
            target,
            scratch: Records {
                keys: Buffer::Scratch,
                values: source.values.map(|_| Buffer::ScratchValues),
            },
            map,
            ranks: self.job.ranks.clone().unwrap_or(0..len),
        }
    }

    /// What every step is told: of the caller's keys, how they are mapped, and of segments.
    pub(super) fn parameters(&self) -> LayoutParams {
        let layout = self.layout();
        let map = self.job.key.map(self.job.order);
        let segments = layout.segments.unwrap_or(0);
        LayoutParams {
            len: self.job.len,
            key_first: layout.first,
            key_stride: layout.stride,
            // (The logarithm of the keys that share a word.)
            key_shift: (32 / layout.bits.unwrap_or(32)).ilog2(),
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

    /// Composes the records of the sort: keys, with a value if there is a buffer for it.
    fn encode(&mut self, keys: Buffer, values: Option<Buffer>) {
        let kernel = LayoutKernel::EncodeKeys {
            words: self.job.key.words(),
            segmented: self.is_segmented(),
            valued: values.is_some(),
        };
        self.encode_with(kernel, keys, values);
    }

    fn encode_with(&mut self, kernel: LayoutKernel, keys: Buffer, values: Option<Buffer>) {
        let mut bindings = vec![("source", Buffer::Keys), ("destination", keys)];
        bindings.extend(values.map(|values| ("values", values)));
        if let LayoutKernel::EncodeKeys {
            segmented: true, ..
        } = kernel
        {
            bindings.push(("offsets", Buffer::Offsets));
        }
        self.each(Phase::Encode, kernel, &bindings);
    }

    /// Writes sorted keys to where they are wanted, if they are.
    fn decode(&mut self, keys: Buffer, low_words: Option<Buffer>) {
        let Some(to) = self.layout().key_output() else {
            return;
        };
        if self.job.key.words() == 1 {
            let stride = self.layout().composed_words(self.job.key);
            let source = ("source", keys);
            self.decode_words(LayoutKernel::DecodeKeys, source, stride, to);
            return;
        }
        let mut bindings = vec![("source", keys), ("destination", to.buffer)];
        bindings.extend(low_words.map(|words| ("values", words)));
        let kernel = LayoutKernel::DecodeWideKeys {
            segmented: low_words.is_some(),
        };
        let parameters = LayoutParams {
            key_first: to.first,
            ..self.parameters()
        };
        let len = self.job.len.into();
        self.step(Phase::Decode, kernel, &bindings, parameters, len);
    }

    /// Writes keys of 8, 16 or 32 bits, each lane whole words of the caller's buffer.
    pub(super) fn decode_words(
        &mut self,
        kernel: LayoutKernel,
        from: (&'static str, Buffer),
        source_stride: u32,
        to: Rows,
    ) {
        let first = to.first;
        let per_word = 32 / self.layout().bits.unwrap_or(32);
        let parameters = LayoutParams {
            key_first: first,
            source_stride,
            ..self.parameters()
        };
        let words = (u64::from(first) + u64::from(self.job.len)).div_ceil(per_word.into())
            - u64::from(first / per_word);
        let bindings = [from, ("destination", to.buffer)];
        self.step(Phase::Decode, kernel, &bindings, parameters, words);
    }

    /// Writes indices from 0 on.
    pub(super) fn iota(&mut self, to: Buffer) {
        let bindings = [("destination", to)];
        self.each(Phase::Encode, LayoutKernel::Iota, &bindings);
    }

    /// Gathers rows by an order, or copies them: from a word of one buffer to a word of another.
    fn move_rows(&mut self, from: Rows, to: Rows, words: u32, order: Option<Buffer>) {
        let kernel = match order {
            Some(_) => LayoutKernel::Gather,
            None => LayoutKernel::Copy,
        };
        let mut bindings = vec![("source", from.buffer), ("destination", to.buffer)];
        bindings.extend(order.map(|order| ("order", order)));
        let parameters = LayoutParams {
            words,
            source_first: from.first,
            destination_first: to.first,
            ..self.parameters()
        };
        let all_words = u64::from(self.job.len) * u64::from(words);
        self.step(Phase::Gather, kernel, &bindings, parameters, all_words);
    }

    /// The dispatches of a kernel with an item a record.
    fn each(&mut self, phase: Phase, kernel: LayoutKernel, bindings: &[(&'static str, Buffer)]) {
        let len = self.job.len.into();
        self.step(phase, kernel, bindings, self.parameters(), len);
    }

    /// The dispatches of a kernel with so many items.
    pub(super) fn step(
        &mut self,
        phase: Phase,
        kernel: LayoutKernel,
        bindings: &[(&'static str, Buffer)],
        parameters: LayoutParams,
        items: u64,
    ) {
        let limits = self.job.limits;
        let recording = &mut self.recording;
        record_items(
            recording, phase, kernel, bindings, parameters, items, limits,
        );
    }
}

/// Records a copy of the first `len` keys of a buffer to another.
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
    let kernel = LayoutKernel::Copy;
    record_items(
        recording, phase, kernel, &bindings, parameters, items, limits,
    );
}

/// Records a kernel's dispatches over `items` words or rows, as many in each as the limits allow.
fn record_items(
    recording: &mut Recording,
    phase: Phase,
    kernel: LayoutKernel,
    bindings: &[(&'static str, Buffer)],
    parameters: LayoutParams,
    items: u64,
    limits: &DeviceLimits,
) {
    let groups = items.div_ceil(MOVED.into()) as u32;
    for (first, end) in parts(groups, MOVED, limits) {
        recording.steps.push(Step {
            phase,
            round: 0,
            kernel: Kernel::Layout(kernel),
            workgroups: grid(end - first, limits),
            bindings: bindings.to_vec(),
            parameters: LayoutParams {
                first,
                end,
                ..parameters
            }
            .into(),
            keys: u64::from(end - first) * u64::from(MOVED),
        });
    }
}

//! What is around a sort of keys that do not lie in a row of their own, or that more goes with than a word: keys are
//! taken out, sorted, and put back; what goes with them is moved once, at the end.
//!
//! ```text
//! keys elsewhere        keys -> taken keys                  fields of rows, a sub-range
//! the sort              taken keys, with each one's index
//! keys to be put back   taken keys -> keys
//! each column           rows in order -> scratch, scratch -> rows
//! ```
//!
//! Where a sort begins with tiles of its keys, which it reads once, nothing is taken out: it reads them where they are. So does
//! one that partitions them, if only their order is wanted. What ends in another buffer of the caller's is written there at once.
//!
//! # One tile
//!
//! What fits a tile is sorted in one dispatch with what is around it, if that is little: keys are read where they are, and written
//! there, and rows are moved, by one workgroup.
//!
//! # Parts
//!
//! Keys that begin where not every device binds a buffer are taken to scratch memory; and what the sort moves them to is the part of the
//! caller's buffer that they have left. It begins some words before them, which are saved meanwhile.
//!
//! ```text
//! words before          keys -> saved words
//! keys elsewhere        keys -> taken keys
//! the sort              taken keys, and the part for its scratch memory
//! words before          saved words -> keys
//! keys to be put back   taken keys -> keys
//! ```
//!
//! # As many as a buffer says
//!
//! Every kernel of the sample sort, and of what is around it, works out how many tiles there are, and which buckets and children
//! have records, from one parameter, the number of records. Where a buffer of the caller's has this number, the first dispatch
//! writes it into the parameters of all others, which are planned for as many records as there is room for: workgroups that find
//! none have nothing to do.
//!
//! ```text
//! count                 the caller's word -> parameters of all kernels
//! ```
//!
//! # Many arrays
//!
//! Keys are compared with a word more, the number of their array for the upper one, and are moved alone: wherever they are
//! compared, their places say which array they are of. Keys of two words with their indices would be four words; so they are
//! sorted by themselves, as if there were one array, and then each array by its records' places in that order, which are keys of
//! one word.
//!
//! ```text
//! the sort              keys -> order (scratch values)
//! places in that order  order -> scratch
//! the sort of arrays    scratch -> scratch
//! both as one           order, scratch -> indices
//! each column           rows in order -> ..., and the keys are one of them
//! ```

use super::sample_sort::{record_sample_sort, record_sort_of_arrays};
use super::{grid, parts};
use crate::kernel::{COUNTED, Kernel, MOVED, RowsKernel, SampleSortKernel, Tile, move_apart};
use crate::plan::{DeviceLimits, SampleSort, Tuning};
use crate::recording::{Buffer, PLACES, Phase, Recording, Step};
use crate::{KeyType, Order, Payload};

/// Where the records of a sort lie, and what is to be done with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrangement {
    /// The first record of every buffer that takes part.
    pub first: u32,
    /// Where keys are fields of rows: keys from one row's to the next, and those of the row before it. They
    /// stay with their rows, the first column of what is [carried](Arrangement::carried).
    pub field: Option<(u32, u32)>,
    /// Bits of a narrow key, 8 or 16, which is sorted as the upper bits of a word.
    pub bits: Option<u32>,
    /// How many arrays there are, which [`Buffer::Offsets`] tells apart. Each is sorted by itself.
    pub segments: Option<u32>,
    /// 32-bit words of the rows that are in the keys' place, where it is rows that are compared: what is sorted is their numbers.
    pub compared: Option<u32>,
    /// Whether keys are sorted in memory of their own, and put back then, though nothing asks for it: for who looks at kernels.
    pub apart: bool,
    /// Where keys end, or the rows that are compared.
    pub sorted: Sorted,
    /// The word of [`Buffer::Count`] that says how many records there are.
    pub count_at: Option<u32>,
    /// What goes with the keys.
    pub carried: Carried,
}

/// Where the keys of an [`Arrangement`] end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sorted {
    /// In their own places.
    #[default]
    Here,
    /// In the same places of [`Buffer::SortedKeys`].
    Elsewhere,
    /// Nowhere: only their order is wanted.
    Nowhere,
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
    /// Rows, in the order of the input where keys are equal: the first column in [`Buffer::Values`], others in
    /// [`Buffer::Column`].
    Columns(Vec<Column>),
}

/// Rows that go with the keys of an [`Arrangement`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// 32-bit words of a row.
    pub words: u32,
    /// Whether they end in the same places of [`Buffer::SortedColumn`], and stay where they are, too.
    pub elsewhere: bool,
}

/// A column on its way: from where, of so many words, to where.
type Moved = (Buffer, u32, Buffer);

impl Arrangement {
    /// Whether keys lie in a row of their own, which they may be sorted in.
    #[must_use]
    pub fn is_in_place(&self, key: KeyType) -> bool {
        self.is_plain() && !self.is_sorted_twice(key) && !self.apart && self.sorted == Sorted::Here
    }

    /// Whether keys lie in a row of their own, from its beginning on, and are sorted as they are.
    const fn is_plain(&self) -> bool {
        self.first == 0 && self.field.is_none() && self.bits.is_none() && self.compared.is_none()
    }

    /// Whether keys are compared with their arrays' numbers: the sort is one [of arrays](record_sort_of_arrays).
    #[must_use]
    pub fn tells_arrays(&self, key: KeyType) -> bool {
        self.segments.is_some() && !self.is_sorted_twice(key)
    }

    /// Whether keys are sorted by themselves, and then each array by its records' places in that order.
    fn is_sorted_twice(&self, key: KeyType) -> bool {
        self.segments.is_some() && key.words() == 2 && self.carried != Carried::Nothing
    }

    /// What the sort itself takes along.
    #[must_use]
    pub fn payload(&self, key: KeyType) -> Payload {
        match self.carried {
            // Rows' numbers are their indices.
            _ if self.compared.is_some() => Payload::None,
            _ if self.is_sorted_twice(key) => Payload::Indices,
            Carried::Nothing => Payload::None,
            Carried::Values if self.is_in_place(key) && self.segments.is_none() => Payload::Values,
            Carried::Values | Carried::Indices | Carried::Columns(_) => Payload::Indices,
        }
    }

    /// Records a sample sort of `len` keys, as this arrangement needs it, to be put what is [around](Self::around): behind it the sort
    /// of places, if there is [a second one](Self::is_sorted_twice).
    #[must_use]
    pub fn sample_sort(
        &self,
        len: u32,
        key: KeyType,
        order: Order,
        tuning: &Tuning,
        limits: &DeviceLimits,
    ) -> Recording {
        let record = if self.tells_arrays(key) {
            record_sort_of_arrays
        } else {
            record_sample_sort
        };
        let mut recording = record(len, key, order, self.payload(key), tuning, limits);
        if self.is_sorted_twice(key) {
            let (key, order) = PLACES;
            let places = record_sort_of_arrays(len, key, order, Payload::None, tuning, limits);
            // (What it moves places to has room already.)
            for (&buffer, &bytes) in places.buffers.iter().filter(|b| *b.0 != Buffer::Scratch) {
                recording.reserve(buffer, bytes);
            }
            recording
                .steps
                .extend(places.steps.into_iter().map(|step| Step {
                    phase: Phase::Arrays,
                    ..step
                }));
        }
        recording
    }

    /// Records a sort of narrow keys, and nothing else, by counting how many there are of each, if that is what these are and there are
    /// more than few tiles.
    ///
    /// ```text
    /// zeros                                      -> counts
    /// counted tiles                 keys         -> counts
    /// where copies of a key end     counts       -> key places, and of 16 bits -> counts
    /// keys                          key places   -> keys
    /// ```
    #[must_use]
    pub fn counted(
        &self,
        len: u32,
        key: KeyType,
        order: Order,
        tuning: &Tuning,
        limits: &DeviceLimits,
    ) -> Option<Recording> {
        let bits = self.bits?;
        let plan = SampleSort::new(len, key, Payload::None, tuning, limits);
        if self.carried != Carried::Nothing
            || self.sorted == Sorted::Nowhere
            || self.segments.is_some()
            || plan.is_one_tile()
            || plan.merged > 0
        {
            return None;
        }
        let mut around = Around {
            arrangement: self,
            limits,
            lends: false,
            recording: Recording::new(len, key, order),
        };
        around.recording.bits = bits;
        around.count_keys(1 << bits, &plan);
        Some(self.as_many_as_there_are(around.recording))
    }

    /// Records a sort of no more than a tile, if there is anything around it that one dispatch does with it: it reads keys where they
    /// are, and puts them back there, and moves what goes with them.
    #[must_use]
    pub fn placed(
        &self,
        len: u32,
        key: KeyType,
        order: Order,
        tuning: &Tuning,
        limits: &DeviceLimits,
    ) -> Option<Recording> {
        let of_rows = self.field.is_some();
        let (row_words, payload) = match &self.carried {
            Carried::Nothing => (0, Payload::None),
            Carried::Indices => (0, Payload::Indices),
            Carried::Values => (1, Payload::Indices),
            Carried::Columns(columns) => match columns[..] {
                [
                    Column {
                        words,
                        elsewhere: false,
                    },
                ] => (words, Payload::Indices),
                _ => return None,
            },
        };
        let moves_rows = matches!(self.carried, Carried::Columns(_));
        let puts_keys = self.sorted == Sorted::Here && !of_rows;
        let plan = SampleSort::new(len, key, payload, tuning, limits);
        if len == 0
            || !plan.is_one_tile()
            || self.segments.is_some()
            || self.compared.is_some()
            || self.apart
            || self.sorted == Sorted::Elsewhere
            || row_words > MOST_PLACED_WORDS
            // Nothing is to be done, or nothing else than any sort does.
            || !puts_keys && self.carried == Carried::Nothing
            || self.is_in_place(key) && !moves_rows
            || self.is_plain() && self.carried == Carried::Indices
        {
            return None;
        }
        let in_rows = of_rows && moves_rows;
        let mut bindings = vec![("keys", Buffer::Keys)];
        if payload != Payload::None && !in_rows {
            bindings.push(("rows", Buffer::Values));
        }
        let tile = Tile {
            records: plan.tile,
            merges: plan.merges,
        };
        let mut recording = Recording::new(len, key, order).carrying(payload);
        recording.bits = self.bits.unwrap_or(recording.bits);
        recording.kept = !puts_keys && !in_rows;
        recording.steps.push(Step {
            phase: Phase::BaseCase,
            round: 0,
            kernel: Kernel::SampleSort(SampleSortKernel::PlacedTile { tile, in_rows }),
            workgroups: [1, 1],
            bindings,
            parameters: [
                &[("len", len), ("puts_keys", puts_keys.into())][..],
                &self.key_places(),
                &[
                    ("row_first", self.first * row_words.max(1)),
                    ("row_words", row_words),
                ],
            ]
            .concat(),
            keys: len.into(),
        });
        Some(self.as_many_as_there_are(recording))
    }

    /// Records what is to be done around `sort`, which is a recording of as many keys as there is room for, with the
    /// [payload](Self::payload) of this arrangement.
    ///
    /// Where a buffer says how many records there are, `sort` must be a sample sort; and where keys are compared with their
    /// [arrays' numbers](Self::tells_arrays), one of arrays.
    #[must_use]
    pub fn around(
        &self,
        key: KeyType,
        order: Order,
        sort: Recording,
        limits: &DeviceLimits,
    ) -> Recording {
        self.as_many_as_there_are(self.around_all(key, order, sort, limits))
    }

    /// The recording, of as many records as a buffer says, if one does.
    fn as_many_as_there_are(&self, recording: Recording) -> Recording {
        match self.count_at {
            Some(count_at) => counting(recording, count_at),
            None => recording,
        }
    }

    /// [`around`](Self::around), of as many records as there is room for.
    fn around_all(
        &self,
        key: KeyType,
        order: Order,
        mut sort: Recording,
        limits: &DeviceLimits,
    ) -> Recording {
        self.tell_arrays(&mut sort);
        // The sort writes indices where the caller wants them, if all that is there is to be written.
        let wants_indices = self.carried == Carried::Indices;
        let indices_at_home = wants_indices && self.first == 0;
        let goes_along = sort.payload == Payload::Indices && !indices_at_home;
        let in_place = self.is_in_place(key) && !goes_along;
        if sort.len == 0 || in_place && !(sort.arrays && sort.payload == Payload::Indices) {
            return sort;
        }
        let mut around = Around {
            arrangement: self,
            limits,
            lends: sort.steps.len() > FEW_STEPS,
            recording: Recording {
                key,
                bits: self.bits.unwrap_or(key.words() * 32),
                order,
                steps: Vec::new(),
                ..sort.clone()
            },
        };
        let lent = wants_indices
            .then(|| around.lend(Buffer::ScratchValues, Buffer::Values, 1))
            .flatten();
        let indices = if sort.comparator.is_some() {
            around.sort_numbers(sort.steps, indices_at_home)
        } else {
            let indices = if goes_along {
                around.reserve_indices(Buffer::Indices)
            } else {
                Buffer::Values
            };
            if self.is_sorted_twice(key) {
                around.sort_twice(sort.steps, indices);
            } else {
                around.sort_keys(sort.steps, indices);
            }
            indices
        };
        around.restore(lent);
        if wants_indices && !indices_at_home {
            around.move_rows((indices, 0), (Buffer::Values, self.first), 1, None);
        }
        for column in self.columns(key) {
            around.move_column(column, indices);
        }
        around.place_scratch();
        around.recording
    }

    /// Tells the kernels that compare keys with their arrays' numbers where arrays begin.
    fn tell_arrays(&self, sort: &mut Recording) {
        let numbers = segments(self.segments.unwrap_or(0));
        let mut steps = std::mem::take(&mut sort.steps);
        for step in &mut steps {
            if sort.specialised(step).tells_arrays() {
                step.bindings.push(("offsets", Buffer::Offsets));
                for (name, value) in &mut step.parameters {
                    if let Some(number) = numbers.iter().find(|number| number.0 == *name) {
                        *value = number.1;
                    }
                }
            }
        }
        sort.steps = steps;
    }

    /// The first key's place in the caller's buffer, the distance of the others, and the logarithm of how many share a word.
    fn key_places(&self) -> [(&'static str, u32); 3] {
        let (stride, offset) = self.field.unwrap_or((1, 0));
        [
            ("key_first", self.first * stride + offset),
            ("key_stride", stride),
            ("key_shift", (32 / self.bits.unwrap_or(32)).ilog2()),
        ]
    }

    /// What is moved by indices.
    fn columns(&self, key: KeyType) -> Vec<Moved> {
        let carried: &[Column] = match &self.carried {
            Carried::Columns(columns) => columns,
            // In order, as all that is moved by index.
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
        let keys = match self.sorted {
            Sorted::Here => Some(Buffer::Keys),
            Sorted::Elsewhere => Some(Buffer::SortedKeys),
            Sorted::Nowhere => None,
        };
        let keys = keys.filter(|_| self.field.is_none());
        let words = match self.compared {
            None if self.is_sorted_twice(key) => Some(key.words()),
            compared => compared,
        };
        let keys = keys.zip(words).map(|(to, words)| (Buffer::Keys, words, to));
        let carried = carried.iter().enumerate().map(number);
        carried.chain(keys).collect()
    }
}

/// What kernels need to know of so many arrays.
fn segments(segments: u32) -> [(&'static str, u32); 2] {
    [
        ("segments", segments),
        ("segments_power", (segments / 2 + 1).next_power_of_two()),
    ]
}

/// The recording, of as many records as a word of [`Buffer::Count`] says. Its dispatches are those for all that there is room for,
/// and their kernels are told how many there are, before they begin.
fn counting(mut recording: Recording, count_at: u32) -> Recording {
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
        kernel: Kernel::Rows(RowsKernel::TakenCount),
        workgroups: [1, 1],
        bindings: vec![
            ("counts", Buffer::Count),
            ("parameters", Buffer::Parameters),
        ],
        parameters: vec![
            ("blocks", blocks),
            ("count_at", count_at),
            ("room", recording.len),
        ],
        keys: 0,
    };
    recording.steps.insert(0, count);
    recording
}

/// The recording, and behind it a look whether keys that are so arranged in [`Buffer::Keys`] are in order: [`Buffer::OutOfOrder`], which is 0
/// before, is 0 if they are; if not, keys from the first on that precedes the one before it.
#[must_use]
pub fn with_order_check(
    recording: Recording,
    arrangement: &Arrangement,
    limits: &DeviceLimits,
) -> Recording {
    let len = recording.len;
    let mut around = Around {
        arrangement,
        limits,
        lends: false,
        recording,
    };
    let found = around.recording.reserve(Buffer::OutOfOrder, 4);
    let buffers = [("source", Buffer::Keys), ("found", found)];
    let kernel = RowsKernel::OutOfOrder;
    let places = arrangement.key_places();
    around.step(Phase::OrderCheck, kernel, &buffers, &places, len.into());
    around.recording
}

/// Has a sort that begins with sorting tiles of its keys, which are in a buffer of their own, read them from another one
/// instead. Whether it does: others read them more than once.
fn read_from(steps: &mut [Step], keys: Buffer, source: Buffer) -> bool {
    let mut reads = false;
    for step in steps {
        let (Kernel::SampleSort(SampleSortKernel::SortedTiles { in_place, .. })
        | Kernel::BaseCase { in_place, .. }) = &mut step.kernel
        else {
            continue;
        };
        let name = if *in_place { "keys" } else { "source" };
        // (Mergesorts sort their samples in the same way.)
        let Some(i) = step.bindings.iter().position(|b| *b == (name, keys)) else {
            continue;
        };
        reads = true;
        step.bindings[i] = ("source", source);
        if *in_place {
            *in_place = false;
            step.bindings.push(("destination", keys));
            for binding in &mut step.bindings {
                if binding.0 == "values" {
                    binding.0 = "destination_values";
                }
            }
        }
    }
    reads
}

/// Has a sort of keys and their indices that partitions the input's tiles read keys where the caller has them, at these
/// [places](Arrangement::key_places), and write their indices alone in the end. Whether it does: others move keys with them.
///
/// ```text
///                       keys of one word               of two
/// partitioned tiles     keys -> scratch values, values keys -> values
/// gathered tiles        scratch values -> scratch      keys, values -> scratch, scratch values
///                       values -> scratch values
/// sorted buckets        scratch, scratch values -> values
/// ```
///
/// So an argsort takes no memory for another copy of its keys. Of 2^24 on an H200 one of 32 bits takes 1.56 ms and 8.3 bytes of
/// scratch memory a key, with a copy as long and 12.3 bytes; one of 64 bits 3.96 ms and 12.3 bytes, and 3.68 and 20.3. (Keys of one word, read by
/// their indices: 1.67 ms, whichever tiles are gathered at the same time. A tile's keys are in caches, but each is a line of its own.)
fn keep(steps: &mut Vec<Step>, key: KeyType, places: [(&'static str, u32); 3]) -> bool {
    use SampleSortKernel::{LargeBuckets, PartitionedTiles, SortedBuckets};
    let partitions = |step: &Step| {
        let kernel = step.kernel;
        matches!(
            kernel,
            Kernel::SampleSort(PartitionedTiles { first: true, .. })
        )
    };
    if !steps.iter().any(partitions) {
        return false;
    }
    for step in &mut *steps {
        let Kernel::SampleSort(kernel) = step.kernel else {
            continue;
        };
        let touched = step.bindings.iter().position(|b| b.1 == Buffer::Keys);
        let Some(touched) = touched else { continue };
        match kernel {
            SortedBuckets { .. } => {
                step.bindings.remove(touched);
            }
            // (By their indices: there are few.)
            LargeBuckets { .. } => {
                step.bindings.remove(touched);
                for (_, buffer) in step.bindings.iter_mut().filter(|b| b.0 == "source") {
                    *buffer = Buffer::Keys;
                }
            }
            _ => step.bindings[touched].0 = "source",
        }
        if move_apart(key) && matches!(kernel, PartitionedTiles { .. }) {
            let partitioned = ("destination", Buffer::ScratchValues);
            step.bindings.push(partitioned);
        }
        for (name, value) in &mut step.parameters {
            if let Some(place) = places.iter().find(|place| place.0 == *name) {
                *value = place.1;
            }
        }
    }
    let Some(gathered) = steps.iter().position(gathers).filter(|_| move_apart(key)) else {
        return true;
    };
    let end = gathered + steps[gathered..].iter().take_while(|s| gathers(s)).count();
    let moving = |step: &Step, round, from, to| {
        let mut step = step.clone();
        step.round = round;
        step.bindings.retain_mut(|(name, buffer)| {
            match *name {
                "source" => *buffer = from,
                "destination" => *buffer = to,
                _ => {}
            }
            !name.ends_with("values")
        });
        step
    };
    let mut moves = Vec::new();
    for (round, (from, to)) in [
        (Buffer::ScratchValues, Buffer::Scratch),
        (Buffer::Values, Buffer::ScratchValues),
    ]
    .into_iter()
    .enumerate()
    {
        let all = steps[gathered..end].iter();
        moves.extend(all.map(|step| moving(step, round as u32, from, to)));
    }
    steps.splice(gathered..end, moves);
    true
}

/// Whether it gathers the tiles of buckets.
const fn gathers(step: &Step) -> bool {
    matches!(
        step.kernel,
        Kernel::SampleSort(SampleSortKernel::GatheredTiles { .. })
    )
}

/// Where the rows of a column are.
#[must_use]
pub const fn carried_by(number: usize) -> Buffer {
    match number {
        0 => Buffer::Values,
        _ => Buffer::Column(number as u8),
    }
}

/// Gives the keys of a sort and what goes with them other buffers.
fn place(steps: &mut [Step], keys: Buffer, indices: Buffer) {
    rename(steps, &[(Buffer::Keys, keys), (Buffer::Values, indices)]);
}

/// Gives buffers of these steps another name, all at once.
fn rename(steps: &mut [Step], names: &[(Buffer, Buffer)]) {
    for (_, buffer) in steps.iter_mut().flat_map(|step| &mut step.bindings) {
        if let Some(name) = names.iter().find(|name| name.0 == *buffer) {
            *buffer = name.1;
        }
    }
}

/// Dispatches of a sort that is too short for [lending](Around::lend) it memory: that takes two more, to save what the scratch memory
/// of one of few tiles is hardly worth.
const FEW_STEPS: usize = 3;

/// Words of rows that one workgroup moves with a tile, a word at a time: there is more than one for those of more.
const MOST_PLACED_WORDS: u32 = 4;

/// Words of all tables in which narrow keys of few kinds are counted.
const MOST_COUNTS: u32 = 1 << 13;

/// A part of a caller's buffer that a sort has for scratch memory.
struct Lent {
    owner: Buffer,
    /// Words of a record.
    words: u32,
    /// Its first word.
    begin: u32,
    /// Where the words are that lie before the caller's records.
    saved: Buffer,
}

/// A recording of what is around a sort.
struct Around<'a> {
    arrangement: &'a Arrangement,
    limits: &'a DeviceLimits,
    /// Whether the sort is worth [lending](Self::lend) it memory.
    lends: bool,
    recording: Recording,
}

impl Around<'_> {
    /// Sorts keys, and their indices, if it is with these that they are sorted.
    fn sort_keys(&mut self, mut steps: Vec<Step>, indices: Buffer) {
        let arrangement = self.arrangement;
        let key = self.recording.key;
        // (Narrow keys, and those of arrays with indices, for which a kernel would need more buffers than a device must bind, are put
        // in order afterwards, as what goes with keys is.)
        if self.recording.payload == Payload::Indices
            && (!self.puts_keys() || arrangement.bits.is_some() || self.recording.arrays)
            && keep(&mut steps, key, self.arrangement.key_places())
        {
            place(&mut steps, Buffer::Keys, indices);
            self.recording.kept = true;
            self.recording.steps.extend(steps);
            let to = self.end_of_keys();
            if self.puts_keys() && arrangement.bits.is_some() {
                let scratch = Buffer::Scratch;
                self.take_narrow_keys((Buffer::Keys, scratch), Some(indices));
                self.put_keys_back(scratch, to);
            } else if self.puts_keys() {
                self.move_column((Buffer::Keys, key.words(), to), indices);
            }
            return;
        }
        if arrangement.is_in_place(key) {
            place(&mut steps, Buffer::Keys, indices);
            self.recording.steps.extend(steps);
            return;
        }
        if arrangement.bits.is_some()
            && self.recording.arrays
            && self.recording.payload == Payload::None
            && steps.iter().any(gathers)
        {
            self.sort_packed_keys(steps);
            return;
        }
        let may_end_there = arrangement.first == 0 && arrangement.bits.is_none();
        let taken = if arrangement.sorted == Sorted::Elsewhere && may_end_there {
            Buffer::SortedKeys
        } else {
            self.reserve_taken()
        };
        place(&mut steps, taken, indices);
        if !(arrangement.is_plain() && read_from(&mut steps, taken, Buffer::Keys)) {
            self.take_keys(taken);
        }
        let to = self.end_of_keys();
        let puts = taken != to && self.puts_keys();
        let lent = (puts && arrangement.bits.is_none())
            .then(|| self.lend(Buffer::Scratch, to, key.words()))
            .flatten();
        self.recording.steps.extend(steps);
        self.restore(lent);
        if puts {
            self.put_keys_back(taken, to);
        }
    }

    /// Sorts packed keys alone, of arrays, without another copy of the words that they are sorted as: the caller's own words take what is
    /// gathered.
    ///
    /// ```text
    /// narrow keys          keys -> scratch
    /// partitioned tiles    scratch
    /// gathered tiles       scratch -> keys
    /// narrow keys          keys -> scratch
    /// partitioned tiles    scratch
    /// sorted buckets       scratch -> keys
    /// ```
    fn sort_packed_keys(&mut self, mut steps: Vec<Step>) {
        let (words, to) = (Buffer::Scratch, self.end_of_keys());
        let places = self.arrangement.key_places();
        for step in &mut steps {
            for (name, buffer) in &mut step.bindings {
                match (*name, *buffer) {
                    ("destination", _) => *buffer = to,
                    (_, Buffer::Keys) => *buffer = words,
                    _ => {}
                }
            }
            for (name, value) in &mut step.parameters {
                if let Some(place) = places.iter().find(|place| place.0 == *name) {
                    *value = place.1;
                }
            }
        }
        self.recording.packed = true;
        self.take_narrow_keys((Buffer::Keys, words), None);
        let gathered = steps.iter().rposition(gathers).map_or(0, |last| last + 1);
        let of_buckets = steps.split_off(gathered);
        self.recording.steps.extend(steps);
        self.take_narrow_keys((to, words), None);
        self.recording.steps.extend(of_buckets);
    }

    /// Has a buffer of the sort's lie where a part of the caller's is, of rows of so many words, which end there and are nothing
    /// to be read before, if it is a part that not every device can bind. Records of the caller's that lie before it are saved.
    fn lend(&mut self, scratch: Buffer, owner: Buffer, words: u32) -> Option<Lent> {
        // Words of what any device binds.
        const ALIGNMENT: u32 = 64;
        let bytes = self.recording.buffers.get(&scratch).copied()?;
        let words_of = |records: u32| u64::from(records) * u64::from(words);
        let end = words_of(self.arrangement.first) + words_of(self.recording.len);
        // (Words have numbers of 32 bits.)
        let is_numbered = u32::try_from(end).is_ok();
        if self.arrangement.first == 0
            || !self.lends
            || !is_numbered
            || bytes > words_of(self.recording.len) * 4
        {
            return None;
        }
        let first = self.arrangement.first * words;
        let begin = first / ALIGNMENT * ALIGNMENT;
        let from = (owner, u64::from(begin) * 4);
        self.recording.placed.insert(scratch, from);
        if begin == first {
            return None;
        }
        let saved = Buffer::Before(u8::from(owner == Buffer::Values));
        // (More is saved than is before the part, and restored; but this is written after it.)
        self.recording.reserve(saved, u64::from(MOVED) * 4);
        self.move_some_rows((owner, begin), (saved, 0), words);
        Some(Lent {
            owner,
            words,
            begin,
            saved,
        })
    }

    /// Takes back what was lent, and restores what lies before the caller's records.
    fn restore(&mut self, lent: Option<Lent>) {
        if let Some(lent) = lent {
            self.move_some_rows((lent.saved, 0), (lent.owner, lent.begin), lent.words);
        }
    }

    /// Whether the sort's keys are wanted anywhere. (Fields stay with their rows, and those that are sorted twice are moved with the
    /// columns.)
    fn puts_keys(&self) -> bool {
        let arrangement = self.arrangement;
        let is_twice = arrangement.is_sorted_twice(self.recording.key);
        arrangement.sorted != Sorted::Nowhere && arrangement.field.is_none() && !is_twice
    }

    /// Where they are wanted.
    const fn end_of_keys(&self) -> Buffer {
        match self.arrangement.sorted {
            Sorted::Elsewhere => Buffer::SortedKeys,
            Sorted::Here | Sorted::Nowhere => Buffer::Keys,
        }
    }

    /// Sorts keys, of so many kinds, by their numbers.
    fn count_keys(&mut self, kinds: u32, plan: &SampleSort) {
        // Where keys are of few kinds, tiles wait for each other's additions to one of these. (2^24 u8 on an H200: 0.63 ms with
        // one table.)
        let tables = (MOST_COUNTS / kinds).max(1);
        let words = kinds * tables;
        let counts = self.recording.reserve(Buffer::Counts, u64::from(words) * 4);
        let places = self
            .recording
            .reserve(Buffer::KeyPlaces, u64::from(kinds) * 4);
        let (cleared, parameter) = (("destination", counts), ("words", words));
        let kernel = RowsKernel::Cleared;
        self.step(
            Phase::CountedKeys,
            kernel,
            &[cleared],
            &[parameter],
            words.into(),
        );
        let tile = Tile {
            records: plan.tile,
            merges: plan.merges,
        };
        for (first, end) in parts(plan.tiles(), plan.tile, self.limits) {
            let tiles = [("first", first), ("end", end), ("tables", tables)];
            let parameters = [
                &[("len", plan.len)][..],
                &tiles,
                &self.arrangement.key_places(),
            ];
            self.recording.steps.push(Step {
                phase: Phase::CountedKeys,
                round: 1,
                kernel: Kernel::SampleSort(SampleSortKernel::CountedTiles { tile }),
                workgroups: grid(end - first, self.limits),
                bindings: vec![("source", Buffer::Keys), ("counts", counts)],
                parameters: parameters.concat(),
                keys: u64::from(end - first) * u64::from(plan.tile),
            });
        }
        let mut sums = |round, kernel, bindings: [_; 2], parameters: &[_]| {
            self.recording.steps.push(Step {
                phase: Phase::CountedKeys,
                round,
                kernel: Kernel::Rows(kernel),
                workgroups: grid(kinds.div_ceil(COUNTED), self.limits),
                bindings: bindings.to_vec(),
                parameters: [&[("len", plan.len)], parameters].concat(),
                keys: kinds.into(),
            });
        };
        let numbers = [("bits", kinds.ilog2()), ("tables", tables)];
        let buffers = [("counts", counts), ("places", places)];
        sums(2, RowsKernel::KeyPlaces, buffers, &numbers);
        let mut ends = places;
        if kinds > COUNTED {
            // (Keys have been counted.)
            ends = counts;
            let buffers = [("places", places), ("ends", ends)];
            sums(3, RowsKernel::KeyEnds, buffers, &[("kinds", kinds)]);
        }
        let kernel = RowsKernel::ReturnedKeys { counted: true };
        self.put_narrow_keys(kernel, ("ends", ends), self.end_of_keys());
    }

    /// Sorts the numbers of rows that are compared, and returns where they are: the indices.
    fn sort_numbers(&mut self, mut steps: Vec<Step>, at_home: bool) -> Buffer {
        let numbers = if at_home {
            Buffer::Values
        } else {
            self.reserve_taken()
        };
        place(&mut steps, numbers, Buffer::Values);
        for step in &mut steps {
            if step.kernel.carries() {
                step.bindings.push(("compared_rows", Buffer::Keys));
            }
        }
        let buffers = [("destination", numbers)];
        let len = self.recording.len.into();
        let kernel = RowsKernel::Numbers { ordered: false };
        self.step(Phase::TakenKeys, kernel, &buffers, &[], len);
        self.recording.steps.extend(steps);
        numbers
    }

    /// Sorts keys by themselves, and then each array by its records' places in that order.
    fn sort_twice(&mut self, steps: Vec<Step>, indices: Buffer) {
        let (mut by_places, mut by_keys): (Vec<_>, Vec<_>) = steps
            .into_iter()
            .partition(|step| step.phase == Phase::Arrays);
        // The first order is to be read when the second one is there, and indices are written: they are what the first sort moves its
        // order to and from.
        let first = self.reserve_indices(Buffer::ScratchValues);
        let places = self.reserve_indices(Buffer::Scratch);
        rename(
            &mut by_keys,
            &[(Buffer::Values, first), (first, Buffer::Values)],
        );
        self.sort_keys(by_keys, indices);
        let kernel = RowsKernel::Numbers { ordered: true };
        let buffers = [("order", first), ("destination", places)];
        let len = self.recording.len.into();
        self.step(Phase::Arrays, kernel, &buffers, &[], len);
        rename(
            &mut by_places,
            &[(Buffer::Keys, places), (Buffer::Scratch, indices)],
        );
        self.recording.steps.extend(by_places);
        self.move_rows((first, 0), (indices, 0), 1, Some(places));
    }

    fn reserve_taken(&mut self) -> Buffer {
        let bytes = u64::from(self.recording.len) * self.recording.key.bytes();
        self.recording.reserve(Buffer::TakenKeys, bytes)
    }

    fn reserve_indices(&mut self, buffer: Buffer) -> Buffer {
        let bytes = u64::from(self.recording.len) * 4;
        self.recording.reserve(buffer, bytes)
    }

    /// Brings the keys to where they are sorted.
    fn take_keys(&mut self, taken: Buffer) {
        if self.arrangement.bits.is_some() {
            self.take_narrow_keys((Buffer::Keys, taken), None);
            return;
        }
        let [(_, first), (_, stride), _] = self.arrangement.key_places();
        let places = [
            ("source_first", first),
            ("source_stride", stride),
            ("destination_first", 0),
            ("destination_stride", 1),
        ];
        self.move_keys(Phase::TakenKeys, (Buffer::Keys, taken), &places);
    }

    /// Brings narrow keys to where they are sorted; or, if they are sorted where they are, in this order.
    fn take_narrow_keys(&mut self, (from, taken): (Buffer, Buffer), order: Option<Buffer>) {
        let kernel = RowsKernel::NarrowKeys {
            ordered: order.is_some(),
        };
        let mut buffers = vec![("source", from), ("destination", taken)];
        buffers.extend(order.map(|order| ("order", order)));
        let [(_, first), (_, stride), _] = self.arrangement.key_places();
        let parameters = [
            ("source_first", first),
            ("source_stride", stride),
            ("bits", self.arrangement.bits.unwrap_or(32)),
        ];
        let len = self.recording.len;
        self.step(Phase::TakenKeys, kernel, &buffers, &parameters, len.into());
    }

    /// Writes narrow keys to where they are wanted.
    fn put_narrow_keys(&mut self, kernel: RowsKernel, from: (&'static str, Buffer), to: Buffer) {
        let bits = self.arrangement.bits.unwrap_or(32);
        let first = self.arrangement.first;
        let parameters = [("destination_first", first), ("bits", bits)];
        let per_word = 32 / bits;
        let words = (first + self.recording.len).div_ceil(per_word) - first / per_word;
        self.step(
            Phase::MovedRows,
            kernel,
            &[from, ("destination", to)],
            &parameters,
            words.into(),
        );
    }

    fn put_keys_back(&mut self, taken: Buffer, to: Buffer) {
        if self.arrangement.bits.is_some() {
            let kernel = RowsKernel::ReturnedKeys { counted: false };
            self.put_narrow_keys(kernel, ("source", taken), to);
            return;
        }
        let places = [
            ("source_first", 0),
            ("source_stride", 1),
            ("destination_first", self.arrangement.first),
            ("destination_stride", 1),
        ];
        self.move_keys(Phase::MovedRows, (taken, to), &places);
    }

    /// Moves a column to the order of indices: there at once, or by scratch memory where it is to end where it is.
    fn move_column(&mut self, (from, words, to): Moved, indices: Buffer) {
        let first = self.arrangement.first * words;
        if from != to {
            self.move_rows((from, first), (to, first), words, Some(indices));
            return;
        }
        // The sort's own memory is free.
        let scratch = match words {
            1 if self.recording.comparator.is_some() => Buffer::Scratch,
            1 => Buffer::ScratchValues,
            _ => Buffer::ScratchRows,
        };
        let bytes = u64::from(self.recording.len) * u64::from(words) * 4;
        self.recording.reserve(scratch, bytes);
        self.move_rows((from, first), (scratch, 0), words, Some(indices));
        self.move_rows((scratch, 0), (to, first), words, None);
    }

    /// Has what a sort moves its records to lie where rows are moved to when it is done. (No kernel reads one of the two and
    /// writes the other, which one buffer may not be bound for; but where keys and indices [move apart](move_apart), and where the
    /// first of two sorts has [the other's place for its indices](Self::sort_twice), one does, and one of the two has a buffer of its own.)
    fn place_scratch(&mut self) {
        let recording = &mut self.recording;
        if !recording.buffers.contains_key(&Buffer::ScratchRows) {
            return;
        }
        let mut end = 0_u64;
        let apart = recording.kept && move_apart(recording.key)
            || self.arrangement.is_sorted_twice(recording.key);
        let parts = [Buffer::Scratch, Buffer::ScratchValues];
        for part in parts.into_iter().take(if apart { 1 } else { 2 }) {
            if recording.placed.contains_key(&part) {
                continue;
            }
            let bytes = recording.buffers.get(&part).copied().unwrap_or(0);
            // (Parts begin where any device binds them.)
            let begin = end.next_multiple_of(256);
            if bytes > 0 && begin + bytes <= self.limits.buffer_bytes {
                recording.placed.insert(part, (Buffer::ScratchRows, begin));
                end = begin + bytes;
            }
        }
        recording.reserve(Buffer::ScratchRows, end);
    }

    fn move_keys(
        &mut self,
        phase: Phase,
        (from, to): (Buffer, Buffer),
        places: &[(&'static str, u32)],
    ) {
        let buffers = [("source", from), ("destination", to)];
        let len = self.recording.len;
        self.step(phase, RowsKernel::MovedKeys, &buffers, places, len.into());
    }

    /// Moves rows of so many words, in the order of the sort or as they are.
    fn move_rows(
        &mut self,
        (from, from_word): (Buffer, u32),
        (to, to_word): (Buffer, u32),
        words: u32,
        order: Option<Buffer>,
    ) {
        let all_words = u64::from(self.recording.len) * u64::from(words);
        self.move_words((from, from_word), (to, to_word), words, order, all_words);
    }

    /// Moves what one workgroup does of rows of so many words, as they are.
    fn move_some_rows(&mut self, from: (Buffer, u32), to: (Buffer, u32), words: u32) {
        self.move_words(from, to, words, None, 1);
    }

    fn move_words(
        &mut self,
        (from, from_word): (Buffer, u32),
        (to, to_word): (Buffer, u32),
        words: u32,
        order: Option<Buffer>,
        moved: u64,
    ) {
        let kernel = RowsKernel::MovedRows {
            ordered: order.is_some(),
        };
        let mut buffers = vec![("source", from), ("destination", to)];
        buffers.extend(order.map(|order| ("order", order)));
        let places = [
            ("source_first", from_word),
            ("destination_first", to_word),
            ("words", words),
        ];
        self.step(Phase::MovedRows, kernel, &buffers, &places, moved);
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
        let mut parameters = places.to_vec();
        parameters.push(("len", self.recording.len));
        let groups = moved.div_ceil(MOVED.into()) as u32;
        for (first, end) in parts(groups, MOVED, self.limits) {
            self.recording.steps.push(Step {
                phase,
                round: 0,
                kernel: Kernel::Rows(kernel),
                workgroups: grid(end - first, self.limits),
                bindings: buffers.to_vec(),
                parameters: [&parameters[..], &[("first", first), ("end", end)]].concat(),
                keys: u64::from(end - first) * u64::from(MOVED),
            });
        }
    }
}

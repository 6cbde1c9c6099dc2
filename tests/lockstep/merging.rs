//! Merges in lock-step, compared with the CPU: of keys of both widths, with and without values,
//! from any record on, with counts in buffers, and of inputs that are not in order.

use bcfsort_testkit::all_cases;
use bcfsort_testkit::recordings::{Execution, unexpected};
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::merging::{MergeLayout, MergedValues, record_merge};
use wgpu_bcfsort::internals::recording::Buffer;
use wgpu_bcfsort::{KeyType, Order};
use wgsl_lockstep::Config;

/// Two tiles per dispatch, on a device with so much workgroup memory.
fn limits(workgroup_bytes: u32) -> DeviceLimits {
    DeviceLimits {
        keys_per_dispatch: 1 << 13,
        workgroup_bytes,
        ..bcfsort_testkit::LIMITS
    }
}

/// What no kernel may change.
const UNTOUCHED: u32 = 0x0dd_ba11;

/// Which keys the inputs have.
#[derive(Clone, Copy, Debug)]
enum Keys {
    /// Any, floats that are no numbers among them.
    Random,
    /// Few different ones.
    Few,
    /// One.
    Equal,
    /// A has all that are less than the others, or B.
    AFirst,
    BFirst,
    /// Any, and in no order.
    Unordered,
}

impl Keys {
    const ALL: [Self; 6] = [
        Self::Random,
        Self::Few,
        Self::Equal,
        Self::AFirst,
        Self::BFirst,
        Self::Unordered,
    ];

    /// The number of key `i` of an input.
    fn number(self, is_of_a: bool, i: u32) -> u64 {
        let mixed = (u64::from(i) * 2 + u64::from(is_of_a)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let random = (mixed ^ mixed >> 29).wrapping_mul(0xd6e8_feb8_6659_fd93);
        match self {
            Self::Random | Self::Unordered => random,
            Self::Few => random % 7,
            Self::Equal => 5,
            Self::AFirst => (u64::from(!is_of_a) << 30) + random % 1000,
            Self::BFirst => (u64::from(is_of_a) << 30) + random % 1000,
        }
    }
}

fn words(of: KeyType, keys: &[u64]) -> Vec<u32> {
    let words = keys.iter().flat_map(|&key| {
        [key as u32, (key >> 32) as u32]
            .into_iter()
            .take(of.words() as usize)
    });
    words.collect()
}

/// What a buffer holds: some words that are in front, the given ones, and room for more.
fn buffer(first: u32, unit: u32, words: &[u32], room: u32) -> Vec<u32> {
    let mut all = vec![UNTOUCHED; (first * unit) as usize];
    all.extend(words);
    all.resize(((first + room) * unit) as usize + 1, UNTOUCHED);
    all
}

#[derive(Clone, Copy, Debug)]
struct Case {
    of: KeyType,
    order: Order,
    keys: Keys,
    /// Records of each input, and for how many there is room.
    lens: [u32; 2],
    rooms: [u32; 2],
    layout: MergeLayout,
    workgroup_bytes: u32,
}

impl Case {
    /// The keys of an input.
    fn input(&self, number: usize) -> Vec<u64> {
        let mask = u64::MAX >> (64 - 32 * self.of.words());
        let keys = (0..self.lens[number]).map(|i| self.keys.number(number == 0, i) & mask);
        let mut keys: Vec<u64> = keys.collect();
        if !matches!(self.keys, Keys::Unordered) {
            let map = self.of.map(self.order);
            keys.sort_by_key(|&key| map.encode(key));
        }
        keys
    }

    /// All records in order, with values that are the numbers of records: those of B come after
    /// the last one of A.
    fn expected(&self) -> Vec<(u64, u32)> {
        let map = self.of.map(self.order);
        let [a, b] = [0, 1].map(|number| self.input(number));
        let (mut i, mut j) = (0, 0);
        let mut merged = Vec::new();
        while i < a.len() || j < b.len() {
            let is_of_a = j == b.len() || i < a.len() && map.encode(a[i]) <= map.encode(b[j]);
            if is_of_a {
                merged.push((a[i], i as u32));
                i += 1;
            } else {
                merged.push((b[j], self.lens[0] + j as u32));
                j += 1;
            }
        }
        merged
    }

    fn check(&self) {
        let Self {
            of, layout, rooms, ..
        } = *self;
        let unit = of.words();
        let limits = limits(self.workgroup_bytes);
        let recording = record_merge(rooms, of, self.order, &layout, &limits);
        let all = rooms[0] + rooms[1];
        let [a, b] = [0, 1].map(|number| words(of, &self.input(number)));
        let keys_a = buffer(layout.first_a, unit, &a, rooms[0]);
        let mut execution = Execution::new(&recording, &keys_a, Config::default());
        let keys_b = buffer(layout.first_b, unit, &b, rooms[1]);
        execution.set_buffer(Buffer::SecondKeys, keys_b);
        let output = buffer(layout.output, unit, &[], all);
        execution.set_buffer(Buffer::Output, output);
        let values = layout.values.unwrap_or_default();
        let numbers = |begin: u32, len: u32| (begin..begin + len).collect::<Vec<u32>>();
        let [len_a, len_b] = self.lens;
        for (role, first, words, room) in [
            (Buffer::Payload(0), values.a, numbers(0, len_a), rooms[0]),
            (
                Buffer::Payload(1),
                values.b,
                numbers(len_a, len_b),
                rooms[1],
            ),
            (Buffer::PayloadOutput(0), values.output, Vec::new(), all),
        ] {
            execution.set_buffer(role, buffer(first, 1, &words, room));
        }
        execution.set_buffer(Buffer::Count, vec![UNTOUCHED, len_a]);
        // More than there is room for counts as that.
        let more = if len_b == rooms[1] { u32::MAX } else { len_b };
        execution.set_buffer(Buffer::SecondCount, vec![more]);
        for kernel in execution.run().unwrap() {
            let findings = unexpected(&kernel.report);
            assert!(findings.is_empty(), "{self:?}: {findings:?}");
        }
        let keys = execution.buffer(Buffer::Output);
        let values_of = execution.buffer(Buffer::PayloadOutput(0));
        if matches!(self.keys, Keys::Unordered) {
            self.check_unordered(keys, values_of);
            return;
        }
        let (merged, numbers): (Vec<u64>, Vec<u32>) = self.expected().into_iter().unzip();
        let expected = buffer(layout.output, unit, &words(of, &merged), all);
        assert!(keys == expected, "keys of {self:?}");
        if layout.values.is_some() {
            let expected = buffer(values.output, 1, &numbers, all);
            assert!(values_of == expected, "values of {self:?}");
        }
    }

    /// Each record is one of an input, with its value.
    fn check_unordered(&self, keys: &[u32], values: &[u32]) {
        let [a, b] = [0, 1].map(|number| self.input(number));
        let all = [a, b].concat();
        let unit = self.of.words() as usize;
        let keys = keys.chunks(unit).skip(self.layout.output as usize);
        let first = self.layout.values.unwrap_or_default().output as usize;
        let values = values.iter().skip(first);
        for (key, &value) in keys.zip(values).take(all.len()) {
            if self.layout.values.is_some() {
                assert_eq!(key, words(self.of, &all[value as usize..][..1]), "{self:?}");
            }
        }
    }
}

#[test]
fn merges_equal_the_cpu() {
    let mut number = 0_u32;
    for (of, order) in [
        (KeyType::U32, Order::Ascending),
        (KeyType::F32, Order::Descending),
        (KeyType::I64, Order::Ascending),
        (KeyType::F64, Order::Descending),
        (KeyType::I32, Order::Ascending),
    ] {
        for lens in [
            [0, 1],
            [1, 0],
            [1, 1],
            [0, 3328],
            [1792, 1],
            [767, 768],
            [3000, 329],
            [5000, 5001],
        ] {
            for keys in Keys::ALL {
                number += 1;
                if lens[0] > 1 && !all_cases() && !number.is_multiple_of(7) {
                    continue;
                }
                let is_counted = number % 5 < 2;
                let more = if is_counted { number % 3 * 3000 } else { 0 };
                let rooms = if number.is_multiple_of(2) {
                    [lens[0] + more, lens[1]]
                } else {
                    [lens[0], lens[1] + more]
                };
                let layout = MergeLayout {
                    first_a: number % 3,
                    first_b: number % 4,
                    output: number % 2,
                    values: (!number.is_multiple_of(3)).then_some(MergedValues {
                        a: number % 2,
                        b: 3,
                        output: number % 4,
                    }),
                    counts: is_counted.then_some([1, 0]),
                };
                let case = Case {
                    of,
                    order,
                    keys,
                    lens,
                    rooms,
                    layout,
                    workgroup_bytes: [16_352, 8480][number as usize / 2 % 2],
                };
                case.check();
            }
        }
    }
}

/// Inputs of no records, for which there is room.
#[test]
fn no_records_are_merged() {
    let case = Case {
        of: KeyType::U32,
        order: Order::Ascending,
        keys: Keys::Random,
        lens: [0, 0],
        rooms: [4000, 10],
        layout: MergeLayout {
            counts: Some([1, 0]),
            ..MergeLayout::default()
        },
        workgroup_bytes: 16_352,
    };
    case.check();
    let nothing = record_merge(
        [0, 0],
        KeyType::U32,
        Order::Ascending,
        &MergeLayout::default(),
        &limits(16_352),
    );
    assert!(nothing.steps.is_empty());
}

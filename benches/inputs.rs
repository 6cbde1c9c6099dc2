//! Prints a table of the time of the sample sort for inputs of many orders and distributions, each
//! as a multiple of the time for random keys.
//!
//! ```text
//! cargo bench --bench inputs                   2^20 records of every type
//! cargo bench --bench inputs -- 24 26 u32      2^24, then 2^26 keys
//! cargo bench --bench inputs -- 26 pairs zipf  pairs, of the inputs with a matching name
//! ```
//!
//! Types: u32, f32 (random bits are floats, too), u64, pairs (of a u32 key and a u32 value, the
//! record's position). Each result is verified: it is in order, and has the input's records.
//!
//! Times are medians of whole sorts in one compute pass, by the device's timestamps if it has them.

use std::thread;
use std::time::{Duration, Instant};
use wgpu_bcfsort::{
    Detail, Engine, Error, KeyType, Keys, Options, Order, PreparedSort, SortJob, Sorter, wgpu,
};

/// Timed runs of each input, after a run whose result is verified.
const RUNS: usize = 9;

/// An idle device lowers its clock. So for this long it sorts before the timed runs.
const WARM_UP: Duration = Duration::from_millis(400);

/// Sorts of 2^20 other keys before each timed sort, for the same reason. They take longer than the
/// host needs to record the timed sort: after an idle moment it would seem 0.01 ms slower.
const BUSY: usize = 20;

/// Pseudo-random numbers: number `i` of a sequence.
fn random(i: u64) -> u64 {
    let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 32
}

/// A random number of [0, 1).
fn fraction(i: u64) -> f64 {
    (random(i) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A positive number without its fraction.
#[expect(clippy::cast_sign_loss, reason = "it has none")]
fn whole(number: f64) -> u64 {
    number as u64
}

/// A number of [0, 1) as a key.
fn spread(part: f64) -> u64 {
    whole(part * 1.8e19)
}

/// One of `values` values anywhere in the key type.
fn one_of(values: u64, i: u64) -> u64 {
    random(random(i) % values + (1 << 50))
}

/// A float's bits as the upper word of a key, and random bits below.
fn float(value: f64, i: u64) -> u64 {
    u64::from((value as f32).to_bits()) << 32 | random(i) >> 32
}

/// The sum of some random numbers: about normal, with a standard deviation of 1.
fn normal(i: u64) -> f64 {
    (0..12).map(|part| fraction(12 * i + part)).sum::<f64>() - 6.0
}

/// Position `i` of `n` as a key.
fn position(i: u64, n: u64) -> u64 {
    (u128::from(i) * u128::from(u64::MAX) / u128::from(n)) as u64
}

/// An input: its name, and 64-bit key `i` of `n`, whose upper word is its 32-bit key.
type Input = (&'static str, fn(u64, u64) -> u64);

const INPUTS: &[Input] = &[
    ("random", |i, _| random(i)),
    ("sorted", position),
    ("reversed", |i, n| position(n - 1 - i, n)),
    ("sorted, 1 % random", |i, n| match random(i) % 100 {
        0 => random(i + n),
        _ => position(i, n),
    }),
    ("sorted, neighbours exchanged", |i, n| position(i ^ 1, n)),
    ("organ pipe", |i, n| position(i.min(n - 1 - i), n)),
    ("saw of 1000 teeth", |i, n| position(i * 1000 % n, n)),
    ("sorted blocks of 64", |i, n| {
        random(i / 64 + n) / 64 * 63 + position(i % 64, 4096)
    }),
    ("constant", |_, _| 0x1234_5678_9abc_def0),
    ("2 values", |i, _| one_of(2, i)),
    ("1000 values", |i, _| one_of(1000, i)),
    ("2^16 values", |i, _| one_of(1 << 16, i)),
    ("2^18 values", |i, _| one_of(1 << 18, i)),
    ("2^20 values", |i, _| one_of(1 << 20, i)),
    ("2^22 values", |i, _| one_of(1 << 22, i)),
    ("2^24 values", |i, _| one_of(1 << 24, i)),
    ("0 to 10^6", |i, _| (random(i) % 1_000_000) << 32),
    ("0 to 10^6 in both words", |i, _| {
        random(i) % 1_000_000 * 0x1_0000_0001
    }),
    ("0 to 2^22", |i, _| (random(i) % (1 << 22)) << 32),
    ("zipf", |i, _| {
        whole((fraction(i) * f64::from(1 << 24).ln()).exp()) << 32
    }),
    ("1/u", |i, _| {
        whole(1.0 / (fraction(i) + 1e-9)) << 32 | random(i) >> 32
    }),
    ("exponential", |i, _| {
        spread(-(fraction(i) + 1e-9).ln() / 21.0)
    }),
    ("normal", |i, _| spread((normal(i) + 6.0) / 12.0)),
    ("floats of -100 to 100", |i, _| {
        float(fraction(i) * 200.0 - 100.0, i)
    }),
    ("floats, normal", |i, _| float(normal(i), i)),
    ("timestamps, almost in order", |i, _| {
        1_700_000_000_000_000_000 + (i << 20) + random(i) % (1 << 26)
    }),
    // Samples that are just even, and a full bucket in most items: the worst case of two words.
    ("one in 12 at 2^15 keys", |i, n| match random(i + n) % 12 {
        0 => random(i) >> 49 << 49 | i,
        _ => random(i),
    }),
    ("and of two", |i, n| random(i) & random(i + n)),
    ("and of three", |i, n| {
        random(i) & random(i + n) & random(i + 2 * n)
    }),
    ("two clusters", |i, _| {
        random(i) >> 20 | (random(i) & 1) << 63
    }),
    ("gaps in the middle bits", |i, _| {
        random(i) & 0xfff0_0fff_ffff_ffff
    }),
    ("bits 8 to 23 zero", |i, _| {
        random(i) & 0xff00_00ff_ffff_ffff
    }),
];

/// A type of records: its name, its key, and whether it has a value.
type Records = (&'static str, KeyType, bool);

const TYPES: &[Records] = &[
    ("u32", KeyType::U32, false),
    ("f32", KeyType::F32, false),
    ("u64", KeyType::U64, false),
    ("pairs", KeyType::U32, true),
];

/// The words of an input's keys, made by all cores.
fn words(input: &Input, n: u64, words_each: usize) -> Vec<u32> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut words = vec![0; n as usize * words_each];
    let part = (n as usize).div_ceil(cores) * words_each;
    thread::scope(|scope| {
        for (number, words) in words.chunks_mut(part).enumerate() {
            scope.spawn(move || {
                for (i, key) in words.chunks_mut(words_each).enumerate() {
                    let i = (number * part / words_each + i) as u64;
                    let bits = input.1(i, n);
                    if let [low, high] = key {
                        *low = bits as u32;
                        *high = (bits >> 32) as u32;
                    } else {
                        key[0] = (bits >> 32) as u32;
                    }
                }
            });
        }
    });
    words
}

/// A number that two arrays of records share if they have the same records in any order.
fn digest(keys: &[u32], words_each: usize, values: &[u32]) -> u64 {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let records = keys.len() / words_each;
    let part = records.div_ceil(cores).max(1);
    thread::scope(|scope| {
        let sums: Vec<_> = (0..records.div_ceil(part))
            .map(|number| {
                scope.spawn(move || {
                    let own = number * part..records.min((number + 1) * part);
                    own.fold(0_u64, |sum, i| {
                        let key = &keys[i * words_each..(i + 1) * words_each];
                        let key = key.iter().fold(0, |all, &word| all << 32 | u64::from(word));
                        let value = values.get(i).map_or(0, |&value| u64::from(value) + 1);
                        sum.wrapping_add(random(random(key).wrapping_add(value)))
                    })
                })
            })
            .collect();
        let sum = |thread: thread::ScopedJoinHandle<'_, u64>| thread.join().unwrap_or_default();
        sums.into_iter().map(sum).fold(0, u64::wrapping_add)
    })
}

fn buffer(sorter: &Sorter, words: u64) -> wgpu::Buffer {
    sorter.device().create_buffer(&wgpu::BufferDescriptor {
        label: Some("inputs"),
        size: 4 * words,
        usage: wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_DST
            | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: false,
    })
}

/// The sorts of one type of records, and their buffers.
struct Bench<'a> {
    sorter: &'a Sorter,
    len: u64,
    key: KeyType,
    /// The input's keys and values, and the buffers in which they are sorted.
    input: [wgpu::Buffer; 2],
    sorted: [wgpu::Buffer; 2],
    sort: PreparedSort,
    busy: PreparedSort,
}

impl<'a> Bench<'a> {
    fn new(sorter: &'a Sorter, len: u64, (_, key, has_values): Records) -> Result<Self, Error> {
        let words = len * u64::from(key.words());
        let values = if has_values { len } else { 4 };
        let input = [words, values].map(|words| buffer(sorter, words));
        let sorted = [words, values].map(|words| buffer(sorter, words));
        let mut job = SortJob::new(Keys::new(&sorted[0], key), len);
        if has_values {
            job = job.values(&sorted[1]);
            let positions: Vec<u32> = (0..len as u32).collect();
            let bytes = bytemuck::cast_slice(&positions);
            sorter.queue().write_buffer(&input[1], 0, bytes);
        }
        let sort = job.prepare(sorter)?;
        // Other keys, to keep the device busy.
        let other = buffer(sorter, 1 << 20);
        let busy = SortJob::new(Keys::new(&other, KeyType::U32), 1 << 20).prepare(sorter)?;
        Ok(Self {
            sorter,
            len,
            key,
            input,
            sorted,
            sort,
            busy,
        })
    }

    /// Copies the input to where it is sorted, and then sorts other keys `busy` times.
    fn start(&self, busy: usize) {
        let mut encoder = self.sorter.device().create_command_encoder(&<_>::default());
        for (from, to) in self.input.iter().zip(&self.sorted) {
            encoder.copy_buffer_to_buffer(from, 0, to, 0, to.size());
        }
        for _ in 0..busy {
            self.busy.record(&mut encoder);
        }
        self.sorter.queue().submit([encoder.finish()]);
    }

    /// Compares the sorted records with the input's keys.
    fn verify(&self, input: &Input, keys: &[u32]) -> Result<(), Box<dyn std::error::Error>> {
        let len = self.len;
        let words_each = self.key.words() as usize;
        let sorted = Keys::new(&self.sorted[0], self.key);
        let until = self
            .sorter
            .is_sorted_until(&sorted, len, Order::Ascending)?;
        if until != len {
            return Err(format!("{}: key {until} is less than the one before", input.0).into());
        }
        let after: Vec<u32> = self.sorter.download(&self.sorted[0])?;
        let mut values = [Vec::new(), Vec::new()];
        if self.sorted[1].size() == 4 * len {
            values[0] = (0..len as u32).collect();
            values[1] = self.sorter.download(&self.sorted[1])?;
            let equal = |i: usize| after[i] == after[i + 1] && values[1][i] >= values[1][i + 1];
            if let Some(at) = (0..len as usize - 1).find(|&i| equal(i)) {
                return Err(format!("{}: ties at {at} are in disorder", input.0).into());
            }
        }
        if digest(keys, words_each, &values[0]) != digest(&after, words_each, &values[1]) {
            return Err(format!("{}: the result has other records", input.0).into());
        }
        Ok(())
    }

    /// The median time of an input, in ms, once its result is verified.
    fn time(&self, input: &Input) -> Result<f64, Box<dyn std::error::Error>> {
        let keys = words(input, self.len, self.key.words() as usize);
        let bytes = bytemuck::cast_slice(&keys);
        self.sorter.queue().write_buffer(&self.input[0], 0, bytes);
        self.start(0);
        self.sort.run()?;
        self.verify(input, &keys)?;
        let warm = Instant::now();
        while warm.elapsed() < WARM_UP {
            self.start(BUSY);
            self.sort.run()?;
        }
        let mut times = Vec::new();
        for _ in 0..RUNS {
            self.start(BUSY);
            times.push(self.sort.profile(Detail::Whole)?.total);
        }
        times.sort_unstable();
        Ok(times[RUNS / 2].as_secs_f64() * 1e3)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Cargo adds an option.
    let arguments = std::env::args().skip(1).filter(|a| !a.starts_with('-'));
    let (mut powers, mut types, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for argument in arguments {
        if let Ok(power) = argument.parse::<u32>() {
            powers.push(power);
        } else if let Some(of_name) = TYPES.iter().find(|of_name| of_name.0 == argument) {
            types.push(*of_name);
        } else {
            names.push(argument);
        }
    }
    if powers.is_empty() {
        powers.push(20);
    }
    if types.is_empty() {
        types.extend(TYPES);
    }
    let is_unknown = |name: &&String| !INPUTS.iter().any(|input| input.0.contains(name.as_str()));
    if let Some(name) = names.iter().find(is_unknown) {
        return Err(format!("no input has '{name}' in its name").into());
    }
    let (first, others) = INPUTS.split_at(1);
    let others = others.iter().filter(|input| {
        names.is_empty() || names.iter().any(|name| input.0.contains(name.as_str()))
    });
    let inputs: Vec<&Input> = first.iter().chain(others).collect();
    let sorter = Sorter::open(Options::default().engine(Engine::SampleSort))?;
    println!("{}", sorter.device().adapter_info().name);
    for &power in &powers {
        for &of_type in &types {
            let bench = Bench::new(&sorter, 1 << power, of_type)?;
            println!("\n| 2^{power} {} | ms | of random |", of_type.0);
            println!("|---|---|---|");
            let mut random = None;
            for input in &inputs {
                let ms = bench.time(input)?;
                let of_random = ms / *random.get_or_insert(ms);
                println!("| {} | {ms:.3} | {of_random:.2} |", input.0);
            }
        }
    }
    Ok(())
}

//! What each kind of sort of GPU buffers takes, next to a sort of as many keys alone: a table.
//!
//! ```text
//! cargo bench --bench features               2^20 records
//! cargo bench --bench features -- 22 24      2^22, then 2^24
//! cargo bench --bench features -- argsort u8  keys, and the kinds with such a word in their names
//! ```
//!
//! Records are random. Kinds take turns, so that what disturbs one disturbs all; before each timed
//! sort the device sorts something else, as one that idles lowers its clock. Times are medians of
//! whole sorts, each in one compute pass, by the device's own clock where it has one.

use wgpu_bcfsort::internals::Recorded as _;
use wgpu_bcfsort::{
    BufferSort, Comparator, Error, KeyType, Options, Order, PackedKey, PreparedSort, Sorter,
    WideKey, wgpu,
};

/// Timed runs of each kind. (The first is none of them.)
const RUNS: usize = 11;

/// A kind of sort: what it is called, and how it is made of the buffers.
type Kind = (&'static str, for<'a> fn(&'a Buffers) -> BufferSort<'a>);

/// What kinds are made of. The first three have their contents again before each run.
struct Buffers {
    len: u64,
    keys: wgpu::Buffer,
    values: wgpu::Buffer,
    rows: wgpu::Buffer,
    sorted: wgpu::Buffer,
    sorted_rows: wgpu::Buffer,
    count: wgpu::Buffer,
    /// Where each of a thousand arrays begins, and each of as many as there may be of ten records.
    few: wgpu::Buffer,
    many: wgpu::Buffer,
    comparators: [Comparator; 3],
}

const FEW: u64 = 1000;

/// The order of `u32`, so that it can be compared with.
const ONE_WORD: &str = "struct Row { key: u32 }
fn precedes(a: Row, b: Row) -> bool { return a.key < b.key; }";

/// (Depths are numbers and no NaNs, which would make it no order.)
const TWO_FIELDS: &str = "struct Row { cell: u32, depth: u32, rest: vec2<u32> }
fn precedes(a: Row, b: Row) -> bool {
    if (a.cell & 255u) != (b.cell & 255u) {
        return (a.cell & 255u) < (b.cell & 255u);
    }
    return f32(a.depth) < f32(b.depth);
}";

const KINDS: &[Kind] = &[
    ("keys", |b| keys(b)),
    ("pairs", |b| keys(b).values(&b.values)),
    ("stable pairs", |b| keys(b).values(&b.values).stable()),
    ("keys and indices", |b| keys(b).indices(&b.values)),
    ("argsort", |b| keys(b).indices(&b.values).keep_keys()),
    ("keys into another buffer", |b| {
        keys(b).sorted_into(&b.sorted)
    }),
    ("a part", |b| {
        BufferSort::new(&b.keys, b.len - 1, KeyType::U32).first(1)
    }),
    ("as many as a buffer says: all", |b| {
        keys(b).count(&b.count, 0)
    }),
    ("as many as a buffer says: a hundredth", |b| {
        keys(b).count(&b.count, 1)
    }),
    ("as many as a buffer says: none", |b| {
        keys(b).count(&b.count, 2)
    }),
    ("with rows of 4 words", |b| keys(b).rows(&b.rows, 4)),
    ("with rows of 4 words into another buffer", |b| {
        keys(b).rows_into(&b.rows, 4, &b.sorted_rows)
    }),
    ("rows of 4 words by a field", |b| by_field(b)),
    ("rows of 4 words by a field into another buffer", |b| {
        by_field(b).sorted_into(&b.sorted_rows)
    }),
    ("u8", |b| {
        BufferSort::of_packed(&b.keys, b.len, PackedKey::U8)
    }),
    ("f16", |b| {
        BufferSort::of_packed(&b.keys, b.len, PackedKey::F16)
    }),
    ("f16, argsort", |b| {
        let sort = BufferSort::of_packed(&b.keys, b.len, PackedKey::F16);
        sort.indices(&b.values).keep_keys()
    }),
    ("f16 keys and indices", |b| {
        let sort = BufferSort::of_packed(&b.keys, b.len, PackedKey::F16);
        sort.indices(&b.values)
    }),
    ("in 1000 arrays", |b| {
        keys(b).segments(&b.few, words_of(&b.few))
    }),
    ("in arrays of 10", |b| {
        keys(b).segments(&b.many, words_of(&b.many))
    }),
    ("in 1000 arrays, argsort", |b| {
        let sort = keys(b).segments(&b.few, words_of(&b.few));
        sort.indices(&b.values).keep_keys()
    }),
    ("f16 in 1000 arrays", |b| {
        let sort = BufferSort::of_packed(&b.keys, b.len, PackedKey::F16);
        sort.segments(&b.few, words_of(&b.few))
    }),
    ("the least 100 in order", |b| keys(b).ranks(0..100)),
    ("the least 100", |b| keys(b).ranks(100..100)),
    ("the middle one", |b| {
        keys(b).ranks(b.len / 2..b.len / 2 + 1)
    }),
    ("the least 100, argsort", |b| {
        let sort = keys(b).indices(&b.values).keep_keys();
        sort.ranks(0..100)
    }),
    ("u64 keys", |b| wide(b)),
    ("u64 pairs", |b| wide(b).values(&b.values)),
    ("u64 argsort", |b| wide(b).indices(&b.values).keep_keys()),
    ("u64 in 1000 arrays", |b| {
        wide(b).segments(&b.few, words_of(&b.few))
    }),
    ("u64 in 1000 arrays, argsort", |b| {
        let sort = wide(b).segments(&b.few, words_of(&b.few));
        sort.indices(&b.values).keep_keys()
    }),
    ("u64, the middle one", |b| {
        wide(b).ranks(b.len / 2..b.len / 2 + 1)
    }),
    ("compared, one word", |b| {
        BufferSort::compared(&b.rows, b.len, &b.comparators[0])
    }),
    ("compared, one word, the least 100", |b| {
        BufferSort::compared(&b.rows, b.len, &b.comparators[0]).ranks(0..100)
    }),
    ("compared, two fields of 4 words", |b| {
        BufferSort::compared(&b.rows, b.len, &b.comparators[1])
    }),
    ("compared, u128", |b| {
        BufferSort::compared(&b.rows, b.len, &b.comparators[2])
    }),
];

fn keys(buffers: &Buffers) -> BufferSort<'_> {
    BufferSort::new(&buffers.keys, buffers.len, KeyType::U32)
}

fn words_of(buffer: &wgpu::Buffer) -> u32 {
    (buffer.size() / 4) as u32
}

/// (Rows have room for them.)
fn wide(buffers: &Buffers) -> BufferSort<'_> {
    BufferSort::new(&buffers.rows, buffers.len, KeyType::U64)
}

fn by_field(buffers: &Buffers) -> BufferSort<'_> {
    BufferSort::of_rows(&buffers.rows, buffers.len, 4, 1, KeyType::U32)
}

/// Some words that look random.
fn noise(words: u64) -> Vec<u32> {
    let word = |i: u64| {
        let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed ^ mixed >> 32) as u32
    };
    (0..words).map(word).collect()
}

fn buffer(sorter: &Sorter, words: u64) -> wgpu::Buffer {
    sorter.device().create_buffer(&wgpu::BufferDescriptor {
        label: Some("features"),
        size: 4 * words,
        usage: wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_DST
            | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: false,
    })
}

fn filled(sorter: &Sorter, words: &[u32]) -> wgpu::Buffer {
    let buffer = buffer(sorter, words.len() as u64);
    sorter
        .queue()
        .write_buffer(&buffer, 0, bytemuck::cast_slice(words));
    buffer
}

fn measure(sorter: &Sorter, len: u64, kinds: &[&Kind]) -> Result<(), Error> {
    let every = |distance: u64| -> Vec<u32> {
        (0..len.div_ceil(distance))
            .map(|i| (i * distance) as u32)
            .collect()
    };
    let comparators = [
        Comparator::new(ONE_WORD)?,
        Comparator::new(TWO_FIELDS)?,
        Comparator::wide(4, WideKey::LeastFirst)?,
    ];
    let buffers = Buffers {
        len,
        keys: buffer(sorter, len),
        values: buffer(sorter, len),
        rows: buffer(sorter, 4 * len),
        sorted: buffer(sorter, len),
        sorted_rows: buffer(sorter, 4 * len),
        count: filled(sorter, &[len as u32, (len / 100) as u32, 0]),
        few: filled(sorter, &every(len.div_ceil(FEW))),
        many: filled(sorter, &every(10)),
        comparators,
    };
    let contents = filled(sorter, &noise(4 * len));
    // Something else, to keep the device busy.
    let other = buffer(sorter, 1 << 20);
    let busy = sorter.prepare(&other, 1 << 20, KeyType::U32, Order::Ascending)?;
    let sorts: Vec<PreparedSort> = kinds
        .iter()
        .map(|kind| sorter.prepare_sort(kind.1(&buffers)))
        .collect::<Result<_, _>>()?;
    let is_gpu = sorter.device().adapter_info().device_type != wgpu::DeviceType::Cpu;
    let mut times = vec![Vec::new(); kinds.len()];
    for run in 0..=RUNS {
        for (sort, times) in sorts.iter().zip(&mut times) {
            let device = sorter.device();
            let mut encoder = device.create_command_encoder(&<_>::default());
            for to in [&buffers.keys, &buffers.values, &buffers.rows] {
                encoder.copy_buffer_to_buffer(&contents, 0, to, 0, to.size());
            }
            for _ in 0..if is_gpu { 40 } else { 0 } {
                sorter.record_sort(&mut encoder, &busy)?;
            }
            sorter.queue().submit([encoder.finish()]);
            let profile = sorter.run_timed(sort)?;
            if run > 0 {
                times.push(profile.total);
            }
        }
    }
    println!(
        "\n| 2^{:.0} records | dispatches | scratch, bytes a record | ms | of that of keys |",
        (len as f64).log2()
    );
    println!("|---|---|---|---|---|");
    let medians: Vec<f64> = times
        .iter_mut()
        .map(|times| {
            times.sort_unstable();
            times[RUNS / 2].as_secs_f64() * 1e3
        })
        .collect();
    for ((kind, sort), ms) in kinds.iter().zip(&sorts).zip(&medians) {
        let dispatches = sort.recording().steps.len();
        let scratch = sort.recording().scratch_bytes() as f64 / len as f64;
        println!(
            "| {} | {dispatches} | {scratch:.1} | {ms:.3} | {:.2} |",
            kind.0,
            ms / medians[0]
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // (Cargo adds an option.)
    let arguments = std::env::args().skip(1).filter(|a| !a.starts_with('-'));
    let (mut powers, mut words) = (Vec::new(), Vec::new());
    for argument in arguments {
        match argument.parse::<u32>() {
            Ok(power) => powers.push(power),
            Err(_) => words.push(argument),
        }
    }
    if powers.is_empty() {
        powers.push(20);
    }
    let is_named = |kind: &Kind| words.iter().any(|word| kind.0.contains(word.as_str()));
    let (keys, others) = KINDS.split_at(1);
    let others = others
        .iter()
        .filter(|kind| words.is_empty() || is_named(kind));
    let is_unknown = |word: &&String| !KINDS.iter().any(|kind| kind.0.contains(word.as_str()));
    if let Some(word) = words.iter().find(is_unknown) {
        return Err(format!("no kind of sort has '{word}' in its name").into());
    }
    let kinds: Vec<&Kind> = keys.iter().chain(others).collect();
    let engine = wgpu_bcfsort::Engine::SampleSort;
    let sorter = Sorter::open(Options::default().engine(engine))?;
    println!("{}", sorter.device().adapter_info().name);
    for power in powers {
        measure(&sorter, 1 << power, &kinds)?;
    }
    Ok(())
}

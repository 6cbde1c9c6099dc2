//! Prints a table of sorts of GPU buffers: the time of each kind, compared with keys alone.
//!
//! ```text
//! cargo bench --bench features               2^20 records
//! cargo bench --bench features -- 22 24      2^22, then 2^24
//! cargo bench --bench features -- argsort u8  keys, and the kinds with a matching name
//! ```
//!
//! Records are random. Measurements are interleaved, so that all kinds see the same clocks. Before
//! each timed sort the device sorts other keys, since an idle device lowers its clock. Times are
//! medians of whole sorts in one compute pass, by the device's timestamps if it has them.

use std::ops::Range;
use wgpu_bcfsort::internals::Recorded as _;
use wgpu_bcfsort::{
    CompactJob, Comparator, Detail, Error, Field, HistogramJob, KeyField, KeyType, Keys, MergeJob,
    Options, Order, Payload, Predicate, PreparedSort, Runs, ScanJob, SortJob, Sorter, TopKJob,
    WideKey, wgpu,
};

/// Timed runs of each kind. One untimed run precedes them.
const RUNS: usize = 11;

/// A kind of sort: its name, and a function that prepares it.
type Kind = (
    &'static str,
    fn(&Sorter, &Buffers) -> Result<PreparedSort, Error>,
);

/// The buffers of all kinds. The contents of the first four are restored before each run.
struct Buffers {
    len: u64,
    keys: wgpu::Buffer,
    values: wgpu::Buffer,
    rows: wgpu::Buffer,
    /// Numbers below the number of records.
    cells: wgpu::Buffer,
    sorted: wgpu::Buffer,
    sorted_rows: wgpu::Buffer,
    count: wgpu::Buffer,
    found: wgpu::Buffer,
    /// Segment offsets: of a thousand segments, and of segments with 1024 and with ten records.
    few: wgpu::Buffer,
    short: wgpu::Buffer,
    many: wgpu::Buffer,
    /// Sorted keys, and a quarter as many to look for: in order, and in any.
    in_order: wgpu::Buffer,
    needles: [wgpu::Buffer; 2],
    /// Two inputs of a merge, half as many keys each.
    halves: [wgpu::Buffer; 2],
    table: wgpu::Buffer,
    /// Flags, half of which are set.
    flags: wgpu::Buffer,
    byte_flags: wgpu::Buffer,
    odd: Predicate,
    comparators: [Comparator; 3],
}

const FEW: u64 = 1000;

/// The order of `u32`, for a comparison with the built-in key type.
const ONE_WORD: &str = "struct Row { key: u32 }
fn precedes(a: Row, b: Row) -> bool { return a.key < b.key; }";

/// Half of all random keys.
const ODD: &str = "struct Row { key: u32 }
fn keeps(row: Row) -> bool { return (row.key & 1u) == 1u; }";

/// Depths are not NaNs, with which this would not be an order.
const TWO_FIELDS: &str = "struct Row { cell: u32, depth: u32, rest: vec2<u32> }
fn precedes(a: Row, b: Row) -> bool {
    if (a.cell & 255u) != (b.cell & 255u) {
        return (a.cell & 255u) < (b.cell & 255u);
    }
    return f32(a.depth) < f32(b.depth);
}";

const KINDS: &[Kind] = &[
    ("keys", |s, b| keys(b).prepare(s)),
    ("key-value", |s, b| keys(b).values(&b.values).prepare(s)),
    ("key-value, stable", |s, b| {
        keys(b).payload(Payload::new(&b.values, 4)).prepare(s)
    }),
    ("keys and indices", |s, b| {
        keys(b).indices(&b.values).prepare(s)
    }),
    ("argsort", |s, b| {
        keys(b).indices(&b.values).keep_keys().prepare(s)
    }),
    ("out of place", |s, b| keys(b).output(&b.sorted).prepare(s)),
    ("sub-range", |s, b| {
        let keys = Keys::new(b.keys.slice(4..), KeyType::U32);
        SortJob::new(keys, b.len - 1).prepare(s)
    }),
    ("indirect count: all", |s, b| {
        keys(b).len_from(&b.count).prepare(s)
    }),
    ("indirect count: 1 %", |s, b| {
        keys(b).len_from(b.count.slice(4..)).prepare(s)
    }),
    ("indirect count: none", |s, b| {
        keys(b).len_from(b.count.slice(8..)).prepare(s)
    }),
    ("runs: starts and lengths", |s, b| {
        keys(b).runs(runs(b)).prepare(s)
    }),
    ("unique", |s, b| {
        keys(b).unique(&b.sorted, &b.found).prepare(s)
    }),
    ("runs of sorted keys", |s, b| {
        in_order(b).runs(runs(b)).prepare(s)
    }),
    ("cell numbers", |s, b| cells(b).prepare(s)),
    ("cell numbers, starts of as many cells", |s, b| {
        cells(b).starts_of(&b.table, b.len as u32).prepare(s)
    }),
    ("lower_bound of a quarter, in order", |s, b| {
        in_order(b)
            .lower_bound(&b.needles[0], b.len / 4, &b.table)
            .prepare(s)
    }),
    ("lower_bound of a quarter, at random", |s, b| {
        in_order(b)
            .lower_bound(&b.needles[1], b.len / 4, &b.table)
            .prepare(s)
    }),
    ("compact half by flags of 32 bits", |s, b| {
        compact(b, Keys::new(&b.flags, KeyType::U32)).prepare(s)
    }),
    ("compact half by flags of 8 bits", |s, b| {
        compact(b, Keys::new(&b.byte_flags, KeyType::U8)).prepare(s)
    }),
    ("compact half by a predicate", |s, b| {
        // What is kept is moved from the rows that are read, as CUB's `If` does it.
        let kept = CompactJob::by(&b.keys, &b.odd, b.len, &b.found);
        kept.rows(&b.keys, 4, &b.sorted).prepare(s)
    }),
    ("scan", |s, b| {
        let job = ScanJob::exclusive(&b.values, KeyType::U32, b.len);
        job.output(&b.sorted).prepare(s)
    }),
    ("scan in place, f32", |s, b| {
        ScanJob::inclusive(&b.values, KeyType::F32, b.len).prepare(s)
    }),
    ("scan, u64", |s, b| {
        let job = ScanJob::exclusive(&b.rows, KeyType::U64, b.len);
        job.output(&b.sorted_rows).prepare(s)
    }),
    ("histogram, 256 even bins", |s, b| {
        histogram(b, 256).prepare(s)
    }),
    ("histogram, 1024 even bins", |s, b| {
        histogram(b, 1024).prepare(s)
    }),
    ("histogram, 4096 even bins", |s, b| {
        histogram(b, 4096).prepare(s)
    }),
    ("merge, two halves", |s, b| merge(b).prepare(s)),
    ("merge, two halves, with values", |s, b| {
        let (first, second) = (&b.values, b.values.slice(2 * b.len..));
        merge(b).values(first, second, &b.table).prepare(s)
    }),
    ("payload of 16 bytes", |s, b| {
        keys(b).payload(Payload::new(&b.rows, 16)).prepare(s)
    }),
    ("payload of 16 bytes, out of place", |s, b| {
        let rows = Payload::new(&b.rows, 16).output(&b.sorted_rows);
        keys(b).payload(rows).prepare(s)
    }),
    ("structs of 16 bytes by a field", |s, b| {
        by_field(b).prepare(s)
    }),
    ("structs of 16 bytes by a field, out of place", |s, b| {
        by_field(b).output(&b.sorted_rows).prepare(s)
    }),
    ("structs of 16 bytes by two fields", |s, b| {
        two_fields(b).prepare(s)
    }),
    ("structs of 16 bytes by two fields, out of place", |s, b| {
        two_fields(b).output(&b.sorted_rows).prepare(s)
    }),
    ("u8", |s, b| packed(b, KeyType::U8).prepare(s)),
    ("f16", |s, b| packed(b, KeyType::F16).prepare(s)),
    ("f16, argsort", |s, b| {
        packed(b, KeyType::F16)
            .indices(&b.values)
            .keep_keys()
            .prepare(s)
    }),
    ("f16, keys and indices", |s, b| {
        packed(b, KeyType::F16).indices(&b.values).prepare(s)
    }),
    ("key-value, by 16 bits", |s, b| {
        by_bits(b, 0..16).values(&b.values).prepare(s)
    }),
    ("argsort, by 16 bits", |s, b| {
        by_bits(b, 0..16).indices(&b.values).keep_keys().prepare(s)
    }),
    ("argsort, by 20 bits", |s, b| {
        by_bits(b, 0..20).indices(&b.values).keep_keys().prepare(s)
    }),
    ("keys, by 16 bits", |s, b| by_bits(b, 0..16).prepare(s)),
    ("1000 segments", |s, b| {
        segmented(b, &b.keys, KeyType::U32, &b.few).prepare(s)
    }),
    ("segments of 10", |s, b| {
        segmented(b, &b.keys, KeyType::U32, &b.many).prepare(s)
    }),
    ("segments of 1024", |s, b| {
        segmented(b, &b.keys, KeyType::U32, &b.short).prepare(s)
    }),
    ("segments of 1024, argsort", |s, b| {
        let job = segmented(b, &b.keys, KeyType::U32, &b.short);
        job.indices(&b.values).keep_keys().prepare(s)
    }),
    ("segments of 1024, top 64", |s, b| {
        top_k(b, KeyType::U32, 64).keys(&b.sorted).prepare(s)
    }),
    ("segments of 1024, top 64, indices", |s, b| {
        top_k(b, KeyType::U32, 64).indices(&b.sorted).prepare(s)
    }),
    ("segments of 1024, f32, top 64, keys and indices", |s, b| {
        let job = top_k(b, KeyType::F32, 64).keys(&b.sorted);
        job.indices(&b.sorted_rows).prepare(s)
    }),
    ("segments of 1024, top 8, indices", |s, b| {
        top_k(b, KeyType::U32, 8).indices(&b.sorted).prepare(s)
    }),
    ("segments of 1024, top 1024, indices", |s, b| {
        top_k(b, KeyType::U32, 1024).indices(&b.sorted).prepare(s)
    }),
    ("1000 segments, top 2000 in place", |s, b| {
        segmented(b, &b.keys, KeyType::U32, &b.few)
            .top(2000)
            .prepare(s)
    }),
    ("1000 segments, top 64 in place", |s, b| {
        segmented(b, &b.keys, KeyType::U32, &b.few)
            .top(64)
            .prepare(s)
    }),
    ("1000 segments, top 64, indices", |s, b| {
        let job = TopKJob::segmented(
            Keys::new(&b.keys, KeyType::U32),
            b.len,
            &b.few,
            (b.few.size() / 4) as u32,
            64,
        );
        job.indices(&b.sorted).prepare(s)
    }),
    ("1000 segments, argsort", |s, b| {
        let job = segmented(b, &b.keys, KeyType::U32, &b.few);
        job.indices(&b.values).keep_keys().prepare(s)
    }),
    ("f16, 1000 segments", |s, b| {
        segmented(b, &b.keys, KeyType::F16, &b.few).prepare(s)
    }),
    ("top-100", |s, b| keys(b).top(100).prepare(s)),
    ("top-100 unordered", |s, b| {
        keys(b).range(100..100).prepare(s)
    }),
    ("nth_element (median)", |s, b| {
        keys(b).range(b.len / 2..b.len / 2 + 1).prepare(s)
    }),
    ("top-100, argsort", |s, b| {
        keys(b).indices(&b.values).keep_keys().top(100).prepare(s)
    }),
    ("u64", |s, b| wide(b).prepare(s)),
    ("u64, key-value", |s, b| {
        wide(b).values(&b.values).prepare(s)
    }),
    ("u64, argsort", |s, b| {
        wide(b).indices(&b.values).keep_keys().prepare(s)
    }),
    ("u64, 1000 segments", |s, b| {
        segmented(b, &b.rows, KeyType::U64, &b.few).prepare(s)
    }),
    ("u64, 1000 segments, argsort", |s, b| {
        let job = segmented(b, &b.rows, KeyType::U64, &b.few);
        job.indices(&b.values).keep_keys().prepare(s)
    }),
    ("u64, nth_element (median)", |s, b| {
        wide(b).range(b.len / 2..b.len / 2 + 1).prepare(s)
    }),
    ("comparator, one word", |s, b| {
        SortJob::by(&b.rows, &b.comparators[0], b.len).prepare(s)
    }),
    ("comparator, one word, top-100", |s, b| {
        SortJob::by(&b.rows, &b.comparators[0], b.len)
            .top(100)
            .prepare(s)
    }),
    ("comparator, two fields of 16 bytes", |s, b| {
        SortJob::by(&b.rows, &b.comparators[1], b.len).prepare(s)
    }),
    ("u128", |s, b| u128s(&b.rows, b.len).prepare(s)),
    ("u128, out of place", |s, b| {
        u128s(&b.rows, b.len).output(&b.sorted_rows).prepare(s)
    }),
    ("u128, a quarter of the records", |s, b| {
        u128s(&b.rows, b.len / 4).prepare(s)
    }),
    (
        "u128, a quarter of the records, 16 different ones",
        |s, b| u128s(&b.flags, b.len / 4).prepare(s),
    ),
    ("comparator, u128", |s, b| {
        SortJob::by(&b.rows, &b.comparators[2], b.len).prepare(s)
    }),
];

fn keys(buffers: &Buffers) -> SortJob<'_> {
    SortJob::new(Keys::new(&buffers.keys, KeyType::U32), buffers.len)
}

fn compact<'a>(buffers: &'a Buffers, flags: Keys<'a>) -> CompactJob<'a> {
    CompactJob::new(flags, buffers.len, &buffers.found).rows(&buffers.values, 4, &buffers.sorted)
}

fn histogram(buffers: &Buffers, bins: u32) -> HistogramJob<'_> {
    let keys = Keys::new(&buffers.keys, KeyType::U32);
    HistogramJob::even(keys, buffers.len, 0..u32::MAX, bins, &buffers.sorted)
}

/// Merges two halves, each of which is in order.
fn merge(buffers: &Buffers) -> MergeJob<'_> {
    let half = buffers.len / 2;
    let [first, second] = &buffers.halves;
    MergeJob::new((first, half), (second, half), KeyType::U32, &buffers.sorted)
}

/// The room of the rows is as good as any.
fn runs(buffers: &Buffers) -> Runs<'_> {
    Runs::new(&buffers.found)
        .starts(&buffers.sorted)
        .lengths(&buffers.sorted_rows)
}

fn cells(buffers: &Buffers) -> SortJob<'_> {
    SortJob::new(Keys::new(&buffers.cells, KeyType::U32), buffers.len)
}

fn in_order(buffers: &Buffers) -> SortJob<'_> {
    SortJob::of_sorted(Keys::new(&buffers.in_order, KeyType::U32), buffers.len)
}

fn two_fields(b: &Buffers) -> SortJob<'_> {
    let field = |offset, key, order| KeyField { offset, key, order };
    let fields = [
        field(0, KeyType::U32, Order::Ascending),
        field(4, KeyType::F32, Order::Descending),
    ];
    SortJob::new(Keys::fields(&b.rows, 16, &fields), b.len)
}

fn u128s(keys: &wgpu::Buffer, len: u64) -> SortJob<'_> {
    SortJob::new(Keys::fields(keys, 16, &KeyField::U128), len)
}

fn by_bits(b: &Buffers, bits: Range<u32>) -> SortJob<'_> {
    SortJob::new(Keys::new(&b.keys, KeyType::U32).bits(bits), b.len)
}

fn packed(buffers: &Buffers, key: KeyType) -> SortJob<'_> {
    SortJob::new(Keys::new(&buffers.keys, key), buffers.len)
}

fn segmented<'a>(
    buffers: &Buffers,
    keys: &'a wgpu::Buffer,
    key: KeyType,
    offsets: &'a wgpu::Buffer,
) -> SortJob<'a> {
    let count = (offsets.size() / 4) as u32;
    SortJob::segmented(Keys::new(keys, key), buffers.len, offsets, count)
}

/// The first k of each of the short segments.
fn top_k(buffers: &Buffers, key: KeyType, k: u32) -> TopKJob<'_> {
    let count = (buffers.short.size() / 4) as u32;
    let keys = Keys::new(&buffers.keys, key);
    TopKJob::segmented(keys, buffers.len, &buffers.short, count, k)
}

/// The buffer of rows has room for 64-bit keys.
fn wide(buffers: &Buffers) -> SortJob<'_> {
    SortJob::new(Keys::new(&buffers.rows, KeyType::U64), buffers.len)
}

fn by_field(buffers: &Buffers) -> SortJob<'_> {
    SortJob::new(
        Keys::strided(
            &buffers.rows,
            KeyType::U32,
            Field {
                stride: 16,
                offset: 4,
            },
        ),
        buffers.len,
    )
}

/// Pseudo-random words.
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
    let mut in_order = noise(len);
    let needles: Vec<u32> = in_order.iter().step_by(4).map(|&key| !key).collect();
    let cell_numbers: Vec<u32> = (in_order.iter())
        .map(|&key| ((u64::from(key) * len) >> 32) as u32)
        .collect();
    let flags: Vec<u32> = in_order.iter().map(|key| key >> 31).collect();
    let bytes: Vec<u32> = (in_order.iter().take((len / 4) as usize))
        .map(|key| key & 0x0101_0101)
        .collect();
    let halves = <[_; 2]>::from(in_order.split_at(in_order.len() / 2)).map(|half| {
        let mut half = half.to_vec();
        half.sort_unstable();
        filled(sorter, &half)
    });
    in_order.sort_unstable();
    let mut ordered_needles = needles.clone();
    ordered_needles.sort_unstable();
    let buffers = Buffers {
        len,
        keys: buffer(sorter, len),
        values: buffer(sorter, len),
        rows: buffer(sorter, 4 * len),
        cells: buffer(sorter, len),
        sorted: buffer(sorter, len),
        sorted_rows: buffer(sorter, 4 * len),
        count: filled(sorter, &[len as u32, (len / 100) as u32, 0]),
        found: buffer(sorter, 4),
        few: filled(sorter, &every(len.div_ceil(FEW))),
        short: filled(sorter, &every(1024)),
        many: filled(sorter, &every(10)),
        in_order: filled(sorter, &in_order),
        needles: [filled(sorter, &ordered_needles), filled(sorter, &needles)],
        halves,
        table: buffer(sorter, len + 1),
        flags: filled(sorter, &flags),
        byte_flags: filled(sorter, &bytes),
        odd: Predicate::new(ODD).unwrap(),
        comparators,
    };
    let contents = filled(sorter, &noise(4 * len));
    let cell_numbers = filled(sorter, &cell_numbers);
    // Other keys, to keep the device busy.
    let other = buffer(sorter, 1 << 20);
    let busy = SortJob::new(Keys::new(&other, KeyType::U32), 1 << 20).prepare(sorter)?;
    let sorts: Vec<PreparedSort> = kinds
        .iter()
        .map(|kind| kind.1(sorter, &buffers))
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
            let cells = &buffers.cells;
            encoder.copy_buffer_to_buffer(&cell_numbers, 0, cells, 0, cells.size());
            for _ in 0..if is_gpu { 40 } else { 0 } {
                busy.record(&mut encoder);
            }
            sorter.queue().submit([encoder.finish()]);
            let profile = sort.profile(Detail::Whole)?;
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
    // Cargo adds an option.
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

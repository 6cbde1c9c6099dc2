//! Recordings that together use every kernel that the library can dispatch.

use super::{histogram, top_k};
use crate::LIMITS;
use crate::PaperOptions;
use std::ops::Range;
use wgpu_bcfsort::internals::comparator_stand_in;
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::layout::{
    Cells, Column, Field, Found, Heads, LayoutSort, Output, Part, Runs, Search, SortLayout,
    Structs, record_compared, record_copy, record_is_sorted,
};
use wgpu_bcfsort::internals::merging::{MergeLayout, MergedValues, record_merge};
use wgpu_bcfsort::internals::planner::record_sort;
use wgpu_bcfsort::internals::prefix_sums::record_prefix_sums;
use wgpu_bcfsort::internals::recording::PayloadKind;
use wgpu_bcfsort::internals::recording::{Buffer, Phase, Recording, Step};
use wgpu_bcfsort::internals::samplesort::Shape;
use wgpu_bcfsort::internals::samplesort::Tuning;
use wgpu_bcfsort::internals::samplesort::kernels::{self, Partition, TileSizes};
use wgpu_bcfsort::internals::samplesort::{
    self, AS_THEY_ARE, Records, Rooms, Sizes, SortPlan, WordSort,
};
use wgpu_bcfsort::internals::scan::{ScanLayout, record_scan};
use wgpu_bcfsort::internals::shader::Kernel;
use wgpu_bcfsort::internals::shader::MATRIX;
use wgpu_bcfsort::internals::{mergesort, prefix_sums, scan};
use wgpu_bcfsort::paper::{PrefixSumsMethod, PrefixSumsOptions, Scan};
use wgpu_bcfsort::{Engine, KeyType, Options, Order};

/// Sorts that together use every kernel except those of [prefix sums](prefix_sums_library). The
/// kernels of the default sorts run on two tiles or more: several runs, the last one ragged;
/// deterministic and pivot buckets; merges in one dispatch and in several; grids of one row and of
/// two. The other sorts are each base case, the paper's baselines, the sample sort of keys and of
/// keys with their indices, the layouts around sorts of words, the top k of segments, and
/// histograms. Each sorts or counts a few thousand keys, [`Recording::len`].
///
/// No kernel depends on the key type or on the order: there is only one sort for those outside the
/// [`REPRESENTATIVES`].
///
/// A base case with more than 32 KiB of workgroup memory is left out: many devices have no more,
/// and these recordings should run on any device. No base case of 32-bit keys is left out. For
/// 64-bit keys these are the base cases of 8192 keys, and the default one with four warps.
///
/// # Examples
///
/// ```
/// use std::collections::BTreeSet;
/// use wgpu_bcfsort::internals::kernels;
/// use bcfsort_testkit::recordings;
/// use wgpu_bcfsort::KeyType;
///
/// let mut used = recordings::prefix_sums_library(KeyType::U32);
/// used.extend(recordings::prefix_sums_library(KeyType::F32));
/// used.extend(recordings::prefix_sums_library(KeyType::U64));
/// for (key, order) in recordings::REPRESENTATIVES {
///     used.extend(recordings::library(key, order));
/// }
/// let used: BTreeSet<_> = used
///     .iter()
///     .flat_map(|recording| recording.steps.iter().map(|step| step.kernel.clone()))
///     .collect();
/// let mut recorded = kernels().into_iter().filter(|kernel| kernel.workgroup_bytes() <= 32 << 10);
/// assert!(recorded.all(|kernel| used.contains(&kernel)));
/// ```
#[must_use]
pub fn library(key: KeyType, order: Order) -> Vec<Recording> {
    use Engine::{BcfMergesort, BcfMergesortPb};
    let engine = |engine, buckets, samples| {
        Options::default()
            .engine(engine)
            .buckets(buckets)
            .samples(samples)
    };
    let cut = |options: &Options, len, cut: fn(&mut DeviceLimits)| {
        let mut limits = LIMITS;
        cut(&mut limits);
        record_sort(len, key, order, options, &limits)
    };
    let whole = |options: &Options, len| cut(options, len, |_| {});
    if !REPRESENTATIVES.contains(&(key, order)) {
        return vec![whole(&engine(BcfMergesortPb, 4, 5), 3333)];
    }
    let mut recordings = vec![
        whole(&engine(BcfMergesort, 1, 1), 4500),
        // Long merges in several dispatches.
        cut(&engine(BcfMergesort, 2, 9), 6900, |limits| {
            limits.keys_per_dispatch = MATRIX;
        }),
        // Grids of two rows.
        cut(&engine(BcfMergesortPb, 4, 7), 5300, |limits| {
            limits.workgroups = 2;
        }),
        whole(&engine(BcfMergesortPb, 4, 5), 3333),
    ];
    // Warpsort, in one dispatch per merge and in dispatches of a few pages.
    recordings.push(whole(&engine(Engine::Warpsort, 4, 5), 3000));
    recordings.push(cut(&engine(Engine::Warpsort, 2, 9), 2500, |limits| {
        limits.keys_per_dispatch = 512;
    }));
    // Each base case, with few merges or none.
    for (form, warps) in mergesort::kernels::base_cases() {
        let kernel = mergesort::kernels::base_case(form, warps, key);
        if kernel.workgroup_bytes() > WORKGROUP_MEMORY {
            continue;
        }
        let options = engine(BcfMergesort, 1, 1).base_case(form).warps(warps);
        // Two workgroups: the second one has a ragged tile.
        let tiles = warps / form.warps();
        let len = tiles * form.keys() + form.keys() / 2 + 1;
        recordings.push(whole(&options, len));
    }
    recordings.extend(sample_sorts(key));
    recordings.extend(composed(key, order));
    recordings.extend(found(key.words(), order));
    recordings.extend(top_k::top_k(key, order));
    recordings.extend(merged(key, order));
    recordings.extend(histogram::histograms(key));
    recordings
}

/// Sample sorts for one of the [`REPRESENTATIVES`], of keys and of keys with their indices. They
/// use every kernel of [`kernels::all`] for these two shapes, and every access in it.
///
/// The levels are planned for the smallest tiles, so that few records need two levels. Then the
/// kernels get the given sizes.
fn sample_sorts(key: KeyType) -> Vec<Recording> {
    let two_rows = DeviceLimits {
        workgroups: 2,
        ..LITTLE
    };
    let mut recordings = Vec::new();
    for payload in [PayloadKind::None, PayloadKind::Indices] {
        let shape = Shape::new(key.words(), payload != PayloadKind::None);
        let of_gpus = few_records(shape, Tuning::default(), 256);
        // In descending order, the keys of every type are mapped.
        let record = |len, sizes: &Sizes, limits: &_| {
            record_sample_sort(len, (key, Order::Descending, payload), sizes, limits)
        };
        // One tile, and several that are merged at once, the last one ragged.
        let merged = Sizes {
            merged: u32::MAX,
            ..of_gpus
        };
        let merged_on_cpus = Sizes {
            merged: u32::MAX,
            ..few_records(shape, Tuning::cpu(), 256)
        };
        for sizes in [merged, merged_on_cpus] {
            recordings
                .extend([1000, 3 * 1024 + 77, 9001].map(|len| record(len, &sizes, &two_rows)));
        }
        if of_gpus.sort_tile > 1024 {
            let lens = [of_gpus.sort_tile - 100, (16 << 10) + 99];
            recordings.extend(lens.map(|len| record(len, &merged, &two_rows)));
        }
        for sizes in sizes_of_levels(shape) {
            // Two levels, and two tiles of the first segment, which has bins then.
            let two_levels = (sizes.nodes * 48).max(2 * sizes.partition_tile) + 100;
            let mut lens = vec![5 * sizes.sort_tile / 2, two_levels];
            if sizes.small == 0 {
                // One child, which fits a tile.
                lens.push(sizes.sort_tile - 100);
            }
            // With the largest number of samples.
            let mut sampled = record(lens[0], &sizes, &two_rows);
            set_parameters(&mut sampled, &["samples"], sizes.samples);
            recordings.push(sampled);
            for len in lens {
                let cut = DeviceLimits {
                    keys_per_dispatch: 2 * sizes.partition_tile,
                    ..two_rows
                };
                // Records outside the selected ranks are moved, too.
                let mut some = record(len, &sizes, &cut);
                set_parameters(&mut some, &["skips_done"], 0);
                recordings.push(select_ranks(some, len / 3..len / 2));
                // Some children have too little room, if they get it by an estimate.
                let mut moved = record(len, &with_rooms(&sizes, shape, 0), &cut);
                set_parameters(&mut moved, &["skips_done"], 0);
                recordings.push(in_segments(select_ranks(moved, 10..len / 6)));
                // One child in each segment, too large for a tile.
                let mut large = record(len, &with_rooms(&sizes, shape, 6), &LITTLE);
                set_parameters(&mut large, &["samples"], 1);
                recordings.push(large);
            }
        }
    }
    recordings
}

/// A device with little workgroup memory.
const LITTLE: DeviceLimits = DeviceLimits {
    workgroup_bytes: WORKGROUP_MEMORY,
    ..LIMITS
};

/// The sizes of a tuning, with trees of `nodes` nodes, and nothing that needs many records.
fn few_records(shape: Shape, tuning: Tuning, nodes: u32) -> Sizes {
    Sizes {
        nodes,
        most_nodes: nodes,
        merged: 0,
        ..Sizes::new(shape, &tuning, &LITTLE)
    }
}

/// The sizes of the sorts in levels that use every kernel of this shape.
fn sizes_of_levels(shape: Shape) -> Vec<Sizes> {
    let sizes = |nodes| few_records(shape, Tuning::default(), nodes);
    // A sort of two levels may use smaller tiles than fit.
    let small_tiles = Sizes {
        sort_tile: 1024,
        samples: 1024,
        ..sizes(256)
    };
    // Few records are spread, and have bins, as many do.
    let spread = Sizes {
        small: 0,
        large: 0,
        spread_from: 0,
        is_always_wide: false,
        ..sizes(256)
    };
    let spread_of_few_samples = Sizes {
        samples: 1024,
        nodes: 512,
        most_nodes: 512,
        ..spread
    };
    // The tiles of large sorts, on devices with much workgroup memory.
    let wide = |nodes| {
        let sizes = sizes(nodes);
        Sizes {
            partition_tile: 8192,
            lanes: if sizes.is_always_wide { 512 } else { 1024 },
            large: 0,
            ..sizes
        }
    };
    let mut all = vec![
        sizes(256),
        small_tiles,
        spread,
        spread_of_few_samples,
        sizes(512),
        wide(512),
        few_records(shape, Tuning::cpu(), 256),
    ];
    if shape == Shape::Word {
        // The tiles of sorts of one level. Here two levels have them, since an access must not only
        // be reached in the first one.
        let many = Sizes {
            partition_tile: 8192,
            lanes: 1024,
            spread_from: 0,
            ..sizes(1024)
        };
        let spread_in_large_tiles = Sizes {
            spread_tile: spread.sort_tile,
            ..spread_of_few_samples
        };
        all.extend([wide(256), many, spread_in_large_tiles]);
    }
    all
}

/// Children get room by an estimate, with this number of standard deviations to spare, if the
/// kernels of these sizes are those of large sorts.
fn with_rooms(sizes: &Sizes, shape: Shape, deviations: u32) -> Sizes {
    let of = Partition {
        nodes: sizes.nodes,
        tile: sizes.partition_tile,
        lanes: sizes.lanes,
    };
    if !kernels::all().contains(&kernels::count(of, true, shape)) {
        return *sizes;
    }
    let rooms = Rooms {
        from: 0,
        counted: 1,
        deviations,
        ..sizes.rooms
    };
    Sizes { rooms, ..*sizes }
}

/// A sample sort with kernels of these sizes.
fn record_sample_sort(
    len: u32,
    (key, order, payload): (KeyType, Order, PayloadKind),
    sizes: &Sizes,
    limits: &DeviceLimits,
) -> Recording {
    let has_value = payload != PayloadKind::None;
    let records = |keys, values| Records {
        keys,
        values: has_value.then_some(values),
    };
    let home = records(Buffer::Keys, Buffer::Values);
    let sort = WordSort {
        len,
        shape: Shape::new(key.words(), has_value),
        source: home,
        target: home,
        scratch: records(Buffer::Scratch, Buffer::ScratchValues),
        map: key.map(order),
        ranks: None,
    };
    let mut recording = Recording::new(len, key, order);
    recording.payload = payload;
    let in_levels = matches!(SortPlan::new(len, sizes), SortPlan::Levels(_));
    let planned = if in_levels {
        Sizes {
            sort_tile: 128,
            spread_tile: sizes.spread_tile.min(128),
            ..*sizes
        }
    } else {
        *sizes
    };
    samplesort::record_with(&mut recording, &sort, &planned, limits);
    if in_levels {
        with_sort_tile(&mut recording, sort.shape, sizes);
    }
    recording
}

/// The payload buffer, or the buffer of values if there is none.
#[must_use]
pub fn payload_buffer(recording: &Recording) -> Buffer {
    let mut bindings = recording.steps.iter().flat_map(|step| &step.bindings);
    let payload = Buffer::Payload(0);
    if bindings.any(|binding| binding.1 == payload) {
        payload
    } else {
        Buffer::Values
    }
}

/// True if the keys and values after a recording of the [`library`] are a correct result for the
/// keys before it:
///
/// - The keys are the same, and in order in the [selected](Recording::selected) range. Words after
///   the last key are unchanged.
/// - Of the top k of segments: the keys that are written are in front, and so are the indices.
/// - Of a histogram: the counts are those of the bins, and the keys are unchanged.
/// - Each value, if any, is the original index of its key; an [`Execution`](super::Execution) sets
///   values so. With [`PayloadKind::Indices`], equal keys keep their order.
/// - After an argsort, the keys are unchanged, and in order by their indices.
#[must_use]
pub fn was_sorted(recording: &Recording, before: &[u32], after: &[u32], values: &[u32]) -> bool {
    let map = recording.key.map(recording.order);
    let bits = recording.bits;
    let ranks = |words: &[u32]| -> Vec<u64> {
        let keys = words.chunks(recording.key.words() as usize);
        let keys = keys.flat_map(|key| {
            let upper = key.get(1).copied().unwrap_or(0);
            let word = u64::from(key[0]) | u64::from(upper) << 32;
            // A sub-word key becomes the upper bits of a 32-bit word.
            let narrow = move |at: u32| word >> at << (32 - bits) & 0xffff_ffff;
            let shared = (0..32).step_by(bits as usize);
            shared.map(move |at| if bits < 32 { narrow(at) } else { word })
        });
        keys.map(|bits| map.encode(bits)).collect()
    };
    let (mut before, mut after) = (ranks(before), ranks(after));
    if let Some(step) = top_k::selecting(recording) {
        return top_k::was_selected((recording, step), &before, &after, values);
    }
    if let Some(step) = histogram::counting(recording) {
        return histogram::was_counted(step, &before, &after, values);
    }
    let len = recording.len as usize;
    if before.split_off(len) != after.split_off(len) {
        return false;
    }
    let writes_keys = |step: &Step| {
        let mut bindings = step.bindings.iter();
        bindings.any(|&(name, buffer)| {
            let is_read =
                name.starts_with("source") || ["compared_rows", "needles"].contains(&name);
            buffer == Buffer::Keys && !is_read
        })
    };
    if !recording.steps.is_empty() && !recording.steps.iter().any(writes_keys) {
        if before != after {
            return false;
        }
        let key_of = |&value: &u32| before.get(value as usize).copied().unwrap_or(0);
        after = values.iter().map(key_of).collect();
    }
    let values = values.iter().copied().chain(std::iter::repeat(0));
    let mut records: Vec<(u64, u32)> = after.into_iter().zip(values).collect();
    if let Some(selected) = &recording.selected {
        let mut segments = &mut records[..];
        for len in lens_of_segments(recording) {
            let (segment, others) = segments.split_at_mut(len);
            let at = |rank: u32| len.min(rank as usize);
            segment[..at(selected.start)].sort_unstable();
            segment[at(selected.end)..].sort_unstable();
            segments = others;
        }
    }
    let mut expected = before.clone();
    expected.sort_unstable();
    if !records.iter().map(|record| record.0).eq(expected) {
        return false;
    }
    let moved = payload_buffer(recording);
    let has_values = |step: &Step| step.bindings.iter().any(|b| b.1 == moved);
    if recording.payload == PayloadKind::None || !recording.steps.iter().any(has_values) {
        return true;
    }
    let mut seen = vec![false; before.len()];
    let each_once_with_its_key = records.iter().all(|&(rank, value)| {
        let at = value as usize;
        let is_new = seen
            .get_mut(at)
            .is_some_and(|seen| !std::mem::replace(seen, true));
        is_new && before[at] == rank
    });
    let in_order = records.is_sorted() || recording.payload == PayloadKind::Values;
    each_once_with_its_key && in_order
}

/// An `is_sorted` check in front of a sort of plain keys.
fn check_then_sort(
    key: KeyType,
    order: Order,
    mut sort: Recording,
    limits: &DeviceLimits,
) -> Recording {
    let check = LayoutSort {
        len: sort.len,
        key,
        order,
        layout: &SortLayout::default(),
        ranks: None,
        maps_keys: true,
        counting: None,
        limits,
    };
    let check = record_is_sorted(&check, 0);
    sort.steps.splice(0..0, check.steps);
    sort.buffers.extend(check.buffers);
    sort
}

/// Composed sorts: encode, a sort of words, decode and gather. With an indirect count, the capacity
/// is larger than the count.
fn composed(key: KeyType, order: Order) -> Vec<Recording> {
    let limits = DeviceLimits {
        keys_per_dispatch: 2048,
        workgroups: 1,
        ..LIMITS
    };
    let tuning = Tuning::cpu();
    let record = |layout: &SortLayout, len: u32| {
        let room = len + layout.count_at.map_or(0, |_| 90);
        let job = LayoutSort {
            len: room,
            key,
            order,
            layout,
            ranks: None,
            maps_keys: true,
            counting: None,
            limits: &limits,
        };
        let mut recording = job.record(&|recording, sort| {
            samplesort::record(recording, sort, &tuning, &limits);
        });
        // `was_sorted` checks the keys from the start of the buffer, and an execution has no more
        // rows.
        set_parameters(&mut recording, &["key_first"], 0);
        set_parameters(&mut recording, &["rows"], len);
        recording.len = len;
        recording
    };
    let plain = SortLayout::default();
    let with = |layout: &SortLayout, indices, columns: &[Column]| SortLayout {
        indices,
        columns: columns.to_vec(),
        ..layout.clone()
    };
    let value = Column {
        words: 1,
        unstable: true,
        ..Column::default()
    };
    // One-word rows, moved stably.
    let row = Column {
        unstable: false,
        ..value
    };
    let part = SortLayout {
        first: 1,
        ..plain.clone()
    };
    let segments = SortLayout {
        segments: Some(1),
        ..plain.clone()
    };
    let counted = SortLayout {
        count_at: Some(1),
        ..plain.clone()
    };
    let mut layouts = vec![plain.clone(), part, segments.clone()];
    for layout in [&plain, &segments, &counted] {
        layouts.push(with(layout, None, &[value]));
        layouts.push(with(layout, Some(0), &[]));
        layouts.push(with(layout, None, &[row]));
        layouts.push(SortLayout {
            output: Output::None,
            ..with(layout, Some(0), &[])
        });
    }
    if key.words() == 1 {
        let packed = SortLayout {
            bits: Some(16),
            ..plain.clone()
        };
        let packed_segments = SortLayout {
            segments: Some(1),
            ..packed.clone()
        };
        for layout in [packed, packed_segments] {
            layouts.push(with(&layout, Some(0), &[]));
            layouts.push(layout);
        }
    }
    let mut recordings = Vec::new();
    for (number, layout) in layouts.iter().enumerate() {
        recordings.push(record(layout, [1000, 2500][number % 2]));
    }
    recordings.push(check_then_sort(key, order, record(&plain, 2500), &limits));
    recordings.extend(sorts_of_fields(key.words(), order, &limits));
    if key.words() == 1 {
        recordings.extend(comparisons(order));
        recordings.extend(counted_keys(key, order));
        recordings.extend(digit_sorts(key, order));
    }
    recordings
}

/// Records, cells and needles of the recordings of [`found`].
const FOUND: (u32, u32, u32) = (9001, 4100, 2500);

/// A sort, and what is found: in buffers of its own.
fn record_found(key: KeyType, order: Order, layout: &SortLayout) -> Recording {
    let (len, cells, needles) = FOUND;
    let limits = DeviceLimits {
        keys_per_dispatch: 2048,
        workgroups: 2,
        ..LIMITS
    };
    let job = LayoutSort {
        len,
        key,
        order,
        layout,
        ranks: None,
        maps_keys: true,
        counting: None,
        limits: &limits,
    };
    let tuning = Tuning::cpu();
    let mut recording = job.record(&|recording, sort| {
        samplesort::record(recording, sort, &tuning, &limits);
    });
    for (buffer, words) in [
        (Buffer::RunCount, 2),
        (Buffer::RunStarts, len + 1),
        (Buffer::RunLengths, len + 2),
        (Buffer::RunKeys, 2 * (len + 1)),
        (Buffer::Cells, cells + 2),
        (Buffer::Needles, 2 * 10),
        (Buffer::Places, needles + 1),
    ] {
        recording.reserve(buffer, u64::from(words) * 4);
    }
    recording
}

/// Sorts of unsigned keys, and what is found among them: together, everything.
fn found(words: u32, order: Order) -> Vec<Recording> {
    let key = if words == 1 {
        KeyType::U32
    } else {
        KeyType::U64
    };
    let (_, cells, needles) = FOUND;
    let record = |layout: &SortLayout| record_found(key, order, layout);
    let runs = Runs {
        heads: Heads::OfKeys,
        count_at: 1,
        starts: Some(1),
        lengths: Some(2),
        keys: Some(1),
    };
    let cells = Some(Cells { cells, first: 1 });
    let search = Some(Search {
        len: needles,
        first: 1,
        places: 1,
        is_upper: true,
    });
    let mut all = record(&SortLayout {
        output: Output::None,
        indices: Some(0),
        found: Found {
            runs: Some(runs),
            cells,
            search,
        },
        ..SortLayout::default()
    });
    // The needles are the keys, which are not in order.
    for binding in all.steps.iter_mut().flat_map(|step| &mut step.bindings) {
        if binding.1 == Buffer::Needles {
            binding.1 = Buffer::Keys;
        }
    }
    let mut starts = record(&SortLayout {
        found: Found {
            runs: Some(Runs {
                lengths: None,
                keys: None,
                ..runs
            }),
            cells,
            // Few, which are searched without an index.
            search: search.map(|search| Search { len: 9, ..search }),
        },
        ..SortLayout::default()
    });
    set_parameters(&mut starts, &["searched_from"], 0);
    let kept = |heads| {
        record(&SortLayout {
            found: Found {
                runs: Some(Runs {
                    heads,
                    lengths: None,
                    keys: None,
                    ..runs
                }),
                ..Found::default()
            },
            ..SortLayout::default()
        })
    };
    let in_segments = |bits| {
        record(&SortLayout {
            bits,
            segments: Some(1),
            found: Found {
                runs: Some(runs),
                ..Found::default()
            },
            ..SortLayout::default()
        })
    };
    let mut all = vec![all, starts, kept(Heads::OfFlags), in_segments(None)];
    if words == 1 {
        all.push(kept(Heads::OfPredicate));
        all.push(in_segments(Some(16)));
        all.push(record(&SortLayout {
            bits: Some(16),
            found: Found {
                runs: Some(runs),
                ..Found::default()
            },
            ..SortLayout::default()
        }));
    }
    all
}

/// Sorts by unsigned keys of so many words whose halves, or quarters, are given as fields: in
/// place, in segments, and in several parts.
fn sorts_of_fields(words: u32, order: Order, limits: &DeviceLimits) -> Vec<Recording> {
    let (key, half, bits) = match words {
        1 => (KeyType::U32, KeyType::U16, 16),
        _ => (KeyType::U64, KeyType::U32, 32),
    };
    let field = |first| Field {
        first,
        stride: 2,
        bits,
        map: half.map(order),
    };
    let part = |fields| vec![Part { fields }];
    let whole = SortLayout {
        structs: Some(Structs {
            words: key.words(),
            first: 0,
            compared: false,
        }),
        parts: part(vec![field(1), field(0)]),
        ..SortLayout::default()
    };
    let segmented = SortLayout {
        segments: Some(1),
        ..whole.clone()
    };
    // One more field than the first two is appended.
    let quarter = |number| Field {
        first: number,
        stride: 4,
        bits: bits / 2,
        map: match half {
            KeyType::U16 => KeyType::U8.map(order),
            _ => KeyType::U16.map(order),
        },
    };
    let three = SortLayout {
        parts: part(vec![field(1), quarter(1), quarter(0)]),
        ..whole.clone()
    };
    let segments_of_three = SortLayout {
        segments: Some(1),
        ..three.clone()
    };
    // The first part is as wide as the key. Of keys of two words it is all of them, and the others
    // put nothing else in order.
    let first = match words {
        1 => field(1),
        _ => Field {
            first: 0,
            stride: 1,
            bits: 64,
            map: key.map(order),
        },
    };
    let in_parts = SortLayout {
        parts: [first, quarter(1), quarter(0)]
            .into_iter()
            .flat_map(|field| part(vec![field]))
            .collect(),
        ..whole.clone()
    };
    let record = |layout: &SortLayout| {
        let job = LayoutSort {
            len: 2500,
            key,
            order,
            layout,
            ranks: None,
            maps_keys: true,
            counting: None,
            limits,
        };
        job.record(&|recording, sort| {
            samplesort::record(recording, sort, &Tuning::cpu(), limits);
        })
    };
    [whole, segmented, three, segments_of_three, in_parts]
        .iter()
        .map(record)
        .collect()
}

/// Radix sorts of packed keys: argsorts, and keys with their indices, with less workgroup memory
/// and with more.
fn digit_sorts(key: KeyType, order: Order) -> Vec<Recording> {
    let tuning = Tuning {
        tile: 1024,
        merged: 0,
        ..Tuning::cpu()
    };
    let sorts = [
        (16, 9003, Output::None, 32 << 10),
        (8, 9001, Output::InPlace, 32 << 10),
        (16, 16_500, Output::None, 48 << 10),
        (8, 16_400, Output::InPlace, 48 << 10),
    ];
    let recording = |(bits, len, output, workgroup_bytes)| {
        let limits = DeviceLimits {
            keys_per_dispatch: 4096,
            workgroups: 2,
            workgroup_bytes,
            ..LIMITS
        };
        let layout = SortLayout {
            bits: Some(bits),
            indices: Some(0),
            output,
            count_at: Some(1),
            ..SortLayout::default()
        };
        let job = LayoutSort {
            len: len + 90,
            key,
            order,
            layout: &layout,
            ranks: None,
            maps_keys: true,
            counting: Some(&tuning),
            limits: &limits,
        };
        let mut recording = job.record(&|recording, sort| {
            samplesort::record(recording, sort, &tuning, &limits);
        });
        recording.len = len;
        recording
    };
    sorts.into_iter().map(recording).collect()
}

/// Sorts that merge two sorted parts of the keys: together, they use every kernel of merges.
fn merged(key: KeyType, order: Order) -> Vec<Recording> {
    // Records of the whole and of the first part, whether they have values and counts, and whether
    // the device has little workgroup memory.
    let cases = [
        (9001, 4000, false, false, false),
        (8100, 8000, true, true, false),
        (2500, 100, true, false, true),
        (4001, 2000, false, true, true),
    ];
    let record = |(len, part, has_values, is_counted, is_small): (u32, u32, bool, bool, bool)| {
        let limits = DeviceLimits {
            keys_per_dispatch: 4096,
            workgroups: 1,
            workgroup_bytes: if is_small { 8480 } else { WORKGROUP_MEMORY },
            ..LIMITS
        };
        let mut recording = sorted_part(key, order, 0..part, has_values);
        recording.len = len;
        let mut add = |other: Recording| {
            recording.steps.extend(other.steps);
            for (buffer, bytes) in other.buffers {
                recording.reserve(buffer, bytes);
            }
        };
        add(sorted_part(key, order, part..len, has_values));
        let layout = MergeLayout {
            first_b: part,
            values: has_values.then_some(MergedValues {
                b: part,
                ..MergedValues::default()
            }),
            counts: is_counted.then_some([0, 1]),
            ..MergeLayout::default()
        };
        let mut merge = record_merge([part, len - part], key, order, &layout, &limits);
        // Both parts are in one buffer, and a count in an execution is never less.
        for binding in merge.steps.iter_mut().flat_map(|step| &mut step.bindings) {
            binding.1 = match binding.1 {
                Buffer::SecondKeys => Buffer::Keys,
                Buffer::SecondCount => Buffer::Count,
                Buffer::Payload(_) => Buffer::Payload(0),
                buffer => buffer,
            };
        }
        add(merge);
        let mut copy = |key: KeyType, way: [Buffer; 2]| {
            let mut copies = Recording::new(len, key, order);
            copies.reserve(way[0], u64::from(len) * key.bytes());
            record_copy(&mut copies, Phase::Merge, len, way, &LIMITS);
            add(copies);
        };
        copy(key, [Buffer::Output, Buffer::Keys]);
        if has_values {
            let way = [Buffer::PayloadOutput(0), Buffer::Payload(0)];
            copy(KeyType::U32, way);
        }
        recording
    };
    cases.into_iter().map(record).collect()
}

/// A sort of some of the records, each with its value if they have any. It is stable.
fn sorted_part(key: KeyType, order: Order, part: Range<u32>, has_values: bool) -> Recording {
    let value = Column {
        words: 1,
        first: part.start,
        ..Column::default()
    };
    let layout = SortLayout {
        first: part.start,
        columns: if has_values { vec![value] } else { Vec::new() },
        ..SortLayout::default()
    };
    let job = LayoutSort {
        len: part.end - part.start,
        key,
        order,
        layout: &layout,
        ranks: None,
        maps_keys: true,
        counting: None,
        limits: &LIMITS,
    };
    job.record(&|recording, sort| {
        samplesort::record(recording, sort, &Tuning::cpu(), &LIMITS);
    })
}

/// Counting sorts of packed keys, one with an indirect count below the capacity.
fn counted_keys(key: KeyType, order: Order) -> Vec<Recording> {
    let limits = DeviceLimits {
        keys_per_dispatch: 4096,
        workgroups: 2,
        ..LIMITS
    };
    let (bytes, halves) = (9001, 5003);
    let sorts = [
        (8, bytes, None, Tuning::default()),
        (16, halves, Some(1), Tuning::cpu()),
    ];
    let recording = |(bits, len, count_at, tuning): (u32, u32, Option<u32>, Tuning)| {
        let tuning = Tuning {
            tile: 1024,
            merged: 0,
            ..tuning
        };
        let layout = SortLayout {
            bits: Some(bits),
            count_at,
            ..SortLayout::default()
        };
        let room = len + count_at.map_or(0, |_| 90);
        let job = LayoutSort {
            len: room,
            key,
            order,
            layout: &layout,
            ranks: None,
            maps_keys: true,
            counting: Some(&tuning),
            limits: &limits,
        };
        let mut recording = job.record(&|recording, sort| {
            samplesort::record(recording, sort, &tuning, &limits);
        });
        recording.len = len;
        recording
    };
    sorts.into_iter().map(recording).collect()
}

/// Sets these parameters to `value` in all steps that have them.
pub fn set_parameters(recording: &mut Recording, names: &[&str], value: u32) {
    for step in &mut recording.steps {
        for name in names {
            if let Some(parameter) = step.parameters.get_mut(name) {
                *parameter = value;
            }
        }
    }
}

/// Turns a sort into a partial one: only these ranks must be in order.
#[must_use]
pub fn select_ranks(mut recording: Recording, ranks: Range<u32>) -> Recording {
    let end = ranks.end.min(recording.len);
    let start = ranks.start.min(end);
    set_parameters(&mut recording, &["rank_begin"], start);
    set_parameters(&mut recording, &["rank_end"], end);
    recording.selected = Some(start..end);
    recording
}

/// Lets ranks be selected in each segment of the sorted records.
fn in_segments(mut recording: Recording) -> Recording {
    set_parameters(&mut recording, &["rank_segments"], 2);
    for step in &mut recording.steps {
        for (name, buffer) in &mut step.bindings {
            if *name == "offsets" {
                *buffer = Buffer::Offsets;
            }
        }
    }
    recording
}

/// The lengths of the segments in which ranks are selected, or that of all records.
fn lens_of_segments(recording: &Recording) -> Vec<usize> {
    let numbers = recording
        .steps
        .iter()
        .filter_map(|step| step.parameter("rank_segments"));
    let len = recording.len as usize;
    if numbers.max().is_some_and(|number| number > 0) {
        let second = top_k::offsets(recording.len)[1] as usize;
        return vec![second, len - second];
    }
    vec![len]
}

/// One-word rows, for a comparator.
const ROWS: Structs = Structs {
    words: 1,
    first: 0,
    compared: true,
};

/// Sorts of one-word rows by a stand-in for a custom comparator.
fn comparisons(order: Order) -> Vec<Recording> {
    let stand_in = comparator_stand_in();
    let record = |len: u32, tuning: &Tuning, selects: bool| {
        // A full sort has an indirect count below the capacity.
        let (room, count_at) = if selects {
            (len, None)
        } else {
            (len + 90, Some(1))
        };
        let layout = SortLayout {
            structs: Some(ROWS),
            count_at,
            ..SortLayout::default()
        };
        let job = LayoutSort {
            len: room,
            key: KeyType::U32,
            order,
            layout: &layout,
            ranks: selects.then_some(0..len / 8),
            maps_keys: true,
            counting: None,
            limits: &LIMITS,
        };
        let mut recording = record_compared(&job, &stand_in, tuning);
        recording.len = len;
        recording
    };
    let mut recordings = Vec::new();
    for tuning in [Tuning::default(), Tuning::cpu()] {
        for (len, selects) in [(900, false), (1500, true), (20_000, false)] {
            recordings.push(record(len, &tuning, selects));
        }
        recordings.push(two_levels_of_rows(order, &tuning));
    }
    // The same sorts, with comparisons that read the rows from their buffer.
    let mut others = recordings.clone();
    for step in others.iter_mut().flat_map(|recording| &mut recording.steps) {
        let backwards = order == Order::Descending;
        if step.kernel.compares_rows() {
            step.kernel = rebuilt(&step.kernel, Shape::row(0, backwards), None);
        }
    }
    recordings.extend(others);
    recordings.extend([None, Some(1)].map(|segments| runs_of_rows(order, segments)));
    recordings
}

/// A sort of rows, and the runs among them: of all, or of those of one segment.
fn runs_of_rows(order: Order, segments: Option<u32>) -> Recording {
    let (len, ..) = FOUND;
    let layout = SortLayout {
        structs: Some(ROWS),
        segments,
        found: Found {
            runs: Some(Runs {
                heads: Heads::OfKeys,
                count_at: 1,
                starts: Some(1),
                lengths: Some(2),
                keys: None,
            }),
            ..Found::default()
        },
        ..SortLayout::default()
    };
    let job = LayoutSort {
        len,
        key: KeyType::U32,
        order,
        layout: &layout,
        ranks: None,
        maps_keys: true,
        counting: None,
        limits: &LIMITS,
    };
    let mut recording = record_compared(&job, &comparator_stand_in(), &Tuning::cpu());
    for (buffer, words) in [
        (Buffer::RunCount, 2),
        (Buffer::RunStarts, len + 1),
        (Buffer::RunLengths, len + 2),
    ] {
        recording.reserve(buffer, u64::from(words) * 4);
    }
    recording
}

/// A sort of row indices in two levels, planned like those of [`sample_sorts`].
fn two_levels_of_rows(order: Order, tuning: &Tuning) -> Recording {
    let shape = Shape::row(1, order == Order::Descending);
    let sizes = Sizes::new(shape, tuning, &LIMITS);
    let planned = Sizes {
        sort_tile: 128,
        most_nodes: sizes.nodes,
        ..sizes
    };
    let len = sizes.nodes * 48 + 100;
    let layout = SortLayout {
        structs: Some(ROWS),
        output: Output::None,
        indices: Some(0),
        ..SortLayout::default()
    };
    let job = LayoutSort {
        len,
        key: KeyType::U32,
        order,
        layout: &layout,
        ranks: None,
        maps_keys: true,
        counting: None,
        limits: &LIMITS,
    };
    let mut recording = record_compared(&job, &comparator_stand_in(), tuning);
    recording.steps.retain(|step| !step.kernel.is("samplesort"));
    let records = |keys| Records { keys, values: None };
    let sort = WordSort {
        len,
        shape,
        source: records(Buffer::Values),
        target: records(Buffer::Values),
        scratch: records(Buffer::Scratch),
        map: AS_THEY_ARE,
        ranks: None,
    };
    // Some children have too little room by the estimate.
    samplesort::record_with(
        &mut recording,
        &sort,
        &with_rooms(&planned, shape, 0),
        &LIMITS,
    );
    with_sort_tile(&mut recording, shape, &sizes);
    recording
}

/// Sets the sizes of the kernels that sort tiles and that choose splitters.
fn with_sort_tile(recording: &mut Recording, shape: Shape, sizes: &Sizes) {
    for step in &mut recording.steps {
        step.kernel = rebuilt(&step.kernel, shape, Some(sizes));
    }
}

/// A kernel of the sample sort for records of another shape, or with other sizes of tiles and of
/// samples; other kernels as they are.
fn rebuilt(kernel: &Kernel, shape: Shape, sizes: Option<&Sizes>) -> Kernel {
    let constant = |name| kernel.constant(name).unwrap_or_default();
    let is_compact = kernel.name().contains(".compact");
    let tile = constant("SORT_TILE");
    let partition = Partition {
        nodes: constant("NODES"),
        tile: constant("TILE"),
        lanes: constant("LANES"),
    };
    if kernel.is("samplesort.sort") {
        let in_place = kernel.name().contains(".in_place");
        let is_spread = kernel.name().contains(".spread");
        let tile = match sizes {
            Some(sizes) if is_spread => sizes.spread_tile,
            Some(sizes) => sizes.sort_tile,
            None => tile,
        };
        let sizes = TileSizes {
            tile,
            is_compact,
            in_place,
            is_spread,
        };
        kernels::sort(sizes, shape)
    } else if kernel.is("samplesort.splitters") {
        let samples = sizes.map_or(tile, |sizes| sizes.samples);
        kernels::splitters(samples, is_compact, shape)
    } else if kernel.is("samplesort.count") {
        kernels::count(partition, kernel.name().contains(".sampled"), shape)
    } else if kernel.is("samplesort.partition") {
        kernels::partition(partition, shape)
    } else {
        kernel.clone()
    }
}

/// Recordings of prefix sums that together use all of their kernels: one tile, and several tiles of
/// several pages, the last ones ragged; one color, some, and the largest number; inclusive and
/// exclusive; in one dispatch, in several, and in grids of two rows. And scans, likewise. Empty for
/// types that are not [added](scan::kernels::adds). Each has up to some ten thousand values,
/// [`Recording::len`]. Set their colors with [`set_buffer`](super::Execution::set_buffer).
#[must_use]
pub fn prefix_sums_library(key: KeyType) -> Vec<Recording> {
    let mut recordings = scans(key);
    if !prefix_sums::kernels::adds(key) {
        return recordings;
    }
    let cut = DeviceLimits {
        keys_per_dispatch: 2 * MATRIX,
        ..LIMITS
    };
    let two_rows = DeviceLimits {
        workgroups: 2,
        ..LIMITS
    };
    for method in PrefixSumsMethod::ALL {
        for (len, colors, tiles, scan, limits) in [
            (700, 1, 1, Scan::Inclusive, LIMITS),
            // Tiles of two pages; the last one has a page and a bit.
            (2 * 2048 + 1100, 5, 3, Scan::Exclusive, cut),
            // More tiles than lanes, so that some lanes have two tiles in the second phase.
            (34 * MATRIX + 77, 16, 35, Scan::Inclusive, two_rows),
        ] {
            let options = PrefixSumsOptions::default()
                .colors(colors)
                .method(method)
                .scan(scan)
                .tiles(tiles);
            recordings.push(record_prefix_sums(len, key, &options, &limits));
        }
    }
    recordings
}

/// Scans, whose sums end in [`Buffer::Keys`].
fn scans(key: KeyType) -> Vec<Recording> {
    if !scan::kernels::adds(key) {
        return Vec::new();
    }
    let limits = DeviceLimits {
        keys_per_dispatch: 1 << 14,
        workgroups: 2,
        ..LIMITS
    };
    let record = |len, is_exclusive, output| {
        let layout = ScanLayout {
            output,
            is_exclusive,
            ..ScanLayout::default()
        };
        let mut recording = record_scan(len, key, &layout, &limits);
        if output.is_some() {
            recording.reserve(Buffer::Output, u64::from(len) * key.bytes());
            let way = [Buffer::Output, Buffer::Keys];
            record_copy(&mut recording, Phase::PrefixSums, len, way, &limits);
        }
        recording
    };
    vec![record(700, false, None), record(41_077, true, Some(0))]
}

/// Every kernel that the recordings of [`library`] and [`prefix_sums_library`] dispatch.
#[must_use]
pub fn dispatched() -> Vec<Kernel> {
    let sorts = REPRESENTATIVES
        .into_iter()
        .flat_map(|of| library(of.0, of.1));
    let recordings = sorts.chain(
        KeyType::WHOLE_WORDS
            .into_iter()
            .flat_map(prefix_sums_library),
    );
    let mut kernels = Vec::new();
    for recording in recordings {
        let steps = recording.steps.iter();
        kernels.extend(steps.map(|step| step.kernel.clone()));
    }
    // In a fixed order, each once.
    kernels.sort_unstable();
    kernels.dedup();
    kernels
}

/// A kernel's label without what all labels begin with. Unlike [`Kernel::name`], no two are equal.
///
/// # Panics
///
/// If the kernel is not one of the library's.
#[must_use]
pub fn short_label(kernel: &Kernel) -> &str {
    let label = kernel.label().strip_prefix("bcfsort.");
    label.expect("the label of a kernel of the library")
}

/// Workgroup memory in bytes: many devices have no more. With one-word keys every kernel fits.
const WORKGROUP_MEMORY: u32 = 32 << 10;

/// One key type and order for each key width, one without a key map and one with it. The recordings
/// of [`library`] for these together use every kernel.
pub const REPRESENTATIVES: [(KeyType, Order); 2] = [
    (KeyType::U32, Order::Ascending),
    (KeyType::F64, Order::Descending),
];

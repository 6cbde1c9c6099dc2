//! The sizes that GPUs are given, on this machine's adapter: for every kind of record and of sort.
//!
//! Other tests run on a GPU what the library takes there, and on a CPU small tiles.

use crate::device::{Gpu, gpu};
use crate::pairs::stable;
use crate::rows::{in_order, pack, rows};
use crate::sample_sort::options;
use bcfsort_testkit::data::{Pattern, Spec, generate};
use std::collections::HashSet;
use std::mem::discriminant;
use wgpu_bcfsort::internals::Recorded as _;
use wgpu_bcfsort::internals::kernel::Kernel;
use wgpu_bcfsort::internals::plan::Tuning;
use wgpu_bcfsort::{BufferSort, Comparator, KeyType, Order, PackedKey, SortKey};

/// What is sorted, and what comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Keys,
    /// Each with its key, in any order where keys are equal.
    Values,
    Indices,
    /// Indices by keys that stay.
    KeptKeys,
    Rows,
    /// Rows by a field.
    Field,
    Segments,
    SegmentsWithIndices,
    Packed,
    PackedWithIndices,
    Compared,
}

/// How many records there are to be, and so which kernels sort them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    OneTile,
    Merged,
    /// Distributed.
    Once,
    Twice,
}

impl Way {
    const ALL: [Self; 4] = [Self::OneTile, Self::Merged, Self::Once, Self::Twice];

    fn len(self) -> u64 {
        match self {
            Self::OneTile => 1001,
            Self::Merged => 5001,
            Self::Once => 20_001,
            // More than 512 children of three quarters of a tile's half.
            Self::Twice => 200_001,
        }
    }

    /// That of GPUs, but for when tiles are merged, and small tiles where few records are to take
    /// two levels.
    fn tuning(self) -> Tuning {
        let default = Tuning::default();
        Tuning {
            merged: if self == Self::Merged { u32::MAX } else { 0 },
            tile: if self == Self::Twice {
                1024
            } else {
                default.tile
            },
            ..default
        }
    }
}

/// The places in the input of the records in order.
fn order_of<T: SortKey>(kind: Kind, keys: &[T], halves: &[u32], order: Order) -> Vec<u32> {
    let middle = keys.len() / 3;
    match kind {
        Kind::Packed | Kind::PackedWithIndices | Kind::Compared => stable(halves, order),
        Kind::Segments | Kind::SegmentsWithIndices => {
            let bounds = [0, 1, middle, keys.len()];
            let part = |part: &[usize]| {
                let begin = part[0] as u32;
                let of_part = stable(&keys[part[0]..part[1]], order);
                of_part.into_iter().map(move |i| i + begin)
            };
            bounds.windows(2).flat_map(part).collect()
        }
        _ => stable(keys, order),
    }
}

/// What the sort left of the values, or in their place.
fn check_moved(kind: Kind, moved: &[u32], values: &[u32], numbers: &[u32], what: &str) {
    match kind {
        Kind::Keys | Kind::Field | Kind::Packed | Kind::Compared | Kind::Segments => {
            assert!(moved == values, "{what}");
        }
        Kind::Values => {
            let mut owners: Vec<u32> = moved.iter().map(|value| value / 16).collect();
            owners.sort_unstable();
            assert!(
                owners.into_iter().eq(0..numbers.len() as u32),
                "{what}: values"
            );
        }
        Kind::Rows => assert!(moved == in_order(values, 3, numbers), "{what}: rows"),
        _ => assert!(moved == numbers, "{what}: indices"),
    }
}

/// Sorts, and returns the kernels that did it.
fn run<T: SortKey>(gpu: &Gpu, kind: Kind, way: Way, order: Order) -> Vec<Kernel> {
    let what = format!("{kind:?} {way:?} {} {}", T::KEY_TYPE, order.name());
    let sorter = gpu.sorter(&options(way.tuning()));
    let (len, words) = (way.len(), T::KEY_TYPE.words());
    let spec = Spec::new(Pattern::FewDistinct, len).distinct(300);
    let keys: Vec<T> = generate(&spec).unwrap();
    let bits: Vec<u32> = bytemuck::pod_collect_to_vec(&keys);
    // Rows of four words with the key behind two, 16-bit keys, and rows that are compared by their
    // first word.
    let mut with_field = rows(len, 4);
    for (row, key) in with_field.chunks_mut(4).zip(bits.chunks(words as usize)) {
        row[2..][..key.len()].copy_from_slice(key);
    }
    let halves: Vec<u32> = bits
        .iter()
        .step_by(words as usize)
        .map(|b| b >> 16)
        .collect();
    let compared: Vec<u32> = (0..)
        .zip(&halves)
        .flat_map(|(i, &half)| [half, i])
        .collect();
    let comparator = Comparator::new(
        "struct Row { key: u32, number: u32 }
        fn precedes(a: Row, b: Row) -> bool { return a.key < b.key; }",
    );
    let comparator = comparator.unwrap();

    let keys_before = match kind {
        Kind::Field => with_field,
        Kind::Packed | Kind::PackedWithIndices => pack(&halves, PackedKey::U16),
        Kind::Compared => compared,
        _ => bits,
    };
    let row_words = if kind == Kind::Rows { 3 } else { 1 };
    let values_before = rows(len, row_words);
    let middle = len as u32 / 3;
    let [on_gpu, with_it] = [&keys_before, &values_before].map(|words| gpu.buffer(words));
    let starts = gpu.buffer(&[0, 1, middle]);
    let sort = match kind {
        Kind::Field => BufferSort::of_rows(&on_gpu, len, 4, 2, T::KEY_TYPE),
        Kind::Packed | Kind::PackedWithIndices => {
            BufferSort::of_packed(&on_gpu, len, PackedKey::U16)
        }
        Kind::Compared => BufferSort::compared(&on_gpu, len, &comparator),
        _ => BufferSort::new(&on_gpu, len, T::KEY_TYPE),
    };
    let sort = match kind {
        Kind::Keys | Kind::Field | Kind::Packed | Kind::Compared => sort,
        Kind::Values => sort.values(&with_it),
        Kind::Indices | Kind::PackedWithIndices => sort.indices(&with_it),
        Kind::KeptKeys => sort.keep_keys().indices(&with_it),
        Kind::Rows => sort.rows(&with_it, row_words),
        Kind::Segments => sort.segments(&starts, 3),
        Kind::SegmentsWithIndices => sort.segments(&starts, 3).indices(&with_it),
    };
    let sort = sorter.prepare_sort(sort.order(order)).unwrap();
    sorter.run_profiled(&sort).unwrap();

    let numbers = order_of(kind, &keys, &halves, order);
    let sorted = match kind {
        Kind::Keys | Kind::Values | Kind::Indices | Kind::Rows => {
            in_order(&keys_before, words, &numbers)
        }
        Kind::Segments | Kind::SegmentsWithIndices => in_order(&keys_before, words, &numbers),
        Kind::KeptKeys => keys_before.clone(),
        Kind::Field => in_order(&keys_before, 4, &numbers),
        Kind::Packed | Kind::PackedWithIndices => {
            pack(&in_order(&halves, 1, &numbers), PackedKey::U16)
        }
        Kind::Compared => in_order(&keys_before, 2, &numbers),
    };
    assert!(gpu.read(&on_gpu) == sorted, "{what}");
    let moved = gpu.read(&with_it);
    check_moved(kind, &moved, &values_before, &numbers, &what);
    if kind == Kind::Values {
        let owners: Vec<u32> = moved.iter().map(|value| value / 16).collect();
        assert!(
            in_order(&keys_before, words, &owners) == sorted,
            "{what}: pairs"
        );
    }
    sort.recording()
        .steps
        .iter()
        .map(|step| step.kernel)
        .collect()
}

/// Every kind in every way. (But on a CPU those of compared rows, whose kernels take it long.)
fn cases(gpu: &Gpu) -> Vec<(KeyType, Kind, Way)> {
    let of_any_key = [
        Kind::Keys,
        Kind::Values,
        Kind::Indices,
        Kind::KeptKeys,
        Kind::Rows,
        Kind::Field,
        Kind::Segments,
        Kind::SegmentsWithIndices,
    ];
    let of_others = [Kind::Packed, Kind::PackedWithIndices, Kind::Compared];
    let any_key = |key| of_any_key.map(|kind| (key, kind));
    let kinds = [any_key(KeyType::U32), any_key(KeyType::F64)].concat();
    let kinds = kinds
        .into_iter()
        .chain(of_others.map(|kind| (KeyType::U32, kind)));
    let kinds = kinds.filter(|(_, kind)| !gpu.is_cpu() || *kind != Kind::Compared);
    let cases = kinds.flat_map(|(key, kind)| Way::ALL.map(|way| (key, kind, way)));
    cases.collect()
}

#[test]
fn the_sizes_of_gpus_sort_records_of_every_kind() {
    let Some(gpu) = gpu() else { return };
    let mut used = HashSet::new();
    for (key, kind, way) in cases(gpu) {
        println!("{key} {kind:?} {way:?}");
        used.extend(match key {
            KeyType::U32 => run::<u32>(gpu, kind, way, Order::Ascending),
            _ => run::<f64>(gpu, kind, way, Order::Descending),
        });
    }
    // (Whatever their sizes are.)
    let text = |kernel: &Kernel| match kernel {
        Kernel::Sort(sort) => Some((discriminant(&sort.stage), sort.shape)),
        _ => None,
    };
    let used: HashSet<_> = used.iter().filter_map(text).collect();
    for kernel in Kernel::all() {
        let missing = text(&kernel).is_some_and(|text| !used.contains(&text));
        assert!(!missing, "{}", kernel.name());
    }
}

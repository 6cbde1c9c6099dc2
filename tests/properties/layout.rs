//! What a sort is composed of, and the scratch memory that it takes.

use wgpu_bcfsort::internals::kernel::{Kernel, Shape, SortKernel, SortParams, Stage};
use wgpu_bcfsort::internals::layout::{Arrangement, Carried, Column, Job, Sorted};
use wgpu_bcfsort::internals::plan::DeviceLimits;
use wgpu_bcfsort::internals::recording::{Buffer, Phase, Recording, Step};
use wgpu_bcfsort::internals::samplesort;
use wgpu_bcfsort::{KeyType, Order, Tuning};

const LIMITS: DeviceLimits = DeviceLimits {
    buffer_bytes: u64::MAX,
    workgroups: 65_535,
    keys_per_dispatch: 1 << 25,
    workgroup_bytes: 32 << 10,
    workgroup_lanes: 1024,
    sampling_seed: 0x5eed,
};

fn job(arrangement: &Arrangement, key: KeyType, len: u32) -> Job<'_> {
    Job {
        len,
        key,
        order: Order::Descending,
        arrangement,
        ranks: None,
        maps_keys: true,
        counting: None,
        limits: &LIMITS,
    }
}

/// The steps by kernel and buffers. What sorts words stands for itself: the shape, and the buffers
/// of its keys.
fn outline(arrangement: &Arrangement, key: KeyType) -> Vec<String> {
    let recording = job(arrangement, key, 1000).record(&|recording, sort| {
        let stage = Stage::Merge;
        // (Any kernel of the shape: it is taken back.)
        recording.steps.push(Step {
            phase: Phase::BucketSort,
            round: 0,
            kernel: Kernel::Sort(SortKernel::new(stage, sort.shape)),
            workgroups: [1, 1],
            bindings: vec![
                ("source", sort.source.keys),
                ("destination", sort.target.keys),
            ],
            parameters: SortParams::default().into(),
            keys: 0,
        });
    });
    let steps = recording.steps.iter().map(|step| {
        let name = match step.kernel {
            Kernel::Sort(kernel) => match kernel.shape {
                Shape::Word => "sort word".to_owned(),
                Shape::TwoWords => "sort two words".to_owned(),
                Shape::Pair => "sort pair".to_owned(),
                Shape::WidePair => "sort wide pair".to_owned(),
                Shape::Row { .. } => "sort row".to_owned(),
            },
            kernel => kernel.name().replace("layout.", ""),
        };
        let buffer = |name| step.buffer(name).map(|buffer: Buffer| buffer.to_string());
        let buffers = [buffer("source"), buffer("destination")];
        let [from, to] = buffers.map(|buffer| buffer.unwrap_or_else(|| "-".to_owned()));
        format!("{name}: {from} > {to}")
    });
    steps.collect()
}

#[test]
fn sorts_are_composed_of_encode_sort_decode_and_gather() {
    let plain = Arrangement::default();
    let rows = |words, elsewhere| Carried::Columns(vec![Column { words, elsewhere }]);
    let segments = Arrangement {
        segments: Some(7),
        ..plain.clone()
    };
    let (narrow, wide) = (KeyType::F32, KeyType::I64);
    // Keys alone.
    assert_eq!(outline(&plain, narrow), ["sort word: keys > keys"]);
    let out_of_place = Arrangement {
        sorted: Sorted::Elsewhere,
        ..plain.clone()
    };
    assert_eq!(
        outline(&out_of_place, wide),
        ["sort two words: keys > sorted_keys"]
    );
    let part = Arrangement {
        first: 3,
        ..plain.clone()
    };
    assert_eq!(
        outline(&part, narrow),
        [
            "encode_keys.1w: keys > encoded_keys",
            "sort word: encoded_keys > encoded_keys",
            "decode_keys: encoded_keys > keys",
        ]
    );
    assert_eq!(
        outline(&segments, narrow),
        [
            "encode_keys.segment.1w: keys > encoded_keys",
            "sort two words: encoded_keys > encoded_keys",
            "decode_keys: encoded_keys > keys",
        ]
    );
    assert_eq!(
        outline(&segments, wide),
        [
            "encode_keys.segment.2w: keys > encoded_keys",
            "sort wide pair: encoded_keys > encoded_keys",
            "decode_wide_keys.segment: encoded_keys > keys",
        ]
    );
    // With indices, and rows by these.
    let indices = |arrangement: &Arrangement| Arrangement {
        carried: Carried::Indices,
        ..arrangement.clone()
    };
    assert_eq!(
        outline(&indices(&plain), narrow),
        ["iota: - > values", "sort pair: keys > keys"]
    );
    let argsort = Arrangement {
        sorted: Sorted::Nowhere,
        ..indices(&plain)
    };
    assert_eq!(
        outline(&argsort, wide),
        [
            "encode_keys.2w.index: keys > encoded_keys",
            "sort wide pair: encoded_keys > encoded_keys",
        ]
    );
    let with_rows = Arrangement {
        carried: rows(3, false),
        ..plain.clone()
    };
    assert_eq!(
        outline(&with_rows, narrow),
        [
            "encode_keys.1w.index: keys > encoded_keys",
            "sort pair: encoded_keys > encoded_keys",
            "decode_keys: encoded_keys > keys",
            "gather: values > scratch_rows",
            "copy: scratch_rows > values",
        ]
    );
    let two_passes = Arrangement {
        carried: rows(3, true),
        ..segments
    };
    assert_eq!(
        outline(&two_passes, wide),
        [
            "encode_keys.2w.index: keys > encoded_keys",
            "sort wide pair: encoded_keys > encoded_keys",
            "encode_segments: encoded_values > encoded_keys",
            "sort pair: encoded_keys > encoded_keys",
            "gather: encoded_values > scratch_values",
            "gather: values > sorted_column.0",
            "gather: keys > scratch_rows",
            "copy: scratch_rows > keys",
        ]
    );
}

/// Every arrangement that there is, more or less.
fn arrangements() -> Vec<(Arrangement, KeyType)> {
    let rows = |elsewhere| {
        let column = |words| Column { words, elsewhere };
        Carried::Columns(vec![column(1), column(5)])
    };
    let layouts = [
        (KeyType::F32, None, None),
        (KeyType::F64, None, None),
        (KeyType::I32, Some(8), None),
        (KeyType::U32, None, Some((4, 1))),
        (KeyType::U64, None, Some((2, 0))),
    ];
    let mut all = Vec::new();
    for (key, bits, field) in layouts {
        for segments in [None, Some(0), Some(5)] {
            for sorted in [Sorted::Here, Sorted::Elsewhere, Sorted::Nowhere] {
                for carried in [
                    Carried::Nothing,
                    Carried::Values,
                    Carried::Indices,
                    rows(false),
                    rows(true),
                ] {
                    for first in [0, 5] {
                        let arrangement = Arrangement {
                            first,
                            field,
                            bits,
                            segments,
                            sorted,
                            carried: carried.clone(),
                            ..Arrangement::default()
                        };
                        all.push((arrangement, key));
                    }
                }
            }
        }
    }
    all
}

#[test]
fn scratch_memory_is_bounded() {
    let tuning = Tuning::default();
    for (arrangement, key) in arrangements() {
        for len in [0, 1, 1025, 32_769, 700_000, (1 << 22) + 1, 1 << 26, 1 << 28] {
            let recording: Recording = job(&arrangement, key, len).record(&|recording, sort| {
                samplesort::record(recording, sort, &tuning, &LIMITS);
            });
            let (bytes, bound) = (
                recording.scratch_bytes(),
                arrangement.scratch_bound(key, len),
            );
            assert!(
                bytes <= bound,
                "{len} {key} {arrangement:?}: {bytes} of {bound}"
            );
        }
    }
}

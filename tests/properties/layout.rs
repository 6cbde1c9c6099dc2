//! The steps of composed sorts, and their scratch memory.

use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::layout::{
    Column, Field, LayoutSort, Output, Part, SortLayout, Structs,
};
use wgpu_bcfsort::internals::recording::{Buffer, Phase, Recording, Step};
use wgpu_bcfsort::internals::samplesort;
use wgpu_bcfsort::internals::samplesort::kernels::{self, SortParams};
use wgpu_bcfsort::{KeyType, Order, Tuning};

const LIMITS: DeviceLimits = DeviceLimits {
    keys_per_dispatch: 1 << 25,
    workgroup_bytes: 32 << 10,
    ..bcfsort_testkit::LIMITS
};

fn job(layout: &SortLayout, key: KeyType, len: u32) -> LayoutSort<'_> {
    LayoutSort {
        len,
        key,
        order: Order::Descending,
        layout,
        ranks: None,
        maps_keys: true,
        counting: None,
        limits: &LIMITS,
    }
}

/// The steps by kernel and buffers. The sort of words is one line: its shape, and the buffers of
/// its keys.
fn outline(layout: &SortLayout, key: KeyType) -> Vec<String> {
    let recording = job(layout, key, 1000).record(&|recording, sort| {
        // Any kernel of this shape: the outline shows only the shape.
        recording.steps.push(Step {
            phase: Phase::BucketSort,
            round: 0,
            kernel: kernels::merge(sort.shape),
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
        let name = match step.kernel.name() {
            "samplesort.merge.u32" => "sort word",
            "samplesort.merge.u64" => "sort two words",
            "samplesort.merge.u32_pair" => "sort pair",
            "samplesort.merge.u64_pair" => "sort wide pair",
            name => name.trim_start_matches("layout."),
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
    let plain = SortLayout::default();
    let rows = |output| {
        vec![Column {
            words: 3,
            output,
            ..Column::default()
        }]
    };
    let segments = SortLayout {
        segments: Some(7),
        ..plain.clone()
    };
    let (narrow, wide) = (KeyType::F32, KeyType::I64);
    // Keys without payload.
    assert_eq!(outline(&plain, narrow), ["sort word: keys > keys"]);
    let out_of_place = SortLayout {
        output: Output::OutOfPlace { first: 0 },
        ..plain.clone()
    };
    assert_eq!(
        outline(&out_of_place, wide),
        ["sort two words: keys > output"]
    );
    let part = SortLayout {
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
    // Indices, and rows gathered by them.
    let indices = |layout: &SortLayout| SortLayout {
        indices: Some(0),
        ..layout.clone()
    };
    assert_eq!(
        outline(&indices(&plain), narrow),
        ["iota: - > values", "sort pair: keys > keys"]
    );
    let argsort = SortLayout {
        output: Output::None,
        ..indices(&plain)
    };
    assert_eq!(
        outline(&argsort, wide),
        [
            "encode_keys.2w.index: keys > encoded_keys",
            "sort wide pair: encoded_keys > encoded_keys",
        ]
    );
    let with_rows = SortLayout {
        columns: rows(None),
        ..plain.clone()
    };
    assert_eq!(
        outline(&with_rows, narrow),
        [
            "encode_keys.1w.index: keys > encoded_keys",
            "sort pair: encoded_keys > encoded_keys",
            "decode_keys: encoded_keys > keys",
            "gather: payload.0 > scratch_rows",
            "copy: scratch_rows > payload.0",
        ]
    );
    let two_passes = SortLayout {
        columns: rows(Some(0)),
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
            "gather: payload.0 > payload_output.0",
            "gather: keys > scratch_rows",
            "copy: scratch_rows > keys",
        ]
    );
}

/// Layouts with all combinations of keys, segments, output and payload.
fn layouts() -> Vec<(SortLayout, KeyType)> {
    let column = |words, output, unstable| Column {
        words,
        first: 0,
        output,
        unstable,
        ..Column::default()
    };
    let rows = |output| vec![column(1, output, false), column(5, output, false)];
    let payloads = [
        (None, vec![]),
        (None, vec![column(1, None, true)]),
        (Some(0), vec![]),
        (Some(3), rows(None)),
        (None, rows(None)),
        (None, rows(Some(7))),
    ];
    let structs = |words| Structs {
        words,
        first: 0,
        compared: false,
    };
    let keys = [
        (KeyType::F32, None, None),
        (KeyType::F64, None, None),
        (KeyType::I32, Some(8), None),
        (KeyType::U32, None, Some(structs(4))),
        (KeyType::U32, Some(16), Some(structs(2))),
        (KeyType::U64, None, Some(structs(4))),
    ];
    let mut all = Vec::new();
    for (key, bits, structs) in keys {
        for segments in [None, Some(0), Some(5)] {
            for output in [
                Output::InPlace,
                Output::OutOfPlace { first: 3 },
                Output::None,
            ] {
                for (indices, columns) in &payloads {
                    for first in [0, 5] {
                        let layout = SortLayout {
                            first,
                            stride: structs.map_or(1, |structs| structs.words / key.words()),
                            bits,
                            structs,
                            segments,
                            output,
                            indices: *indices,
                            columns: columns.clone(),
                            ..SortLayout::default()
                        };
                        if segments.is_none() && structs.is_some_and(|structs| structs.words == 4) {
                            let parts = parts_of(key);
                            all.push((
                                SortLayout {
                                    parts,
                                    ..layout.clone()
                                },
                                key,
                            ));
                        }
                        all.push((layout, key));
                    }
                }
            }
        }
    }
    all
}

/// A part of the width of a key, and a wide one.
fn parts_of(key: KeyType) -> Vec<Part> {
    let field = |key: KeyType| Field {
        first: 0,
        stride: 4 / key.words(),
        bits: 32 * key.words(),
        map: key.map(Order::Ascending),
    };
    let part = |key| Part {
        fields: vec![field(key)],
    };
    vec![part(key), part(KeyType::U64)]
}

#[test]
fn scratch_memory_is_bounded() {
    let tuning = Tuning::default();
    for (layout, key) in layouts() {
        for len in [0, 1, 1025, 32_769, 700_000, (1 << 22) + 1, 1 << 26, 1 << 28] {
            let recording: Recording = job(&layout, key, len).record(&|recording, sort| {
                samplesort::record(recording, sort, &tuning, &LIMITS);
            });
            let (bytes, bound) = (recording.scratch_bytes(), layout.scratch_bound(key, len));
            assert!(bytes <= bound, "{len} {key} {layout:?}: {bytes} of {bound}");
        }
    }
}

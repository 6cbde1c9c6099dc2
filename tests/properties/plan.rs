//! The sample sort's plans are consistent, with every valid tuning.

use bcfsort_testkit::LIMITS;
use wgpu_bcfsort::internals::device::DeviceLimits;
use wgpu_bcfsort::internals::recording::{Buffer, Recording};
use wgpu_bcfsort::internals::samplesort::Shape;
use wgpu_bcfsort::internals::samplesort::{AS_THEY_ARE, Records, WordSort, record};
use wgpu_bcfsort::internals::shader::LARGEST_TILE;
use wgpu_bcfsort::{KeyType, Order, Tuning};

/// Sizes of workgroup memory: those of real devices, and some others.
const WORKGROUP_BYTES: [u32; 5] = [16 << 10, 20 << 10, 24 << 10, 32 << 10, 48 << 10];

const SIZES: [u32; 16] = [
    0,
    1,
    1024,
    1025,
    4097,
    32_769,
    100_000,
    1 << 18,
    700_000,
    (1 << 20) + 123,
    (1 << 22) + 1,
    1 << 24,
    1 << 25,
    1 << 26,
    1 << 28,
    u32::MAX - 2 * LARGEST_TILE,
];

/// Every shape of records, including rows of any size.
fn shapes() -> Vec<Shape> {
    let rows = (1..=5).map(|words| Shape::row(words, false));
    Shape::ALL.into_iter().chain(rows).collect()
}

fn recorded(len: u32, shape: Shape, tuning: &Tuning, workgroup_bytes: u32) -> Recording {
    let limits = DeviceLimits {
        keys_per_dispatch: 1 << 25,
        workgroup_bytes,
        ..LIMITS
    };
    let records = |keys, values| Records {
        keys,
        values: shape.has_value().then_some(values),
    };
    let home = records(Buffer::EncodedKeys, Buffer::EncodedValues);
    let sort = WordSort {
        len,
        shape,
        source: home,
        target: home,
        scratch: records(Buffer::Scratch, Buffer::ScratchValues),
        map: AS_THEY_ARE,
        ranks: None,
    };
    let mut recording = Recording::new(len, KeyType::U32, Order::Ascending);
    record(&mut recording, &sort, tuning, &limits);
    recording
}

#[test]
fn kernels_and_scratch_memory_are_within_bounds() {
    for workgroup_bytes in WORKGROUP_BYTES {
        for shape in shapes() {
            for len in SIZES {
                let recording = recorded(len, shape, &Tuning::default(), workgroup_bytes);
                for step in &recording.steps {
                    let bytes = step.kernel.workgroup_bytes();
                    let name = step.kernel.name();
                    assert!(bytes <= workgroup_bytes, "{name}: {bytes}");
                }
                let bytes = u64::from(len) * u64::from(shape.stored_words()) * 4;
                // As the documentation promises: children may have room by an estimate.
                let bound = bytes + bytes * 15 / 100 + (16 << 20);
                let scratch = recording.scratch_bytes();
                assert!(scratch <= bound, "{len} {shape:?}: {scratch} of {bound}");
            }
        }
    }
}

/// Every valid tuning can be planned.
#[test]
fn every_valid_tuning_makes_a_plan() {
    for bits in 0..1 << 4 {
        let pick = |bit: u32, [low, high]: [u32; 2]| if bits >> bit & 1 == 0 { low } else { high };
        let tuning = Tuning {
            tile: pick(0, [1024, 8192]),
            samples: pick(1, [1024, 4096]),
            merged: pick(2, [0, u32::MAX]),
            gpu: bits >> 3 & 1 == 1,
        };
        tuning.validate().unwrap();
        for shape in shapes() {
            for len in SIZES {
                let recording = recorded(len, shape, &tuning, 32 << 10);
                // One record in place needs no step.
                assert_eq!(recording.steps.is_empty(), len <= 1);
            }
        }
    }
}

#[test]
fn tuning_files_are_compatible() {
    let tuning = Tuning {
        tile: 2048,
        ..Tuning::cpu()
    };
    let text = serde_json::to_string(&tuning).unwrap();
    assert_eq!(serde_json::from_str::<Tuning>(&text).unwrap(), tuning);
    // An older file has fewer numbers. Unknown or invalid numbers are an error.
    let old: Tuning = serde_json::from_str(r#"{"tile": 2048}"#).unwrap();
    assert_eq!((old.tile, old.samples), (2048, Tuning::default().samples));
    assert!(serde_json::from_str::<Tuning>(r#"{"tiles": 2048}"#).is_err());
    assert!(serde_json::from_str::<Tuning>(r#"{"tile": -1}"#).is_err());
}

//! That the sample sort's plans hold together, with every tuning that is allowed.

use wgpu_bcfsort::internals::algorithm::{MOST_SAMPLE_BUCKETS, partition_bytes, tile_bytes};
use wgpu_bcfsort::internals::phases::record_sample_sort;
use wgpu_bcfsort::internals::plan::{DeviceLimits, LARGEST_TILE, SampleSort, scratch_promise};
use wgpu_bcfsort::{KeyType, Order, Payload, Tuning};

/// What devices have, and some that none has.
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

fn limits(workgroup_bytes: u32) -> DeviceLimits {
    DeviceLimits {
        buffer_bytes: u64::MAX,
        workgroups: 65_535,
        keys_per_dispatch: 1 << 25,
        workgroup_bytes,
        workgroup_lanes: 1024,
    }
}

#[test]
fn plans_hold_together_and_scratch_memory_is_as_promised() {
    for workgroup_bytes in WORKGROUP_BYTES {
        let limits = limits(workgroup_bytes);
        for (key, payload) in KeyType::ALL
            .into_iter()
            .flat_map(|key| Payload::ALL.map(|payload| (key, payload)))
        {
            let words = key.words() + payload.words();
            for len in SIZES {
                let plan = SampleSort::new(len, key, payload, &Tuning::default(), &limits);
                assert!(tile_bytes(plan.child, words) <= workgroup_bytes);
                let tile_bytes = if plan.fine > 0 {
                    partition_bytes(plan.tile, plan.fine, key.words())
                } else {
                    tile_bytes(plan.tile, words)
                };
                assert!(tile_bytes <= workgroup_bytes);
                assert!((1..=MOST_SAMPLE_BUCKETS).contains(&plan.buckets));
                if plan.is_one_tile() {
                    continue;
                }
                // The rows of every bucket's splitters fit, whatever the buckets' sizes are.
                let of_buckets = [1, plan.child + 1, len / 3, len].into_iter();
                for records in of_buckets.filter(|_| plan.merged == 0) {
                    let children = if plan.fine > 0 {
                        plan.fine.min(records)
                    } else {
                        plan.children(records)
                    };
                    assert!(children <= plan.most_children);
                    assert!(children <= records);
                    let rows = u64::from(children.saturating_sub(1));
                    let tiles = records.div_ceil(plan.tile);
                    assert!(rows * u64::from(tiles) <= plan.prefix_words());
                }
                let recording = record_sample_sort(
                    len,
                    key,
                    Order::Ascending,
                    payload,
                    &Tuning::default(),
                    &limits,
                );
                let promise = scratch_promise(len, key)
                    + u64::from(payload.words()) * u64::from(len) * 4 * 11 / 10;
                assert!(
                    recording.scratch_bytes() <= promise,
                    "{len} {key} {payload:?}: {} of {promise}",
                    recording.scratch_bytes()
                );
            }
        }
    }
}

/// Whatever is allowed can be planned, and no table of ranks is smaller than what is written to it.
#[test]
fn any_tuning_that_is_allowed_makes_a_plan() {
    for bits in 0..1 << 9 {
        let pick = |bit: u32, [low, high]: [u32; 2]| if bits >> bit & 1 == 0 { low } else { high };
        let tuning = Tuning {
            tile: pick(0, [1024, 8192]),
            child: pick(1, [1024, 8192]),
            samples: pick(2, [1024, 8192]),
            twice: pick(3, [0, u32::MAX]),
            bucket: pick(4, [1, u32::MAX]),
            looped: bits >> 5 & 1 == 1,
            partition: pick(6, [1, u32::MAX]),
            fine: pick(7, [32, 512]),
            merged: pick(8, [0, u32::MAX]),
        };
        tuning.validate().unwrap();
        for (key, payload) in [
            (KeyType::U32, Payload::None),
            (KeyType::U32, Payload::Values),
            (KeyType::U64, Payload::Indices),
        ] {
            for len in SIZES {
                let limits = limits(32 << 10);
                let plan = SampleSort::new(len, key, payload, &tuning, &limits);
                assert!((1..=MOST_SAMPLE_BUCKETS).contains(&plan.buckets));
                for records in [1, plan.child + 1, len / 3, len] {
                    let children = if plan.fine > 0 {
                        plan.fine.min(records)
                    } else {
                        plan.children(records)
                    };
                    assert!(plan.is_one_tile() || children <= plan.most_children);
                }
                let order = Order::Ascending;
                let recording = record_sample_sort(len, key, order, payload, &tuning, &limits);
                assert_eq!(
                    recording.steps.is_empty(),
                    len < 2 && payload != Payload::Indices || len == 0
                );
            }
        }
    }
}

#[test]
fn files_keep_their_meaning() {
    let tuning = Tuning {
        tile: 2048,
        ..Tuning::cpu()
    };
    let text = serde_json::to_string(&tuning).unwrap();
    assert_eq!(serde_json::from_str::<Tuning>(&text).unwrap(), tuning);
    // An older file, of fewer numbers; and a newer one, of more.
    let old: Tuning = serde_json::from_str(r#"{"tile": 2048}"#).unwrap();
    assert_eq!((old.tile, old.fine), (2048, Tuning::default().fine));
    assert!(serde_json::from_str::<Tuning>(r#"{"tiles": 2048}"#).is_err());
    assert!(serde_json::from_str::<Tuning>(r#"{"tile": -1}"#).is_err());
}

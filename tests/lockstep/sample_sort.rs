//! The sample sort by the lock-step executor: every kernel, whatever goes with the keys, without a
//! race, an access out of bounds or a read of nothing; and with no bank conflict but where keys are
//! looked for.

use bcfsort_testkit::data::{Pattern, Spec, generate};
use bcfsort_testkit::recordings::{Execution, KernelReport, select_ranks};
use std::collections::BTreeMap;
use wgpu_bcfsort::internals::phases::record_sample_sort;
use wgpu_bcfsort::internals::plan::{DeviceLimits, SampleSort, Tuning};
use wgpu_bcfsort::internals::recording::{Buffer, Recording};
use wgpu_bcfsort::{KeyType, Order, Payload, SortKey, sort_on_cpu};
use wgsl_lockstep::{Config, Space};

const LIMITS: DeviceLimits = DeviceLimits {
    buffer_bytes: u64::MAX,
    workgroups: 65_535,
    keys_per_dispatch: u32::MAX,
    workgroup_bytes: 48 << 10,
    workgroup_lanes: 1024,
};

/// Small tiles; distributed twice from so many keys on, into buckets of so many.
fn tuning(tile: u32, twice: u32, bucket: u32) -> Tuning {
    let mut tuning = Tuning::default();
    (tuning.tile, tuning.child, tuning.samples) = (tile, tile, tile);
    (tuning.twice, tuning.bucket, tuning.merged) = (twice, bucket, 0);
    tuning
}

/// Runs a sort, and compares what it leaves with the CPU's. Values are the keys' places.
fn sort<T: SortKey>(
    keys: &[T],
    order: Order,
    payload: Payload,
    tuning: &Tuning,
    limits: &DeviceLimits,
) -> (Recording, Vec<KernelReport>) {
    let len = keys.len() as u32;
    let what = format!("{len} {} {}", T::KEY_TYPE, payload.name());
    let recording = record_sample_sort(len, T::KEY_TYPE, order, payload, tuning, limits);
    let mut execution = Execution::new(&recording, bytemuck::cast_slice(keys), Config::default());
    let places: Vec<u32> = (0..len).collect();
    execution.set_buffer(
        Buffer::Values,
        match payload {
            Payload::Values => places.clone(),
            _ => vec![u32::MAX; keys.len()],
        },
    );
    let reports = execution.run().unwrap();
    let mut expected = keys.to_vec();
    sort_on_cpu(&mut expected, order);
    let sorted: &[T] = bytemuck::cast_slice(execution.buffer(Buffer::Keys));
    assert!(
        bytemuck::cast_slice::<T, u8>(sorted) == bytemuck::cast_slice::<T, u8>(&expected),
        "{what}: not sorted"
    );
    if payload != Payload::None {
        let values = execution.buffer(Buffer::Values);
        let mut all = values.to_vec();
        all.sort_unstable();
        assert!(all == places, "{what}: values lost");
        for (i, &value) in values.iter().enumerate() {
            let own = [keys[value as usize]];
            assert!(
                bytemuck::bytes_of(&own[0]) == bytemuck::bytes_of(&sorted[i]),
                "{what}: value {value} has left its key"
            );
        }
        if payload == Payload::Indices {
            let stable = (1..values.len()).all(|i| {
                bytemuck::bytes_of(&sorted[i - 1]) != bytemuck::bytes_of(&sorted[i])
                    || values[i - 1] < values[i]
            });
            assert!(stable, "{what}: not stable");
        }
    }
    (recording, reports)
}

fn check(reports: &[KernelReport]) {
    for kernel in reports {
        let label = kernel.kernel.label();
        assert!(
            kernel.report.findings.is_empty(),
            "{label}: {:?}",
            kernel.report.findings
        );
    }
}

#[test]
fn every_kernel_is_free_of_races_and_stays_in_bounds() {
    let once = tuning(1024, u32::MAX, 1);
    let twice = tuning(1024, 3000, 2000);
    let middle = tuning(2048, 3000, 4000);
    let mut merged = once;
    merged.merged = u32::MAX;
    for payload in Payload::ALL {
        for (len, tuning) in [
            (1000, once),
            (3300, once),
            (6100, twice),
            (9000, middle),
            (1025, merged),
            (7100, merged),
        ] {
            let spec = Spec::new(Pattern::Full, len);
            let (_, reports) = sort::<u32>(
                &generate(&spec).unwrap(),
                Order::Ascending,
                payload,
                &tuning,
                &LIMITS,
            );
            check(&reports);
            let spec = Spec::new(Pattern::FewDistinct, len).distinct(7);
            let (_, reports) = sort::<f64>(
                &generate(&spec).unwrap(),
                Order::Descending,
                payload,
                &tuning,
                &LIMITS,
            );
            check(&reports);
        }
    }
}

/// Padding has the greatest key there is, and so may real records, with values of their own.
#[test]
fn values_of_the_greatest_keys_are_not_lost_to_padding() {
    for pattern in [Pattern::Maximal, Pattern::Constant, Pattern::ZeroOne] {
        for len in [33, 1023, 3333] {
            let keys: Vec<u32> = generate(&Spec::new(pattern, len)).unwrap();
            let tuning = tuning(1024, 2500, 1500);
            sort(&keys, Order::Ascending, Payload::Values, &tuning, &LIMITS);
            sort(&keys, Order::Descending, Payload::Values, &tuning, &LIMITS);
        }
    }
}

#[test]
fn dispatches_are_cut_and_grids_have_rows() {
    let limits = DeviceLimits {
        workgroups: 2,
        keys_per_dispatch: 2048,
        ..LIMITS
    };
    let keys: Vec<u32> = generate(&Spec::new(Pattern::Random, 7000)).unwrap();
    for tuning in [tuning(1024, 3000, 2000), tuning(1024, u32::MAX, 1)] {
        let (recording, reports) = sort(&keys, Order::Ascending, Payload::None, &tuning, &limits);
        assert!(recording.steps.iter().any(|step| step.workgroups[1] > 1));
        check(&reports);
    }
}

/// More keys than the children of a bucket can hold: each overflows, and is sorted in blocks.
#[test]
fn children_that_overflow_are_sorted_all_the_same() {
    let keys: Vec<u32> = generate(&Spec::new(Pattern::Full, 73_000)).unwrap();
    let (_, reports) = sort(
        &keys,
        Order::Ascending,
        Payload::None,
        &tuning(1024, u32::MAX, 1),
        &LIMITS,
    );
    check(&reports);
    // Twice, so that the list is used: two buckets of which each has children enough for half.
    let keys: Vec<u32> = generate(&Spec::new(Pattern::Full, 140_000)).unwrap();
    let tuning = tuning(1024, 3000, 70_000);
    let (recording, reports) = sort(&keys, Order::Ascending, Payload::Values, &tuning, &LIMITS);
    check(&reports);
    let plan = SampleSort::new(140_000, KeyType::U32, Payload::Values, &tuning, &LIMITS);
    let rest = recording.steps.last().unwrap().parameter("rest");
    assert_eq!(rest, Some(plan.groups()));
}

/// Of a bucket with nearly all keys there are more children than workgroups of their own: the
/// others are sorted, too.
#[test]
fn more_groups_than_are_likely_are_sorted_all_the_same() {
    // Keys that are sampled at first, as shaders/sample_sort/splitters.wgsl says, precede all
    // others.
    let len = 40_000_u32;
    let mut keys: Vec<u32> = generate(&Spec::new(Pattern::Full, u64::from(len))).unwrap();
    for key in &mut keys {
        *key |= 1 << 31;
    }
    let interval = len.div_ceil(1024);
    for i in 0..len / interval {
        let part = u64::from(i.wrapping_mul(0x9e37_79b9) >> 16);
        let jitter = (part * u64::from(interval)) >> 16;
        keys[(i * interval) as usize + jitter as usize] = i;
    }
    let mut tuning = Tuning::cpu();
    (tuning.samples, tuning.twice, tuning.bucket) = (1024, 1, 5000);
    let (recording, reports) = sort(&keys, Order::Ascending, Payload::None, &tuning, &LIMITS);
    check(&reports);
    let plan = SampleSort::new(len, KeyType::U32, Payload::None, &tuning, &LIMITS);
    // (What the sort leaves in its tables it does not tell.)
    let mut execution = Execution::new(&recording, &keys, Config::default());
    execution.run().unwrap();
    assert!(execution.buffer(Buffer::ChildTable)[0] > plan.likely_groups());
}

/// Where keys are sorted, no key decides an address, and lanes meet in no bank. What looks for a
/// key, or for where it comes from, goes where the keys say: by so many lanes a bank at the most,
/// which are counted here.
#[test]
fn conflicts_are_only_where_keys_are_looked_for() {
    let keys: Vec<u32> = generate(&Spec::new(Pattern::Full, 20_000)).unwrap();
    let mut degrees = BTreeMap::new();
    for tuning in [tuning(1024, 3000, 5000), tuning(1024, u32::MAX, 1)] {
        let (_, reports) = sort(&keys, Order::Ascending, Payload::None, &tuning, &LIMITS);
        for kernel in reports {
            let degree = kernel.report.banks().max_degree;
            println!("{}: {degree}", kernel.kernel.label());
            if !kernel.kernel.kernel().searches() {
                assert!(degree <= 1, "{}", kernel.kernel.label());
                assert!(kernel.report.is_oblivious(Space::Workgroup));
            }
            degrees.insert(kernel.kernel.kernel().name(), degree);
        }
    }
    assert!(degrees.values().all(|&degree| degree <= 32));
}

/// Some places only: what is not sorted is free of races, too, and on its side.
#[test]
fn places_are_selected_without_a_race() {
    let twice = tuning(1024, 3000, 2000);
    let mut sorted_tiles = tuning(1024, 3000, 2000);
    sorted_tiles.partition = u32::MAX;
    let once = tuning(1024, u32::MAX, 1);
    let keys: Vec<u32> = generate(&Spec::new(Pattern::Full, 9000)).unwrap();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    for (tuning, payload) in [
        (once, Payload::None),
        (sorted_tiles, Payload::None),
        (twice, Payload::Values),
    ] {
        for places in [100..200, 8999..9000, 4000..4000, 0..0] {
            let recording = record_sample_sort(
                9000,
                KeyType::U32,
                Order::Ascending,
                payload,
                &tuning,
                &LIMITS,
            );
            let recording = select_ranks(recording, places.clone());
            let mut execution = Execution::new(&recording, &keys, Config::default());
            execution.set_buffer(Buffer::Values, (0..9000).collect());
            check(&execution.run().unwrap());
            let mut found = execution.buffer(Buffer::Keys).to_vec();
            let (start, end) = (places.start as usize, places.end as usize);
            assert!(found[start..end] == sorted[start..end], "{places:?}");
            assert!(found != sorted, "{places:?}: less was to be done");
            found[..start].sort_unstable();
            found[end..].sort_unstable();
            assert!(found == sorted, "{places:?}");
        }
    }
}

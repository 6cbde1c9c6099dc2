//! Warpsort in the lock-step executor: its seed, and random splitters of repeated keys.

use bcfsort_data::{Pattern, Spec, generate};
use bcfsort_testkit::recordings::Execution;
use bcfsort_testkit::{LIMITS, PaperOptions};
use wgpu_bcfsort::internals::host::sort_on_cpu;
use wgpu_bcfsort::internals::mergesort::{Plan, sample_position};
use wgpu_bcfsort::internals::planner::record_sort;
use wgpu_bcfsort::internals::recording::{Buffer, Recording};
use wgpu_bcfsort::{Engine, KeyType, Options, Order, SortKey};
use wgsl_lockstep::Config;

fn options(buckets: u32, samples: u32) -> Options {
    Options::default()
        .engine(Engine::Warpsort)
        .buckets(buckets)
        .samples(samples)
}

fn record<T: SortKey>(len: usize, options: &Options) -> Recording {
    record_sort(len as u32, T::KEY_TYPE, Order::Ascending, options, &LIMITS)
}

/// Sorts in the executor, and compares with the CPU. Returns the ends of the buckets, if any.
fn sort<T: SortKey>(keys: &[T], options: &Options, what: &str) -> Vec<u32> {
    let recording = record::<T>(keys.len(), options);
    let mut execution = Execution::new(&recording, bytemuck::cast_slice(keys), Config::default());
    execution.run().unwrap();
    let mut expected = keys.to_vec();
    sort_on_cpu(&mut expected, Order::Ascending);
    let expected: &[u32] = bytemuck::cast_slice(&expected);
    assert!(
        execution.buffer(Buffer::Keys) == expected,
        "{what}: not sorted"
    );
    let plan = Plan::new(
        keys.len() as u32,
        T::KEY_TYPE,
        options.mergesort.parameters(options.engine),
    );
    plan.distribution.map_or_else(Vec::new, |d| {
        let row = d.runs as usize + 1;
        let separators = execution.buffer(Buffer::Separators(0));
        separators
            .chunks(row)
            .map(|row| row[row.len() - 1])
            .collect()
    })
}

/// In the paper, warpsort failed on zeros and ones. Here it is slow on them, but correct.
#[test]
fn few_distinct_keys_are_sorted() {
    for (pattern, distinct) in [
        (Pattern::ZeroOne, None),
        (Pattern::Constant, None),
        (Pattern::Maximal, None),
        (Pattern::FewDistinct, Some(3)),
        (Pattern::FewDistinct, Some(40)),
    ] {
        for len in [129, 1000, 4097, 10_011] {
            for (buckets, samples) in [(4, 4), (16, 1), (7, 64)] {
                let mut spec = Spec::new(pattern, len).seed(len);
                spec.distinct = distinct;
                let keys: Vec<u32> = generate(&spec).unwrap();
                let what = format!("{pattern} {len} P={buckets} t={samples}");
                let ends = sort(&keys, &options(buckets, samples), &what);
                // Equal keys are in one bucket, so all others are empty.
                if pattern == Pattern::Constant && !ends.is_empty() {
                    let filled = ends.windows(2).filter(|pair| pair[0] != pair[1]).count();
                    assert!(filled + usize::from(ends[0] > 0) == 1, "{what}: {ends:?}");
                }
            }
        }
    }
    let keys: Vec<f64> = generate(&Spec::new(Pattern::ZeroOne, 3001)).unwrap();
    sort(&keys, &options(8, 8), "zeros and ones of 8 bytes");
}

#[test]
fn different_seeds_give_different_buckets() {
    let keys: Vec<u32> = generate(&Spec::new(Pattern::Full, 6000)).unwrap();
    let of = |seed| sort(&keys, &options(8, 6).seed(seed), "of a seed");
    assert_eq!(of(1), of(1));
    assert_eq!(of(0), sort(&keys, &options(8, 6), "of no seed"));
    let all = [of(0), of(1), of(2), of(1 << 32), of(u64::MAX)];
    for (i, ends) in all.iter().enumerate() {
        assert_eq!(ends.last(), Some(&6000));
        assert!(all[..i].iter().all(|others| others != ends), "{all:?}");
    }
}

/// The kernel takes samples at the positions that Rust computes, at every level.
#[test]
fn samples_are_taken_at_the_positions_of_their_seed() {
    for (len, seed, count) in [
        (1u32, 0u64, 3u32),
        (5000, 1, 500),
        (70_001, u64::MAX - 4, 129),
    ] {
        for level in [0u8, 1, 9] {
            let mut recording = record::<u32>(5000, &options(4, 4).seed(seed));
            let mut step = recording
                .steps
                .iter()
                .find(|step| step.kernel.is("baseline.random_samples"))
                .unwrap()
                .clone();
            for (name, value) in [("len", len), ("total", count), ("level", level.into())] {
                *step.parameters.get_mut(name).unwrap() = value;
            }
            step.workgroups = [count.div_ceil(64), 1];
            step.bindings = vec![("source", Buffer::Keys), ("sampled", Buffer::Samples(0))];
            recording.len = len;
            recording.key = KeyType::U32;
            recording.buffers.clear();
            recording.reserve(Buffer::Samples(0), u64::from(count) * 4);
            // Each key is its own position.
            let keys: Vec<u32> = (0..len).collect();
            let mut execution = Execution::new(&recording, &keys, Config::default());
            execution.step(&step).unwrap();
            let expected: Vec<u32> = (0..count)
                .map(|number| sample_position(seed, level.into(), number, len))
                .collect();
            assert_eq!(execution.buffer(Buffer::Samples(0)), expected);
        }
    }
}

//! The sample sort on this machine's adapter.

use crate::device::{Gpu, check_sort, gpu};
use crate::pairs::stable;
use bcfsort_data::{Pattern, Spec, generate};
use std::collections::BTreeSet;
use wgpu_bcfsort::internals::Recorded as _;
use wgpu_bcfsort::internals::recording::Phase;
use wgpu_bcfsort::internals::samplesort::Tuning;
use wgpu_bcfsort::{Detail, Engine, KeyType, Keys, Options, Order, SortJob, SortKey, Sorter};

/// The library's kernel sizes for this adapter, but without the merge of few tiles: more records
/// than a tile are always partitioned. On a CPU the tiles are the smallest, since lavapipe compiles
/// kernels slowly.
pub(crate) fn tuning(gpu: &Gpu) -> Tuning {
    let tuning = if gpu.is_cpu() {
        Tuning {
            samples: 1024,
            ..Tuning::cpu()
        }
    } else {
        Tuning::default()
    };
    Tuning {
        merged: 0,
        ..tuning
    }
}

pub(crate) fn options(tuning: Tuning) -> Options {
    Options::default().engine(Engine::SampleSort).tuning(tuning)
}

fn check<T: SortKey>(gpu: &Gpu, options: &Options, spec: &Spec, order: Order) {
    let what = format!("sample sort {spec:?} {} {}", T::KEY_TYPE, order.name());
    check_sort::<T>(&gpu.sorter(options), &generate(spec).unwrap(), order, &what);
}

/// With one common seed, a crafted input could mislead all sorters.
#[test]
fn sorters_have_different_sampling_seeds() {
    let Some(gpu) = gpu() else { return };
    let keys = gpu.buffer(&vec![0; 20_000]);
    let seeds: BTreeSet<u32> = (0..4)
        .map(|_| {
            let options = options(tuning(gpu));
            let sorter = Sorter::new(&gpu.device, &gpu.queue, options).unwrap();
            let sort = SortJob::new(Keys::new(&keys, KeyType::U32), 20_000);
            let sort = sort.prepare(&sorter).unwrap();
            let steps = &sort.recording().steps;
            steps
                .iter()
                .find_map(|step| step.parameter("seed"))
                .unwrap()
        })
        .collect();
    assert!(seeds.len() > 1, "{seeds:?}");
}

#[test]
fn all_sizes_and_patterns_equal_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let options = options(tuning(gpu));
    for len in [
        0, 1, 2, 3, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 1500, 2047, 2048, 2049, 3073,
        5000, 9217, 20_000, 32_769, 64_316, 100_003, 300_000,
    ] {
        check::<u32>(
            gpu,
            &options,
            &Spec::new(Pattern::Full, len),
            Order::Ascending,
        );
    }
    for pattern in Pattern::ALL {
        for len in [30_000, 140_000] {
            let spec = Spec::new(pattern, len);
            let spec = Spec::new(pattern, spec.fitting_count());
            check::<u32>(gpu, &options, &spec, Order::Ascending);
        }
    }
}

#[test]
fn other_types_and_orders_equal_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let options = options(tuning(gpu));
    // One tile, and so one kernel for each type: the other kernels are the same text with other
    // constants, and also compile slowly.
    let spec = Spec::new(Pattern::Full, 1000);
    check::<i32>(gpu, &options, &spec, Order::Ascending);
    check::<f32>(gpu, &options, &spec, Order::Descending);
    check::<f64>(gpu, &options, &spec, Order::Descending);
    for pattern in [Pattern::Full, Pattern::ZeroOne, Pattern::Constant] {
        let spec = Spec::new(pattern, 50_000);
        check::<f64>(gpu, &options, &spec, Order::Descending);
    }
}

/// Two to sixteen tiles, the last one ragged or of one record. Equal keys keep their order.
#[test]
fn few_tiles_are_merged_at_once() {
    let Some(gpu) = gpu() else { return };
    let merged = |mut tuning: Tuning| {
        tuning.merged = u32::MAX;
        gpu.sorter(&options(tuning))
    };
    let sorter = merged(tuning(gpu));
    for len in [
        1025, 2047, 2048, 2049, 3333, 4097, 8192, 8193, 16_383, 16_384,
    ] {
        for pattern in [Pattern::Full, Pattern::ZeroOne, Pattern::Descending] {
            let keys: Vec<u32> = generate(&Spec::new(pattern, len)).unwrap();
            check_sort(
                &sorter,
                &keys,
                Order::Ascending,
                &format!("{len} {pattern:?}"),
            );
        }
        let keys: Vec<f64> = generate(&Spec::new(Pattern::FewDistinct, len)).unwrap();
        let (on_gpu, indices) = (
            gpu.buffer(bytemuck::cast_slice(&keys)),
            gpu.empty_buffer(4 * len),
        );
        let (key, order) = (KeyType::F64, Order::Descending);
        let sort = SortJob::new(Keys::new(&on_gpu, key), len)
            .order(order)
            .indices(&indices)
            .prepare(&sorter);
        let sort = sort.unwrap();
        let steps = sort.recording().steps.iter();
        assert_eq!(steps.filter(|step| step.phase == Phase::Merge).count(), 1);
        sort.profile(Detail::Phases).unwrap();
        assert!(gpu.read(&indices) == stable(&keys, order), "{len}");
    }
}

/// The default tuning of this device.
#[test]
fn the_default_tuning_sorts() {
    let Some(gpu) = gpu() else { return };
    let options = Options::default().engine(Engine::SampleSort);
    check::<u32>(
        gpu,
        &options,
        &Spec::new(Pattern::Random, 300_003),
        Order::Ascending,
    );
}

/// Records of two words, of which more than 2^20 are spread over buckets within each item: even
/// ones, ones of which many are equal, and uneven ones.
#[test]
fn large_sorts_of_two_words_equal_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let options = options(Tuning::default());
    let len = (1 << 20) + 1001;
    let few = Spec::new(Pattern::FewDistinct, len).distinct(1 << 16);
    for (spec, order) in [
        (Spec::new(Pattern::Full, len), Order::Descending),
        (few, Order::Ascending),
        (Spec::new(Pattern::Zipf, len), Order::Ascending),
    ] {
        check::<u64>(gpu, &options, &spec, order);
        let sorter = gpu.sorter(&options);
        let keys: Vec<u32> = generate(&spec).unwrap();
        let indices = sorter.argsort(&keys, order).unwrap();
        assert!(indices == stable(&keys, order), "{spec:?}");
    }
}

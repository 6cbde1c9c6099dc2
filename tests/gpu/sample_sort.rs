//! The sample sort on this machine's adapter.

use crate::device::{Gpu, check_sort, gpu};
use crate::pairs::stable;
use bcfsort_testkit::data::{Pattern, Spec, generate};
use wgpu_bcfsort::internals::Recorded as _;
use wgpu_bcfsort::internals::plan::Tuning;
use wgpu_bcfsort::internals::recording::Phase;
use wgpu_bcfsort::{Engine, KeyType, Options, Order, SortKey};

/// The tiles and the form of kernels that the library takes on this adapter, and sorts that are
/// distributed from few records on. On a CPU the tiles are the smallest, as lavapipe
/// compiles each kernel slowly: `forms` runs there what GPUs run.
pub(crate) fn tuning(gpu: &Gpu, twice: u32, bucket: u32) -> Tuning {
    let mut tuning = Tuning::default();
    if gpu.is_cpu() {
        (tuning.tile, tuning.child, tuning.samples) = (1024, 1024, 1024);
        tuning.looped = false;
    }
    (tuning.twice, tuning.bucket, tuning.merged) = (twice, bucket, 0);
    tuning
}

/// The same for keys of one word alone: lavapipe compiles the form for GPUs soonest.
pub(crate) fn narrow(gpu: &Gpu, twice: u32, bucket: u32) -> Tuning {
    let mut tuning = tuning(gpu, twice, bucket);
    tuning.looped = true;
    tuning
}

pub(crate) fn options(tuning: Tuning) -> Options {
    Options::default().engine(Engine::SampleSort).tuning(tuning)
}

fn check<T: SortKey>(gpu: &Gpu, options: &Options, spec: &Spec, order: Order) {
    let what = format!("sample sort {spec:?} {} {}", T::KEY_TYPE, order.name());
    check_sort::<T>(&gpu.sorter(options), &generate(spec).unwrap(), order, &what);
}

#[test]
fn all_sizes_and_patterns_equal_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let (once, twice) = (
        options(narrow(gpu, u32::MAX, 1)),
        options(narrow(gpu, 20_000, 10_000)),
    );
    for len in [
        0, 1, 2, 3, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 1500, 2047, 2048, 2049, 3073,
        5000, 9217, 20_000, 32_769, 64_316, 100_003, 300_000,
    ] {
        check::<u32>(
            gpu,
            &twice,
            &Spec::new(Pattern::Full, len),
            Order::Ascending,
        );
    }
    for pattern in Pattern::ALL {
        for (options, len) in [(&once, 30_000), (&twice, 140_000)] {
            let spec = Spec::new(pattern, len);
            let spec = Spec::new(pattern, spec.fitting_count());
            check::<u32>(gpu, options, &spec, Order::Ascending);
        }
    }
}

#[test]
fn other_types_and_orders_equal_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let options = options(narrow(gpu, u32::MAX, 1));
    // One tile, and one kernel: the others are the same text with other constants, and take as long
    // to compile.
    let spec = Spec::new(Pattern::Full, 1000);
    check::<i32>(gpu, &options, &spec, Order::Ascending);
    check::<f32>(gpu, &options, &spec, Order::Descending);
    let options = self::options(tuning(gpu, 20_000, 10_000));
    check::<f64>(gpu, &options, &spec, Order::Descending);
    for pattern in [Pattern::Full, Pattern::ZeroOne, Pattern::Constant] {
        let spec = Spec::new(pattern, 50_000);
        check::<f64>(gpu, &options, &spec, Order::Descending);
    }
}

/// Two tiles to sixteen, the last one ragged or of one record; equal keys in the order of the
/// input.
#[test]
fn few_tiles_are_merged_at_once() {
    let Some(gpu) = gpu() else { return };
    let merged = |mut tuning: Tuning| {
        tuning.merged = u32::MAX;
        gpu.sorter(&options(tuning))
    };
    let sorter = merged(narrow(gpu, u32::MAX, 1));
    let sorter_of_wide = merged(tuning(gpu, u32::MAX, 1));
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
        let sort = sorter_of_wide.prepare_indices(&on_gpu, &indices, len, key, order);
        let sort = sort.unwrap();
        let steps = sort.recording().steps.iter();
        assert_eq!(steps.filter(|step| step.phase == Phase::Merge).count(), 1);
        sorter_of_wide.run_profiled(&sort).unwrap();
        assert!(gpu.read(&indices) == stable(&keys, order), "{len}");
    }
}

/// As it comes, on this device.
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

//! The sample sort on this machine's adapter.

use crate::device::{Gpu, check_sort, gpu};
use wgpu_bcfsort::data::{Pattern, Spec, generate};
use wgpu_bcfsort::plan::Tuning;
use wgpu_bcfsort::{Engine, Options, Order, SortKey};

/// Few kernels, and small ones, since each takes lavapipe a second or more to compile. Of records of several words, the
/// form that it is quicker with.
pub(crate) fn wide(twice: u32, bucket: u32) -> Tuning {
    let mut tuning = tuning(twice, bucket);
    tuning.looped = false;
    tuning
}

fn tuning(twice: u32, bucket: u32) -> Tuning {
    let mut tuning = Tuning::default();
    (tuning.tile, tuning.child, tuning.samples) = (1024, 1024, 1024);
    (tuning.twice, tuning.bucket) = (twice, bucket);
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
        options(tuning(u32::MAX, 1)),
        options(tuning(20_000, 10_000)),
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
    let options = options(tuning(u32::MAX, 1));
    // One tile, and one kernel: the others are the same text with other constants, and take as long to compile.
    let spec = Spec::new(Pattern::Full, 1000);
    check::<i32>(gpu, &options, &spec, Order::Ascending);
    check::<f32>(gpu, &options, &spec, Order::Descending);
    let options = self::options(wide(20_000, 10_000));
    check::<f64>(gpu, &options, &spec, Order::Descending);
    for pattern in [Pattern::Full, Pattern::ZeroOne, Pattern::Constant] {
        let spec = Spec::new(pattern, 50_000);
        check::<f64>(gpu, &options, &spec, Order::Descending);
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

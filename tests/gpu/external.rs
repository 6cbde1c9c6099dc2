//! Sorts of keys through a temporary file, on this machine's adapter.

use crate::device::gpu;
use bcfsort_data::{Pattern, Spec, generate};
use wgpu_bcfsort::internals::host::sort_on_cpu;
use wgpu_bcfsort::{ExternalSorter, Numbers, Order, SortKey, Sorter};

fn check<T: SortKey>(sorter: &Sorter, all: &[T], order: Order) {
    // 17 runs, and batches of about 40 KiB.
    let format = Numbers::new(sorter, order);
    let mut external = ExternalSorter::new(format, 100_000, &std::env::temp_dir());
    for keys in all.chunks(all.len().div_ceil(17)) {
        external.push(keys.to_vec()).unwrap();
    }
    let mut result = Vec::new();
    external
        .finish(&mut |keys| {
            result.extend_from_slice(keys);
            Ok(())
        })
        .unwrap();
    let mut expected = all.to_vec();
    sort_on_cpu(&mut expected, order);
    assert!(
        bytemuck::cast_slice::<T, u8>(&result) == bytemuck::cast_slice::<T, u8>(&expected),
        "{} {order:?}",
        T::KEY_TYPE
    );
}

#[test]
fn keys_of_several_runs_are_sorted() {
    let Some(gpu) = gpu() else { return };
    for pattern in [Pattern::Full, Pattern::FewDistinct] {
        for order in [Order::Ascending, Order::Descending] {
            let spec = Spec::new(pattern, 30_000);
            check::<f32>(&gpu.first, &generate(&spec).unwrap(), order);
            check::<i64>(&gpu.first, &generate(&spec).unwrap(), order);
        }
    }
}

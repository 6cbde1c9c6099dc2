//! Sorters used by many threads, and sorts awaited as futures.

use crate::device::{bits, check_sort, default_sorter, gpu, random};
use bcfsort_testkit::PaperOptions;
use wgpu_bcfsort::internals::host::sort_on_cpu;
use wgpu_bcfsort::{Error, Options, Order, PreparedSort, Sorter};

#[test]
fn handles_can_be_shared_and_sent_between_threads() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Sorter>();
    check::<PreparedSort>();
    check::<Error>();
    check::<Options>();
}

#[test]
fn threads_share_one_sorter() {
    let Some(gpu) = gpu() else { return };
    let sorter = gpu.sorter(&Options::default().buckets(8));
    let sorts = if gpu.runs_all_cases() { 600 } else { 150 };
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let sorter = &sorter;
            scope.spawn(move || {
                // Short sorts wait for the device most often, each for its own result.
                for i in 0..sorts {
                    let count = if i % 40 == 0 {
                        20_000
                    } else {
                        100 + i as usize
                    };
                    let what = format!("thread {thread}, sort {i}");
                    if thread % 2 == 0 {
                        let keys = random::<u32>(count, thread * 1000 + i);
                        check_sort(sorter, &keys, Order::Ascending, &what);
                    } else {
                        let keys = random::<f64>(count, thread * 1000 + i);
                        check_sort(sorter, &keys, Order::Descending, &what);
                    }
                }
            });
        }
    });
}

#[test]
fn threads_with_a_sorter_each_share_one_device() {
    let Some(gpu) = gpu() else { return };
    let sorts = if gpu.runs_all_cases() { 300 } else { 100 };
    std::thread::scope(|scope| {
        for thread in 0..3 {
            scope.spawn(move || {
                let sorter = Sorter::new(&gpu.device, &gpu.queue, Options::default()).unwrap();
                for i in 0..sorts {
                    let keys = random::<u32>(100 + 10 * i, thread * 1000 + i as u64);
                    check_sort(&sorter, &keys, Order::Ascending, "a sorter a thread");
                }
            });
        }
    });
}

#[test]
fn async_sorts_work() {
    let Some(gpu) = gpu() else { return };
    let sorter = default_sorter(gpu);
    for n in [0, 1, 2, 1025, 50_000] {
        let keys = random::<f64>(n, n as u64);
        let mut by_future = keys.clone();
        pollster::block_on(sorter.sort_async(&mut by_future, Order::Descending)).unwrap();
        let mut expected = keys;
        sort_on_cpu(&mut expected, Order::Descending);
        let (by_future, expected) = (bits(&by_future), bits(&expected));
        assert!(by_future == expected, "{n} keys");
    }
    let mut keys = [3.5_f64, -0.0, f64::NAN, 0.0];
    pollster::block_on(wgpu_bcfsort::sort_async(&mut keys)).unwrap();
    assert_eq!(
        keys.map(f64::to_bits),
        [-0.0, 0.0, 3.5, f64::NAN].map(f64::to_bits)
    );
    let mut keys = [3, -1, 2];
    wgpu_bcfsort::sort(&mut keys).unwrap();
    assert_eq!(keys, [-1, 2, 3]);
}

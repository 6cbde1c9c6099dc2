//! Sorts on all devices, on several at once, and on one that is lost. Without an adapter, those of
//! GPUs print so and pass; with `WGPU_BCFSORT_REQUIRE_ADAPTER=1` they fail.

use bcfsort_auto::device::{REQUIRE_ADAPTER, describe, is_software};
use bcfsort_auto::model::{Call, Gpu};
use bcfsort_auto::{
    AutoSorter, Device, Error, MultiSorter, OnError, Place, Warning, Work, cpu, device,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use wgpu_bcfsort::wgpu::{Adapter, DeviceDescriptor};
use wgpu_bcfsort::{KeyType, Options, Order, SortKey, Sorter, adapters, requirements};

fn adapter() -> Option<Adapter> {
    let adapter = adapters().into_iter().next();
    assert!(
        adapter.is_some() || std::env::var(REQUIRE_ADAPTER).as_deref() != Ok("1"),
        "no adapter, and {REQUIRE_ADAPTER}=1"
    );
    if adapter.is_none() {
        println!("no adapter: nothing is tested");
    }
    adapter
}

/// A device that sorts 2^21 keys of 64 bits at once, and twice as many of 32.
fn open(adapter: &Adapter) -> Sorter {
    let mut limits = requirements(adapter).unwrap().limits;
    limits.max_storage_buffer_binding_size = 16 << 20;
    let descriptor = DeviceDescriptor {
        required_limits: limits,
        ..Default::default()
    };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).unwrap();
    let sorter = Sorter::new(&device, &queue, Options::default()).unwrap();
    assert_eq!(sorter.max_len(KeyType::U64), 1 << 21);
    sorter
}

fn lost(adapter: &Adapter) -> Sorter {
    let sorter = open(adapter);
    sorter.device().destroy();
    sorter
}

/// Keys of which each occurs `repeats` times, or of any bits for 0.
fn keys<T: SortKey>(len: usize, repeats: u64) -> Vec<T> {
    let mut state = 7_u64;
    let key = |_| {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e);
        let bits = state.rotate_left(29);
        let different = (len as u64).checked_div(repeats);
        T::from_bits64(different.map_or(bits, |different| bits % different))
    };
    (0..len).map(key).collect()
}

fn bits<T: SortKey>(keys: &[T]) -> &[u8] {
    bytemuck::cast_slice(keys)
}

fn check<T: SortKey>(sorter: &MultiSorter, keys: &[T], what: &str) {
    for order in [Order::Ascending, Order::Descending] {
        let (mut sorted, mut expected) = (keys.to_vec(), keys.to_vec());
        sorter.sort(&mut sorted, order).unwrap();
        cpu::sort(&mut expected, order);
        assert!(bits(&sorted) == bits(&expected), "{what}, {order:?}");
        let mut taken = Vec::new();
        let take = |block: &[T]| {
            assert!(!block.is_empty());
            taken.extend_from_slice(block);
            Ok::<_, wgpu_bcfsort::Error>(())
        };
        sorter.sort_to(keys, order, take).unwrap();
        assert!(
            bits(&taken) == bits(&expected),
            "blocks of {what}, {order:?}"
        );
        let expected = cpu::argsort(keys, order);
        let mut indices = Vec::new();
        // (One order each: most of the time of these tests is that of sorts.)
        if order == Order::Ascending {
            indices = sorter.argsort(keys, order).unwrap();
        } else {
            let take = |block: &[u32]| {
                assert!(!block.is_empty());
                indices.extend_from_slice(block);
                Ok::<_, wgpu_bcfsort::Error>(())
            };
            sorter.argsort_to(keys, order, take).unwrap();
        }
        assert!(indices == expected, "argsort of {what}, {order:?}");
    }
}

/// Enough keys of 64 bits to be partitioned.
const MANY: usize = (1 << 21) + 12_345;

#[test]
fn several_gpus_sort_as_one() {
    let Some(adapter) = adapter() else { return };
    let sorter = MultiSorter::of_sorters(vec![open(&adapter), open(&adapter)]).unwrap();
    assert_eq!(sorter.len(), 2);
    check(&sorter, &keys::<u32>(2 * MANY, 0), "u32");
    check(&sorter, &keys::<u64>(MANY, 100_000), "each 100000 times");
    check(&sorter, &keys::<u32>(1000, 0), "1000 u32");
    check::<u32>(&sorter, &[], "nothing");
    let mut skewed = keys::<f64>(MANY, 0);
    skewed[..MANY * 9 / 10].fill(1.5);
    check(&sorter, &skewed, "f64, most of them equal");
}

#[test]
fn one_gpu_sorts_more_than_it_holds_range_after_range() {
    let Some(adapter) = adapter() else { return };
    let sorter = MultiSorter::of_sorter(open(&adapter));
    check(&sorter, &keys::<u64>(MANY, 100_000), "each 100000 times");
    let mut taken = 0;
    let few = keys::<u32>(1000, 0);
    let ended = sorter.argsort_to(&few, Order::Ascending, |block| {
        taken += block.len();
        Err(wgpu_bcfsort::Error::DeviceLost("by this test".to_owned()))
    });
    assert!(ended.unwrap_err().to_string().ends_with("by this test"));
    assert_eq!(taken, 1000);
}

#[test]
fn others_do_what_a_gpu_that_fails_had_to_do() {
    let Some(adapter) = adapter() else { return };
    let all = vec![lost(&adapter), open(&adapter), lost(&adapter)];
    let sorter = MultiSorter::of_sorters(all).unwrap();
    check(&sorter, &keys::<u64>(MANY, 2), "u64 beside lost devices");
    check(&sorter, &keys::<u32>(100, 0), "a few beside lost devices");
}

#[test]
fn if_all_gpus_fail_the_slice_is_unchanged() {
    let Some(adapter) = adapter() else { return };
    let sorter = MultiSorter::of_sorters(vec![lost(&adapter), lost(&adapter)]).unwrap();
    let before = keys::<i64>(MANY, 5);
    let mut after = before.clone();
    sorter.sort(&mut after, Order::Ascending).unwrap_err();
    sorter.argsort(&before, Order::Ascending).unwrap_err();
    assert!(after == before);
    assert!(MultiSorter::of_sorters(Vec::new()).is_err());
}

fn every_call<T: SortKey>(sorter: &AutoSorter, keys: &[T]) {
    for order in [Order::Ascending, Order::Descending] {
        let mut expected = keys.to_vec();
        cpu::sort(&mut expected, order);
        let mut sorted = keys.to_vec();
        sorter.sort(&mut sorted, order).unwrap();
        assert!(bits(&sorted) == bits(&expected));

        let mut taken = Vec::new();
        let take = |block: &[T]| {
            taken.extend_from_slice(block);
            Ok::<_, Error>(())
        };
        sorter.sort_to(&mut keys.to_vec(), order, take).unwrap();
        assert!(bits(&taken) == bits(&expected));

        let indices = sorter.argsort(keys, order).unwrap();
        assert_eq!(indices, cpu::argsort(keys, order));
        let (mut sorted, mut values) = (keys.to_vec(), (0..keys.len() as u32).collect::<Vec<_>>());
        sorter.sort_pairs(&mut sorted, &mut values, order).unwrap();
        assert!(bits(&sorted) == bits(&expected));
        assert_eq!(values, indices);
        let mut values: Vec<u32> = (0..keys.len() as u32).collect();
        let key = |&i: &u32| keys[i as usize];
        sorter.sort_by_key(&mut values, order, key).unwrap();
        assert_eq!(values, indices);

        let (unique, counts) = sorter.runs(keys.to_vec(), order).unwrap();
        assert!(bits(&unique) == bits(&sorter.unique(keys.to_vec(), order).unwrap()));
        let mut at = 0;
        for (key, count) in unique.iter().zip(counts) {
            let run = &expected[at..][..count as usize];
            assert!(run.iter().all(|other| other.to_bits64() == key.to_bits64()));
            at += run.len();
        }
        assert_eq!(at, keys.len());
    }
}

#[test]
fn all_devices_give_the_same_bits() {
    for device in [Device::Cpu, Device::Auto, Device::Gpu, Device::All] {
        let gpu = !matches!(device, Device::Cpu | Device::Auto);
        if gpu && adapter().is_none() {
            continue;
        }
        let sorter = AutoSorter::new(device).unwrap();
        for len in [0, 1, 2, 5000] {
            every_call(&sorter, &keys::<f32>(len, 0));
            every_call(&sorter, &keys::<u64>(len, u64::from(len > 0)));
        }
    }
}

#[test]
fn an_error_of_the_closure_ends_the_sort_and_is_returned() {
    #[derive(Debug)]
    enum End {
        Sort(Error),
        Full,
    }
    impl From<Error> for End {
        fn from(error: Error) -> Self {
            Self::Sort(error)
        }
    }
    let mut sorters = vec![AutoSorter::new(Device::Cpu).unwrap()];
    sorters.extend(adapter().map(|adapter| AutoSorter::of_sorter(open(&adapter))));
    for sorter in sorters {
        let mut calls = 0;
        let ended = sorter.sort_to(&mut keys::<u32>(100, 0), Order::Ascending, |_| {
            calls += 1;
            Err(End::Full)
        });
        match ended {
            Err(End::Full) => assert_eq!(calls, 1),
            Err(End::Sort(error)) => panic!("{error}"),
            Ok(()) => panic!("the error is lost"),
        }
    }
}

#[test]
fn a_gpu_that_fails_is_replaced_with_one_warning_or_is_an_error() {
    let Some(adapter) = adapter() else { return };
    let warnings = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&warnings);
    let sorter = AutoSorter::of_sorter(lost(&adapter)).warn_by(move |warning| {
        assert!(matches!(warning, Warning::Failed(_)));
        let message = warning.to_string();
        assert!(message.starts_with("sorting on the CPU: "), "{message}");
        counter.fetch_add(1, Relaxed);
    });
    assert!(sorter.choose(1, KeyType::U32, Work::Sort).unwrap().on_gpu);
    every_call(&sorter, &keys::<i32>(1000, 3));
    assert_eq!(warnings.load(Relaxed), 1);
    let choice = sorter.choose(1 << 30, KeyType::U32, Work::Sort).unwrap();
    assert!(
        !choice.on_gpu && choice.reason.contains(" failed: "),
        "{}",
        choice.reason
    );

    let sorter = AutoSorter::of_sorter(lost(&adapter)).on_error(OnError::Fail);
    let mut keys = [3, 1, 2];
    for _ in 0..2 {
        let failed = sorter.sort(&mut keys, Order::Ascending);
        assert!(matches!(failed, Err(Error::Sort(_))));
        assert_eq!(keys, [3, 1, 2]);
    }
}

/// With the device that `sorter` is chosen by.
fn place(sorter: &AutoSorter, device: Device) -> Result<Place, Error> {
    let sorter = sorter.clone().with_device(device);
    let (indices, place) = sorter.argsort_placed(&[30_u32, 10, 20], Order::Ascending)?;
    assert_eq!(indices, [1, 2, 0]);
    Ok(place)
}

#[test]
fn sorters_of_one_gpu_can_be_chosen_by_different_devices() {
    let Some(adapter) = adapter() else { return };
    let sorter = AutoSorter::of_adapters(vec![adapter.clone()]);
    assert_eq!(place(&sorter, Device::Cpu).unwrap(), Place::Cpu);
    assert_eq!(place(&sorter, Device::Auto).unwrap(), Place::Cpu);
    let name = describe(&adapter.get_info());
    assert_eq!(place(&sorter, Device::Gpu).unwrap(), Place::Gpu(name));
    let none = AutoSorter::of_adapters(Vec::new());
    assert_eq!(place(&none, Device::Gpu).unwrap(), Place::Cpu);

    // What one knows of the GPU, all do.
    let sorter = AutoSorter::of_sorter(lost(&adapter));
    let failing = sorter.clone().on_error(OnError::Fail);
    assert!(matches!(
        place(&failing, Device::Gpu),
        Err(Error::Sort(wgpu_bcfsort::Error::DeviceLost(_)))
    ));
    let first = place(&sorter, Device::Gpu).unwrap();
    assert_eq!(first, Place::CpuAfterFailure);
    assert_eq!(place(&sorter, Device::Gpu).unwrap(), Place::Cpu);
    let failed = place(&failing, Device::Gpu).unwrap_err();
    assert!(failed.to_string().contains(" failed: "), "{failed}");
    assert_eq!(place(&failing, Device::Auto).unwrap(), Place::Cpu);
}

#[test]
fn many_calls_together_pay_for_opening_a_gpu() {
    let keys = keys::<u32>(1 << 20, 0);
    let call = Call::new(keys.len() as u64, KeyType::U32, Work::Argsort);
    let (closed, open) = (call.estimate(Gpu::Closed), call.estimate(Gpu::Open));
    assert!(open.gpu < open.cpu && open.cpu < closed.gpu);
    let sorter = AutoSorter::of_adapters(adapter().into_iter().collect());
    let sorter = sorter.with_device(Device::Auto);
    let choice = || {
        let choice = sorter.choose(call.len, KeyType::U32, Work::Argsort);
        choice.unwrap()
    };
    let few = (closed.gpu - open.cpu) / (open.cpu - open.gpu);
    let mut calls = 1.0;
    while calls <= few {
        assert_eq!(choice().reason, "too few keys for a GPU");
        sorter.argsort(&keys, Order::Ascending).unwrap();
        calls += 1.0;
    }
    sorter.argsort(&keys, Order::Ascending).unwrap();
    assert_ne!(choice().reason, "too few keys for a GPU");
    // (Few keys do not open it.)
    let few = sorter.choose(10, KeyType::U32, Work::Argsort).unwrap();
    assert_eq!(few.reason, "too few keys for a GPU");
}

#[test]
fn slices_of_different_lengths_are_an_error() {
    let sorter = AutoSorter::new(Device::Cpu).unwrap();
    let error = sorter.sort_pairs(&mut [1, 2], &mut [1], Order::Ascending);
    let error = error.unwrap_err();
    assert_eq!(error.to_string(), "2 keys, and 1 values");
}

#[test]
fn auto_leaves_few_keys_and_software_to_the_cpu() {
    let sorter = AutoSorter::new(Device::Auto).unwrap();
    if *sorter.device() != Device::Auto {
        // The environment names another one.
        return;
    }
    let few = sorter.choose(1000, KeyType::U32, Work::Sort).unwrap();
    assert!(!few.on_gpu && few.reason == "too few keys for a GPU");
    let many = sorter.choose(1 << 30, KeyType::U32, Work::Argsort).unwrap();
    match adapters().first() {
        None => assert_eq!(many.reason, bcfsort_auto::device::NO_ADAPTER),
        Some(best) if is_software(&best.get_info()) => {
            assert!(
                !many.on_gpu && many.reason.ends_with(" is software"),
                "{}",
                many.reason
            );
        }
        Some(_) => assert!(many.on_gpu),
    }
}

#[test]
fn a_device_that_does_not_exist_is_an_error() {
    let named = Device::Named("no such adapter".to_owned());
    assert!(matches!(AutoSorter::new(named), Err(Error::NoDevice(_))));
}

#[test]
fn sorters_of_a_process_share_what_is_open() {
    let Some(adapter) = device::adapters().first() else {
        return;
    };
    let one = AutoSorter::of_adapters(vec![adapter.clone()]);
    let other = AutoSorter::of_adapters(vec![adapter.clone()]).with_device(Device::Auto);
    let call = Call {
        cpu: Some(1.0),
        ..Call::new(1000, KeyType::U32, Work::Sort)
    };
    // What the CPU does in less time than a GPU takes to open.
    let call = Call {
        cpu: Some(call.estimate(Gpu::Closed).gpu / 2.0),
        ..call
    };
    let is_open = |sorter: &AutoSorter| {
        sorter
            .choose_call(&call)
            .unwrap()
            .estimate
            .is_some_and(|e| e.gpu < call.estimate(Gpu::Closed).gpu)
    };
    let device = |gpus: &MultiSorter| Ok(gpus.sorters()[0].device().clone());
    let first = one.on_gpus(&call, device).unwrap().unwrap();
    assert!(device::opened() >= 1);
    assert!(is_open(&other) || is_software(&adapter.get_info()));
    let again = AutoSorter::of_adapters(vec![adapter.clone()]);
    assert!(again.on_gpus(&call, device).unwrap() == Some(first));
}

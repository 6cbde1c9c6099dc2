//! Device loss before a sort or at any time during it: an error, and the keys are sorted or intact.

use crate::device::{ascending, check_sort, gpu, is_loss, own_device, profiled, random, sorted};
use crate::sample_sort::{options, tuning};
use wgpu::util::DeviceExt;
use wgpu_bcfsort::paper::{PrefixSums, PrefixSumsOptions, PreparedPrefixSums};
use wgpu_bcfsort::{
    Comparator, Detail, Error, KeyType, Keys, Options, Order, PreparedSort, SortJob, Sorter,
};

#[test]
fn a_device_lost_before_a_sort_is_an_error_and_leaves_the_keys_alone() {
    let Some(gpu) = gpu() else { return };
    let keys = random::<u32>(5000, 2);
    for sorts_before in [0, 1] {
        let (device, queue) = own_device(gpu, |_| {});
        let sorter = Sorter::new(&device, &queue, Options::default()).unwrap();
        for _ in 0..sorts_before {
            check_sort(&sorter, &keys, Order::Ascending, "before the loss");
        }
        let buffer = device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: None,
            contents: bytemuck::cast_slice(&keys),
            usage: wgpu::BufferUsages::STORAGE,
        });
        device.destroy();
        for _ in 0..2 {
            let mut lost = keys.clone();
            let error = sorter.sort(&mut lost, Order::Ascending).unwrap_err();
            assert!(is_loss(&error), "{error:?}");
            assert!(lost == keys, "the slice was touched");
            let error =
                pollster::block_on(sorter.sort_async(&mut lost, Order::Ascending)).unwrap_err();
            assert!(is_loss(&error), "{error:?}");
            assert!(lost == keys, "the slice was touched");
            let error = profiled(&sorter, &mut lost, Order::Ascending).unwrap_err();
            assert!(is_loss(&error), "{error:?}");
            assert!(lost == keys, "the slice was touched");
        }
        let error = ascending(&buffer, 5000).prepare(&sorter).unwrap_err();
        assert!(is_loss(&error), "{error:?}");
    }
}

/// Objects made on a device before it is lost.
struct BeforeLoss {
    sorter: Sorter,
    sums: PrefixSums,
    buffer: wgpu::Buffer,
    other: wgpu::Buffer,
    sort: PreparedSort,
    check: PreparedSort,
    prepared_sums: PreparedPrefixSums,
}

/// Number of keys in these objects.
const KEYS: u64 = 5000;

impl BeforeLoss {
    fn on(sorter: Sorter) -> Self {
        let device = sorter.device();
        let keys = random::<u32>(KEYS as usize, 2);
        let buffer = device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: None,
            contents: bytemuck::cast_slice(&keys),
            usage: wgpu::BufferUsages::STORAGE,
        });
        let other = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 4 * KEYS,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        let keys = Keys::new(&buffer, KeyType::U32);
        let check = sorter.prepare_is_sorted(&keys, KEYS, Order::Ascending, &other);
        let sums = PrefixSums::new(&sorter);
        let options = PrefixSumsOptions::default();
        let prepared_sums = sums.prepare(&buffer, &other, KEYS, KeyType::U32, &options);
        Self {
            sort: ascending(&buffer, KEYS).prepare(&sorter).unwrap(),
            check: check.unwrap(),
            prepared_sums: prepared_sums.unwrap(),
            sums,
            sorter,
            buffer,
            other,
        }
    }

    fn keys(&self) -> Keys<'_> {
        Keys::new(&self.buffer, KeyType::U32)
    }

    fn job(&self) -> SortJob<'_> {
        ascending(&self.buffer, KEYS)
    }
}

/// A call that fails on a lost device. Sorts of host memory are tested separately.
type Attempt = fn(&BeforeLoss) -> Result<(), Error>;

const ATTEMPTS: [(&str, Attempt); 19] = [
    ("run", |on| on.sort.run()),
    ("profile of phases", |on| {
        on.sort.profile(Detail::Phases).map(drop)
    }),
    ("profile", |on| on.sort.profile(Detail::Whole).map(drop)),
    ("run of a check", |on| on.check.run()),
    ("profile of a check", |on| {
        on.check.profile(Detail::Phases).map(drop)
    }),
    ("is_sorted_until", |on| {
        (on.sorter
            .is_sorted_until(&on.keys(), KEYS, Order::Ascending))
        .map(drop)
    }),
    ("prepare", |on| on.job().prepare(&on.sorter).map(drop)),
    ("prepare with indices: other kernels", |on| {
        let job = on.job().indices(&on.other);
        job.prepare(&on.sorter).map(drop)
    }),
    ("prepare with values: other kernels", |on| {
        let job = on.job().values(&on.other);
        job.prepare(&on.sorter).map(drop)
    }),
    ("prepare_is_sorted", |on| {
        (on.sorter)
            .prepare_is_sorted(&on.keys(), KEYS, Order::Ascending, &on.other)
            .map(drop)
    }),
    ("warm_up", |on| {
        on.sorter.warm_up(KEYS, KeyType::F64, Order::Descending)
    }),
    ("upload", |on| on.sorter.upload(&[3_u32, 1, 2]).map(drop)),
    ("argsort", |on| {
        on.sorter
            .argsort(&[3_u32, 1, 2], Order::Ascending)
            .map(drop)
    }),
    ("prefix sums", |on| {
        on.sums.run(&mut [1_u32, 2], &[0, 0], &<_>::default())
    }),
    ("prefix sums, measured", |on| {
        let options = PrefixSumsOptions::default();
        on.sums
            .profile(&mut [1_u32, 2], &[0, 0], &options)
            .map(drop)
    }),
    ("prefix sums, prepare", |on| {
        let options = PrefixSumsOptions::default();
        (on.sums)
            .prepare(&on.buffer, &on.other, KEYS, KeyType::U32, &options)
            .map(drop)
    }),
    ("prepared prefix sums", |on| on.prepared_sums.run()),
    ("prepared prefix sums, measured", |on| {
        on.prepared_sums.profile(Detail::Phases).map(drop)
    }),
    ("download", |on| {
        on.sorter.download::<u32>(&on.other).map(drop)
    }),
];

/// With and without timestamps, if the adapter has them: the measuring code differs.
#[test]
fn every_call_on_a_lost_device_is_an_error() {
    let Some(gpu) = gpu() else { return };
    let sorters = || {
        let (device, queue) = own_device(gpu, |_| {});
        [
            Sorter::new(&device, &queue, Options::default()).unwrap(),
            Sorter::open(Options::default().adapter(&gpu.adapter)).unwrap(),
        ]
    };
    // Destroyed, and also with its memory freed.
    for polls in [false, true] {
        for sorter in sorters() {
            let on = BeforeLoss::on(sorter);
            let device = on.sorter.device();
            device.destroy();
            if polls {
                device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
            }
            for (what, attempt) in ATTEMPTS {
                match attempt(&on) {
                    Err(error) => assert!(is_loss(&error), "{what}: {error:?}"),
                    Ok(()) => panic!("{what}: done, on a lost device (polled: {polls})"),
                }
            }
            // Submission is the user's concern: recording neither fails nor panics.
            let mut encoder = device.create_command_encoder(&<_>::default());
            on.sort.record(&mut encoder);
            on.sort.record_chunk(&mut encoder, 0);
            on.prepared_sums.record(&mut encoder);
            on.sorter.queue().submit([encoder.finish()]);
        }
    }
}

/// Loses the device at several moments of a longer sort, many of them during transfers. A second
/// thread makes the lost device free its memory.
#[test]
fn a_device_lost_at_any_moment_of_a_sort_is_an_error() {
    let Some(gpu) = gpu() else { return };
    let keys = random::<u32>(2 << 20, 7);
    let expected = sorted(&keys);
    let sort = |milliseconds: u64, is_measured: bool| {
        let (device, queue) = own_device(gpu, |_| {});
        let sorter = Sorter::new(&device, &queue, Options::default()).unwrap();
        let mut lost = keys.clone();
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(milliseconds));
                device.destroy();
                device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
            });
            if is_measured {
                profiled(&sorter, &mut lost, Order::Ascending).map(drop)
            } else {
                sorter.sort(&mut lost, Order::Ascending)
            }
        });
        match outcome {
            Ok(()) => assert!(lost == expected, "{milliseconds} ms: a wrong result"),
            Err(error) => {
                assert!(is_loss(&error), "{milliseconds} ms: {error:?}");
                assert!(lost == keys, "{milliseconds} ms: the slice was touched");
            }
        }
    };
    for milliseconds in gpu.cases(&[1, 20, 150], &[0, 2, 3, 5, 8, 13, 30, 60, 90, 250, 500]) {
        sort(milliseconds, false);
        sort(milliseconds, true);
    }
}

/// A sort of keys in host memory.
type Operation = fn(&Sorter, &mut Vec<u32>) -> Result<(), Error>;

/// Whenever the loss happens, the sort is complete or an error, never half done.
#[test]
fn a_device_lost_during_a_sort_leaves_the_keys_sorted_or_alone() {
    let Some(gpu) = gpu() else { return };
    // Few kernels for operations that always use the sample sort: lavapipe compiles each slowly.
    let few = options(tuning(gpu));
    let few_keys = if gpu.runs_all_cases() { 15_000 } else { 1000 };
    let operations: [(&str, Options, usize, Operation); 3] = [
        ("sort", Options::default(), 300_000, |sorter, keys| {
            sorter.sort(keys, Order::Ascending)
        }),
        ("argsort", few.clone(), few_keys, |sorter, keys| {
            let indices = sorter.argsort(keys, Order::Ascending)?;
            *keys = indices.iter().map(|&i| keys[i as usize]).collect();
            Ok(())
        }),
        ("sort_by", few, few_keys, |sorter, keys| {
            let rising = Comparator::new(
                "struct Row { key: u32 }
                fn precedes(a: Row, b: Row) -> bool { return a.key < b.key; }",
            )?;
            sorter.sort_by(keys, &rising, Order::Ascending)
        }),
    ];
    for (name, options, len, operation) in operations {
        let keys = random::<u32>(len, 3);
        let expected = sorted(&keys);
        // The longest delay is for operations that compile slowly.
        for milliseconds in gpu.cases(&[0, 10, 60], &[3, 30, 100, 400]) {
            let what = format!("{name}, {milliseconds} ms");
            let (device, queue) = own_device(gpu, |_| {});
            let sorter = Sorter::new(&device, &queue, options.clone()).unwrap();
            let mut lost = keys.clone();
            let outcome = std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
                    device.destroy();
                });
                operation(&sorter, &mut lost)
            });
            match outcome {
                Ok(()) => assert!(lost == expected, "{what}: a wrong result"),
                Err(error) => {
                    assert!(is_loss(&error), "{what}: {error:?}");
                    assert!(lost == keys, "{what}: the slice was touched");
                }
            }
            // By now the device is lost, even if the first sort was faster.
            lost.clone_from(&keys);
            let error = operation(&sorter, &mut lost).unwrap_err();
            assert!(is_loss(&error), "{what}, again: {error:?}");
            assert!(lost == keys, "{what}, again: the slice was touched");
        }
    }
}

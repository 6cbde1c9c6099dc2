//! Errors, device loss, use by many threads, and repeated use.

use crate::device::{Gpu, bits, check_sort, gpu, open, read};
use crate::sample_sort::{options, tuning};
use bcfsort_testkit::PaperOptions;
use std::sync::Arc;
use wgpu::util::DeviceExt;
use wgpu_bcfsort::internals::Recorded as _;
use wgpu_bcfsort::internals::host::sort_on_cpu;
use wgpu_bcfsort::paper::{BaseCase, PrefixSums, PrefixSumsOptions, PreparedPrefixSums};
use wgpu_bcfsort::{
    BufferRole, Comparator, Engine, Error, KeyType, Keys, Options, Order, PreparedSort, SortJob,
    SortKey, Sorter, requirements,
};

/// Random keys (xorshift64*, Vigna 2016).
pub(crate) fn random<T: SortKey>(count: usize, seed: u64) -> Vec<T> {
    let mut state = seed * 2 + 1;
    (0..count)
        .map(|_| {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            T::from_bits64(state.wrapping_mul(0x2545_f491_4f6c_dd1d))
        })
        .collect()
}

pub(crate) fn sorted(keys: &[u32]) -> Vec<u32> {
    let mut sorted = keys.to_vec();
    sort_on_cpu(&mut sorted, Order::Ascending);
    sorted
}

/// An ascending sort of u32 keys in place.
fn ascending(buffer: &wgpu::Buffer, len: u64) -> SortJob<'_> {
    SortJob::new(Keys::new(buffer, KeyType::U32), len)
}

fn default_sorter(gpu: &Gpu) -> Arc<Sorter> {
    gpu.sorter(&Options::default())
}

/// A device for one test, with limits lowered by `lower`.
pub(crate) fn own_device(
    gpu: &Gpu,
    lower: impl FnOnce(&mut wgpu::Limits),
) -> (wgpu::Device, wgpu::Queue) {
    let mut limits = requirements(&gpu.adapter).unwrap().limits;
    lower(&mut limits);
    open(&gpu.adapter, limits)
}

#[test]
fn handles_can_be_shared_and_sent_between_threads() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Sorter>();
    check::<PreparedSort>();
    check::<Error>();
    check::<Options>();
}

#[test]
fn options_out_of_range_are_refused_with_name_and_value() {
    let good = Options::default();
    for (options, name, value) in [
        (good.clone().buckets(0), "buckets", 0),
        (good.clone().buckets(1025), "buckets", 1025),
        (good.clone().samples(0), "samples", 0),
        (good.clone().samples(1025), "samples", 1025),
        (
            good.clone().keys_per_dispatch(1023),
            "keys_per_dispatch",
            1023,
        ),
    ] {
        let error = options.validate().unwrap_err();
        let named = matches!(
            error,
            Error::InvalidOption { name: n, value: v, .. } if (n, v) == (name, value)
        );
        assert!(named, "{error:?}");
        let message = error.to_string();
        assert!(
            message.contains(name) && message.contains(&value.to_string()),
            "{message}"
        );
        if let Some(gpu) = gpu() {
            let refused = Sorter::new(&gpu.device, &gpu.queue, options).unwrap_err();
            assert!(
                matches!(refused, Error::InvalidOption { .. }),
                "{refused:?}"
            );
        }
    }
    for (buckets, samples) in [(1, 1), (1024, 1024)] {
        good.clone()
            .buckets(buckets)
            .samples(samples)
            .validate()
            .unwrap();
    }
}

#[test]
fn more_keys_than_a_binding_holds_are_refused_with_the_numbers() {
    let Some(gpu) = gpu() else { return };
    let sorter = default_sorter(gpu);
    for key in KeyType::WHOLE_WORDS {
        let most = sorter.max_len(key);
        let buffer = gpu.empty_buffer(64);
        let job = |len| SortJob::new(Keys::new(&buffer, key), len);
        assert!(sorter.scratch_size(&job(most)).is_ok());
        for len in [most + 1, u64::MAX] {
            for error in [
                sorter.scratch_size(&job(len)).unwrap_err(),
                sorter.prepare(&job(len)).unwrap_err(),
                sorter.warm_up(len, key, Order::Ascending).unwrap_err(),
                sorter
                    .is_sorted_until(&Keys::new(&buffer, key), len, Order::Ascending)
                    .unwrap_err(),
            ] {
                let Error::TooLarge {
                    len: named,
                    key: of,
                    max_len,
                    limit_bytes,
                    ..
                } = error
                else {
                    panic!("{error:?}");
                };
                assert_eq!((named, of, max_len), (len, key, most));
                assert!(limit_bytes >= most * key.bytes());
                assert!(error.to_string().contains(&most.to_string()), "{error}");
            }
        }
    }
}

#[test]
fn scratch_memory_is_within_the_documented_bound() {
    let Some(gpu) = gpu() else { return };
    let sorter = default_sorter(gpu);
    let any = gpu.empty_buffer(4);
    for key in KeyType::WHOLE_WORDS {
        let scratch_size = |len| {
            let job = SortJob::new(Keys::new(&any, key), len);
            sorter.scratch_size(&job).unwrap()
        };
        for len in [0, 1] {
            assert_eq!(scratch_size(len), 0);
        }
        assert!(scratch_size(1024) <= 1024 * key.bytes());
        for len in [1025, 100_000, 1 << 20, sorter.max_len(key).min(1 << 24)] {
            let bytes = len * key.bytes();
            let scratch = scratch_size(len);
            assert!(scratch <= bytes + bytes / 10 + (16 << 20), "{len} {key}");
            // Up to one tile of keys is sorted in place.
            assert!(len < 100_000 || scratch >= bytes, "{len} {key}");
        }
    }
}

#[test]
fn buffers_too_small_or_of_another_use_are_refused_with_the_numbers() {
    let Some(gpu) = gpu() else { return };
    let sorter = default_sorter(gpu);
    let buffer = gpu.empty_buffer(4000);
    let error = sorter.prepare(&ascending(&buffer, 1001)).unwrap_err();
    let numbers = matches!(
        error,
        Error::BufferTooSmall {
            buffer: BufferRole::Keys,
            needed: 4004,
            actual: 4000,
            ..
        }
    );
    assert!(numbers, "{error:?}");
    let floats = |len| sorter.prepare(&SortJob::new(Keys::new(&buffer, KeyType::F64), len));
    assert!(matches!(
        floats(501),
        Err(Error::BufferTooSmall {
            needed: 4008,
            actual: 4000,
            ..
        })
    ));
    assert!(floats(500).is_ok());

    let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 4000,
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: false,
    });
    let error = sorter.prepare(&ascending(&buffer, 1000)).unwrap_err();
    let Error::BufferUsage { needed, actual, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(needed, wgpu::BufferUsages::STORAGE);
    assert_eq!(actual, buffer.usage());
}

/// None of these may panic, and the sorter must still work afterwards.
#[test]
fn buffers_that_cannot_be_used_now_are_errors() {
    let Some(gpu) = gpu() else { return };
    let sorter = default_sorter(gpu);
    let sort = |buffer: &wgpu::Buffer| {
        let prepared = sorter.prepare(&ascending(buffer, 2000));
        prepared.and_then(|sort| sort.run())
    };

    let mapped = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 8000,
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: true,
    });
    let error = sort(&mapped).unwrap_err();
    assert!(matches!(error, Error::Device(_)), "mapped: {error:?}");
    mapped.unmap();
    sort(&mapped).unwrap();

    let destroyed = gpu.empty_buffer(8000);
    destroyed.destroy();
    let error = sort(&destroyed).unwrap_err();
    assert!(matches!(error, Error::Device(_)), "destroyed: {error:?}");

    let (other, _queue) = own_device(gpu, |_| {});
    let foreign = other.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 8000,
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    });
    let error = sort(&foreign).unwrap_err();
    assert!(
        matches!(error, Error::Device(_)),
        "of another device: {error:?}"
    );

    check_sort(
        &sorter,
        &random::<u32>(5000, 1),
        Order::Ascending,
        "after faults",
    );
}

/// Devices opened separately must be of one wgpu instance: wgpu mistakes the objects of another
/// instance for its own.
#[test]
fn sorters_opened_separately_refuse_each_others_objects() {
    let Some(_) = gpu() else { return };
    let open = || Sorter::open(Options::default()).unwrap();
    let (first, second) = (open(), open());
    assert!(first.device() != second.device());
    let buffer = second.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 8000,
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    });
    let error = first.prepare(&ascending(&buffer, 2000)).unwrap_err();
    assert!(matches!(error, Error::Device(_)), "{error:?}");
    // An encoder of another device refuses a sort. The error scope of its device reports it.
    let sort = second.prepare(&ascending(&buffer, 2000)).unwrap();
    for (sorter, refused) in [(&first, true), (&second, false)] {
        let device = sorter.device();
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let mut encoder = device.create_command_encoder(&<_>::default());
        sort.record(&mut encoder);
        sorter.queue().submit([encoder.finish()]);
        let error = pollster::block_on(scope.pop());
        assert_eq!(error.is_some(), refused, "{error:?}");
    }
}

/// Keys overwritten between two submissions may end up in any order, but no kernel may access
/// memory outside its buffers, and the next sort is correct.
#[test]
fn keys_overwritten_in_the_middle_of_a_sort_do_no_harm() {
    let Some(gpu) = gpu() else { return };
    let options = Options::default().buckets(64).keys_per_dispatch(1 << 15);
    let sorter = gpu.first.with_options(options).unwrap();
    let keys = random::<u32>(1 << 17, 9);
    let buffer = gpu.buffer(&keys);
    let sort = sorter.prepare(&ascending(&buffer, 1 << 17)).unwrap();
    let progress = sort.recording().buffers[&wgpu_bcfsort::internals::recording::Buffer::Progress];
    for step in &sort.recording().steps {
        if let (Some(end), Some(_)) = (step.parameter("end"), step.buffer("progress")) {
            assert!(u64::from(end) * 8 <= progress, "{step:?}");
        }
    }
    let noise = random::<u32>(1 << 17, 10);
    for chunk in 0..sort.chunks() {
        let mut encoder = gpu
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        sort.record_chunk(&mut encoder, chunk);
        gpu.queue.submit([encoder.finish()]);
        gpu.queue
            .write_buffer(&buffer, 0, bytemuck::cast_slice(&noise));
    }
    check_sort(&sorter, &keys, Order::Ascending, "after the noise");
}

#[test]
fn a_device_without_timestamps_is_timed_by_the_wall_clock() {
    let Some(gpu) = gpu() else { return };
    // The shared device asks for no features.
    let sorter = default_sorter(gpu);
    let mut keys = random::<u32>(5000, 4);
    let profile = sorter.sort_profiled(&mut keys, Order::Ascending).unwrap();
    assert_eq!(profile.clock, wgpu_bcfsort::Clock::WallClock);
    assert!(keys.is_sorted() && profile.total > std::time::Duration::ZERO);
}

#[test]
fn a_device_with_too_little_workgroup_memory_is_refused_with_the_numbers() {
    let Some(gpu) = gpu() else { return };
    let (device, queue) = own_device(gpu, |limits| {
        limits.max_compute_workgroup_storage_size = 8000;
    });
    let error = Sorter::new(&device, &queue, Options::default()).unwrap_err();
    let Error::AdapterTooSmall {
        limit,
        actual,
        needed,
    } = error
    else {
        panic!("{error:?}");
    };
    assert_eq!(
        (limit, actual),
        ("max_compute_workgroup_storage_size", 8000)
    );
    assert!(needed > actual);
}

/// A base case may need more than the default one. Sorting keys of such a type is an error, and
/// other types still sort.
#[test]
fn a_base_case_with_more_workgroup_memory_than_the_device_has_is_refused_with_the_numbers() {
    let Some(gpu) = gpu() else { return };
    let (device, queue) = own_device(gpu, |limits| {
        limits.max_compute_workgroup_storage_size = 16 << 10;
    });
    let long = Options::default().base_case(BaseCase::Long4);
    let sorter = Sorter::new(&device, &queue, long).unwrap();
    let mut keys = random::<u32>(5000, 4);
    sorter.sort(&mut keys, Order::Ascending).unwrap();
    assert!(keys.is_sorted());

    let before = random::<u64>(5000, 4);
    let mut keys = before.clone();
    let error = sorter.sort(&mut keys, Order::Ascending).unwrap_err();
    let Error::WorkgroupMemory {
        kernel,
        key,
        needed,
        limit,
    } = &error
    else {
        panic!("{error:?}");
    };
    assert_eq!(kernel, "base_case.shearsort_long.h4");
    assert_eq!((*key, *needed, *limit), (KeyType::U64, 32 << 10, 16 << 10));
    assert!(keys == before);

    // The number of warps matters, too.
    let wide = Options::default().base_case(BaseCase::Transpose).warps(8);
    let sorter = sorter.with_options(wide).unwrap();
    let error = sorter
        .sort(&mut random::<u32>(9, 4), Order::Ascending)
        .unwrap_err();
    assert!(
        matches!(error, Error::WorkgroupMemory { needed: 32768, .. }),
        "{error:?}"
    );
}

fn is_loss(error: &Error) -> bool {
    matches!(error, Error::DeviceLost(_))
}

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
            let error = sorter
                .sort_profiled(&mut lost, Order::Ascending)
                .unwrap_err();
            assert!(is_loss(&error), "{error:?}");
            assert!(lost == keys, "the slice was touched");
        }
        let error = sorter.prepare(&ascending(&buffer, 5000)).unwrap_err();
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
            sort: sorter.prepare(&ascending(&buffer, KEYS)).unwrap(),
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
    ("run_profiled", |on| on.sort.run_profiled().map(drop)),
    ("run_timed", |on| on.sort.run_timed().map(drop)),
    ("run of a check", |on| on.check.run()),
    ("run_profiled of a check", |on| {
        on.check.run_profiled().map(drop)
    }),
    ("is_sorted_until", |on| {
        (on.sorter
            .is_sorted_until(&on.keys(), KEYS, Order::Ascending))
        .map(drop)
    }),
    ("prepare", |on| on.sorter.prepare(&on.job()).map(drop)),
    ("prepare with indices: other kernels", |on| {
        let job = on.job().indices(&on.other);
        on.sorter.prepare(&job).map(drop)
    }),
    ("prepare with values: other kernels", |on| {
        let job = on.job().values(&on.other);
        on.sorter.prepare(&job).map(drop)
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
    ("prefix sums, profiled", |on| {
        let options = PrefixSumsOptions::default();
        on.sums
            .run_profiled(&mut [1_u32, 2], &[0, 0], &options)
            .map(drop)
    }),
    ("prefix sums, prepare", |on| {
        let options = PrefixSumsOptions::default();
        (on.sums)
            .prepare(&on.buffer, &on.other, KEYS, KeyType::U32, &options)
            .map(drop)
    }),
    ("prepared prefix sums", |on| on.prepared_sums.run()),
    ("prepared prefix sums, profiled", |on| {
        on.prepared_sums.run_profiled().map(drop)
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
            Sorter::on_adapter(&gpu.adapter, Options::default()).unwrap(),
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
    let sort = |milliseconds: u64, profiled: bool| {
        let (device, queue) = own_device(gpu, |_| {});
        let sorter = Sorter::new(&device, &queue, Options::default()).unwrap();
        let mut lost = keys.clone();
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(milliseconds));
                device.destroy();
                device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
            });
            if profiled {
                sorter.sort_profiled(&mut lost, Order::Ascending).map(drop)
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

/// A sorter on its own instance, whose report counts only this sorter's objects.
pub(crate) struct Alone {
    instance: wgpu::Instance,
    pub(crate) sorter: Sorter,
}

impl Alone {
    pub(crate) fn open(options: Options) -> Self {
        let instance =
            wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
        let adapter = pollster::block_on(instance.request_adapter(&<_>::default())).unwrap();
        let sorter = Sorter::on_adapter(&adapter, options).unwrap();
        Self { instance, sorter }
    }

    /// The number of objects of each kind, and the number of slots that wgpu has for them, which is
    /// the largest number so far.
    pub(crate) fn objects(&self) -> [(usize, usize); 9] {
        self.sorter
            .device()
            .poll(wgpu::PollType::wait_indefinitely())
            .unwrap();
        let report = self.instance.generate_report().unwrap();
        let hub = report.hub_report();
        [
            &hub.buffers,
            &hub.bind_groups,
            &hub.bind_group_layouts,
            &hub.compute_pipelines,
            &hub.pipeline_layouts,
            &hub.shader_modules,
            &hub.command_encoders,
            &hub.command_buffers,
            &hub.query_sets,
        ]
        .map(|registry| {
            let slots = registry.num_kept_from_user + registry.num_released_from_user;
            (registry.num_allocated, slots)
        })
    }
}

#[test]
fn hundreds_of_sorts_do_not_leak_objects() {
    let Some(gpu) = gpu() else { return };
    let sorts = if gpu.runs_all_cases() { 2000 } else { 600 };
    let alone = Alone::open(Options::default().buckets(4));
    let sort = |i: u64| {
        let keys = random::<u32>(1 + (i * 37 % 9000) as usize, i);
        check_sort(&alone.sorter, &keys, Order::Ascending, "one of many");
    };
    (0..243).for_each(sort);
    let before = alone.objects();
    (243..sorts).for_each(sort);
    let after = alone.objects();
    for ((before, _), (after, _)) in before.iter().zip(after) {
        assert!(
            after <= before + 2,
            "objects of each kind: {before:?}, then {after:?}"
        );
    }
}

/// Not even a temporary object: all slots are taken, so it would add one.
#[test]
fn recording_makes_no_object_and_writes_nothing() {
    let Some(_) = gpu() else { return };
    let alone = Alone::open(Options::default().buckets(4));
    let (sorter, device) = (&alone.sorter, alone.sorter.device());
    let keys = random::<u32>(9000, 12);
    let buffer = |words: &[u32]| {
        device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: None,
            contents: bytemuck::cast_slice(words),
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
        })
    };
    let (on_gpu, found) = (buffer(&keys), buffer(&[7]));
    let of_keys = Keys::new(&on_gpu, KeyType::U32);
    let prepared = [
        sorter.prepare(&ascending(&on_gpu, 9000)),
        sorter.prepare_is_sorted(&of_keys, 9000, Order::Ascending, &found),
    ]
    .map(Result::unwrap);
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    // Buffers that fill the free slots.
    let mut others = Vec::new();
    while alone.objects()[0].0 < alone.objects()[0].1 {
        others.push(buffer(&[0]));
    }
    let before = alone.objects();
    for (count, slots) in &before[..2] {
        assert_eq!(count, slots, "buffers and bind groups");
    }
    for sort in &prepared {
        sort.record(&mut encoder);
        for chunk in 0..sort.chunks() {
            sort.record_chunk(&mut encoder, chunk);
        }
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        sort.record_in_pass(&mut pass);
    }
    assert_eq!(alone.objects(), before);

    // The recorded commands are not submitted.
    drop(encoder);
    assert!(read(device, sorter.queue(), &on_gpu) == keys);
    assert_eq!(read(device, sorter.queue(), &found), [7]);
    drop(others);
}

#[test]
fn one_prepared_sort_is_recorded_twice_into_one_encoder() {
    let Some(gpu) = gpu() else { return };
    for engine in Engine::MERGESORTS {
        let sorter = gpu.sorter(&Options::default().engine(engine).buckets(16));
        let n = 50_000;
        let (a, b) = (random::<u32>(n, 4), random::<u32>(n, 5));
        let (from_a, from_b) = (gpu.buffer(&a), gpu.buffer(&b));
        let bytes = from_a.size();
        let (to_a, to_b) = (gpu.empty_buffer(bytes), gpu.empty_buffer(bytes));
        // Longer than the keys: the rest must stay.
        let keys = gpu.buffer(&vec![7; n + 100]);
        let sort = sorter.prepare(&ascending(&keys, n as u64)).unwrap();
        let mut encoder = gpu
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for (from, to) in [(&from_a, &to_a), (&from_b, &to_b)] {
            encoder.copy_buffer_to_buffer(from, 0, &keys, 0, bytes);
            sort.record(&mut encoder);
            encoder.copy_buffer_to_buffer(&keys, 0, to, 0, bytes);
        }
        gpu.queue.submit([encoder.finish()]);
        assert!(gpu.read(&to_a) == sorted(&a), "{engine}: the first");
        assert!(gpu.read(&to_b) == sorted(&b), "{engine}: the second");
        assert!(gpu.read(&keys)[n..] == [7; 100], "{engine}: past the keys");
    }
}

#[test]
fn chunks_submitted_in_order_make_a_whole_sort() {
    let Some(gpu) = gpu() else { return };
    let sorter = gpu.sorter(&Options::default().buckets(16).keys_per_dispatch(4096));
    let input = random::<u32>(60_000, 6);
    let keys = gpu.buffer(&input);
    let sort = sorter
        .prepare(&ascending(&keys, 60_000).order(Order::Descending))
        .unwrap();
    assert!(sort.chunks() > 10, "{}", sort.chunks());
    let encoder = || {
        gpu.device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
    };
    for chunk in 0..sort.chunks() {
        let mut encoder = encoder();
        sort.record_chunk(&mut encoder, chunk);
        gpu.queue.submit([encoder.finish()]);
    }
    let mut expected = sorted(&input);
    expected.reverse();
    assert!(gpu.read(&keys) == expected);
    gpu.queue
        .write_buffer(&keys, 0, bytemuck::cast_slice(&input));
    sort.run().unwrap();
    assert!(gpu.read(&keys) == expected, "by the sort itself");
    for chunk in [sort.chunks(), usize::MAX] {
        let record = || sort.record_chunk(&mut encoder(), chunk);
        let recorded = std::panic::catch_unwind(std::panic::AssertUnwindSafe(record));
        assert!(recorded.is_err(), "chunk {chunk} was recorded");
    }

    // By default a short sort is one submission, and the shortest is none.
    let sorter = default_sorter(gpu);
    let short = |len| sorter.prepare(&ascending(&keys, len)).unwrap();
    assert_eq!(short(60_000).chunks(), 1);
    assert!(short(60_000).recording().steps.len() > 1);
    for len in [0, 1] {
        let sort = short(len);
        sort.record(&mut encoder());
        assert_eq!(sort.chunks(), 0);
        assert!(sort.recording().steps.is_empty());
    }
}

#[test]
fn slices_larger_than_the_device_are_sorted_in_chunks() {
    let Some(gpu) = gpu() else { return };
    let (device, queue) = own_device(gpu, |limits| {
        limits.max_storage_buffer_binding_size = 16 << 20;
    });
    let sorter = Sorter::new(&device, &queue, Options::default()).unwrap();
    assert_eq!(sorter.max_len(KeyType::U32), 4 << 20);
    assert_eq!(sorter.max_len(KeyType::F64), 2 << 20);
    // Two chunks, the last one of one key; and three.
    check_sort(
        &sorter,
        &random::<f64>((2 << 20) + 1, 8),
        Order::Descending,
        "two chunks",
    );
    if gpu.runs_all_cases() {
        check_sort(
            &sorter,
            &random::<u32>((8 << 20) + 77, 7),
            Order::Ascending,
            "three chunks",
        );
    }

    // If the device is lost, the slice is unchanged.
    let keys = random::<u32>((4 << 20) + 1, 9);
    let mut lost = keys.clone();
    device.destroy();
    assert!(is_loss(
        &sorter.sort(&mut lost, Order::Ascending).unwrap_err()
    ));
    assert!(lost == keys, "the slice was touched");
}

#[test]
fn a_part_of_a_buffer_larger_than_a_binding_is_sorted() {
    use wgpu::BufferUsages as Usage;
    let Some(gpu) = gpu() else { return };
    let (device, queue) = own_device(gpu, |limits| {
        limits.max_storage_buffer_binding_size = 16 << 20;
    });
    let sorter = Sorter::new(&device, &queue, Options::default()).unwrap();
    let (all, first, len) = ((4 << 20) + 5000, (4 << 20) + 77, 900);
    let buffer = |usage| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 4 * all,
            usage,
            mapped_at_creation: false,
        })
    };
    let [keys, indices] =
        [(); 2].map(|()| buffer(Usage::STORAGE | Usage::COPY_DST | Usage::COPY_SRC));
    let part = random::<u32>(len, 5);
    queue.write_buffer(&keys, 4 * first, bytemuck::cast_slice(&part));
    let at = 4 * first;
    let of_keys = Keys::new(keys.slice(at..), KeyType::U32);
    let job = SortJob::new(of_keys, len as u64).indices(indices.slice(at..));
    sorter.prepare(&job).unwrap().run_profiled().unwrap();

    let on_cpu = buffer(Usage::MAP_READ | Usage::COPY_DST);
    let read = |from: &wgpu::Buffer, record: u64, len: usize| -> Vec<u32> {
        let mut encoder = device.create_command_encoder(&<_>::default());
        encoder.copy_buffer_to_buffer(from, 4 * record, &on_cpu, 0, 4 * len as u64);
        queue.submit([encoder.finish()]);
        let slice = on_cpu.slice(..4 * len as u64);
        slice.map_async(wgpu::MapMode::Read, |mapped| mapped.unwrap());
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let words = bytemuck::pod_collect_to_vec(&slice.get_mapped_range().unwrap());
        on_cpu.unmap();
        words
    };
    let mut expected: Vec<u32> = (0..len as u32).collect();
    expected.sort_by_key(|&i| part[i as usize]);
    assert_eq!(read(&indices, first, len), expected);
    // Keys before and after the part stay.
    let in_order = expected.iter().map(|&i| part[i as usize]);
    let sorted: Vec<u32> = [0].into_iter().chain(in_order).chain([0]).collect();
    assert_eq!(read(&keys, first - 1, len + 2), sorted);

    // Ranges that are too short. `slice` would panic on some of them.
    let refused = |offset, size| {
        let range = wgpu::BufferBinding {
            buffer: &keys,
            offset,
            size: wgpu::BufferSize::new(size),
        };
        let job = SortJob::new(Keys::new(range, KeyType::U32), len as u64);
        sorter.prepare(&job).unwrap_err()
    };
    let bytes = 4 * len as u64;
    for (offset, size, actual) in [
        (at, bytes - 4, bytes - 4),
        (4 * all - bytes + 4, 0, bytes - 4),
        (4 * all, 0, 0),
        (u64::MAX - 3, 0, 0),
        (u64::MAX - 3, bytes, 0),
    ] {
        let error = refused(offset, size);
        let Error::BufferTooSmall {
            needed,
            actual: found,
            ..
        } = error
        else {
            panic!("{offset}: {error:?}");
        };
        assert_eq!((needed, found), (bytes, actual), "{offset}");
    }
    for offset in [at + 2, u64::MAX] {
        let error = refused(offset, 0);
        let Error::Offset {
            offset: found,
            multiple_of: 4,
            ..
        } = error
        else {
            panic!("{offset}: {error:?}");
        };
        assert_eq!(found, offset);
    }
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

#[test]
fn a_profile_names_every_phase_and_the_keys_are_sorted() {
    let Some(gpu) = gpu() else { return };
    let sorter = gpu.sorter(&Options::default().buckets(8));
    let mut keys = random::<u32>(50_000, 10);
    let expected = sorted(&keys);
    let profile = sorter.sort_profiled(&mut keys, Order::Ascending).unwrap();
    assert!(keys == expected);
    let phases: Vec<_> = profile.phases.iter().map(|phase| phase.phase).collect();
    let all = [
        "copy",
        "base case",
        "merge",
        "splitters",
        "ranks",
        "distribution",
        "final merge",
    ];
    assert_eq!(phases, all);
    assert!(!profile.total.is_zero());
}

/// A sorter on its own device with timestamps; `None`, with a message, if the adapter has none.
fn sorter_with_timestamps(options: Options) -> Option<Sorter> {
    let sorter = Sorter::on_adapter(&gpu()?.adapter, options).unwrap();
    if sorter
        .device()
        .features()
        .contains(wgpu::Features::TIMESTAMP_QUERY)
    {
        return Some(sorter);
    }
    println!("SKIPPED: no timestamps on this adapter");
    None
}

/// A query set has 4096 queries at most, so phases are not cut into chunks.
#[test]
fn the_phases_of_many_chunks_fit_a_query_set() {
    for engine in [Engine::SampleSort, Engine::BcfMergesort] {
        let options = Options::default().engine(engine).keys_per_dispatch(1024);
        let Some(sorter) = sorter_with_timestamps(options) else {
            return;
        };
        let (device, queue) = (sorter.device(), sorter.queue());
        let keys = random::<u32>(70_000, 12);
        let on_gpu = sorter.upload(&keys).unwrap();
        let sort = sorter.prepare(&ascending(&on_gpu, 70_000)).unwrap();
        let phases = sort.timed_phases().len() as u32;
        assert!(
            sort.chunks() > 30 && phases < 30,
            "{} chunks, {phases} phases",
            sort.chunks()
        );
        let queries = device.create_query_set(&wgpu::QuerySetDescriptor {
            label: None,
            ty: wgpu::QueryType::Timestamp,
            count: 2 * phases,
        });
        let descriptor = wgpu::CommandEncoderDescriptor::default();
        let mut encoder = device.create_command_encoder(&descriptor);
        sort.record_timed(&mut encoder, &queries, 0);
        queue.submit([encoder.finish()]);
        assert!(sorter.download::<u32>(&on_gpu).unwrap() == sorted(&keys));
    }
}

/// With the user's queries, and with the sorter's own.
#[test]
fn each_phase_is_timed_on_the_gpu() {
    let Some(sorter) = sorter_with_timestamps(Options::default().buckets(8)) else {
        return;
    };
    let (device, queue) = (sorter.device(), sorter.queue());
    let keys = random::<u32>(50_000, 11);
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
    let buffer = |words: &[u32], usage| {
        device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: None,
            contents: bytemuck::cast_slice(words),
            usage,
        })
    };
    let on_gpu = buffer(&keys, usage | wgpu::BufferUsages::COPY_DST);
    let sort = sorter.prepare(&ascending(&on_gpu, 50_000)).unwrap();
    let phases = sort.timed_phases();

    // After two queries of the user, which time the whole sort.
    let count = 2 + 2 * phases.len() as u32;
    let queries = device.create_query_set(&wgpu::QuerySetDescriptor {
        label: None,
        ty: wgpu::QueryType::Timestamp,
        count,
    });
    let words = vec![0; 2 * count as usize];
    let times = buffer(&words, usage | wgpu::BufferUsages::QUERY_RESOLVE);
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let timed = |encoder: &mut wgpu::CommandEncoder, begin, end| {
        let _ = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: None,
            timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                query_set: &queries,
                beginning_of_pass_write_index: begin,
                end_of_pass_write_index: end,
            }),
        });
    };
    timed(&mut encoder, Some(0), None);
    sort.record_timed(&mut encoder, &queries, 2);
    timed(&mut encoder, None, Some(1));
    encoder.resolve_query_set(&queries, 0..count, &times, 0);
    queue.submit([encoder.finish()]);
    let ticks: Vec<u64> = bytemuck::pod_collect_to_vec(&read(device, queue, &times));
    println!("{phases:?}: {ticks:?}");
    assert!(read(device, queue, &on_gpu) == sorted(&keys));

    // The phases are in order, and within the whole sort.
    assert!(ticks[0] > 0 && ticks[0] <= ticks[2] && ticks[ticks.len() - 1] <= ticks[1]);
    assert!(ticks[2..].is_sorted());
    let nanoseconds = (ticks[1] - ticks[0]) as f64 * f64::from(queue.get_timestamp_period());
    assert!(nanoseconds > 0.0);

    // The sorter's own times: the same phases, each once, with all passes.
    let profile = sort.run_profiled().unwrap();
    assert_eq!(profile.clock, wgpu_bcfsort::Clock::Timestamps);
    let mut names: Vec<_> = phases.iter().map(|phase| phase.name()).collect();
    let mut of_profile: Vec<_> = profile.phases.iter().map(|phase| phase.phase).collect();
    assert!(names.len() > 3 && of_profile.len() > 3);
    names.sort_unstable();
    names.dedup();
    of_profile.sort_unstable();
    assert_eq!(names, of_profile);
    let sum: std::time::Duration = profile.phases.iter().map(|phase| phase.time).sum();
    assert!(!sum.is_zero() && sum <= profile.total, "{profile:?}");
    let dispatches: u32 = profile.phases.iter().map(|phase| phase.dispatches).sum();
    assert_eq!(dispatches as usize, sort.recording().steps.len());

    let one = sorter.prepare(&ascending(&on_gpu, 1)).unwrap();
    assert!(one.timed_phases().is_empty());

    let whole = sort.run_timed().unwrap();
    assert_eq!(whole.clock, wgpu_bcfsort::Clock::Timestamps);
    assert!(whole.phases.is_empty() && !whole.total.is_zero());
}

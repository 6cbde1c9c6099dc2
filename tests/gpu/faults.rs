//! Errors: options, buffers and devices that a sort refuses.

use crate::device::{ascending, check_sort, default_sorter, gpu, own_device, random};
use bcfsort_testkit::PaperOptions;
use wgpu_bcfsort::internals::Recorded as _;
use wgpu_bcfsort::paper::BaseCase;
use wgpu_bcfsort::{BufferRole, Error, KeyType, Keys, Options, Order, SortJob, Sorter};

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
        assert!(job(most).scratch_size(&sorter).is_ok());
        for len in [most + 1, u64::MAX] {
            for error in [
                job(len).scratch_size(&sorter).unwrap_err(),
                job(len).prepare(&sorter).unwrap_err(),
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
            job.scratch_size(&sorter).unwrap()
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
    let error = ascending(&buffer, 1001).prepare(&sorter).unwrap_err();
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
    let floats = |len| SortJob::new(Keys::new(&buffer, KeyType::F64), len).prepare(&sorter);
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
    let error = ascending(&buffer, 1000).prepare(&sorter).unwrap_err();
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
        let prepared = ascending(buffer, 2000).prepare(&sorter);
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
    let error = ascending(&buffer, 2000).prepare(&first).unwrap_err();
    assert!(matches!(error, Error::Device(_)), "{error:?}");
    // An encoder of another device refuses a sort. The error scope of its device reports it.
    let sort = ascending(&buffer, 2000).prepare(&second).unwrap();
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
    let sort = ascending(&buffer, 1 << 17).prepare(&sorter).unwrap();
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

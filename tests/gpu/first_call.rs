//! Kernel compilation: in the first sort, or earlier by `warm_up` and `prepare`.

use crate::device::{Alone, check_sort, gpu, own_device, random};
use bcfsort_testkit::PaperOptions;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wgpu_bcfsort::internals::Recorded as _;
use wgpu_bcfsort::{Engine, Error, Field, KeyType, Keys, Options, Order, SortJob, Sorter};

/// The number of compiled kernels.
fn pipelines(alone: &Alone) -> usize {
    alone.objects()[3].0
}

fn sample_sort() -> Options {
    Options::default().engine(Engine::SampleSort)
}

fn buffer(device: &wgpu::Device, size: u64) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size,
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    })
}

#[test]
fn a_warmed_up_sort_compiles_nothing() {
    let Some(_) = gpu() else { return };
    for (options, len) in [
        (Options::default(), 1000),
        (Options::default().buckets(4), 9000),
    ] {
        let alone = Alone::open(options);
        let sorter = &alone.sorter;
        sorter
            .warm_up(len, KeyType::F32, Order::Descending)
            .unwrap();
        let compiled = pipelines(&alone);
        assert!(compiled > 0, "{len}");
        assert_eq!(alone.objects()[0].0, 0, "buffers");
        sorter
            .warm_up(len, KeyType::F32, Order::Descending)
            .unwrap();
        let keys = random::<f32>(len as usize, 7);
        check_sort(sorter, &keys, Order::Descending, "warmed up");
        assert_eq!(pipelines(&alone), compiled, "{len}");
        // Other kernels are compiled when they are needed.
        check_sort(
            sorter,
            &random::<u64>(100, 8),
            Order::Ascending,
            "not warmed up",
        );
        assert!(pipelines(&alone) > compiled, "{len}");
    }
}

#[test]
fn later_sorts_reuse_the_kernels_of_a_prepared_sort() {
    let Some(_) = gpu() else { return };
    let alone = Alone::open(Options::default());
    let sorter = &alone.sorter;
    let [keys, indices] = [(); 2].map(|()| buffer(sorter.device(), 4 * 3000));
    let job = SortJob::new(Keys::new(&keys, KeyType::U32), 3000).indices(&indices);
    job.prepare(sorter).unwrap();
    let compiled = pipelines(&alone);
    assert!(compiled > 0);
    let keys = random::<u32>(3000, 9);
    let order = sorter.argsort(&keys, Order::Ascending).unwrap();
    assert!(order.is_sorted_by_key(|&i| (keys[i as usize], i)));
    assert_eq!(pipelines(&alone), compiled);
}

#[test]
fn scratch_size_reads_no_buffer_and_compiles_nothing() {
    let Some(_) = gpu() else { return };
    let alone = Alone::open(Options::default());
    let sorter = &alone.sorter;
    // Too small, bound twice, and without the storage usage.
    let any = sorter.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 4,
        usage: wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let argsort = SortJob::argsort(Keys::new(&any, KeyType::U32), &any, 3000);
    assert!(argsort.scratch_size(sorter).unwrap() > 0);
    let field = Field {
        stride: 8,
        offset: 8,
    };
    let structs = SortJob::new(Keys::strided(&any, KeyType::U32, field), 9);
    let refused = structs.scratch_size(sorter);
    assert!(
        matches!(refused, Err(Error::InvalidOption { .. })),
        "{refused:?}"
    );
    assert_eq!(pipelines(&alone), 0);
}

#[test]
fn a_warm_up_of_too_many_keys_is_refused_and_of_none_does_nothing() {
    let Some(_) = gpu() else { return };
    let alone = Alone::open(Options::default());
    let sorter = &alone.sorter;
    let refused = sorter.warm_up(u64::MAX, KeyType::U32, Order::Ascending);
    assert!(
        matches!(refused, Err(Error::TooLarge { .. })),
        "{refused:?}"
    );
    sorter.warm_up(0, KeyType::U32, Order::Ascending).unwrap();
    assert_eq!(pipelines(&alone), 0);
}

#[test]
fn threads_that_need_the_same_kernels_compile_each_once() {
    let Some(_) = gpu() else { return };
    let alone = Alone::open(sample_sort());
    let sorter = &alone.sorter;
    let len = 1 << 17;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| sorter.warm_up(len, KeyType::U32, Order::Ascending).unwrap());
        }
    });
    let keys = buffer(sorter.device(), 4 * len);
    let job = SortJob::new(Keys::new(&keys, KeyType::U32), len);
    let sort = job.prepare(sorter).unwrap();
    let recording = sort.recording();
    let steps = recording.steps.iter();
    let mut labels: Vec<_> = steps.map(|step| step.kernel.label()).collect();
    labels.sort_unstable();
    labels.dedup();
    assert!(labels.len() > 4, "{labels:?}");
    assert_eq!(pipelines(&alone), labels.len());
}

/// The device allows fewer bindings than some of the kernels have.
#[test]
fn a_kernel_that_fails_among_others_is_an_error_each_time() {
    let Some(gpu) = gpu() else { return };
    let keys = gpu.empty_buffer(4 << 17);
    let sorter = gpu.sorter(&sample_sort());
    let job = SortJob::new(Keys::new(&keys, KeyType::U32), 1 << 17);
    let sort = job.prepare(&sorter).unwrap();
    let recording = sort.recording();
    let fits = |step: &wgpu_bcfsort::internals::recording::Step| {
        let kernel = step.kernel.assemble().unwrap();
        kernel.bindings.iter().all(|binding| binding.binding < 6)
    };
    let few = recording.steps.iter().filter(|step| fits(step)).count();
    assert!((1..recording.steps.len()).contains(&few), "{few}");

    let (device, queue) = own_device(gpu, |limits| limits.max_bindings_per_bind_group = 6);
    let uncaptured = Arc::new(AtomicUsize::new(0));
    let count = uncaptured.clone();
    device.on_uncaptured_error(Arc::new(move |error| {
        println!("{error}");
        count.fetch_add(1, Ordering::Relaxed);
    }));
    let sorter = Sorter::new(&device, &queue, sample_sort()).unwrap();
    for attempt in 0..3 {
        let refused = sorter.warm_up(1 << 17, KeyType::U32, Order::Ascending);
        let Err(Error::Device(message)) = refused else {
            panic!("attempt {attempt}: {refused:?}");
        };
        assert!(message.contains("bcfsort.samplesort."), "{message}");
    }
    // A sort whose kernels have few bindings.
    check_sort(
        &sorter,
        &random::<u32>(1000, 10),
        Order::Ascending,
        "few bindings",
    );
    assert_eq!(uncaptured.load(Ordering::Relaxed), 0);
}

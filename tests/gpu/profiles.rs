//! Profiles: the time of each phase of a sort, by timestamps or by the wall clock.

use crate::device::{ascending, default_sorter, gpu, profiled, random, read, sorted};
use bcfsort_testkit::PaperOptions;
use wgpu::util::DeviceExt;
use wgpu_bcfsort::internals::Recorded as _;
use wgpu_bcfsort::{Detail, Engine, Error, Options, Order, Sorter};

#[test]
fn a_device_without_timestamps_is_timed_by_the_wall_clock() {
    let Some(gpu) = gpu() else { return };
    // The shared device asks for no features.
    let sorter = default_sorter(gpu);
    let mut keys = random::<u32>(5000, 4);
    let profile = profiled(&sorter, &mut keys, Order::Ascending).unwrap();
    assert_eq!(profile.clock, wgpu_bcfsort::Clock::WallClock);
    assert!(keys.is_sorted() && profile.total > std::time::Duration::ZERO);
}

#[test]
fn a_profile_names_every_phase_and_the_keys_are_sorted() {
    let Some(gpu) = gpu() else { return };
    let sorter = gpu.sorter(&Options::default().buckets(8));
    let mut keys = random::<u32>(50_000, 10);
    let expected = sorted(&keys);
    let profile = profiled(&sorter, &mut keys, Order::Ascending).unwrap();
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

#[test]
fn a_profile_of_no_key_or_one_has_no_times() {
    let Some(gpu) = gpu() else { return };
    let sorter = default_sorter(gpu);
    for keys in [&[][..], &[7_u32]] {
        let mut taken = Vec::new();
        let profile = sorter.profile(keys, Order::Ascending, |block| {
            taken.extend_from_slice(block);
            Ok::<_, Error>(())
        });
        let profile = profile.unwrap();
        assert_eq!(taken, keys);
        assert!(profile.total.is_zero() && profile.phases.is_empty());
    }
}

/// A sorter on its own device with timestamps; `None`, with a message, if the adapter has none.
fn sorter_with_timestamps(options: Options) -> Option<Sorter> {
    let sorter = Sorter::open(options.adapter(&gpu()?.adapter)).unwrap();
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
        let sort = ascending(&on_gpu, 70_000).prepare(&sorter).unwrap();
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
    let sort = ascending(&on_gpu, 50_000).prepare(&sorter).unwrap();
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
    let profile = sort.profile(Detail::Phases).unwrap();
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

    let one = ascending(&on_gpu, 1).prepare(&sorter).unwrap();
    assert!(one.timed_phases().is_empty());

    let whole = sort.profile(Detail::Whole).unwrap();
    assert_eq!(whole.clock, wgpu_bcfsort::Clock::Timestamps);
    assert!(whole.phases.is_empty() && !whole.total.is_zero());
}

//! Sorts in frames of an app with Bevy's renderer, compared with the CPU's.

#[path = "../examples/headless/mod.rs"]
mod headless;

use bevy_app::App;
use bevy_asset::{Assets, Handle};
use bevy_bcfsort::wgpu_bcfsort::{
    BufferRole, Error, KeyType, Keys, Options, Order, Payload, SortJob, Sorter, wgpu,
};
use bevy_bcfsort::{ExtractedGpuSort, GpuSort, GpuSortState, GpuSortSystems, RenderSorter};
use bevy_ecs::prelude::*;
use bevy_render::RenderApp;
use bevy_render::pipelined_rendering::PipelinedRenderingPlugin;
use bevy_render::render_asset::RenderAssets;
use bevy_render::renderer::{
    RenderContext, RenderDevice, RenderGraph, RenderGraphSystems, RenderQueue,
};
use bevy_render::settings::{RenderCreation, WgpuLimits, WgpuSettings};
use bevy_render::storage::{GpuShaderBuffer, ShaderBuffer};
use bytemuck::Pod;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

fn app() -> App {
    finished(headless::plugins(RenderCreation::default()))
}

fn finished(mut app: App) -> App {
    app.finish();
    app.cleanup();
    app
}

fn device(app: &App) -> wgpu::Device {
    app.world().resource::<RenderDevice>().wgpu_device().clone()
}

fn buffer_with(app: &App, bytes: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    device(app).create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: bytes,
        usage,
        mapped_at_creation: false,
    })
}

fn buffer(app: &App, words: usize) -> wgpu::Buffer {
    let copies = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    buffer_with(app, words as u64 * 4, wgpu::BufferUsages::STORAGE | copies)
}

fn write<T: Pod>(app: &App, buffer: &wgpu::Buffer, data: &[T]) {
    let queue = app.world().resource::<RenderQueue>();
    queue.write_buffer(buffer, 0, bytemuck::cast_slice(data));
}

fn sorter(app: &App) -> &Sorter {
    let sorter = app.sub_app(RenderApp).world().resource::<RenderSorter>();
    sorter.get().expect("a sorter on Bevy's device")
}

fn read<T: Pod>(app: &App, buffer: &wgpu::Buffer) -> Vec<T> {
    sorter(app).download(buffer).expect("a download")
}

fn state(app: &App, entity: Entity) -> &GpuSortState {
    let state = app.world().get::<GpuSortState>(entity);
    state.expect("it is inserted with the sort")
}

/// What the state says of a frame is known after the next one.
fn error_after_two_frames(app: &mut App, entity: Entity) -> String {
    app.update();
    app.update();
    match state(app, entity) {
        GpuSortState::Failed(error) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

fn random(len: usize, seed: u32) -> Vec<u32> {
    let mixed = |i: u32| (i ^ seed).wrapping_mul(0x9e37_79b9);
    (0..len as u32)
        .map(|i| (mixed(i) ^ mixed(i) >> 15).wrapping_mul(0x85eb_ca6b))
        .collect()
}

fn sorted(mut keys: Vec<u32>) -> Vec<u32> {
    keys.sort_unstable();
    keys
}

#[test]
fn keys_with_values_are_sorted_in_each_frame() {
    let mut app = app();
    let len = 50_000;
    let (keys, values) = (buffer(&app, len), buffer(&app, len));
    let sort = GpuSort::new(&keys, KeyType::U32, len as u64)
        .values(&values)
        .order(Order::Descending);
    let entity = app.world_mut().spawn(sort).id();
    for frame in 1..=3 {
        let input = random(len, frame);
        write(&app, &keys, &input);
        write(&app, &values, &(0..len as u32).collect::<Vec<_>>());
        app.update();
        let mut expected = sorted(input.clone());
        expected.reverse();
        assert_eq!(read::<u32>(&app, &keys), expected, "frame {frame}");
        let moved = read::<u32>(&app, &values);
        let keys_of_values: Vec<u32> = moved.iter().map(|&i| input[i as usize]).collect();
        assert_eq!(keys_of_values, expected, "frame {frame}");
        assert_eq!(sorted(moved), (0..len as u32).collect::<Vec<_>>());
    }
    assert!(matches!(state(&app, entity), GpuSortState::Ready));
}

#[test]
fn sorts_run_where_frames_are_rendered_while_the_next_one_is_made() {
    let mut app = headless::plugins(RenderCreation::default());
    app.add_plugins(PipelinedRenderingPlugin);
    let mut app = finished(app);
    let (keys, short) = (buffer(&app, 4), buffer(&app, 3));
    write(&app, &keys, &[3_u32, 1, 2, 0]);
    let entity = app
        .world_mut()
        .spawn(GpuSort::new(&keys, KeyType::U32, 4))
        .id();
    let failing = app
        .world_mut()
        .spawn(GpuSort::new(&short, KeyType::U32, 4))
        .id();
    for _ in 0..5 {
        app.update();
    }
    assert!(matches!(state(&app, entity), GpuSortState::Ready));
    assert!(matches!(state(&app, failing), GpuSortState::Failed(_)));
    // (The render world is on another thread.)
    let queue = app.world().resource::<RenderQueue>();
    let sorter = Sorter::new(&device(&app), queue, Options::default()).expect("a sorter");
    let sorted: Vec<u32> = sorter.download(&keys).expect("a download");
    assert_eq!(sorted, [0, 1, 2, 3]);
}

/// Copies that the app records in each frame, before the sort and after it.
#[derive(Resource)]
struct Copies {
    source: wgpu::Buffer,
    keys: wgpu::Buffer,
    before_cameras: wgpu::Buffer,
    with_cameras: wgpu::Buffer,
}

impl Copies {
    fn copy(context: &mut RenderContext, from: &wgpu::Buffer, to: &wgpu::Buffer) {
        let encoder = context.command_encoder();
        encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
    }
}

fn write_keys(copies: Res<Copies>, mut context: RenderContext) {
    Copies::copy(&mut context, &copies.source, &copies.keys);
}

fn read_sorted(copies: Res<Copies>, mut context: RenderContext) {
    Copies::copy(&mut context, &copies.keys, &copies.before_cameras);
}

fn read_in_render(copies: Res<Copies>, mut context: RenderContext) {
    Copies::copy(&mut context, &copies.keys, &copies.with_cameras);
}

#[test]
fn passes_of_the_same_frame_write_the_keys_and_read_the_result() {
    let mut app = headless::plugins(RenderCreation::default());
    // In another order than they run, and before the plugin adds its own.
    app.sub_app_mut(RenderApp).add_systems(
        RenderGraph,
        (
            read_in_render.in_set(RenderGraphSystems::Render),
            read_sorted.in_set(GpuSortSystems::ReadSorted),
            write_keys.in_set(GpuSortSystems::WriteKeys),
        ),
    );
    let mut app = finished(app);
    let len = 3000;
    let [source, keys, before_cameras, with_cameras] = [(); 4].map(|()| buffer(&app, len));
    let copies = Copies {
        source: source.clone(),
        keys: keys.clone(),
        before_cameras: before_cameras.clone(),
        with_cameras: with_cameras.clone(),
    };
    app.sub_app_mut(RenderApp).insert_resource(copies);
    app.world_mut()
        .spawn(GpuSort::new(&keys, KeyType::U32, len as u64));
    for frame in 1..=20 {
        let input = random(len, frame);
        write(&app, &source, &input);
        app.update();
        let expected = sorted(input);
        assert_eq!(
            read::<u32>(&app, &before_cameras),
            expected,
            "frame {frame}"
        );
        assert_eq!(read::<u32>(&app, &with_cameras), expected, "frame {frame}");
    }
}

#[test]
fn cells_begin_where_the_table_says() {
    let mut app = app();
    let (len, cells) = (10_000, 100);
    let (keys, particles) = (buffer(&app, len), buffer(&app, len));
    let begins = buffer(&app, cells as usize + 1);
    let input: Vec<u32> = random(len, 7).iter().map(|key| key % cells).collect();
    write(&app, &keys, &input);
    let sort = GpuSort::argsort(&keys, KeyType::U32, &particles, len as u64);
    app.world_mut().spawn(sort.starts_of(&begins, cells));
    app.update();
    let (particles, begins) = (read::<u32>(&app, &particles), read::<u32>(&app, &begins));
    for cell in 0..cells {
        let [begin, end] = [cell, cell + 1].map(|at| begins[at as usize] as usize);
        let of_cell = (0..len as u32).filter(|&i| input[i as usize] == cell);
        assert!(of_cell.eq(particles[begin..end].iter().copied()));
    }
    assert_eq!(read::<u32>(&app, &keys), input, "keys of an argsort stay");
}

#[test]
fn the_number_of_keys_is_read_from_a_buffer() {
    let mut app = app();
    let (keys, count) = (buffer(&app, 8), buffer(&app, 1));
    write(&app, &keys, &[9_u32, 8, 7, 6, 5, 4, 3, 2]);
    write(&app, &count, &[3_u32]);
    let sort = GpuSort::new(&keys, KeyType::U32, 8).len_from(&count);
    app.world_mut().spawn(sort);
    app.update();
    assert_eq!(read::<u32>(&app, &keys), [7, 8, 9, 6, 5, 4, 3, 2]);
}

/// The buffer of an asset.
fn of_asset(app: &App, handle: &Handle<ShaderBuffer>) -> wgpu::Buffer {
    let assets = app.sub_app(RenderApp).world();
    let assets = assets.resource::<RenderAssets<GpuShaderBuffer>>();
    (*assets.get(handle).expect("it is uploaded").buffer).clone()
}

#[test]
fn buffers_of_assets_are_sorted_and_those_that_replace_them() {
    let mut app = app();
    let mut assets = app.world_mut().resource_mut::<Assets<ShaderBuffer>>();
    let keys = assets.add(ShaderBuffer::from(vec![3_u32, 1, 2]));
    let entity = app
        .world_mut()
        .spawn(GpuSort::new(&keys, KeyType::U32, 3))
        .id();
    app.update();
    app.update();
    let first = of_asset(&app, &keys);
    assert_eq!(read::<u32>(&app, &first), [1, 2, 3]);

    // A larger asset has another buffer.
    let mut assets = app.world_mut().resource_mut::<Assets<ShaderBuffer>>();
    *assets.get_mut(&keys).expect("the asset") = ShaderBuffer::from(vec![9_u32, 7, 8, 6]);
    app.update();
    app.update();
    let second = of_asset(&app, &keys);
    assert_ne!(first, second);
    assert_eq!(read::<u32>(&app, &second), [7, 8, 9, 6]);
    app.world_mut()
        .get_mut::<GpuSort>(entity)
        .expect("the sort")
        .set_len(4);
    app.update();
    assert_eq!(read::<u32>(&app, &second), [6, 7, 8, 9]);
}

#[test]
fn an_asset_that_is_not_there_yet_is_waited_for() {
    let mut app = app();
    let assets = app.world().resource::<Assets<ShaderBuffer>>();
    let keys = assets.reserve_handle();
    let sort = GpuSort::new(&keys, KeyType::U32, 3);
    let entity = app.world_mut().spawn(sort).id();
    app.update();
    app.update();
    assert!(matches!(state(&app, entity), GpuSortState::Waiting));

    let mut assets = app.world_mut().resource_mut::<Assets<ShaderBuffer>>();
    assets
        .insert(&keys, ShaderBuffer::from(vec![3_u32, 1, 2]))
        .expect("a reserved handle");
    app.update();
    app.update();
    app.update();
    assert!(matches!(state(&app, entity), GpuSortState::Ready));
    assert_eq!(read::<u32>(&app, &of_asset(&app, &keys)), [1, 2, 3]);
}

#[test]
fn an_error_is_reported_and_gone_when_the_sort_is_replaced() {
    let mut app = app();
    let keys = buffer(&app, 4);
    write(&app, &keys, &[3_u32, 1, 2, 0]);
    let no_storage = buffer_with(&app, 16, wgpu::BufferUsages::COPY_DST);
    let sort = GpuSort::new(&no_storage, KeyType::U32, 4);
    let entity = app.world_mut().spawn(sort).id();
    let text = error_after_two_frames(&mut app, entity);
    assert!(text.contains("STORAGE"), "{text}");
    assert!(app.should_exit().is_none(), "Bevy saw no error of its own");

    let too_long = GpuSort::new(&keys, KeyType::U32, 5);
    app.world_mut().entity_mut(entity).insert(too_long);
    app.update();
    app.update();
    let GpuSortState::Failed(error) = state(&app, entity) else {
        panic!("4 keys are no 5");
    };
    assert!(matches!(
        **error,
        Error::BufferTooSmall {
            buffer: BufferRole::Keys,
            ..
        }
    ));

    let mut sort = app.world_mut().get_mut::<GpuSort>(entity).expect("it");
    sort.set_len(4);
    app.update();
    assert_eq!(read::<u32>(&app, &keys), [0, 1, 2, 3]);
    app.update();
    assert!(matches!(state(&app, entity), GpuSortState::Ready));
}

#[test]
fn a_manual_sort_is_recorded_by_the_app_alone() {
    let mut app = app();
    let keys = buffer(&app, 3);
    write(&app, &keys, &[3_u32, 1, 2]);
    let sort = GpuSort::new(&keys, KeyType::U32, 3).manual();
    app.world_mut().spawn(sort);
    app.update();
    assert_eq!(read::<u32>(&app, &keys), [3, 1, 2]);
    let record = |sorts: Query<&ExtractedGpuSort>, mut context: RenderContext| {
        for sort in sorts.iter().filter_map(ExtractedGpuSort::prepared) {
            sort.record(context.command_encoder());
        }
    };
    app.sub_app_mut(RenderApp)
        .add_systems(RenderGraph, record.in_set(RenderGraphSystems::Render));
    app.update();
    assert_eq!(read::<u32>(&app, &keys), [1, 2, 3]);
}

#[test]
fn whatever_the_library_prepares_is_a_sort() {
    let mut app = app();
    let (keys, rows) = (buffer(&app, 3), buffer(&app, 6));
    write(&app, &keys, &[3_u32, 1, 2]);
    write(&app, &rows, &[[3_u32, 30], [1, 10], [2, 20]]);
    let sort = {
        let (keys, rows) = (keys.clone(), rows.clone());
        GpuSort::custom(move |sorter| {
            SortJob::new(Keys::new(&keys, KeyType::U32), 3)
                .payload(Payload::new(&rows, 8))
                .prepare(sorter)
        })
    };
    app.world_mut().spawn(sort);
    app.update();
    assert_eq!(read::<u32>(&app, &keys), [1, 2, 3]);
    assert_eq!(read::<u32>(&app, &rows), [1, 10, 2, 20, 3, 30]);
}

/// The number of allocations of GPU memory, and their bytes.
fn allocated(app: &App) -> (usize, u64) {
    let report = device(app)
        .generate_allocator_report()
        .expect("one on Vulkan");
    (report.allocations.len(), report.total_allocated_bytes)
}

/// Frames whose work is done, so that what they held is free.
fn frames(app: &mut App, count: u32) {
    for _ in 0..count {
        app.update();
        let wait = wgpu::PollType::wait_indefinitely();
        device(app).poll(wait).expect("the device");
    }
}

#[test]
fn frames_allocate_nothing_and_despawning_frees() {
    let mut app = app();
    let len = 1 << 20;
    let (keys, values) = (buffer(&app, len), buffer(&app, len));
    // Kernels and what Bevy keeps are there before.
    let sort = GpuSort::new(&keys, KeyType::U32, len as u64).values(&values);
    let first = app.world_mut().spawn(sort.clone()).id();
    frames(&mut app, 4);
    app.world_mut().despawn(first);
    frames(&mut app, 4);
    let without = allocated(&app);

    let entity = app.world_mut().spawn(sort.clone()).id();
    frames(&mut app, 2);
    let with = allocated(&app);
    assert!(with.1 > without.1, "{with:?} {without:?}");
    for _ in 0..5 {
        frames(&mut app, 1);
        // A change that makes no difference.
        app.world_mut().entity_mut(entity).insert(sort.clone());
    }
    assert_eq!(allocated(&app), with);

    app.world_mut().despawn(entity);
    frames(&mut app, 2);
    assert_eq!(allocated(&app), without);
}

#[test]
fn a_removed_sort_stops_and_comes_back() {
    let mut app = app();
    let keys = buffer(&app, 3);
    let sort = GpuSort::new(&keys, KeyType::U32, 3);
    let entity = app.world_mut().spawn(sort.clone()).id();
    app.update();
    app.world_mut().entity_mut(entity).remove::<GpuSort>();
    write(&app, &keys, &[3_u32, 1, 2]);
    app.update();
    assert_eq!(read::<u32>(&app, &keys), [3, 1, 2]);
    app.world_mut().entity_mut(entity).insert(sort);
    app.update();
    assert_eq!(read::<u32>(&app, &keys), [1, 2, 3]);
}

#[test]
fn without_a_renderer_sorts_wait() {
    let settings = WgpuSettings {
        backends: None,
        ..WgpuSettings::default()
    };
    let mut app = finished(headless::plugins(settings.into()));
    let sort = GpuSort::custom(|_| unreachable!("there is no sorter"));
    let entity = app.world_mut().spawn(sort).id();
    app.update();
    app.update();
    assert!(matches!(state(&app, entity), GpuSortState::Waiting));
}

#[test]
fn a_device_that_is_too_small_is_an_error() {
    let settings = WgpuSettings {
        constrained_limits: Some(WgpuLimits {
            max_storage_buffers_per_shader_stage: 2,
            ..WgpuLimits::unlimited()
        }),
        ..WgpuSettings::default()
    };
    let mut app = finished(headless::plugins(settings.into()));
    let keys = buffer(&app, 4);
    let sort = GpuSort::new(&keys, KeyType::U32, 4);
    let entity = app.world_mut().spawn(sort).id();
    let text = error_after_two_frames(&mut app, entity);
    assert!(text.contains("max_storage_buffers"), "{text}");
}

#[test]
fn a_sort_is_prepared_once_and_what_failed_again_after_a_change() {
    let mut app = app();
    let keys = buffer(&app, 4);
    // 5 keys do not fit.
    for (len, calls_after_a_change) in [(4, 1), (5, 2)] {
        let calls = Arc::new(AtomicU32::new(0));
        let (keys, counted) = (keys.clone(), calls.clone());
        let sort = GpuSort::custom(move |sorter| {
            counted.fetch_add(1, Ordering::Relaxed);
            SortJob::new(Keys::new(&keys, KeyType::U32), len).prepare(sorter)
        });
        let entity = app.world_mut().spawn(sort.clone()).id();
        for _ in 0..4 {
            app.update();
        }
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        app.world_mut().entity_mut(entity).insert(sort);
        for _ in 0..4 {
            app.update();
        }
        assert_eq!(calls.load(Ordering::Relaxed), calls_after_a_change);
    }
}

//! The plugin, and its systems in the order in which they run.

use crate::render::{ExtractedGpuSort, RenderSorter};
use crate::sort::{GpuSort, GpuSortState};
use bevy_app::{App, Plugin};
use bevy_ecs::prelude::*;
use bevy_log::{error, warn};
use bevy_render::diagnostic::RecordDiagnostics;
use bevy_render::render_asset::RenderAssets;
use bevy_render::renderer::{
    PendingCommandBuffers, RenderContext, RenderDevice, RenderGraph, RenderGraphSystems,
    RenderQueue,
};
use bevy_render::storage::GpuShaderBuffer;
use bevy_render::sync_component::SyncComponentPlugin;
use bevy_render::sync_world::{MainEntity, RenderEntity};
use bevy_render::{
    Extract, ExtractSchedule, MainWorld, Render, RenderApp, RenderStartup, RenderSystems,
};
use wgpu_bcfsort::{Options, Sorter, wgpu};

/// Sorts what each [`GpuSort`] describes, in each frame, on Bevy's device.
///
/// It needs Bevy's `RenderPlugin`, in any order. If there is no renderer, it warns, and all sorts
/// remain [`Waiting`](GpuSortState::Waiting).
///
/// An app without `bevy_core_pipeline`, which only computes, has nothing else that submits the
/// commands of a frame: this plugin submits what is pending at the end of the render graph.
///
/// With Bevy's `RenderDiagnosticsPlugin`, the times of the sorts of a frame are the diagnostics
/// `render/gpu_sorts/elapsed_cpu` and, where the device has timestamps,
/// `render/gpu_sorts/elapsed_gpu`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SortPlugin;

/// The systems of the plugin, to order others by.
///
/// [`Prepare`](Self::Prepare) is in the schedule `Render`, in `RenderSystems::PrepareBindGroups`.
/// The others are in the schedule `RenderGraph`, in `RenderGraphSystems::Begin`, one after the
/// other, and so before `RenderGraphSystems::Render`, in which cameras render. The GPU executes the
/// commands of systems in this order.
///
/// Bevy orders `Begin` and `Render` for exclusive systems and for those that record by a
/// `RenderContext`, as all of Bevy's own do.
///
/// # Examples
///
/// A pass that writes the keys, and one that reads the sorted ones, in the same frame:
///
/// ```
/// use bevy_app::App;
/// use bevy_bcfsort::GpuSortSystems;
/// use bevy_ecs::prelude::*;
/// use bevy_render::RenderApp;
/// use bevy_render::renderer::{RenderContext, RenderGraph};
///
/// fn write_keys(mut context: RenderContext) { /* records a compute pass */ }
/// fn read_sorted(mut context: RenderContext) { /* records another one */ }
///
/// fn add(app: &mut App) {
///     if let Some(render_app) = app.get_sub_app_mut(RenderApp) {
///         render_app.add_systems(RenderGraph, (
///             write_keys.in_set(GpuSortSystems::WriteKeys),
///             read_sorted.in_set(GpuSortSystems::ReadSorted),
///         ));
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, SystemSet)]
pub enum GpuSortSystems {
    /// Sorts that are new or have changed are prepared. In `Render`.
    Prepare,
    /// For your systems that record what writes the keys. In `RenderGraph`.
    WriteKeys,
    /// The sorts are recorded. In `RenderGraph`.
    Record,
    /// For your systems that record what reads the results before cameras do. In `RenderGraph`.
    ReadSorted,
}

impl Plugin for SortPlugin {
    fn build(&self, app: &mut App) {
        app.add_plugins(SyncComponentPlugin::<GpuSort>::default());
    }

    // (Not in `build`, where the renderer may not be there yet.)
    fn finish(&self, app: &mut App) {
        let Some(render_app) = app.get_sub_app_mut(RenderApp) else {
            warn!("SortPlugin: there is no renderer, and nothing will be sorted");
            return;
        };
        let (write, record, read) = (
            GpuSortSystems::WriteKeys,
            GpuSortSystems::Record,
            GpuSortSystems::ReadSorted,
        );
        render_app
            .add_systems(RenderStartup, make_sorter)
            .add_systems(ExtractSchedule, (tell_main_world, extract_sorts).chain())
            .configure_sets(
                Render,
                GpuSortSystems::Prepare.in_set(RenderSystems::PrepareBindGroups),
            )
            .add_systems(Render, prepare_sorts.in_set(GpuSortSystems::Prepare))
            .configure_sets(
                RenderGraph,
                (write, record, read)
                    .chain()
                    .in_set(RenderGraphSystems::Begin),
            )
            .add_systems(
                RenderGraph,
                (
                    record_sorts.in_set(record),
                    submit_pending
                        .after(read)
                        .after(RenderGraphSystems::Render)
                        .after(RenderGraphSystems::Submit)
                        .before(RenderGraphSystems::Finish),
                ),
            );
    }
}

/// For each device that Bevy makes: the first one, and others if one was lost.
fn make_sorter(
    mut commands: Commands,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
    mut sorts: Query<&mut ExtractedGpuSort>,
) {
    for mut sort in &mut sorts {
        sort.reset();
    }
    let sorter = Sorter::new(device.wgpu_device(), &queue, Options::default());
    commands.insert_resource(RenderSorter::new(sorter));
}

fn tell_main_world(
    mut main_world: ResMut<MainWorld>,
    mut sorts: Query<(MainEntity, &mut ExtractedGpuSort)>,
) {
    for (entity, mut sort) in &mut sorts {
        if let Some(news) = sort.take_news()
            && let Some(mut state) = main_world.get_mut::<GpuSortState>(entity)
        {
            *state = news;
        }
    }
}

fn extract_sorts(
    mut commands: Commands,
    changed: Extract<Query<(RenderEntity, &GpuSort), Changed<GpuSort>>>,
    mut sorts: Query<&mut ExtractedGpuSort>,
) {
    for (entity, sort) in &changed {
        if let Ok(mut extracted) = sorts.get_mut(entity) {
            extracted.replace(sort.clone());
        } else {
            commands
                .entity(entity)
                .insert(ExtractedGpuSort::new(sort.clone()));
        }
    }
}

fn prepare_sorts(
    sorter: Res<RenderSorter>,
    assets: Res<RenderAssets<GpuShaderBuffer>>,
    mut sorts: Query<(MainEntity, &mut ExtractedGpuSort)>,
) {
    for (entity, mut sort) in &mut sorts {
        if let Err(error) = sort.prepare(&sorter, &assets) {
            error!("the GpuSort of entity {entity} cannot be prepared: {error}");
        }
    }
}

fn record_sorts(sorts: Query<&ExtractedGpuSort>, mut context: RenderContext) {
    let mut prepared = sorts
        .iter()
        .filter(|sort| !sort.is_manual())
        .filter_map(ExtractedGpuSort::prepared)
        .peekable();
    // (An encoder would be made for nothing.)
    if prepared.peek().is_none() {
        return;
    }
    let diagnostics = context.diagnostic_recorder();
    let diagnostics = diagnostics.as_deref();
    let encoder = context.command_encoder();
    let span = diagnostics.time_span(encoder, "gpu_sorts");
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
        label: Some("gpu_sorts"),
        timestamp_writes: None,
    });
    for sort in prepared {
        sort.record_in_pass(&mut pass);
    }
    drop(pass);
    span.end(encoder);
}

/// Does nothing in an app with `bevy_core_pipeline`, which has submitted all by then.
fn submit_pending(mut pending: ResMut<PendingCommandBuffers>, queue: Res<RenderQueue>) {
    if !pending.is_empty() {
        queue.submit(pending.finish());
    }
}

//! What the render world has of each sort, and of the sorter.

use crate::sort::{GpuSort, GpuSortState, Job};
use bevy_ecs::component::Component;
use bevy_ecs::resource::Resource;
use bevy_render::RenderApp;
use bevy_render::render_asset::RenderAssets;
use bevy_render::storage::GpuShaderBuffer;
use bevy_render::sync_component::SyncComponent;
use std::sync::Arc;
use wgpu_bcfsort::{Error, PreparedSort, Sorter, wgpu};

/// The sorter on Bevy's device: a resource of the render world, which is made in `RenderStartup`.
///
/// All sorts of an app share it, and the kernels that it has compiled. Your own systems may prepare
/// sorts with it, too.
#[derive(Debug, Resource)]
pub struct RenderSorter(Result<Sorter, Arc<Error>>);

impl RenderSorter {
    pub(crate) fn new(sorter: Result<Sorter, Error>) -> Self {
        Self(sorter.map_err(Arc::new))
    }

    /// Returns the sorter.
    ///
    /// # Errors
    ///
    /// [`Error::AdapterTooSmall`] if a limit of Bevy's device is below what the kernels need, as
    /// with `WgpuSettingsPriority::WebGL2`.
    pub fn get(&self) -> Result<&Sorter, Arc<Error>> {
        self.0.as_ref().map_err(Arc::clone)
    }
}

/// A [`GpuSort`] in the render world, a component of the entity that stands for its own.
///
/// A system that records a [manual](GpuSort::manual) sort queries it.
///
/// # Examples
///
/// ```
/// use bevy_bcfsort::ExtractedGpuSort;
/// use bevy_ecs::prelude::*;
/// use bevy_render::renderer::RenderContext;
///
/// // Of the schedule `RenderGraph`, or of a camera's.
/// fn record(sorts: Query<&ExtractedGpuSort>, mut context: RenderContext) {
///     for sort in sorts.iter().filter_map(ExtractedGpuSort::prepared) {
///         sort.record(context.command_encoder());
///     }
/// }
/// ```
#[derive(Component, Debug)]
pub struct ExtractedGpuSort {
    sort: GpuSort,
    /// Whether the component has changed since it was last prepared, or tried to be.
    changed: bool,
    /// What is prepared, or could not be.
    bound: Option<Job<wgpu::Buffer>>,
    prepared: Option<PreparedSort>,
    /// What the main world does not know yet.
    news: Option<GpuSortState>,
}

impl ExtractedGpuSort {
    pub(crate) fn new(sort: GpuSort) -> Self {
        Self {
            sort,
            changed: true,
            bound: None,
            prepared: None,
            news: None,
        }
    }

    /// Returns the sort, if it is prepared.
    #[must_use]
    pub fn prepared(&self) -> Option<&PreparedSort> {
        self.prepared.as_ref()
    }

    /// Whether the app records it, and not the plugin.
    #[must_use]
    pub fn is_manual(&self) -> bool {
        self.sort.manual
    }

    pub(crate) fn replace(&mut self, sort: GpuSort) {
        self.sort = sort;
        self.changed = true;
    }

    /// Forgets what was made on a device that is gone.
    pub(crate) fn reset(&mut self) {
        self.prepared = None;
        self.bound = None;
        self.changed = true;
    }

    pub(crate) fn take_news(&mut self) -> Option<GpuSortState> {
        self.news.take()
    }

    /// Prepares the sort, if it differs from the one that is prepared. Returns an error the first
    /// time that it occurs.
    pub(crate) fn prepare(
        &mut self,
        sorter: &RenderSorter,
        assets: &RenderAssets<GpuShaderBuffer>,
    ) -> Result<(), Arc<Error>> {
        let job = self.sort.job.resolve(assets);
        let changed = std::mem::take(&mut self.changed);
        // What has failed is tried again if the user touches the component.
        if job == self.bound && !(changed && self.prepared.is_none()) {
            return Ok(());
        }
        // Its scratch memory is free for the next one.
        self.prepared = None;
        self.bound = job;
        let Some(job) = &self.bound else {
            self.news = Some(GpuSortState::Waiting);
            return Ok(());
        };
        let prepared = sorter
            .get()
            .and_then(|sorter| job.prepare(sorter).map_err(Arc::new));
        match prepared {
            Ok(prepared) => {
                self.prepared = Some(prepared);
                self.news = Some(GpuSortState::Ready);
                Ok(())
            }
            Err(error) => {
                self.news = Some(GpuSortState::Failed(error.clone()));
                Err(error)
            }
        }
    }
}

impl SyncComponent<RenderApp> for GpuSort {
    type Target = ExtractedGpuSort;
}

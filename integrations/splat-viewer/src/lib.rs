//! The sort of bcfsort in [`wgpu_3dgs_viewer`] 0.8, in place of its radix sorter.
//!
//! The viewer writes a depth and an index for each Gaussian that is seen, and their number into the
//! arguments of its indirect draw. All three are sorted from where they are, in place: nothing is
//! copied, and the number never leaves the GPU.
//!
//! ```no_run
//! # use wgpu_3dgs_viewer::Viewer;
//! # use wgpu_bcfsort::{Options, Sorter, wgpu};
//! # fn frame(
//! #     (device, queue): (&wgpu::Device, &wgpu::Queue), viewer: &Viewer,
//! #     encoder: &mut wgpu::CommandEncoder, view: &wgpu::TextureView,
//! # ) -> Result<(), wgpu_bcfsort::Error> {
//! // Once:
//! let sorter = Sorter::new(device, queue, Options::default())?;
//! let sort = bcfsort_splat_viewer::prepare(&sorter, viewer)?;
//!
//! // In each frame, in place of viewer.render(encoder, view):
//! bcfsort_splat_viewer::render(viewer, &sort, encoder, view);
//! # Ok(()) }
//! ```

use wgpu_3dgs_viewer::Viewer;
use wgpu_3dgs_viewer::core::{BufferWrapper, GaussianPod};
use wgpu_bcfsort::{Error, KeyType, Keys, PreparedSort, SortJob, Sorter, wgpu};

/// Makes the sort of a viewer's depths and indices ready. The farthest Gaussian is the first: its
/// depth is 1 - z of normalised device coordinates. Gaussians of one depth have the same order in
/// each frame, whatever the order in which the viewer's shader writes them: the sort compares
/// depths and then indices.
///
/// # Errors
///
/// Those of [`SortJob::prepare`].
pub fn prepare<G: GaussianPod>(sorter: &Sorter, viewer: &Viewer<G>) -> Result<PreparedSort, Error> {
    let depths = Keys::new(viewer.gaussians_depth_buffer.buffer(), KeyType::F32);
    // The second word of the arguments of a draw is the number of instances.
    let drawn = viewer.indirect_args_buffer.buffer().slice(4..8);
    SortJob::new(depths, viewer.gaussians_buffer.len() as u64)
        .values(viewer.indirect_indices_buffer.buffer())
        .len_from(drawn)
        .prepare(sorter)
}

/// Renders as [`Viewer::render`] does, with this sort.
pub fn render<G: GaussianPod>(
    viewer: &Viewer<G>,
    sort: &PreparedSort,
    encoder: &mut wgpu::CommandEncoder,
    view: &wgpu::TextureView,
) {
    #[allow(clippy::cast_possible_truncation)] // As the viewer has it.
    let len = viewer.gaussians_buffer.len() as u32;
    viewer.preprocessor.preprocess(encoder, len);
    sort.record(encoder);
    viewer
        .renderer
        .render(encoder, view, &viewer.indirect_args_buffer);
}

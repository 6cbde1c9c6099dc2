//! Slices of the program's buffers, checked and bound.

use crate::descriptor::{Positions, SplatSorterDescriptor};
use crate::error::{Error, SplatBuffer};
use crate::plan::{Allowed, Frame, Layout, Plan, Span, check};
use wgpu_bcfsort::wgpu::{self, BufferUsages};

/// The buffers of a descriptor: the matrix, and the coordinates unless there is no splat.
pub(crate) struct Bindings<'a> {
    pub(crate) camera: wgpu::BindingResource<'a>,
    pub(crate) coordinates: Option<[wgpu::BindingResource<'a>; 3]>,
}

/// Checks a descriptor, and binds its buffers.
pub(crate) fn bind<'a>(
    descriptor: &SplatSorterDescriptor<'a>,
    limits: &wgpu::Limits,
) -> Result<(Plan, Bindings<'a>), Error> {
    let camera = descriptor.camera;
    let matrix = span(camera, SplatBuffer::Camera, BufferUsages::UNIFORM)?;
    let read = |slice, buffer| span(slice, buffer, BufferUsages::STORAGE);
    let (slices, positions) = match descriptor.positions {
        Positions::Arrays(slices) => {
            let [x, y, z] = slices;
            let spans = [
                read(x, SplatBuffer::X)?,
                read(y, SplatBuffer::Y)?,
                read(z, SplatBuffer::Z)?,
            ];
            (slices, Layout::Arrays(spans))
        }
        Positions::Strided {
            rows,
            stride,
            offset,
        } => {
            let layout = Layout::Strided {
                rows: read(rows, SplatBuffer::Positions)?,
                stride,
                offset,
            };
            ([rows; 3], layout)
        }
    };
    let frame = Frame {
        positions,
        len: descriptor.len,
        camera: matrix,
        depth: descriptor.depth,
        key: descriptor.key,
        order: descriptor.order,
        margin: descriptor.margin,
        vertices: descriptor.vertices,
    };
    let plan = frame.plan(&Allowed {
        storage_alignment: limits.min_storage_buffer_offset_alignment,
        uniform_alignment: limits.min_uniform_buffer_offset_alignment,
        binding_size: limits.max_storage_buffer_binding_size,
        workgroups: limits.max_compute_workgroups_per_dimension,
    })?;
    let bindings = Bindings {
        camera: resource(camera, plan.camera),
        coordinates: plan
            .coordinates
            .map(|bounds| [0, 1, 2].map(|axis| resource(slices[axis], bounds[axis]))),
    };
    Ok((plan, bindings))
}

/// Checks the usage and the size of the program's buffer for the order. `needed`: its bytes.
pub(crate) fn check_order(order: &wgpu::Buffer, needed: u64) -> Result<(), Error> {
    let buffer = SplatBuffer::Order;
    let whole = span(order.slice(..), buffer, BufferUsages::STORAGE)?;
    check(whole, buffer, needed, 4)
}

/// The bytes of a slice, whose buffer must have a usage.
fn span(
    slice: wgpu::BufferSlice<'_>,
    buffer: SplatBuffer,
    usage: BufferUsages,
) -> Result<Span, Error> {
    let actual = slice.buffer().usage();
    if !actual.contains(usage) {
        return Err(Error::BufferUsage {
            buffer,
            needed: usage,
            actual,
        });
    }
    Ok(Span {
        offset: slice.offset(),
        size: slice.size(),
    })
}

fn resource(slice: wgpu::BufferSlice<'_>, bound: Span) -> wgpu::BindingResource<'_> {
    wgpu::BindingResource::Buffer(wgpu::BufferBinding {
        buffer: slice.buffer(),
        offset: bound.offset,
        size: wgpu::BufferSize::new(bound.size),
    })
}

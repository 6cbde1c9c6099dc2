//! Steps that sorts and prefix sums share: open a device, submit, reuse buffers.

use super::adapter::{requirements, shares_memory};
use super::faults::scoped;
use crate::at_once::lock;
use crate::error::Error;
use std::sync::Mutex;

/// Opens a device with the [`requirements`] of its adapter.
pub(crate) async fn open(adapter: &wgpu::Adapter) -> Result<(wgpu::Device, wgpu::Queue), Error> {
    let needs = requirements(adapter)?;
    let opened = adapter
        .request_device(&wgpu::DeviceDescriptor {
            label: Some("bcfsort"),
            required_features: needs.features,
            required_limits: needs.limits,
            ..Default::default()
        })
        .await?;
    Ok(opened)
}

/// A buffer for a host slice, of whole words: the pooled one if it is large enough, or a new one. A
/// pooled buffer that is too small is released before the new one is created.
pub(crate) fn host_buffer(
    device: &wgpu::Device,
    label: &str,
    bytes: u64,
    pool: &Mutex<Option<wgpu::Buffer>>,
) -> Result<wgpu::Buffer, Error> {
    let bytes = bytes.next_multiple_of(4);
    let pooled = lock(pool).take();
    if let Some(buffer) = pooled.filter(|buffer| buffer.size() >= bytes) {
        return Ok(buffer);
    }
    scoped(device, bytes, || {
        use wgpu::BufferUsages as Usage;
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: bytes,
            usage: Usage::STORAGE | Usage::COPY_DST | Usage::COPY_SRC | mappable(device),
            mapped_at_creation: false,
        })
    })
}

/// The usages by which the host accesses a buffer itself, in place of copies to and from others:
/// where both have one memory, and the device has the feature.
fn mappable(device: &wgpu::Device) -> wgpu::BufferUsages {
    use wgpu::BufferUsages as Usage;
    let info = device.adapter_info();
    let has_feature = (device.features()).contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS);
    if !has_feature || !shares_memory(&info) {
        return Usage::empty();
    }
    // On some integrated GPUs, what the host may write in place it reads slowly: without a cache.
    // gpu-allocator prefers such memory on Vulkan for buffers that are mapped for both.
    let reads_slowly =
        info.backend == wgpu::Backend::Vulkan && info.device_type != wgpu::DeviceType::Cpu;
    if reads_slowly {
        Usage::MAP_WRITE
    } else {
        Usage::MAP_WRITE | Usage::MAP_READ
    }
}

/// Keeps a [`host_buffer`] for the next call.
pub(crate) fn keep_host_buffer(pool: &Mutex<Option<wgpu::Buffer>>, buffer: wgpu::Buffer) {
    *lock(pool) = Some(buffer);
}

/// Encodes and submits. Returns wgpu's validation errors, but does not detect a lost device: a
/// caller that reads no result must call [`check_not_lost`](super::faults::check_not_lost).
pub(crate) fn submit(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    encode: impl FnOnce(&mut wgpu::CommandEncoder),
) -> Result<(), Error> {
    scoped(device, 0, || {
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
            label: Some("bcfsort"),
        });
        encode(&mut encoder);
        queue.submit([encoder.finish()]);
    })
}

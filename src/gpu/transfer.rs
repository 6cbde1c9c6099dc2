//! Uploads and downloads between host slices and GPU buffers.

use super::executor::submit;
use super::faults::{not_mapped, scoped};
use super::waiting::Waiting;
use crate::Error;

/// Bytes per staging buffer of an upload, which bounds staging memory.
const PIECE: u64 = 32 << 20;

/// Pieces in flight at a time.
const PIECES: usize = 4;

/// Writes `bytes` to `buffer` at a byte offset.
pub(crate) async fn upload(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    bytes: &[u8],
    (buffer, from): (&wgpu::Buffer, u64),
    waiting: Waiting,
) -> Result<(), Error> {
    for (i, piece) in bytes.chunks(PIECE as usize).enumerate() {
        write(device, queue, piece, buffer, from + i as u64 * PIECE)?;
        if i % PIECES == PIECES - 1 {
            waiting.done(device, queue).await?;
        }
    }
    Ok(())
}

/// Submits a copy of `bytes` to a buffer at a byte offset.
///
/// It uses its own mappable staging buffer. [`wgpu::Queue::write_buffer`], and a buffer without
/// `MAP_WRITE` that is mapped at creation, make wgpu allocate one. If that allocation fails, wgpu
/// treats the device as lost, with all of the user's objects (wgpu-core 30, `StagingBuffer::new`).
/// With our own buffer it is an error.
fn write(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    bytes: &[u8],
    buffer: &wgpu::Buffer,
    from: u64,
) -> Result<(), Error> {
    let size = bytes.len() as u64;
    let staging = scoped(device, size, || staging(device, size))?;
    fill(device, &staging, bytes)?;
    submit(device, queue, |encoder| {
        encoder.copy_buffer_to_buffer(&staging, 0, buffer, from, size);
    })
}

/// Writes to a buffer that was mapped at creation, and unmaps it.
pub(crate) fn fill(
    device: &wgpu::Device,
    buffer: &wgpu::Buffer,
    bytes: &[u8],
) -> Result<(), Error> {
    buffer
        .get_mapped_range_mut(..)
        .map_err(|error| not_mapped(device, &error))?
        .copy_from_slice(bytes);
    // If the device is lost by now, wgpu may have destroyed the buffer and report an error.
    scoped(device, 0, || buffer.unmap())
}

/// Creates a mapped staging buffer for an upload.
pub(crate) fn staging(device: &wgpu::Device, size: u64) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("bcfsort.staging"),
        size,
        usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: true,
    })
}

/// Reads `buffer` at a byte offset into `bytes`. On an error `bytes` is unchanged.
pub(crate) async fn download(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    (buffer, from): (&wgpu::Buffer, u64),
    bytes: &mut [u8],
    waiting: Waiting,
) -> Result<(), Error> {
    if bytes.is_empty() {
        return Ok(());
    }
    // One staging buffer for all of the result: if the device were lost between two pieces, the
    // user's slice would be half overwritten. Copies are in whole words.
    let size = (bytes.len() as u64).next_multiple_of(4);
    let staging = scoped(device, size, || {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("bcfsort.staging"),
            size,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    })?;
    submit(device, queue, |encoder| {
        encoder.copy_buffer_to_buffer(buffer, from, &staging, 0, size);
    })?;
    read_mapped(device, &staging, bytes, waiting).await
}

/// Maps a staging buffer, waits, copies its first bytes to `bytes`, and unmaps it.
pub(crate) async fn read_mapped(
    device: &wgpu::Device,
    staging: &wgpu::Buffer,
    bytes: &mut [u8],
    waiting: Waiting,
) -> Result<(), Error> {
    let range = ..(bytes.len() as u64).next_multiple_of(4);
    // Every wait succeeds on a lost device, so check the result of the mapping.
    waiting
        .answer(device, |answer| {
            // If the device is lost by now, wgpu reports it here and in the answer.
            drop(scoped(device, 0, || {
                staging.map_async(wgpu::MapMode::Read, range, answer);
            }));
        })
        .await?
        .map_err(|error| Error::DeviceLost(error.to_string()))?;
    {
        let view = staging
            .get_mapped_range(range)
            .map_err(|error| not_mapped(device, &error))?;
        bytes.copy_from_slice(&view[..bytes.len()]);
    }
    // All bytes are read. If the device is lost by now, the next call reports it.
    drop(scoped(device, 0, || staging.unmap()));
    Ok(())
}

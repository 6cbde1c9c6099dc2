//! Keys between host slices and buffers.

use super::executor::submit;
use super::faults::{not_mapped, scoped};
use super::waiting::Waiting;
use crate::Error;

/// Bytes uploaded at a time: it keeps staging memory small.
const PIECE: u64 = 32 << 20;

/// Pieces on their way at a time.
const PIECES: usize = 4;

/// Writes `bytes` to `buffer`, from some byte on.
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

/// Writes `bytes` to a buffer, from some byte on, before what is submitted next.
///
/// Not by [`wgpu::Queue::write_buffer`], nor by a buffer that is mapped when it is made and never
/// again: where wgpu finds no memory for its own staging buffer, it takes the device for lost
/// (wgpu-core 30, `StagingBuffer::new`), and with it all that the caller has there. For one of ours
/// that is an error.
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

/// Writes to a buffer that has been mapped since it was made, and unmaps it.
pub(crate) fn fill(
    device: &wgpu::Device,
    buffer: &wgpu::Buffer,
    bytes: &[u8],
) -> Result<(), Error> {
    buffer
        .get_mapped_range_mut(..)
        .map_err(|error| not_mapped(device, &error))?
        .copy_from_slice(bytes);
    // (If the device is lost by now, wgpu may have destroyed the buffer, and object.)
    scoped(device, 0, || buffer.unmap())
}

/// A mapped buffer, to be copied from.
pub(crate) fn staging(device: &wgpu::Device, size: u64) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("bcfsort.staging"),
        size,
        usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: true,
    })
}

/// Reads `buffer`, from some byte on, into `bytes`: all of it, or none.
pub(crate) async fn download(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    (buffer, from): (&wgpu::Buffer, u64),
    bytes: &mut [u8],
    waiting: Waiting,
) -> Result<(), Error> {
    // As large as the result: with smaller pieces, a device lost between two of them would leave
    // the caller's slice half overwritten.
    if bytes.is_empty() {
        return Ok(());
    }
    // (Copies are of whole words.)
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

/// Maps a staging buffer, waits for it, copies its start out and unmaps it.
pub(crate) async fn read_mapped(
    device: &wgpu::Device,
    staging: &wgpu::Buffer,
    bytes: &mut [u8],
    waiting: Waiting,
) -> Result<(), Error> {
    let range = ..(bytes.len() as u64).next_multiple_of(4);
    // A lost device lets every wait succeed, so only the mapping's own answer counts.
    waiting
        .answer(device, |answer| {
            // (If the device is lost by now, wgpu says so twice: here, and in the answer.)
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
    // All is read: what wgpu may say of a device lost by now, the next call says.
    drop(scoped(device, 0, || staging.unmap()));
    Ok(())
}

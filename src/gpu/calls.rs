//! What every call does, whether it sorts or adds up: open a device, check what it is given, run
//! what is prepared.

use super::adapter::requirements;
use super::executor::{Detail, Prepared, Profile, run_profiled, submit};
use super::faults::scoped;
use super::waiting::Waiting;
use crate::plan::DeviceLimits;
use crate::{BufferRole, Error, KeyType};
use std::sync::{Mutex, PoisonError};

/// Opens a device of an adapter, with all that [`requirements`] ask for.
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

/// The number of keys or values, if one recording takes as many.
pub(crate) fn check_len(
    device: &wgpu::Device,
    limits: &DeviceLimits,
    len: u64,
    key: KeyType,
) -> Result<u32, Error> {
    let max_len = limits.max_len(key);
    if len <= max_len {
        return Ok(len as u32);
    }
    let device = device.limits();
    let (limit, limit_bytes) = if device.max_storage_buffer_binding_size <= device.max_buffer_size {
        (
            "max_storage_buffer_binding_size",
            device.max_storage_buffer_binding_size,
        )
    } else {
        ("max_buffer_size", device.max_buffer_size)
    };
    Err(Error::TooLarge {
        len,
        key,
        bytes: len.saturating_mul(key.bytes()),
        max_len,
        limit,
        limit_bytes,
    })
}

/// The first `len` elements of so many bits of a caller's buffer, if it has as many and may be
/// bound. Whole words are.
pub(crate) fn bind(
    role: BufferRole,
    buffer: &wgpu::Buffer,
    len: u64,
    bits: u64,
) -> Result<wgpu::BufferBinding<'_>, Error> {
    // (Rows that go along may be larger than keys, of which there are checked to be so many.)
    let needed = len.saturating_mul(bits).div_ceil(32) * 4;
    let actual = buffer.size();
    if actual < needed {
        return Err(Error::BufferTooSmall {
            buffer: role,
            len,
            bits,
            needed,
            actual,
        });
    }
    if !buffer.usage().contains(wgpu::BufferUsages::STORAGE) {
        return Err(Error::BufferUsage {
            buffer: role,
            needed: wgpu::BufferUsages::STORAGE,
            actual: buffer.usage(),
        });
    }
    Ok(wgpu::BufferBinding {
        buffer,
        offset: 0,
        size: wgpu::BufferSize::new(needed),
    })
}

/// A buffer for a host slice: the one that the last call left, if it is large enough. One too small
/// is let go before a larger one is made.
pub(crate) fn host_buffer(
    device: &wgpu::Device,
    label: &str,
    bytes: u64,
    pool: &Mutex<Option<wgpu::Buffer>>,
) -> Result<wgpu::Buffer, Error> {
    let pooled = pool.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(buffer) = pooled.filter(|buffer| buffer.size() >= bytes) {
        return Ok(buffer);
    }
    scoped(device, bytes, || {
        use wgpu::BufferUsages as Usage;
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: bytes,
            usage: Usage::STORAGE | Usage::COPY_DST | Usage::COPY_SRC,
            mapped_at_creation: false,
        })
    })
}

/// Keeps a [`host_buffer`] for the next call.
pub(crate) fn keep_host_buffer(pool: &Mutex<Option<wgpu::Buffer>>, buffer: wgpu::Buffer) {
    *pool.lock().unwrap_or_else(PoisonError::into_inner) = Some(buffer);
}

/// Submits all of it, and does not wait. (See [`submit`] for a lost device.)
pub(crate) fn submit_all(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    prepared: &Prepared,
) -> Result<(), Error> {
    (0..prepared.submissions()).try_for_each(|submission| {
        submit(device, queue, |encoder| {
            prepared.encode(encoder, submission);
        })
    })
}

/// Submits all of it; with `profiled`, waits before and after, and says what took how long.
pub(crate) async fn run(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    prepared: &Prepared,
    waiting: Waiting,
    profiled: bool,
) -> Result<Option<Profile>, Error> {
    if !profiled {
        return submit_all(device, queue, prepared).map(|()| None);
    }
    run_profiled(device, queue, prepared, Detail::Phases, waiting)
        .await
        .map(Some)
}

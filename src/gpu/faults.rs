//! From wgpu's error scopes to typed errors.

use crate::Error;

/// Runs `create`, which makes GPU objects, and returns what wgpu has to say against it.
///
/// `bytes` is the memory asked for, for the message. On the web, where a scope is answered only
/// after returning to the browser, errors go to the device's own handler instead.
///
/// wgpu keeps a stack of scopes for each thread. So calls on several threads at the same time each
/// get their own errors, where `create` does all on the thread that it is called on.
pub(crate) fn scoped<T>(
    device: &wgpu::Device,
    bytes: u64,
    create: impl FnOnce() -> T,
) -> Result<T, Error> {
    #[cfg(not(target_arch = "wasm32"))]
    {
        let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
        let made = create();
        // Popped in reverse order, all of them: a scope left open would swallow later errors.
        let errors = [
            pollster::block_on(internal.pop()),
            pollster::block_on(memory.pop()),
            pollster::block_on(validation.pop()),
        ];
        match errors.into_iter().flatten().next() {
            None => Ok(made),
            Some(error) => Err(match typed(&error, bytes) {
                Error::Device(message) if is_lost(device) => Error::DeviceLost(message),
                error => error,
            }),
        }
    }
    #[cfg(target_arch = "wasm32")]
    {
        let _ = (device, bytes);
        Ok(create())
    }
}

/// Whether nothing works on the device any more. wgpu says of objects made on a lost device only
/// that they are invalid, so this tries to map one: the callback tells a lost device's truth.
#[cfg(not(target_arch = "wasm32"))]
fn is_lost(device: &wgpu::Device) -> bool {
    let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let probe = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("bcfsort.probe"),
        size: 4,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let answer = pollster::block_on(super::waiting::Waiting::Block.answer(device, |answer| {
        probe.map_async(wgpu::MapMode::Read, .., answer);
    }));
    let refused = pollster::block_on(scope.pop()).is_some();
    refused || !matches!(answer, Ok(Ok(())))
}

#[cfg(not(target_arch = "wasm32"))]
fn typed(error: &wgpu::Error, bytes: u64) -> Error {
    use std::error::Error as _;
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_message = cause.to_string();
        if !message.contains(&cause_message) {
            message = format!("{message}: {cause_message}");
        }
        source = cause.source();
    }
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match error {
        wgpu::Error::OutOfMemory { .. } => Error::OutOfMemory { bytes, message },
        wgpu::Error::Validation { .. } | wgpu::Error::Internal { .. } => Error::Device(message),
    }
}

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
                Error::Device(message) | Error::OutOfMemory { message, .. } if is_lost(device) => {
                    Error::DeviceLost(message)
                }
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

/// Why there is no view of a buffer of this crate's that should be mapped.
///
/// In a browser it was mapped, and nothing unmaps it but the end of its device.
pub(crate) fn not_mapped(device: &wgpu::Device, error: &wgpu::MapRangeError) -> Error {
    let message = one_line(&error.to_string());
    if cfg!(target_arch = "wasm32") || is_lost(device) {
        Error::DeviceLost(message)
    } else {
        Error::Device(message)
    }
}

/// That the device is not lost. wgpu makes on a lost one whatever it is asked for, and says nothing
/// until that is used.
pub(crate) fn check_not_lost(device: &wgpu::Device) -> Result<(), Error> {
    if is_lost(device) {
        let message = "nothing can be made on it any more";
        return Err(Error::DeviceLost(message.to_owned()));
    }
    Ok(())
}

/// Whether nothing works on the device any more. wgpu says of objects made on a lost device only
/// that they are invalid, so this makes one that has to be valid on any other: a buffer whose
/// memory can be written at once. (It waits for nothing: a lost device may never answer.)
fn is_lost(device: &wgpu::Device) -> bool {
    #[cfg(not(target_arch = "wasm32"))]
    {
        let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let probe = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("bcfsort.probe"),
            size: 4,
            usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: true,
        });
        let works = probe.get_mapped_range_mut(..).is_ok();
        // A device without memory for four bytes need not be lost.
        let has_memory = pollster::block_on(memory.pop()).is_none();
        drop(pollster::block_on(validation.pop()));
        has_memory && !works
    }
    #[cfg(target_arch = "wasm32")]
    {
        let _ = device;
        false
    }
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
    let message = one_line(&message);
    match error {
        wgpu::Error::OutOfMemory { .. } => Error::OutOfMemory { bytes, message },
        wgpu::Error::Validation { .. } | wgpu::Error::Internal { .. } => Error::Device(message),
    }
}

/// What wgpu says, in one line.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

//! Converts wgpu's errors into [`Error`], by error scopes, and detects lost devices.

use crate::Error;

/// Runs `create`, which calls wgpu, in error scopes, and returns the first error of wgpu.
///
/// `bytes` is the size of the requested memory, for the message. A browser answers a scope only
/// after the call returns to it: [`settled`] waits for that, and a later call returns an error that
/// has arrived until then.
///
/// wgpu keeps a stack of scopes for each thread. So concurrent calls get their own errors, provided
/// that `create` does all its work on the calling thread.
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
        // Pop all scopes in reverse order: an open scope would swallow later errors.
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
        browser::check(device)?;
        let made = browser::scoped(device, bytes, create);
        Ok(made)
    }
}

/// Waits until it is known whether all calls so far were valid, and returns the first error. That
/// takes time in browsers only.
pub(crate) async fn settled(device: &wgpu::Device) -> Result<(), Error> {
    #[cfg(target_arch = "wasm32")]
    {
        browser::answered(device).await;
        browser::check(device)
    }
    #[cfg(not(target_arch = "wasm32"))]
    {
        let _ = device;
        Ok(())
    }
}

/// The error scopes that the browser has not answered.
#[cfg(target_arch = "wasm32")]
mod browser {
    use super::typed;
    use crate::Error;
    use std::cell::RefCell;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    type Answer = Pin<Box<dyn Future<Output = Option<wgpu::Error>>>>;

    struct Pending {
        device: wgpu::Device,
        bytes: u64,
        answer: Answer,
    }

    thread_local! {
        static PENDING: RefCell<Vec<Pending>> = const { RefCell::new(Vec::new()) };
        static FAILED: RefCell<Vec<(wgpu::Device, Error)>> = const { RefCell::new(Vec::new()) };
    }

    /// Calls `create` in error scopes, whose answers become pending.
    pub(super) fn scoped<T>(device: &wgpu::Device, bytes: u64, create: impl FnOnce() -> T) -> T {
        let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
        let made = create();
        // Popped now, so that the program's own calls are in no scope.
        let answers: [Answer; 3] = [
            Box::pin(internal.pop()),
            Box::pin(memory.pop()),
            Box::pin(validation.pop()),
        ];
        PENDING.with_borrow_mut(|pending| {
            pending.extend(answers.map(|answer| Pending {
                device: device.clone(),
                bytes,
                answer,
            }));
        });
        made
    }

    /// Returns the first error of a device that has arrived and was not returned before.
    pub(super) fn check(device: &wgpu::Device) -> Result<(), Error> {
        PENDING.with_borrow_mut(|all| {
            all.retain_mut(|pending| {
                let mut context = Context::from_waker(Waker::noop());
                match pending.answer.as_mut().poll(&mut context) {
                    Poll::Pending => true,
                    Poll::Ready(error) => {
                        pending.failed(error);
                        false
                    }
                }
            });
        });
        FAILED.with_borrow_mut(|failed| {
            let found = failed.iter().position(|(of, _)| of == device);
            found.map_or(Ok(()), |i| {
                let (_, first) = failed.remove(i);
                // What follows from it is no news.
                failed.retain(|(of, _)| of != device);
                Err(first)
            })
        })
    }

    /// Waits for the answers to all scopes of a device so far.
    pub(super) async fn answered(device: &wgpu::Device) {
        let (own, others): (Vec<_>, Vec<_>) = PENDING
            .take()
            .into_iter()
            .partition(|pending| pending.device == *device);
        PENDING.set(others);
        for mut pending in own {
            let error = pending.answer.as_mut().await;
            pending.failed(error);
        }
    }

    impl Pending {
        fn failed(&self, error: Option<wgpu::Error>) {
            if let Some(error) = error {
                let error = typed(&error, self.bytes);
                FAILED.with_borrow_mut(|failed| failed.push((self.device.clone(), error)));
            }
        }
    }
}

/// The error for a buffer of this crate whose mapped range is not available.
///
/// In a browser that means a lost device, since nothing else unmaps the buffer.
pub(crate) fn not_mapped(device: &wgpu::Device, error: &wgpu::MapRangeError) -> Error {
    let message = one_line(&error.to_string());
    if cfg!(target_arch = "wasm32") || is_lost(device) {
        Error::DeviceLost(message)
    } else {
        Error::Device(message)
    }
}

/// Fails if the device is lost. wgpu creates objects on a lost device without an error, and reports
/// the loss only when they are used.
pub(crate) fn check_not_lost(device: &wgpu::Device) -> Result<(), Error> {
    if is_lost(device) {
        let message = "nothing can be made on it any more";
        return Err(Error::DeviceLost(message.to_owned()));
    }
    Ok(())
}

/// True if the device is lost. wgpu reports objects of a lost device only as invalid. So this
/// function creates a small mapped buffer, which is valid and writable on any working device. It
/// does not wait, because a lost device may never answer.
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
        // A device that is out of memory is not necessarily lost.
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

/// The text with all whitespace collapsed, on one line.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

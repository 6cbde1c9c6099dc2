//! Converts wgpu's errors into [`Error`], by error scopes, and detects lost devices.

use crate::error::Error;
use std::fmt::Display;

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
                    lost(&message)
                }
                error => error,
            }),
        }
    }
    #[cfg(target_arch = "wasm32")]
    {
        browser::check(device)?;
        Ok(browser::scoped(device, bytes, create))
    }
}

/// Waits until it is known whether all calls to wgpu in this [`call`] so far were valid, and
/// returns the first error. That takes time in browsers only.
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

/// Runs a future as one call of the user: in browsers, errors of calls at the same time are kept
/// apart.
pub(crate) async fn call<T>(future: impl Future<Output = T>) -> T {
    #[cfg(target_arch = "wasm32")]
    {
        browser::call(future).await
    }
    #[cfg(not(target_arch = "wasm32"))]
    {
        future.await
    }
}

/// The error scopes that the browser has not answered.
#[cfg(target_arch = "wasm32")]
mod browser {
    use super::typed;
    use crate::error::Error;
    use std::cell::{Cell, RefCell};
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    type Answer = Pin<Box<dyn Future<Output = Option<wgpu::Error>>>>;

    /// Whose errors they are: those of a device, and of a call on it, or of all that do not wait.
    #[derive(Clone, PartialEq)]
    struct Of {
        device: wgpu::Device,
        call: u64,
    }

    impl Of {
        fn now(device: &wgpu::Device) -> Self {
            Self {
                device: device.clone(),
                call: CALL.get(),
            }
        }
    }

    struct Pending {
        of: Of,
        bytes: u64,
        answer: Answer,
    }

    thread_local! {
        static PENDING: RefCell<Vec<Pending>> = const { RefCell::new(Vec::new()) };
        static FAILED: RefCell<Vec<(Of, Error)>> = const { RefCell::new(Vec::new()) };
        /// The call that is polled, or 0.
        static CALL: Cell<u64> = const { Cell::new(0) };
        static CALLS: Cell<u64> = const { Cell::new(0) };
    }

    /// A call. When it ends, or is dropped before, nobody asks for its errors any more.
    struct Call(u64);

    impl Drop for Call {
        fn drop(&mut self) {
            PENDING.with_borrow_mut(|pending| pending.retain(|one| one.of.call != self.0));
            FAILED.with_borrow_mut(|failed| failed.retain(|(of, _)| of.call != self.0));
        }
    }

    pub(super) async fn call<T>(future: impl Future<Output = T>) -> T {
        let call = Call(CALLS.get() + 1);
        CALLS.set(call.0);
        let mut future = pin!(future);
        std::future::poll_fn(|context| {
            let outer = CALL.replace(call.0);
            let polled = future.as_mut().poll(context);
            CALL.set(outer);
            polled
        })
        .await
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
                of: Of::now(device),
                bytes,
                answer,
            }));
        });
        made
    }

    /// Returns the first error that has arrived and was not returned before.
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
        let now = Of::now(device);
        FAILED.with_borrow_mut(|failed| {
            let found = failed.iter().position(|(of, _)| *of == now);
            found.map_or(Ok(()), |i| {
                let (_, first) = failed.remove(i);
                // What follows from it is no news.
                failed.retain(|(of, _)| *of != now);
                Err(first)
            })
        })
    }

    /// Waits for the answers to all scopes so far.
    pub(super) async fn answered(device: &wgpu::Device) {
        let now = Of::now(device);
        let (own, others): (Vec<_>, Vec<_>) =
            PENDING.take().into_iter().partition(|one| one.of == now);
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
                FAILED.with_borrow_mut(|failed| failed.push((self.of.clone(), error)));
            }
        }
    }
}

/// The error for a lost device, wherever a call finds the loss: in an error scope, in a wait, in a
/// mapping, or in a device that makes nothing any more.
pub(crate) fn lost(why: &dyn Display) -> Error {
    Error::DeviceLost(one_line(&why.to_string()))
}

/// The error for a buffer of this crate whose mapped range is not available.
///
/// In a browser that means a lost device, since nothing else unmaps the buffer.
pub(crate) fn not_mapped(device: &wgpu::Device, error: &wgpu::MapRangeError) -> Error {
    if cfg!(target_arch = "wasm32") || is_lost(device) {
        lost(error)
    } else {
        Error::Device(one_line(&error.to_string()))
    }
}

/// Fails if the device is lost. wgpu creates objects on a lost device without an error, and reports
/// the loss only when they are used.
pub(crate) fn check_not_lost(device: &wgpu::Device) -> Result<(), Error> {
    if is_lost(device) {
        return Err(lost(&"nothing can be made on it any more"));
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

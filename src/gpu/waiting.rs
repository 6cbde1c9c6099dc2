//! Waiting for the device: by blocking, or as a future.

use crate::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

/// How a call waits for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The thread stands still.
    Block,
    /// The future yields; meanwhile a thread of its own drives the device (on the web, the browser
    /// does).
    Yield,
}

struct Slot<T> {
    answer: Option<T>,
    waker: Option<Waker>,
}

impl Waiting {
    /// Waits for what `register` has the device call back with.
    pub(crate) async fn answer<T: Send + 'static>(
        self,
        device: &wgpu::Device,
        register: impl FnOnce(Box<dyn FnOnce(T) + Send>),
    ) -> Result<T, Error> {
        let slot = Arc::new(Mutex::new(Slot {
            answer: None,
            waker: None,
        }));
        let theirs = slot.clone();
        register(Box::new(move |answer| {
            let mut slot = theirs.lock().unwrap_or_else(PoisonError::into_inner);
            slot.answer = Some(answer);
            if let Some(waker) = slot.waker.take() {
                waker.wake();
            }
        }));
        let lost = |error: &dyn std::fmt::Display| Error::DeviceLost(error.to_string());
        let take = || {
            slot.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .answer
                .take()
        };
        if self == Self::Block {
            device
                .poll(wgpu::PollType::wait_indefinitely())
                .map_err(|e| lost(&e))?;
            return take().ok_or_else(|| lost(&"it never answered"));
        }
        #[cfg(not(target_arch = "wasm32"))]
        {
            let device = device.clone();
            std::thread::Builder::new()
                .name("bcfsort-poll".to_owned())
                .spawn(move || device.poll(wgpu::PollType::wait_indefinitely()))
                .map_err(|e| Error::Device(format!("no thread to wait with: {e}")))?;
        }
        Ok(std::future::poll_fn(|context| {
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(answer) = slot.answer.take() {
                return Poll::Ready(answer);
            }
            slot.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await)
    }

    /// Waits until everything submitted so far is done.
    pub(crate) async fn done(
        self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
    ) -> Result<(), Error> {
        self.answer(device, |answer| {
            queue.on_submitted_work_done(move || answer(()));
        })
        .await
    }
}

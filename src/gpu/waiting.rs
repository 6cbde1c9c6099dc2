//! Waiting for the device: by blocking, or as a future.

use crate::Error;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
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

/// How long an answer may take that is known to be on its way.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

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
        let answered = Arc::new(Condvar::new());
        let theirs = slot.clone();
        let notify = answered.clone();
        register(Box::new(move |answer| {
            let mut slot = theirs.lock().unwrap_or_else(PoisonError::into_inner);
            slot.answer = Some(answer);
            notify.notify_one();
            if let Some(waker) = slot.waker.take() {
                waker.wake();
            }
        }));
        let lost = |error: &dyn std::fmt::Display| Error::DeviceLost(error.to_string());
        if self == Self::Block {
            device
                .poll(wgpu::PollType::wait_indefinitely())
                .map_err(|e| lost(&e))?;
            // Another thread's poll may have taken the answer, and be about to call back.
            let slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            let (mut slot, _) = answered
                .wait_timeout_while(slot, PATIENCE, |slot| slot.answer.is_none())
                .unwrap_or_else(PoisonError::into_inner);
            return slot.answer.take().ok_or_else(|| lost(&"it never answered"));
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

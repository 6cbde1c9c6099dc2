//! Waiting for the device: by blocking, or as a future.

use super::faults::one_line;
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
    answer: Option<Result<T, Error>>,
    waker: Option<Waker>,
}

impl<T> Slot<T> {
    /// Gives the first answer that there is; what comes later says nothing new.
    fn fill(slot: &Mutex<Self>, answer: Result<T, Error>) {
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        slot.answer.get_or_insert(answer);
        if let Some(waker) = slot.waker.take() {
            waker.wake();
        }
    }
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
            Slot::fill(&theirs, Ok(answer));
            notify.notify_one();
        }));
        if self == Self::Block {
            poll(device)?;
            // Another thread's poll may have taken the answer, and be about to call back.
            let slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            let (mut slot, _) = answered
                .wait_timeout_while(slot, PATIENCE, |slot| slot.answer.is_none())
                .unwrap_or_else(PoisonError::into_inner);
            let lost = || Err(Error::DeviceLost("it never answered".to_owned()));
            return slot.answer.take().unwrap_or_else(lost);
        }
        #[cfg(not(target_arch = "wasm32"))]
        {
            let (device, slot) = (device.clone(), slot.clone());
            std::thread::Builder::new()
                .name("bcfsort-poll".to_owned())
                .spawn(move || {
                    // (A device that is lost while it is waited for need not call back.)
                    if let Err(lost) = poll(&device) {
                        Slot::fill(&slot, Err(lost));
                    }
                })
                .map_err(|e| Error::Device(format!("no thread to wait with: {e}")))?;
        }
        std::future::poll_fn(|context| {
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(answer) = slot.answer.take() {
                return Poll::Ready(answer);
            }
            slot.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
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

/// Waits until everything submitted so far is done, and has wgpu call back.
///
/// Where it finds there that the device was lost, as by a driver that was reset, `Device::poll` of
/// wgpu 30 panics: it takes all but what is wrong about the wait itself for fatal. That panic is an
/// error here. (The message of it is printed all the same, by the process's panic hook.) Any other
/// panic is one of a callback, and goes on.
fn poll(device: &wgpu::Device) -> Result<(), Error> {
    let polled = loss_or(|| device.poll(wgpu::PollType::wait_indefinitely()))?;
    polled
        .map(drop)
        .map_err(|error| Error::DeviceLost(error.to_string()))
}

/// What a call of `Device::poll` returns, or the loss that it panics for.
fn loss_or<T>(poll: impl FnOnce() -> T) -> Result<T, Error> {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    // (wgpu has let go of its locks and has called back by then.)
    catch_unwind(AssertUnwindSafe(poll)).map_err(|panic| {
        let text = panic.downcast_ref::<String>();
        match text.and_then(|text| text.strip_prefix("Error in Device::poll: ")) {
            Some(why) => Error::DeviceLost(one_line(why)),
            None => resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_that_wgpu_panics_for_is_an_error_and_no_other_panic_is() {
        assert_eq!(loss_or(|| 3).unwrap(), 3);
        let lost: Result<(), _> = loss_or(|| {
            let why = "Validation Error\n\nCaused by:\n  Parent device is lost\n";
            panic!("Error in {}: {why}", "Device::poll");
        });
        let error = lost.unwrap_err();
        assert!(matches!(error, Error::DeviceLost(_)), "{error:?}");
        assert_eq!(
            error.to_string(),
            "the device was lost: Validation Error Caused by: Parent device is lost"
        );
        let panic = std::panic::catch_unwind(|| {
            let _: Result<(), _> = loss_or(|| panic!("a callback's"));
        })
        .unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"a callback's"));
    }
}

//! Waits for the device, by blocking or as a future.

use super::faults::{lost, settled};
use crate::at_once::lock;
use crate::error::Error;
use crate::gpu::Instant;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Poll, Waker};

/// How a call waits for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The calling thread blocks.
    Block,
    /// The future yields, and an additional thread polls the device. On the web the browser does.
    Yield,
}

/// For this long a blocked thread asks whether the device is done. Then it sleeps. To wake it up
/// takes a third of the time of a short slice.
const AWAKE: std::time::Duration = std::time::Duration::from_micros(500);

/// The time limit for a callback after the device has finished.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

struct Slot<T> {
    answer: Option<Result<T, Error>>,
    waker: Option<Waker>,
}

impl<T> Slot<T> {
    /// Stores an answer and wakes the waiting task. Only the first answer counts.
    fn fill(slot: &Mutex<Self>, answer: Result<T, Error>) {
        let mut slot = lock(slot);
        slot.answer.get_or_insert(answer);
        if let Some(waker) = slot.waker.take() {
            waker.wake();
        }
    }
}

impl Waiting {
    /// Waits for the device to call the callback that `register` gets, and returns its argument.
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
        let callback_slot = slot.clone();
        let notify = answered.clone();
        register(Box::new(move |answer| {
            Slot::fill(&callback_slot, Ok(answer));
            notify.notify_one();
        }));
        if self == Self::Block {
            if cfg!(target_arch = "wasm32") {
                let message = "a browser's thread cannot block: call the async version";
                return Err(Error::Device(message.to_owned()));
            }
            let begin = Instant::now();
            while lock(&slot).answer.is_none() {
                if begin.elapsed() > AWAKE {
                    poll(device)?;
                    break;
                }
                poll_once(device)?;
                std::thread::yield_now();
            }
            // Another thread's poll may have completed the work and be about to call back.
            let (mut slot, _) = answered
                .wait_timeout_while(lock(&slot), PATIENCE, |slot| slot.answer.is_none())
                .unwrap_or_else(PoisonError::into_inner);
            let answer = slot.answer.take();
            return answer.unwrap_or_else(|| Err(lost(&"it never answered")));
        }
        #[cfg(not(target_arch = "wasm32"))]
        {
            let (device, slot) = (device.clone(), slot.clone());
            std::thread::Builder::new()
                .name("bcfsort-poll".to_owned())
                .spawn(move || {
                    // A device that is lost during the wait may never call back.
                    if let Err(lost) = poll(&device) {
                        Slot::fill(&slot, Err(lost));
                    }
                })
                .map_err(|e| Error::Device(format!("no thread to wait with: {e}")))?;
        }
        let answer = std::future::poll_fn(|context| {
            let mut slot = lock(&slot);
            if let Some(answer) = slot.answer.take() {
                return Poll::Ready(answer);
            }
            slot.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
        // An invalid call explains a missing answer.
        settled(device).await?;
        answer
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

/// Waits until everything submitted so far is done, and runs wgpu's callbacks.
///
/// `Device::poll` of wgpu 30 panics if it finds the device lost, e.g. because the driver was reset:
/// it treats every error as fatal unless the wait itself is invalid. This function turns that panic
/// into an error. The process's panic hook still prints the message. Any other panic comes from a
/// callback and is passed on.
fn poll(device: &wgpu::Device) -> Result<(), Error> {
    let polled = loss_or(|| device.poll(wgpu::PollType::wait_indefinitely()))?;
    polled.map(drop).map_err(|error| lost(&error))
}

/// Runs wgpu's callbacks for all that is done, without a wait.
pub(crate) fn poll_once(device: &wgpu::Device) -> Result<(), Error> {
    let polled = loss_or(|| device.poll(wgpu::PollType::Poll))?;
    polled.map(drop).map_err(|error| lost(&error))
}

/// Calls `Device::poll`. Turns its panic for a lost device into an error.
fn loss_or<T>(poll: impl FnOnce() -> T) -> Result<T, Error> {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    // Unwind safe: wgpu has released its locks and has run its callbacks before it panics.
    catch_unwind(AssertUnwindSafe(poll)).map_err(|panic| {
        let text = panic.downcast_ref::<String>();
        match text.and_then(|text| text.strip_prefix("Error in Device::poll: ")) {
            Some(why) => lost(&why),
            None => resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_for_a_lost_device_is_an_error_and_other_panics_are_passed_on() {
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

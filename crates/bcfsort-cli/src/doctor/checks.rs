//! Checks that may fail in any way: a panic or a lost device is the result of one check, and the
//! next one runs on a new device.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use wgpu_bcfsort::{Options, Sorter, wgpu};

/// Runs a check. A panic is an error.
pub(super) fn guarded<T>(check: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(check))
        .unwrap_or_else(|panic| Err(format!("panic: {}", message(&*panic))))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("without a message")
}

/// A device that is opened when it is first needed, and again after it is lost.
pub(super) struct Opened<'a> {
    pub(super) adapter: &'a wgpu::Adapter,
    sorter: Option<Sorter>,
}

impl<'a> Opened<'a> {
    pub(super) const fn new(adapter: &'a wgpu::Adapter) -> Self {
        Self {
            adapter,
            sorter: None,
        }
    }

    /// Runs a check on the device. Neither a panic nor a lost device spoils the next check.
    pub(super) fn guarded<T>(
        &mut self,
        check: impl FnOnce(&Sorter) -> Result<T, String>,
    ) -> Result<T, String> {
        let sorter = match self.sorter.take() {
            Some(sorter) => sorter,
            None => guarded(|| {
                let opened = Sorter::open(Options::default().adapter(self.adapter));
                opened.map_err(|error| format!("the device cannot be opened: {error}"))
            })?,
        };
        let result = guarded(|| check(&sorter));
        if result.is_ok() || guarded(|| works(&sorter)).is_ok() {
            self.sorter = Some(sorter);
        } else {
            // Some drivers panic here.
            let _ = guarded(|| {
                drop(sorter);
                Ok(())
            });
        }
        result
    }
}

/// Fails if the device is lost: it keeps no word.
fn works(sorter: &Sorter) -> Result<(), String> {
    let kept = sorter.upload(&[0x5eed_u32]);
    let kept = kept.and_then(|buffer| sorter.download::<u32>(&buffer));
    match kept {
        Ok(words) if words == [0x5eed] => Ok(()),
        Ok(_) => Err("the device keeps no word".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(guarded(|| Ok(3)), Ok(3));
        let failed: Result<(), _> = guarded(|| panic!("no {}", 7));
        assert_eq!(failed, Err("panic: no 7".to_owned()));
        let failed: Result<(), _> = guarded(|| panic!("plain"));
        assert_eq!(failed, Err("panic: plain".to_owned()));
    }

    #[test]
    fn a_lost_device_fails_one_check() {
        let Some(adapter) = wgpu_bcfsort::adapters().into_iter().next() else {
            return;
        };
        let mut device = Opened::new(&adapter);
        let lost = device.guarded(|sorter| {
            sorter.device().destroy();
            works(sorter)
        });
        lost.unwrap_err();
        assert_eq!(device.guarded(works), Ok(()));
        let failed = device.guarded(|_| Err::<(), _>("a wrong result".to_owned()));
        assert_eq!(failed, Err("a wrong result".to_owned()));
        assert!(device.sorter.is_some(), "the device is kept");
    }
}

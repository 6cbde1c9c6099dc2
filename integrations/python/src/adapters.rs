//! The adapters of the machine, and the sorters of the devices that calls name.

use crate::errors::{no_device, warn};
use crate::process::detach;
use bcfsort_auto::device::{self, adapters, is_software};
use bcfsort_auto::{AutoSorter, Device, Error, NoDevice, OnError, Warning};
use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use wgpu_bcfsort::wgpu::Adapter;

/// The adapters that can sort, best first: (name, backend, driver, whether it is software).
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> Vec<(String, String, String, bool)> {
    let describe = |adapter: &Adapter| {
        let info = adapter.get_info();
        let driver = format!("{} {}", info.driver, info.driver_info);
        let is_software = is_software(&info);
        let backend = info.backend.to_string();
        (info.name, backend, driver.trim().to_owned(), is_software)
    };
    detach(py, || adapters().iter().map(describe).collect())
}

/// The number of devices that are open.
#[pyfunction]
pub(crate) fn opened(py: Python<'_>) -> usize {
    detach(py, device::opened)
}

/// What a call names as its device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) device: Device,
    /// Whether it was an integer: the number of an adapter, and never a part of a name.
    pub(crate) is_number: bool,
}

/// The sorter of a name. It is kept as long as the process lives, so that all calls share it.
pub(crate) struct Named {
    name: Name,
    process: u32,
    pub(crate) sorter: AutoSorter,
    /// The indices of its adapters; none if it has to choose, or is the CPU.
    pub(crate) adapters: Vec<usize>,
    /// Whether a GPU has worked for it.
    pub(crate) is_open: AtomicBool,
}

impl Named {
    fn new(name: Name, sorter: AutoSorter, adapters: Vec<usize>) -> Self {
        Self {
            name,
            process: std::process::id(),
            sorter,
            adapters,
            is_open: AtomicBool::new(false),
        }
    }

    /// The sorter of a name, after the environment was applied to it. `is_auto` if the call has
    /// named no device. Opens nothing.
    pub(crate) fn of(name: &Name, is_auto: bool) -> PyResult<Arc<Self>> {
        static ALL: Mutex<Vec<Arc<Named>>> = Mutex::new(Vec::new());

        let process = std::process::id();
        // A forked process makes its own, unless its parent has opened the GPU: that is an error
        // there.
        let is_it = |each: &&Arc<Self>| {
            each.name == *name && (each.process == process || each.is_open.load(Relaxed))
        };
        let all = || ALL.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = all().iter().find(is_it) {
            return Ok(found.clone());
        }
        let (sorter, adapters) = match name.device {
            Device::Auto | Device::Cpu => {
                let none = |_: Error| no_device(&NoDevice::None, is_auto);
                let sorter = AutoSorter::new(name.device.clone()).map_err(none)?;
                (sorter.warn_by(warn_caller), Vec::new())
            }
            _ => {
                let indices = indices(name).map_err(|error| no_device(&error, is_auto))?;
                let chosen = indices.iter().map(|&i| adapters()[i].clone()).collect();
                let sorter = AutoSorter::of_adapters(chosen).with_device(name.device.clone());
                (sorter.on_error(OnError::Fail), indices)
            }
        };
        let made = Arc::new(Self::new(name.clone(), sorter, adapters));
        let mut all = all();
        // Another thread may have been faster.
        if let Some(found) = all.iter().find(is_it) {
            return Ok(found.clone());
        }
        all.push(made.clone());
        Ok(made)
    }

    /// A sorter on an adapter, even a software one. The CPU replaces it if it fails.
    pub(crate) fn replaceable(index: usize) -> PyResult<Arc<Self>> {
        let device = Device::Named(index.to_string());
        let name = Name {
            device,
            is_number: true,
        };
        let indices = indices(&name).map_err(|error| no_device(&error, false))?;
        let chosen = indices.iter().map(|&i| adapters()[i].clone()).collect();
        let sorter = AutoSorter::of_adapters(chosen).warn_by(warn_caller);
        Ok(Arc::new(Self::new(name, sorter, Vec::new())))
    }
}

/// The indices of the adapters that a device names. A number names only one.
fn indices(name: &Name) -> Result<Vec<usize>, NoDevice> {
    let all = adapters();
    if name.is_number && !all.is_empty() {
        let number = name.device.to_string();
        let index = number.parse().ok().filter(|&i: &usize| i < all.len());
        return match index {
            Some(index) => Ok(vec![index]),
            None => Err(NoDevice::Unknown {
                name: number,
                there: all.iter().map(|a| a.get_info().name).collect(),
            }),
        };
    }
    let chosen = name.device.among(all)?;
    let index = |adapter: &Adapter| all.iter().position(|a| a == adapter);
    Ok(chosen.iter().filter_map(index).collect())
}

thread_local! {
    /// The error into which Python's filters turned a warning, until the call can raise it.
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// The error of the last warning of this thread.
pub(crate) fn take_raised() -> Option<PyErr> {
    RAISED.take()
}

/// Warns the caller of the package. A failure is told once in a process.
fn warn_caller(warning: &Warning) {
    static FAILED: AtomicBool = AtomicBool::new(false);

    let warned = match warning {
        Warning::NoAdapter => {
            let none = NoDevice::None;
            let message = format!("the CPU sorts (device='cpu' avoids this warning): {none}");
            warn("NoAdapterWarning", &message)
        }
        Warning::Failed(why) if !FAILED.swap(true, Relaxed) => {
            warn("DeviceFailedWarning", &format!("the CPU sorts: {why}"))
        }
        _ => Ok(()),
    };
    RAISED.set(warned.err());
}

//! The adapters of the machine, and what is open on them.

use crate::errors::Failure;
use crate::gpu::Gpus;
use crate::process::detach;
use bcfsort_auto::device::is_software;
use bcfsort_auto::{Device, NoDevice};
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wgpu_bcfsort::{adapters, wgpu::Adapter};

/// Asked for once, since some drivers take a second to answer.
struct Machine {
    process: u32,
    adapters: Vec<Adapter>,
    open: Vec<Gpus>,
}

static MACHINE: Mutex<Option<Machine>> = Mutex::new(None);

/// Acts on the machine, without the GIL: opening takes seconds.
fn with<R>(act: impl FnOnce(&mut Machine) -> R) -> R {
    let mut machine: MutexGuard<'_, _> = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some(of) = &mut *machine
        && of.process != process
        && of.open.is_empty()
    {
        // A forked process cannot use, nor free, what drivers made for its parent.
        std::mem::forget(machine.take());
    }
    act(machine.get_or_insert_with(|| Machine {
        process,
        adapters: adapters(),
        open: Vec::new(),
    }))
}

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
    detach(py, || {
        with(|machine| machine.adapters.iter().map(describe).collect())
    })
}

/// The number of devices that are open.
#[pyfunction]
pub(crate) fn opened(py: Python<'_>) -> usize {
    detach(py, || with(|machine| machine.open.len()))
}

/// The indices of the adapters that a device names: of a number, only that one.
pub(crate) fn named(device: &Device, is_number: bool) -> Result<Vec<usize>, NoDevice> {
    with(|Machine { adapters, .. }| {
        if is_number && !adapters.is_empty() {
            let number = device.to_string();
            let index = number.parse().ok().filter(|&i: &usize| i < adapters.len());
            return match index {
                Some(index) => Ok(vec![index]),
                None => Err(NoDevice::Unknown {
                    name: number,
                    there: adapters.iter().map(|a| a.get_info().name).collect(),
                }),
            };
        }
        let chosen = device.among(adapters)?;
        let index = |adapter: &Adapter| adapters.iter().position(|a| a == adapter);
        Ok(chosen.iter().filter_map(index).collect())
    })
}

/// Why `auto` has no GPU.
pub(crate) enum Unusable {
    NoAdapter,
    /// The name of the best adapter, which is a program on the CPU.
    Software(String),
    Failed(String),
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoAdapter => NoDevice::None.fmt(f),
            Self::Software(name) => write!(f, "the best adapter, {name}, is software"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

/// The index and the name of the best adapter, if it is no software.
pub(crate) fn best() -> Result<(usize, String), Unusable> {
    with(|machine| match machine.adapters.first() {
        None => Err(Unusable::NoAdapter),
        Some(first) => {
            let info = first.get_info();
            if is_software(&info) {
                return Err(Unusable::Software(info.name));
            }
            Ok((0, info.name))
        }
    })
}

/// Opens adapters, or returns what is open of them.
pub(crate) fn open(indices: &[usize]) -> Result<Gpus, Failure> {
    with(|machine| {
        if let Some(gpus) = machine.open.iter().find(|gpus| gpus.adapters() == indices) {
            return Ok(gpus.clone());
        }
        if machine.process != std::process::id() {
            return Err(Failure::Forked);
        }
        let gpus = Gpus::open(indices, &machine.adapters)?;
        machine.open.push(gpus.clone());
        Ok(gpus)
    })
}

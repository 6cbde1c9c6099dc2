//! The device of a call: a sorter that chooses between GPUs and the CPU, or the one that is named.

use crate::adapters::{Name, Named, take_raised};
use crate::arrays::{same_length, with_word};
use crate::codes::Order;
use crate::errors::{Failure, named, raised};
use crate::model::Task;
use crate::process::detach;
use crate::{argsort, cpu, gpu, sort};
use bcfsort_auto::model::Gpu;
use bcfsort_auto::{Device, Work};
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use wgpu_bcfsort::MultiSorter;

/// A sort of fewer elements on the CPU ends before another thread could take the GIL.
const FEW: usize = 1 << 12;

/// The device that a call names, which sorts its arrays.
#[pyclass(module = "bcfsort._native", frozen)]
pub(crate) struct Engine {
    on: Arc<Named>,
    /// For tests: chooses between the CPU and its open GPU, even a software one.
    chooses: bool,
}

#[pymethods]
impl Engine {
    /// The device with a name: None, an integer or a text. GPUs are opened, but for `auto`.
    #[new]
    #[pyo3(signature = (device=None))]
    fn new(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let (device, is_number) = device.map_or(Ok((Device::Auto, false)), parse)?;
        let is_auto = device == Device::Auto;
        let name = Name {
            device: device.or_environment(),
            is_number,
        };
        if matches!(name.device, Device::Auto | Device::Cpu) {
            return Ok(Self::on(Named::of(&name, is_auto)?));
        }
        let open = || {
            let engine = Self::on(Named::of(&name, is_auto)?);
            engine.open()?;
            Ok(engine)
        };
        detach(py, open)
    }

    /// For tests: `auto` with this adapter open, even a software one.
    #[staticmethod]
    fn auto_on(py: Python<'_>, index: usize) -> PyResult<Self> {
        detach(py, || {
            let engine = Self::on(Named::replaceable(index)?);
            engine.open()?;
            Ok(Self {
                chooses: true,
                ..engine
            })
        })
    }

    /// Destroys the device of each of its GPUs, as if their drivers failed: for tests.
    fn destroy(&self) -> PyResult<()> {
        let destroy = |gpus: &MultiSorter| {
            let sorters = gpus.sorters().iter();
            sorters.for_each(|sorter| sorter.device().destroy());
            Ok(())
        };
        self.on_gpu(&nothing(), destroy).map(drop)
    }

    /// The indices of its adapters.
    #[getter]
    fn adapters(&self) -> Vec<usize> {
        self.on.adapters.clone()
    }

    /// Chooses what sorts in a call. Returns "numpy", "cpu" or "gpu", and the reason. Opens
    /// nothing.
    ///
    /// `work` is "sort" or "argsort", of rows of `columns` elements of 4 or 8 bytes.
    fn choose(
        &self,
        py: Python<'_>,
        work: &str,
        elements: usize,
        columns: usize,
        itemsize: usize,
    ) -> PyResult<(&'static str, String)> {
        let works = [Work::Sort, Work::Argsort];
        let Some(&work) = works.iter().find(|each| each.name() == work) else {
            return Err(PyValueError::new_err(format!("no such work: {work}")));
        };
        let task = if itemsize == 8 {
            Task::new::<u64>(work, elements, columns)
        } else {
            Task::new::<u32>(work, elements, columns)
        };
        detach(py, || {
            let choice = self.on.sorter.choose_call(&task.call());
            let mut choice = choice.map_err(|error| raised(&error))?;
            if self.chooses && choice.on_gpu {
                // The sorter itself would choose the GPU for every call.
                choice.on_gpu = !self.is_for_cpu(&task);
                let reasons = ["too few keys for a GPU", "the GPU takes less time"];
                choice.reason = reasons[usize::from(choice.on_gpu)].to_owned();
            }
            let engine = if choice.on_gpu { "gpu" } else { task.on_cpu() };
            Ok((engine, choice.reason))
        })
    }

    /// Writes the sorted words to `out`. Without words, sorts those in `out`.
    fn sort(
        &self,
        words: Option<&Bound<'_, PyAny>>,
        out: &Bound<'_, PyAny>,
        order: &Bound<'_, Order>,
    ) -> PyResult<()> {
        with_word!(out, W => sort::sort::<W>(self, words, out, order.get()); u32, u64, u8, u16)
    }

    /// Writes the indices that sort words, stably.
    fn argsort(
        &self,
        words: &Bound<'_, PyAny>,
        order: &Bound<'_, Order>,
        mut out: PyReadwriteArray1<'_, i64>,
    ) -> PyResult<()> {
        let out = out.as_slice_mut()?;
        with_word!(words, W => {
            argsort::argsort::<W>(self, words, order.get(), out)
        }; u32, u64, u8, u16)
    }

    /// Writes the first words in order (top-k), as many as `values` has, and their indices. Of
    /// equal words, those with the smallest indices are taken.
    fn top(
        &self,
        words: &Bound<'_, PyAny>,
        order: &Bound<'_, Order>,
        values: &Bound<'_, PyAny>,
        mut indices: PyReadwriteArray1<'_, i64>,
    ) -> PyResult<()> {
        let out = indices.as_slice_mut()?;
        with_word!(words, W => {
            argsort::top::<W>(self, words, order.get(), values, out)
        }; u32, u64, u8, u16)
    }

    /// Writes the words to `out` so that those of the ranks `begin..end` are in their sorted
    /// positions, smaller ones before and greater ones after them.
    fn partition(
        &self,
        words: &Bound<'_, PyAny>,
        order: &Bound<'_, Order>,
        begin: usize,
        end: usize,
        out: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        with_word!(words, W => {
            let ranks = begin..end;
            if !argsort::partition::<W>(self, words, order.get(), ranks, out)? {
                sort::sort::<W>(self, Some(words), out, order.get())?;
            }
            Ok(())
        }; u32, u64, u8, u16)
    }

    /// Writes the indices of the words in the order of a `partition`: of equal words, those with
    /// the smallest indices come first.
    fn argpartition(
        &self,
        words: &Bound<'_, PyAny>,
        order: &Bound<'_, Order>,
        begin: usize,
        end: usize,
        mut out: PyReadwriteArray1<'_, i64>,
    ) -> PyResult<()> {
        let out = out.as_slice_mut()?;
        with_word!(words, W => {
            argsort::argpartition::<W>(self, words, order.get(), begin..end, out)
        }; u32, u64, u8, u16)
    }

    /// Sorts each row of `columns` codes, in place.
    fn sort_rows(&self, codes: &Bound<'_, PyAny>, columns: usize) -> PyResult<()> {
        let py = codes.py();
        let len = codes.len()?;
        whole_rows(len, columns)?;
        with_word!(codes, C => {
            let task = Task::new::<C>(Work::Sort, len, columns);
            {
                let mut array: PyReadwriteArray1<'_, C> = codes.extract()?;
                let codes = array.as_slice_mut()?;
                let sort = |gpus: &MultiSorter| gpu::sort_rows(gpus, codes, columns);
                if detach(py, || self.on_gpu(&task, sort))?.is_some() {
                    return Ok(());
                }
            }
            cpu::sort_rows(codes, columns, task.is_numpys())
        }; u32, u64)
    }

    /// Writes the indices within each row of `columns` codes that sort it, stably: the first `k` of
    /// each row.
    fn argsort_rows(
        &self,
        codes: &Bound<'_, PyAny>,
        columns: usize,
        k: usize,
        mut indices: PyReadwriteArray1<'_, i64>,
    ) -> PyResult<()> {
        let indices = indices.as_slice_mut()?;
        with_word!(codes, C => {
            let array: PyReadonlyArray1<'_, C> = codes.extract()?;
            let codes = array.as_slice()?;
            whole_rows(codes.len(), columns)?;
            if k > columns {
                return Err(PyValueError::new_err("the rows have fewer codes"));
            }
            same_length(codes.len() / columns * k, indices.len())?;
            if k == 0 {
                return Ok(());
            }
            let task = Task::new::<C>(Work::Argsort, codes.len(), columns);
            detach(array.py(), || {
                let argsort =
                    |gpus: &MultiSorter| gpu::argsort_rows(gpus, codes, columns, k, indices);
                if self.on_gpu(&task, argsort)?.is_none() {
                    can_be_numbered(columns)?;
                    cpu::argsort_rows(codes, columns, k, indices);
                }
                Ok(())
            })
        }; u32, u64)
    }
}

impl Engine {
    const fn on(on: Arc<Named>) -> Self {
        Self { on, chooses: false }
    }

    /// Opens its GPUs.
    fn open(&self) -> PyResult<()> {
        if !self.on.is_open.load(Relaxed) {
            self.on_gpu(&nothing(), |_| Ok(()))?;
        }
        Ok(())
    }

    /// Whether a call with this number of elements takes long enough for another thread to get the
    /// GIL.
    pub(crate) fn is_long(&self, elements: usize) -> bool {
        elements >= FEW || !self.on.adapters.is_empty() || self.chooses
    }

    /// Whether the CPU is to do a task, though the GPU is open.
    fn is_for_cpu(&self, task: &Task) -> bool {
        let estimate = task.call().estimate(Gpu::Open);
        self.chooses && estimate.cpu <= estimate.gpu
    }

    /// Whether GPUs are chosen for a task.
    pub(crate) fn is_on_gpu(&self, task: &Task) -> bool {
        let sorter = &self.on.sorter;
        let is_for_cpu = *sorter.device() == Device::Auto && task.is_small();
        let choice = || sorter.choose_call(&task.call());
        !is_for_cpu && !self.is_for_cpu(task) && choice().is_ok_and(|choice| choice.on_gpu)
    }

    /// Calls `work` with GPUs, or returns `None` if the CPU is to do the task: by choice, or
    /// because a GPU has failed. Callers release the GIL first, unless the task is small.
    pub(crate) fn on_gpu<R>(
        &self,
        task: &Task,
        work: impl FnOnce(&MultiSorter) -> Result<R, Failure>,
    ) -> PyResult<Option<R>> {
        let sorter = &self.on.sorter;
        match sorter.device() {
            Device::Cpu => return Ok(None),
            Device::Auto if task.is_small() => return Ok(None),
            _ if self.is_for_cpu(task) => return Ok(None),
            _ => {}
        }
        // An exception of Python is not a failure of the GPU.
        let worked = sorter.on_gpus(&task.call(), |gpus| match work(gpus) {
            Ok(result) => Ok(Ok(result)),
            Err(Failure::Python(error)) => Ok(Err(error)),
            Err(Failure::Sort(error)) => Err(error),
        });
        if let Some(error) = take_raised() {
            return Err(error);
        }
        let Some(result) = worked.map_err(|error| raised(&error))?.transpose()? else {
            return Ok(None);
        };
        self.on.is_open.store(true, Relaxed);
        Python::attach(|py| py.check_signals())?;
        Ok(Some(result))
    }
}

/// A task that takes no time.
fn nothing() -> Task {
    Task::new::<u32>(Work::Sort, 0, 0)
}

/// Parses the device of a call. The flag tells whether it is the number of an adapter.
fn parse(device: &Bound<'_, PyAny>) -> PyResult<(Device, bool)> {
    let parsed = |text: String| {
        let Ok(device) = text.parse::<Device>();
        device
    };
    if let Ok(text) = device.extract::<String>() {
        return Ok((parsed(text), false));
    }
    if device.is_instance_of::<PyBool>() || !device.hasattr("__index__")? {
        let kind = device.get_type().name()?;
        let message = format!("device is None, a number, a name or a Sorter, not {kind}");
        return Err(PyTypeError::new_err(message));
    }
    let number = device.call_method0("__index__")?.str()?;
    Ok((parsed(number.to_string()), true))
}

fn whole_rows(codes: usize, columns: usize) -> PyResult<()> {
    if columns == 0 || !codes.is_multiple_of(columns) {
        return Err(PyValueError::new_err("the rows are of different lengths"));
    }
    Ok(())
}

/// Fails if the codes of a row are too many for indices of 32 bits, which all sorts use.
pub(crate) fn can_be_numbered(codes: usize) -> PyResult<()> {
    u32::try_from(codes).map(drop).map_err(|_| {
        let message = format!("{codes} elements are too many for indices of 32 bits");
        named("Error", message)
    })
}

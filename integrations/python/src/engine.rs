//! Chooses the device of each call: numpy, all cores of the CPU, or GPUs.

use crate::adapters::{self, Unusable, best, open};
use crate::arrays::{Integer, decode_all, same_length, with_word};
use crate::codes::{self, Word};
use crate::errors::{Failure, named, warn};
use crate::gpu::{self, Gpus};
use crate::process::detach;
use crate::{cpu, cpu::widen};
use bcfsort_auto::device::{REQUIRE_ADAPTER, adapter_required};
use bcfsort_auto::model::{self, Call, Estimate};
use bcfsort_auto::{Device, NoDevice, Work};
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use std::borrow::Cow;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use wgpu_bcfsort::{Error, KeyType, Order, SortKey};

/// What a call sorts.
pub(crate) struct Task {
    work: Work,
    rows: usize,
    /// The codes of a row.
    columns: usize,
    key: KeyType,
}

impl Task {
    pub(crate) fn new<C: SortKey>(work: Work, codes: usize, columns: usize) -> Self {
        Self {
            work,
            rows: codes / columns.max(1),
            columns,
            key: C::KEY_TYPE,
        }
    }

    fn estimate(&self, gpu: model::Gpu) -> Estimate {
        let call = Call::new((self.rows * self.columns) as u64, self.key, self.work);
        let cpu = match self.work {
            Work::Sort => self.numpys().min(self.all_cores()),
            Work::Argsort => self.all_cores(),
        };
        Estimate {
            cpu,
            ..call.estimate(gpu)
        }
    }

    /// Seconds that numpy takes to sort the rows, by vector instructions on one thread: measured on
    /// a host with AVX-512 (see benches/results/python-sorts.csv).
    fn numpys(&self) -> f64 {
        let compared = if self.key.bytes() > 4 {
            0.55e-9
        } else {
            0.35e-9
        };
        let depth = (self.columns.max(2) as f64).log2();
        (self.rows * self.columns) as f64 * depth * compared
    }

    /// Seconds that all cores take: to sort one row after another, or each the indices of a row.
    fn all_cores(&self) -> f64 {
        let row = Call::new(self.columns as u64, self.key, self.work);
        let together = match self.work {
            Work::Sort => 1,
            Work::Argsort => row.threads.min(self.rows).max(1),
        };
        let row = Call {
            threads: row.threads / together,
            ..row
        };
        row.estimate(model::Gpu::Open).cpu * self.rows as f64 / together as f64
    }

    /// Whether numpy sorts, if the CPU does.
    fn is_numpys(&self) -> bool {
        self.work == Work::Sort && self.numpys() <= self.all_cores()
    }

    /// Who does it on the CPU.
    fn on_cpu(&self) -> &'static str {
        if self.is_numpys() { "numpy" } else { "cpu" }
    }
}

/// `auto`: a GPU, or the CPU, whichever takes less time.
struct Auto(Mutex<State>);

enum State {
    /// `missed`: seconds that an open GPU would have saved so far.
    Closed {
        missed: f64,
    },
    Open(Gpus),
    /// No GPU sorts, and why.
    None(String),
}

impl State {
    /// Whether a GPU takes less time, and why. The start of one that is closed is counted, until
    /// many tasks together would have saved it.
    fn decide(&self, task: &Task) -> (bool, Cow<'static, str>) {
        let open = task.estimate(model::Gpu::Open);
        let (estimate, missed) = match self {
            Self::Closed { missed } => (task.estimate(model::Gpu::Closed), *missed),
            Self::Open(_) => (open, 0.0),
            Self::None(why) => return (false, why.clone().into()),
        };
        // (A task that is faster on the CPU does not open a GPU for others.)
        if open.gpu < open.cpu && estimate.gpu < estimate.cpu + missed {
            (true, "a GPU takes less time".into())
        } else {
            (false, "too little work for a GPU".into())
        }
    }
}

impl Auto {
    /// Whether a GPU would do a task now, and why. Opens nothing.
    fn choose(&self, task: &Task) -> (bool, Cow<'static, str>) {
        let state = self.state();
        let chosen = state.decide(task);
        if chosen.0 && matches!(*state, State::Closed { .. }) {
            drop(state);
            return best().map_or_else(|why| (false, why.to_string().into()), |_| chosen);
        }
        chosen
    }

    /// The GPU for a task, opened if need be; `None` if the CPU is to do it.
    fn gpus(&self, task: &Task) -> PyResult<Option<Gpus>> {
        let mut state = self.state();
        let on_gpu = state.decide(task).0;
        match &mut *state {
            State::Open(gpus) if on_gpu => return Ok(Some(gpus.clone())),
            State::Closed { .. } if on_gpu => (),
            State::Closed { missed } => {
                let estimate = task.estimate(model::Gpu::Open);
                *missed += (estimate.cpu - estimate.gpu).max(0.0);
                return Ok(None);
            }
            State::Open(_) | State::None(_) => return Ok(None),
        }
        // (While it opens, other threads can sort on the CPU.)
        drop(state);
        let why = match best() {
            Ok((index, name)) => match open(&[index]) {
                Ok(gpus) => {
                    *self.state() = State::Open(gpus.clone());
                    return Ok(Some(gpus));
                }
                Err(failure) => Unusable::Failed(format!("{name} could not be opened: {failure}")),
            },
            Err(why) => why,
        };
        *self.state() = State::None(why.to_string());
        match &why {
            Unusable::Software(_) => (),
            Unusable::NoAdapter => {
                let message =
                    format!("{why}: the CPU sorts; device='cpu' says that this is intended");
                warn("NoAdapterWarning", &message)?;
            }
            Unusable::Failed(why) => warn_of_failure(why)?,
        }
        Ok(None)
    }

    /// After a failure of the GPU: an error if the CPU cannot do the task either.
    fn failed(&self, gpus: &Gpus, failure: Failure) -> PyResult<()> {
        let why = format!("{} failed: {failure}", gpus.name());
        match failure {
            Failure::Python(error) => return Err(error),
            Failure::Forked | Failure::Sort(Error::DeviceLost(_)) => {
                *self.state() = State::None(why.clone());
            }
            // After any other error it can be used again.
            Failure::Sort(_) => (),
        }
        warn_of_failure(&why)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // It is replaced as a whole: a panic leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says once in a process that the CPU sorts in place of a GPU.
fn warn_of_failure(why: &str) -> PyResult<()> {
    static WARNED: AtomicBool = AtomicBool::new(false);
    if WARNED.swap(true, Relaxed) {
        return Ok(());
    }
    warn("DeviceFailedWarning", &format!("the CPU sorts: {why}"))
}

/// What sorts the codes of a call: the device that it names.
#[pyclass(module = "bcfsort._native", frozen)]
pub(crate) struct Engine(Kind);

enum Kind {
    Auto(Arc<Auto>),
    Cpu,
    Gpus { gpus: Gpus, device: Device },
}

#[pymethods]
impl Engine {
    /// The device with a name: None, an integer or a text. GPUs are opened, but for `auto`.
    #[new]
    #[pyo3(signature = (device=None))]
    fn new(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        static AUTO: LazyLock<Arc<Auto>> =
            LazyLock::new(|| Arc::new(Auto(Mutex::new(State::Closed { missed: 0.0 }))));

        let (named_device, is_number) = device.map_or(Ok((Device::Auto, false)), parse)?;
        let is_auto = named_device == Device::Auto;
        let device = named_device.or_environment();
        match device {
            Device::Auto => return Ok(Self(Kind::Auto(AUTO.clone()))),
            Device::Cpu => return Ok(Self(Kind::Cpu)),
            Device::Gpu | Device::All | Device::Named(_) => (),
        }
        detach(py, || {
            let found = adapters::named(&device, is_number).map_err(|error| {
                let mut message = error.to_string();
                if error == NoDevice::None && is_auto && adapter_required() {
                    message += &format!(", and {REQUIRE_ADAPTER} is 1");
                }
                named("NoAdapterError", message)
            })?;
            let gpus = open(&found)?;
            Ok(Self(Kind::Gpus { gpus, device }))
        })
    }

    /// `auto` where the adapter with this index is open, also if it is software: for tests.
    #[staticmethod]
    fn auto_on(py: Python<'_>, index: usize) -> PyResult<Self> {
        let gpus = detach(py, || open(&[index]))?;
        let auto = Auto(Mutex::new(State::Open(gpus)));
        Ok(Self(Kind::Auto(Arc::new(auto))))
    }

    /// Destroys the device of each of its GPUs, as if their drivers failed: for tests.
    fn destroy(&self) {
        if let Kind::Gpus { gpus, .. } = &self.0 {
            gpus.sorters()
                .iter()
                .for_each(|sorter| sorter.device().destroy());
        }
    }

    /// The indices of its adapters.
    #[getter]
    fn adapters(&self) -> Vec<usize> {
        match &self.0 {
            Kind::Gpus { gpus, .. } => gpus.adapters().to_vec(),
            Kind::Auto(_) | Kind::Cpu => Vec::new(),
        }
    }

    /// Who would do a call now, and why: ("numpy", "cpu" or "gpu", the reason). `work` is "sort" or
    /// "argsort", of rows of `columns` codes of 4 or 8 bytes. Opens nothing.
    fn choose(
        &self,
        py: Python<'_>,
        work: &str,
        codes: usize,
        columns: usize,
        itemsize: usize,
    ) -> PyResult<(&'static str, String)> {
        let works = [Work::Sort, Work::Argsort];
        let Some(&work) = works.iter().find(|each| each.name() == work) else {
            return Err(PyValueError::new_err(format!("no such work: {work}")));
        };
        let task = if itemsize == 8 {
            Task::new::<u64>(work, codes, columns)
        } else {
            Task::new::<u32>(work, codes, columns)
        };
        Ok(detach(py, || {
            let (on_gpu, why) = match &self.0 {
                Kind::Auto(auto) => auto.choose(&task),
                Kind::Cpu => (false, "the device is cpu".into()),
                Kind::Gpus { device, .. } => (true, format!("the device is {device}").into()),
            };
            let engine = if on_gpu { "gpu" } else { task.on_cpu() };
            (engine, why.into_owned())
        }))
    }

    /// Sorts codes, and writes the words that they stand for to `out`. The codes are lost.
    fn sort(
        &self,
        codes: &Bound<'_, PyAny>,
        out: &Bound<'_, PyAny>,
        order: codes::Order,
    ) -> PyResult<()> {
        fn run<W: Word, C: Integer + SortKey>(
            engine: &Engine,
            codes: &Bound<'_, PyAny>,
            out: &Bound<'_, PyAny>,
            order: codes::Order,
        ) -> PyResult<()> {
            let py = codes.py();
            let mapping = W::codes(order, false);
            let mut words: PyReadwriteArray1<'_, W> = out.extract()?;
            let out = words.as_slice_mut()?;
            let task = Task::new::<C>(Work::Sort, out.len(), out.len());
            {
                let mut array: PyReadwriteArray1<'_, C> = codes.extract()?;
                let codes = array.as_slice_mut()?;
                same_length(codes.len(), out.len())?;
                let sort = |gpus: &Gpus| gpus.sort_to(codes, out, &mapping);
                if detach(py, || engine.on_gpu(&task, sort))?.is_some() {
                    return Ok(());
                }
            }
            // (A sort that has failed leaves the codes in another order.)
            cpu::sort_rows(codes, out.len(), task.is_numpys())?;
            let sorted: PyReadonlyArray1<'_, C> = codes.extract()?;
            let sorted = sorted.as_slice()?;
            detach(py, || decode_all(sorted, out, &mapping));
            Ok(())
        }
        with_word!(out, W => with_word!(codes, C => {
            run::<W, C>(self, codes, out, order)
        }; u32, u64); u8, u16, u32, u64)
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
                let sort = |gpus: &Gpus| gpu::sort_rows(gpus, codes, columns);
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
                let argsort = |gpus: &Gpus| gpu::argsort_rows(gpus, codes, columns, k, indices);
                if self.on_gpu(&task, argsort)?.is_none() {
                    can_be_numbered(columns)?;
                    cpu::argsort_rows(codes, columns, k, indices);
                }
                Ok(())
            })
        }; u32, u64)
    }

    /// Reorders the codes so that those of the ranks `begin..end` are in their sorted positions,
    /// smaller ones before and greater ones after them. With `indices`, which has the length of the
    /// codes or of the range, it gets the indices of the codes in this order instead: of equal
    /// codes, those with the smallest indices.
    fn select(
        &self,
        codes: &Bound<'_, PyAny>,
        begin: usize,
        end: usize,
        indices: Option<PyReadwriteArray1<'_, i64>>,
    ) -> PyResult<()> {
        with_word!(codes, C => {
            let mut array: PyReadwriteArray1<'_, C> = codes.extract()?;
            let keys = array.as_slice_mut()?;
            if begin > end || end > keys.len() {
                return Err(PyValueError::new_err("the ranks are out of range"));
            }
            let (py, len, ranks) = (codes.py(), keys.len(), begin..end);
            let Some(mut indices) = indices else {
                let task = Task::new::<C>(Work::Sort, len, len);
                let select = |gpus: &Gpus| gpu::select(gpus, keys, ranks);
                let done = detach(py, || self.on_gpu(&task, select))?;
                drop(array);
                return match done {
                    Some(()) => Ok(()),
                    None => cpu::sort_rows(codes, len, task.is_numpys()),
                };
            };
            let indices = indices.as_slice_mut()?;
            if indices.len() != len {
                same_length(ranks.len(), indices.len())?;
            }
            let task = Task::new::<C>(Work::Argsort, len, len);
            detach(py, || {
                let select =
                    |gpus: &Gpus| gpu::select_indices(gpus, keys, ranks.clone(), indices);
                if self.on_gpu(&task, select)?.is_none() {
                    can_be_numbered(len)?;
                    let sorted = bcfsort_auto::cpu::argsort(keys, Order::Ascending);
                    let wanted = if indices.len() == len { &sorted } else { &sorted[ranks] };
                    widen(wanted, indices);
                }
                Ok(())
            })
        }; u32, u64)
    }
}

impl Engine {
    /// Works on GPUs, if they are to do the task; `None` if the CPU is to do it, also because a GPU
    /// has failed. Called without the GIL.
    pub(crate) fn on_gpu<R>(
        &self,
        task: &Task,
        work: impl FnOnce(&Gpus) -> Result<R, Failure>,
    ) -> PyResult<Option<R>> {
        let gpus = match &self.0 {
            Kind::Cpu => return Ok(None),
            Kind::Gpus { gpus, .. } => gpus.clone(),
            Kind::Auto(auto) => match auto.gpus(task)? {
                Some(gpus) => gpus,
                None => return Ok(None),
            },
        };
        match gpus.check_process().and_then(|()| work(&gpus)) {
            Ok(result) => {
                Python::attach(|py| py.check_signals())?;
                Ok(Some(result))
            }
            Err(failure) => match &self.0 {
                Kind::Auto(auto) => auto.failed(&gpus, failure).map(|()| None),
                _ => Err(failure.into()),
            },
        }
    }
}

/// What a call names as its device, and whether it is the number of an adapter.
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

/// An error if indices of 32 bits, as all sorts have them, cannot number the codes of a row.
fn can_be_numbered(codes: usize) -> PyResult<()> {
    u32::try_from(codes).map(drop).map_err(|_| {
        let message = format!("{codes} elements are too many for indices of 32 bits");
        named("Error", message)
    })
}

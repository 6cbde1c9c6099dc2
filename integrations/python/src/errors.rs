//! Converts errors and warnings to Python's.

use bcfsort_auto::NoDevice;
use bcfsort_auto::device::{REQUIRE_ADAPTER, adapter_required};
use pyo3::prelude::*;
use pyo3::types::PyType;
use wgpu_bcfsort::Error;

/// Why a call ended on a GPU.
pub(crate) enum Failure {
    Sort(Error),
    /// Ctrl-C was pressed.
    Python(PyErr),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Sort(error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

/// The exception of a call that failed.
pub(crate) fn raised(error: &bcfsort_auto::Error) -> PyErr {
    use bcfsort_auto::Error as Auto;

    let class = match error {
        Auto::NoDevice(_) | Auto::Sort(Error::NoAdapter) => "NoAdapterError",
        Auto::Sort(Error::OutOfMemory { .. } | Error::OutOfHostMemory { .. }) => "OutOfMemoryError",
        _ => "Error",
    };
    named(class, error.to_string())
}

/// The exception if no adapter matches a device. `is_auto` if the call has named no device.
pub(crate) fn no_device(error: &NoDevice, is_auto: bool) -> PyErr {
    let is_required = *error == NoDevice::None && is_auto && adapter_required();
    let message = if is_required {
        format!("{REQUIRE_ADAPTER} is 1: {error}")
    } else {
        error.to_string()
    };
    named("NoAdapterError", message)
}

/// An exception of the class in `bcfsort._errors` that has this name.
pub(crate) fn named(name: &str, message: String) -> PyErr {
    Python::attach(|py| {
        let class = py
            .import("bcfsort._errors")
            .and_then(|errors| errors.getattr(name));
        match class.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
            Ok(class) => PyErr::from_type(class, message),
            Err(error) => error,
        }
    })
}

/// Warns the caller of the package. Fails if Python's filters turn the warning into an error.
pub(crate) fn warn(name: &str, message: &str) -> PyResult<()> {
    Python::attach(|py| {
        let engines = py.import("bcfsort._engines")?;
        engines.call_method1("warn", (name, message))?;
        Ok(())
    })
}

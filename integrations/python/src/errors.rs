//! Errors and warnings as those of Python.

use pyo3::prelude::*;
use pyo3::types::PyType;
use std::fmt;
use wgpu_bcfsort::Error;

/// Why a call failed on a GPU.
pub(crate) enum Failure {
    Sort(Error),
    /// The process was forked from the one that has opened the GPU. Vulkan's and Metal's state does
    /// not survive this.
    Forked,
    /// Ctrl-C was pressed.
    Python(PyErr),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sort(error) => error.fmt(f),
            Self::Forked => f.write_str(
                "the GPU was opened before this process was forked: start processes by the method \
                 'spawn' or 'forkserver'",
            ),
            Self::Python(error) => error.fmt(f),
        }
    }
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

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        let message = failure.to_string();
        match failure {
            Failure::Python(error) => error,
            Failure::Sort(Error::NoAdapter) => named("NoAdapterError", message),
            Failure::Sort(Error::OutOfMemory { .. } | Error::OutOfHostMemory { .. }) => {
                named("OutOfMemoryError", message)
            }
            Failure::Sort(_) | Failure::Forked => named("Error", message),
        }
    }
}

/// An exception of the package: of a class of `bcfsort._errors`.
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

/// Warns the caller of the package. An error if Python's filters make one of the warning.
pub(crate) fn warn(name: &str, message: &str) -> PyResult<()> {
    Python::attach(|py| {
        let engines = py.import("bcfsort._engines")?;
        engines.call_method1("warn", (name, message))?;
        Ok(())
    })
}

//! Errors of the sorter as Python exceptions.

use pyo3::prelude::*;
use pyo3::types::PyType;
use wgpu_bcfsort::Error;

/// The exception for an error: a class of `bcfsort._errors`.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let name = match error {
        Error::NoAdapter => "NoAdapterError",
        Error::OutOfMemory { .. } | Error::OutOfHostMemory { .. } => "OutOfMemoryError",
        _ => "Error",
    };
    named(py, name, error.to_string())
}

/// An exception of the package.
pub(crate) fn named(py: Python<'_>, name: &str, message: String) -> PyErr {
    let class = py
        .import("bcfsort._errors")
        .and_then(|errors| errors.getattr(name));
    match class.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
        Ok(class) => PyErr::from_type(class, message),
        Err(error) => error,
    }
}

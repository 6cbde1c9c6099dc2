//! The native part of the Python package `bcfsort`.
//!
//! The Python part passes the bits of arrays as unsigned integers, called *words*. On a device, a
//! single array is sorted by the type of its values ([`keys`]). Otherwise, and for rows, words are
//! mapped to [`codes`]: unsigned integers whose ascending order is the requested order, such as
//! descending or with NaNs last. All functions release the GIL, unless their work ends before
//! another thread could take it.

mod adapters;
mod argsort;
mod arrays;
mod codes;
mod cpu;
mod engine;
mod errors;
mod gpu;
mod keys;
mod model;
mod process;
mod runs;
mod select;
mod sort;
mod sorted;
mod table;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::adapters::{devices, opened};
    #[pymodule_export]
    use crate::arrays::{decode, encode, take};
    #[pymodule_export]
    use crate::codes::Order;
    #[pymodule_export]
    use crate::engine::Engine;
    #[pymodule_export]
    use crate::runs::{distinct, lengths, number, runs};
    #[pymodule_export]
    use crate::sorted::{merge, search};
    #[pymodule_export]
    use crate::table::{Table, has_order, sort_indices, sort_table};

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::process::begin();
        Ok(())
    }
}

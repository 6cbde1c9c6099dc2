//! The native part of the Python package `bcfsort`.
//!
//! The Python part turns each array into *codes*: unsigned integers whose ascending order is the
//! order that was asked for, descending or with NaNs last. So everything here sorts unsigned
//! integers in ascending order. All functions release the GIL while they work.

mod adapters;
mod arrays;
mod codes;
mod cpu;
mod engine;
mod errors;
mod gpu;
mod process;
mod runs;
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
    use crate::engine::Engine;
    #[pymodule_export]
    use crate::runs::{lengths, number, restore, runs};
    #[pymodule_export]
    use crate::sorted::{merge, search};
    #[pymodule_export]
    use crate::table::{has_order, sort_indices, sort_table};

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::process::begin();
        Ok(())
    }
}

//! The native part of the Python package `bcfsort`.
//!
//! The Python part turns each array into *codes*: unsigned integers whose ascending order is the
//! order that was asked for, descending or with NaNs last. So everything here sorts unsigned
//! integers in ascending order. All functions release the GIL while they work.

mod arrays;
mod codes;
mod device;
mod errors;
mod runs;
mod sorted;
mod table;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::arrays::{decode, encode, take};
    #[pymodule_export]
    use crate::device::{PySorter, devices};
    #[pymodule_export]
    use crate::runs::{lengths, number, restore, runs};
    #[pymodule_export]
    use crate::sorted::{merge, search};
    #[pymodule_export]
    use crate::table::{has_order, sort_indices, sort_table};
}

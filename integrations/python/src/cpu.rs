//! Sorts of codes on the CPU: by numpy, with vector instructions on one thread, or on all cores.

use crate::arrays::{map_parts, with_word};
use crate::codes;
use crate::keys::Keys;
use crate::process::detach;
use crate::select;
use bcfsort_auto::cpu;
use numpy::PyReadwriteArray1;
use pyo3::prelude::*;
use rayon::prelude::*;
use wgpu_bcfsort::Order;

/// Sorts each row of `columns` codes, in place: by numpy if `by_numpy`.
pub(crate) fn sort_rows(codes: &Bound<'_, PyAny>, columns: usize, by_numpy: bool) -> PyResult<()> {
    if by_numpy {
        let rows = if codes.len()? == columns {
            codes.clone()
        } else {
            codes.call_method1("reshape", (-1, columns))?
        };
        rows.call_method0("sort")?;
        return Ok(());
    }
    with_word!(codes, C => {
        let mut array: PyReadwriteArray1<'_, C> = codes.extract()?;
        let all = array.as_slice_mut()?;
        detach(codes.py(), || {
            for row in all.chunks_mut(columns) {
                cpu::sort(row, Order::Ascending);
            }
        });
        Ok(())
    }; u32, u64)
}

/// Writes the indices within each row of `columns` codes that sort it, stably: the first `k`.
pub(crate) fn argsort_rows<C: Keys>(all: &[C], columns: usize, k: usize, out: &mut [i64]) {
    let rows = all.par_chunks(columns).zip(out.par_chunks_mut(k));
    rows.for_each(|(row, out)| {
        let selected = (k < columns && select::pays(k, columns))
            .then(|| select::smallest(row, &codes::Order::of_codes(), k));
        match selected.flatten() {
            Some(first) => widen(&first, out),
            None => widen(&cpu::argsort(row, Order::Ascending)[..k], out),
        }
    });
}

/// Widens indices to 64 bits, as numpy has them.
pub(crate) fn widen(from: &[u32], to: &mut [i64]) {
    map_parts(from, to, i64::from);
}

//! Passes over arrays, on all cores.

use crate::codes::{Codes, Order, Word};
use crate::process::detach;
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Elements that a thread takes at a time.
pub(crate) const PART: usize = 1 << 16;

/// Calls a generic function for the unsigned type of an array's elements.
macro_rules! with_word {
    ($array:expr, $W:ident => $call:expr; $($word:ty),+) => {{
        let array = $array;
        $(if array.cast::<numpy::PyArray1<$word>>().is_ok() {
            type $W = $word;
            return $call;
        })+
        let message = "expected a one-dimensional array of unsigned integers";
        Err(pyo3::exceptions::PyTypeError::new_err(message))
    }};
}
pub(crate) use with_word;

/// Maps each word of `values` to its code, in `out`. If `merges`, values that compare equal have
/// one code, which cannot be decoded.
#[pyfunction]
pub(crate) fn encode(
    values: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    order: &Bound<'_, Order>,
    merges: bool,
) -> PyResult<()> {
    fn run<W: Word, C: Integer>(
        py: Python<'_>,
        values: &PyReadonlyArray1<'_, W>,
        out: &mut PyReadwriteArray1<'_, C>,
        codes: &Codes<W>,
    ) -> PyResult<()> {
        let (values, out) = (values.as_slice()?, out.as_slice_mut()?);
        same_length(values.len(), out.len())?;
        detach(py, || {
            map_parts(values, out, |value| C::of(value.encode(codes).code()));
        });
        Ok(())
    }
    let py = values.py();
    with_word!(values, W => {
        let (values, codes) = (values.extract()?, W::codes(*order.get(), merges));
        with_word!(out, C => run::<W, C>(py, &values, &mut out.extract()?, &codes); u32, u64)
    }; u8, u16, u32, u64)
}

/// Maps each code to its word: in place if `out` is None.
#[pyfunction]
pub(crate) fn decode(
    codes: &Bound<'_, PyAny>,
    out: Option<&Bound<'_, PyAny>>,
    order: &Bound<'_, Order>,
) -> PyResult<()> {
    fn in_place<W: Word>(
        py: Python<'_>,
        words: &mut PyReadwriteArray1<'_, W>,
        codes: &Codes<W>,
    ) -> PyResult<()> {
        let words = words.as_slice_mut()?;
        detach(py, || map_in_place(words, |word| word.decode(codes)));
        Ok(())
    }
    fn run<W: Word>(
        py: Python<'_>,
        from: &PyReadonlyArray1<'_, u32>,
        out: &mut PyReadwriteArray1<'_, W>,
        codes: &Codes<W>,
    ) -> PyResult<()> {
        let (from, out) = (from.as_slice()?, out.as_slice_mut()?);
        same_length(from.len(), out.len())?;
        detach(py, || decode_all(from, out, codes));
        Ok(())
    }
    let py = codes.py();
    let Some(out) = out else {
        return with_word!(codes, W => {
            in_place::<W>(py, &mut codes.extract()?, &W::codes(*order.get(), false))
        }; u32, u64);
    };
    with_word!(out, W => {
        run::<W>(py, &codes.extract()?, &mut out.extract()?, &W::codes(*order.get(), false))
    }; u8, u16)
}

/// Decodes each code, on all cores.
pub(crate) fn decode_all<W: Word, C: Integer>(from: &[C], out: &mut [W], codes: &Codes<W>) {
    map_parts(from, out, |code| W::of(code.code()).decode(codes));
}

/// Maps each element to `out`: on all cores, or on this thread only if there are few, since other
/// threads would start too late.
pub(crate) fn map_parts<A: Copy + Sync, B: Send>(
    from: &[A],
    out: &mut [B],
    map: impl Fn(A) -> B + Sync,
) {
    let part = |(from, out): (&[A], &mut [B])| {
        for (&from, out) in from.iter().zip(out) {
            *out = map(from);
        }
    };
    if out.len() <= PART {
        part((from, out));
    } else {
        together(from.chunks(PART).zip(out.chunks_mut(PART)), part);
    }
}

/// Maps each element in place, as [`map_parts`] does.
pub(crate) fn map_in_place<A: Copy + Send>(all: &mut [A], map: impl Fn(A) -> A + Sync) {
    let part = |part: &mut [A]| part.iter_mut().for_each(|each| *each = map(*each));
    if all.len() <= PART {
        part(all);
    } else {
        together(all.chunks_mut(PART), part);
    }
}

/// Calls `act` with each item: on this thread, and on those of the pool as they wake up. If the
/// pool alone did short work, its start would take longer than the work.
fn together<T: Send>(items: impl ExactSizeIterator<Item = T> + Send, act: impl Fn(T) + Sync) {
    let others = rayon::current_num_threads().min(items.len()) - 1;
    let items = Mutex::new(items);
    let work = || {
        loop {
            let next = items.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(item) = next else { break };
            act(item);
        }
    };
    rayon::in_place_scope(|scope| {
        for _ in 0..others {
            scope.spawn(|_| work());
        }
        work();
    });
}

/// Writes the elements of `source` at `indices` to `out`.
#[pyfunction]
pub(crate) fn take(
    source: &Bound<'_, PyAny>,
    indices: PyReadonlyArray1<'_, i64>,
    out: &Bound<'_, PyAny>,
) -> PyResult<()> {
    fn run<W: numpy::Element + Copy + Sync>(
        py: Python<'_>,
        source: &PyReadonlyArray1<'_, W>,
        indices: &PyReadonlyArray1<'_, i64>,
        out: &mut PyReadwriteArray1<'_, W>,
    ) -> PyResult<()> {
        let (source, indices) = (source.as_slice()?, indices.as_slice()?);
        let out = out.as_slice_mut()?;
        same_length(indices.len(), out.len())?;
        let found = detach(py, || {
            let parts = indices.par_chunks(PART).zip(out.par_chunks_mut(PART));
            parts.try_for_each(|(indices, out)| {
                for (&index, out) in indices.iter().zip(out) {
                    *out = *usize::try_from(index)
                        .ok()
                        .and_then(|index| source.get(index))?;
                }
                Some(())
            })
        });
        found.ok_or_else(|| PyIndexError::new_err("an index is out of bounds"))
    }
    let py = source.py();
    with_word!(source, W => {
        run::<W>(py, &source.extract()?, &indices, &mut out.extract()?)
    }; u8, u16, u32, u64)
}

/// An unsigned integer of any size: a word or a code.
pub(crate) trait Integer: numpy::Element + Copy + Send + Sync {
    fn of(code: u64) -> Self;

    fn code(self) -> u64;
}

macro_rules! integer {
    ($($word:ty),*) => {$(
        impl Integer for $word {
            #[inline(always)]
            fn of(code: u64) -> Self {
                code as Self
            }

            #[inline(always)]
            fn code(self) -> u64 {
                self.into()
            }
        }
    )*};
}
integer!(u8, u16, u32, u64);

pub(crate) fn same_length(first: usize, second: usize) -> PyResult<()> {
    if first == second {
        return Ok(());
    }
    let message = format!("arrays of {first} and {second} elements: the lengths must be equal");
    Err(PyValueError::new_err(message))
}

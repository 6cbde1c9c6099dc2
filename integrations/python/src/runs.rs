//! What follows a sort: the runs of equal codes in a sorted array.
//!
//! Unique values, their counts, the inverse and ranks are all read from the runs.

use crate::arrays::{Integer, PART, decode_all, same_length, with_word};
use crate::codes::{Order, Word};
use crate::process::detach;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;
use std::ops::Range;

/// The codes of all runs, and their starts.
type Runs<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray1<i64>>);

/// Finds the runs of equal codes in rows of `columns` sorted codes. Returns the code of each run,
/// and where it starts; the last of the starts is the number of all codes. Each code from
/// `distinct` on is a run of its own.
#[pyfunction]
pub(crate) fn runs<'py>(
    codes: &Bound<'py, PyAny>,
    columns: usize,
    distinct: Option<u64>,
) -> PyResult<Runs<'py>> {
    fn run<'py, C: Integer + PartialEq>(
        py: Python<'py>,
        codes: &PyReadonlyArray1<'py, C>,
        rows: &Rows,
    ) -> PyResult<Runs<'py>> {
        let codes = codes.as_slice()?;
        let parts: Vec<Range<usize>> = (0..codes.len())
            .step_by(PART)
            .map(|begin| begin..codes.len().min(begin + PART))
            .collect();
        let counts: Vec<usize> = detach(py, || {
            let parts = parts.par_iter();
            let count = |part: &Range<usize>| {
                let mut count = 0;
                rows.each_start(codes, part, |_| count += 1);
                count
            };
            parts.map(count).collect()
        });
        let count: usize = counts.iter().sum();
        // numpy's memory has large pages, which a vector's has not.
        let firsts = PyArray1::<C>::zeros(py, count, false);
        let starts = PyArray1::<i64>::zeros(py, count + 1, false);
        let (mut firsts_out, mut starts_out) = (firsts.readwrite(), starts.readwrite());
        let (mut firsts_left, mut starts_left) =
            (firsts_out.as_slice_mut()?, starts_out.as_slice_mut()?);
        starts_left[count] = codes.len() as i64;
        detach(py, || {
            let mut outs = Vec::with_capacity(parts.len());
            for (part, count) in parts.into_iter().zip(counts) {
                let (firsts, after) = firsts_left.split_at_mut(count);
                firsts_left = after;
                let (starts, after) = starts_left.split_at_mut(count);
                starts_left = after;
                outs.push((part, firsts, starts));
            }
            outs.into_par_iter().for_each(|(part, firsts, starts)| {
                let mut outs = firsts.iter_mut().zip(starts);
                rows.each_start(codes, &part, |at| {
                    if let Some((first, start)) = outs.next() {
                        (*first, *start) = (codes[at], at as i64);
                    }
                });
            });
        });
        drop((firsts_out, starts_out));
        Ok((firsts.into_any(), starts))
    }
    let rows = Rows {
        columns: columns.max(1),
        distinct,
    };
    with_word!(codes, C => run::<C>(codes.py(), &codes.extract()?, &rows); u32, u64)
}

/// Where runs start.
struct Rows {
    columns: usize,
    distinct: Option<u64>,
}

impl Rows {
    /// Calls `found` with the index of each start in a part of the codes.
    #[inline(always)]
    fn each_start<C: Integer + PartialEq>(
        &self,
        codes: &[C],
        part: &Range<usize>,
        mut found: impl FnMut(usize),
    ) {
        let is_distinct = |code: C| self.distinct.is_some_and(|least| code.code() >= least);
        let mut begin = part.start;
        while begin < part.end {
            let end = part.end.min((begin / self.columns + 1) * self.columns);
            if begin.is_multiple_of(self.columns)
                || codes[begin - 1] != codes[begin]
                || is_distinct(codes[begin])
            {
                found(begin);
            }
            let pairs = codes[begin..end].iter().zip(&codes[begin + 1..end]);
            for (at, (&before, &code)) in (begin + 1..).zip(pairs) {
                if before != code || is_distinct(code) {
                    found(at);
                }
            }
            begin = end;
        }
    }
}

/// Writes the differences of adjacent starts, the lengths of the runs.
#[pyfunction]
pub(crate) fn lengths(
    py: Python<'_>,
    starts: PyReadonlyArray1<'_, i64>,
    mut out: PyReadwriteArray1<'_, i64>,
) -> PyResult<()> {
    let (starts, out) = (starts.as_slice()?, out.as_slice_mut()?);
    same_length(starts.len().saturating_sub(1), out.len())?;
    detach(py, || {
        let pairs = starts.par_windows(2).with_min_len(PART);
        (out.par_iter_mut().zip(pairs))
            .for_each(|(out, pair)| *out = pair[1].wrapping_sub(pair[0]));
    });
    Ok(())
}

/// The number that each element of a run gets.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    /// The index of the run.
    Run,
    /// Its index in its row, from 1.
    Dense,
    /// Positions in the row, from 1: of the first and of the last element of the run, half their
    /// sum as a float, and that of the element itself.
    Min,
    Max,
    Average,
    Ordinal,
}

impl FromPyObject<'_, '_> for Number {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let name: String = object.extract()?;
        Ok(match name.as_str() {
            "run" => Self::Run,
            "dense" => Self::Dense,
            "min" => Self::Min,
            "max" => Self::Max,
            "average" => Self::Average,
            "ordinal" => Self::Ordinal,
            _ => return Err(PyValueError::new_err(format!("no number is called {name}"))),
        })
    }
}

/// Threads that number elements, at most: each reads all indices.
const NUMBERERS: usize = 8;

/// Numbers all elements: `indices` has those of the sorted array, whose runs have these starts. It
/// has rows of `columns` elements. The bits of the numbers go to `out`.
#[pyfunction]
pub(crate) fn number(
    py: Python<'_>,
    starts: PyReadonlyArray1<'_, i64>,
    indices: PyReadonlyArray1<'_, i64>,
    columns: usize,
    by: Number,
    mut out: PyReadwriteArray1<'_, u64>,
) -> PyResult<()> {
    let (starts, indices) = (starts.as_slice()?, indices.as_slice()?);
    let out = out.as_slice_mut()?;
    same_length(indices.len(), out.len())?;
    let found = detach(py, || {
        // Each thread has a part of `out`, and passes over the indices that are not in it. So no
        // two threads write to one.
        let threads = rayon::current_num_threads().min(NUMBERERS);
        let part = out.len().div_ceil(threads).max(PART);
        let parts = out.par_chunks_mut(part).enumerate();
        parts
            .map(|(i, out)| number_part(starts, indices, columns.max(1), by, i * part, out))
            .reduce(|| Some(()), Option::and)
    });
    found.ok_or_else(|| PyValueError::new_err("the runs are out of range"))
}

/// Numbers the elements whose indices are in a part, which begins at `begin`.
fn number_part(
    starts: &[i64],
    indices: &[i64],
    columns: usize,
    by: Number,
    begin: usize,
    out: &mut [u64],
) -> Option<()> {
    let (mut row, mut first_of_row) = (0, 0);
    for (run, bounds) in starts.windows(2).enumerate() {
        let (start, end) = (bounds[0] as usize, bounds[1] as usize);
        let elements = indices.get(start..end)?;
        if start.checked_sub(row)? >= columns {
            (row, first_of_row) = (start - start % columns, run);
        }
        let (least, most) = ((start - row + 1) as u64, (end - row) as u64);
        let (mut number, step) = match by {
            Number::Run => (run as u64, 0),
            Number::Dense => ((run - first_of_row + 1) as u64, 0),
            Number::Min => (least, 0),
            Number::Max => (most, 0),
            Number::Average => (((least + most) as f64 / 2.0).to_bits(), 0),
            Number::Ordinal => (least, 1),
        };
        for &index in elements {
            // (Indices before the part are beyond its end, too.)
            if let Some(out) = out.get_mut((index as usize).wrapping_sub(begin)) {
                *out = number;
            }
            number += step;
        }
    }
    Some(())
}

/// Writes the words of sorted codes that were made with `merges`. Where a code stands for several
/// words, as that of all NaNs does, these are the first of them in `source`, in its order.
#[pyfunction]
pub(crate) fn restore(
    codes: &Bound<'_, PyAny>,
    source: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    order: Order,
) -> PyResult<()> {
    fn run<W: Word, C: Integer>(
        py: Python<'_>,
        codes: &PyReadonlyArray1<'_, C>,
        source: &PyReadonlyArray1<'_, W>,
        out: &mut PyReadwriteArray1<'_, W>,
        order: Order,
    ) -> PyResult<()> {
        let (codes, source) = (codes.as_slice()?, source.as_slice()?);
        let out = out.as_slice_mut()?;
        same_length(codes.len(), out.len())?;
        detach(py, || {
            decode_all(codes, out, &W::codes(order, false));
            let merged = W::codes(order, true);
            for shared in merged.shared() {
                let begin = codes.partition_point(|code| code.code() < shared.code());
                let end = codes.partition_point(|code| code.code() <= shared.code());
                let words = source.iter().filter(|word| word.encode(&merged) == shared);
                for (out, word) in out.iter_mut().take(end).skip(begin).zip(words) {
                    *out = *word;
                }
            }
        });
        Ok(())
    }
    let py = codes.py();
    with_word!(out, W => with_word!(codes, C => {
        run::<W, C>(py, &codes.extract()?, &source.extract()?, &mut out.extract()?, order)
    }; u32, u64); u8, u16, u32, u64)
}

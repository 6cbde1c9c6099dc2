//! Finds the runs of equal codes in a sorted array (run-length encoding).
//!
//! Unique values, their counts, the inverse and ranks are all read from the runs.

use crate::arrays::{Integer, PART, same_length, with_word};
use crate::codes::{Codes, Order, Word};
use crate::process::detach;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;
use std::ops::Range;

/// The codes of all runs, and their starts.
type Runs<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray1<i64>>);

/// Finds the runs of equal codes in rows of `columns` sorted codes. Returns the code and the start
/// of each run, and after the last start the number of all codes. Each code of at least `distinct`
/// is a run of its own.
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
        // numpy allocates large pages, and a vector does not.
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
            _ => return Err(PyValueError::new_err(format!("unknown number: {name}"))),
        })
    }
}

/// The most threads that number elements, since each reads all indices.
const NUMBERERS: usize = 8;

/// Numbers all elements by their runs, and writes the bits of the numbers to `out`.
///
/// `indices` sorts the array, which has rows of `columns` elements. The runs of the sorted array
/// have these `starts`.
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
        // Each thread writes a part of `out`, and skips the indices outside it. So no two threads
        // write to the same element.
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
            // For an index before the part, the difference wraps around, beyond its end.
            if let Some(out) = out.get_mut((index as usize).wrapping_sub(begin)) {
                *out = number;
            }
            number += step;
        }
    }
    Some(())
}

/// The words of all runs, and their starts.
type Distinct<'py> = (Option<Bound<'py, PyAny>>, Option<Bound<'py, PyArray1<i64>>>);

/// Finds the runs of equal values in sorted words. Returns a word of each run, or None if each word
/// is a run of its own. If `with_starts`, also returns the starts of the runs, and after them the
/// number of all words. All missing values are one run if `equal_missing`.
///
/// If a run has different words for equal values, such as -0 and 0 or two NaNs, the first of them
/// in `source` is returned. `source` has the words in their original order.
#[pyfunction]
pub(crate) fn distinct<'py>(
    sorted: &Bound<'py, PyAny>,
    source: &Bound<'_, PyAny>,
    order: &Bound<'_, Order>,
    equal_missing: bool,
    with_starts: bool,
) -> PyResult<Distinct<'py>> {
    fn run<'py, W: Word>(
        py: Python<'py>,
        sorted: &PyReadonlyArray1<'py, W>,
        source: &PyReadonlyArray1<'_, W>,
        order: Order,
        (equal_missing, with_starts): (bool, bool),
    ) -> PyResult<Distinct<'py>> {
        let (sorted, source) = (sorted.as_slice()?, source.as_slice()?);
        same_length(sorted.len(), source.len())?;
        let (found, counts) = detach(py, || {
            let found = DistinctRuns::new(sorted, order, equal_missing);
            let counts = found.counts();
            (found, counts)
        });
        let of_missing = found.runs_of_missing();
        let count = counts.iter().sum::<usize>() + of_missing;
        let is_whole = count == sorted.len() && !found.are_missing_mixed();
        let values = (!is_whole).then(|| PyArray1::<W>::zeros(py, count, false));
        let starts = with_starts.then(|| PyArray1::<i64>::zeros(py, count + 1, false));
        {
            let mut values = values.as_ref().map(|values| values.readwrite());
            let mut starts = starts.as_ref().map(|starts| starts.readwrite());
            let values = values.as_mut().map(|all| all.as_slice_mut()).transpose()?;
            let starts = starts.as_mut().map(|all| all.as_slice_mut()).transpose()?;
            detach(py, || {
                if let Some(values) = values {
                    let of_numbers = count - of_missing;
                    found.write(&counts, &mut values[..of_numbers], |_, word| word);
                    found.write_shared(source, values, of_numbers);
                }
                if let Some(starts) = starts {
                    let of_numbers = count - of_missing;
                    found.write(&counts, &mut starts[..of_numbers], |at, _| at as i64);
                    let of_missing = starts[of_numbers..count].iter_mut();
                    (of_missing.zip(found.numbers..)).for_each(|(to, at)| *to = at as i64);
                    starts[count] = sorted.len() as i64;
                }
            });
        }
        Ok((values.map(Bound::into_any), starts))
    }
    let (py, flags) = (sorted.py(), (equal_missing, with_starts));
    with_word!(sorted, W => {
        run::<W>(py, &sorted.extract()?, &source.extract()?, *order.get(), flags)
    }; u8, u16, u32, u64)
}

/// Words that are copied at once, if each is a run.
const BLOCK: usize = 32;

/// Where runs of equal values start in sorted words.
struct DistinctRuns<'a, W> {
    sorted: &'a [W],
    merged: Codes<W>,
    /// The number of words that are not missing values. Missing values come last.
    numbers: usize,
    equal_missing: bool,
    /// The index where the words of zeros change from one sign to the other, which starts no run.
    zero: Option<usize>,
}

impl<'a, W: Word> DistinctRuns<'a, W> {
    fn new(sorted: &'a [W], order: Order, equal_missing: bool) -> Self {
        let merged = W::codes(order, true);
        let code = |word: &W| word.encode(&merged);
        let numbers = if order.has_missing() {
            sorted.partition_point(|word| code(word) < merged.of_missing())
        } else {
            sorted.len()
        };
        let zero = merged.shared().next().and_then(|zero| {
            let begin = sorted.partition_point(|word| code(word) < zero);
            let first = *sorted[begin..numbers].first()?;
            let same = sorted[begin..numbers].partition_point(|&word| word == first);
            let next = sorted[begin..numbers].get(same)?;
            (code(next) == zero).then_some(begin + same)
        });
        Self {
            sorted,
            merged,
            numbers,
            equal_missing,
            zero,
        }
    }

    fn missing(&self) -> &'a [W] {
        &self.sorted[self.numbers..]
    }

    fn runs_of_missing(&self) -> usize {
        let all = self.missing().len();
        if self.equal_missing { all.min(1) } else { all }
    }

    /// Whether missing values have different words.
    fn are_missing_mixed(&self) -> bool {
        // They are sorted: all are equal if the first and the last one are.
        self.missing().first() != self.missing().last()
    }

    /// The number of runs in each part.
    fn counts(&self) -> Vec<usize> {
        let count = |part: usize| {
            let begin = part * PART;
            let end = self.numbers.min(begin + PART);
            let words = &self.sorted[begin..end];
            let before = begin.checked_sub(1).map(|at| self.sorted[at]);
            // Without branches, so that one instruction compares several words.
            let pairs = words.iter().zip(&words[1..]);
            let others: u32 = pairs.map(|(a, b)| u32::from(a != b)).sum();
            let is_merged = self.zero.is_some_and(|zero| (begin..end).contains(&zero));
            others as usize + usize::from(before != Some(words[0])) - usize::from(is_merged)
        };
        let parts = self.numbers.div_ceil(PART);
        if parts < 2 {
            return (0..parts).map(count).collect();
        }
        (0..parts).into_par_iter().map(count).collect()
    }

    /// Writes an item for each run of words that are not missing.
    fn write<T: Send>(&self, counts: &[usize], out: &mut [T], item: impl Fn(usize, W) -> T + Sync) {
        let mut rest = out;
        let targets: Vec<&mut [T]> = (counts.iter())
            .map(|&count| {
                let (target, after) = std::mem::take(&mut rest).split_at_mut(count);
                rest = after;
                target
            })
            .collect();
        let zero = self.zero.unwrap_or(usize::MAX);
        let write = |(part, target): (usize, &mut [T])| {
            let begin = part * PART;
            let end = self.numbers.min(begin + PART);
            let words = &self.sorted[begin..end];
            let before = begin.checked_sub(1).map(|at| self.sorted[at]);
            let mut before = before.unwrap_or(W::of(!words[0].code()));
            let mut written = 0;
            for (at, words) in (begin..).step_by(BLOCK).zip(words.chunks(BLOCK)) {
                let pairs = words.iter().zip(&words[1..]);
                let is_distinct = pairs.fold(before != words[0], |all, (a, b)| all & (a != b));
                before = words[words.len() - 1];
                if is_distinct && !(at..at + BLOCK).contains(&zero) {
                    let to = &mut target[written..][..words.len()];
                    for (to, (at, &word)) in to.iter_mut().zip((at..).zip(words)) {
                        *to = item(at, word);
                    }
                    written += words.len();
                    continue;
                }
                let mut last = at.checked_sub(1).map(|at| self.sorted[at]);
                for (at, &word) in (at..).zip(words) {
                    if last != Some(word) && at != zero {
                        target[written] = item(at, word);
                        written += 1;
                    }
                    last = Some(word);
                }
            }
        };
        if counts.len() < 2 {
            targets.into_iter().enumerate().for_each(write);
        } else {
            targets.into_par_iter().enumerate().for_each(write);
        }
    }

    /// Writes the words of runs whose values have several words.
    fn write_shared(&self, source: &[W], values: &mut [W], of_numbers: usize) {
        let code = |word: &W| word.encode(&self.merged);
        if let Some(zero) = self.zero {
            let zero = code(&self.sorted[zero]);
            let run = values[..of_numbers].partition_point(|word| code(word) < zero);
            if let Some(&first) = source.par_iter().find_first(|word| code(word) == zero) {
                values[run] = first;
            }
        }
        let to = &mut values[of_numbers..];
        if self.are_missing_mixed() {
            let missing = self.merged.of_missing();
            let of_source = source.iter().filter(|word| code(word) == missing);
            (to.iter_mut().zip(of_source)).for_each(|(to, word)| *to = *word);
        } else {
            (to.iter_mut().zip(self.missing())).for_each(|(to, word)| *to = *word);
        }
    }
}

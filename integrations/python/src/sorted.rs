//! Searches in sorted arrays, and their merge.

use crate::arrays::{PART, same_length, with_word};
use crate::codes::{Codes, Order, Word};
use crate::process::detach;
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

/// Needles that a thread takes at a time.
const NEEDLES: usize = 1 << 10;

/// Writes where each needle belongs in a sorted array: before all elements that are equal to it, or
/// after them if `right`. `sorter` has the indices that sort the array, if it is not sorted.
#[pyfunction]
pub(crate) fn search(
    words: &Bound<'_, PyAny>,
    needles: &Bound<'_, PyAny>,
    order: &Bound<'_, Order>,
    right: bool,
    sorter: Option<PyReadonlyArray1<'_, i64>>,
    mut out: PyReadwriteArray1<'_, i64>,
) -> PyResult<()> {
    fn run<W: Word>(
        py: Python<'_>,
        words: &PyReadonlyArray1<'_, W>,
        needles: &PyReadonlyArray1<'_, W>,
        codes: &Codes<W>,
        right: bool,
        sorter: Option<&[i64]>,
        out: &mut [i64],
    ) -> PyResult<()> {
        let (words, needles) = (words.as_slice()?, needles.as_slice()?);
        same_length(needles.len(), out.len())?;
        let found = detach(py, || match sorter {
            None => search_all(needles, out, codes, right, words.len(), |at| {
                words.get(at).copied()
            }),
            Some(sorter) => search_all(needles, out, codes, right, sorter.len(), |at| {
                words.get(usize::try_from(*sorter.get(at)?).ok()?).copied()
            }),
        });
        found.ok_or_else(|| PyValueError::new_err("an index of the sorter is out of range"))
    }
    let py = words.py();
    let sorter = sorter
        .as_ref()
        .map(|sorter| sorter.as_slice())
        .transpose()?;
    let out = out.as_slice_mut()?;
    with_word!(words, W => {
        let codes = W::codes(*order.get(), true);
        run::<W>(py, &words.extract()?, &needles.extract()?, &codes, right, sorter, out)
    }; u8, u16, u32, u64)
}

fn search_all<W: Word>(
    needles: &[W],
    out: &mut [i64],
    codes: &Codes<W>,
    right: bool,
    len: usize,
    word: impl Fn(usize) -> Option<W> + Sync,
) -> Option<()> {
    let parts = needles.par_chunks(NEEDLES).zip(out.par_chunks_mut(NEEDLES));
    parts.try_for_each(|(needles, out)| {
        for (needle, out) in needles.iter().zip(out) {
            let needle = needle.encode(codes);
            let (mut begin, mut left) = (0, len);
            while left > 0 {
                let middle = begin + left / 2;
                let code = word(middle)?.encode(codes);
                if code < needle || right && code == needle {
                    left -= left / 2 + 1;
                    begin = middle + 1;
                } else {
                    left /= 2;
                }
            }
            *out = begin as i64;
        }
        Some(())
    })
}

/// Merges two sorted arrays into `out`: of equal elements, those of `first` come first. `indices`
/// gets the index of each element in the concatenation of `first` and `second`.
///
/// Each thread merges a part of the result. A binary search finds where its inputs begin: Odeh,
/// Green, Mwassi, Shmueli, Birk, "Merge Path - Parallel Merging Made Simple", IPDPSW 2012.
#[pyfunction]
pub(crate) fn merge(
    first: &Bound<'_, PyAny>,
    second: &Bound<'_, PyAny>,
    order: &Bound<'_, Order>,
    out: &Bound<'_, PyAny>,
    indices: Option<PyReadwriteArray1<'_, i64>>,
) -> PyResult<()> {
    fn run<W: Word>(
        py: Python<'_>,
        first: &PyReadonlyArray1<'_, W>,
        second: &PyReadonlyArray1<'_, W>,
        codes: &Codes<W>,
        out: &mut PyReadwriteArray1<'_, W>,
        indices: &mut [i64],
    ) -> PyResult<()> {
        let inputs = (first.as_slice()?, second.as_slice()?);
        let out = out.as_slice_mut()?;
        same_length(inputs.0.len() + inputs.1.len(), out.len())?;
        if !indices.is_empty() {
            same_length(out.len(), indices.len())?;
        }
        detach(py, || {
            let mut cut = 0;
            let mut cuts = vec![0];
            for begin in (0..out.len()).step_by(PART) {
                let end = out.len().min(begin + PART);
                cut = cut_at(inputs, codes, begin, end, cut);
                cuts.push(cut);
            }
            let mut indices = indices.chunks_mut(PART);
            let parts: Vec<_> = (out.chunks_mut(PART).enumerate())
                .map(|(i, out)| (i, out, indices.next().unwrap_or_default()))
                .collect();
            parts.into_par_iter().for_each(|(i, out, indices)| {
                let (begin, end) = (i * PART, i * PART + out.len());
                let part = (
                    &inputs.0[cuts[i]..cuts[i + 1]],
                    &inputs.1[begin - cuts[i]..end - cuts[i + 1]],
                );
                let starts = (cuts[i], inputs.0.len() + begin - cuts[i]);
                merge_part(part, starts, codes, out, indices);
            });
        });
        Ok(())
    }
    let py = first.py();
    let mut indices = indices;
    let indices = indices.as_mut().map(|out| out.as_slice_mut()).transpose()?;
    let indices = indices.unwrap_or_default();
    with_word!(first, W => {
        let codes = W::codes(*order.get(), true);
        run::<W>(py, &first.extract()?, &second.extract()?, &codes, &mut out.extract()?, indices)
    }; u8, u16, u32, u64)
}

/// Of the first `end` elements of the result, the number that come from the first input. `cut` is
/// that number for `begin`.
///
/// It grows by at most `end - begin`, even if the inputs are not sorted: then the result is some
/// permutation of them.
fn cut_at<W: Word>(
    (first, second): (&[W], &[W]),
    codes: &Codes<W>,
    begin: usize,
    end: usize,
    cut: usize,
) -> usize {
    // The second input gives at least `begin - cut` elements and at most `end - cut`.
    let mut low = cut.max(end.saturating_sub(second.len()));
    let mut high = first.len().min(cut + (end - begin));
    while low < high {
        let middle = low.midpoint(high);
        // Is the element `middle` of the first input before the last one taken of the second?
        if second[end - middle - 1].encode(codes) < first[middle].encode(codes) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Merges parts of both inputs. In the concatenated inputs they begin at `starts`.
fn merge_part<W: Word>(
    (first, second): (&[W], &[W]),
    starts: (usize, usize),
    codes: &Codes<W>,
    out: &mut [W],
    indices: &mut [i64],
) {
    let (mut i, mut j) = (0, 0);
    let mut indices = indices.iter_mut();
    for out in out {
        let is_second = match (first.get(i), second.get(j)) {
            (Some(a), Some(b)) => b.encode(codes) < a.encode(codes),
            (first, _) => first.is_none(),
        };
        let (word, index) = if is_second {
            j += 1;
            (second.get(j - 1), starts.1 + j - 1)
        } else {
            i += 1;
            (first.get(i - 1), starts.0 + i - 1)
        };
        if let Some(&word) = word {
            *out = word;
        }
        if let Some(to) = indices.next() {
            *to = index as i64;
        }
    }
}

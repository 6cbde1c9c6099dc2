//! Argsorts of one array, on GPUs or on the CPU.
//!
//! The values are sorted in the total order. It differs from the requested order only for missing
//! values, and for equal values with different bits: their few indices are corrected afterwards.

use crate::arrays::{decode_all, map_in_place, map_parts, same_length};
use crate::codes::{Codes, Order};
use crate::cpu::widen;
use crate::engine::{Engine, can_be_numbered};
use crate::errors::Failure;
use crate::gpu;
use crate::keys::Keys;
use crate::model::Task;
use crate::process::detach_if;
use crate::select;
use bcfsort_auto::{Work, cpu};
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::intern;
use pyo3::prelude::*;
use std::ops::Range;
use wgpu_bcfsort::{Error, MultiSorter, Order as Direction, SortKey};

/// Writes the indices that sort words, stably.
pub(crate) fn argsort<W: Keys>(
    engine: &Engine,
    words: &Bound<'_, PyAny>,
    order: &Order,
    out: &mut [i64],
) -> PyResult<()> {
    let array: PyReadonlyArray1<'_, W> = words.extract()?;
    let words = array.as_slice()?;
    same_length(words.len(), out.len())?;
    let task = Task::new::<W>(Work::Argsort, words.len(), words.len());
    detach_if(array.py(), engine.is_long(words.len()), || {
        let on_gpus = |gpus: &MultiSorter| Ok(on_gpus(gpus, words, order, out)?);
        if engine.on_gpu(&task, on_gpus)?.is_none() {
            widen(&on_cpu(words, order)?, out);
        }
        Ok(())
    })
}

fn on_gpus<W: Keys>(
    gpus: &MultiSorter,
    words: &[W],
    order: &Order,
    out: &mut [i64],
) -> Result<(), Error> {
    if !W::ARE_KEYS {
        return gpu::argsort(gpus, &merged(words, order), Direction::Ascending, out);
    }
    W::argsort_on(gpus, words, order, out)?;
    order_equal(words, order, out);
    Ok(())
}

fn on_cpu<W: Keys>(words: &[W], order: &Order) -> PyResult<Vec<u32>> {
    can_be_numbered(words.len())?;
    if !W::ARE_KEYS {
        return Ok(cpu::argsort(&merged(words, order), Direction::Ascending));
    }
    let mut indices = W::argsort(words, order);
    order_equal(words, order, &mut indices);
    Ok(indices)
}

/// Codes where equal values have equal ones.
pub(crate) fn merged<W: Keys>(words: &[W], order: &Order) -> Vec<W> {
    let codes = W::codes(*order, true);
    let mut all = vec![W::of(0); words.len()];
    map_parts(words, &mut all, |word| word.encode(&codes));
    all
}

/// Corrects indices in the total order: moves those of missing values to the end, and sorts those
/// of -0 and 0, and of all NaNs, by index, if these are equal values.
fn order_equal<W: Keys, I: SortKey>(words: &[W], order: &Order, indices: &mut [I]) {
    let codes = W::codes(*order, false);
    let word = |&index: &I| words[index.to_bits64() as usize];
    let moved = indices.partition_point(|index| codes.is_moved(word(index)));
    indices.rotate_left(moved);
    let merged = W::codes(*order, true);
    for shared in merged.shared() {
        let begin = indices.partition_point(|index| word(index).encode(&merged) < shared);
        let end = indices.partition_point(|index| word(index).encode(&merged) <= shared);
        let equal = &mut indices[begin..end];
        // The words are sorted: all are the same if the first and the last one are.
        if let [first, .., last] = equal
            && word(first) != word(last)
        {
            cpu::sort(equal, Direction::Ascending);
        }
    }
}

/// Writes the indices of the first `k` words in order (top-k), stably, and these words.
pub(crate) fn top<W: Keys>(
    engine: &Engine,
    words: &Bound<'_, PyAny>,
    order: &Order,
    values: &Bound<'_, PyAny>,
    out: &mut [i64],
) -> PyResult<()> {
    let array: PyReadonlyArray1<'_, W> = words.extract()?;
    let words = array.as_slice()?;
    let mut values: PyReadwriteArray1<'_, W> = values.extract()?;
    let values = values.as_slice_mut()?;
    let k = values.len();
    same_length(k, out.len())?;
    in_range(&(0..k), words.len())?;
    let task = selection::<W>(Work::Argsort, words.len(), k, 1);
    detach_if(array.py(), engine.is_long(words.len()), || {
        let on_gpus = |gpus: &MultiSorter| select_indices(gpus, words, order, 0..k, out);
        if engine.on_gpu(&task, on_gpus)?.is_none() {
            can_be_numbered(words.len())?;
            let selected = select::pays(k, words.len()).then(|| select::smallest(words, order, k));
            match selected.flatten() {
                Some(first) => widen(&first, out),
                None => widen(&on_cpu(words, order)?[..k], out),
            }
        }
        map_parts(out, values, |index| words[index as usize]);
        Ok(())
    })
}

/// A selection of indices on a GPU.
fn select_indices<W: Keys>(
    gpus: &MultiSorter,
    words: &[W],
    order: &Order,
    ranks: Range<usize>,
    out: &mut [i64],
) -> Result<(), Failure> {
    if W::ARE_KEYS {
        return gpu::select_indices(gpus, &merged(words, order), ranks, out);
    }
    let wide = wide(words, &W::codes(*order, true));
    gpu::select_indices(gpus, &wide, ranks, out)
}

/// Codes of whole words, as buffers of a GPU have them.
fn wide<W: Keys>(words: &[W], codes: &Codes<W>) -> Vec<u32> {
    let mut all = vec![0; words.len()];
    map_parts(words, &mut all, |word| word.encode(codes).code() as u32);
    all
}

/// Writes the indices of words so that those of some ranks are in their sorted positions, those of
/// smaller words before and of greater ones after them.
pub(crate) fn argpartition<W: Keys>(
    engine: &Engine,
    words: &Bound<'_, PyAny>,
    order: &Order,
    ranks: Range<usize>,
    out: &mut [i64],
) -> PyResult<()> {
    let array: PyReadonlyArray1<'_, W> = words.extract()?;
    let words = array.as_slice()?;
    same_length(words.len(), out.len())?;
    in_range(&ranks, words.len())?;
    let task = selection::<W>(Work::Argsort, words.len(), ranks.len(), 4);
    detach_if(array.py(), engine.is_long(words.len()), || {
        let on_gpus = |gpus: &MultiSorter| select_indices(gpus, words, order, ranks.clone(), out);
        if engine.on_gpu(&task, on_gpus)?.is_none() {
            can_be_numbered(words.len())?;
            let codes = W::codes(*order, true);
            let is_done = select::pays(ranks.len(), words.len())
                && select::argpartition(words, &codes, ranks, out);
            if !is_done {
                widen(&on_cpu(words, order)?, out);
            }
        }
        Ok(())
    })
}

/// Writes the words so that those of some ranks are in their sorted positions, smaller ones before
/// and greater ones after them. False if it was not done: then the caller sorts.
pub(crate) fn partition<W: Keys>(
    engine: &Engine,
    words: &Bound<'_, PyAny>,
    order: &Order,
    ranks: Range<usize>,
    out: &Bound<'_, PyAny>,
) -> PyResult<bool> {
    let codes = W::codes(*order, false);
    let array: PyReadonlyArray1<'_, W> = words.extract()?;
    let words = array.as_slice()?;
    let (py, len) = (array.py(), words.len());
    let by_numpy = ranks.len() == 1 && len <= NUMPYS_PARTITION;
    let rank = ranks.start;
    {
        let mut target: PyReadwriteArray1<'_, W> = out.extract()?;
        let target = target.as_slice_mut()?;
        same_length(len, target.len())?;
        in_range(&ranks, len)?;
        let task = selection::<W>(Work::Sort, len, ranks.len(), 3);
        let is_done = detach_if(py, engine.is_long(len), || {
            let on_gpus = |gpus: &MultiSorter| -> Result<(), Failure> {
                if W::ARE_KEYS {
                    map_parts(words, target, |word| word.encode(&codes));
                    gpu::select(gpus, target, ranks.clone())?;
                    map_in_place(target, |code| code.decode(&codes));
                } else {
                    let mut wide = wide(words, &codes);
                    gpu::select(gpus, &mut wide, ranks.clone())?;
                    decode_all(&wide, target, &codes);
                }
                Ok(())
            };
            if engine.on_gpu(&task, on_gpus)?.is_some() {
                return Ok(true);
            }
            if by_numpy {
                map_parts(words, target, |word| word.encode(&codes));
                return Ok(false);
            }
            let pays = select::pays(ranks.len(), len);
            Ok::<bool, PyErr>(pays && select::partition(words, &codes, ranks, target))
        })?;
        if is_done || !by_numpy {
            return Ok(is_done);
        }
    }
    out.call_method1(intern!(py, "partition"), (rank,))?;
    let mut target: PyReadwriteArray1<'_, W> = out.extract()?;
    let target = target.as_slice_mut()?;
    detach_if(py, engine.is_long(len), || {
        map_in_place(target, |code| code.decode(&codes));
    });
    Ok(true)
}

/// Up to this number of elements, numpy partitions for a single rank, with vector instructions on
/// one thread. For several ranks it has none.
const NUMPYS_PARTITION: usize = 1 << 18;

/// What the CPU is to do: a selection where that pays, and else a sort.
fn selection<W: Keys>(work: Work, len: usize, ranks: usize, passes: usize) -> Task {
    if select::pays(ranks, len) {
        Task::selection::<W>(work, len, ranks, passes)
    } else {
        Task::new::<W>(work, len, len)
    }
}

fn in_range(ranks: &Range<usize>, len: usize) -> PyResult<()> {
    if ranks.start > ranks.end || ranks.end > len {
        let message = "the ranks are out of range";
        return Err(pyo3::exceptions::PyValueError::new_err(message));
    }
    Ok(())
}

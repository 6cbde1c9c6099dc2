//! Sorts one array: by its values if their type is a key type of the sorter, and otherwise by
//! codes.

use crate::arrays::{map_in_place, map_parts, same_length};
use crate::codes::{Codes, Kind, Order};
use crate::engine::Engine;
use crate::keys::Keys;
use crate::model::Task;
use crate::process::detach_if;
use bcfsort_auto::{Work, cpu};
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::intern;
use pyo3::prelude::*;
use wgpu_bcfsort::{Error, MultiSorter, Order as Direction};

/// Writes the sorted words to `out`; without words, those that are there.
pub(crate) fn sort<W: Keys>(
    engine: &Engine,
    words: Option<&Bound<'_, PyAny>>,
    out: &Bound<'_, PyAny>,
    order: &Order,
) -> PyResult<()> {
    let py = out.py();
    let codes = W::codes(*order, false);
    let (len, by_numpy);
    {
        let words: Option<PyReadonlyArray1<'_, W>> = words.map(|a| a.extract()).transpose()?;
        let mut array: PyReadwriteArray1<'_, W> = out.extract()?;
        let words = words.as_ref().map(|words| words.as_slice()).transpose()?;
        let out = array.as_slice_mut()?;
        len = out.len();
        same_length(words.map_or(len, <[W]>::len), len)?;
        let task = Task::new::<W>(Work::Sort, len, len);
        let on_cpu = if !task.is_numpys() {
            OnCpu::AllCores
        } else if let Some(kind) = numpys_kind::<W>(order).filter(|_| words.is_some()) {
            OnCpu::Numpy(kind)
        } else {
            OnCpu::NumpyOfCodes
        };
        let is_done = detach_if(py, engine.is_long(len), || {
            let on_gpus = |gpus: &MultiSorter| Ok(sort_on_gpus(gpus, words, out, order, &codes)?);
            if engine.on_gpu(&task, on_gpus)?.is_some() {
                return Ok(true);
            }
            match (&on_cpu, words) {
                (OnCpu::Numpy(_), Some(words)) => map_parts(words, out, |word| word),
                _ => encode(words, out, &codes),
            }
            if matches!(on_cpu, OnCpu::AllCores) {
                cpu::sort(out, Direction::Ascending);
                map_in_place(out, |code| code.decode(&codes));
                return Ok(true);
            }
            Ok::<bool, PyErr>(false)
        })?;
        if is_done {
            return Ok(());
        }
        by_numpy = on_cpu;
    }
    let sort = intern!(py, "sort");
    match by_numpy {
        OnCpu::Numpy('u') => {
            out.call_method0(sort)?;
            return Ok(());
        }
        OnCpu::Numpy(kind) => {
            let dtype = format!("{kind}{}", size_of::<W>());
            (out.call_method1(intern!(py, "view"), (dtype,))?).call_method0(sort)?;
        }
        OnCpu::NumpyOfCodes | OnCpu::AllCores => {
            out.call_method0(sort)?;
        }
    }
    let mut array: PyReadwriteArray1<'_, W> = out.extract()?;
    let sorted = array.as_slice_mut()?;
    let words: Option<PyReadonlyArray1<'_, W>> = words.map(|a| a.extract()).transpose()?;
    let words = words.as_ref().map(|words| words.as_slice()).transpose()?;
    detach_if(py, engine.is_long(len), || match (by_numpy, words) {
        (OnCpu::Numpy(_), Some(words)) => order_as_bits(words, sorted, order, &codes),
        _ => map_in_place(sorted, |code| code.decode(&codes)),
    });
    Ok(())
}

/// How the CPU sorts.
#[derive(Clone, Copy)]
enum OnCpu {
    /// numpy, as an array of this kind.
    Numpy(char),
    /// numpy, in ascending order of the codes.
    NumpyOfCodes,
    AllCores,
}

/// The kind of the array that numpy sorts in nearly the wanted order: see [`order_as_bits`].
fn numpys_kind<W: Keys>(order: &Order) -> Option<char> {
    match order.kind {
        _ if order.descending => None,
        Kind::Unsigned => Some('u'),
        Kind::Signed => Some('i'),
        // numpy has no vector instructions for half floats.
        Kind::Float(_) => (order.has_missing() && W::ARE_KEYS).then_some('f'),
    }
}

/// Corrects what numpy has sorted to the order of the bits. numpy does not order -0 and 0, takes
/// NaT for the smallest integer, and may have replaced all NaNs by one.
fn order_as_bits<W: Keys>(words: &[W], sorted: &mut [W], order: &Order, codes: &Codes<W>) {
    if order.kind == Kind::Signed {
        let missing = sorted.partition_point(|&word| codes.is_moved(word));
        sorted.rotate_left(missing);
        return;
    }
    let merged = W::codes(*order, true);
    let numbers = sorted.partition_point(|word| word.encode(&merged) < merged.of_missing());
    if numbers < sorted.len() {
        let missing = words.iter().copied();
        let missing = missing.filter(|word| word.encode(&merged) == merged.of_missing());
        (sorted[numbers..].iter_mut().zip(missing)).for_each(|(to, word)| *to = word);
        sorted[numbers..].sort_unstable_by_key(|word| word.encode(codes));
    }
    let zero = W::of(0).encode(&merged);
    let begin = sorted.partition_point(|word| word.encode(&merged) < zero);
    let end = sorted.partition_point(|word| word.encode(&merged) <= zero);
    let zeros = &mut sorted[begin..end];
    if zeros.is_empty() {
        return;
    }
    // numpy does not keep how many there are of each: of two equal values, a vector instruction may
    // return one twice.
    let negative_zero = W::of(1 << (8 * size_of::<W>() - 1));
    let negative = words.iter().filter(|&&word| word == negative_zero).count();
    zeros[..negative].fill(negative_zero);
    zeros[negative..].fill(W::of(0));
}

fn encode<W: Keys>(words: Option<&[W]>, out: &mut [W], codes: &Codes<W>) {
    match words {
        Some(words) => map_parts(words, out, |word| word.encode(codes)),
        None => map_in_place(out, |word| word.encode(codes)),
    }
}

fn sort_on_gpus<W: Keys>(
    gpus: &MultiSorter,
    words: Option<&[W]>,
    out: &mut [W],
    order: &Order,
    codes: &Codes<W>,
) -> Result<(), Error> {
    if !W::ARE_KEYS {
        encode(words, out, codes);
        let sorted = gpus.sort(out, Direction::Ascending);
        // After an error, too: in a sort in place, the CPU then sorts these words.
        map_in_place(out, |code| code.decode(codes));
        return sorted;
    }
    let Some(words) = words else {
        W::sort(gpus, out, order)?;
        let missing = out.partition_point(|&word| codes.is_moved(word));
        out.rotate_left(missing);
        return Ok(());
    };
    let mut sorted = Sorted::new(out, codes);
    W::sort_to(gpus, words, order, &mut |block| sorted.write(block))
}

/// A result that is written in blocks. Missing values that come first are moved to the end.
struct Sorted<'a, W> {
    out: &'a mut [W],
    written: usize,
    /// Whether all words so far are to be moved.
    are_moved: bool,
    codes: &'a Codes<W>,
}

impl<'a, W: Keys> Sorted<'a, W> {
    fn new(out: &'a mut [W], codes: &'a Codes<W>) -> Self {
        Self {
            out,
            written: 0,
            are_moved: true,
            codes,
        }
    }

    fn write(&mut self, block: &[W]) {
        let mut rest = block;
        if self.are_moved {
            let moved = block.partition_point(|&word| self.codes.is_moved(word));
            rest = &block[moved..];
            self.copy(&block[..moved]);
            self.are_moved = rest.is_empty();
            if !self.are_moved {
                // Nothing is written after them yet.
                let to = self.out.len() - self.written;
                self.out.copy_within(..self.written, to);
                self.written = 0;
            }
        }
        self.copy(rest);
    }

    fn copy(&mut self, block: &[W]) {
        let to = &mut self.out[self.written..][..block.len()];
        map_parts(block, to, |word| word);
        self.written += block.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::Word;

    #[test]
    fn missing_values_that_come_first_are_moved_to_the_end() {
        let order = Order::new('f', 32, true, true).unwrap();
        let codes = u32::codes(order, false);
        let nan = |payload: u32| f32::NAN.to_bits() + payload;
        for missing in 0..20_u32 {
            let numbers = 20 - missing;
            let mut sorted: Vec<u32> = (0..missing).rev().map(nan).collect();
            sorted.extend((0..numbers).rev().map(|number| (number as f32).to_bits()));
            let mut rotated = sorted.clone();
            rotated.rotate_left(missing as usize);
            for block in 1..=20 {
                let mut out = vec![0; sorted.len()];
                let mut to = Sorted::new(&mut out, &codes);
                sorted.chunks(block).for_each(|block| to.write(block));
                assert_eq!(out, rotated, "{missing} in blocks of {block}");
            }
        }
    }
}

//! The first keys of many, found without a sort of all.

use rayon::prelude::*;

/// Of fewer keys, all are sorted: that takes less time than a sample and a selection.
const FEW: usize = 1 << 16;

/// Keys that are looked at to guess the last of the first ones. The guess is off by a standard
/// deviation of at most √SAMPLE / 2.
const SAMPLE: usize = 1 << 14;

/// At most this part of the keys may be asked for: of more, a sort of the selected ones and the
/// selection take as long as a sort of all.
const PART: usize = 4;

/// A key that at least `limit` keys do not exceed, but not many more. None if a sort of all keys
/// takes less time, or if it was not found. O(n) time, on all cores.
pub(crate) fn bound<T: Copy + Ord + Send + Sync>(keys: &[T], limit: usize) -> Option<T> {
    if keys.len() < FEW || limit == 0 || limit > keys.len() / PART {
        return None;
    }
    // One key of each of SAMPLE equal parts, which together are all keys. Its position in the part
    // is pseudo-random, so that a pattern in the keys does not bias the sample.
    let (len, parts) = (keys.len() as u64, SAMPLE as u64);
    let position = |i: u64| {
        let (begin, end) = (i * len / parts, (i + 1) * len / parts);
        let jitter = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (begin + jitter % (end - begin)) as usize
    };
    let mut sample: Vec<T> = (0..parts).map(|i| keys[position(i)]).collect();
    sample.sort_unstable();
    // Four deviations more than expected, and a few where almost none is expected.
    let expected = (SAMPLE as f64) * (limit as f64 / keys.len() as f64);
    let rank = expected + 4.0 * expected.sqrt() + 8.0;
    let bound = *sample.get(rank as usize)?;
    // Many keys may be equal.
    if sample.partition_point(|key| *key <= bound) > SAMPLE / 2 {
        return None;
    }
    let count = |part: &[T]| part.iter().filter(|key| **key <= bound).count();
    let count: usize = keys.par_chunks(FEW).map(count).sum();
    (count >= limit).then_some(bound)
}

/// The keys up to a bound, in the order that they are in.
pub(crate) fn keys_up_to<T: Copy + Ord + Send + Sync>(keys: &[T], bound: T) -> Vec<T> {
    let parts = keys.par_chunks(FEW);
    let parts: Vec<Vec<T>> = parts
        .map(|part| part.iter().copied().filter(|key| *key <= bound).collect())
        .collect();
    parts.concat()
}

/// The rows of the keys up to a bound, ascending.
pub(crate) fn rows_up_to<T: Copy + Ord + Send + Sync>(keys: &[T], bound: T) -> Vec<u32> {
    let part = |(i, part): (usize, &[T])| {
        let rows = part.iter().zip((i * FEW) as u32..);
        let rows = rows.filter(|(key, _)| **key <= bound);
        rows.map(|(_, row)| row).collect()
    };
    let parts: Vec<Vec<u32>> = keys.par_chunks(FEW).enumerate().map(part).collect();
    parts.concat()
}

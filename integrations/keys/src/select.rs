//! Selects the candidates for a top-k, without sorting all keys.

use rayon::prelude::*;

/// The fewest keys that are worth a selection: fewer are sorted in less time.
const FEW: usize = 1 << 16;

/// The number of sampled keys, from which the bound is estimated. In the sample, the standard
/// deviation of its rank is at most √SAMPLE / 2.
const SAMPLE: usize = 1 << 14;

/// A limit of more than 1/4 of the keys is not worth a selection: selecting and sorting the
/// candidates takes as long as sorting all keys.
const PART: usize = 4;

/// Finds an upper bound of the first `limit` keys that few other keys are below. None if sorting
/// all keys takes less time, or if the sample yields no such bound. O(n) time, on all cores.
pub(crate) fn bound<T: Copy + Ord + Send + Sync>(keys: &[T], limit: usize) -> Option<T> {
    if keys.len() < FEW || limit == 0 || limit > keys.len() / PART {
        return None;
    }
    // Samples one key from each of SAMPLE equal parts. Its position in the part is pseudo-random,
    // so that a pattern in the keys does not bias the sample.
    let (len, parts) = (keys.len() as u64, SAMPLE as u64);
    let position = |i: u64| {
        let (begin, end) = (i * len / parts, (i + 1) * len / parts);
        let jitter = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (begin + jitter % (end - begin)) as usize
    };
    let mut sample: Vec<T> = (0..parts).map(|i| keys[position(i)]).collect();
    sample.sort_unstable();
    // Four standard deviations above the expected rank, and 8 more for very small ranks.
    let expected = (SAMPLE as f64) * (limit as f64 / keys.len() as f64);
    let rank = expected + 4.0 * expected.sqrt() + 8.0;
    let bound = *sample.get(rank as usize)?;
    // With many keys equal to the bound, a selection would save little.
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

//! Sorts of rows.

use crate::column::{BLOCK, comparable};
use crate::{Argsort, Encoded, Error, Floats, Keys, SortColumn, encode};
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_schema::{ArrowError, SortOptions};
use rayon::prelude::*;
use std::cmp::Ordering;

/// Rows with equal keys from which on they are sorted on more than one core.
const MANY: usize = 1 << 14;

/// Of wide keys, the part of the rows that may have equal first words for the CPU to compare the
/// others. A second sort takes as long as comparing some more.
const FEW_TIES: usize = 8;

/// Returns the indices that sort rows by columns, the first column first. Stable.
///
/// Keys of up to 64 bits are sorted by `argsort`. Of longer ones the first 64 bits are, and the
/// others too if many rows are equal in the first. Rows with equal keys that may differ are
/// compared on the CPU. O(n log n) time. Takes 4 to 16 bytes of memory for the key of each row, and 8 for
/// each value of a string column; and besides, 4 for the index.
///
/// # Errors
///
/// Those of [`encode`], and [`Error::Argsort`].
///
/// # Examples
///
/// See the [crate](crate).
pub fn sort_indices<A: Argsort>(
    columns: &[SortColumn],
    floats: Floats,
    argsort: &A,
) -> Result<Vec<u32>, Error<A::Error>> {
    let Encoded { keys, covered, .. } = encode(columns, floats)?;
    let others = &columns[covered..];
    let compare = comparator(others, floats)?;
    let mut indices = match &keys {
        Keys::U32(keys) => argsort.argsort_u32(keys),
        Keys::U64(keys) | Keys::Wide(keys, _) => argsort.argsort_u64(keys),
    }
    .map_err(Error::Argsort)?;
    match &keys {
        _ if others.is_empty() && !matches!(keys, Keys::Wide(..)) => {}
        Keys::U32(keys) => sort_all(ties(&mut indices, |a, b| keys[a] == keys[b]), compare),
        Keys::U64(keys) => sort_all(ties(&mut indices, |a, b| keys[a] == keys[b]), compare),
        Keys::Wide(high, low) => {
            let tied = ties(&mut indices, |a, b| high[a] == high[b]);
            let count: usize = tied.iter().map(|rows| rows.len()).sum();
            if count <= high.len() / FEW_TIES {
                sort_all(tied, |a, b| low[a].cmp(&low[b]).then_with(|| compare(a, b)));
                return Ok(indices);
            }
            indices = by_two(low, high, argsort).map_err(Error::Argsort)?;
            let are_equal = |a, b| high[a] == high[b] && low[a] == low[b];
            if !others.is_empty() {
                sort_all(ties(&mut indices, are_equal), compare);
            }
        }
    }
    Ok(indices)
}

/// Sorts each of these ranges of rows, stably.
fn sort_all(mut ranges: Vec<&mut [u32]>, compare: impl Fn(usize, usize) -> Ordering + Sync) {
    let compare = |&a: &u32, &b: &u32| compare(a as usize, b as usize);
    ranges.par_iter_mut().for_each(|rows| {
        if rows.len() < MANY {
            rows.sort_by(compare);
        } else {
            rows.par_sort_by(compare);
        }
    });
}

/// Sorts by the low words, and then, stably, by the high ones.
fn by_two<A: Argsort>(low: &[u64], high: &[u64], argsort: &A) -> Result<Vec<u32>, A::Error> {
    let by_low = argsort.argsort_u64(low)?;
    let high: Vec<u64> = by_low.par_iter().map(|&row| high[row as usize]).collect();
    let by_high = argsort.argsort_u64(&high)?;
    Ok(by_high
        .into_par_iter()
        .map(|i| by_low[i as usize])
        .collect())
}

/// Compares rows by columns.
fn comparator(
    columns: &[SortColumn],
    floats: Floats,
) -> Result<impl Fn(usize, usize) -> Ordering + Sync, ArrowError> {
    let compare = |column: &SortColumn| {
        let values = comparable(column, floats)?;
        let options = SortOptions {
            descending: column.descending,
            nulls_first: column.nulls_first,
        };
        make_comparator(&values, &values, options)
    };
    let all: Vec<DynComparator> = columns.iter().map(compare).collect::<Result<_, _>>()?;
    Ok(move |a, b| {
        let differing = all
            .iter()
            .map(|compare| compare(a, b))
            .find(|order| order.is_ne());
        differing.unwrap_or(Ordering::Equal)
    })
}

/// The maximal ranges of at least two indices of rows with equal keys.
fn ties(indices: &mut [u32], are_equal: impl Fn(usize, usize) -> bool + Sync) -> Vec<&mut [u32]> {
    let all = &*indices;
    let follows = |i: usize| i > 0 && are_equal(all[i - 1] as usize, all[i] as usize);
    // Each block has the ranges that begin in it.
    let ranges: Vec<(usize, usize)> = (0..all.len())
        .into_par_iter()
        .step_by(BLOCK)
        .flat_map_iter(|begin| {
            let mut ranges = Vec::new();
            let end = all.len().min(begin + BLOCK);
            let mut i = begin;
            // What belongs to an earlier range.
            while i < end && follows(i) {
                i += 1;
            }
            while i < end {
                let first = i;
                i += 1;
                while i < all.len() && follows(i) {
                    i += 1;
                }
                if i - first > 1 {
                    ranges.push((first, i));
                }
            }
            ranges
        })
        .collect();
    let (mut rest, mut from) = (indices, 0);
    let mut slices = Vec::with_capacity(ranges.len());
    for (begin, end) in ranges {
        let (before, after) = rest.split_at_mut(end - from);
        slices.push(&mut before[begin - from..]);
        (rest, from) = (after, end);
    }
    slices
}

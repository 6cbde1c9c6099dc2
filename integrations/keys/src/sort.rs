//! Sorts rows by their keys, and breaks ties.

use crate::column::BLOCK;
use crate::encode::MOST;
use crate::plain::{comparable, without_structs};
use crate::select::{bound, rows_up_to};
use crate::strings::{Strings, with_bytes};
use crate::types::has_bytes;
use crate::{Argsort, Encoded, Error, Floats, Keys, SortColumn, encode};
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_schema::{ArrowError, SortOptions};
use bcfsort_auto::ties::{self, Tie};
use rayon::prelude::*;
use std::cmp::Ordering;
use wgpu_bcfsort::Order;

/// From this number of rows with equal keys, more than one core sorts them.
const MANY: usize = 1 << 14;

/// If at most 1/8 of the rows tie in the high word, the CPU compares the low words. With more ties,
/// a second sort takes no longer.
const FEW_TIES: usize = 8;

/// Returns the indices that sort rows by columns, the first column first. Stable.
///
/// `argsort` sorts the first 64 bits of the keys, and the other bits too if many rows tie in the
/// first. Of rows that have equal keys but may differ, those with strings are [sorted by their next
/// bytes](bcfsort_auto::ties), again with `argsort`, as long as it sorts them [on a
/// GPU](Argsort::is_on_gpu). The CPU compares the others. O(n log n) time.
///
/// Memory per row: 4 to 16 bytes for the key, and 4 for the index. Strings that tie take up to 20
/// more while they are sorted. While the keys are encoded, each string column takes 8 more, each
/// 256-bit decimal 16, each boolean 1, and each dictionary 4, with 8 for each of its values.
/// [`Encoded::first_indices`] takes up to 20 bytes for each row that it selects.
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
    encode(columns, floats)?.sort_indices(columns, floats, argsort)
}

impl Encoded {
    /// Returns the indices that sort the rows: the second step of [`sort_indices`], after
    /// [`encode`], so that each step can be timed. Pass the same columns and the same order of
    /// floats.
    ///
    /// # Errors
    ///
    /// [`Error::Argsort`], and [`Error::Arrow`] if values cannot be compared.
    ///
    /// # Examples
    ///
    /// ```
    /// use arrow_array::Float64Array;
    /// use bcfsort_keys::{Cpu, Floats, SortColumn, encode};
    /// use std::sync::Arc;
    ///
    /// let prices = [SortColumn {
    ///     values: Arc::new(Float64Array::from(vec![2.5, 0.5, f64::NAN])),
    ///     descending: false,
    ///     nulls_first: true,
    /// }];
    /// let encoded = encode(&prices, Floats::Total)?;
    /// assert_eq!(encoded.sort_indices(&prices, Floats::Total, &Cpu)?, [1, 0, 2]);
    /// # Ok::<(), bcfsort_keys::Error<std::convert::Infallible>>(())
    /// ```
    pub fn sort_indices<A: Argsort>(
        &self,
        columns: &[SortColumn],
        floats: Floats,
        argsort: &A,
    ) -> Result<Vec<u32>, Error<A::Error>> {
        self.first_indices(usize::MAX, columns, floats, argsort)
    }

    /// Returns the first `limit` indices of [`sort_indices`](Self::sort_indices) (top-k).
    ///
    /// If there are at least 65,536 rows and `limit` is at most a quarter of them, the candidates
    /// are selected in O(n) time, and only these are sorted: little more than `limit` rows.
    ///
    /// # Errors
    ///
    /// Those of [`sort_indices`](Self::sort_indices).
    ///
    /// # Examples
    ///
    /// ```
    /// use arrow_array::Int64Array;
    /// use bcfsort_keys::{Cpu, Floats, SortColumn, encode};
    /// use std::sync::Arc;
    ///
    /// let ids = [SortColumn {
    ///     values: Arc::new(Int64Array::from_iter_values((0..100_000).rev())),
    ///     descending: false,
    ///     nulls_first: true,
    /// }];
    /// let encoded = encode(&ids, Floats::Total)?;
    /// let first = encoded.first_indices(3, &ids, Floats::Total, &Cpu)?;
    /// assert_eq!(first, [99_999, 99_998, 99_997]);
    /// # Ok::<(), bcfsort_keys::Error<std::convert::Infallible>>(())
    /// ```
    pub fn first_indices<A: Argsort>(
        &self,
        limit: usize,
        columns: &[SortColumn],
        floats: Floats,
        argsort: &A,
    ) -> Result<Vec<u32>, Error<A::Error>> {
        let rows = match &self.keys {
            Keys::U32(keys) => bound(keys, limit).map(|bound| rows_up_to(keys, bound)),
            Keys::U64(keys) | Keys::Wide(keys, _) => {
                bound(keys, limit).map(|bound| rows_up_to(keys, bound))
            }
        };
        let mut indices = self.sort_rows(rows.as_deref(), columns, floats, argsort)?;
        indices.truncate(limit);
        Ok(indices)
    }

    /// Sorts these rows, or all rows if None.
    fn sort_rows<A: Argsort>(
        &self,
        rows: Option<&[u32]>,
        columns: &[SortColumn],
        floats: Floats,
        argsort: &A,
    ) -> Result<Vec<u32>, Error<A::Error>> {
        // Structs are taken apart only if columns are compared, since that copies their fields'
        // nulls and checks their values.
        let plain;
        let others = if self.is_whole {
            &[]
        } else {
            plain = without_structs(columns)?;
            &plain[self.covered..]
        };
        let argsort_u64 = |keys: &[u64], rows| by(keys, rows, |keys| argsort.argsort_u64(keys));
        let mut indices = match &self.keys {
            Keys::U32(keys) => by(keys, rows, |keys| argsort.argsort_u32(keys)),
            Keys::U64(keys) | Keys::Wide(keys, _) => argsort_u64(keys, rows),
        }
        .map_err(Error::Argsort)?;
        if let Keys::Wide(high, low) = &self.keys {
            let many = indices.len() / FEW_TIES;
            let tied = ties(&mut indices, |a, b| high[a] == high[b]);
            let count: usize = tied.iter().map(|rows| rows.len()).sum();
            if count <= many {
                let compare = comparator(others, floats)?;
                sort_all(tied, |a, b| low[a].cmp(&low[b]).then_with(|| compare(a, b)));
                return Ok(indices);
            }
            // The stable sort by high words keeps rows with equal ones in the order of the low
            // words.
            let by_low = argsort_u64(low, rows).map_err(Error::Argsort)?;
            indices = argsort_u64(high, Some(&by_low)).map_err(Error::Argsort)?;
        }
        if others.is_empty() {
            return Ok(indices);
        }
        let tied = match &self.keys {
            Keys::U32(keys) => ties(&mut indices, |a, b| keys[a] == keys[b]),
            Keys::U64(keys) => ties(&mut indices, |a, b| keys[a] == keys[b]),
            Keys::Wide(high, low) => {
                ties(&mut indices, |a, b| high[a] == high[b] && low[a] == low[b])
            }
        };
        let next = &others[0];
        if has_bytes(next.values.data_type()) {
            let rest = match &others[1..] {
                [] => None,
                rest => Some(comparator(rest, floats)?),
            };
            with_bytes!(next.values, strings => {
                let tells_nulls = self.bits < MOST;
                let column = Texts { strings, column: next, tells_nulls, rest };
                column.sort_all(tied, self.prefix, argsort).map_err(Error::Argsort)?;
            });
        } else {
            sort_all(tied, comparator(others, floats)?);
        }
        Ok(indices)
    }
}

/// Breaks ties by a string column, and ties in it by the columns after it.
struct Texts<'a, S, C> {
    strings: S,
    column: &'a SortColumn,
    /// Whether keys have a bit left for this column, which tells nulls from strings.
    tells_nulls: bool,
    /// None if nothing is left to compare.
    rest: Option<C>,
}

/// Eight bytes of a string, its [`length`], and the row.
type Word = (u64, u32, u32);

impl<S: Strings, C: Fn(usize, usize) -> Ordering + Sync> Texts<'_, S, C> {
    /// Stably sorts ranges of rows whose strings agree in their first `depth` bytes.
    fn sort_all<A: Argsort>(
        &self,
        ranges: Vec<&mut [u32]>,
        depth: usize,
        argsort: &A,
    ) -> Result<(), A::Error> {
        let count = ranges.iter().map(|rows| rows.len()).sum();
        let mut few = ranges;
        let many: Vec<_> = if argsort.is_on_gpu(count) {
            let is_many = |rows: &mut &mut [u32]| rows.len() > ties::FEW;
            few.extract_if(.., is_many).collect()
        } else {
            Vec::new()
        };
        few.into_par_iter()
            .for_each(|rows| self.sort_strings(self.strings_of(rows), depth));
        let tie = |rows| Tie {
            rows: self.strings_of(rows),
            depth,
        };
        let ties: Vec<Tie> = many.into_par_iter().map(tie).collect();
        let order = if self.column.descending {
            Order::Descending
        } else {
            Order::Ascending
        };
        let pays = |len| argsort.is_on_gpu(len);
        let left = ties::sort(ties, self, order, pays, |keys| argsort.argsort_u64(keys))?;
        left.into_par_iter()
            .for_each(|tie| self.sort_strings(tie.rows, tie.depth));
        Ok(())
    }

    /// Sorts rows without strings, and returns the others.
    fn strings_of<'r>(&self, rows: &'r mut [u32]) -> &'r mut [u32] {
        let nulls_first = self.column.nulls_first;
        let is_first = |row: usize| self.column.values.is_null(row) == nulls_first;
        if !self.tells_nulls {
            sort_all(vec![&mut *rows], |a, b| is_first(b).cmp(&is_first(a)));
        }
        let firsts = rows.partition_point(|&row| is_first(row as usize));
        let (first, others) = rows.split_at_mut(firsts);
        let (nulls, strings) = if nulls_first {
            (first, others)
        } else {
            (others, first)
        };
        self.sort_rest(nulls);
        strings
    }

    /// Stably sorts rows whose strings agree in their first `depth` bytes.
    ///
    /// Comparing two strings misses the cache for both. Instead, each string is read once for its
    /// next eight bytes, and these are compared.
    fn sort_strings(&self, rows: &mut [u32], depth: usize) {
        let mut stack = vec![(0..rows.len(), depth)];
        while let Some((range, depth)) = stack.pop() {
            let rows = &mut rows[range.clone()];
            let words = self.words(rows, depth);
            for (row, word) in rows.iter_mut().zip(&words) {
                *row = word.2;
            }
            let is_equal = |a: &Word, b: &Word| (a.0, a.1) == (b.0, b.1);
            let mut begin = 0;
            for equal in words.chunk_by(is_equal) {
                let end = begin + equal.len();
                if equal[0].1 < length(usize::MAX, depth) {
                    // These strings have ended.
                    self.sort_rest(&mut rows[begin..end]);
                } else if equal.len() > 1 {
                    let depth = if equal.len() == words.len() {
                        self.common(rows, depth)
                    } else {
                        depth + 8
                    };
                    stack.push((range.start + begin..range.start + end, depth));
                }
                begin = end;
            }
        }
    }

    /// The next words of these rows, sorted.
    fn words(&self, rows: &[u32], depth: usize) -> Vec<Word> {
        let word = |&row: &u32| {
            let bytes = self.strings.bytes(row as usize);
            let next = bytes.get(depth..).unwrap_or_default();
            let mut word = [0; 8];
            let taken = next.len().min(8);
            word[..taken].copy_from_slice(&next[..taken]);
            (u64::from_be_bytes(word), length(bytes.len(), depth), row)
        };
        let descending = self.column.descending;
        let compare = |a: &Word, b: &Word| {
            let order = (a.0, a.1).cmp(&(b.0, b.1));
            let order = if descending { order.reverse() } else { order };
            order.then(a.2.cmp(&b.2))
        };
        if rows.len() < MANY {
            let mut words: Vec<Word> = rows.iter().map(word).collect();
            words.sort_unstable_by(compare);
            words
        } else {
            let mut words: Vec<Word> = rows.par_iter().map(word).collect();
            words.par_sort_unstable_by(compare);
            words
        }
    }

    /// The length of the common prefix of strings that agree in their first `depth` bytes.
    fn common(&self, rows: &[u32], depth: usize) -> usize {
        let first = &self.strings.bytes(rows[0] as usize)[depth..];
        let equal = |row: u32, first: &[u8]| {
            let bytes = &self.strings.bytes(row as usize)[depth..];
            let pairs = bytes.iter().zip(first);
            pairs.take_while(|(a, b)| a == b).count()
        };
        let shortest = rows[1..]
            .iter()
            .fold(first.len(), |least, &row| equal(row, &first[..least]));
        depth + shortest
    }

    fn sort_rest(&self, rows: &mut [u32]) {
        if let Some(compare) = &self.rest {
            sort_all(vec![rows], compare);
        }
    }
}

impl<S: Strings, C: Fn(usize, usize) -> Ordering + Sync> ties::Strings for Texts<'_, S, C> {
    fn bytes<'a>(&'a self, row: u32, _: &'a mut Vec<u8>) -> &'a [u8] {
        self.strings.bytes(row as usize)
    }

    fn equal(&self, rows: &mut [u32]) {
        self.sort_rest(rows);
    }
}

/// The length of a string, to break ties between equal words: a string that has ended precedes one
/// that continues with zeros.
///
/// The length is counted from `depth` - 8, since up to eight of the common bytes may be padding of
/// a string that has ended. It is capped at `depth` + 9, which says that the string goes on after
/// this word.
fn length(bytes: usize, depth: usize) -> u32 {
    (bytes.min(depth + 9) - depth.saturating_sub(8)) as u32
}

/// Stably sorts each of these ranges of rows.
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

/// Returns these rows, or all rows if None, sorted by their keys. Stable.
fn by<T: Copy + Send + Sync, E>(
    keys: &[T],
    rows: Option<&[u32]>,
    argsort: impl FnOnce(&[T]) -> Result<Vec<u32>, E>,
) -> Result<Vec<u32>, E> {
    let Some(rows) = rows else {
        return argsort(keys);
    };
    let keys: Vec<T> = rows.par_iter().map(|&row| keys[row as usize]).collect();
    let sorted = argsort(&keys)?;
    Ok(sorted.into_par_iter().map(|i| rows[i as usize]).collect())
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
            // Skips the rest of a range that began in an earlier block.
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

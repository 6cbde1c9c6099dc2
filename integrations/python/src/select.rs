//! Selection on the CPU: the elements of some ranks, without a sort of the others.
//!
//! A random sample gives bounds that very likely enclose the codes of the wanted ranks (Floyd,
//! Rivest, "Expected time bounds for selection", CACM 1975). One or two passes on all cores compare
//! each element with the bounds. The few elements between the bounds are sorted. If the bounds
//! prove wrong, the caller sorts everything.
//!
//! Codes are computed on the fly: no array of codes is made. Of equal codes, those with the
//! smallest indices come first.

use crate::codes::{Codes, Order, Word};
use crate::keys::{BLOCK, Keys};
use rayon::prelude::*;
use std::ops::Range;

/// For up to this number of elements, the standard library selects, on one thread.
const FEW: usize = 1 << 11;

/// Threads share a pass over more elements than these. Starting a thread takes as long as comparing
/// this many.
const SHARED: usize = 1 << 17;

/// Elements of a part.
const PART: usize = 1 << 16;

/// The sample has 1/SAMPLED of all elements, within these limits.
const SAMPLED: usize = 32;
const LEAST_SAMPLE: usize = 1 << 8;
const MOST_SAMPLE: usize = 1 << 14;

/// More records than these are sorted on all cores.
const MANY: usize = 1 << 13;

/// If more than 1/8 of the ranks are wanted, a sort takes less time than a selection.
const FEW_RANKS: usize = 8;

/// Whether a selection of this many ranks can be faster than a sort.
pub(crate) const fn pays(ranks: usize, len: usize) -> bool {
    len <= FEW || ranks <= len / FEW_RANKS
}

/// The indices of the `k` smallest codes, in the order of the codes. `None` if the bound of the
/// sample proves wrong.
///
/// There must be fewer than 2^32 words, and a selection of `k` must [pay](pays). Takes memory for a
/// few times `k` records, since each part keeps only the first `k` codes that equal the bound.
pub(crate) fn smallest<W: Keys>(words: &[W], order: &Order, k: usize) -> Option<Vec<u32>> {
    if k == 0 {
        return Some(Vec::new());
    }
    let codes = W::codes(*order, true);
    let found = if words.len() <= FEW {
        let record = |(word, index): (&W, u32)| word.encode(&codes).indexed(index);
        words.iter().zip(0..).map(record).collect()
    } else {
        let most = bounds(words, &codes, 0..k).1?;
        within(words, &Within::new(order, codes, most, k))
    };
    (found.len() >= k).then(|| {
        let first = sorted_first::<W>(found, k);
        first.into_iter().map(W::index).collect()
    })
}

/// The `k` smallest records, sorted.
fn sorted_first<W: Word>(mut records: Vec<W::Indexed>, k: usize) -> Vec<W::Indexed> {
    // Sorting all records on all cores takes less time than removing a small part of them on one
    // core.
    if records.len() > k && (records.len() <= MANY || records.len() / 2 > k) {
        records.select_nth_unstable(k);
        records.truncate(k);
    }
    sort(&mut records);
    records.truncate(k);
    records
}

fn sort<T: Ord + Send>(items: &mut [T]) {
    if items.len() <= MANY {
        items.sort_unstable();
    } else {
        items.par_sort_unstable();
    }
}

/// The condition for elements to be collected: a code up to a bound.
struct Within<'a, W> {
    order: &'a Order,
    codes: Codes<W>,
    most: W,
    /// The value of the code `most`, if values compare as codes do: comparing values is faster.
    bound: Option<W>,
    /// The most elements with the code `most` that are needed.
    k: usize,
}

impl<'a, W: Keys> Within<'a, W> {
    fn new(order: &'a Order, codes: Codes<W>, most: W, k: usize) -> Self {
        let compares = W::ARE_KEYS && codes.compare_as_values(most);
        Self {
            order,
            bound: compares.then(|| most.decode(&codes)),
            codes,
            most,
            k,
        }
    }

    /// Whether a block has an element up to the bound, or below it if `is_strict`.
    #[inline(always)]
    fn is_in(&self, block: &[W; BLOCK], is_strict: bool) -> bool {
        if let Some(bound) = self.bound {
            return W::has_any(block, bound, self.order, is_strict);
        }
        let limit = W::of(self.most.code() - u64::from(is_strict));
        let compare = |any: bool, word: &W| any | (word.encode(&self.codes) <= limit);
        block.iter().fold(false, compare)
    }

    /// The records of a part, which begins at an index: of codes that equal the bound, the first
    /// `k`.
    fn of_part(&self, words: &[W], begin: usize) -> Vec<W::Indexed> {
        let mut found = Vec::new();
        let mut equal = 0;
        let mut look = |words: &[W], at: usize| {
            for (word, index) in words.iter().zip(at as u32..) {
                let code = word.encode(&self.codes);
                let is_equal = code == self.most;
                if code < self.most || (is_equal && equal < self.k) {
                    found.push(code.indexed(index));
                    equal += usize::from(is_equal);
                }
            }
            equal == self.k
        };
        let (blocks, rest) = words.as_chunks::<BLOCK>();
        let mut is_strict = false;
        for (i, block) in blocks.iter().enumerate() {
            if self.is_in(block, is_strict) {
                is_strict = look(block, begin + i * BLOCK);
                if is_strict && self.most.code() == 0 {
                    return found;
                }
            }
        }
        look(rest, begin + words.len() - rest.len());
        found
    }
}

/// The records of all elements up to a bound, by their indices.
fn within<W: Keys>(words: &[W], within: &Within<'_, W>) -> Vec<W::Indexed> {
    if words.len() <= SHARED {
        return within.of_part(words, 0);
    }
    let parts = words.par_chunks(PART).enumerate();
    let found: Vec<Vec<W::Indexed>> = parts
        .map(|(i, words)| within.of_part(words, i * PART))
        .collect();
    found.concat()
}

/// Bounds that very likely enclose the codes of the ranks. A side has none if the ranks are so near
/// to that end that all codes there are within.
fn bounds<W: Word>(words: &[W], codes: &Codes<W>, ranks: Range<usize>) -> (Option<W>, Option<W>) {
    let len = words.len();
    let size = (len / SAMPLED).clamp(LEAST_SAMPLE, MOST_SAMPLE);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut sample: Vec<W> = (0..size)
        .map(|_| {
            // The upper half of the product with the length: all indices are equally likely.
            state = (state.wrapping_mul(0x5851_f42d_4c95_7f2d)).wrapping_add(0x1405_7b7e);
            let index = ((u128::from(state) * len as u128) >> 64) as usize;
            words[index].encode(codes)
        })
        .collect();
    // The variance of the number of samples below a rank is about its mean. A slack of five
    // standard deviations and 8 more is exceeded less than once in ten million times.
    let slack = |expected: f64| 5.0 * expected.sqrt() + 8.0;
    let expected = |rank: usize| rank as f64 * size as f64 / len as f64;
    let from_end = |rank: usize| expected(len - rank);
    let low =
        (expected(ranks.start) - slack(expected(ranks.start).min(from_end(ranks.start)))) as i64;
    let high = (expected(ranks.end) + slack(expected(ranks.end).min(from_end(ranks.end)))) as usize;
    let high = (high < size).then(|| *sample.select_nth_unstable(high).1);
    let low = usize::try_from(low).ok().filter(|&low| low > 0);
    let low = low.map(|low| *sample.select_nth_unstable(low).1);
    (low, high)
}

/// Where elements go: before, between or behind two bounds.
struct Sides<W> {
    low: W,
    high: W,
}

impl<W: Word> Sides<W> {
    #[inline(always)]
    fn of(&self, code: W) -> usize {
        usize::from(code >= self.low) + usize::from(code > self.high)
    }
}

/// Partitions items by two bounds: writes an item for each word to `out`, and returns the range of
/// the items between the bounds, which has those of the given ranks.
///
/// Items of smaller codes come before the range, and items of greater codes after it, each in their
/// original order. `None` if the bounds prove wrong, or if there is nothing to gain.
pub(crate) fn split<W: Word, T: Send>(
    words: &[W],
    codes: &Codes<W>,
    ranks: Range<usize>,
    out: &mut [T],
    item: impl Fn(usize, W) -> T + Sync,
) -> Option<Range<usize>> {
    if words.len() <= FEW {
        (out.iter_mut().zip(words).enumerate()).for_each(|(i, (to, &word))| *to = item(i, word));
        return Some(0..words.len());
    }
    let (low, high) = bounds(words, codes, ranks.clone());
    let sides = Sides {
        low: low.unwrap_or(W::of(0)),
        high: high.unwrap_or(W::of(u64::MAX)),
    };
    let part = if words.len() <= SHARED {
        words.len()
    } else {
        PART
    };
    let count = |words: &[W]| {
        let (mut low, mut high) = (0_u32, 0_u32);
        for word in words {
            let code = word.encode(codes);
            low += u32::from(code < sides.low);
            high += u32::from(code > sides.high);
        }
        [
            low as usize,
            words.len() - (low + high) as usize,
            high as usize,
        ]
    };
    let counts: Vec<[usize; 3]> = if part == words.len() {
        vec![count(words)]
    } else {
        words.par_chunks(part).map(count).collect()
    };
    let total = |side: usize| counts.iter().map(|counts| counts[side]).sum::<usize>();
    let between = total(0)..total(0) + total(1);
    let is_within = between.start <= ranks.start && ranks.end <= between.end;
    if !is_within || between.len() > words.len() / 2 {
        return None;
    }
    let (below, rest) = out.split_at_mut(between.start);
    let (middle, above) = rest.split_at_mut(between.len());
    let mut left = [below, middle, above];
    let mut targets = Vec::with_capacity(counts.len());
    for counts in counts {
        let mut side = 0;
        targets.push(counts.map(|count| {
            let (target, rest) = std::mem::take(&mut left[side]).split_at_mut(count);
            left[side] = rest;
            side += 1;
            target
        }));
    }
    let move_part = |(i, (words, targets)): (usize, (&[W], [&mut [T]; 3]))| {
        let mut at = [0_usize; 3];
        for (index, &word) in (i * part..).zip(words) {
            let side = sides.of(word.encode(codes));
            targets[side][at[side]] = item(index, word);
            at[side] += 1;
        }
    };
    if part == words.len() {
        (words.chunks(part).zip(targets).enumerate()).for_each(move_part);
    } else {
        let parts = words.par_chunks(part).zip(targets).enumerate();
        parts.for_each(move_part);
    }
    Some(between)
}

/// Writes indices so that those of some ranks are in the order of their codes, those of smaller
/// codes before and of greater ones after them. False if it was not done: see [`split`].
pub(crate) fn argpartition<W: Word>(
    words: &[W],
    codes: &Codes<W>,
    ranks: Range<usize>,
    out: &mut [i64],
) -> bool {
    let Some(between) = split(words, codes, ranks.clone(), out, |index, _| index as i64) else {
        return false;
    };
    let ranks = ranks.start - between.start..ranks.end - between.start;
    let between = &mut out[between];
    let record = |&index: &i64| words[index as usize].encode(codes).indexed(index as u32);
    let mut records: Vec<W::Indexed> = between.iter().map(record).collect();
    arrange(&mut records, ranks);
    for (to, record) in between.iter_mut().zip(records) {
        *to = W::index(record).into();
    }
    true
}

/// Writes words so that those of some ranks are in the order of their codes, those of smaller codes
/// before and of greater ones after them. False if it was not done: see [`split`]. `codes` must be
/// a bijection.
pub(crate) fn partition<W: Word>(
    words: &[W],
    codes: &Codes<W>,
    ranks: Range<usize>,
    out: &mut [W],
) -> bool {
    let Some(between) = split(words, codes, ranks.clone(), out, |_, word| word) else {
        return false;
    };
    let ranks = ranks.start - between.start..ranks.end - between.start;
    let between = &mut out[between];
    map_in_place(between, |word| word.encode(codes));
    arrange(between, ranks);
    map_in_place(between, |word| word.decode(codes));
    true
}

fn map_in_place<T: Copy>(items: &mut [T], map: impl Fn(T) -> T) {
    items.iter_mut().for_each(|item| *item = map(*item));
}

/// Sorts the items of some ranks only. Those before and after them are in any order.
fn arrange<T: Ord + Send>(mut items: &mut [T], ranks: Range<usize>) {
    if ranks.start > 0 && ranks.start < items.len() {
        items = items.select_nth_unstable(ranks.start - 1).2;
    }
    if !ranks.is_empty() && ranks.len() < items.len() {
        items = items.select_nth_unstable(ranks.len()).0;
    }
    sort(items);
}

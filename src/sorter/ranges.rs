//! Keys partitioned on the host, into ranges that a device sorts one after another.
//!
//! The ranges are between splitters, which are keys of a sample. What is sorted is in its final
//! place: nothing is merged. Keys that equal a splitter have a range of their own, which needs no
//! sort: values that occur often become splitters, and so no range is long for a few of them. Of
//! two or more different keys, every range has fewer than all.

use crate::at_once::each_at_once;
use crate::error::Error;
use crate::gpu::transfer::zeroed;
use crate::key::SortKey;
use crate::order::Order;
use std::ops::Range;

/// Keys that a thread partitions at once.
const CHUNK: usize = 1 << 18;

/// Bytes of a range, if there are at most [`MOST_RANGES`].
const RANGE_BYTES: usize = 512 << 20;

/// Ranges are numbered in a byte, as those between splitters and those of splitters.
const MOST_RANGES: usize = 100;

/// Keys of the sample for each range.
const SAMPLED: usize = 1 << 11;

/// A partition of keys: even ranges are between splitters, odd ones have the keys that equal one.
pub(super) struct Ranges {
    /// The range of each key.
    of_keys: Vec<u8>,
    len: usize,
    /// How many keys of each chunk are in each range: by chunks, each of all ranges.
    lengths: Vec<usize>,
    count: usize,
}

/// A range of the sorted keys.
pub(super) struct Part {
    pub(super) range: Range<usize>,
    /// Whether its keys are still to be sorted. Otherwise all are equal.
    pub(super) sorts: bool,
}

impl Ranges {
    /// Partitions keys into at least so many ranges of about equal lengths. Takes a byte for each
    /// key: in `memory`, if it is as long.
    pub(super) fn of<T: SortKey>(
        keys: &[T],
        order: Order,
        least: usize,
        memory: Vec<u8>,
    ) -> Result<Self, Error> {
        let by_size = size_of_val(keys) / RANGE_BYTES;
        // (Without a splitter one range would have all keys.)
        let wanted = least.max(by_size).clamp(2, MOST_RANGES);
        let splitters = Splitters::new(splitters(keys, order, wanted));
        let count = 2 * splitters.ranks.len() + 1;
        let mut of_keys = memory;
        if of_keys.len() < keys.len() {
            of_keys = zeroed(keys.len())?;
        }
        let len = keys.len();
        let mut lengths = vec![0; keys.len().div_ceil(CHUNK) * count];
        let chunks = of_keys[..len].chunks_mut(CHUNK).zip(keys.chunks(CHUNK));
        each_at_once(
            chunks.zip(lengths.chunks_mut(count)),
            |((ranges, keys), lengths)| {
                // (One for each byte, so that no index has to be checked.)
                let mut counts = [0_u32; 256];
                for (range, key) in ranges.iter_mut().zip(keys) {
                    *range = splitters.range(key.rank(order));
                    counts[usize::from(*range)] += 1;
                }
                for (length, count) in lengths.iter_mut().zip(counts) {
                    *length = count as usize;
                }
            },
        );
        Ok(Self {
            of_keys,
            len,
            lengths,
            count,
        })
    }

    /// Its memory, for another one.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn into_memory(self) -> Vec<u8> {
        self.of_keys
    }

    /// The ranges of the sorted keys that are not empty, in order.
    pub(super) fn parts(&self) -> impl Iterator<Item = Part> {
        let mut end = 0;
        let part = move |range: usize| {
            let of_chunks = self.lengths.iter().skip(range).step_by(self.count);
            let begin = end;
            end += of_chunks.sum::<usize>();
            Part {
                range: begin..end,
                sorts: range.is_multiple_of(2) && end - begin > 1,
            }
        };
        (0..self.count)
            .map(part)
            .filter(|part| !part.range.is_empty())
    }

    /// Moves keys to their ranges. Those of a range keep their order.
    pub(super) fn scatter<T: SortKey>(&self, keys: &[T], parted: &mut [T]) {
        let chunks = keys.chunks(CHUNK).zip(self.chunks());
        each_at_once(
            chunks.zip(self.targets(parted)),
            |((keys, ranges), mut targets)| {
                let mut at = vec![0; self.count];
                for (&key, &range) in keys.iter().zip(ranges) {
                    let range = usize::from(range);
                    targets[range][at[range]] = key;
                    at[range] += 1;
                }
            },
        );
    }

    /// The index of each key, moved as the key.
    pub(super) fn scatter_indices(&self, parted: &mut [u32]) {
        let chunks = self.chunks().zip(self.targets(parted));
        each_at_once(chunks.enumerate(), |(chunk, (ranges, mut targets))| {
            let mut at = vec![0; self.count];
            for (index, &range) in ((chunk * CHUNK) as u32..).zip(ranges) {
                let range = usize::from(range);
                targets[range][at[range]] = index;
                at[range] += 1;
            }
        });
    }

    /// Moves keys back to where they were before [`scatter`](Self::scatter).
    pub(super) fn restore<T: SortKey>(&self, parted: &mut [T], keys: &mut [T]) {
        let chunks = keys.chunks_mut(CHUNK).zip(self.chunks());
        each_at_once(
            chunks.zip(self.targets(parted)),
            |((keys, ranges), sources)| {
                let mut at = vec![0; self.count];
                for (key, &range) in keys.iter_mut().zip(ranges) {
                    let range = usize::from(range);
                    *key = sources[range][at[range]];
                    at[range] += 1;
                }
            },
        );
    }

    /// The range of each key of each chunk.
    fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        self.of_keys[..self.len].chunks(CHUNK)
    }

    /// Where the keys of each chunk are in their ranges: a slice for each range.
    fn targets<'b, T>(&self, parted: &'b mut [T]) -> Vec<Vec<&'b mut [T]>> {
        let mut rest = Rest(parted);
        let chunks = self.lengths.len() / self.count;
        let mut targets: Vec<Vec<&mut [T]>> = Vec::new();
        targets.resize_with(chunks, || Vec::with_capacity(self.count));
        for range in 0..self.count {
            for (chunk, targets) in targets.iter_mut().enumerate() {
                let length = self.lengths[chunk * self.count + range];
                targets.push(rest.take(length));
            }
        }
        targets
    }
}

/// The rest of a slice of which parts are taken one after another.
pub(super) struct Rest<'a, T>(pub(super) &'a mut [T]);

impl<'a, T> Rest<'a, T> {
    pub(super) fn take(&mut self, len: usize) -> &'a mut [T] {
        let (taken, rest) = std::mem::take(&mut self.0).split_at_mut(len);
        self.0 = rest;
        taken
    }
}

/// Writes `from[i]` to each place of `to` whose number in `order` is i, on all cores.
pub(super) fn gather(from: &[u32], order: &[u32], to: &mut [u32]) {
    each_at_once(
        to.chunks_mut(CHUNK).zip(order.chunks(CHUNK)),
        |(to, order)| {
            for (to, &number) in to.iter_mut().zip(order) {
                *to = from[number as usize];
            }
        },
    );
}

/// Different ranks that part the keys into ranges of about equal lengths.
fn splitters<T: SortKey>(keys: &[T], order: Order, ranges: usize) -> Vec<u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut sample: Vec<u64> = (0..ranges * SAMPLED)
        .map(|_| {
            // (The upper half of a product with the length: any of the indices, alike.)
            state = state
                .wrapping_mul(0x5851_f42d_4c95_7f2d)
                .wrapping_add(0x1405_7b7e);
            let index = ((u128::from(state) * keys.len() as u128) >> 64) as usize;
            keys[index].rank(order)
        })
        .collect();
    sample.sort_unstable();
    let mut splitters: Vec<u64> = (1..ranges).map(|i| sample[i * SAMPLED]).collect();
    splitters.dedup();
    splitters
}

/// Finds the range of a key: by a table, or among all splitters where cells of the table have some.
struct Splitters {
    /// In order.
    ranks: Vec<u64>,
    /// The first rank of the table: those before it are before all splitters.
    low: u64,
    /// Ranks of a cell, as a power of two.
    shift: u32,
    table: Vec<u8>,
}

/// Cells of the table, which stays in a core's cache.
const CELLS: usize = 1 << 12;

/// Of a cell that has a splitter.
const HAS_SPLITTER: u8 = u8::MAX;

impl Splitters {
    fn new(ranks: Vec<u64>) -> Self {
        let first = ranks.first().copied().unwrap_or(0);
        let last = ranks.last().copied().unwrap_or(0);
        // (Most keys before the first splitter have cells of their own, without a splitter.)
        let before = (last - first) / ranks.len().max(1) as u64 * 2;
        let low = first.saturating_sub(before);
        let bits = u64::BITS - (last - low).leading_zeros();
        let mut splitters = Self {
            ranks,
            low,
            shift: bits.saturating_sub(CELLS.ilog2()),
            table: vec![0; CELLS + 1],
        };
        for cell in 0..=CELLS {
            let begin = low.saturating_add((cell as u64) << splitters.shift);
            splitters.table[cell] = splitters.search(begin);
        }
        for i in 0..splitters.ranks.len() {
            let cell = splitters.cell(splitters.ranks[i]);
            splitters.table[cell] = HAS_SPLITTER;
        }
        splitters
    }

    /// The cell of a rank. Ranks before the table are in the first cell, and ranks behind it in the
    /// last one, which has no splitter.
    #[inline]
    fn cell(&self, rank: u64) -> usize {
        ((rank.saturating_sub(self.low) >> self.shift) as usize).min(CELLS)
    }

    /// Twice the number of the splitters that are smaller, and one more if one is equal.
    #[inline]
    fn range(&self, rank: u64) -> u8 {
        match self.table[self.cell(rank)] {
            HAS_SPLITTER => self.search(rank),
            range => range,
        }
    }

    fn search(&self, rank: u64) -> u8 {
        let passed = |&splitter: &u64| u8::from(rank > splitter) + u8::from(rank >= splitter);
        self.ranks.iter().map(passed).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_finds_the_ranges_of_a_search() {
        let max = u64::MAX;
        for ranks in [
            vec![],
            vec![0],
            vec![max],
            vec![5, 6, 7],
            vec![0, 1, max - 1, max],
            (0..99).map(|i| i * i * i * 1_000_003).collect(),
            vec![1 << 31, (1 << 31) + 4095, (1 << 31) + 4096],
        ] {
            let splitters = Splitters::new(ranks.clone());
            let near = |&rank: &u64| (-2..=2).map(move |off| rank.wrapping_add_signed(off));
            let cells = (0..=CELLS as u64 + 1).map(|i| i.wrapping_mul(max / CELLS as u64));
            for rank in ranks.iter().flat_map(near).chain(cells) {
                let smaller = ranks.iter().filter(|&&splitter| splitter < rank).count();
                let range = 2 * smaller + usize::from(ranks.contains(&rank));
                assert_eq!(
                    usize::from(splitters.range(rank)),
                    range,
                    "{rank} of {ranks:?}"
                );
            }
        }
    }

    /// Keys of which this many are different.
    fn keys(len: usize, different: u64) -> Vec<f64> {
        let mut state = 1_u64;
        let key = |_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            f64::from_bits64(((state >> 20) % different).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        };
        (0..len).map(key).collect()
    }

    #[test]
    fn sorted_ranges_are_the_sorted_keys_and_go_back() {
        let longer = vec![7; 3 * CHUNK];
        for (len, different, least) in [
            (2, 2, 1),
            (1000, 1, 9),
            (1000, 2, 100),
            (2 * CHUNK + 5, 3, 7),
            (2 * CHUNK + 5, u64::MAX, 300),
        ] {
            let keys = keys(len, different);
            for order in [Order::Ascending, Order::Descending] {
                let rank = |i: &u32| keys[*i as usize].rank(order);
                let ranges = Ranges::of(&keys, order, least, longer.clone()).unwrap();
                let (mut parted, mut numbers) = (vec![0.0; len], vec![0; len]);
                ranges.scatter(&keys, &mut parted);
                ranges.scatter_indices(&mut numbers);
                let mut end = 0;
                for part in ranges.parts() {
                    let numbers = &mut numbers[part.range.clone()];
                    assert!(numbers.is_sorted(), "not stable");
                    assert!(part.sorts || numbers.is_sorted_by_key(rank));
                    assert!(part.range.start == end && (part.range.len() < len || different == 1));
                    end = part.range.end;
                    numbers.sort_by_key(rank);
                }
                assert_eq!(end, len);
                let mut sorted: Vec<u32> = (0..len as u32).collect();
                sorted.sort_by_key(rank);
                assert!(numbers == sorted, "{len}, {different} different, {order:?}");
                let mut restored = vec![0.0; len];
                ranges.restore(&mut parted, &mut restored);
                let bits = |keys: &[f64]| keys.iter().map(|key| key.to_bits()).collect::<Vec<_>>();
                assert!(bits(&restored) == bits(&keys));
            }
        }
    }
}

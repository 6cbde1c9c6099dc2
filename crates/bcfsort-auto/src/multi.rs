//! Sorts on several GPUs at once.
//!
//! The keys are partitioned on the CPU, into ranges between splitters, which are keys of a sample.
//! Each GPU takes range after range, and its result is downloaded to its final place: nothing is
//! merged, and nothing goes from GPU to GPU. A fast GPU takes more ranges than a slow one. A range
//! stays in host memory until its result is complete, so that another GPU can take it if one fails.
//! So one GPU, too, sorts more than it has room for.
//!
//! Keys that equal a splitter have a range of their own, which needs no sort: values that occur
//! often become splitters, and so no range is long for a few of them.

use rayon::prelude::*;
use std::collections::VecDeque;
use std::mem::size_of;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use wgpu_bcfsort::wgpu::Adapter;
use wgpu_bcfsort::{Error, Options, Order, SortKey, Sorter};

/// Keys that a thread partitions at once.
const CHUNK: usize = 1 << 18;

/// Indices that a thread gathers at least.
const BLOCK: usize = 1 << 10;

/// Fewer keys are sorted on one GPU: the others would hardly have begun.
const FEW: usize = 1 << 20;

/// Ranges for each GPU: the last one to end has at most about so little left to do alone.
const RANGES: usize = 4;

/// Bytes of a range, if there are at most [`MOST_RANGES`].
const RANGE_BYTES: usize = 512 << 20;

/// Ranges are numbered in a byte, as those between splitters and those of splitters.
const MOST_RANGES: usize = 100;

/// Keys of the sample for each range.
const SAMPLED: usize = 1 << 11;

/// Several GPUs that sort together. Results have the same bits as those of one of them.
///
/// Worth it where the copies between host and GPU are what takes the time: from about 2^26 keys on,
/// on a host whose memory is faster than one GPU's bus. It also sorts what one GPU has no memory
/// for. Takes as much host memory as the keys, and a byte for each, which it keeps for the next
/// sort; on each GPU, memory for one range.
///
/// # Examples
///
/// ```
/// use bcfsort_auto::{Device, MultiSorter};
/// use wgpu_bcfsort::{Order, adapters};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let sorter = MultiSorter::open(&Device::All.among(&adapters())?)?;
/// let mut keys: Vec<u32> = (0..2_000_000).rev().collect();
/// sorter.sort(&mut keys, Order::Ascending)?;
/// assert!(keys.into_iter().eq(0..2_000_000));
/// # Ok(()) }
/// ```
pub struct MultiSorter {
    sorters: Vec<Sorter>,
    kept: Mutex<Kept>,
    /// Whether a failure was told.
    warned: AtomicBool,
}

/// Memory for the next sort: that the system gives new one takes as long as to fill it.
#[derive(Default)]
struct Kept {
    /// Keys by their ranges.
    keys: Vec<u64>,
    /// The ranges of the keys.
    ranges: Vec<u8>,
}

impl std::fmt::Debug for MultiSorter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MultiSorter")
            .field("gpus", &self.sorters.len())
            .finish_non_exhaustive()
    }
}

impl MultiSorter {
    /// Opens a device on each adapter, all at once. One that is listed twice is opened twice.
    ///
    /// # Errors
    ///
    /// [`Error::NoAdapter`] without any, and those of [`Sorter::open`].
    pub fn open(adapters: &[Adapter]) -> Result<Self, Error> {
        Self::open_with(adapters, &Options::default())
    }

    /// The same with these options, but for their adapter.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    pub fn open_with(adapters: &[Adapter], options: &Options) -> Result<Self, Error> {
        let opened: Result<Vec<Sorter>, Error> = std::thread::scope(|scope| {
            let open =
                |adapter| scope.spawn(move || Sorter::open(options.clone().adapter(adapter)));
            let opening: Vec<_> = adapters.iter().map(open).collect();
            opening.into_iter().map(joined).collect()
        });
        Self::of_sorters(opened?)
    }

    /// Sorts of any length on the device of a sorter: more than it has room for, too.
    ///
    /// # Errors
    ///
    /// Those of [`Sorter::with_options`].
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_auto::MultiSorter;
    /// use wgpu_bcfsort::{Options, Order, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let long = MultiSorter::on_device_of(&sorter, &Options::default())?;
    /// assert_eq!(long.argsort(&[3_u32, 1, 2], Order::Ascending)?, [1, 2, 0]);
    /// # Ok(()) }
    /// ```
    pub fn on_device_of(sorter: &Sorter, options: &Options) -> Result<Self, Error> {
        Self::of_sorters(vec![sorter.with_options(options.clone())?])
    }

    /// These sorters, each on a device of its own.
    ///
    /// # Errors
    ///
    /// [`Error::NoAdapter`] without any.
    pub fn of_sorters(sorters: Vec<Sorter>) -> Result<Self, Error> {
        if sorters.is_empty() {
            return Err(Error::NoAdapter);
        }
        Ok(Self {
            sorters,
            kept: Mutex::default(),
            warned: AtomicBool::new(false),
        })
    }

    /// The number of GPUs.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.sorters.len()
    }

    /// The sorter of each GPU, for calls that one of them does alone.
    #[must_use]
    pub fn sorters(&self) -> &[Sorter] {
        &self.sorters
    }

    /// Sorts a slice in place.
    ///
    /// O(n log n) time, most of which is that of copies.
    ///
    /// # Errors
    ///
    /// That of the GPU that failed last, if all did. The slice then has the same keys, in any
    /// order.
    pub fn sort<T: SortKey>(&self, keys: &mut [T], order: Order) -> Result<(), Error> {
        if keys.len() < FEW {
            return self.on_one(|sorter| sorter.sort(keys, order));
        }
        let mut kept = std::mem::take(&mut *lock(&self.kept));
        let ranges = Ranges::of(keys, order, self.ranges(keys), &mut kept.ranges);
        let parted = memory(&mut kept.keys, keys.len());
        let sorted = self.sort_ranges(keys, order, &ranges, parted);
        *lock(&self.kept) = kept;
        sorted
    }

    fn sort_ranges<T: SortKey>(
        &self,
        keys: &mut [T],
        order: Order,
        ranges: &Ranges<'_>,
        parted: &mut [T],
    ) -> Result<(), Error> {
        ranges.scatter(keys, parted);
        let mut jobs = VecDeque::new();
        let (mut from, mut to) = (&mut *parted, &mut *keys);
        for (range, sorts) in ranges.in_order() {
            let (source, rest) = from.split_at_mut(range.len());
            from = rest;
            let (target, rest) = to.split_at_mut(range.len());
            to = rest;
            if sorts {
                jobs.push_back((source, target));
            } else {
                copy(source, target);
            }
        }
        let sorted = self.share(jobs, |sorter, (source, target)| {
            let mut rest = &mut **target;
            sorter.sort_to(source, order, |block: &[T]| {
                let (to, after) = std::mem::take(&mut rest).split_at_mut(block.len());
                copy(block, to);
                rest = after;
                Ok(())
            })
        });
        if sorted.is_err() {
            // All keys are there, in one order or another.
            copy(parted, keys);
        }
        sorted
    }

    /// The indices that sort keys, stably: `keys[indices[i] as usize]` has rank i.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyToNumber`] for 2^32 keys and more, and that of the GPU that failed last, if
    /// all did.
    pub fn argsort<T: SortKey>(&self, keys: &[T], order: Order) -> Result<Vec<u32>, Error> {
        if keys.len() < FEW || u32::try_from(keys.len()).is_err() {
            return self.on_one(|sorter| sorter.argsort(keys, order));
        }
        let mut kept = std::mem::take(&mut *lock(&self.kept));
        let ranges = Ranges::of(keys, order, self.ranges(keys), &mut kept.ranges);
        let parted: &mut [T] = memory(&mut kept.keys, keys.len());
        ranges.scatter(keys, parted);
        let mut numbers = vec![0_u32; keys.len()];
        ranges.scatter_indices(&mut numbers);

        let mut indices = vec![0_u32; keys.len()];
        let mut jobs = VecDeque::new();
        let (mut rest, mut begin) = (&mut indices[..], 0);
        for (range, sorts) in ranges.in_order() {
            let (target, after) = std::mem::take(&mut rest).split_at_mut(range.len());
            rest = after;
            let range = begin..begin + range.len();
            begin = range.end;
            if sorts {
                jobs.push_back((range, target));
            } else {
                // Equal keys: their indices are in order already.
                copy(&numbers[range], target);
            }
        }
        let sorted = self.share(jobs, |sorter, (range, target)| {
            let numbers = &numbers[range.clone()];
            let order = sorter.argsort(&parted[range.clone()], order)?;
            let pairs = target.par_iter_mut().with_min_len(BLOCK).zip(&order);
            pairs.for_each(|(to, &from)| *to = numbers[from as usize]);
            Ok(())
        });
        *lock(&self.kept) = kept;
        sorted.map(|()| indices)
    }

    /// Sorts on the first GPU that is not lost.
    fn on_one<R>(&self, mut sort: impl FnMut(&Sorter) -> Result<R, Error>) -> Result<R, Error> {
        let mut outcome = sort(&self.sorters[0]);
        for sorter in &self.sorters[1..] {
            if !matches!(outcome, Err(Error::DeviceLost(_))) {
                break;
            }
            outcome = sort(sorter);
        }
        outcome
    }

    /// The ranges that keys are parted into.
    fn ranges<T>(&self, keys: &[T]) -> usize {
        let by_size = size_of_val(keys) / RANGE_BYTES;
        by_size.max(RANGES * self.sorters.len()).min(MOST_RANGES)
    }

    /// Does all jobs, each on one of the GPUs. What a GPU fails to do is left to the others.
    fn share<J: Send>(
        &self,
        jobs: VecDeque<J>,
        act: impl Fn(&Sorter, &mut J) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        let shared = Shared {
            left: Mutex::new(Left { jobs, busy: 0 }),
            changed: Condvar::new(),
        };
        let work = |sorter: &Sorter| -> Result<(), Error> {
            while let Some(mut taken) = shared.take() {
                if let Some(job) = &mut taken.job {
                    act(sorter, job)?;
                }
                taken.is_done = true;
            }
            Ok(())
        };
        let outcomes: Vec<Result<(), Error>> = std::thread::scope(|scope| {
            let work = &work;
            let working: Vec<_> = (self.sorters.iter())
                .map(|sorter| scope.spawn(move || work(sorter)))
                .collect();
            working.into_iter().map(joined).collect()
        });
        let is_done = lock(&shared.left).jobs.is_empty();
        let failure = outcomes.into_iter().filter_map(Result::err).next_back();
        match failure {
            Some(error) if is_done => {
                if !self.warned.swap(true, Relaxed) {
                    log::warn!("a GPU failed, and others do its part: {error}");
                }
                Ok(())
            }
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// The jobs of several threads.
struct Shared<J> {
    left: Mutex<Left<J>>,
    changed: Condvar,
}

/// The jobs that are left, and the number of those that are being done.
struct Left<J> {
    jobs: VecDeque<J>,
    busy: usize,
}

/// A job that is being done. Others get it if it is dropped before: after an error, and in a panic.
struct Taken<'a, J> {
    shared: &'a Shared<J>,
    job: Option<J>,
    is_done: bool,
}

impl<J> Shared<J> {
    /// The next job. Waits, if there is none, as long as one may come back.
    fn take(&self) -> Option<Taken<'_, J>> {
        let mut left = lock(&self.left);
        loop {
            if let Some(job) = left.jobs.pop_front() {
                left.busy += 1;
                return Some(Taken {
                    shared: self,
                    job: Some(job),
                    is_done: false,
                });
            }
            if left.busy == 0 {
                return None;
            }
            left = (self.changed.wait(left)).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<J> Drop for Taken<'_, J> {
    fn drop(&mut self) {
        let mut left = lock(&self.shared.left);
        left.busy -= 1;
        if let (Some(job), false) = (self.job.take(), self.is_done) {
            left.jobs.push_front(job);
        }
        drop(left);
        self.shared.changed.notify_all();
    }
}

/// The ranges of keys, and how many keys of each chunk are in each: even ranges are between
/// splitters, odd ones have the keys that equal one.
struct Ranges<'a> {
    /// The range of each key.
    of_keys: &'a [u8],
    /// The lengths by chunks, each of all ranges.
    lengths: Vec<usize>,
    count: usize,
}

impl<'a> Ranges<'a> {
    fn of<T: SortKey>(keys: &[T], order: Order, count: usize, memory: &'a mut Vec<u8>) -> Self {
        let splitters = Splitters::new(splitters(keys, order, count));
        let count = 2 * splitters.ranks.len() + 1;
        if memory.len() < keys.len() {
            *memory = vec![0; keys.len()];
        }
        let of_keys = &mut memory[..keys.len()];
        let lengths = (of_keys.par_chunks_mut(CHUNK).zip(keys.par_chunks(CHUNK)))
            .flat_map_iter(|(ranges, keys)| {
                let mut lengths = [0_u32; 256];
                for (range, key) in ranges.iter_mut().zip(keys) {
                    *range = splitters.range(key.rank(order));
                    lengths[usize::from(*range)] += 1;
                }
                lengths
                    .map(|length| length as usize)
                    .into_iter()
                    .take(count)
            })
            .collect();
        Self {
            of_keys,
            lengths,
            count,
        }
    }

    /// The ranges of the sorted keys, and whether each is still to be sorted.
    fn in_order(&self) -> impl Iterator<Item = (Range<usize>, bool)> {
        let mut end = 0;
        (0..self.count).map(move |range| {
            let of_chunks = self.lengths.iter().skip(range).step_by(self.count);
            let begin = end;
            end += of_chunks.sum::<usize>();
            (begin..end, range % 2 == 0 && end - begin > 1)
        })
    }

    /// Moves keys to their ranges. Those of a range keep their order.
    fn scatter<T: SortKey>(&self, keys: &[T], parted: &mut [T]) {
        let targets = self.targets(parted);
        let chunks = keys.par_chunks(CHUNK).zip(self.of_keys.par_chunks(CHUNK));
        chunks
            .zip(targets)
            .for_each(|((keys, ranges), mut targets)| {
                let mut at = vec![0; self.count];
                for (&key, &range) in keys.iter().zip(ranges) {
                    let range = usize::from(range);
                    targets[range][at[range]] = key;
                    at[range] += 1;
                }
            });
    }

    /// The index of each key, moved as the key.
    fn scatter_indices(&self, parted: &mut [u32]) {
        let targets = self.targets(parted);
        let chunks = self.of_keys.par_chunks(CHUNK).zip(targets).enumerate();
        chunks.for_each(|(chunk, (ranges, mut targets))| {
            move_to(&mut targets, ranges, (chunk * CHUNK) as u32..);
        });
    }

    /// Where the keys of each chunk go: a slice for each range.
    fn targets<'b, T>(&self, mut parted: &'b mut [T]) -> Vec<Vec<&'b mut [T]>> {
        let chunks = self.lengths.len() / self.count;
        let mut targets: Vec<Vec<&mut [T]>> = Vec::new();
        targets.resize_with(chunks, || Vec::with_capacity(self.count));
        for range in 0..self.count {
            for (chunk, targets) in targets.iter_mut().enumerate() {
                let length = self.lengths[chunk * self.count + range];
                let (target, rest) = std::mem::take(&mut parted).split_at_mut(length);
                targets.push(target);
                parted = rest;
            }
        }
        targets
    }
}

/// Writes each item to the next place of its range.
fn move_to<T>(targets: &mut [&mut [T]], ranges: &[u8], items: impl Iterator<Item = T>) {
    let mut at = [0_u32; 256];
    for (item, &range) in items.zip(ranges) {
        let range = usize::from(range);
        targets[range][at[range] as usize] = item;
        at[range] += 1;
    }
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

/// Memory of this many keys.
fn memory<T: SortKey>(kept: &mut Vec<u64>, len: usize) -> &mut [T] {
    let words = (len * size_of::<T>()).div_ceil(size_of::<u64>());
    if kept.len() < words {
        *kept = vec![0; words];
    }
    &mut bytemuck::cast_slice_mut(kept)[..len]
}

fn copy<T: Copy + Send + Sync>(from: &[T], to: &mut [T]) {
    let parts = to.par_chunks_mut(CHUNK).zip(from.par_chunks(CHUNK));
    parts.for_each(|(to, from)| to.copy_from_slice(from));
}

fn joined<R>(thread: std::thread::ScopedJoinHandle<'_, R>) -> R {
    let panic = |panic| std::panic::resume_unwind(panic);
    thread.join().unwrap_or_else(panic)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic leaves nothing half done that is seen: it ends the sort.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
}

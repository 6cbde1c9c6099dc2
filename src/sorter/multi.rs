//! Sorts on several GPUs at once.
//!
//! The keys are [partitioned](super::ranges) on the CPU. Each GPU takes range after range, and its
//! result is downloaded to its final place: nothing is merged, and nothing goes from GPU to GPU. A
//! fast GPU takes more ranges than a slow one. A range stays in host memory until its result is
//! complete, so that another GPU can take it if one fails.

use super::Sorter;
use super::host::Ended;
use super::ranges::{Ranges, Rest, gather};
use crate::at_once::lock;
use crate::error::Error;
use crate::gpu::transfer::{blocks, copy, zeroed};
use crate::key::SortKey;
use crate::options::Options;
use crate::order::Order;
use std::collections::VecDeque;
use std::mem::size_of;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};
use wgpu::Adapter;

/// Ranges for each GPU: the last one to end has at most about so little left to do alone.
const RANGES: usize = 4;

/// One GPU or several that sort together. Results have the same bits as those of one of them.
///
/// What one of them sorts at once ([`Sorter::max_len`]) one does alone: two take as long, since the
/// partition for them takes the time that it saves in copies. Of more keys, each GPU sorts a share.
///
/// A shared sort takes as much host memory as the keys, and a byte for each, which is kept for the
/// next one, and on each GPU memory for one range.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::{MultiSorter, Order, adapters};
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let mut gpus = adapters();
/// let backend = gpus.first().map(|best| best.get_info().backend);
/// gpus.retain(|gpu| Some(gpu.get_info().backend) == backend);
/// let sorter = MultiSorter::open(&gpus)?;
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
    /// Opens a device on each adapter, all at once. One that is listed twice is opened twice, and
    /// [`adapters`](crate::adapters) lists a GPU once for each of its backends.
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

    /// These sorters, each on a device of its own.
    ///
    /// # Errors
    ///
    /// [`Error::NoAdapter`] without any.
    pub fn of_sorters(sorters: Vec<Sorter>) -> Result<Self, Error> {
        if sorters.is_empty() {
            return Err(Error::NoAdapter);
        }
        Ok(Self::of(sorters))
    }

    /// One GPU that is open.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{MultiSorter, Options, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = MultiSorter::of_sorter(Sorter::open(Options::default())?);
    /// assert_eq!(sorter.len(), 1);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn of_sorter(sorter: Sorter) -> Self {
        Self::of(vec![sorter])
    }

    fn of(sorters: Vec<Sorter>) -> Self {
        Self {
            sorters,
            kept: Mutex::default(),
            warned: AtomicBool::new(false),
        }
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

    /// Sorts a slice in place. Blocks.
    ///
    /// O(n log n) time, most of which is that of copies.
    ///
    /// # Errors
    ///
    /// That of the GPU that failed last, if all did; [`Error::OutOfHostMemory`]. The slice is
    /// unchanged after an error.
    pub fn sort<T: SortKey>(&self, keys: &mut [T], order: Order) -> Result<(), Error> {
        if self.is_for_one(keys) {
            return self.on_one(|sorter| Ok(sorter.sort(keys, order)?));
        }
        let mut kept = std::mem::take(&mut *lock(&self.kept));
        let parted = memory(&mut kept.keys, keys.len())?;
        let ranges = self.part(keys, order, kept.ranges)?;
        ranges.scatter(keys, parted);
        let mut jobs = VecDeque::new();
        let mut rest = Rest(keys);
        for part in ranges.parts() {
            let source = &parted[part.range];
            let target = rest.take(source.len());
            if part.sorts {
                jobs.push_back((source, target));
            } else {
                copy(source, target);
            }
        }
        let sorted = self.share(jobs, |sorter, (source, target)| {
            let mut written = 0;
            sorter.sort_to(source, order, |block: &[T]| {
                copy(block, &mut target[written..][..block.len()]);
                written += block.len();
                Ok(())
            })
        });
        if sorted.is_err() {
            ranges.restore(parted, keys);
        }
        kept.ranges = ranges.into_memory();
        *lock(&self.kept) = kept;
        sorted
    }

    /// Sorts keys, and passes the result to a closure, in order, in blocks, as [`Sorter::sort_to`]
    /// does. Blocks.
    ///
    /// With several GPUs, the first block comes when all are sorted.
    ///
    /// # Errors
    ///
    /// Those of [`sort`](Self::sort), and the first error of `take`, which ends the sort.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{MultiSorter, Order, adapters};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = MultiSorter::open(&adapters()[..1])?;
    /// let mut sorted = Vec::new();
    /// sorter.sort_to(&[3_u32, 1, 2], Order::Descending, |block| {
    ///     sorted.extend_from_slice(block);
    ///     Ok::<_, wgpu_bcfsort::Error>(())
    /// })?;
    /// assert_eq!(sorted, [3, 2, 1]);
    /// # Ok(()) }
    /// ```
    pub fn sort_to<T: SortKey, E: From<Error>>(
        &self,
        keys: &[T],
        order: Order,
        take: impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.sorters.len() > 1 && !self.is_for_one(keys) {
            let mut sorted = zeroed(keys.len())?;
            copy(keys, &mut sorted);
            self.sort(&mut sorted, order)?;
            return blocks(&sorted).try_for_each(take);
        }
        self.on_one_to(take, |sorter, take| sorter.sort_to(keys, order, take))
    }

    /// The indices that sort keys, stably: `keys[indices[i] as usize]` has rank i. Blocks.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyToNumber`] for 2^32 keys and more, and those of [`sort`](Self::sort).
    pub fn argsort<T: SortKey>(&self, keys: &[T], order: Order) -> Result<Vec<u32>, Error> {
        if self.is_for_one(keys) || u32::try_from(keys.len()).is_err() {
            return self.on_one(|sorter| Ok(sorter.argsort(keys, order)?));
        }
        let mut indices: Vec<u32> = zeroed(keys.len())?;
        let mut kept = std::mem::take(&mut *lock(&self.kept));
        let parted: &mut [T] = memory(&mut kept.keys, keys.len())?;
        let ranges = self.part(keys, order, kept.ranges)?;
        ranges.scatter(keys, parted);
        let mut numbers: Vec<u32> = zeroed(keys.len())?;
        ranges.scatter_indices(&mut numbers);

        let mut jobs = VecDeque::new();
        let mut rest = Rest(&mut indices);
        for part in ranges.parts() {
            let target = rest.take(part.range.len());
            if part.sorts {
                jobs.push_back((part.range, target));
            } else {
                // Equal keys: their indices are in order already.
                copy(&numbers[part.range], target);
            }
        }
        let sorted = self.share(jobs, |sorter, (range, target)| {
            let order = sorter.argsort(&parted[range.clone()], order)?;
            gather(&numbers[range.clone()], &order, target);
            Ok(())
        });
        kept.ranges = ranges.into_memory();
        *lock(&self.kept) = kept;
        sorted.map(|()| indices)
    }

    /// Passes the indices of [`argsort`](Self::argsort) to a closure, in order, in blocks of at
    /// most 16 MiB. Blocks.
    ///
    /// Faster than [`argsort`](Self::argsort) if the indices are to be converted, written or sent:
    /// with one GPU, blocks arrive while the next ones are copied from the device, and no host
    /// memory is needed for the result. With several, the first block comes when all are sorted.
    ///
    /// # Errors
    ///
    /// Those of [`argsort`](Self::argsort), and the first error of `take`, which ends the sort.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{MultiSorter, Order, adapters};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = MultiSorter::open(&adapters()[..1])?;
    /// let mut indices: Vec<i64> = Vec::new();
    /// sorter.argsort_to(&[2.5_f32, 0.5, 9.0], Order::Descending, |block| {
    ///     indices.extend(block.iter().map(|&index| i64::from(index)));
    ///     Ok::<_, wgpu_bcfsort::Error>(())
    /// })?;
    /// assert_eq!(indices, [2, 0, 1]);
    /// # Ok(()) }
    /// ```
    pub fn argsort_to<T: SortKey, E: From<Error>>(
        &self,
        keys: &[T],
        order: Order,
        take: impl FnMut(&[u32]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.sorters.len() > 1 && !self.is_for_one(keys) {
            return blocks(&self.argsort(keys, order)?).try_for_each(take);
        }
        self.on_one_to(take, |sorter, take| sorter.argsort_to(keys, order, take))
    }

    /// Whether one GPU sorts keys alone: the first, which is the best.
    fn is_for_one<T: SortKey>(&self, keys: &[T]) -> bool {
        keys.len() as u64 <= self.sorters[0].max_len(T::KEY_TYPE)
    }

    /// Partitions keys for all GPUs.
    fn part<T: SortKey>(&self, keys: &[T], order: Order, memory: Vec<u8>) -> Result<Ranges, Error> {
        Ranges::of(keys, order, RANGES * self.sorters.len(), memory)
    }

    /// Sorts on the first GPU that is not lost.
    fn on_one<R, E: From<Error>>(
        &self,
        mut sort: impl FnMut(&Sorter) -> Result<R, Ended<E>>,
    ) -> Result<R, E> {
        let mut outcome = sort(&self.sorters[0]);
        for sorter in &self.sorters[1..] {
            if !matches!(outcome, Err(Ended::Sort(Error::DeviceLost(_)))) {
                break;
            }
            outcome = sort(sorter);
        }
        outcome.map_err(Ended::error)
    }

    /// Sorts on the first GPU that is not lost, and passes on the result. What a GPU passed on
    /// before it was lost, the next one leaves out: both have the same.
    fn on_one_to<R, E: From<Error>>(
        &self,
        mut take: impl FnMut(&[R]) -> Result<(), E>,
        sort: impl Fn(&Sorter, &mut dyn FnMut(&[R]) -> Result<(), Ended<E>>) -> Result<(), Ended<E>>,
    ) -> Result<(), E> {
        let mut passed = 0;
        self.on_one(|sorter| {
            let mut leave_out = passed;
            sort(sorter, &mut |block: &[R]| {
                let (repeated, block) = block.split_at(leave_out.min(block.len()));
                leave_out -= repeated.len();
                if block.is_empty() {
                    return Ok(());
                }
                passed += block.len();
                take(block).map_err(Ended::Take)
            })
        })
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

/// Memory of this many keys.
fn memory<T: SortKey>(kept: &mut Vec<u64>, len: usize) -> Result<&mut [T], Error> {
    let words = (len * size_of::<T>()).div_ceil(size_of::<u64>());
    if kept.len() < words {
        *kept = zeroed(words)?;
    }
    Ok(&mut bytemuck::cast_slice_mut(kept)[..len])
}

fn joined<R>(thread: std::thread::ScopedJoinHandle<'_, R>) -> R {
    let panic = |panic| std::panic::resume_unwind(panic);
    thread.join().unwrap_or_else(panic)
}

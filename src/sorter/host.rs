//! The sorter on slices of host memory.

use super::{Keys, SortJob, Sorter};
use crate::gpu::binding::check_bound;
use crate::gpu::calls;
use crate::gpu::executor::{Clock, Detail, Profile};
use crate::gpu::transfer::{download, upload};
use crate::gpu::waiting::Waiting;
use crate::host::{KWayMerge, merge_indices, permute};
use crate::{BufferRole, Comparator, Error, KeyType, Order, SortKey};
use std::convert::Infallible;
use std::ops::Range;
use std::time::Instant;

impl Sorter {
    /// Sorts a slice of host memory: uploads, sorts, downloads, blocking.
    ///
    /// Any length: what exceeds [`max_len`](Self::max_len), or the device's free memory, is sorted
    /// in chunks that the host merges, which takes as much host memory again. O(n log n) time. Not
    /// stable, which with keys alone makes no difference: the result is the same on every device.
    ///
    /// It takes device memory for the keys and [`scratch_size`](Self::scratch_size) bytes, which
    /// the sorter keeps for the next sort, and as much again as the keys while they come back. Most
    /// of a call's time goes into the transfers: some 19 ms for 2^24 words on an H200, and sorting
    /// them takes less than 1.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], [`Error::OutOfHostMemory`], [`Error::WorkgroupMemory`],
    /// [`Error::DeviceLost`], [`Error::Device`]; the slice is then as it was.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{Options, Order, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let mut keys = [8_u64, 6, 6, 5, 3, 0, 9];
    /// sorter.sort(&mut keys, Order::Descending)?;
    /// assert_eq!(keys, [9, 8, 6, 6, 5, 3, 0]);
    /// # Ok(()) }
    /// ```
    pub fn sort<T: SortKey>(&self, keys: &mut [T], order: Order) -> Result<(), Error> {
        pollster::block_on(self.sort_host(keys, order, Waiting::Block, None))
    }

    /// [`sort`](Self::sort), as a future that does not block its executor while the device works: a
    /// thread of its own waits for the device. What the host does, it does where it is polled:
    /// compile kernels, copy keys, and merge chunks.
    ///
    /// Dropped before its end it leaves the slice as it was. (What has been submitted runs to its
    /// end.)
    ///
    /// # Errors
    ///
    /// Those of [`sort`](Self::sort).
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{Error, Options, Order, Sorter};
    /// # fn main() -> Result<(), Error> {
    /// # pollster::block_on(async {
    /// let sorter = Sorter::open_async(Options::default()).await?;
    /// let mut keys = [0.5_f32, f32::NEG_INFINITY, -1.5];
    /// sorter.sort_async(&mut keys, Order::Ascending).await?;
    /// assert_eq!(keys, [f32::NEG_INFINITY, -1.5, 0.5]);
    /// # Ok(()) }) }
    /// ```
    pub async fn sort_async<T: SortKey>(&self, keys: &mut [T], order: Order) -> Result<(), Error> {
        self.sort_host(keys, order, Waiting::Yield, None).await
    }

    /// [`sort`](Self::sort), with the time that each phase took, and the transfers. It waits for
    /// the device between them, so that the whole takes a little longer.
    ///
    /// # Errors
    ///
    /// Those of [`sort`](Self::sort).
    ///
    /// # Examples
    ///
    /// See [`Profile`].
    pub fn sort_profiled<T: SortKey>(
        &self,
        keys: &mut [T],
        order: Order,
    ) -> Result<Profile, Error> {
        let mut profile = Profile::new(Clock::Timestamps);
        pollster::block_on(self.sort_host(keys, order, Waiting::Block, Some(&mut profile)))?;
        Ok(profile)
    }

    /// The indices that would sort a slice: `keys[indices[i] as usize]` is the i-th in order.
    /// Stable: equal keys have ascending indices, also in descending order.
    ///
    /// Any length that 32 bits number. What exceeds [`max_len`](Self::max_len), or the device's
    /// free memory, is sorted in chunks that the host merges, which takes as much host memory again
    /// as the result. O(n log n) time; the engine is
    /// [`Engine::SampleSort`](crate::Engine::SampleSort). It takes device memory for keys, indices
    /// and scratch memory (1.15 times both, and 16 MiB), and as much again as the indices while
    /// they come back.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyToNumber`], [`Error::OutOfMemory`], [`Error::OutOfHostMemory`],
    /// [`Error::DeviceLost`], [`Error::Device`].
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{Options, Order, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let distances = [2.5_f32, 0.5, 2.5, 9.0];
    /// assert_eq!(sorter.argsort(&distances, Order::Descending)?, [3, 0, 2, 1]);
    /// # Ok(()) }
    /// ```
    pub fn argsort<T: SortKey>(&self, keys: &[T], order: Order) -> Result<Vec<u32>, Error> {
        pollster::block_on(self.argsort_host(keys, order, Waiting::Block))
    }

    /// [`argsort`](Self::argsort), as a future that does not block its executor while the device
    /// works. There is no such twin of [`sort_pairs`](Self::sort_pairs),
    /// [`sort_by_key`](Self::sort_by_key) and [`sort_by`](Self::sort_by): the first two
    /// are this, and moves.
    ///
    /// # Errors
    ///
    /// Those of [`argsort`](Self::argsort).
    ///
    /// # Examples
    ///
    /// See [`argsort`](Self::argsort), and [`sort_async`](Self::sort_async).
    pub async fn argsort_async<T: SortKey>(
        &self,
        keys: &[T],
        order: Order,
    ) -> Result<Vec<u32>, Error> {
        self.argsort_host(keys, order, Waiting::Yield).await
    }

    /// Sorts keys, and values of any type by them. Stable: the values of equal keys stay in their
    /// order.
    ///
    /// It is an [`argsort`](Self::argsort), by which the host then moves each key and value once,
    /// by swaps: values stay on the host, whatever their size. O(n log n) time, and 4 bytes of host
    /// memory a key.
    ///
    /// # Errors
    ///
    /// [`Error::LengthsDiffer`], and those of [`argsort`](Self::argsort); both slices are then as
    /// they were.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{Options, Order, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let mut keys = [3_u64, 1, 2, 1];
    /// let mut values = ["three", "one", "two", "uno"];
    /// sorter.sort_pairs(&mut keys, &mut values, Order::Ascending)?;
    /// assert_eq!(keys, [1, 1, 2, 3]);
    /// assert_eq!(values, ["one", "uno", "two", "three"]);
    /// # Ok(()) }
    /// ```
    pub fn sort_pairs<T: SortKey, V>(
        &self,
        keys: &mut [T],
        values: &mut [V],
        order: Order,
    ) -> Result<(), Error> {
        if keys.len() != values.len() {
            return Err(Error::LengthsDiffer {
                of: "keys",
                first: keys.len() as u64,
                with: "values",
                second: values.len() as u64,
            });
        }
        let indices = self.argsort(keys, order)?;
        permute(indices, |i, j| {
            keys.swap(i, j);
            values.swap(i, j);
        });
        Ok(())
    }

    /// Sorts items of any type by a key of each. Stable: items of equal keys stay in their order.
    ///
    /// `key` is called once an item. It is an [`argsort`](Self::argsort) of the keys, by which the
    /// host then moves each item once, by swaps. O(n log n) time, and host memory for the keys and
    /// 4 bytes a key.
    ///
    /// # Errors
    ///
    /// Those of [`argsort`](Self::argsort); the items are then as they were.
    ///
    /// # Panics
    ///
    /// Where `key` does.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{Options, Order, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// struct Body {
    ///     name: &'static str,
    ///     mass: f64,
    /// }
    /// let mut bodies = [("Venus", 4.87e24), ("Mars", 6.42e23), ("Earth", 5.97e24)]
    ///     .map(|(name, mass)| Body { name, mass });
    /// let sorter = Sorter::open(Options::default())?;
    /// sorter.sort_by_key(&mut bodies, Order::Ascending, |body| body.mass)?;
    /// assert_eq!(bodies.map(|body| body.name), ["Mars", "Venus", "Earth"]);
    /// # Ok(()) }
    /// ```
    pub fn sort_by_key<V, T: SortKey>(
        &self,
        items: &mut [V],
        order: Order,
        key: impl FnMut(&V) -> T,
    ) -> Result<(), Error> {
        let mut keys = reserved(items.len())?;
        keys.extend(items.iter().map(key));
        let indices = self.argsort(&keys, order)?;
        permute(indices, |i, j| items.swap(i, j));
        Ok(())
    }

    /// Sorts items of host memory by a custom comparator in WGSL, on the device. Stable; whatever
    /// the comparator returns, the result has every item of the input once: see [`Comparator`].
    ///
    /// O(n log n) comparisons. All items must fit the device at once, with the scratch memory of
    /// [`SortJob::by`]. The engine is [`Engine::SampleSort`](crate::Engine::SampleSort).
    ///
    /// # Errors
    ///
    /// [`Error::Comparator`] if `T` does not lie in memory as the function's rows do, or if that is
    /// not known: rows of several members want a comparator [of](Comparator::of) `T`, and those of
    /// one its size; [`Error::TooLarge`] and [`Error::BindingTooLarge`] if they do not fit the
    /// device at once; [`Error::OutOfMemory`], [`Error::DeviceLost`]. The rows are then as they
    /// were.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{Comparator, Options, Order, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// // Points by their distance from the origin.
    /// let nearest = Comparator::new(
    ///     "struct Point { at: vec2<f32> }
    ///     fn precedes(a: Point, b: Point) -> bool {
    ///         return dot(a.at, a.at) < dot(b.at, b.at);
    ///     }",
    /// )?;
    /// let mut points = [[3.0_f32, 4.0], [0.0, -1.0], [2.0, 2.0]];
    /// let sorter = Sorter::open(Options::default())?;
    /// sorter.sort_by(&mut points, &nearest, Order::Ascending)?;
    /// assert_eq!(points, [[0.0, -1.0], [2.0, 2.0], [3.0, 4.0]]);
    /// # Ok(()) }
    /// ```
    pub fn sort_by<T: bytemuck::Pod>(
        &self,
        rows: &mut [T],
        comparator: &Comparator,
        order: Order,
    ) -> Result<(), Error> {
        comparator.check_rows::<T>()?;
        if rows.is_empty() {
            return Ok(());
        }
        let (device, queue, waiting) = (&self.device, &self.queue, Waiting::Block);
        let (len, bytes) = (rows.len() as u64, size_of_val(rows) as u64);
        let limit = device.limits().max_storage_buffer_binding_size;
        check_bound(BufferRole::Keys, bytes.into(), limit)?;
        let buffer = calls::host_buffer(device, "bcfsort.keys", bytes, &self.host_keys)?;
        let job = SortJob::by(&buffer, comparator, len).order(order);
        let sort = self.prepare_pooled(&job)?;
        pollster::block_on(async {
            upload(
                device,
                queue,
                bytemuck::cast_slice(rows),
                (&buffer, 0),
                waiting,
            )
            .await?;
            sort.0.submit()?;
            let sorted = bytemuck::cast_slice_mut(rows);
            download(device, queue, (&buffer, 0), sorted, waiting).await
        })?;
        self.give_back(sort);
        calls::keep_host_buffer(&self.host_keys, buffer);
        Ok(())
    }

    async fn sort_host<T: SortKey>(
        &self,
        keys: &mut [T],
        order: Order,
        waiting: Waiting,
        mut profile: Option<&mut Profile>,
    ) -> Result<(), Error> {
        if keys.len() < 2 {
            return Ok(());
        }
        let mut chunks = Chunks::new(keys.len(), self.max_len(T::KEY_TYPE));
        if let Some(all) = chunks.next().filter(|range| range.len() == keys.len()) {
            let outcome = self
                .sort_chunk(keys, order, waiting, profile.as_deref_mut())
                .await;
            chunks.took(all, outcome)?;
            if chunks.next().is_none() {
                return Ok(());
            }
        }
        // The chunks' results stay apart until all is well, so that an error changes nothing.
        let mut sorted: Vec<T> = reserved(keys.len())?;
        sorted.extend_from_slice(keys);
        while let Some(range) = chunks.next() {
            let chunk = &mut sorted[range.clone()];
            let outcome = self
                .sort_chunk(chunk, order, waiting, profile.as_deref_mut())
                .await;
            chunks.took(range, outcome)?;
        }
        let begin = Instant::now();
        let runs = (chunks.sorted.into_iter())
            .map(|run| sorted[run].iter().copied().map(Ok::<T, Infallible>))
            .collect();
        for (key, merged) in keys.iter_mut().zip(KWayMerge::new(runs, order)) {
            let Ok(merged) = merged;
            *key = merged;
        }
        if let Some(profile) = profile {
            profile.merge += begin.elapsed();
        }
        Ok(())
    }

    async fn argsort_host<T: SortKey>(
        &self,
        keys: &[T],
        order: Order,
        waiting: Waiting,
    ) -> Result<Vec<u32>, Error> {
        if u32::try_from(keys.len()).is_err() {
            return Err(Error::TooManyToNumber {
                len: keys.len() as u64,
            });
        }
        let mut indices: Vec<u32> = reserved(keys.len())?;
        indices.resize(keys.len(), 0);
        let most = (self.max_len(T::KEY_TYPE)).min(self.max_len(KeyType::U32));
        let mut chunks = Chunks::new(keys.len(), most);
        while let Some(range) = chunks.next() {
            let chunk = &mut indices[range.clone()];
            let outcome = self
                .argsort_chunk(&keys[range.clone()], chunk, order, waiting)
                .await;
            chunks.took(range, outcome)?;
        }
        if chunks.sorted.len() > 1 {
            // Only now: a chunk that the device has no memory for is sorted again, as smaller ones.
            for run in &chunks.sorted {
                for index in &mut indices[run.clone()] {
                    *index += run.start as u32;
                }
            }
            let mut merged = reserved(keys.len())?;
            merged.extend(merge_indices(keys, &indices, &chunks.sorted, order));
            return Ok(merged);
        }
        Ok(indices)
    }

    /// Where the keys of a chunk that fits the device are in order.
    async fn argsort_chunk<T: SortKey>(
        &self,
        keys: &[T],
        indices: &mut [u32],
        order: Order,
        waiting: Waiting,
    ) -> Result<(), Error> {
        let (len, key) = (keys.len() as u64, T::KEY_TYPE);
        let make = |label, bytes, pool| calls::host_buffer(&self.device, label, bytes, pool);
        let on_device = make("bcfsort.keys", size_of_val(keys) as u64, &self.host_keys)?;
        let numbers = make("bcfsort.indices", len * 4, &self.host_indices)?;
        let keys_there = Keys::new(&on_device, key);
        let job = SortJob::new(keys_there, len).order(order).indices(&numbers);
        let sort = self.prepare_pooled(&job)?;
        let (device, queue) = (&self.device, &self.queue);
        let bytes = bytemuck::cast_slice(keys);
        upload(device, queue, bytes, (&on_device, 0), waiting).await?;
        sort.0.submit()?;
        let read = bytemuck::cast_slice_mut(indices);
        download(device, queue, (&numbers, 0), read, waiting).await?;
        self.give_back(sort);
        calls::keep_host_buffer(&self.host_keys, on_device);
        calls::keep_host_buffer(&self.host_indices, numbers);
        Ok(())
    }

    /// Sorts keys that fit the device. On an error they are as they were.
    async fn sort_chunk<T: SortKey>(
        &self,
        keys: &mut [T],
        order: Order,
        waiting: Waiting,
        profile: Option<&mut Profile>,
    ) -> Result<(), Error> {
        let bytes = size_of_val(keys) as u64;
        let buffer = calls::host_buffer(&self.device, "bcfsort.keys", bytes, &self.host_keys)?;
        let len = keys.len() as u64;
        let job = SortJob::new(Keys::new(&buffer, T::KEY_TYPE), len).order(order);
        let sort = self.prepare_pooled(&job)?;
        let begin = Instant::now();
        let (device, queue) = (&self.device, &self.queue);
        let bytes = bytemuck::cast_slice(keys);
        upload(device, queue, bytes, (&buffer, 0), waiting).await?;
        let profiled = profile.is_some();
        if profiled {
            waiting.done(device, queue).await?;
        }
        let uploaded = begin.elapsed();
        let measured = if profiled {
            Some(sort.0.measure(Detail::Phases, waiting).await?)
        } else {
            sort.0.submit()?;
            None
        };
        let begin = Instant::now();
        let sorted = bytemuck::cast_slice_mut(keys);
        download(device, queue, (&buffer, 0), sorted, waiting).await?;
        if let (Some(profile), Some(mut ran)) = (profile, measured) {
            ran.upload = uploaded;
            ran.download = begin.elapsed();
            profile.add(&ran);
        }
        self.give_back(sort);
        calls::keep_host_buffer(&self.host_keys, buffer);
        Ok(())
    }
}

/// An empty vector with room for `len` items.
pub(super) fn reserved<T>(len: usize) -> Result<Vec<T>, Error> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len)
        .map_err(|error| Error::OutOfHostMemory {
            bytes: (len * size_of::<T>()) as u64,
            message: error.to_string(),
        })?;
    Ok(vec)
}

/// The parts of a slice that are sorted one by one: as long as the device takes, and shorter where
/// its memory runs out.
struct Chunks {
    len: usize,
    chunk: usize,
    start: usize,
    sorted: Vec<Range<usize>>,
}

impl Chunks {
    fn new(len: usize, most: u64) -> Self {
        Self {
            len,
            chunk: len.min(usize::try_from(most).unwrap_or(usize::MAX)),
            start: 0,
            sorted: Vec::new(),
        }
    }

    /// The next part, or `None` where all is sorted.
    fn next(&self) -> Option<Range<usize>> {
        let end = self.len.min(self.start + self.chunk);
        (self.start < end).then_some(self.start..end)
    }

    /// Whether it was sorted. Without memory for it, the next one is a smaller one from the same
    /// place on.
    fn took(&mut self, range: Range<usize>, outcome: Result<(), Error>) -> Result<(), Error> {
        match outcome {
            Ok(()) => {
                self.start = range.end;
                self.sorted.push(range);
                Ok(())
            }
            Err(Error::OutOfMemory { .. }) if self.chunk > SMALLEST_CHUNK => {
                self.chunk = self.chunk.div_ceil(2);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// Keys below which a device that has no memory for them has none for anything.
const SMALLEST_CHUNK: usize = 1 << 16;

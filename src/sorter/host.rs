//! Sorts of slices in host memory.

use super::kept::{Slice, SliceSort};
use super::{Keys, SortJob, Sorter};
use crate::error::{BufferRole, Error};
use crate::gpu::Instant;
use crate::gpu::faults::call;
use crate::gpu::profile::{Clock, Detail, Profile};
use crate::gpu::transfer::zeroed;
use crate::gpu::waiting::Waiting;
use crate::host::{merge_runs, permute};
use crate::job::{KeyField, check_bound};
use crate::key::{KeyType, SortKey};
use crate::order::Order;
use crate::row_function::Comparator;
use std::cell::Cell;
use std::convert::Infallible;
use std::ops::Range;
use std::time::Duration;

impl Sorter {
    /// Sorts a slice in host memory in place: uploads, sorts and downloads it. Blocks.
    ///
    /// Slices may have any length. Beyond [`max_len`](Self::max_len), or if the device runs out of
    /// memory, chunks are sorted on the device and merged on all cores of the host, with a copy of
    /// the keys in host memory. O(n log n) time. Keys alone need no stable sort: the result is the
    /// same on every device.
    ///
    /// Device memory: the keys and [`scratch_size`](Self::scratch_size) bytes. Host memory: a copy
    /// of the keys, so that the slice is unchanged after an error. The sorter keeps both for the
    /// next sort. Most of the time is that of the transfers: of 7 ms for 2^24 words on an H200 host
    /// with 16 cores, the sort takes 0.5 ms.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], [`Error::OutOfHostMemory`], [`Error::WorkgroupMemory`],
    /// [`Error::DeviceLost`], [`Error::Device`]. The slice is unchanged after an error.
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
        pollster::block_on(self.sort_host(keys, order, Waiting::Block))
    }

    /// The async version of [`sort`](Self::sort). It does not block while the device works: an
    /// additional thread waits for the device. The polling thread compiles kernels, copies keys and
    /// merges chunks.
    ///
    /// If the future is dropped before it completes, the slice is unchanged. Submitted work still
    /// runs on the device.
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
        call(self.sort_host(keys, order, Waiting::Yield)).await
    }

    /// Sorts keys in host memory, and passes the result to a closure, in order, in blocks. Blocks.
    ///
    /// Faster than [`sort`](Self::sort) if the result is to be written or sent: blocks arrive while
    /// the next ones are copied from the device, and no host memory is needed for the result. A
    /// block has at most 16 MiB.
    ///
    /// The slice may have any length. Beyond [`max_len`](Self::max_len), or if the device runs out
    /// of memory, chunks of the slice are sorted in place on the device, and merged on all cores of
    /// the host. Afterwards the slice has the same keys in an unspecified order, also after an
    /// error. O(n log n) time.
    ///
    /// # Errors
    ///
    /// Those of [`sort`](Self::sort), and the first error of `take`, which ends the sort.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::io::Write;
    /// use wgpu_bcfsort::{Options, Order, Sorter};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let mut keys = [300_u32, 20, 1];
    /// let mut file = Vec::new();
    /// sorter.sort_to(&mut keys, Order::Ascending, |block| {
    ///     for key in block {
    ///         writeln!(file, "{key}")?;
    ///     }
    ///     Ok::<_, Box<dyn std::error::Error>>(())
    /// })?;
    /// assert_eq!(file, b"1\n20\n300\n");
    /// # Ok(()) }
    /// ```
    pub fn sort_to<T: SortKey, E: From<Error>>(
        &self,
        keys: &mut [T],
        order: Order,
        mut take: impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        pollster::block_on(self.sort_to_host(keys, order, Waiting::Block, None, &mut take))
    }

    /// The async version of [`sort_to`](Self::sort_to). It does not block while the device works.
    /// The future is not [`Send`].
    ///
    /// # Errors
    ///
    /// Those of [`sort_to`](Self::sort_to).
    pub async fn sort_to_async<T: SortKey, E: From<Error>>(
        &self,
        keys: &mut [T],
        order: Order,
        mut take: impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        call(self.sort_to_host(keys, order, Waiting::Yield, None, &mut take)).await
    }

    /// Sorts as [`sort_to`](Self::sort_to) does, and returns the times of all phases and transfers,
    /// without those of `take`. It takes a little longer, because it waits for the device between
    /// them; phases are timed as with [`Detail::Phases`].
    ///
    /// The result is in the blocks alone: the slice keeps its keys, in an unspecified order. With
    /// fewer than two keys nothing runs on the device, and all times are zero.
    ///
    /// There is no async version: async code uploads the keys, and awaits
    /// [`PreparedSort::profile_async`](super::PreparedSort::profile_async).
    ///
    /// # Errors
    ///
    /// Those of [`sort_to`](Self::sort_to).
    ///
    /// # Examples
    ///
    /// See [`Profile`].
    pub fn profile<T: SortKey, E: From<Error>>(
        &self,
        keys: &mut [T],
        order: Order,
        mut take: impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<Profile, E> {
        let mut profile = Profile::new(Clock::Timestamps);
        let sorting = self.sort_to_host(keys, order, Waiting::Block, Some(&mut profile), &mut take);
        pollster::block_on(sorting)?;
        Ok(profile)
    }

    /// Returns the indices that would sort a slice: `keys[indices[i] as usize]` has rank i. Stable:
    /// equal keys have ascending indices, also in descending order.
    ///
    /// Slices may have up to 2^32 - 1 keys. Beyond [`max_len`](Self::max_len), or if the device
    /// runs out of memory, chunks are sorted on the device and merged on the host, with a copy of
    /// the indices in host memory. O(n log n) time. The engine is
    /// [`Engine::SampleSort`](crate::Engine::SampleSort).
    ///
    /// Device memory: the keys and indices, and scratch memory of 1.15 times both plus 16 MiB.
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

    /// The async version of [`argsort`](Self::argsort). It does not block while the device works.
    ///
    /// # Errors
    ///
    /// Those of [`argsort`](Self::argsort).
    ///
    /// # Examples
    ///
    /// See [`argsort`](Self::argsort) and [`sort_async`](Self::sort_async).
    pub async fn argsort_async<T: SortKey>(
        &self,
        keys: &[T],
        order: Order,
    ) -> Result<Vec<u32>, Error> {
        call(self.argsort_host(keys, order, Waiting::Yield)).await
    }

    /// Sorts a slice of keys, and moves the values of any type in a second slice along with them.
    /// Stable: values of equal keys keep their order.
    ///
    /// The device computes an [`argsort`](Self::argsort), and the host permutes both slices in
    /// place. Values of any size stay on the host. O(n log n) time, and 4 bytes of host memory per
    /// key.
    ///
    /// # Errors
    ///
    /// [`Error::LengthsDiffer`], and those of [`argsort`](Self::argsort). Both slices are unchanged
    /// after an error.
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
        pollster::block_on(self.sort_pairs_host(keys, values, order, Waiting::Block))
    }

    /// The async version of [`sort_pairs`](Self::sort_pairs). It does not block while the device
    /// works.
    ///
    /// # Errors
    ///
    /// Those of [`sort_pairs`](Self::sort_pairs).
    ///
    /// # Examples
    ///
    /// See [`sort_pairs`](Self::sort_pairs) and [`sort_async`](Self::sort_async).
    pub async fn sort_pairs_async<T: SortKey, V>(
        &self,
        keys: &mut [T],
        values: &mut [V],
        order: Order,
    ) -> Result<(), Error> {
        call(self.sort_pairs_host(keys, values, order, Waiting::Yield)).await
    }

    async fn sort_pairs_host<T: SortKey, V>(
        &self,
        keys: &mut [T],
        values: &mut [V],
        order: Order,
        waiting: Waiting,
    ) -> Result<(), Error> {
        if keys.len() != values.len() {
            return Err(Error::LengthsDiffer {
                of: "keys",
                first: keys.len() as u64,
                with: "values",
                second: values.len() as u64,
            });
        }
        let indices = self.argsort_host(keys, order, waiting).await?;
        permute(indices, |i, j| {
            keys.swap(i, j);
            values.swap(i, j);
        });
        Ok(())
    }

    /// Sorts items of any type by a key that a closure computes. Stable: items of equal keys keep
    /// their order.
    ///
    /// `key` is called once per item. The device computes an [`argsort`](Self::argsort) of the
    /// keys, and the host permutes the items in place. O(n log n) time. Host memory: the keys, and
    /// 4 bytes per key.
    ///
    /// # Errors
    ///
    /// Those of [`argsort`](Self::argsort). The items are unchanged after an error.
    ///
    /// # Panics
    ///
    /// If `key` panics.
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
        pollster::block_on(self.sort_by_key_host(items, order, key, Waiting::Block))
    }

    /// The async version of [`sort_by_key`](Self::sort_by_key). It does not block while the device
    /// works.
    ///
    /// # Errors
    ///
    /// Those of [`argsort`](Self::argsort).
    ///
    /// # Examples
    ///
    /// See [`sort_by_key`](Self::sort_by_key) and [`sort_async`](Self::sort_async).
    pub async fn sort_by_key_async<V, T: SortKey>(
        &self,
        items: &mut [V],
        order: Order,
        key: impl FnMut(&V) -> T,
    ) -> Result<(), Error> {
        call(self.sort_by_key_host(items, order, key, Waiting::Yield)).await
    }

    async fn sort_by_key_host<V, T: SortKey>(
        &self,
        items: &mut [V],
        order: Order,
        key: impl FnMut(&V) -> T,
        waiting: Waiting,
    ) -> Result<(), Error> {
        let mut keys = reserved(items.len())?;
        keys.extend(items.iter().map(key));
        let indices = self.argsort_host(&keys, order, waiting).await?;
        permute(indices, |i, j| items.swap(i, j));
        Ok(())
    }

    /// Sorts a slice of structs by a custom comparator in WGSL, on the device. In place and stable.
    ///
    /// The result is a permutation of the input whatever the comparator returns: see
    /// [`Comparator`]. O(n log n) comparisons. All rows must fit the device at once, with the
    /// scratch memory of [`SortJob::by`]. The engine is
    /// [`Engine::SampleSort`](crate::Engine::SampleSort).
    ///
    /// # Errors
    ///
    /// - [`Error::Comparator`] if `T` is not known to have the memory layout of a row. If rows have
    ///   several members, make the comparator with [`Comparator::of`]. If they have one, `T` must
    ///   have the same size.
    /// - [`Error::TooLarge`] and [`Error::BindingTooLarge`] if the rows do not fit the device at
    ///   once.
    /// - [`Error::OutOfMemory`], [`Error::DeviceLost`].
    ///
    /// The rows are unchanged after an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{Comparator, Options, Order, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// // Sorts points by their distance from the origin.
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
        pollster::block_on(self.sort_by_host(rows, comparator, order, Waiting::Block))
    }

    /// The async version of [`sort_by`](Self::sort_by). It does not block while the device works.
    ///
    /// # Errors
    ///
    /// Those of [`sort_by`](Self::sort_by).
    ///
    /// # Examples
    ///
    /// See [`sort_by`](Self::sort_by) and [`sort_async`](Self::sort_async).
    pub async fn sort_by_async<T: bytemuck::Pod>(
        &self,
        rows: &mut [T],
        comparator: &Comparator,
        order: Order,
    ) -> Result<(), Error> {
        call(self.sort_by_host(rows, comparator, order, Waiting::Yield)).await
    }

    async fn sort_by_host<T: bytemuck::Pod>(
        &self,
        rows: &mut [T],
        comparator: &Comparator,
        order: Order,
        waiting: Waiting,
    ) -> Result<(), Error> {
        comparator.check_rows::<T>()?;
        let len = rows.len() as u64;
        self.sort_rows(rows, waiting, |rows| {
            SortJob::by(rows, comparator, len).order(order)
        })
        .await
    }

    /// Sorts a slice of structs by several of their fields, on the device. In place and stable:
    /// structs are sorted by the first field, those with equal ones by the second, and so on.
    ///
    /// It is a sort by [`Keys::fields`], which says what fields can be, and what it costs. Slices
    /// of `u128` and `i128` are sorted by [`KeyField::U128`](crate::KeyField::U128) and
    /// [`KeyField::I128`](crate::KeyField::I128). All structs must fit the device at once, with a
    /// copy of them and the [scratch memory](SortJob#scratch-memory) of the sort.
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidOption`] if `T` has no whole number of 32-bit words, and for fields that
    ///   are not within `T`, or not at a multiple of their size; of more than 128 bits together, or
    ///   none.
    /// - [`Error::TooLarge`] and [`Error::BindingTooLarge`] if the structs do not fit the device at
    ///   once.
    /// - [`Error::OutOfMemory`], [`Error::DeviceLost`].
    ///
    /// The slice is unchanged after an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::mem::offset_of;
    /// use wgpu_bcfsort::{KeyField, KeyType, Options, Order, Sorter};
    ///
    /// #[repr(C)]
    /// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    /// struct Sale {
    ///     day: u32,
    ///     price: f32,
    /// }
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let mut sales = [(2, 5.0), (1, 8.0), (2, 9.0)].map(|(day, price)| Sale { day, price });
    /// let day = KeyField {
    ///     offset: offset_of!(Sale, day) as u32,
    ///     key: KeyType::U32,
    ///     order: Order::Ascending,
    /// };
    /// let price = KeyField {
    ///     offset: offset_of!(Sale, price) as u32,
    ///     key: KeyType::F32,
    ///     order: Order::Descending,
    /// };
    /// let sorter = Sorter::open(Options::default())?;
    /// sorter.sort_by_fields(&mut sales, &[day, price], Order::Ascending)?;
    /// assert_eq!(sales.map(|sale| (sale.day, sale.price)), [(1, 8.0), (2, 9.0), (2, 5.0)]);
    /// # Ok(()) }
    /// ```
    pub fn sort_by_fields<T: bytemuck::Pod>(
        &self,
        rows: &mut [T],
        fields: &[KeyField],
        order: Order,
    ) -> Result<(), Error> {
        pollster::block_on(self.sort_by_fields_host(rows, fields, order, Waiting::Block))
    }

    /// The async version of [`sort_by_fields`](Self::sort_by_fields). It does not block while the
    /// device works.
    ///
    /// # Errors
    ///
    /// Those of [`sort_by_fields`](Self::sort_by_fields).
    ///
    /// # Examples
    ///
    /// See [`sort_by_fields`](Self::sort_by_fields) and [`sort_async`](Self::sort_async).
    pub async fn sort_by_fields_async<T: bytemuck::Pod>(
        &self,
        rows: &mut [T],
        fields: &[KeyField],
        order: Order,
    ) -> Result<(), Error> {
        call(self.sort_by_fields_host(rows, fields, order, Waiting::Yield)).await
    }

    async fn sort_by_fields_host<T: bytemuck::Pod>(
        &self,
        rows: &mut [T],
        fields: &[KeyField],
        order: Order,
        waiting: Waiting,
    ) -> Result<(), Error> {
        let (len, stride) = (rows.len() as u64, size_of::<T>());
        let Some(stride) = u32::try_from(stride).ok().filter(|bytes| bytes % 4 == 0) else {
            return Err(Error::InvalidOption {
                name: "bytes of a struct",
                value: stride as u64,
                allowed: "a multiple of 4, below 2^32",
            });
        };
        self.sort_rows(rows, waiting, |rows| {
            SortJob::new(Keys::fields(rows, stride, fields), len).order(order)
        })
        .await
    }

    /// Sorts structs by the job of a buffer that holds them, all at once.
    async fn sort_rows<T: bytemuck::Pod>(
        &self,
        rows: &mut [T],
        waiting: Waiting,
        job: impl for<'a> FnOnce(&'a wgpu::Buffer) -> SortJob<'a>,
    ) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let device = &self.device;
        let transfers = self.transfers(waiting);
        let bytes = size_of_val(rows) as u64;
        let limit = device.limits().max_storage_buffer_binding_size;
        check_bound(BufferRole::Keys, bytes.into(), limit)?;
        let buffer = self.key_buffer(bytes)?;
        let sort = self.prepare_pooled(&job(&buffer))?;
        let unsorted = bytemuck::cast_slice(rows);
        transfers.upload(unsorted, (&buffer, 0)).await?;
        sort.0.submit()?;
        let sorted = bytemuck::cast_slice_mut(rows);
        transfers.download((&buffer, 0), sorted).await?;
        self.keep_scratch(sort);
        self.keep_key_buffer(buffer);
        Ok(())
    }

    async fn sort_host<T: SortKey>(
        &self,
        keys: &mut [T],
        order: Order,
        waiting: Waiting,
    ) -> Result<(), Error> {
        if keys.len() < 2 {
            return Ok(());
        }
        let mut chunks = Chunks::new(keys.len(), self.max_len(T::KEY_TYPE));
        if let Some(all) = chunks.next().filter(|range| range.len() == keys.len()) {
            let outcome = self.sort_chunk(keys, order, waiting, None).await;
            chunks.finish(all, outcome)?;
            if chunks.next().is_none() {
                return Ok(());
            }
        }
        // Sort the chunks in a copy, so that an error leaves the user's slice unchanged.
        let mut sorted: Vec<T> = reserved(keys.len())?;
        sorted.extend_from_slice(keys);
        while let Some(range) = chunks.next() {
            let chunk = &mut sorted[range.clone()];
            let outcome = self.sort_chunk(chunk, order, waiting, None).await;
            chunks.finish(range, outcome)?;
        }
        let mut rest = &mut keys[..];
        let Ok(()) = merge_runs(&sorted, &chunks.sorted, rank_in(order), |block| {
            let (to, after) = std::mem::take(&mut rest).split_at_mut(block.len());
            to.copy_from_slice(block);
            rest = after;
            Ok::<_, Infallible>(())
        });
        Ok(())
    }

    /// See [`Self::sort_to`].
    async fn sort_to_host<T: SortKey, E: From<Error>>(
        &self,
        keys: &mut [T],
        order: Order,
        waiting: Waiting,
        mut profile: Option<&mut Profile>,
        take: &mut dyn FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        if keys.len() < 2 {
            return if keys.is_empty() { Ok(()) } else { take(keys) };
        }
        let taking = Cell::new(Duration::ZERO);
        let mut take = |block: &[T]| {
            let begin = Instant::now();
            let taken = take(block);
            taking.set(taking.get() + begin.elapsed());
            taken
        };
        let max_len = self.max_len(T::KEY_TYPE);
        if keys.len() as u64 <= max_len {
            match self
                .start_chunk(keys, order, waiting, profile.is_some())
                .await
            {
                Ok(started) => {
                    let begin = Instant::now();
                    let mut take_keys = |bytes: &[u8]| match bytemuck::try_cast_slice(bytes) {
                        Ok(block) => take(block),
                        Err(_) => take(&bytemuck::pod_collect_to_vec(bytes)),
                    };
                    let size = size_of_val(keys) as u64;
                    self.transfers(waiting)
                        .download_blocks((&started.sort.keys, 0), size, &mut take_keys)
                        .await?;
                    let downloading = begin.elapsed().saturating_sub(taking.get());
                    self.end_chunk(started, profile, downloading);
                    return Ok(());
                }
                // Sort them in chunks.
                Err(Error::OutOfMemory { .. }) if keys.len() > SMALLEST_CHUNK => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut chunks = Chunks::new(keys.len(), max_len.min(LONGEST_RUN / T::KEY_TYPE.bytes()));
        while let Some(range) = chunks.next() {
            let chunk = &mut keys[range.clone()];
            let outcome = self
                .sort_chunk(chunk, order, waiting, profile.as_deref_mut())
                .await;
            chunks.finish(range, outcome)?;
        }
        let begin = Instant::now();
        let merged = merge_runs(keys, &chunks.sorted, rank_in(order), take);
        if let Some(profile) = profile {
            profile.merge += begin.elapsed().saturating_sub(taking.get());
        }
        merged
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
        let mut indices: Vec<u32> = zeroed(keys.len())?;
        let most = (self.max_len(T::KEY_TYPE)).min(self.max_len(KeyType::U32));
        let mut chunks = Chunks::new(keys.len(), most);
        while let Some(range) = chunks.next() {
            let chunk = &mut indices[range.clone()];
            let outcome = self
                .argsort_chunk(&keys[range.clone()], chunk, order, waiting)
                .await;
            chunks.finish(range, outcome)?;
        }
        if chunks.sorted.len() > 1 {
            // Add the offsets after all chunks: one that runs out of memory is split and sorted
            // again.
            for run in &chunks.sorted {
                for index in &mut indices[run.clone()] {
                    *index += run.start as u32;
                }
            }
            let mut merged = reserved(keys.len())?;
            let rank = |&index: &u32| keys[index as usize].rank(order);
            let Ok(()) = merge_runs(&indices, &chunks.sorted, rank, |block| {
                merged.extend_from_slice(block);
                Ok::<_, Infallible>(())
            });
            return Ok(merged);
        }
        Ok(indices)
    }

    /// Writes the indices that sort a chunk. The chunk must fit the device.
    async fn argsort_chunk<T: SortKey>(
        &self,
        keys: &[T],
        indices: &mut [u32],
        order: Order,
        waiting: Waiting,
    ) -> Result<(), Error> {
        let sort = self.slice_sort(Slice {
            len: keys.len() as u64,
            key: T::KEY_TYPE,
            order,
            indexed: true,
        })?;
        let transfers = self.transfers(waiting);
        let bytes = bytemuck::cast_slice(keys);
        transfers.upload(bytes, (&sort.keys, 0)).await?;
        sort.sort.0.submit()?;
        if let Some(there) = &sort.indices {
            let read = bytemuck::cast_slice_mut(indices);
            transfers.download_in_blocks((there, 0), read).await?;
        }
        self.keep(sort);
        Ok(())
    }

    /// Sorts a chunk, which must fit the device. The keys are unchanged after an error.
    async fn sort_chunk<T: SortKey>(
        &self,
        keys: &mut [T],
        order: Order,
        waiting: Waiting,
        profile: Option<&mut Profile>,
    ) -> Result<(), Error> {
        let started = self
            .start_chunk(keys, order, waiting, profile.is_some())
            .await?;
        let begin = Instant::now();
        let sorted = bytemuck::cast_slice_mut(keys);
        self.transfers(waiting)
            .download((&started.sort.keys, 0), sorted)
            .await?;
        self.end_chunk(started, profile, begin.elapsed());
        Ok(())
    }

    /// Uploads a chunk and submits its sort.
    async fn start_chunk<T: SortKey>(
        &self,
        keys: &[T],
        order: Order,
        waiting: Waiting,
        profiled: bool,
    ) -> Result<Started, Error> {
        let sort = self.slice_sort(Slice {
            len: keys.len() as u64,
            key: T::KEY_TYPE,
            order,
            indexed: false,
        })?;
        let begin = Instant::now();
        let bytes = bytemuck::cast_slice(keys);
        self.transfers(waiting)
            .upload(bytes, (&sort.keys, 0))
            .await?;
        let profile = if profiled {
            waiting.done(&self.device, &self.queue).await?;
            let uploading = begin.elapsed();
            let mut profile = sort.sort.0.measure(Detail::Phases, waiting).await?;
            profile.upload = uploading;
            Some(profile)
        } else {
            sort.sort.0.submit()?;
            None
        };
        Ok(Started { sort, profile })
    }

    /// Keeps the sort of a chunk for the next one.
    fn end_chunk(&self, chunk: Started, profile: Option<&mut Profile>, downloading: Duration) {
        if let (Some(profile), Some(mut of_chunk)) = (profile, chunk.profile) {
            of_chunk.download = downloading;
            profile.add(&of_chunk);
        }
        self.keep(chunk.sort);
    }
}

/// A chunk whose sort is submitted.
struct Started {
    sort: SliceSort,
    profile: Option<Profile>,
}

/// Compares keys by integers that have the same order.
fn rank_in<T: SortKey>(order: Order) -> impl Fn(&T) -> u64 + Sync {
    move |&key| key.rank(order)
}

/// An empty vector with room for `len` items.
fn reserved<T>(len: usize) -> Result<Vec<T>, Error> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len)
        .map_err(|error| Error::OutOfHostMemory {
            bytes: (len * size_of::<T>()) as u64,
            message: error.to_string(),
        })?;
    Ok(vec)
}

/// Cuts a slice into chunks, as long as the device allows. Halves their length if its memory runs
/// out.
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

    /// The next chunk, or `None` if all of the slice is sorted.
    fn next(&self) -> Option<Range<usize>> {
        let end = self.len.min(self.start + self.chunk);
        (self.start < end).then_some(self.start..end)
    }

    /// Ends a chunk with the outcome of its sort. If it ran out of device memory, the next chunk is
    /// shorter and has the same start.
    fn finish(&mut self, range: Range<usize>, outcome: Result<(), Error>) -> Result<(), Error> {
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

/// Bytes of a chunk of several: longer ones take more memory on the device, and shorter ones take
/// longer to merge.
const LONGEST_RUN: u64 = 512 << 20;

/// The length in keys at which to give up: without memory for that, a device has none at all.
const SMALLEST_CHUNK: usize = 1 << 16;

//! Sorts of slices in host memory.

use super::kept::{Asked, Slice, SliceSort};
use super::ranges::{Part, Ranges, Rest, gather};
use super::{Keys, SortJob, Sorter};
use crate::error::{BufferRole, Error};
use crate::gpu::Instant;
use crate::gpu::faults::call;
use crate::gpu::profile::{Clock, Detail, Profile};
use crate::gpu::transfer::{Transfers, blocks, copy, zeroed};
use crate::gpu::waiting::Waiting;
use crate::host::permute;
use crate::job::{KeyField, check_bound};
use crate::key::{KeyType, SortKey};
use crate::order::Order;
use crate::row_function::Comparator;
use std::borrow::Cow;
use std::time::Duration;

impl Sorter {
    /// Sorts a slice in host memory in place: uploads, sorts and downloads it. Blocks.
    ///
    /// Slices may have any length. Beyond [`max_len`](Self::max_len), or if the device runs out of
    /// memory, they are partitioned on all cores of the host, and the device sorts one range after
    /// another into its final place: nothing is merged. O(n log n) time. Keys alone need no stable
    /// sort: the result is the same on every device.
    ///
    /// Device memory: the keys and [`scratch_size`](crate::SortJob::scratch_size) bytes. Host
    /// memory: a copy of the keys, so that the slice is unchanged after an error. The sorter keeps
    /// both for the next sort. A slice that is partitioned takes a byte of host memory for each key
    /// in addition, and none of this memory is kept. Most of the time is that of the transfers: of
    /// 7 ms for 2^24 words on an H200 host with 16 cores, the sort takes 0.5 ms.
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
    /// additional thread waits for the device. The polling thread compiles kernels, and copies and
    /// partitions keys.
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
    /// of memory, it is partitioned as by [`sort`](Self::sort), with a copy of the keys and a byte
    /// for each. O(n log n) time.
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
    /// let keys = [300_u32, 20, 1];
    /// let mut file = Vec::new();
    /// sorter.sort_to(&keys, Order::Ascending, |block| {
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
        keys: &[T],
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
        keys: &[T],
        order: Order,
        mut take: impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        call(self.sort_to_host(keys, order, Waiting::Yield, None, &mut take)).await
    }

    /// Sorts as [`sort_to`](Self::sort_to) does, and returns the times of all phases and transfers,
    /// without those of `take`. It takes a little longer, because it waits for the device between
    /// them; phases are timed as with [`Detail::Phases`].
    ///
    /// With fewer than two keys nothing runs on the device, and all times are zero.
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
        keys: &[T],
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
    /// runs out of memory, the keys are partitioned as by [`sort`](Self::sort), with a copy of keys
    /// and indices and a byte for each key in host memory. O(n log n) time. The engine is
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
        let mut transfers = self.transfers(waiting);
        let bytes = size_of_val(rows) as u64;
        let limit = device.limits().max_storage_buffer_binding_size;
        check_bound(BufferRole::Keys, bytes.into(), limit)?;
        let buffer = self.key_buffer(bytes)?;
        let sort = self.prepare_pooled(&job(&buffer))?;
        let unsorted = bytemuck::cast_slice(rows);
        transfers.upload(unsorted, (&buffer, 0)).await?;
        transfers.run(&sort.0)?;
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
        let mut most = AtOnce::new(self.max_len(T::KEY_TYPE));
        if most.holds(keys.len()) {
            match self.sort_chunk(keys, order, waiting).await {
                Ok(()) => return Ok(()),
                Err(error) => most.shrink(keys.len(), error)?,
            }
        }
        let (parted, ranges) = Parted::by_ranges(keys, order, most)?;
        let mut slice = Rewritten {
            parted,
            ranges,
            keys,
            written: 0,
        };
        let (keys, written) = (&mut *slice.keys, &mut slice.written);
        let mut write = |block: &[T]| {
            copy(block, &mut keys[*written..][..block.len()]);
            *written += block.len();
            Ok(())
        };
        self.sort_parts(&mut slice.parted, most, waiting, None, &mut write)
            .await
    }

    /// See [`Self::sort_to`].
    async fn sort_to_host<T: SortKey, E: From<Error>>(
        &self,
        keys: &[T],
        order: Order,
        waiting: Waiting,
        profile: Option<&mut Profile>,
        take: &mut impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        let most = AtOnce::new(self.max_len(T::KEY_TYPE));
        let mut whole = Parted::whole(keys, order);
        self.sort_parts(&mut whole, most, waiting, profile, take)
            .await
    }

    /// Sorts range after range, and passes each on. A range that is too long for the device is
    /// partitioned again.
    async fn sort_parts<T: SortKey, E: From<Error>>(
        &self,
        first: &mut Parted<'_, T>,
        mut most: AtOnce,
        waiting: Waiting,
        mut profile: Option<&mut Profile>,
        take: &mut impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut finer: Vec<Parted<'_, T>> = Vec::new();
        loop {
            let parted = finer.last_mut().unwrap_or(first);
            let Some(part) = parted.parts.next() else {
                if finer.pop().is_none() {
                    return Ok(());
                }
                continue;
            };
            let (keys, order) = (&parted.keys[part.range], parted.order);
            if !part.sorts {
                blocks(keys).try_for_each(&mut *take)?;
                continue;
            }
            let range = (keys, order, Asked::Keys);
            if (self.sort_once(range, &mut most, waiting, profile.as_deref_mut(), take)).await? {
                continue;
            }
            let begin = Instant::now();
            let (parted, _) = Parted::by_ranges(keys, order, most)?;
            if let Some(profile) = profile.as_deref_mut() {
                profile.partition += begin.elapsed();
            }
            finer.push(parted);
        }
    }

    /// Sorts keys on the device at once, and passes on the keys, or the indices that sort them, as
    /// `R`. Returns false if they are too many for that: more than `most`, or than the device has
    /// memory for.
    async fn sort_once<T: SortKey, R: bytemuck::Pod, E: From<Error>>(
        &self,
        (keys, order, asked): (&[T], Order, Asked),
        most: &mut AtOnce,
        waiting: Waiting,
        profile: Option<&mut Profile>,
        take: &mut impl FnMut(&[R]) -> Result<(), E>,
    ) -> Result<bool, E> {
        if !most.holds(keys.len()) {
            return Ok(false);
        }
        let mut nothing_taken = true;
        let mut take = |block: &[R]| {
            nothing_taken = false;
            take(block).map_err(Ended::Take)
        };
        let profiled = profile.is_some();
        let mut transfers = self.transfers(waiting);
        let chunk = (keys, order, asked);
        let started = self.start_chunk(chunk, &mut transfers, profiled).await;
        let sorted = match started {
            Ok(started) => {
                self.take_chunk(started, &mut transfers, profile, &mut take)
                    .await
            }
            Err(error) => Err(Ended::Sort(error)),
        };
        match sorted {
            Ok(()) => Ok(true),
            Err(Ended::Sort(error)) if nothing_taken => {
                most.shrink(keys.len(), error)?;
                Ok(false)
            }
            Err(ended) => Err(ended.error()),
        }
    }

    async fn argsort_host<T: SortKey>(
        &self,
        keys: &[T],
        order: Order,
        waiting: Waiting,
    ) -> Result<Vec<u32>, Error> {
        let mut indices = zeroed(keys.len())?;
        let mut rest = Rest(&mut indices);
        let mut write = |block: &[u32]| {
            copy(block, rest.take(block.len()));
            Ok::<_, Error>(())
        };
        self.argsort_to_host(keys, order, waiting, &mut write)
            .await?;
        Ok(indices)
    }

    /// Passes the indices that sort keys to a closure, in order, in blocks.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn argsort_to<T: SortKey, E: From<Error>>(
        &self,
        keys: &[T],
        order: Order,
        mut take: impl FnMut(&[u32]) -> Result<(), E>,
    ) -> Result<(), E> {
        pollster::block_on(self.argsort_to_host(keys, order, Waiting::Block, &mut take))
    }

    async fn argsort_to_host<T: SortKey, E: From<Error>>(
        &self,
        keys: &[T],
        order: Order,
        waiting: Waiting,
        take: &mut impl FnMut(&[u32]) -> Result<(), E>,
    ) -> Result<(), E> {
        if u32::try_from(keys.len()).is_err() {
            let len = keys.len() as u64;
            return Err(Error::TooManyToNumber { len }.into());
        }
        if keys.len() < 2 {
            return keys.iter().try_for_each(|_| take(&[0]));
        }
        let most = (self.max_len(T::KEY_TYPE)).min(self.max_len(KeyType::U32));
        let mut most = AtOnce::new(most);
        let whole = (keys, order, Asked::Indices);
        if (self.sort_once(whole, &mut most, waiting, None, take)).await? {
            return Ok(());
        }
        let mut numbered = Vec::new();
        let mut levels = vec![Numbered::new(keys, None, order, most)?];
        while let Some(Numbered { parted, numbers }) = levels.last_mut() {
            let Some(part) = parted.parts.next() else {
                levels.pop();
                continue;
            };
            let (keys, numbers) = (&parted.keys[part.range.clone()], &numbers[part.range]);
            if !part.sorts {
                // Equal keys: their indices are in order already.
                blocks(numbers).try_for_each(&mut *take)?;
                continue;
            }
            let mut take_numbers = |block: &[u32]| {
                numbered.resize(block.len(), 0);
                gather(numbers, block, &mut numbered);
                take(&numbered)
            };
            let range = (keys, order, Asked::Indices);
            let sorting = self.sort_once(range, &mut most, waiting, None, &mut take_numbers);
            if !sorting.await? {
                let finer = Numbered::new(keys, Some(numbers), order, most)?;
                levels.push(finer);
            }
        }
        Ok(())
    }

    /// Sorts a chunk, which must fit the device. The keys are unchanged after an error.
    async fn sort_chunk<T: SortKey>(
        &self,
        keys: &mut [T],
        order: Order,
        waiting: Waiting,
    ) -> Result<(), Error> {
        let mut transfers = self.transfers(waiting);
        let chunk = (&*keys, order, Asked::Keys);
        let started = self.start_chunk(chunk, &mut transfers, false).await?;
        let sorted = bytemuck::cast_slice_mut(keys);
        let from = (&started.sort.keys, 0);
        transfers.download(from, sorted).await?;
        self.keep(started.sort);
        Ok(())
    }

    /// Uploads a chunk and sorts it.
    async fn start_chunk<T: SortKey>(
        &self,
        (keys, order, asked): (&[T], Order, Asked),
        transfers: &mut Transfers<'_>,
        profiled: bool,
    ) -> Result<Started, Error> {
        let sort = self.slice_sort(Slice {
            len: keys.len() as u64,
            key: T::KEY_TYPE,
            order,
            asked,
        })?;
        let begin = Instant::now();
        let bytes = bytemuck::cast_slice(keys);
        transfers.upload(bytes, (&sort.keys, 0)).await?;
        let profile = if profiled {
            let waiting = transfers.waiting;
            transfers.submit()?;
            waiting.done(&self.device, &self.queue).await?;
            let uploading = begin.elapsed();
            let mut profile = sort.sort.0.measure(Detail::Phases, waiting).await?;
            profile.upload = uploading;
            Some(profile)
        } else {
            transfers.run(&sort.sort.0)?;
            None
        };
        Ok(Started { sort, profile })
    }

    /// Passes on the keys of a chunk, or the indices that sort them.
    async fn take_chunk<R: bytemuck::Pod, E: From<Error>>(
        &self,
        chunk: Started,
        transfers: &mut Transfers<'_>,
        profile: Option<&mut Profile>,
        take: &mut impl FnMut(&[R]) -> Result<(), E>,
    ) -> Result<(), E> {
        let begin = Instant::now();
        let mut taking = Duration::ZERO;
        let mut take_bytes = |bytes: &[u8]| {
            let begin = Instant::now();
            let taken = match bytemuck::try_cast_slice(bytes) {
                Ok(block) => take(block),
                Err(_) => take(&bytemuck::pod_collect_to_vec(bytes)),
            };
            taking += begin.elapsed();
            taken
        };
        let (from, bytes) = chunk.sort.result();
        transfers
            .download_blocks((from, 0), bytes, &mut take_bytes)
            .await?;
        if let (Some(profile), Some(mut of_chunk)) = (profile, chunk.profile) {
            of_chunk.download = begin.elapsed().saturating_sub(taking);
            profile.add(&of_chunk);
        }
        self.keep(chunk.sort);
        Ok(())
    }
}

/// Why a sort to a closure ended.
pub(super) enum Ended<E> {
    Sort(Error),
    Take(E),
}

impl<E: From<Error>> Ended<E> {
    pub(super) fn error(self) -> E {
        match self {
            Self::Sort(error) => error.into(),
            Self::Take(error) => error,
        }
    }
}

impl<E> From<Error> for Ended<E> {
    fn from(error: Error) -> Self {
        Self::Sort(error)
    }
}

/// A chunk whose sort is recorded or submitted.
struct Started {
    sort: SliceSort,
    profile: Option<Profile>,
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

/// Keys, partitioned: the sorted parts, one after another, are the sorted keys.
struct Parted<'a, T: Clone> {
    order: Order,
    keys: Cow<'a, [T]>,
    /// What is not sorted yet.
    parts: std::vec::IntoIter<Part>,
}

impl<'a, T: SortKey> Parted<'a, T> {
    /// A slice as the only part.
    fn whole(keys: &'a [T], order: Order) -> Self {
        let part = Part {
            range: 0..keys.len(),
            sorts: keys.len() > 1,
        };
        Self {
            order,
            keys: Cow::Borrowed(keys),
            parts: vec![part].into_iter(),
        }
    }

    /// A copy of the keys by their ranges, and these.
    fn by_ranges(keys: &[T], order: Order, most: AtOnce) -> Result<(Self, Ranges), Error> {
        let ranges = Ranges::of(keys, order, most.ranges(keys.len()), Vec::new())?;
        let mut parted = zeroed(keys.len())?;
        ranges.scatter(keys, &mut parted);
        let parts: Vec<Part> = ranges.parts().collect();
        let parted = Self {
            order,
            keys: Cow::Owned(parted),
            parts: parts.into_iter(),
        };
        Ok((parted, ranges))
    }
}

/// Keys of a slice, partitioned, and the index that each has in the slice of the user.
struct Numbered<T: SortKey> {
    parted: Parted<'static, T>,
    numbers: Vec<u32>,
}

impl<T: SortKey> Numbered<T> {
    /// `of` are the indices of the keys, if they are not those of the slice.
    fn new(keys: &[T], of: Option<&[u32]>, order: Order, most: AtOnce) -> Result<Self, Error> {
        let (parted, ranges) = Parted::by_ranges(keys, order, most)?;
        let mut numbers = zeroed(keys.len())?;
        ranges.scatter_indices(&mut numbers);
        if let Some(of) = of {
            let here = std::mem::replace(&mut numbers, zeroed(keys.len())?);
            gather(of, &here, &mut numbers);
        }
        Ok(Self { parted, numbers })
    }
}

/// A slice that its sorted keys are being written to. It gets back what it had if it is dropped
/// before they are complete: after an error, and with a future.
struct Rewritten<'a, T: SortKey> {
    parted: Parted<'static, T>,
    ranges: Ranges,
    keys: &'a mut [T],
    written: usize,
}

impl<T: SortKey> Drop for Rewritten<'_, T> {
    fn drop(&mut self) {
        if self.written < self.keys.len() {
            let parted = self.parted.keys.to_mut();
            self.ranges.restore(parted, self.keys);
        }
    }
}

/// The most keys that are sorted at once.
#[derive(Clone, Copy)]
struct AtOnce(usize);

impl AtOnce {
    fn new(most: u64) -> Self {
        Self(usize::try_from(most).unwrap_or(usize::MAX))
    }

    const fn holds(self, len: usize) -> bool {
        len <= self.0
    }

    /// Half of the keys that the device had no memory for. Any other error is returned.
    fn shrink(&mut self, len: usize, error: Error) -> Result<(), Error> {
        match error {
            Error::OutOfMemory { .. } if len > SMALLEST_CHUNK => {
                self.0 = len.div_ceil(2);
                Ok(())
            }
            error => Err(error),
        }
    }

    /// The ranges to partition more keys into: some will have more than their share.
    const fn ranges(self, len: usize) -> usize {
        (len / (self.0 / 4 * 3 + 1)) + 1
    }
}

/// The length in keys at which to give up: without memory for that, a device has none at all.
const SMALLEST_CHUNK: usize = 1 << 16;

//! `is_sorted` for keys in GPU buffers.

use super::{Keys, PreparedSort, SortJob, Sorter};
use crate::error::{BufferRole, Error};
use crate::gpu::binding::{self, BufferRange, ToBinding};
use crate::gpu::faults::call;
use crate::gpu::prepared::BufferSet;
use crate::gpu::waiting::Waiting;
use crate::order::Order;
use crate::recording::Buffer;

impl Sorter {
    /// Returns the length of the longest sorted prefix of the first `len` keys in a GPU buffer:
    /// `len` if all are sorted. Blocks. O(n) time, one pass over the keys.
    ///
    /// Keys may have any type, and may be packed or [strided](Keys::strided). Those of
    /// [several fields](Keys::fields) are composed in scratch memory first, of 8 or 12 bytes each.
    /// [`prepare_is_sorted`](Self::prepare_is_sorted) leaves the result on the GPU.
    ///
    /// # Errors
    ///
    /// Those of [`SortJob::prepare`](super::SortJob::prepare).
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, Order, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.upload(&[1.0_f32, 5.0, 4.0, 6.0])?;
    /// let keys = Keys::new(&keys, KeyType::F32);
    /// assert_eq!(sorter.is_sorted_until(&keys, 4, Order::Ascending)?, 2);
    /// assert_eq!(sorter.is_sorted_until(&keys, 2, Order::Ascending)?, 2);
    /// # Ok(()) }
    /// ```
    pub fn is_sorted_until(&self, keys: &Keys<'_>, len: u64, order: Order) -> Result<u64, Error> {
        pollster::block_on(self.is_sorted_until_waiting(keys, len, order, Waiting::Block))
    }

    /// The async version of [`is_sorted_until`](Self::is_sorted_until). It does not block while the
    /// device works.
    ///
    /// # Errors
    ///
    /// Those of [`SortJob::prepare`](super::SortJob::prepare).
    pub async fn is_sorted_until_async(
        &self,
        keys: &Keys<'_>,
        len: u64,
        order: Order,
    ) -> Result<u64, Error> {
        call(self.is_sorted_until_waiting(keys, len, order, Waiting::Yield)).await
    }

    async fn is_sorted_until_waiting(
        &self,
        keys: &Keys<'_>,
        len: u64,
        order: Order,
        waiting: Waiting,
    ) -> Result<u64, Error> {
        let check = self.prepare_check(keys, len, order, None)?;
        let mut transfers = self.transfers(waiting);
        transfers.run(&check.0)?;
        let mut unsorted = 0_u32;
        let read = bytemuck::bytes_of_mut(&mut unsorted);
        let found = &check.0.buffers[&Buffer::OutOfOrder];
        transfers.download((found, 0), read).await?;
        Ok(len - u64::from(unsorted))
    }

    /// Prepares a check of whether keys are sorted, which writes its result to a `u32` in a GPU
    /// buffer: 0 if they are, or else `len` minus the length of the longest sorted prefix.
    ///
    /// The check writes the maximum of its result and the previous value of that word. Clear the
    /// word before, by [`wgpu::CommandEncoder::clear_buffer`]. If several checks share a word, it
    /// is 0 only if all found their keys sorted. O(n) time, one pass over the keys, no scratch
    /// memory, but for keys of [several fields](Keys::fields): as
    /// [`is_sorted_until`](Self::is_sorted_until) says.
    ///
    /// # Errors
    ///
    /// Those of [`SortJob::prepare`](super::SortJob::prepare).
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyType, Keys, Options, Order, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.upload(&[1.0_f32, 5.0, 4.0, 6.0])?;
    /// let found = sorter.upload(&[0_u32])?;
    /// // Once:
    /// let keys = Keys::new(&keys, KeyType::F32);
    /// let check = sorter.prepare_is_sorted(&keys, 4, Order::Ascending, &found)?;
    /// // Each frame:
    /// let mut encoder = sorter.device().create_command_encoder(&Default::default());
    /// encoder.clear_buffer(&found, 0, Some(4));
    /// check.record(&mut encoder);
    /// // Dispatches that read `found`.
    /// sorter.queue().submit([encoder.finish()]);
    /// assert_eq!(sorter.download::<u32>(&found)?, [2]);
    /// # Ok(()) }
    /// ```
    pub fn prepare_is_sorted<'a>(
        &self,
        keys: &Keys<'a>,
        len: u64,
        order: Order,
        found: impl ToBinding<'a>,
    ) -> Result<PreparedSort, Error> {
        self.prepare_check(keys, len, order, Some(found.to_range()))
    }

    /// Prepares a check. Without `found`, its result is in a buffer of its own.
    fn prepare_check<'a>(
        &self,
        keys: &Keys<'a>,
        len: u64,
        order: Order,
        found: Option<BufferRange<'a>>,
    ) -> Result<PreparedSort, Error> {
        let job = SortJob::new(keys.clone(), len).order(order).job;
        let role = BufferRole::Found;
        let at = |range: &BufferRange<'_>| range.span.first_unit(role, 4);
        let word = found.as_ref().map_or(Ok(0), at)?;
        let mut recording = self.planner.record_is_sorted(&job, word)?;
        let mut user_buffers = binding::bind_all(&job)?;
        if let Some(found) = found {
            if user_buffers
                .values()
                .any(|bound| bound.buffer == found.buffer)
            {
                return Err(Error::SameBuffer {
                    first: BufferRole::Keys,
                    second: role,
                });
            }
            user_buffers.insert(Buffer::OutOfOrder, binding::bind(role, &found, 4)?);
            recording.buffers.remove(&Buffer::OutOfOrder);
        }
        self.ready(recording, &user_buffers, BufferSet::new())
    }
}

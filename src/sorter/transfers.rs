//! Copies between host memory and GPU buffers.

use super::Sorter;
use crate::error::{BufferRole, Error};
use crate::gpu::binding::{BufferRange, ToBinding};
use crate::gpu::faults::{call, scoped, settled};
use crate::gpu::transfer::{Transfers, zeroed};
use crate::gpu::waiting::Waiting;

impl Sorter {
    pub(super) fn transfers(&self, waiting: Waiting) -> Transfers<'_> {
        Transfers::new((&self.device, &self.queue), &self.staging, waiting)
    }

    /// Creates a GPU buffer with the contents of a slice, for [`Keys`](crate::Keys) or any other
    /// use.
    ///
    /// The usages are `STORAGE`, `COPY_SRC` and `COPY_DST`. The size is that of the slice, rounded
    /// up to a multiple of 4 bytes.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; [`Error::DeviceLost`]; [`Error::Device`] for a slice that exceeds
    /// the device's maximum buffer size.
    ///
    /// # Examples
    ///
    /// See [`SortJob::prepare`](crate::SortJob::prepare).
    pub fn upload<T: bytemuck::Pod>(&self, data: &[T]) -> Result<wgpu::Buffer, Error> {
        pollster::block_on(self.upload_waiting(data, Waiting::Block))
    }

    /// The async version of [`upload`](Self::upload).
    ///
    /// # Errors
    ///
    /// Those of [`upload`](Self::upload).
    pub async fn upload_async<T: bytemuck::Pod>(&self, data: &[T]) -> Result<wgpu::Buffer, Error> {
        call(async {
            let buffer = self.upload_waiting(data, Waiting::Yield).await?;
            settled(&self.device).await?;
            Ok(buffer)
        })
        .await
    }

    async fn upload_waiting<T: bytemuck::Pod>(
        &self,
        data: &[T],
        waiting: Waiting,
    ) -> Result<wgpu::Buffer, Error> {
        let bytes: &[u8] = bytemuck::cast_slice(data);
        let size = (bytes.len() as u64).next_multiple_of(4);
        let buffer = scoped(&self.device, size, || {
            use wgpu::BufferUsages as Usage;
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("bcfsort.upload"),
                size,
                usage: Usage::STORAGE | Usage::COPY_DST | Usage::COPY_SRC,
                mapped_at_creation: false,
            })
        })?;
        let mut transfers = self.transfers(waiting);
        transfers.upload(bytes, (&buffer, 0)).await?;
        transfers.submit()?;
        Ok(buffer)
    }

    /// Copies a range of a GPU buffer to the host. Blocks until all submitted work is done.
    ///
    /// The buffer needs the usage `COPY_SRC`. The byte offset of the range must be a multiple of 4.
    /// The result has all whole items of the range; an incomplete last item is left out.
    ///
    /// # Errors
    ///
    /// [`Error::BufferUsage`], [`Error::Offset`], [`Error::OutOfMemory`],
    /// [`Error::OutOfHostMemory`], [`Error::DeviceLost`], [`Error::Device`].
    ///
    /// # Examples
    ///
    /// See [`SortJob::prepare`](crate::SortJob::prepare).
    pub fn download<'a, T: bytemuck::Pod>(
        &self,
        range: impl ToBinding<'a>,
    ) -> Result<Vec<T>, Error> {
        pollster::block_on(self.download_waiting(range.to_range(), Waiting::Block))
    }

    /// The async version of [`download`](Self::download). It does not block while the device works.
    ///
    /// # Errors
    ///
    /// Those of [`download`](Self::download).
    pub async fn download_async<'a, T: bytemuck::Pod>(
        &self,
        range: impl ToBinding<'a>,
    ) -> Result<Vec<T>, Error> {
        call(self.download_waiting(range.to_range(), Waiting::Yield)).await
    }

    async fn download_waiting<T: bytemuck::Pod>(
        &self,
        range: BufferRange<'_>,
        waiting: Waiting,
    ) -> Result<Vec<T>, Error> {
        let (buffer, offset) = (range.buffer, range.span.offset);
        let needed = wgpu::BufferUsages::COPY_SRC;
        if !buffer.usage().contains(needed) {
            return Err(Error::BufferUsage {
                buffer: BufferRole::Download,
                needed,
                actual: buffer.usage(),
            });
        }
        if !offset.is_multiple_of(4) {
            return Err(Error::Offset {
                buffer: BufferRole::Download,
                offset,
                multiple_of: 4,
            });
        }
        let len = range.span.size as usize / size_of::<T>().max(1);
        let mut items = zeroed::<T>(len)?;
        let read: &mut [u8] = bytemuck::cast_slice_mut(&mut items);
        let from = (buffer, offset);
        let mut transfers = self.transfers(waiting);
        transfers.download_in_blocks(from, read).await?;
        Ok(items)
    }
}

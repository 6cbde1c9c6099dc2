//! Uploads and downloads between host slices and GPU buffers.

use super::faults::{lost, not_mapped, scoped};
use super::prepared::Prepared;
use super::waiting::{Waiting, poll_once};
use crate::at_once::{for_each_at_once, lock};
use crate::error::Error;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

/// Bytes of a staging buffer of an upload.
const PIECE: u64 = 32 << 20;

/// Bytes of a staging buffer of a download. Less memory is pinned than with [`PIECE`].
const BLOCK: u64 = 16 << 20;

/// Pieces or blocks in flight at a time. With their sizes, this bounds the staging memory.
const PIECES: usize = 4;

/// Bytes that one thread copies at a time. A single thread copies at a tenth of the bus's speed.
const PART: usize = 256 << 10;

/// So few bytes one thread copies before another one has woken up, and the device before more is
/// recorded.
const ALONE: usize = 512 << 10;

/// Staging buffers that are kept for later transfers: to allocate and pin host memory takes longer
/// than to copy it.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    /// At most [`PIECES`] buffers, not mapped. If there is more than one, each has [`PIECE`] bytes.
    uploads: Mutex<Vec<wgpu::Buffer>>,
    /// The largest one of at most [`BLOCK`] bytes so far, not mapped, for what is read at once.
    download: Mutex<Option<wgpu::Buffer>>,
    /// At most [`PIECES`] buffers of [`BLOCK`] bytes, not mapped.
    blocks: Mutex<Vec<wgpu::Buffer>>,
    /// Host memory of the longest download of more than [`BLOCK`] bytes.
    whole: Mutex<Vec<u8>>,
}

/// The transfers of one call, and what runs on the device between them.
///
/// A short slice is uploaded, sorted and downloaded by one submission: three take longer than its
/// sort.
pub(crate) struct Transfers<'a> {
    device: &'a wgpu::Device,
    queue: &'a wgpu::Queue,
    staging: &'a Staging,
    pub(crate) waiting: Waiting,
    /// What is recorded and not submitted yet.
    recorded: Option<wgpu::CommandEncoder>,
    /// Staging buffers from which it copies. Until then no other call may map them.
    sources: Vec<wgpu::Buffer>,
}

impl<'a> Transfers<'a> {
    pub(crate) const fn new(
        (device, queue): (&'a wgpu::Device, &'a wgpu::Queue),
        staging: &'a Staging,
        waiting: Waiting,
    ) -> Self {
        Self {
            device,
            queue,
            staging,
            waiting,
            recorded: None,
            sources: Vec::new(),
        }
    }

    fn record(&mut self, encode: impl FnOnce(&mut wgpu::CommandEncoder)) -> Result<(), Error> {
        let (device, recorded) = (self.device, &mut self.recorded);
        scoped(device, 0, || {
            encode(recorded.get_or_insert_with(|| {
                device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
                    label: Some("bcfsort"),
                })
            }));
        })
    }

    /// Submits what is recorded. Returns wgpu's validation errors, but does not detect a lost
    /// device.
    pub(crate) fn submit(&mut self) -> Result<(), Error> {
        if let Some(encoder) = self.recorded.take() {
            scoped(self.device, 0, || {
                self.queue.submit([encoder.finish()]);
            })?;
        }
        if self.sources.is_empty() {
            return Ok(());
        }
        let mut pooled = lock(&self.staging.uploads);
        pooled.append(&mut self.sources);
        // (The longest ones: all have a whole piece if there are several.)
        pooled.sort_by_key(|buffer| std::cmp::Reverse(buffer.size()));
        let longest = pooled.first().map_or(0, wgpu::Buffer::size);
        pooled.retain(|buffer| buffer.size() == longest);
        pooled.truncate(if longest == PIECE { PIECES } else { 1 });
        Ok(())
    }

    /// Records all that is prepared. Submits each of its submissions but the last one.
    pub(crate) fn run(&mut self, prepared: &Prepared) -> Result<(), Error> {
        for submission in 0..prepared.submissions() {
            if submission > 0 {
                self.submit()?;
            }
            self.record(|encoder| prepared.encode(encoder, submission))?;
        }
        Ok(())
    }

    /// Writes `bytes` to `buffer` at a byte offset, and zeros to the rest of the last word: by
    /// copies from staging buffers, or by writing to the buffer itself if that can be mapped. The
    /// copy of few bytes is recorded, that of more is submitted.
    ///
    /// The staging buffers are our own. [`wgpu::Queue::write_buffer`], and a buffer without
    /// `MAP_WRITE` that is mapped at creation, make wgpu allocate one. If that allocation fails,
    /// wgpu treats the device as lost, with all of the user's objects (wgpu-core 30,
    /// `StagingBuffer::new`). With our own buffer it is an error.
    pub(crate) async fn upload(
        &mut self,
        bytes: &[u8],
        (buffer, from): (&wgpu::Buffer, u64),
    ) -> Result<(), Error> {
        let device = self.device;
        if from == 0 && buffer.usage().contains(wgpu::BufferUsages::MAP_WRITE) {
            let mapped = self
                .waiting
                .answer(device, |answer| self.map(buffer, answer));
            mapped.await?.map_err(|error| lost(&error))?;
            return fill(device, buffer, bytes);
        }
        // One that is a little longer serves the next slices, too.
        let piece_bytes = PIECE.min((bytes.len() as u64).next_power_of_two().max(4));
        let mut free = self.idle(bytes.len().div_ceil(PIECE as usize), piece_bytes)?;
        let mut in_flight = Vec::new();
        for (i, piece) in bytes.chunks(PIECE as usize).enumerate() {
            if in_flight.len() == PIECES {
                // The first wait is for all that is submitted, so that the others are short.
                for source in in_flight.drain(..) {
                    let mapped = self.waiting.answer(device, |answer| {
                        self.map(&source, answer);
                    });
                    mapped.await?.map_err(|error| lost(&error))?;
                    free.push(source);
                }
            }
            let source = match free.pop() {
                Some(source) => source,
                None => scoped(device, piece_bytes, || staging(device, piece_bytes))?,
            };
            fill(device, &source, piece)?;
            let size = (piece.len() as u64).next_multiple_of(4);
            let to = from + i as u64 * PIECE;
            self.record(|encoder| {
                encoder.copy_buffer_to_buffer(&source, 0, buffer, to, size);
            })?;
            in_flight.push(source);
            if bytes.len() > ALONE {
                self.submit()?;
            }
        }
        for unused in free {
            scoped(device, 0, || unused.unmap())?;
            in_flight.push(unused);
        }
        self.sources.append(&mut in_flight);
        if self.recorded.is_none() {
            self.submit()?;
        }
        Ok(())
    }

    /// Takes at most `count` staging buffers of at least `bytes` bytes that are not in use, and
    /// maps them. Does not wait: the device may be busy with other work of the program.
    fn idle(&self, count: usize, bytes: u64) -> Result<Vec<wgpu::Buffer>, Error> {
        let taken = {
            let mut pooled = lock(&self.staging.uploads);
            pooled.retain(|buffer| buffer.size() >= bytes);
            let kept = pooled.len().saturating_sub(count);
            pooled.split_off(kept)
        };
        if taken.is_empty() {
            return Ok(taken);
        }
        let mapped = Arc::new(Mutex::new(vec![false; taken.len()]));
        for (i, buffer) in taken.iter().enumerate() {
            let mapped = mapped.clone();
            let answer = move |answer: Result<(), _>| lock(&mapped)[i] = answer.is_ok();
            self.map(buffer, Box::new(answer));
        }
        poll_once(self.device)?;
        let mapped = lock(&mapped).clone();
        // A buffer that is still in use is dropped, and a new one made.
        let idle = taken.into_iter().zip(mapped).filter(|&(_, mapped)| mapped);
        Ok(idle.map(|(buffer, _)| buffer).collect())
    }

    fn map(
        &self,
        buffer: &wgpu::Buffer,
        answer: Box<dyn FnOnce(Result<(), wgpu::BufferAsyncError>) + Send>,
    ) {
        // If the device is lost by now, wgpu reports it here and in the answer.
        drop(scoped(self.device, 0, || {
            buffer.map_async(wgpu::MapMode::Write, .., answer);
        }));
    }

    /// Reads `buffer` at a byte offset into `bytes`. On an error `bytes` is unchanged.
    pub(crate) async fn download(
        &mut self,
        (buffer, from): (&wgpu::Buffer, u64),
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        if bytes.len() as u64 <= BLOCK || is_readable((buffer, from)) {
            return self.download_at_once((buffer, from), bytes).await;
        }
        // If the device were lost between two blocks, the user's slice would be half overwritten.
        // To pin a staging buffer of this length takes a second for each GiB.
        let mut whole = std::mem::take(&mut *lock(&self.staging.whole));
        if whole.len() < bytes.len() {
            whole = zeroed(bytes.len())?;
        }
        let read = &mut whole[..bytes.len()];
        self.download_in_blocks((buffer, from), read).await?;
        copy(read, bytes);
        let mut pooled = lock(&self.staging.whole);
        if pooled.len() < whole.len() {
            *pooled = whole;
        }
        Ok(())
    }

    /// Reads `buffer` at a byte offset into `bytes`. On an error `bytes` is partly overwritten.
    pub(crate) async fn download_in_blocks(
        &mut self,
        (buffer, from): (&wgpu::Buffer, u64),
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        let size = bytes.len() as u64;
        if size <= BLOCK || is_readable((buffer, from)) {
            return self.download_at_once((buffer, from), bytes).await;
        }
        let mut rest = bytes;
        self.download_blocks((buffer, from), size, &mut |block| {
            let (to, after) = std::mem::take(&mut rest).split_at_mut(block.len());
            copy(block, to);
            rest = after;
            Ok(())
        })
        .await
    }

    /// Reads at most [`BLOCK`] bytes, or any number of a buffer that can be mapped.
    async fn download_at_once(
        &mut self,
        (buffer, from): (&wgpu::Buffer, u64),
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        if is_readable((buffer, from)) {
            self.submit()?;
            return read_into(self.device, buffer, bytes, self.waiting).await;
        }
        self.read_at_once((buffer, from), bytes.len() as u64, |view| {
            copy(view, bytes);
        })
        .await
    }

    /// Passes at most [`BLOCK`] bytes of `buffer`, from a byte offset on, to `take`.
    async fn read_at_once<R>(
        &mut self,
        (buffer, from): (&wgpu::Buffer, u64),
        size: u64,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, Error> {
        // Copies are in whole words.
        let whole_words = size.next_multiple_of(4);
        let pooled = lock(&self.staging.download).take();
        let staging = match pooled.filter(|pooled| pooled.size() >= whole_words) {
            Some(pooled) => pooled,
            None => scoped(self.device, whole_words, || {
                staging_to_read(self.device, whole_words)
            })?,
        };
        self.record(|encoder| {
            encoder.copy_buffer_to_buffer(buffer, from, &staging, 0, whole_words);
        })?;
        self.submit()?;
        let taken = read_mapped(self.device, &staging, size, self.waiting, take).await?;
        let mut pooled = lock(&self.staging.download);
        if pooled
            .as_ref()
            .is_none_or(|pooled| pooled.size() < whole_words)
        {
            *pooled = Some(staging);
        }
        Ok(taken)
    }

    /// Passes `size` bytes of `buffer`, from a byte offset on and in order, to `take`, in blocks of
    /// [`BLOCK`] bytes. An error of `take` ends the download.
    ///
    /// While one block is taken, the next ones are copied to staging buffers.
    pub(crate) async fn download_blocks<E: From<Error>>(
        &mut self,
        (buffer, begin): (&wgpu::Buffer, u64),
        size: u64,
        take: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if is_readable((buffer, begin)) {
            self.submit()?;
            let take = |view: &[u8]| view.chunks(BLOCK as usize).try_for_each(take);
            return read_mapped(self.device, buffer, size, self.waiting, take).await?;
        }
        if size <= BLOCK {
            return self.read_at_once((buffer, begin), size, take).await?;
        }
        let mut free = std::mem::take(&mut *lock(&self.staging.blocks));
        let mut pieces = (0..size).step_by(BLOCK as usize);
        let mut in_flight = VecDeque::new();
        loop {
            while in_flight.len() < PIECES {
                let Some(from) = pieces.next() else { break };
                let to = match free.pop() {
                    Some(to) => to,
                    None => scoped(self.device, BLOCK, || staging_to_read(self.device, BLOCK))?,
                };
                let bytes = BLOCK.min(size - from);
                self.record(|encoder| {
                    let whole_words = bytes.next_multiple_of(4);
                    encoder.copy_buffer_to_buffer(buffer, begin + from, &to, 0, whole_words);
                })?;
                self.submit()?;
                in_flight.push_back((to, bytes));
            }
            let Some((piece, bytes)) = in_flight.pop_front() else {
                break;
            };
            let read = read_mapped(self.device, &piece, bytes, self.waiting, |view| take(view));
            read.await??;
            free.push(piece);
        }
        *lock(&self.staging.blocks) = free;
        Ok(())
    }
}

/// Whether the host can read a buffer, from this byte on, without a copy to another one.
fn is_readable((buffer, from): (&wgpu::Buffer, u64)) -> bool {
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::STORAGE;
    from == 0 && buffer.usage().contains(usage)
}

/// Items in blocks of the size in which downloads are passed on.
pub(crate) fn blocks<T>(items: &[T]) -> std::slice::Chunks<'_, T> {
    items.chunks(BLOCK as usize / size_of::<T>())
}

/// Memory that the operating system zeroes when the threads that copy first touch it.
pub(crate) fn zeroed<T: bytemuck::Zeroable>(len: usize) -> Result<Vec<T>, Error> {
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| Error::OutOfHostMemory {
        bytes: (len as u64).saturating_mul(size_of::<T>() as u64),
        message: "not allocated".to_owned(),
    })
}

/// Writes to the beginning of a mapped buffer, and zeros to the rest of the last word, and unmaps
/// it.
pub(crate) fn fill(
    device: &wgpu::Device,
    buffer: &wgpu::Buffer,
    bytes: &[u8],
) -> Result<(), Error> {
    let part_bytes = part(bytes.len());
    let parts: Vec<_> = bytes.chunks(part_bytes).enumerate().collect();
    for_each_at_once(&parts, |&(i, part)| {
        let begin = (i * part_bytes) as u64;
        let end = begin + (part.len() as u64).next_multiple_of(4);
        let mut view = buffer
            .get_mapped_range_mut(begin..end)
            .map_err(|error| not_mapped(device, &error))?;
        view.slice(..part.len()).copy_from_slice(part);
        view.slice(part.len()..).fill(0);
        Ok::<_, Error>(())
    })?;
    // If the device is lost by now, wgpu may have destroyed the buffer and report an error.
    scoped(device, 0, || buffer.unmap())
}

/// Creates a mapped staging buffer for an upload.
pub(crate) fn staging(device: &wgpu::Device, size: u64) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("bcfsort.staging"),
        size,
        usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: true,
    })
}

/// Copies the first bytes of a staging buffer, which it maps, to `bytes`.
pub(crate) async fn read_into(
    device: &wgpu::Device,
    staging: &wgpu::Buffer,
    bytes: &mut [u8],
    waiting: Waiting,
) -> Result<(), Error> {
    let len = bytes.len() as u64;
    read_mapped(device, staging, len, waiting, |view| {
        copy(view, bytes);
    })
    .await
}

/// Creates a staging buffer for a download.
fn staging_to_read(device: &wgpu::Device, size: u64) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("bcfsort.staging"),
        size,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

/// Bytes of each part of a copy of this many.
const fn part(bytes: usize) -> usize {
    if bytes <= ALONE { ALONE } else { PART }
}

/// Copies items on all cores.
pub(crate) fn copy<T: bytemuck::Pod + Send + Sync>(from: &[T], to: &mut [T]) {
    let part = part(size_of_val(from)) / size_of::<T>();
    let parts: Vec<_> = (to.chunks_mut(part).zip(from.chunks(part)))
        .map(Mutex::new)
        .collect();
    let Ok(()) = for_each_at_once(&parts, |part| {
        let (to, from) = &mut *lock(part);
        to.copy_from_slice(from);
        Ok::<_, Infallible>(())
    });
}

/// Maps a staging buffer, waits, calls `read` with its first `bytes` bytes, and unmaps it.
async fn read_mapped<R>(
    device: &wgpu::Device,
    staging: &wgpu::Buffer,
    bytes: u64,
    waiting: Waiting,
    read: impl FnOnce(&[u8]) -> R,
) -> Result<R, Error> {
    let range = ..bytes.next_multiple_of(4);
    // Every wait succeeds on a lost device, so check the result of the mapping.
    waiting
        .answer(device, |answer| {
            // If the device is lost by now, wgpu reports it here and in the answer.
            drop(scoped(device, 0, || {
                staging.map_async(wgpu::MapMode::Read, range, answer);
            }));
        })
        .await?
        .map_err(|error| lost(&error))?;
    let result = {
        let view = staging
            .get_mapped_range(range)
            .map_err(|error| not_mapped(device, &error))?;
        read(&view[..bytes as usize])
    };
    // All bytes are read. If the device is lost by now, the next call reports it.
    drop(scoped(device, 0, || staging.unmap()));
    Ok(result)
}

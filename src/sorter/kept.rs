//! What the sort of a host slice leaves to the next one: its buffers, and all that was prepared.

use super::{Keys, PreparedSort, SortJob, Sorter};
use crate::at_once::lock;
use crate::error::Error;
use crate::gpu::calls::{host_buffer, keep_host_buffer};
use crate::gpu::prepared::BufferSet;
use crate::key::KeyType;
use crate::order::Order;
use std::sync::Mutex;

/// Kept by a sorter.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The last sort: to prepare it again takes longer than to sort a short slice.
    sort: Mutex<Option<SliceSort>>,
    /// Of sorts of other slices: their scratch memory, keys and indices.
    scratch: Mutex<BufferSet>,
    keys: Mutex<Option<wgpu::Buffer>>,
    indices: Mutex<Option<wgpu::Buffer>>,
}

/// A sort of a slice, prepared.
#[derive(Debug)]
pub(super) struct SliceSort {
    slice: Slice,
    pub(super) keys: wgpu::Buffer,
    /// The indices that sort the keys, if they are asked for.
    indices: Option<wgpu::Buffer>,
    pub(super) sort: PreparedSort,
}

impl SliceSort {
    /// The buffer of what is asked for, and its size in bytes.
    pub(super) fn result(&self) -> (&wgpu::Buffer, u64) {
        let Slice { len, key, .. } = self.slice;
        match &self.indices {
            Some(indices) => (indices, len * 4),
            None => (&self.keys, len * key.bytes()),
        }
    }
}

/// What a sort of a slice is prepared for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) len: u64,
    pub(super) key: KeyType,
    pub(super) order: Order,
    pub(super) asked: Asked,
}

/// The result of a sort of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Keys,
    /// The indices that sort the keys.
    Indices,
}

impl Sorter {
    /// The sort of a slice: the last one, if it was of the same kind and is not in use.
    pub(super) fn slice_sort(&self, slice: Slice) -> Result<SliceSort, Error> {
        if let Some(last) = lock(&self.kept.sort).take() {
            if last.slice == slice {
                return Ok(last);
            }
            self.take_apart(last);
        }
        let keys = self.key_buffer(slice.len * slice.key.bytes())?;
        let indices = match slice.asked {
            Asked::Keys => None,
            Asked::Indices => Some(host_buffer(
                &self.device,
                "bcfsort.indices",
                slice.len * 4,
                &self.kept.indices,
            )?),
        };
        let job = SortJob::new(Keys::new(&keys, slice.key), slice.len).order(slice.order);
        let job = match &indices {
            Some(indices) => job.indices(indices),
            None => job,
        };
        let sort = self.prepare_pooled(&job)?;
        Ok(SliceSort {
            slice,
            keys,
            indices,
            sort,
        })
    }

    /// Keeps a sort for the next slice. That is safe at once, since the queue runs submissions in
    /// order.
    pub(super) fn keep(&self, sort: SliceSort) {
        if let Some(before) = lock(&self.kept.sort).replace(sort) {
            self.take_apart(before);
        }
    }

    fn take_apart(&self, sort: SliceSort) {
        self.keep_scratch(sort.sort);
        self.keep_key_buffer(sort.keys);
        if let Some(indices) = sort.indices {
            keep_host_buffer(&self.kept.indices, indices);
        }
    }

    /// A buffer for keys or rows of a slice.
    pub(super) fn key_buffer(&self, bytes: u64) -> Result<wgpu::Buffer, Error> {
        if let Some(last) = lock(&self.kept.sort).take() {
            self.take_apart(last);
        }
        host_buffer(&self.device, "bcfsort.keys", bytes, &self.kept.keys)
    }

    pub(super) fn keep_key_buffer(&self, buffer: wgpu::Buffer) {
        keep_host_buffer(&self.kept.keys, buffer);
    }

    /// Prepares a sort with the scratch memory of an earlier slice.
    pub(super) fn prepare_pooled(&self, job: &SortJob<'_>) -> Result<PreparedSort, Error> {
        let scratch = std::mem::take(&mut *lock(&self.kept.scratch));
        self.prepare_with(&job.job, scratch)
    }

    /// Keeps the scratch memory of a sort for the next slice.
    pub(super) fn keep_scratch(&self, sort: PreparedSort) {
        *lock(&self.kept.scratch) = sort.0.buffers;
    }
}

//! Sorts of codes on GPUs.

use crate::cpu::widen;
use crate::errors::Failure;
use pyo3::prelude::*;
use rayon::prelude::*;
use std::ops::Range;
use wgpu_bcfsort::{Error, Keys, MultiSorter, Order, SortJob, SortKey, Sorter, TopKJob, wgpu};

/// The most codes of rows that are sorted at once. Between two sorts, Ctrl-C is checked.
const AT_ONCE: u64 = 1 << 27;

/// Rows of at least this many codes are sorted one after another, since a sort of all rows at once
/// also moves the row numbers.
const LONG_ROW: usize = 1 << 20;

/// The limits of [`TopKJob`]: the greatest k, and the longest row.
const MOST_OF_A_ROW: usize = 1024;
const LONGEST_ROW: usize = 1 << 20;

/// The shortest row for [`TopKJob`]. It has a workgroup of 256 lanes for each row: shorter rows
/// leave most of the lanes idle, and a single row leaves all other workgroups idle.
const SHORTEST_ROW: usize = 32;

/// How rows are sorted.
#[derive(Clone, Copy, PartialEq)]
enum ByRows {
    /// One row after another.
    Each,
    /// All rows by one segmented sort. With the numbers of its row and column, a code takes up to
    /// four words.
    All,
    /// Each row by a workgroup, which finds its first codes (batched top-k).
    Top,
}

impl ByRows {
    /// The number of codes, in whole rows, that are sorted at once.
    fn part<C: SortKey>(self, sorter: &Sorter, columns: usize) -> usize {
        let words = if self == Self::All { 4 } else { 1 };
        let max = (sorter.max_len(C::KEY_TYPE) / words).min(AT_ONCE) as usize;
        columns
            * if self == Self::Each {
                1
            } else {
                (max / columns).max(1)
            }
    }
}

/// Sorts each row of `columns` codes, in place.
pub(crate) fn sort_rows<C: SortKey>(
    gpus: &MultiSorter,
    codes: &mut [C],
    columns: usize,
) -> Result<(), Failure> {
    let sorter = first(gpus);
    let by = if columns >= LONG_ROW || codes.len() == columns {
        ByRows::Each
    } else {
        ByRows::All
    };
    for rows in codes.chunks_mut(by.part::<C>(sorter, columns)) {
        match by {
            ByRows::Each => gpus.sort(rows, Order::Ascending)?,
            ByRows::All | ByRows::Top => {
                let keys = sorter.upload(rows)?;
                let offsets = offsets(sorter, rows.len(), columns)?;
                let keys_of = Keys::new(&keys, C::KEY_TYPE);
                let len = rows.len() as u64;
                let job = SortJob::segmented(keys_of, len, &offsets.0, offsets.1);
                job.prepare(sorter)?.run()?;
                rows.copy_from_slice(&sorter.download(&keys)?);
            }
        }
        see_interrupts()?;
    }
    Ok(())
}

/// Writes the indices that sort keys, stably, as they come from the device.
pub(crate) fn argsort<T: SortKey>(
    gpus: &MultiSorter,
    keys: &[T],
    order: Order,
    mut indices: &mut [i64],
) -> Result<(), Error> {
    gpus.argsort_to(keys, order, |block| {
        let (first, rest) = std::mem::take(&mut indices).split_at_mut(block.len());
        widen(block, first);
        indices = rest;
        Ok(())
    })
}

/// Writes the indices within each row of `columns` codes that sort it, stably: the first `k`.
pub(crate) fn argsort_rows<C: SortKey>(
    gpus: &MultiSorter,
    codes: &[C],
    columns: usize,
    k: usize,
    indices: &mut [i64],
) -> Result<(), Failure> {
    let sorter = first(gpus);
    let is_small = k < columns && k <= MOST_OF_A_ROW;
    let by = if codes.len() == columns {
        ByRows::Each
    } else if is_small && (SHORTEST_ROW..=LONGEST_ROW).contains(&columns) {
        ByRows::Top
    } else if columns >= LONG_ROW {
        ByRows::Each
    } else {
        ByRows::All
    };
    let part = by.part::<C>(sorter, columns);
    for (codes, indices) in (codes.chunks(part)).zip(indices.chunks_mut(part / columns * k)) {
        match by {
            ByRows::Each if k == columns => argsort(gpus, codes, Order::Ascending, indices)?,
            ByRows::Each => select_indices(gpus, codes, 0..k, indices)?,
            ByRows::All => {
                let keys = sorter.upload(codes)?;
                let offsets = offsets(sorter, codes.len(), columns)?;
                let keys_of = Keys::new(&keys, C::KEY_TYPE);
                let len = codes.len() as u64;
                let order = buffer(sorter, len * 4)?;
                let job = SortJob::segmented(keys_of, len, &offsets.0, offsets.1);
                job.indices(&order).prepare(sorter)?.run()?;
                let order: Vec<u32> = sorter.download(&order)?;
                let rows = order.par_chunks(columns).zip(indices.par_chunks_mut(k));
                rows.for_each(|(order, to)| columns_of(order, columns, to));
            }
            ByRows::Top => {
                let keys = sorter.upload(codes)?;
                let first = buffer(sorter, indices.len() as u64 * 4)?;
                let rows = (codes.len() / columns) as u32;
                let keys_of = Keys::new(&keys, C::KEY_TYPE);
                let job = TopKJob::of_rows(keys_of, rows, columns as u32, k as u32);
                job.indices(&first).prepare(sorter)?.run()?;
                let first: Vec<u32> = sorter.download(&first)?;
                let rows = first.par_chunks(k).zip(indices.par_chunks_mut(k));
                rows.for_each(|(first, to)| columns_of(first, columns, to));
            }
        }
        see_interrupts()?;
    }
    Ok(())
}

/// Reorders codes so that those of some ranks are in their sorted positions, smaller ones before
/// and greater ones after them.
pub(crate) fn select<C: SortKey>(
    gpus: &MultiSorter,
    codes: &mut [C],
    ranks: Range<usize>,
) -> Result<(), Failure> {
    let (sorter, len) = (first(gpus), codes.len() as u64);
    if ranks.is_empty() {
        return Ok(());
    }
    if len > sorter.max_len(C::KEY_TYPE) {
        // Too many codes for one job: all are sorted, in chunks.
        return Ok(gpus.sort(codes, Order::Ascending)?);
    }
    let keys = sorter.upload(codes)?;
    let job = SortJob::new(Keys::new(&keys, C::KEY_TYPE), len);
    let ranks = ranks.start as u64..ranks.end as u64;
    job.range(ranks).prepare(sorter)?.run()?;
    codes.copy_from_slice(&sorter.download(&keys)?);
    Ok(())
}

/// Writes the indices of a `select`: all of them, or those of the ranks, by the length of
/// `indices`.
pub(crate) fn select_indices<C: SortKey>(
    gpus: &MultiSorter,
    codes: &[C],
    ranks: Range<usize>,
    indices: &mut [i64],
) -> Result<(), Failure> {
    let (sorter, len) = (first(gpus), codes.len() as u64);
    let wanted = if indices.len() == codes.len() {
        0..codes.len()
    } else {
        ranks.clone()
    };
    if ranks.is_empty() {
        // Any order will do.
        (0..).zip(indices).for_each(|(i, to)| *to = i);
        return Ok(());
    }
    if len > sorter.max_len(C::KEY_TYPE) {
        widen(&gpus.argsort(codes, Order::Ascending)?[wanted], indices);
        return Ok(());
    }
    let keys = sorter.upload(codes)?;
    let order = buffer(sorter, len * 4)?;
    let job = SortJob::argsort(Keys::new(&keys, C::KEY_TYPE), &order, len);
    let ranks = ranks.start as u64..ranks.end as u64;
    job.range(ranks).prepare(sorter)?.run()?;
    let bytes = wanted.start as u64 * 4..wanted.end as u64 * 4;
    let order: Vec<u32> = sorter.download(order.slice(bytes))?;
    widen(&order, indices);
    Ok(())
}

/// The best GPU, for work that a single GPU does.
fn first(gpus: &MultiSorter) -> &Sorter {
    &gpus.sorters()[0]
}

/// The starts of rows, on the device, and their number.
fn offsets(sorter: &Sorter, len: usize, columns: usize) -> Result<(wgpu::Buffer, u32), Error> {
    let starts: Vec<u32> = (0..len).step_by(columns).map(|row| row as u32).collect();
    Ok((sorter.upload(&starts)?, starts.len() as u32))
}

/// An error if Ctrl-C was pressed.
fn see_interrupts() -> Result<(), Failure> {
    Python::attach(|py| py.check_signals()).map_err(Failure::Python)
}

fn buffer(sorter: &Sorter, bytes: u64) -> Result<wgpu::Buffer, Error> {
    // Not filled: an upload of zeros would take as long as that of the keys.
    let device = sorter.device();
    let scope = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("bcfsort.indices"),
        size: bytes,
        usage: wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_SRC
            | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    match pollster::block_on(scope.pop()) {
        Some(error) => Err(Error::OutOfMemory {
            bytes,
            message: error.to_string(),
        }),
        None => Ok(buffer),
    }
}

/// Converts the numbers of records in an array of rows to the numbers of their columns.
fn columns_of(records: &[u32], columns: usize, to: &mut [i64]) {
    for (to, &record) in to.iter_mut().zip(records) {
        *to = (record % columns as u32).into();
    }
}

//! Sorters on a device.

use crate::arrays::{Integer, decode_all, same_length, with_word};
use crate::codes::{self, Word};
use crate::errors::{exception, named};
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;
use wgpu_bcfsort::{Error, Keys, Options, Order, SortJob, SortKey, Sorter, TopKJob};
use wgpu_bcfsort::{adapters, wgpu};

/// The adapters that can sort, best first: (name, backend, driver, whether it is software).
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> Vec<(String, String, String, bool)> {
    let describe = |adapter: &wgpu::Adapter| {
        let info = adapter.get_info();
        let driver = format!("{} {}", info.driver, info.driver_info);
        let is_software = info.device_type == wgpu::DeviceType::Cpu;
        let backend = info.backend.to_string();
        (info.name, backend, driver.trim().to_owned(), is_software)
    };
    py.detach(|| adapters().iter().map(describe).collect())
}

/// A device that is open for sorts of codes.
#[pyclass(name = "Sorter", module = "bcfsort._native", frozen)]
pub(crate) struct PySorter {
    sorter: Sorter,
    /// Vulkan's and Metal's state does not survive a fork.
    process: u32,
}

#[pymethods]
impl PySorter {
    /// Opens the adapter with this index in `devices()`.
    #[new]
    fn new(py: Python<'_>, index: usize) -> PyResult<Self> {
        let sorter = py.detach(|| {
            let adapters = adapters();
            let adapter = adapters.get(index).ok_or(Error::NoAdapter)?;
            Sorter::open(Options::default().adapter(adapter))
        });
        Ok(Self {
            sorter: sorter.map_err(|error| exception(py, &error))?,
            process: std::process::id(),
        })
    }

    /// Sorts codes, and writes the words that they stand for to `out`. The codes are lost.
    fn sort(
        &self,
        py: Python<'_>,
        codes: &Bound<'_, PyAny>,
        out: &Bound<'_, PyAny>,
        order: codes::Order,
    ) -> PyResult<()> {
        fn run<W: Word, C: Integer + SortKey>(
            sorter: &PySorter,
            py: Python<'_>,
            codes: &mut PyReadwriteArray1<'_, C>,
            out: &mut PyReadwriteArray1<'_, W>,
            order: codes::Order,
        ) -> PyResult<()> {
            let (codes, mut rest) = (codes.as_slice_mut()?, out.as_slice_mut()?);
            same_length(codes.len(), rest.len())?;
            let mapping = W::codes(order, false);
            sorter.work(py, |sorter| {
                sorter.sort_to(codes, Order::Ascending, |block: &[C]| {
                    let (to, after) = std::mem::take(&mut rest).split_at_mut(block.len());
                    decode_all(block, to, &mapping);
                    rest = after;
                    Ok::<_, Error>(())
                })
            })
        }
        with_word!(out, W => with_word!(codes, C => {
            run::<W, C>(self, py, &mut codes.extract()?, &mut out.extract()?, order)
        }; u32, u64); u8, u16, u32, u64)
    }

    /// Writes the indices that sort the codes, stably.
    fn argsort(
        &self,
        py: Python<'_>,
        codes: &Bound<'_, PyAny>,
        mut out: PyReadwriteArray1<'_, i64>,
    ) -> PyResult<()> {
        let out = out.as_slice_mut()?;
        with_word!(codes, C => {
            let codes: PyReadonlyArray1<'_, C> = codes.extract()?;
            let codes = codes.as_slice()?;
            same_length(codes.len(), out.len())?;
            self.work(py, |sorter| {
                widen(&sorter.argsort(codes, Order::Ascending)?, out);
                Ok(())
            })
        }; u32, u64)
    }

    /// Sorts each row of `columns` codes, in place, or writes the indices within the rows that sort
    /// them.
    fn sort_rows(
        &self,
        py: Python<'_>,
        codes: &Bound<'_, PyAny>,
        columns: usize,
        indices: Option<PyReadwriteArray1<'_, i64>>,
    ) -> PyResult<()> {
        let mut indices = indices;
        let mut indices = indices.as_mut().map(|out| out.as_slice_mut()).transpose()?;
        with_word!(codes, C => {
            let mut codes: PyReadwriteArray1<'_, C> = codes.extract()?;
            let codes = codes.as_slice_mut()?;
            if let Some(indices) = &indices {
                same_length(codes.len(), indices.len())?;
            }
            whole_rows(codes.len(), columns)?;
            // With the numbers of rows, and those of the columns, a code takes up to four words.
            let max = (self.sorter.max_len(C::KEY_TYPE) / 4).min(AT_ONCE);
            let rows = (max as usize / columns).max(1);
            for (i, codes) in codes.chunks_mut(rows * columns).enumerate() {
                let begin = i * rows * columns;
                let end = begin + codes.len();
                let indices = indices.as_deref_mut().map(|all| &mut all[begin..end]);
                self.work(py, |sorter| sort_rows(sorter, codes, columns, indices))?;
            }
            Ok(())
        }; u32, u64)
    }

    /// Writes the indices, within each row of `columns` codes, of its `k` smallest ones in order:
    /// rows of `k`. Of equal codes, those with the smallest indices.
    fn top_rows(
        &self,
        py: Python<'_>,
        codes: &Bound<'_, PyAny>,
        columns: usize,
        k: usize,
        mut indices: PyReadwriteArray1<'_, i64>,
    ) -> PyResult<()> {
        let indices = indices.as_slice_mut()?;
        with_word!(codes, C => {
            let mut codes: PyReadwriteArray1<'_, C> = codes.extract()?;
            let codes = codes.as_slice_mut()?;
            whole_rows(codes.len(), columns)?;
            if k > columns {
                return Err(PyValueError::new_err("the rows have fewer codes"));
            }
            same_length(codes.len() / columns * k, indices.len())?;
            if k == 0 {
                return Ok(());
            }
            let sorts = columns <= LONGEST_ROW && !by_workgroups(columns, k);
            // A sort of all rows needs more memory than what it reads: see `sort_rows`.
            let words = if sorts { 4 } else { 1 };
            let max = (self.sorter.max_len(C::KEY_TYPE) / words).min(AT_ONCE);
            let rows = (max as usize / columns).max(1);
            let parts = codes.chunks_mut(rows * columns);
            for (codes, indices) in parts.zip(indices.chunks_mut(rows * k)) {
                self.work(py, |sorter| top_rows(sorter, codes, columns, k, indices))?;
            }
            Ok(())
        }; u32, u64)
    }

    /// Reorders the codes so that those of the ranks `begin..end` are in their sorted positions,
    /// smaller ones before and greater ones after them. With `indices`, which has the length of the
    /// codes or of the range, it gets the indices of the codes in this order instead.
    fn select(
        &self,
        py: Python<'_>,
        codes: &Bound<'_, PyAny>,
        begin: u64,
        end: u64,
        indices: Option<PyReadwriteArray1<'_, i64>>,
    ) -> PyResult<()> {
        let mut indices = indices;
        let indices = indices.as_mut().map(|out| out.as_slice_mut()).transpose()?;
        with_word!(codes, C => {
            let mut codes: PyReadwriteArray1<'_, C> = codes.extract()?;
            let codes = codes.as_slice_mut()?;
            if begin > end || end > codes.len() as u64 {
                return Err(PyValueError::new_err("the ranks are out of range"));
            }
            self.work(py, |sorter| select(sorter, codes, begin..end, indices))
        }; u32, u64)
    }
}

impl PySorter {
    fn work(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Sorter) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        let done = self.detached(py, work)?;
        done.map_err(|error| exception(py, &error))
    }

    /// Works without the GIL, and then sees whether Ctrl-C was pressed.
    pub(crate) fn detached<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Sorter) -> R + Send,
    ) -> PyResult<R> {
        if std::process::id() != self.process {
            let message = "the GPU was opened before this process was forked: start processes by \
                           the method 'spawn' or 'forkserver'";
            return Err(named(py, "Error", message.to_owned()));
        }
        let done = py.detach(|| work(&self.sorter));
        py.check_signals()?;
        Ok(done)
    }
}

fn whole_rows(codes: usize, columns: usize) -> PyResult<()> {
    if columns == 0 || !codes.is_multiple_of(columns) {
        return Err(PyValueError::new_err("the rows are of different lengths"));
    }
    Ok(())
}

/// Codes of rows that are sorted at once, at most: between two sorts Ctrl-C is seen.
const AT_ONCE: u64 = 1 << 27;

/// Rows of at least this many codes are sorted one after another: a sort of all rows at once also
/// moves the numbers of the rows.
const LONG_ROW: usize = 1 << 20;

fn sort_rows<C: SortKey>(
    sorter: &Sorter,
    codes: &mut [C],
    columns: usize,
    indices: Option<&mut [i64]>,
) -> Result<(), Error> {
    if columns >= LONG_ROW || codes.len() == columns {
        if let Some(indices) = indices {
            for (codes, indices) in codes.chunks(columns).zip(indices.chunks_mut(columns)) {
                widen(&sorter.argsort(codes, Order::Ascending)?, indices);
            }
            return Ok(());
        }
        let mut rows = codes.chunks_mut(columns);
        return rows.try_for_each(|row| sorter.sort(row, Order::Ascending));
    }
    let len = codes.len() as u64;
    let offsets: Vec<u32> = (0..codes.len())
        .step_by(columns)
        .map(|row| row as u32)
        .collect();
    let keys = sorter.upload(codes)?;
    let offsets = (sorter.upload(&offsets)?, offsets.len() as u32);
    let job = SortJob::segmented(Keys::new(&keys, C::KEY_TYPE), len, &offsets.0, offsets.1);
    let Some(indices) = indices else {
        sorter.prepare(&job)?.run()?;
        codes.copy_from_slice(&sorter.download(&keys)?);
        return Ok(());
    };
    let ranks = buffer(sorter, len * 4)?;
    sorter.prepare(&job.indices(&ranks))?.run()?;
    let ranks: Vec<u32> = sorter.download(&ranks)?;
    columns_of(&ranks, columns as u32, indices);
    Ok(())
}

/// What [`TopKJob`] takes: k, and the codes of a row.
const MOST_OF_A_ROW: usize = 1024;
const LONGEST_ROW: usize = 1 << 20;

/// It has a workgroup of 256 lanes for each row: shorter rows leave most of the lanes without work,
/// and a single row all other workgroups.
const SHORTEST_ROW: usize = 32;

/// Whether each row has a workgroup of its own.
fn by_workgroups(columns: usize, k: usize) -> bool {
    k <= MOST_OF_A_ROW && (SHORTEST_ROW..=LONGEST_ROW).contains(&columns)
}

fn top_rows<C: SortKey>(
    sorter: &Sorter,
    codes: &mut [C],
    columns: usize,
    k: usize,
    indices: &mut [i64],
) -> Result<(), Error> {
    if columns > LONGEST_ROW || codes.len() == columns {
        for (row, indices) in codes.chunks_mut(columns).zip(indices.chunks_mut(k)) {
            select(sorter, row, 0..k as u64, Some(indices))?;
        }
    } else if by_workgroups(columns, k) {
        let (rows, columns, k) = ((codes.len() / columns) as u32, columns as u32, k as u32);
        let keys = sorter.upload(codes)?;
        let first = buffer(sorter, indices.len() as u64 * 4)?;
        let job = TopKJob::of_rows(Keys::new(&keys, C::KEY_TYPE), rows, columns, k);
        job.indices(&first).prepare(sorter)?.run()?;
        let first: Vec<u32> = sorter.download(&first)?;
        columns_of(&first, columns, indices);
    } else {
        let mut all = vec![0; codes.len()];
        sort_rows(sorter, codes, columns, Some(&mut all))?;
        let rows = all.chunks(columns).zip(indices.chunks_mut(k));
        rows.for_each(|(row, first)| first.copy_from_slice(&row[..k]));
    }
    Ok(())
}

fn select<C: SortKey>(
    sorter: &Sorter,
    codes: &mut [C],
    ranks: std::ops::Range<u64>,
    indices: Option<&mut [i64]>,
) -> Result<(), Error> {
    let len = codes.len() as u64;
    if len > sorter.max_len(C::KEY_TYPE) {
        // More than the device takes at once are all sorted, in chunks.
        let Some(indices) = indices else {
            return sorter.sort(codes, Order::Ascending);
        };
        let sorted = sorter.argsort(codes, Order::Ascending)?;
        let begin = if indices.len() == codes.len() {
            0
        } else {
            ranks.start as usize
        };
        widen(&sorted[begin..][..indices.len()], indices);
        return Ok(());
    }
    if len == 0 || ranks.is_empty() {
        // Any order will do.
        let identity = |indices: &mut [i64]| (0..).zip(indices).for_each(|(i, to)| *to = i);
        indices.into_iter().for_each(identity);
        return Ok(());
    }
    let keys = sorter.upload(codes)?;
    let keys_of = Keys::new(&keys, C::KEY_TYPE);
    let Some(indices) = indices else {
        sorter
            .prepare(&SortJob::new(keys_of, len).range(ranks))?
            .run()?;
        codes.copy_from_slice(&sorter.download(&keys)?);
        return Ok(());
    };
    let order = buffer(sorter, len * 4)?;
    let job = SortJob::argsort(keys_of, &order, len).range(ranks.clone());
    sorter.prepare(&job)?.run()?;
    let wanted = if indices.len() == codes.len() {
        0..len
    } else {
        ranks
    };
    let order: Vec<u32> = sorter.download(order.slice(wanted.start * 4..wanted.end * 4))?;
    widen(&order, indices);
    Ok(())
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

/// Columns of the records of rows that have these indices among all of them.
fn columns_of(records: &[u32], columns: u32, to: &mut [i64]) {
    let pairs = to.par_iter_mut().with_min_len(1 << 14).zip(records);
    pairs.for_each(|(to, &index)| *to = (index % columns).into());
}

fn widen(from: &[u32], to: &mut [i64]) {
    (to.par_iter_mut().with_min_len(1 << 14).zip(from)).for_each(|(to, &from)| *to = from.into());
}

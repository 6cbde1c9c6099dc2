//! Sorts of Arrow tables.

use crate::device::PySorter;
use crate::errors::{exception, named};
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::{concat::concat, interleave::interleave, take::take};
use bcfsort_keys::{Argsort, Cpu, Error, Floats, SortColumn};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use pyo3_arrow::input::AnyRecordBatch;
use rayon::prelude::*;
use wgpu_bcfsort::{Order, Sorter};

/// Rows of a batch of the result: many enough to be fast, few enough for all cores to have work.
const BATCH: usize = 1 << 18;

/// A column to sort by: its name, whether it descends, and whether its nulls come last.
type By = (String, bool, bool);

/// Returns the indices that sort a table, stably. Without a sorter the CPU computes them.
#[pyfunction]
pub(crate) fn sort_indices<'py>(
    py: Python<'py>,
    table: AnyRecordBatch,
    by: Vec<By>,
    sorter: Option<&Bound<'_, PySorter>>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (batches, schema) = table.into_table()?.into_inner();
    let indices = order(py, &batches, &schema, &by, sorter)?;
    let wide: Vec<i64> = py.detach(|| indices.into_par_iter().map(i64::from).collect());
    Ok(wide.into_pyarray(py))
}

/// Returns the first `limit` rows of the sorted table.
#[pyfunction]
pub(crate) fn sort_table(
    py: Python<'_>,
    table: AnyRecordBatch,
    by: Vec<By>,
    limit: Option<usize>,
    sorter: Option<&Bound<'_, PySorter>>,
) -> PyResult<PyTable> {
    let (batches, schema) = table.into_table()?.into_inner();
    let mut indices = order(py, &batches, &schema, &by, sorter)?;
    indices.truncate(limit.unwrap_or(usize::MAX));
    let sorted = py.detach(|| gather(&batches, &schema, &indices));
    PyTable::try_new(sorted.map_err(|error| failed(py, &error))?, schema)
}

/// The indices that sort a table.
fn order(
    py: Python<'_>,
    batches: &[RecordBatch],
    schema: &SchemaRef,
    by: &[By],
    sorter: Option<&Bound<'_, PySorter>>,
) -> PyResult<Vec<u32>> {
    let mut columns = Vec::new();
    for (name, descending, nulls_last) in by {
        let Some((index, field)) = schema.column_with_name(name) else {
            let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
            let message = format!("no column {name:?}: there are {}", names.join(", "));
            return Err(PyKeyError::new_err(message));
        };
        if !bcfsort_keys::is_supported(field.data_type()) {
            let message = format!("column {name:?}: {} has no order here", field.data_type());
            return Err(PyTypeError::new_err(message));
        }
        columns.push((index, *descending, !*nulls_last));
    }
    let joined: Result<Vec<SortColumn>, ArrowError> = py.detach(|| {
        let join = |&(index, descending, nulls_first): &(usize, bool, bool)| {
            let chunks: Vec<&dyn Array> = (batches.iter())
                .map(|batch| batch.column(index).as_ref())
                .collect();
            let values = match *chunks {
                [] => arrow_array::new_empty_array(schema.field(index).data_type()),
                [_] => batches[0].column(index).clone(),
                _ => concat(&chunks)?,
            };
            Ok(SortColumn {
                values,
                descending,
                nulls_first,
            })
        };
        columns.par_iter().map(join).collect()
    });
    let columns = joined.map_err(|error| failed(py, &error))?;
    match sorter {
        None => {
            let sorted =
                py.detach(|| bcfsort_keys::sort_indices(&columns, Floats::NanGreatest, &Cpu));
            sorted.map_err(|error| named(py, "Error", error.to_string()))
        }
        Some(sorter) => {
            let sort = |sorter: &Sorter| {
                bcfsort_keys::sort_indices(&columns, Floats::NanGreatest, &Gpu(sorter))
            };
            sorter
                .get()
                .detached(py, sort)?
                .map_err(|error| match error {
                    Error::Argsort(error) => exception(py, &error),
                    error => named(py, "Error", error.to_string()),
                })
        }
    }
}

/// Sorts on a GPU.
struct Gpu<'a>(&'a Sorter);

impl Argsort for Gpu<'_> {
    type Error = wgpu_bcfsort::Error;

    fn argsort_u32(&self, keys: &[u32]) -> Result<Vec<u32>, Self::Error> {
        self.0.argsort(keys, Order::Ascending)
    }

    fn argsort_u64(&self, keys: &[u64]) -> Result<Vec<u32>, Self::Error> {
        self.0.argsort(keys, Order::Ascending)
    }
}

/// Gathers rows, in batches, on all cores.
fn gather(
    batches: &[RecordBatch],
    schema: &SchemaRef,
    indices: &[u32],
) -> Result<Vec<RecordBatch>, ArrowError> {
    // The first row of each batch, and the number of all.
    let mut starts = vec![0];
    for batch in batches {
        starts.push(starts[starts.len() - 1] + batch.num_rows());
    }
    let columns = schema.fields().len();
    let tasks = indices.len().div_ceil(BATCH) * columns;
    let task = |task: usize| {
        let (part, column) = (task / columns, task % columns);
        let rows = &indices[part * BATCH..indices.len().min((part + 1) * BATCH)];
        let chunks: Vec<&dyn Array> = (batches.iter())
            .map(|batch| batch.column(column).as_ref())
            .collect();
        if let [only] = *chunks {
            return take(only, &UInt32Array::from(rows.to_vec()), None);
        }
        let places: Vec<(usize, usize)> = (rows.iter())
            .map(|&row| {
                let row = row as usize;
                let chunk = starts.partition_point(|&start| start <= row) - 1;
                (chunk, row - starts[chunk])
            })
            .collect();
        interleave(&chunks, &places)
    };
    let gathered: Vec<ArrayRef> = (0..tasks)
        .into_par_iter()
        .map(task)
        .collect::<Result<_, _>>()?;
    (gathered.chunks(columns.max(1)))
        .map(|columns| RecordBatch::try_new(schema.clone(), columns.to_vec()))
        .collect()
}

fn failed(py: Python<'_>, error: &ArrowError) -> PyErr {
    named(py, "Error", error.to_string())
}

//! Sorts of Arrow tables.

use crate::engine::Engine;
use crate::errors::named;
use crate::model::Task;
use crate::process::detach;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, make_array, new_empty_array};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use bcfsort_auto::{Work, cpu};
use bcfsort_keys::{Argsort, Error, Floats, Rows, SortColumn, common_dictionary, join};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::{PyException, PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::PyField;
use pyo3_arrow::error::PyArrowError;
use pyo3_arrow::input::AnyRecordBatch;
use rayon::prelude::*;
use wgpu_bcfsort::{MultiSorter, Order, SortKey};

/// Rows of a batch of the result: many enough to be fast, few enough for all cores to have work.
const BATCH: usize = 1 << 18;

/// A column to sort by: its name, whether it descends, whether its nulls come last, and whether its
/// dictionary is declared to be in order, even if the schema does not say so.
type By = (String, bool, bool, bool);

/// A sorted table, which Python reads as a stream of Arrow.
///
/// (The table of `pyo3_arrow` would bring the casts and the formatting of all types of Arrow.)
#[pyclass(frozen, module = "bcfsort._native")]
pub(crate) struct Table {
    batches: Vec<RecordBatch>,
    schema: SchemaRef,
}

#[pymethods]
impl Table {
    /// The batches, always with their own schema: a consumer casts to another.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// Whether tables can be sorted by columns of a type of Arrow.
#[pyfunction]
pub(crate) fn has_order(data_type: PyField) -> bool {
    bcfsort_keys::is_supported(data_type.into_inner().data_type())
}

/// Returns the indices that sort a table, stably.
#[pyfunction]
pub(crate) fn sort_indices<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    by: Vec<By>,
    engine: &Bound<'_, Engine>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (batches, schema) = read(table)?;
    let indices = order(py, &batches, &schema, &by, engine)?;
    let wide: Vec<i64> = detach(py, || indices.into_par_iter().map(i64::from).collect());
    Ok(wide.into_pyarray(py))
}

/// Returns the first `limit` rows of the sorted table.
#[pyfunction]
pub(crate) fn sort_table(
    py: Python<'_>,
    table: &Bound<'_, PyAny>,
    by: Vec<By>,
    limit: Option<usize>,
    engine: &Bound<'_, Engine>,
) -> PyResult<Table> {
    let (batches, schema) = read(table)?;
    let mut indices = order(py, &batches, &schema, &by, engine)?;
    indices.truncate(limit.unwrap_or(usize::MAX));
    let sorted = detach(py, || {
        Rows::new(schema.clone(), &batches)?.gather(&indices, BATCH)
    });
    let batches = sorted.map_err(|error| failed(&error))?;
    Ok(Table { batches, schema })
}

/// The batches of a table.
fn read(table: &Bound<'_, PyAny>) -> PyResult<(Vec<RecordBatch>, SchemaRef)> {
    let batches = || {
        let reader = table.extract::<AnyRecordBatch>()?.into_reader()?;
        let schema = reader.schema();
        let batches: Result<Vec<RecordBatch>, ArrowError> = reader.collect();
        Ok((batches.map_err(PyArrowError::from)?, schema))
    };
    batches().map_err(|error: PyErr| {
        // If the import fails, the error is a plain `Exception`, which callers could not tell from
        // others.
        if error
            .get_type(table.py())
            .is(table.py().get_type::<PyException>())
        {
            let message = format!("the table cannot be read: {}", error.value(table.py()));
            return PyTypeError::new_err(message);
        }
        error
    })
}

/// The indices that sort a table.
fn order(
    py: Python<'_>,
    batches: &[RecordBatch],
    schema: &SchemaRef,
    by: &[By],
    engine: &Bound<'_, Engine>,
) -> PyResult<Vec<u32>> {
    let mut columns = Vec::new();
    for (name, descending, nulls_last, is_declared) in by {
        let has_name = |&index: &usize| schema.field(index).name() == name;
        let found: Vec<usize> = (0..schema.fields().len()).filter(has_name).collect();
        let index = match *found {
            [index] => index,
            [] => {
                let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
                let message = format!("no column {name:?}: there are {}", names.join(", "));
                return Err(PyKeyError::new_err(message));
            }
            [..] => {
                let message = format!("{} columns have the name {name:?}", found.len());
                return Err(PyValueError::new_err(message));
            }
        };
        let field = schema.field(index);
        let is_dictionary = matches!(field.data_type(), DataType::Dictionary(..));
        let is_ordered = is_dictionary && (*is_declared || field.dict_is_ordered() == Some(true));
        if !is_ordered && !bcfsort_keys::is_supported(field.data_type()) {
            let message = format!("column {name:?}: {} has no order here", field.data_type());
            return Err(PyTypeError::new_err(message));
        }
        let chunks = chunks(batches, index);
        if is_ordered && !chunks.is_empty() && common_dictionary(&chunks).is_none() {
            let message = format!(
                "column {name:?}: its chunks have ordered dictionaries of different values: give \
                 all chunks one dictionary"
            );
            return Err(PyValueError::new_err(message));
        }
        columns.push((index, *descending, !*nulls_last, is_ordered));
    }
    let joined: Result<Vec<SortColumn>, ArrowError> = detach(py, || {
        let join = |&(index, descending, nulls_first, is_ordered)| {
            let mut chunks: Vec<ArrayRef> = (batches.iter())
                .map(|batch| batch.column(index).clone())
                .collect();
            if is_ordered {
                // The keys of an ordered dictionary are ranks.
                chunks = chunks
                    .iter()
                    .map(|chunk| valid_keys(chunk))
                    .collect::<Result<_, _>>()?;
            }
            let values = match &*chunks {
                [] => new_empty_array(&DataType::Null),
                all => join(all)?,
            };
            Ok(SortColumn {
                values,
                descending,
                nulls_first,
            })
        };
        columns.par_iter().map(join).collect()
    });
    let columns = joined.map_err(|error| failed(&error))?;
    let argsort = On(engine.get());
    let sorted = detach(py, || {
        bcfsort_keys::sort_indices(&columns, Floats::NanGreatest, &argsort)
    });
    sorted.map_err(|error| match error {
        Error::Argsort(error) => error,
        error => named("Error", error.to_string()),
    })
}

/// Sorts on the device that an engine chooses for the keys.
struct On<'a>(&'a Engine);

impl On<'_> {
    fn argsort<C: SortKey>(&self, keys: &[C]) -> PyResult<Vec<u32>> {
        let task = Task::new::<C>(Work::Argsort, keys.len(), keys.len());
        let argsort = |gpus: &MultiSorter| Ok(gpus.argsort(keys, Order::Ascending)?);
        let sorted = self.0.on_gpu(&task, argsort)?;
        Ok(sorted.unwrap_or_else(|| cpu::argsort(keys, Order::Ascending)))
    }
}

impl Argsort for On<'_> {
    type Error = PyErr;

    fn argsort_u32(&self, keys: &[u32]) -> PyResult<Vec<u32>> {
        self.argsort(keys)
    }

    fn argsort_u64(&self, keys: &[u64]) -> PyResult<Vec<u32>> {
        self.argsort(keys)
    }

    fn is_on_gpu(&self, len: usize) -> bool {
        self.0.is_on_gpu(&Task::new::<u64>(Work::Argsort, len, len))
    }
}

/// The arrays of a column.
fn chunks(batches: &[RecordBatch], column: usize) -> Vec<&dyn Array> {
    (batches.iter())
        .map(|batch| batch.column(column).as_ref())
        .collect()
}

/// The keys of a dictionary array, null where the value is.
fn valid_keys(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let keys = array.as_any_dictionary().keys().to_data();
    let keys = keys.into_builder().nulls(array.logical_nulls());
    Ok(make_array(keys.build()?))
}

fn failed(error: &ArrowError) -> PyErr {
    named("Error", error.to_string())
}

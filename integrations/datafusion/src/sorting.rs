//! The sort of one partition.

use crate::gpu::{GpuPool, OnGpu, failed};
use crate::metrics::Metrics;
use crate::options::BcfsortOptions;
use crate::sorted::{KeyColumns, Sorted};
use arrow::array::{Array, ArrayRef, RecordBatch, new_empty_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use bcfsort_keys::{Floats, NarrowRows, Rows, SortColumn, encode, is_exact, join, most_bits};
use datafusion_common::utils::memory::RecordBatchMemoryCounter;
use datafusion_common::{DataFusionError, Result, internal_datafusion_err};
use datafusion_common_runtime::SpawnedTask;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion_execution::runtime_env::RuntimeEnv;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::LexOrdering;
use datafusion_physical_plan::metrics::{ExecutionPlanMetricsSet, RecordOutput};
use datafusion_physical_plan::sorts::sort::SortExec;
use datafusion_physical_plan::sorts::streaming_merge::{SortedSpillFile, StreamingMergeBuilder};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{EmptyRecordBatchStream, SpillManager};
use futures::{StreamExt, TryStreamExt, stream};
use log::debug;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of the output that are gathered at a time, if the memory pool grants them.
const WINDOW: usize = 64 << 20;

/// Bytes per row in addition to its batch and its key: its index, both as the device returns it and
/// in the order of the output.
const PER_ROW: usize = 12;

/// Bytes that a row takes while strings that tie are sorted: 20, two keys and an index, of which 8
/// are those of `PER_ROW` that are free then.
const OF_A_TIE: usize = 12;

/// Sorts one partition.
pub(crate) struct Sorting {
    shared: Arc<Shared>,
    runtime: Arc<RuntimeEnv>,
    /// Bytes for the merge of spilled runs and for the output. They are reserved before the first
    /// row is stored, since a later request could fail.
    reserved: usize,
    output: MemoryReservation,
    buffer: Buffer,
    spilled: Vec<SortedSpillFile>,
}

/// Rows that wait for their sort, with the memory that is reserved for them and for the sort.
struct Buffer {
    batches: Vec<RecordBatch>,
    rows: usize,
    /// Counts the bytes of batches, including a batch whose reservation fails and that is not
    /// pushed.
    memory: RecordBatchMemoryCounter,
    reservation: MemoryReservation,
}

/// State that is shared by the threads that sort and gather.
struct Shared {
    pool: Arc<GpuPool>,
    options: BcfsortOptions,
    expr: LexOrdering,
    schema: SchemaRef,
    /// Some if the rows are sorted by all of their columns.
    key_columns: Option<KeyColumns>,
    fetch: Option<usize>,
    /// Bytes that a row takes besides its batch and the copies of its key columns.
    per_row: usize,
    batch_size: usize,
    spill: SpillManager,
    metrics: Metrics,
}

/// Sorted rows, of which batches are made for a window at a time.
struct Output {
    shared: Arc<Shared>,
    rows: Arc<Freed>,
    /// The next window, which is made while the last one is read.
    next: Option<SpawnedTask<Result<Vec<RecordBatch>>>>,
    /// The number of rows whose batches are made, or being made.
    collected: usize,
    window: usize,
}

/// Sorted rows that are freed on another thread: a query does not wait until all memory is given
/// back.
struct Freed {
    /// Some until it is dropped.
    rows: Option<Sorted>,
    /// The reservation for two windows.
    _memory: MemoryReservation,
}

impl Sorting {
    pub(crate) fn new(
        sort: &SortExec,
        pool: Arc<GpuPool>,
        partition: usize,
        context: &TaskContext,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Self> {
        let config = context.session_config();
        let runtime = context.runtime_env();
        let schema = sort.input().schema();
        let metrics = Metrics::new(metrics, partition);
        let spill = SpillManager::new(runtime.clone(), metrics.spill.clone(), schema.clone())
            .with_compression_type(config.spill_compression());
        let consumer = |name| MemoryConsumer::new(format!("{name}[{partition}]"));
        let buffer = Buffer {
            batches: Vec::new(),
            rows: 0,
            memory: RecordBatchMemoryCounter::new(),
            reservation: consumer("GpuSort")
                .with_can_spill(true)
                .register(&runtime.memory_pool),
        };
        Ok(Self {
            reserved: config.options().execution.sort_spill_reservation_bytes,
            output: consumer("GpuSortOutput").register(&runtime.memory_pool),
            buffer,
            spilled: Vec::new(),
            runtime,
            shared: Arc::new(Shared {
                pool,
                options: BcfsortOptions::of(config.options()),
                key_columns: KeyColumns::new(sort.expr(), &schema),
                per_row: bytes_per_row(sort.expr(), &schema)?,
                expr: sort.expr().clone(),
                schema,
                fetch: sort.fetch(),
                batch_size: config.batch_size(),
                spill,
                metrics,
            }),
        })
    }

    /// Reads the whole input, and returns its rows in order.
    pub(crate) async fn run(
        mut self,
        mut input: SendableRecordBatchStream,
    ) -> Result<SendableRecordBatchStream> {
        while let Some(batch) = input.next().await {
            self.insert(batch?).await?;
        }
        // Frees the memory of the input before the sort begins.
        drop(input);
        if !self.spilled.is_empty() {
            return self.merge().await;
        }
        let shared = self.shared.clone();
        if self.buffer.batches.is_empty() {
            return Ok(Box::pin(EmptyRecordBatchStream::new(shared.schema.clone())));
        }
        let rows = self.sort().await?;
        // A larger reservation is not necessary, but makes fewer and larger windows.
        if self.output.size() < WINDOW {
            let _ = self.output.try_resize(WINDOW);
        }
        let output = Output {
            window: shared.window(&rows, self.output.size() / 2),
            shared: shared.clone(),
            rows: Arc::new(Freed {
                rows: Some(rows),
                _memory: self.output,
            }),
            next: None,
            collected: 0,
        };
        Ok(output.stream())
    }

    async fn insert(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let can_spill = self.runtime.disk_manager.tmp_files_enabled();
        if can_spill && self.output.size() < self.reserved {
            let reserved = self.output.try_resize(self.reserved);
            reserved.map_err(out_of_memory)?;
        }
        let most = self.shared.options.max_run_rows.min(u32::MAX as usize);
        let is_full = self.buffer.rows > 0 && self.buffer.rows + batch.num_rows() > most;
        if !is_full {
            let bytes = self.shared.bytes(&mut self.buffer, &batch);
            match self.buffer.reservation.try_grow(bytes) {
                Ok(()) => {
                    self.buffer.push(batch);
                    return Ok(());
                }
                Err(error) if self.buffer.batches.is_empty() => return Err(out_of_memory(error)),
                Err(_) => {}
            }
        }
        self.spill_run().await?;
        let bytes = self.shared.bytes(&mut self.buffer, &batch);
        self.buffer
            .reservation
            .try_grow(bytes)
            .map_err(out_of_memory)?;
        self.buffer.push(batch);
        Ok(())
    }

    /// Sorts the buffered rows.
    async fn sort(&mut self) -> Result<Sorted> {
        let buffer = self.buffer.take();
        let shared = self.shared.clone();
        let turn = shared.pool.turn().await;
        // The thread owns the memory and its reservation: if the query is cancelled, both last
        // until the thread ends.
        let sorted = SpawnedTask::spawn_blocking(move || {
            let _turn = turn;
            shared.sort(buffer)
        });
        joined(sorted).await
    }

    /// Sorts the buffered rows, and writes them to a file.
    async fn spill_run(&mut self) -> Result<()> {
        let rows = self.sort().await?;
        let shared = self.shared.clone();
        let window = shared.window(&rows, self.output.size());
        let written = SpawnedTask::spawn_blocking(move || {
            let mut file = shared.spill.create_in_progress_file("GpuSort")?;
            let mut largest = 0;
            for begin in (0..rows.len()).step_by(window) {
                let end = rows.len().min(begin + window);
                for batch in shared.batches(&rows, begin..end)? {
                    largest = largest.max(file.append_batch(&batch)?);
                }
            }
            Ok(file.finish()?.map(|file| SortedSpillFile {
                file,
                max_record_batch_memory: largest,
            }))
        });
        self.spilled.extend(joined(written).await?);
        Ok(())
    }

    /// Merges the spilled runs.
    async fn merge(mut self) -> Result<SendableRecordBatchStream> {
        if !self.buffer.batches.is_empty() {
            self.spill_run().await?;
        }
        let shared = &self.shared;
        StreamingMergeBuilder::new()
            .with_sorted_spill_files(self.spilled)
            .with_spill_manager(shared.spill.clone())
            .with_schema(shared.schema.clone())
            .with_expressions(&shared.expr)
            .with_metrics(shared.metrics.baseline.clone())
            .with_batch_size(shared.batch_size)
            .with_fetch(shared.fetch)
            // Of equal rows, those of the earlier run first.
            .with_round_robin_tie_breaker(false)
            .with_reservation(self.output)
            .build()
    }
}

impl Buffer {
    fn push(&mut self, batch: RecordBatch) {
        self.rows += batch.num_rows();
        self.batches.push(batch);
    }

    fn take(&mut self) -> Self {
        Self {
            batches: std::mem::take(&mut self.batches),
            rows: std::mem::take(&mut self.rows),
            memory: std::mem::take(&mut self.memory),
            reservation: self.reservation.take(),
        }
    }
}

impl Shared {
    /// The bytes of a batch, with the copies of its key columns, the keys and the indices.
    fn bytes(&self, buffer: &mut Buffer, batch: &RecordBatch) -> usize {
        let own = buffer.memory.count_batch(batch);
        let mut copies = 0;
        for key in &self.expr {
            let column = key
                .expr
                .downcast_ref::<datafusion_physical_expr::expressions::Column>();
            let column = column.and_then(|column| batch.columns().get(column.index()));
            copies += match column.map(|column| column.to_data().get_slice_memory_size()) {
                Some(Ok(bytes)) => bytes,
                // The size of a computed key is unknown: most values take up to 16 bytes.
                _ => 16 * batch.num_rows(),
            };
        }
        own + copies + self.per_row * batch.num_rows()
    }

    /// The number of rows of a window that takes about this many bytes.
    fn window(&self, rows: &Sorted, bytes: usize) -> usize {
        let batches = (bytes / rows.bytes_per_row() / self.batch_size)
            .clamp(1, 4 * rayon::current_num_threads());
        batches * self.batch_size
    }

    /// Sorts rows: all, or the first ones up to the limit.
    fn sort(&self, mut buffer: Buffer) -> Result<Sorted> {
        let compute = self.metrics.baseline.elapsed_compute().clone();
        let _timer = compute.timer();
        self.metrics.runs.add(1);
        if let Some(columns) = &self.key_columns
            && let Some(rows) = self.sort_narrow(columns, &mut buffer)?
        {
            self.metrics.decoded_rows.add(rows.len());
            let reserved = buffer.reservation;
            return Ok(Sorted::decoded(
                rows,
                columns.clone(),
                buffer.rows,
                reserved,
            ));
        }
        self.sort_indexed(buffer)
    }

    /// Sorts rows that are sorted by all of their columns, and frees their batches once they are
    /// encoded. None if the keys would be too wide.
    fn sort_narrow(&self, columns: &KeyColumns, buffer: &mut Buffer) -> Result<Option<NarrowRows>> {
        let begin = Instant::now();
        let columns_of = |batch| columns.of_batch(batch, &self.expr);
        let batches: Vec<Vec<SortColumn>> = buffer.batches.iter().map(columns_of).collect();
        let encoded = NarrowRows::encode(&batches);
        // Counts also if the keys turn out to be too wide.
        self.metrics.encode_time.add_elapsed(begin);
        let Some(mut rows) = encoded.map_err(not_sorted)? else {
            return Ok(None);
        };
        drop_elsewhere((batches, std::mem::take(&mut buffer.batches)));
        self.sort_keys(buffer.rows, rows.bits(), |on_gpu| {
            rows.sort(on_gpu, self.fetch)
        })?;
        Ok(Some(rows))
    }

    /// Sorts rows of any columns.
    fn sort_indexed(&self, buffer: Buffer) -> Result<Sorted> {
        let limit = self.fetch.unwrap_or(usize::MAX);
        let begin = Instant::now();
        let columns = self.columns(&buffer.batches)?;
        let encoded = encode(&columns, Floats::Total).map_err(not_sorted)?;
        self.metrics.encode_time.add_elapsed(begin);
        let indices = self.sort_keys(buffer.rows, encoded.bits, |on_gpu| {
            encoded.first_indices(limit, &columns, Floats::Total, on_gpu)
        })?;
        let begin = Instant::now();
        let rows = Rows::new(self.schema.clone(), &buffer.batches)?;
        self.metrics.gather_time.add_elapsed(begin);
        Ok(Sorted::Indexed {
            bytes_per_row: rows.bytes_per_row() + 16,
            rows,
            indices,
            _memory: buffer.reservation,
        })
    }

    /// Sorts keys, and measures it.
    fn sort_keys<T>(
        &self,
        rows: usize,
        bits: u32,
        sort: impl FnOnce(&OnGpu) -> Result<T, bcfsort_keys::Error<bcfsort_auto::Error>>,
    ) -> Result<T> {
        self.metrics.key_bits.set_max(bits as usize);
        let on_gpu = OnGpu::new(self.pool.sorter(&self.options));
        let begin = Instant::now();
        let sorted = sort(&on_gpu);
        let work = on_gpu.work();
        self.metrics.add(&work, begin.elapsed());
        let place = work.gpu.as_deref().unwrap_or("the CPU");
        debug!("sorted {rows} rows on {place} in {:?}", begin.elapsed());
        sorted.map_err(not_sorted)
    }

    /// The columns to sort by, each in one piece.
    fn columns(&self, batches: &[RecordBatch]) -> Result<Vec<SortColumn>> {
        let column = |key: &datafusion_physical_expr::PhysicalSortExpr| {
            let parts: Vec<ArrayRef> = (batches.par_iter())
                .map(|batch| key.expr.evaluate(batch)?.into_array(batch.num_rows()))
                .collect::<Result<_>>()?;
            Ok(SortColumn {
                values: joined_arrays(&parts, &key.expr.data_type(&self.schema)?)?,
                descending: key.options.descending,
                nulls_first: key.options.nulls_first,
            })
        };
        let keys: Vec<_> = self.expr.iter().collect();
        keys.into_par_iter().map(column).collect()
    }

    /// Makes batches of a range of sorted rows.
    fn batches(&self, rows: &Sorted, range: Range<usize>) -> Result<Vec<RecordBatch>> {
        let begin = Instant::now();
        let batches = rows.batches(range, &self.schema, self.batch_size);
        self.metrics.gather_time.add_elapsed(begin);
        (self.metrics.baseline.elapsed_compute()).add_elapsed(begin);
        batches
    }
}

impl Output {
    fn stream(mut self) -> SendableRecordBatchStream {
        let schema = self.shared.schema.clone();
        self.begin();
        let windows = stream::try_unfold(self, |mut output| async {
            let Some(task) = output.next.take() else {
                return Ok::<_, DataFusionError>(None);
            };
            let batches = joined(task).await?;
            output.begin();
            let metrics = output.shared.metrics.baseline.clone();
            let counted = batches
                .into_iter()
                .map(move |batch| Ok(batch.record_output(&metrics)));
            Ok(Some((stream::iter(counted), output)))
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, windows.try_flatten()))
    }

    /// Begins to make the batches of the next window, if rows are left.
    ///
    /// The task ends even if its batches are never read, since tokio has a limited number of
    /// threads.
    fn begin(&mut self) {
        let (freed, shared) = (self.rows.clone(), self.shared.clone());
        let Some(rows) = &self.rows.rows else {
            return;
        };
        let begin = self.collected;
        let end = rows.len().min(begin + self.window);
        if begin == end {
            return;
        }
        self.collected = end;
        self.next = Some(SpawnedTask::spawn_blocking(move || match &freed.rows {
            Some(rows) => shared.batches(rows, begin..end),
            None => Ok(Vec::new()),
        }));
    }
}

impl Drop for Freed {
    fn drop(&mut self) {
        drop_elsewhere(self.rows.take());
    }
}

/// Drops a value on another thread: millions of pages take long to give back. If the system has no
/// thread left, it is dropped here.
fn drop_elsewhere<T: Send + 'static>(value: T) {
    let _ = std::thread::Builder::new().spawn(move || drop(value));
}

/// The most bytes that a row takes in indices and keys: the most bits of each column, in words of
/// 64.
fn bytes_per_row(expr: &LexOrdering, schema: &Schema) -> Result<usize> {
    let mut bytes = PER_ROW;
    let mut may_tie = false;
    for key in expr {
        let data_type = key.expr.data_type(schema)?;
        bytes += 8 * most_bits(&data_type).div_ceil(64) as usize;
        may_tie |= !is_exact(&data_type);
        // They are first converted to differences of 128 bits.
        if matches!(data_type, DataType::Decimal256(..)) {
            bytes += 16;
        }
    }
    Ok(bytes + if may_tie { OF_A_TIE } else { 0 })
}

/// Concatenates arrays. If the values are too many for their type, the result has a [`widened`]
/// type.
fn joined_arrays(parts: &[ArrayRef], data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    match join_or_none(parts, data_type) {
        // Strings of more than 2 GiB, or more values of a dictionary than its keys can number.
        Err(ArrowError::OffsetOverflowError(_) | ArrowError::DictionaryKeyOverflowError) => {
            let wide = widened(data_type);
            let parts: Vec<ArrayRef> = (parts.par_iter())
                .map(|part| cast(part, &wide))
                .collect::<Result<_, _>>()?;
            join_or_none(&parts, &wide)
        }
        joined => joined,
    }
}

/// A type for the same values in the same order, of which an array can hold any number.
fn widened(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8 => DataType::LargeUtf8,
        DataType::Binary => DataType::LargeBinary,
        DataType::Dictionary(_, values) => widened(values),
        DataType::Struct(fields) => {
            let field = |field: &Arc<Field>| {
                let wide = widened(field.data_type());
                field.as_ref().clone().with_data_type(wide)
            };
            DataType::Struct(fields.iter().map(field).collect())
        }
        other => other.clone(),
    }
}

fn join_or_none(parts: &[ArrayRef], data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    match parts {
        [] => Ok(new_empty_array(data_type)),
        _ => join(parts),
    }
}

async fn joined<T: Send + 'static>(task: SpawnedTask<Result<T>>) -> Result<T> {
    task.join_unwind()
        .await
        .map_err(|_| internal_datafusion_err!("the runtime was shut down during a sort"))?
}

fn not_sorted(error: bcfsort_keys::Error<bcfsort_auto::Error>) -> DataFusionError {
    match error {
        bcfsort_keys::Error::Arrow(error) => error.into(),
        bcfsort_keys::Error::Argsort(error) => failed(error),
        error => DataFusionError::External(Box::new(error)),
    }
}

fn out_of_memory(error: DataFusionError) -> DataFusionError {
    match error {
        DataFusionError::ResourcesExhausted(_) => error.context(
            "not enough memory for a sort: raise datafusion.runtime.memory_limit, or lower \
             datafusion.execution.sort_spill_reservation_bytes or datafusion.execution.batch_size",
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{joined_arrays, widened};
    use arrow::array::{Array, ArrayRef, AsArray, DictionaryArray, StructArray};
    use arrow::datatypes::{DataType, Field, Fields, Int8Type};
    use std::sync::Arc;

    /// Dictionaries in nested structs, whose values together are more than their keys can number.
    #[test]
    fn fields_of_structs_are_widened() {
        let structs = |name: &str, field: ArrayRef| -> ArrayRef {
            let types = Fields::from(vec![Field::new(name, field.data_type().clone(), true)]);
            Arc::new(StructArray::new(types, vec![field], None))
        };
        let part = |values: std::ops::Range<usize>| {
            let texts: Vec<String> = values.map(|i| format!("{i:03}")).collect();
            let texts: DictionaryArray<Int8Type> = texts.iter().map(String::as_str).collect();
            structs("outer", structs("inner", Arc::new(texts)))
        };
        let parts = [part(0..100), part(100..200)];
        let joined = joined_arrays(&parts, parts[0].data_type()).expect("one array");
        assert_eq!(*joined.data_type(), widened(parts[0].data_type()));
        let inner = joined.as_struct().column(0).as_struct().column(0);
        assert_eq!(*inner.data_type(), DataType::LargeUtf8);
        let texts = inner.as_string::<i64>();
        assert_eq!(
            (texts.len(), texts.value(0), texts.value(199)),
            (200, "000", "199")
        );
    }
}

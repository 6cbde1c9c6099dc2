//! The table that `sort-table` inserts into: a directory with a sorted Parquet file for each part.
//!
//! DataFusion's own sink writes one partition only. This one writes all of them at once, so that
//! each part of an exchange is written by the executor that has sorted it.

use crate::client::as_in;
use bcfsort_datafusion::commands::url_of;
use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, UInt64Array};
use datafusion::arrow::compute::{SortOptions, partition};
use datafusion::arrow::datatypes::{DataType, Field, Int32Type, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, exec_err, internal_err, not_impl_err};
use datafusion::datasource::TableType;
use datafusion::datasource::file_format::parquet::ParquetSink;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::datasource::physical_plan::{FileGroup, FileOutputMode, FileSinkConfig};
use datafusion::datasource::sink::DataSink;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::physical_expr::{
    EquivalenceProperties, LexOrdering, OrderingRequirements, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::expressions::Column;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, Distribution, ExecutionPlan,
    ExecutionPlanProperties, InputDistributionRequirements, Partitioning, PlanProperties,
    ReplaceChildrenOptions,
};
use futures::channel::mpsc::{Sender, channel};
use futures::{SinkExt, TryStreamExt};
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Batches between a sort and the writer of its part.
const QUEUE: usize = 2;

/// What a plan says about the parts. It travels to the scheduler and to the executors.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parts {
    /// The absolute path of the directory.
    pub(crate) directory: String,
    /// The input, whose compression and metadata the parts have.
    pub(crate) like: String,
    /// The columns to sort by, and whether each is descending. Then nulls are first.
    pub(crate) order: Vec<(usize, bool)>,
    /// The values of the last column in the rows of each part, in the order of the parts.
    pub(crate) labels: Vec<i32>,
}

/// The first field of [`Parts::encode`]: no message of Ballista begins like this.
const MAGIC: &str = "bcfsort parts 1";

impl Parts {
    /// The path of a part's file.
    pub(crate) fn path(directory: &Path, part: usize) -> PathBuf {
        directory.join(format!("part-{part:05}.parquet"))
    }

    /// Fields with a zero between them, which no path has.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let order = self.order.iter().map(|(column, is_descending)| {
            let direction = if *is_descending { "desc" } else { "asc" };
            format!("{column} {direction}")
        });
        let order: Vec<String> = order.collect();
        let labels: Vec<String> = self.labels.iter().map(i32::to_string).collect();
        let (order, labels) = (order.join(","), labels.join(","));
        let fields = [MAGIC, &self.directory, &self.like, &order, &labels];
        fields.join("\0").into_bytes()
    }

    /// None if the bytes are of something else.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let fields: Vec<&str> = std::str::from_utf8(bytes).ok()?.split('\0').collect();
        let [MAGIC, directory, like, order, labels] = fields[..] else {
            return None;
        };
        let column = |text: &str| {
            let (column, direction) = text.split_once(' ')?;
            Some((column.parse().ok()?, direction == "desc"))
        };
        Some(Self {
            directory: directory.to_owned(),
            like: like.to_owned(),
            order: order.split(',').map(column).collect::<Option<_>>()?,
            labels: labels
                .split(',')
                .map(|label| label.parse().ok())
                .collect::<Option<_>>()?,
        })
    }
}

/// The table: rows are only inserted. Their last column is the label of their part.
#[derive(Debug)]
pub(crate) struct PartsTable {
    pub(crate) parts: Parts,
    pub(crate) schema: SchemaRef,
}

#[async_trait::async_trait]
impl TableProvider for PartsTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        _projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        not_impl_err!("the parts of a sort are only written")
    }

    async fn insert_into(
        &self,
        _state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        _insert_op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(PartsExec::try_new(input, self.parts.clone())?))
    }
}

/// Writes the rows of each label to a file, and returns the number of rows in each.
///
/// It requires that all rows of a label are in one partition, and that partitions are sorted. So
/// the planner puts the exchange and the sort below it.
#[derive(Debug)]
pub(crate) struct PartsExec {
    input: Arc<dyn ExecutionPlan>,
    parts: Parts,
    order: OrderingRequirements,
    properties: Arc<PlanProperties>,
}

impl PartsExec {
    pub(crate) fn try_new(input: Arc<dyn ExecutionPlan>, parts: Parts) -> Result<Self> {
        let schema = input.schema();
        let mut order = Vec::new();
        for &(column, descending) in &parts.order {
            // The last column is the label.
            if column + 1 >= schema.fields().len() {
                return internal_err!("no column {column} to sort by");
            }
            let options = SortOptions {
                descending,
                nulls_first: descending,
            };
            let column = Column::new(schema.field(column).name(), column);
            order.push(PhysicalSortExpr::new(Arc::new(column), options));
        }
        let Some(order) = LexOrdering::new(order) else {
            return internal_err!("no columns to sort by");
        };
        // The schema of the result of an INSERT.
        let count = Field::new("count", DataType::UInt64, false);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::new(Schema::new(vec![count]))),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Ok(Self {
            input,
            parts,
            order: order.into(),
            properties: Arc::new(properties),
        })
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }
}

impl DisplayAs for PartsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parts, directory) = (self.parts.labels.len(), &self.parts.directory);
        write!(f, "PartsExec: parts={parts}, directory={directory}")
    }
}

impl ExecutionPlan for PartsExec {
    fn name(&self) -> &str {
        "PartsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        let schema = self.input.schema();
        let last = schema.fields().len() - 1;
        let label = Arc::new(Column::new(schema.field(last).name(), last));
        InputDistributionRequirements::new(vec![Distribution::KeyPartitioned(vec![label])])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![Some(self.order.clone())]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.swap_remove(0);
        Ok(Arc::new(Self::try_new(input, self.parts.clone())?))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context.clone())?;
        let schema = self.schema();
        let (parts, result) = (self.parts.clone(), schema.clone());
        let written = async move {
            let counts: ArrayRef = Arc::new(write_all(parts, input, context).await?);
            Ok(RecordBatch::try_new(result, vec![counts])?)
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            schema,
            futures::stream::once(written),
        )))
    }
}

/// Writes a sorted partition, and returns the number of rows in each of its files.
///
/// The labels of a partition come one after the other, in the order of the parts. Usually there is
/// one. There are more if the planner left out the exchange, since the input had one partition.
async fn write_all(
    parts: Parts,
    mut input: SendableRecordBatchStream,
    context: Arc<TaskContext>,
) -> Result<UInt64Array> {
    let of_label: HashMap<i32, usize> = (parts.labels.iter().copied()).zip(0..).collect();
    let mut counts = Vec::new();
    let mut current: Option<(usize, Writer)> = None;
    while let Some(batch) = input.try_next().await? {
        let label = batch.num_columns() - 1;
        let labels = batch.column(label).clone();
        let columns: Vec<usize> = (0..label).collect();
        let rows = batch.project(&columns)?;
        let ranges = partition(std::slice::from_ref(&labels))?.ranges();
        let labels = labels.as_primitive::<Int32Type>();
        for range in ranges {
            let label = labels.value(range.start);
            let Some(&part) = of_label.get(&label) else {
                return internal_err!("no part has the label {label}");
            };
            let mut writer = match current.take() {
                Some((last, writer)) if last == part => writer,
                Some((last, _)) if last > part => {
                    return internal_err!("part {part} comes after part {last}");
                }
                last => {
                    if let Some((_, writer)) = last {
                        counts.push(writer.finish().await?);
                    }
                    Writer::start(&parts, part, rows.schema(), &context)?
                }
            };
            if !writer.write(rows.slice(range.start, range.len())).await {
                writer.finish().await?;
                return exec_err!("part {part} was not written to its end");
            }
            current = Some((part, writer));
        }
    }
    if let Some((_, writer)) = current {
        counts.push(writer.finish().await?);
    }
    Ok(counts.into())
}

/// A task that writes a file, which appears under its name when it is whole.
struct Writer {
    // Dropped first, which stops it: the end of the rows would be the end of the file.
    task: SpawnedTask<Result<u64>>,
    rows: Sender<Result<RecordBatch>>,
}

impl Writer {
    fn start(
        parts: &Parts,
        part: usize,
        schema: SchemaRef,
        context: &Arc<TaskContext>,
    ) -> Result<Self> {
        let external = |error: anyhow::Error| DataFusionError::External(error.into());
        let options = as_in(&schema, Path::new(&parts.like)).map_err(external)?;
        let path = Parts::path(Path::new(&parts.directory), part);
        let url = url_of(&path).map_err(external)?;
        let url = ListingTableUrl::parse(url.as_str())?;
        let config = FileSinkConfig {
            original_url: url.to_string(),
            object_store_url: url.object_store(),
            file_group: FileGroup::default(),
            table_paths: vec![url],
            output_schema: schema.clone(),
            table_partition_cols: Vec::new(),
            insert_op: InsertOp::Append,
            keep_partition_by_columns: false,
            file_extension: "parquet".to_owned(),
            file_output_mode: FileOutputMode::SingleFile,
        };
        let sink = ParquetSink::new(config, options);
        let (sender, receiver) = channel(QUEUE);
        let rows = Box::pin(RecordBatchStreamAdapter::new(schema, receiver));
        let context = context.clone();
        Ok(Self {
            task: SpawnedTask::spawn(async move { sink.write_all(rows, &context).await }),
            rows: sender,
        })
    }

    /// False if the task has ended, with an error that [`Self::finish`] returns.
    async fn write(&mut self, rows: RecordBatch) -> bool {
        self.rows.send(Ok(rows)).await.is_ok()
    }

    /// Waits until the file is written, and returns the number of its rows.
    async fn finish(mut self) -> Result<u64> {
        self.rows.close_channel();
        match self.task.join_unwind().await {
            Ok(written) => written,
            Err(error) => exec_err!("the writer of a part was stopped: {error}"),
        }
    }
}

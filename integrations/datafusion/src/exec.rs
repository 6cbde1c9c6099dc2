//! The plan node that sorts on the GPU.

use crate::gpu::GpuPool;
use crate::options::BcfsortOptions;
use crate::sorting::Sorting;
use arrow::datatypes::DataType;
use bcfsort_keys::{is_exact, is_supported, most_bits};
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{Result, Statistics};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion_physical_plan::execution_plan::CardinalityEffect;
use datafusion_physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion_physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion_physical_plan::projection::ProjectionExec;
use datafusion_physical_plan::sorts::sort::SortExec;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, PlanProperties, ReplaceChildrenOptions, StatisticsArgs,
};
use futures::TryStreamExt;
use std::fmt;
use std::sync::Arc;

/// Sorts its input on the GPU, in place of a [`SortExec`].
///
/// Code that looks for a [`SortExec`] finds it: `plan.is::<SortExec>()` is true, and a serialised
/// plan has the [`SortExec`].
///
/// [`GpuSortRule`](crate::GpuSortRule) makes these nodes. A sort that stays on the CPU is wrapped
/// as well, so that `EXPLAIN` says why.
///
/// All rows of a partition are held in memory and sorted at once. This sort is stable. If the
/// memory pool is too small for the rows, they are sorted in runs, which are spilled to disk and
/// merged, as [`SortExec`] does; the result is then not stable. O(n log n) time. In addition to the
/// rows, the host holds 4 to 16 bytes per row for the key and 12 for the index. The device needs
/// 2.15 times the memory of the keys and indices.
///
/// Rows that are sorted by all of their columns, each of fixed width, are freed once they are
/// encoded: only the keys are sorted, and the columns are decoded from them.
///
/// With at least 65,536 rows and a limit of at most a quarter of them, the candidates for the first
/// rows are selected before the sort (top-k).
#[derive(Debug)]
pub struct GpuSortExec {
    sort: Arc<SortExec>,
    /// The GPUs that sort, or the reason why the CPU does.
    place: Result<Arc<GpuPool>, String>,
    metrics: ExecutionPlanMetricsSet,
}

impl GpuSortExec {
    /// A sort on this pool's GPU, or on the CPU if there is a [`reason`](Self::reason) for that.
    #[must_use]
    pub fn new(sort: SortExec, pool: Arc<GpuPool>) -> Self {
        let place = match cpu_reason(&sort) {
            Some(reason) => Err(reason),
            None => Ok(pool),
        };
        Self {
            sort: Arc::new(sort),
            place,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// A sort that stays on the CPU for this reason.
    #[must_use]
    pub fn on_cpu(sort: SortExec, reason: String) -> Self {
        Self {
            sort: Arc::new(sort),
            place: Err(reason),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// The `SortExec` that this node replaces.
    #[must_use]
    pub fn sort(&self) -> &SortExec {
        &self.sort
    }

    /// Why the CPU sorts, or `None` if the GPU does.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.place.as_ref().err().map(String::as_str)
    }

    pub(crate) fn pool(&self) -> Option<&Arc<GpuPool>> {
        self.place.as_ref().ok()
    }

    /// Wraps the rebuilt inner node as this node does.
    fn wrap(&self, plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        let Some(sort) = plan.downcast_ref::<SortExec>().cloned() else {
            return plan;
        };
        let place = match (&self.place, cpu_reason(&sort)) {
            (Ok(_), Some(reason)) => Err(reason),
            (place, _) => place.clone(),
        };
        Arc::new(Self {
            sort: Arc::new(sort),
            place,
            metrics: self.metrics.clone(),
        })
    }

    /// Describes the keys for `EXPLAIN`: their types, and the most bits that they can have.
    fn keys(&self) -> String {
        let schema = self.sort.input().schema();
        let types = self.sort.expr().iter();
        let types: Vec<DataType> = types
            .filter_map(|key| key.expr.data_type(&schema).ok())
            .collect();
        let bits = bits_of_keys(&self.sort);
        let tells_all = bits <= 128 && types.iter().all(is_exact);
        let types: Vec<String> = types.iter().map(DataType::to_string).collect();
        let ties = if tells_all { "" } else { ", ties separately" };
        let s = if bits == 1 { "" } else { "s" };
        format!(
            "keys=[{}], at most {} bit{s}{ties}",
            types.join(" "),
            bits.min(128)
        )
    }
}

/// The most bits that the values to sort by can have together.
pub(crate) fn bits_of_keys(sort: &SortExec) -> u32 {
    let schema = sort.input().schema();
    let bits = |key: &PhysicalSortExpr| match key.expr.data_type(&schema) {
        Ok(data_type) => {
            most_bits(&data_type) + u32::from(key.expr.nullable(&schema).unwrap_or(true))
        }
        Err(_) => 0,
    };
    sort.expr().iter().map(bits).sum()
}

/// Why a sort cannot be done on the GPU, or need not be done.
fn cpu_reason(sort: &SortExec) -> Option<String> {
    let input = sort.input();
    if input.boundedness().is_unbounded() {
        return Some("the input is unbounded".to_owned());
    }
    let schema = input.schema();
    for key in sort.expr() {
        match key.expr.data_type(&schema) {
            Ok(data_type) if is_supported(&data_type) => {}
            Ok(data_type) => return Some(format!("the GPU has no keys for {data_type}")),
            Err(error) => return Some(error.to_string()),
        }
    }
    let properties = input.equivalence_properties();
    match properties.ordering_satisfy(sort.expr().clone()) {
        Ok(false) => None,
        Ok(true) => Some("the input is in order".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

impl DisplayAs for GpuSortExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_tree = matches!(t, DisplayFormatType::TreeRender);
        match &self.place {
            Err(reason) => {
                self.sort.fmt_as(t, f)?;
                if is_tree {
                    writeln!(f, "cpu={reason}")
                } else {
                    write!(f, ", cpu=[{reason}]")
                }
            }
            Ok(_) if is_tree => {
                self.sort.fmt_as(t, f)?;
                writeln!(f, "{}", self.keys())
            }
            Ok(_) => {
                let (expr, keys) = (self.sort.expr(), self.keys());
                let preserve = self.sort.preserve_partitioning();
                write!(f, "GpuSortExec: ")?;
                if let Some(fetch) = self.sort.fetch() {
                    write!(f, "fetch={fetch}, ")?;
                }
                write!(
                    f,
                    "expr=[{expr}], preserve_partitioning=[{preserve}], {keys}"
                )
            }
        }
    }
}

impl ExecutionPlan for GpuSortExec {
    fn name(&self) -> &str {
        match self.place {
            Ok(_) => "GpuSortExec",
            Err(_) => self.sort.name(),
        }
    }

    fn downcast_delegate(&self) -> Option<&dyn ExecutionPlan> {
        Some(self.sort.as_ref())
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.sort.properties()
    }

    #[expect(deprecated, reason = "other crates may still call it")]
    fn required_input_distribution(&self) -> Vec<Distribution> {
        self.sort.required_input_distribution()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        self.sort.input_distribution_requirements()
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        self.sort.benefits_from_input_partitioning()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.sort.children()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.sort.apply_expressions(f)
    }

    fn dynamic_expressions_produced(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        self.sort.dynamic_expressions_produced()
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let sort = self.sort.clone().replace_children(children, options)?;
        Ok(self.wrap(sort))
    }

    #[expect(deprecated, reason = "other crates may still call it")]
    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let sort = self.sort.clone().with_new_children(children)?;
        Ok(self.wrap(sort))
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        let sort = self.sort.clone().reset_state()?;
        let fresh = Self {
            sort: self.sort.clone(),
            place: self.place.clone(),
            metrics: ExecutionPlanMetricsSet::new(),
        };
        Ok(fresh.wrap(sort))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let Ok(pool) = &self.place else {
            return self.sort.execute(partition, context);
        };
        let input = self.sort.input().execute(partition, context.clone())?;
        let sorting = Sorting::new(&self.sort, pool.clone(), partition, &context, &self.metrics)?;
        let sorted = futures::stream::once(sorting.run(input)).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            sorted,
        )))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        match self.place {
            Ok(_) => Some(self.metrics.clone_inner()),
            Err(_) => self.sort.metrics(),
        }
    }

    fn statistics_from_inputs(
        &self,
        input_stats: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        self.sort.statistics_from_inputs(input_stats, args)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.sort.child_stats_requests(partition)
    }

    /// With a limit, returns a plain `SortExec`, which keeps the first rows only: for a small
    /// limit, that takes less time and memory. The threshold, the option `topk_min_fetch`, is not
    /// known here. A large limit stays on the GPU if the plan has it before `GpuSortRule` runs.
    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        let sort = SortExec::with_fetch(&self.sort, limit);
        Some(if limit.is_some() {
            Arc::new(sort)
        } else {
            self.wrap(Arc::new(sort))
        })
    }

    fn fetch(&self) -> Option<usize> {
        self.sort.fetch()
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        self.sort.cardinality_effect()
    }

    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let swapped = self.sort.try_swapping_with_projection(projection)?;
        Ok(swapped.map(|plan| self.wrap(plan)))
    }

    fn gather_filters_for_pushdown(
        &self,
        phase: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        self.sort
            .gather_filters_for_pushdown(phase, parent_filters, config)
    }

    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        child_pushdown_result: ChildPushdownResult,
        config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let mut result =
            self.sort
                .handle_child_pushdown_result(phase, child_pushdown_result, config)?;
        result.updated_node = result.updated_node.map(|plan| self.wrap(plan));
        Ok(result)
    }
}

/// Whether the limit is small enough for DataFusion's top-k, which keeps the first rows only.
pub(crate) fn is_top_k(sort: &SortExec, options: &BcfsortOptions) -> bool {
    sort.fetch()
        .is_some_and(|fetch| fetch < options.topk_min_fetch)
}

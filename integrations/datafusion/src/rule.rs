//! The rule that puts sorts on the GPU.

use crate::exec::{GpuSortExec, bits_of_keys, is_top_k};
use crate::gpu::{GpuPool, failed, is_slower_on_gpu};
use crate::options::{BcfsortOptions, Switch};
use bcfsort_auto::Device;
use datafusion_common::Result;
use datafusion_common::config::ConfigOptions;
use datafusion_common::stats::Precision;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_optimizer::PhysicalOptimizerRule;
use datafusion_physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion_physical_plan::projection::ProjectionExec;
use datafusion_physical_plan::sorts::sort::SortExec;
use datafusion_physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion_physical_plan::{
    ExecutionPlan, ExecutionPlanProperties, StatisticsArgs, StatisticsContext,
};
use log::debug;
use std::any::Any;
use std::sync::Arc;
use wgpu_bcfsort::KeyType;

/// Replaces each `SortExec` by a [`GpuSortExec`]. It must be the last rule, as
/// `SessionStateBuilder::with_physical_optimizer_rule` makes it: other rules look for `SortExec`.
///
/// DataFusion sorts each partition and merges them on one thread. The rule replaces both by one
/// sort of all partitions, which takes less time on a GPU than the merge.
/// `bcfsort.single_run = never` keeps them.
///
/// DataFusion sorts, on the CPU: keys of lists, maps and unions; unbounded inputs; and small
/// limits. With `bcfsort.device = auto` it also sorts whatever takes a GPU more time.
///
/// # Examples
///
/// See [`with_gpu_sort`](crate::with_gpu_sort).
#[derive(Debug, Default)]
pub struct GpuSortRule {
    /// None for the process's pool of the option `bcfsort.device`.
    pool: Option<Arc<GpuPool>>,
}

impl GpuSortRule {
    /// A rule that sorts on this pool's GPU.
    ///
    /// The option `bcfsort.device` says when: with `cpu` never, with `auto` where it takes less
    /// time than the CPU, and with any other value always. An adapter that the option names is
    /// ignored.
    #[must_use]
    pub fn with_pool(pool: Arc<GpuPool>) -> Self {
        Self { pool: Some(pool) }
    }

    /// Replaces the sorts of a plan.
    ///
    /// Executors of Ballista call it for their part of a plan. They set `single_run = never`, which
    /// keeps the number of partitions.
    ///
    /// # Errors
    ///
    /// A plan with a sort fails if the device does not exist, or if the device failed before and
    /// `on_error` is `fail`. Errors of DataFusion, which rebuilds the plan, are passed on.
    pub fn replace(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &BcfsortOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if options.device() == Device::Cpu {
            return Ok(plan);
        }
        let replace = |node: Arc<dyn ExecutionPlan>| {
            let any: &dyn Any = node.as_ref();
            Ok(
                if let Some(merge) = any.downcast_ref::<SortPreservingMergeExec>() {
                    match single_run(merge, options)? {
                        Some(sort) => Transformed::yes(sort),
                        None => Transformed::no(node),
                    }
                } else if let Some(sort) = any.downcast_ref::<SortExec>() {
                    Transformed::yes(Arc::new(self.replaced(sort.clone(), options)?) as _)
                } else {
                    Transformed::no(node)
                },
            )
        };
        plan.transform_up(replace).data()
    }

    /// Wraps a sort: with the GPU that sorts, or with the reason why the CPU does.
    fn replaced(&self, sort: SortExec, options: &BcfsortOptions) -> Result<GpuSortExec> {
        let sort = match self.place(&sort, options)? {
            Ok(pool) => GpuSortExec::new(sort, pool),
            Err(reason) => GpuSortExec::on_cpu(sort, reason),
        };
        if let Some(reason) = sort.reason() {
            debug!("[{}] is sorted on the CPU: {reason}", sort.sort().expr());
        }
        Ok(sort)
    }

    /// The pool for a sort, or the reason to sort on the CPU. The pool comes last, since it takes
    /// time to list the adapters.
    fn place(
        &self,
        sort: &SortExec,
        options: &BcfsortOptions,
    ) -> Result<Result<Arc<GpuPool>, String>> {
        if is_top_k(sort, options) {
            return Ok(Err("the limit is small".to_owned()));
        }
        let device = options.device();
        let key = match bits_of_keys(sort) {
            ..=32 => KeyType::U32,
            _ => KeyType::U64,
        };
        if let Precision::Exact(rows) = rows(sort)?
            && device == Device::Auto
            && is_slower_on_gpu(rows, key)
        {
            return Ok(Err(format!("{rows} rows are too few for a GPU")));
        }
        let pool = match &self.pool {
            Some(pool) => pool.clone(),
            None => GpuPool::of_device(&device).map_err(failed)?,
        };
        Ok(match pool.reason(key, options).map_err(failed)? {
            Some(reason) => Err(reason),
            None => Ok(pool),
        })
    }
}

impl PhysicalOptimizerRule for GpuSortRule {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace(plan, &BcfsortOptions::of(config))
    }

    fn name(&self) -> &'static str {
        "gpu_sort"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Replaces a merge and the sorts below it by one sort of all partitions. None if it must not.
fn single_run(
    merge: &SortPreservingMergeExec,
    options: &BcfsortOptions,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(node) = sort_below(merge.input()) else {
        return Ok(None);
    };
    let (sort, Some(pool)) = (node.sort(), node.pool()) else {
        return Ok(None);
    };
    let is_known_to_be_larger = match rows(sort)? {
        Precision::Exact(rows) | Precision::Inexact(rows) => rows > options.max_run_rows,
        Precision::Absent => false,
    };
    let is_wanted = match options.single_run {
        Switch::Always => true,
        Switch::Never => false,
        Switch::Auto => !is_known_to_be_larger,
    };
    if !is_wanted || !sort.preserve_partitioning() {
        return Ok(None);
    }
    let input = sort.input().clone();
    let input = if input.output_partitioning().partition_count() > 1 {
        Arc::new(CoalescePartitionsExec::new(input))
    } else {
        input
    };
    let fetch = match (merge.fetch(), sort.fetch()) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let all = SortExec::new(sort.expr().clone(), input).with_fetch(fetch);
    let all = Arc::new(GpuSortExec::new(all, pool.clone()));
    let plan = above(merge.input(), all)?;
    // The merge may order by more columns than the sort, if each partition had that order already.
    let is_sorted = plan
        .equivalence_properties()
        .ordering_satisfy(merge.expr().clone())?;
    Ok(is_sorted.then_some(plan))
}

/// Finds the sort in this node, or below projections that only select columns.
fn sort_below(plan: &Arc<dyn ExecutionPlan>) -> Option<&GpuSortExec> {
    let node: &dyn Any = plan.as_ref();
    match node.downcast_ref::<ProjectionExec>() {
        Some(columns) if selects_columns(columns) => sort_below(columns.input()),
        _ => node.downcast_ref(),
    }
}

/// Puts the projections above a sort on top of another sort.
fn above(plan: &Arc<dyn ExecutionPlan>, sort: Arc<GpuSortExec>) -> Result<Arc<dyn ExecutionPlan>> {
    let node: &dyn Any = plan.as_ref();
    match node.downcast_ref::<ProjectionExec>() {
        Some(columns) => {
            let below = above(columns.input(), sort)?;
            let columns = columns.expr().to_vec();
            Ok(Arc::new(ProjectionExec::try_new(columns, below)?))
        }
        None => Ok(sort),
    }
}

/// Whether a projection only selects columns. One that computes values keeps its partitions, so
/// that several cores share the work.
fn selects_columns(projection: &ProjectionExec) -> bool {
    projection
        .expr()
        .iter()
        .all(|column| column.expr.is::<Column>())
}

/// The number of rows to sort, as far as it is known.
fn rows(sort: &SortExec) -> Result<Precision<usize>> {
    let args = StatisticsArgs::new();
    let statistics = StatisticsContext::new().compute(sort.input().as_ref(), &args)?;
    Ok(statistics.num_rows)
}

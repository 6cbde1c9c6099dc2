//! The execution engine of executors, which sorts the stages of a plan on the GPU.

use ballista_core::JobId;
use ballista_executor::execution_engine::{
    DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor,
};
use bcfsort_datafusion::{BcfsortOptions, GpuSortRule, Switch};
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use std::sync::Arc;

/// Ballista's engine, with sorts on the GPU.
#[derive(Default)]
pub(crate) struct GpuEngine {
    rule: GpuSortRule,
    inner: DefaultExecutionEngine,
}

impl ExecutionEngine for GpuEngine {
    fn create_query_stage_exec(
        &self,
        job_id: JobId,
        stage_id: usize,
        task_id: usize,
        global_output_partition_ids: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        work_dir: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        let mut options = BcfsortOptions::of(config.options());
        // The scheduler counts on the partitions that it has planned.
        options.single_run = Switch::Never;
        let plan = self.rule.replace(plan, &options)?;
        self.inner.create_query_stage_exec(
            job_id,
            stage_id,
            task_id,
            global_output_partition_ids,
            plan,
            work_dir,
            config,
        )
    }
}

//! Queries with sorts on the GPU, against DataFusion's own sorts.

mod command;
mod devices;
mod ends;
mod explain;
mod memory;
mod random;
mod slt;
mod text;
mod tpch;

use bcfsort_datafusion::{BcfsortOptions, GpuSortExec, with_gpu_sort};
use datafusion::arrow::array::RecordBatch;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{SessionConfig, SessionContext};
use std::sync::Arc;

/// Options that do every sort on the adapter, even on a software one.
fn always() -> BcfsortOptions {
    on("gpu")
}

fn on(device: &str) -> BcfsortOptions {
    BcfsortOptions {
        device: device.to_owned(),
        ..BcfsortOptions::default()
    }
}

/// A session without the rule.
fn stock(config: SessionConfig) -> SessionContext {
    SessionContext::new_with_config(config)
}

/// A session with the rule.
fn session(config: SessionConfig, options: BcfsortOptions) -> SessionContext {
    session_in(config, options, RuntimeEnvBuilder::new())
}

fn session_in(
    config: SessionConfig,
    options: BcfsortOptions,
    runtime: RuntimeEnvBuilder,
) -> SessionContext {
    let builder = SessionStateBuilder::new()
        .with_config(config.with_option_extension(options))
        .with_runtime_env(runtime.build_arc().expect("a runtime"))
        .with_default_features();
    SessionContext::new_with_state(with_gpu_sort(builder).build())
}

/// The result of a query, and its plan with the metrics.
async fn run(
    session: &SessionContext,
    sql: &str,
) -> datafusion::error::Result<(Vec<RecordBatch>, Arc<dyn ExecutionPlan>)> {
    let plan = session.sql(sql).await?.create_physical_plan().await?;
    let batches = collect(plan.clone(), session.task_ctx()).await?;
    Ok((batches, plan))
}

/// The sorts of a plan that the rule has seen.
fn gpu_sorts(plan: &Arc<dyn ExecutionPlan>) -> Vec<Arc<dyn ExecutionPlan>> {
    let node: &dyn std::any::Any = plan.as_ref();
    let mut sorts = Vec::new();
    if node.is::<GpuSortExec>() {
        sorts.push(plan.clone());
    }
    for child in plan.children() {
        sorts.extend(gpu_sorts(child));
    }
    sorts
}

/// The sum of a metric over all sorts.
fn metric(plan: &Arc<dyn ExecutionPlan>, name: &str) -> usize {
    let of = |sort: &Arc<dyn ExecutionPlan>| {
        let metrics = sort.metrics()?;
        Some(metrics.sum_by_name(name)?.as_usize())
    };
    gpu_sorts(plan).iter().filter_map(of).sum()
}

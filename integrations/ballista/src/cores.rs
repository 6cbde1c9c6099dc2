//! Keeps Ballista's count of each executor's free cores right.
//!
//! If an executor is lost that had rows for a running stage, Ballista 55 runs this stage again and
//! cancels its tasks. It then forgets how many cores the cancelled tasks had, and never uses these
//! again: if they are all that are left, the query waits for ever.

use ballista_core::JobId;
use ballista_core::error::Result;
use ballista_core::serde::protobuf::{ExecutorHeartbeat, task_status};
use ballista_core::serde::scheduler::{ExecutorData, ExecutorMetadata};
use ballista_scheduler::cluster::{BoundTask, ClusterState, ClusterStateEventStream, ExecutorSlot};
use ballista_scheduler::config::TaskDistributionPolicy;
use ballista_scheduler::state::execution_stage::ExecutionStage;
use ballista_scheduler::state::task_manager::JobInfoCache;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tokio::sync::Mutex;

#[derive(Clone, Copy)]
struct Cores {
    all: u32,
    free: u32,
}

/// The state of a cluster, whose free cores are counted again before tasks are given to them.
pub(crate) struct CountedCores {
    inner: Arc<dyn ClusterState>,
    executors: Mutex<HashMap<String, Cores>>,
}

impl CountedCores {
    pub(crate) fn new(inner: Arc<dyn ClusterState>) -> Self {
        Self {
            inner,
            executors: Mutex::default(),
        }
    }
}

/// The cores of each executor that have a task.
async fn in_use(jobs: &HashMap<JobId, JobInfoCache>) -> HashMap<String, u32> {
    let mut cores = HashMap::new();
    for job in jobs.values() {
        let graph = job.execution_graph.read().await;
        for stage in graph.stages().values() {
            let ExecutionStage::Running(stage) = stage else {
                continue;
            };
            for task in &stage.task_infos {
                if let task_status::Status::Running(running) = &task.task_status {
                    *cores.entry(running.executor_id.clone()).or_default() += task.vcores_consumed;
                }
            }
        }
    }
    cores
}

#[async_trait::async_trait]
impl ClusterState for CountedCores {
    async fn init(&self) -> Result<()> {
        self.inner.init().await
    }

    async fn bind_schedulable_tasks(
        &self,
        distribution: TaskDistributionPolicy,
        jobs: Arc<HashMap<JobId, JobInfoCache>>,
        executors: Option<HashSet<String>>,
    ) -> Result<Vec<BoundTask>> {
        let mut counted = self.executors.lock().await;
        let in_use = in_use(&jobs).await;
        let mut lost = Vec::new();
        for (executor, cores) in counted.iter_mut() {
            let used = in_use.get(executor).copied().unwrap_or(0) + cores.free;
            if used < cores.all {
                lost.push((executor.clone(), cores.all - used));
                cores.free += cores.all - used;
            }
        }
        if !lost.is_empty() {
            self.inner.unbind_tasks(lost).await?;
        }
        let bound = self
            .inner
            .bind_schedulable_tasks(distribution, jobs, executors);
        let bound = bound.await?;
        for (executor, task) in &bound {
            if let Some(cores) = counted.get_mut(executor) {
                cores.free = cores.free.saturating_sub(task.vcores_consumed);
            }
        }
        Ok(bound)
    }

    async fn unbind_tasks(&self, mut slots: Vec<ExecutorSlot>) -> Result<()> {
        let mut counted = self.executors.lock().await;
        for (executor, freed) in &mut slots {
            if let Some(cores) = counted.get_mut(executor) {
                // Those of a cancelled task may have been counted already.
                *freed = (*freed).min(cores.all - cores.free);
                cores.free += *freed;
            }
        }
        self.inner.unbind_tasks(slots).await
    }

    async fn register_executor(
        &self,
        metadata: ExecutorMetadata,
        data: ExecutorData,
    ) -> Result<()> {
        let mut counted = self.executors.lock().await;
        let cores = Cores {
            all: data.total_vcores,
            free: data.available_vcores,
        };
        let id = metadata.id.clone();
        self.inner.register_executor(metadata, data).await?;
        counted.insert(id, cores);
        Ok(())
    }

    async fn save_executor_metadata(&self, metadata: ExecutorMetadata) -> Result<()> {
        self.inner.save_executor_metadata(metadata).await
    }

    async fn get_executor_metadata(&self, executor: &str) -> Result<ExecutorMetadata> {
        self.inner.get_executor_metadata(executor).await
    }

    async fn registered_executor_metadata(&self) -> Vec<ExecutorMetadata> {
        self.inner.registered_executor_metadata().await
    }

    async fn save_executor_heartbeat(&self, heartbeat: ExecutorHeartbeat) -> Result<()> {
        self.inner.save_executor_heartbeat(heartbeat).await
    }

    async fn remove_executor(&self, executor: &str) -> Result<()> {
        self.executors.lock().await.remove(executor);
        self.inner.remove_executor(executor).await
    }

    fn executor_heartbeats(&self) -> HashMap<String, ExecutorHeartbeat> {
        self.inner.executor_heartbeats()
    }

    fn get_executor_heartbeat(&self, executor: &str) -> Option<ExecutorHeartbeat> {
        self.inner.get_executor_heartbeat(executor)
    }

    async fn cluster_state_events(&self) -> Result<ClusterStateEventStream> {
        self.inner.cluster_state_events().await
    }
}

//! `bcfsort-ballista scheduler`: Ballista's scheduler, which also plans the parts of `sort-table`.

use crate::codec::{PartsLogicalCodec, PartsPhysicalCodec};
use crate::cores::CountedCores;
use anyhow::{Context, Result};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::{SchedulerConfig, TaskDistributionPolicy};
use ballista_scheduler::scheduler_process::start_server;
use clap::Args;
use std::net::SocketAddr;
use std::sync::Arc;

/// Run the scheduler of a cluster
///
/// It plans queries, and hands their tasks to executors. It sorts nothing, and needs no GPU.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:50050")]
    bind: SocketAddr,

    /// Seconds without a heartbeat after which an executor counts as lost
    #[arg(long, value_name = "SECONDS", default_value_t = 60,
        value_parser = clap::value_parser!(u64).range(8..))]
    executor_timeout: u64,
}

impl Arguments {
    pub(crate) async fn run(self) -> Result<()> {
        let config = SchedulerConfig {
            bind_host: self.bind.ip().to_string(),
            external_host: self.bind.ip().to_string(),
            bind_port: self.bind.port(),
            executor_timeout_seconds: self.executor_timeout,
            expire_dead_executor_interval_seconds: (self.executor_timeout / 4).max(1),
            // By default, the tasks of a stage fill one executor before another gets any.
            task_distribution: TaskDistributionPolicy::RoundRobin,
            override_logical_codec: Some(Arc::new(PartsLogicalCodec::default())),
            override_physical_codec: Some(Arc::new(PartsPhysicalCodec::default())),
            ..SchedulerConfig::default()
        };
        let cluster = BallistaCluster::new_from_config(&config).await?;
        let cores = CountedCores::new(cluster.cluster_state());
        let cluster = BallistaCluster::new(Arc::new(cores), cluster.job_state());
        let stop = tokio::signal::ctrl_c();
        tokio::select! {
            served = start_server(cluster, self.bind, Arc::new(config)) => {
                served.with_context(|| format!("cannot serve on {}", self.bind))
            }
            _ = stop => Ok(()),
        }
    }
}

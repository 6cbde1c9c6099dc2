//! `bcfsort-ballista executor`: Ballista's executor, with sorts on the GPU.

use crate::codec::PartsPhysicalCodec;
use crate::engine::GpuEngine;
use anyhow::{Context, Result};
use ballista_core::utils::default_config_producer;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use bcfsort_datafusion::commands::DeviceArgument;
use clap::Args;
use datafusion::prelude::SessionContext;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Seconds between two heartbeats, far below the least `--executor-timeout` of a scheduler.
const HEARTBEAT: u64 = 2;

/// Run an executor of a cluster
///
/// It asks the scheduler for tasks, and sorts on its GPU. Start one for each GPU.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The scheduler's host and port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050", value_parser = host)]
    scheduler: (String, u16),

    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind: IpAddr,

    /// Host under which the others reach this executor [default: that of --bind]
    #[arg(long, value_name = "HOST")]
    external_host: Option<String>,

    /// Port for the rows that others fetch
    #[arg(long, value_name = "PORT", default_value_t = 50051)]
    port: u16,

    /// Port for the scheduler's calls
    #[arg(long, value_name = "PORT", default_value_t = 50052)]
    grpc_port: u16,

    /// Directory for the rows that others fetch [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,

    /// Tasks at a time [default: the number of cores]
    #[arg(long, value_name = "N")]
    vcores: Option<usize>,

    /// Memory, such as 32G, divided among --vcores tasks [default: 70 % of the machine's]
    #[arg(short, long, value_name = "SIZE", value_parser = size)]
    memory_limit: Option<u64>,

    #[command(flatten)]
    device: DeviceArgument,
}

fn host(text: &str) -> Result<(String, u16), String> {
    let parts = text.rsplit_once(':');
    let parsed = parts.and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)));
    parsed.ok_or_else(|| "expected a host and a port, such as 10.0.0.1:50050".to_owned())
}

fn size(text: &str) -> Result<u64, String> {
    SessionContext::parse_capacity_limit("limit", &text.to_uppercase())
        .map(|bytes| bytes as u64)
        .map_err(|_| "expected a number with K, M or G, such as 32G".to_owned())
}

impl Arguments {
    pub(crate) async fn run(self) -> Result<()> {
        if let Some(directory) = &self.work_dir {
            std::fs::create_dir_all(directory)
                .with_context(|| format!("--work-dir {}", directory.display()))?;
        }
        let options = self.device.options()?;
        let with_options = move || default_config_producer().with_option_extension(options.clone());
        let mut config = ExecutorProcessConfig {
            bind_host: self.bind.to_string(),
            external_host: self.external_host.or_else(|| Some(self.bind.to_string())),
            port: self.port,
            grpc_port: self.grpc_port,
            scheduler_host: self.scheduler.0,
            scheduler_port: self.scheduler.1,
            scheduler_connect_timeout_seconds: 60,
            executor_heartbeat_interval_seconds: HEARTBEAT,
            work_dir: self.work_dir.map(|dir| dir.to_string_lossy().into_owned()),
            memory_pool_size: self.memory_limit,
            override_execution_engine: Some(Arc::new(GpuEngine::default())),
            override_physical_codec: Some(Arc::new(PartsPhysicalCodec::default())),
            override_config_producer: Some(Arc::new(with_options)),
            ..ExecutorProcessConfig::default()
        };
        if let Some(tasks) = self.vcores {
            config.vcores = tasks;
        }
        Ok(start_executor_process(Arc::new(config)).await?)
    }
}

//! The session of the shell and of `sort`.

use anyhow::{Context, Result};
use bcfsort_datafusion::commands::{DeviceArgument, Private};
use bcfsort_datafusion::with_gpu_sort;
use clap::Args;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

/// The number of largest consumers of memory that an error lists.
const CONSUMERS: NonZeroUsize = NonZeroUsize::new(3).unwrap();

/// The device, memory and disk that queries may use.
#[derive(Args)]
pub(crate) struct Resources {
    #[command(flatten)]
    device: DeviceArgument,

    /// Memory for queries, such as 4G: larger sorts use runs on disk [default: no limit]
    #[arg(short, long, value_name = "SIZE", value_parser = size)]
    memory_limit: Option<usize>,

    /// Space for runs on disk, such as 200G [default: 100G]
    #[arg(short, long, value_name = "SIZE", value_parser = size)]
    disk_limit: Option<usize>,

    /// Directory for runs [default: that of the system]
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
}

fn size(text: &str) -> Result<usize, String> {
    SessionContext::parse_capacity_limit("limit", &text.to_uppercase())
        .map_err(|_| "expected a number with K, M or G, such as 4G".to_owned())
}

impl Resources {
    /// Makes a directory for the runs of a sort, which is removed however the command ends.
    pub(crate) fn private_runs(&mut self) -> Result<Private> {
        let inside = self.temp_dir.clone().unwrap_or_else(std::env::temp_dir);
        std::fs::metadata(&inside).with_context(|| format!("--temp-dir {}", inside.display()))?;
        let private = Private::inside(&inside)?;
        self.temp_dir = Some(private.path().to_owned());
        Ok(private)
    }

    /// A session whose sorts are done on the GPU.
    pub(crate) fn session(
        &self,
        mut config: SessionConfig,
        stores: Option<Arc<dyn ObjectStoreRegistry>>,
    ) -> Result<SessionContext> {
        let extensions = &mut config.options_mut().extensions;
        extensions.insert(self.device.options()?);
        let mut runtime = RuntimeEnvBuilder::new();
        if let Some(bytes) = self.memory_limit {
            let pool = TrackConsumersPool::new(FairSpillPool::new(bytes), CONSUMERS);
            runtime = runtime.with_memory_pool(Arc::new(pool));
        }
        let mut disk = DiskManagerBuilder::default();
        if let Some(directory) = &self.temp_dir {
            std::fs::metadata(directory)
                .with_context(|| format!("--temp-dir {}", directory.display()))?;
            disk = disk.with_mode(DiskManagerMode::Directories(vec![directory.clone()]));
        }
        if let Some(bytes) = self.disk_limit {
            disk = disk.with_max_temp_directory_size(bytes as u64);
        }
        runtime = runtime.with_disk_manager_builder(disk);
        if let Some(stores) = stores {
            runtime = runtime.with_object_store_registry(stores);
        }
        let builder = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(runtime.build_arc()?)
            .with_default_features();
        Ok(SessionContext::new_with_state(
            with_gpu_sort(builder).build(),
        ))
    }
}

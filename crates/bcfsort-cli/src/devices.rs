//! `devices`: lists the adapters.

use bcfsort_term::engine::describe;
use bcfsort_term::fault::Fault;
use bcfsort_term::output::{print, print_data};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use wgpu_bcfsort::{Error, adapters, wgpu};

const AFTER_HELP: &str = "\
--device of other commands takes an index or a part of a name from this list; 'gpu' is the first of \
it. Exit code 3: there is no adapter.

Example:
  wgpu-bcfsort devices --json";

const DETAILS: &str = "\
--json prints an array of objects with the fields index, name, type, backend, driver, driver_info, \
vendor_id, device_id, timestamps (whether the GPU can measure its own time), max_buffer_size, \
max_storage_buffer_binding_size, max_compute_workgroup_storage_size (these in bytes) and \
max_compute_invocations_per_workgroup. Without an adapter the array is empty.";

/// List the GPUs (adapters) that can sort, best first
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, after_long_help = format!("{DETAILS}\n\n{AFTER_HELP}"))]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// An adapter. The fields are the keys of the JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Listed {
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) r#type: String,
    pub(crate) backend: String,
    pub(crate) driver: String,
    pub(crate) driver_info: String,
    vendor_id: u32,
    device_id: u32,
    timestamps: bool,
    max_buffer_size: u64,
    max_storage_buffer_binding_size: u64,
    max_compute_workgroup_storage_size: u32,
    max_compute_invocations_per_workgroup: u32,
}

impl Listed {
    pub(crate) fn new(index: usize, adapter: &wgpu::Adapter) -> Self {
        let (info, limits) = (adapter.get_info(), adapter.limits());
        let kind = match info.device_type {
            wgpu::DeviceType::DiscreteGpu => "discrete",
            wgpu::DeviceType::IntegratedGpu => "integrated",
            wgpu::DeviceType::VirtualGpu => "virtual",
            wgpu::DeviceType::Cpu => "cpu",
            wgpu::DeviceType::Other => "other",
        };
        Self {
            index,
            r#type: kind.to_owned(),
            backend: info.backend.to_string(),
            name: info.name,
            driver: info.driver,
            driver_info: info.driver_info,
            vendor_id: info.vendor,
            device_id: info.device,
            timestamps: adapter.features().contains(wgpu::Features::TIMESTAMP_QUERY),
            max_buffer_size: limits.max_buffer_size,
            max_storage_buffer_binding_size: limits.max_storage_buffer_binding_size,
            max_compute_workgroup_storage_size: limits.max_compute_workgroup_storage_size,
            max_compute_invocations_per_workgroup: limits.max_compute_invocations_per_workgroup,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    let adapters = adapters();
    let devices: Vec<Listed> = adapters
        .iter()
        .enumerate()
        .map(|(index, adapter)| Listed::new(index, adapter))
        .collect();
    if args.json {
        let json = serde_json::to_string_pretty(&devices)
            .map_err(|error| Fault::Usage(error.to_string()))?;
        print_data(&(json + "\n"))?;
    } else {
        let mut list = String::new();
        for (device, adapter) in devices.iter().zip(&adapters) {
            let _ = writeln!(
                list,
                "{}: {}\n   type {}, buffers to {} MiB, bindings to {} MiB, {} timestamps",
                device.index,
                describe(&adapter.get_info()),
                device.r#type,
                device.max_buffer_size >> 20,
                device.max_storage_buffer_binding_size >> 20,
                if device.timestamps { "with" } else { "without" },
            );
        }
        print(&list)?;
    }
    if devices.is_empty() {
        return Err(Error::NoAdapter.into());
    }
    Ok(())
}

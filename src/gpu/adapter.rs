//! Adapters: which of them can sort, and which features and limits to request.

use crate::device::{Allowed, DeviceKind};
use crate::error::Error;
use crate::options::Options;
use crate::planner::Planner;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

/// The features and limits that a device needs to sort. [`requirements`] computes them for an
/// adapter; add what the rest of the program needs before you request the device.
///
/// # Examples
///
/// ```no_run
/// # fn f(adapter: &wgpu::Adapter) -> Result<(), Box<dyn std::error::Error>> {
/// let needs = wgpu_bcfsort::requirements(adapter)?;
/// let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
///     required_features: needs.features,
///     required_limits: needs.limits,
///     ..Default::default()
/// }))?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Requirements {
    /// Optional features, if the adapter has them: `TIMESTAMP_QUERY` for the times of phases, and
    /// `PIPELINE_CACHE` for [`Sorter::with_pipeline_cache`](crate::Sorter::with_pipeline_cache). No
    /// feature is required.
    pub features: wgpu::Features,
    /// Limits: wgpu's defaults, or the adapter's where those are lower. Buffer sizes, workgroup
    /// memory and workgroup sizes are the adapter's maximum.
    pub limits: wgpu::Limits,
}

/// What limits of wgpu allow.
const fn allowed(limits: &wgpu::Limits) -> Allowed {
    Allowed {
        buffer_size: limits.max_buffer_size,
        binding_size: limits.max_storage_buffer_binding_size,
        workgroups: limits.max_compute_workgroups_per_dimension,
        workgroup_bytes: limits.max_compute_workgroup_storage_size,
        workgroup_lanes: limits.max_compute_invocations_per_workgroup,
        workgroup_size_x: limits.max_compute_workgroup_size_x,
        storage_buffers: limits.max_storage_buffers_per_shader_stage,
    }
}

/// Returns the features and limits to request for your device, for
/// [`Sorter::new`](crate::Sorter::new). Opens no device.
///
/// The kernels need no feature. They need 8 storage buffers per shader stage, 8480 bytes of
/// workgroup memory, workgroups of 256 lanes, dispatches of 65,535 workgroups and bindings of 16
/// MiB.
///
/// # Errors
///
/// [`Error::AdapterTooSmall`] if the adapter cannot run the kernels. Every adapter with
/// [`wgpu::Limits::default`] can.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// use wgpu_bcfsort::{Error, adapters, requirements};
/// let adapter = adapters().into_iter().next().ok_or(Error::NoAdapter)?;
/// let mut needs = requirements(&adapter)?;
/// // Add what the rest of the program needs.
/// needs.limits.max_bind_groups = adapter.limits().max_bind_groups;
/// # Ok(()) }
/// ```
pub fn requirements(adapter: &wgpu::Adapter) -> Result<Requirements, Error> {
    let offered = adapter.limits();
    allowed(&offered).check()?;
    let mut limits = wgpu::Limits::default().or_worse_values_from(&offered);
    limits.max_buffer_size = offered.max_buffer_size;
    limits.max_storage_buffer_binding_size = offered.max_storage_buffer_binding_size;
    limits.max_compute_workgroup_storage_size = offered.max_compute_workgroup_storage_size;
    limits.max_compute_invocations_per_workgroup = offered.max_compute_invocations_per_workgroup;
    limits.max_compute_workgroup_size_x = offered.max_compute_workgroup_size_x;
    let mut wanted = wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::PIPELINE_CACHE;
    if shares_memory(&adapter.get_info()) {
        wanted |= wgpu::Features::MAPPABLE_PRIMARY_BUFFERS;
    }
    Ok(Requirements {
        features: adapter.features() & wanted,
        limits,
    })
}

/// Whether the GPU's memory is that of the host, so that the host can write keys where the GPU
/// sorts them. (On DX12 memory that the host may write is not for kernels to write.)
pub(crate) const fn shares_memory(info: &wgpu::AdapterInfo) -> bool {
    use wgpu::{Backend, DeviceType};
    matches!(
        info.device_type,
        DeviceType::IntegratedGpu | DeviceType::Cpu
    ) && matches!(info.backend, Backend::Vulkan | Backend::Metal)
}

/// Lists the adapters of this machine that can sort: discrete GPUs first, then integrated and
/// virtual ones, then software. Adapters that cannot sort are logged and left out. A GPU appears
/// once for each backend that supports it.
///
/// Enumeration asks every driver, and the first call takes longest. wgpu's environment variables,
/// e.g. `WGPU_BACKEND=vulkan`, are read at the first call.
///
/// # What is process-wide
///
/// One [`wgpu::Instance`] and nothing else. This function and every function that opens an adapter
/// ([`Sorter::open`](crate::Sorter::open)) use it. It is created at the first use and lives until
/// the process ends. All calls share it because wgpu rejects an object of another device only
/// within one instance: it mistakes an object of another instance for its own. A sorter on your
/// device ([`Sorter::new`](crate::Sorter::new)) uses your instance.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// use wgpu_bcfsort::{Options, Sorter, adapters};
/// for adapter in adapters() {
///     println!("{}", adapter.get_info().name);
/// }
/// // The last adapter instead of the best.
/// if let Some(last) = adapters().last() {
///     let sorter = Sorter::open(Options::default().adapter(last))?;
/// }
/// # Ok(()) }
/// ```
#[must_use]
pub fn adapters() -> Vec<wgpu::Adapter> {
    pollster::block_on(adapters_async())
}

/// The instance of every adapter that this crate opens. There is only one, because wgpu rejects
/// objects of another device only within one instance; [`adapters`] documents it for users.
fn instance() -> &'static wgpu::Instance {
    static INSTANCE: LazyLock<wgpu::Instance> = LazyLock::new(|| {
        wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env())
    });
    &INSTANCE
}

/// The async version of [`adapters`]. In browsers it asks for the one adapter that the page may
/// use.
pub async fn adapters_async() -> Vec<wgpu::Adapter> {
    let mut adapters = instance().enumerate_adapters(wgpu::Backends::all()).await;
    adapters.retain(|adapter| match requirements(adapter) {
        Ok(_) => true,
        Err(error) => {
            log::info!("adapter {} is left out: {error}", adapter.get_info().name);
            false
        }
    });
    adapters.sort_by_key(|adapter| match adapter.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    });
    adapters
}

/// Plans sorts for a device. Fails if it is too small for the kernels, or an option is not valid.
pub(crate) fn planner(device: &wgpu::Device, options: Options) -> Result<Planner, Error> {
    let info = device.adapter_info();
    let kind = DeviceKind {
        is_cpu: info.device_type == wgpu::DeviceType::Cpu,
        is_discrete: info.device_type == wgpu::DeviceType::DiscreteGpu,
        has_fxc: info.backend == wgpu::Backend::Dx12,
    };
    let seed = RandomState::new().hash_one(0) as u32;
    Planner::new(options, kind, allowed(&device.limits()), seed)
}

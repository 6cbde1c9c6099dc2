//! Adapters: which of them can sort, and which features and limits to request.

use crate::plan::{DeviceLimits, MOST_BUCKETS, MOST_BUCKETS_ON_CPU, Tuning};
use crate::{Error, Options};
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

/// The limits that the kernels need: the name in [`wgpu::Limits`], the minimum, the actual value.
fn needed(limits: &wgpu::Limits) -> [(&'static str, u64, u64); 6] {
    [
        // The partition of 64-bit keys with values binds four buffers of records and four tables.
        (
            "max_storage_buffers_per_shader_stage",
            8,
            limits.max_storage_buffers_per_shader_stage.into(),
        ),
        // The page merge of two-word keys needs two planes of 32 x 33 + 2 words. WebGPU rounds each
        // up to a multiple of 16 bytes. Prefix sums need less.
        (
            "max_compute_workgroup_storage_size",
            8480,
            limits.max_compute_workgroup_storage_size.into(),
        ),
        (
            "max_compute_invocations_per_workgroup",
            256,
            limits.max_compute_invocations_per_workgroup.into(),
        ),
        (
            "max_compute_workgroup_size_x",
            256,
            limits.max_compute_workgroup_size_x.into(),
        ),
        (
            "max_compute_workgroups_per_dimension",
            65_535,
            limits.max_compute_workgroups_per_dimension.into(),
        ),
        (
            "max_storage_buffer_binding_size",
            16 << 20,
            limits.max_storage_buffer_binding_size,
        ),
    ]
}

pub(crate) fn check_limits(limits: &wgpu::Limits) -> Result<(), Error> {
    for (limit, needed, actual) in needed(limits) {
        if actual < needed {
            return Err(Error::AdapterTooSmall {
                limit,
                needed,
                actual,
            });
        }
    }
    Ok(())
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
    check_limits(&offered)?;
    let mut limits = wgpu::Limits::default().or_worse_values_from(&offered);
    limits.max_buffer_size = offered.max_buffer_size;
    limits.max_storage_buffer_binding_size = offered.max_storage_buffer_binding_size;
    limits.max_compute_workgroup_storage_size = offered.max_compute_workgroup_storage_size;
    limits.max_compute_invocations_per_workgroup = offered.max_compute_invocations_per_workgroup;
    limits.max_compute_workgroup_size_x = offered.max_compute_workgroup_size_x;
    let wanted = wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::PIPELINE_CACHE;
    Ok(Requirements {
        features: adapter.features() & wanted,
        limits,
    })
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
///     let sorter = Sorter::on_adapter(last, Options::default())?;
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

pub(crate) async fn adapters_async() -> Vec<wgpu::Adapter> {
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

/// The properties of a device that the defaults depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceKind {
    /// True for a CPU (a software adapter).
    pub(crate) is_cpu: bool,
    /// True for a GPU with its own memory.
    pub(crate) is_discrete: bool,
    /// True if FXC may compile the kernels: the DX12 shader compiler that comes with Windows.
    pub(crate) has_fxc: bool,
}

impl DeviceKind {
    pub(crate) fn of(device: &wgpu::Device) -> Self {
        let info = device.adapter_info();
        Self {
            is_cpu: info.device_type == wgpu::DeviceType::Cpu,
            is_discrete: info.device_type == wgpu::DeviceType::DiscreteGpu,
            has_fxc: info.backend == wgpu::Backend::Dx12,
        }
    }

    /// The maximum of the default number of buckets.
    pub(crate) const fn most_default_buckets(self) -> u32 {
        if self.is_cpu {
            MOST_BUCKETS_ON_CPU
        } else {
            MOST_BUCKETS
        }
    }

    /// The default tuning of the sample sort on this device.
    pub(crate) fn default_tuning(self) -> Tuning {
        if self.is_cpu {
            Tuning::cpu()
        } else if self.has_fxc {
            Tuning::small_kernels()
        } else {
            Tuning::default()
        }
    }

    /// The default of [`Options::keys_per_dispatch`].
    const fn default_keys_per_dispatch(self) -> u32 {
        if self.is_cpu {
            1 << 22
        } else if self.is_discrete {
            // 2 ms on an H200, and less than 0.1 s on a GPU with a fortieth of its bandwidth.
            1 << 28
        } else {
            1 << 25
        }
    }
}

/// The limits of a device that the plan depends on.
pub(crate) fn device_limits(device: &wgpu::Device, options: &Options) -> DeviceLimits {
    let limits = device.limits();
    let default = || DeviceKind::of(device).default_keys_per_dispatch();
    let keys = options.keys_per_dispatch.unwrap_or_else(default);
    DeviceLimits {
        // A binding's size must be a multiple of 4.
        buffer_bytes: limits
            .max_buffer_size
            .min(limits.max_storage_buffer_binding_size)
            / 8
            * 8,
        workgroups: limits.max_compute_workgroups_per_dimension,
        keys_per_dispatch: keys,
        workgroup_bytes: limits.max_compute_workgroup_storage_size,
        workgroup_lanes: limits.max_compute_invocations_per_workgroup,
        sampling_seed: RandomState::new().hash_one(0) as u32,
    }
}

//! Which adapters can sort, and what to ask of them.

use crate::plan::{DeviceLimits, MOST_BUCKETS, MOST_BUCKETS_ON_CPU, Tuning};
use crate::{Error, Options};
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

/// What to ask of an adapter, so that its device can sort: made by [`requirements`], and widened by
/// the caller with what else the device is for.
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
    /// Features, where the adapter has them: `TIMESTAMP_QUERY` for phase timings, and
    /// `PIPELINE_CACHE` for [`Sorter::with_pipeline_cache`](crate::Sorter::with_pipeline_cache).
    /// None is needed.
    pub features: wgpu::Features,
    /// Limits: the default ones, or the adapter's where they are lower, with the largest buffers
    /// and the most workgroup memory that the adapter offers.
    pub limits: wgpu::Limits,
}

/// The limits below which no kernel runs, by their names in [`wgpu::Limits`].
fn needed(limits: &wgpu::Limits) -> [(&'static str, u64, u64); 6] {
    [
        // The partition of 64-bit keys with values: four of these and four tables.
        (
            "max_storage_buffers_per_shader_stage",
            8,
            limits.max_storage_buffers_per_shader_stage.into(),
        ),
        // The page merge of two-word keys: two planes of 32 x 33 + 2 words, each rounded up to a
        // multiple of 16 bytes, as WebGPU counts them. Prefix sums take less.
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

/// The features and limits to request from an adapter, for a device of the caller's that is to sort
/// ([`Sorter::new`](crate::Sorter::new)). Nothing is opened.
///
/// The kernels need no feature, and of the limits 8 storage buffers a shader stage, 8480 bytes of
/// workgroup memory, workgroups of 256 lanes, dispatches of 65,535 workgroups and bindings of 16
/// MiB.
///
/// # Errors
///
/// [`Error::AdapterTooSmall`] if it cannot run the kernels: every adapter within
/// [`wgpu::Limits::default`] can.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// use wgpu_bcfsort::{Error, adapters, requirements};
/// let adapter = adapters().into_iter().next().ok_or(Error::NoAdapter)?;
/// let mut needs = requirements(&adapter)?;
/// // What the rest of the program needs.
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

/// Every adapter of this machine that can sort: discrete GPUs first, then integrated and virtual
/// ones, then software. Those that cannot are logged, and left out. One GPU comes once for each
/// backend that has it.
///
/// It takes as long as the drivers take to say what there is, longest the first time. wgpu's
/// environment variables apply, e.g. `WGPU_BACKEND=vulkan`, as they are at the first call.
///
/// # What is process-wide
///
/// One [`wgpu::Instance`], which lists the adapters of this function and of all that open one
/// ([`Sorter::open`](crate::Sorter::open)); nothing
/// else. It is made when it is first needed, and stays to the end of the process. There is one, and
/// not one for each call, because wgpu refuses what belongs to another device of the same instance,
/// but takes what belongs to another instance for its own: devices that are opened here can be told
/// apart. A sorter on a device of the caller's ([`Sorter::new`](crate::Sorter::new)) has the
/// caller's instance.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// use wgpu_bcfsort::{Options, Sorter, adapters};
/// for adapter in adapters() {
///     println!("{}", adapter.get_info().name);
/// }
/// // Not the best, but the last one.
/// if let Some(last) = adapters().last() {
///     let sorter = Sorter::on_adapter(last, Options::default())?;
/// }
/// # Ok(()) }
/// ```
#[must_use]
pub fn adapters() -> Vec<wgpu::Adapter> {
    pollster::block_on(adapters_async())
}

/// One instance for every adapter that this crate opens: wgpu can tell the devices of one instance
/// apart, and mistakes an object of another instance for one of its own. (Public: see
/// [`adapters`].)
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

/// What the defaults depend on of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceKind {
    /// Whether it is a CPU that sorts.
    pub(crate) is_cpu: bool,
    /// Whether it is a GPU with memory of its own.
    pub(crate) is_discrete: bool,
    /// Whether FXC may compile its kernels: the compiler that comes with Windows, for DX12.
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

    /// The most buckets that a device is given where the caller names none.
    pub(crate) const fn most_default_buckets(self) -> u32 {
        if self.is_cpu {
            MOST_BUCKETS_ON_CPU
        } else {
            MOST_BUCKETS
        }
    }

    /// The numbers of the sample sort that a device is given where the caller names none.
    pub(crate) fn default_tuning(self) -> Tuning {
        if self.is_cpu {
            Tuning::cpu()
        } else if self.has_fxc {
            Tuning::small_kernels()
        } else {
            Tuning::default()
        }
    }

    /// Keys that a dispatch may move where the caller says nothing of it.
    const fn default_keys_per_dispatch(self) -> u32 {
        if self.is_cpu {
            1 << 22
        } else if self.is_discrete {
            // 2 ms on an H200, and less than a tenth of a second with a fortieth of its bandwidth.
            1 << 28
        } else {
            1 << 25
        }
    }
}

/// What the plan needs to know of a device.
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

//! What is known of a device: its kind, what it allows, and what recordings depend on.

use crate::error::Error;
use crate::key::KeyType;
use crate::shader::LARGEST_TILE;

/// The limits that the kernels need: names in wgpu, and the least values.
pub const NEEDED_LIMITS: [(&str, u64); 6] = [
    // The partition of 64-bit keys with values binds four buffers of records and four tables.
    ("max_storage_buffers_per_shader_stage", 8),
    // The page merge of two-word keys needs two planes of 32 x 33 + 2 words. WebGPU rounds each up
    // to a multiple of 16 bytes. Prefix sums need less.
    ("max_compute_workgroup_storage_size", 8480),
    ("max_compute_invocations_per_workgroup", 256),
    ("max_compute_workgroup_size_x", 256),
    ("max_compute_workgroups_per_dimension", 65_535),
    ("max_storage_buffer_binding_size", 16 << 20),
];

/// The properties of a device that the defaults depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceKind {
    /// True for a CPU (a software adapter).
    pub is_cpu: bool,
    /// True for a GPU with its own memory.
    pub is_discrete: bool,
    /// True if FXC may compile the kernels: the DX12 shader compiler that comes with Windows.
    pub has_fxc: bool,
}

/// What a device allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The largest buffer, in bytes.
    pub buffer_size: u64,
    /// The largest binding of a storage buffer, in bytes.
    pub binding_size: u64,
    /// Workgroups per dimension of a dispatch.
    pub workgroups: u32,
    /// Bytes of workgroup memory.
    pub workgroup_bytes: u32,
    /// The largest number of lanes of a workgroup.
    pub workgroup_lanes: u32,
    /// The largest size of a workgroup in x.
    pub workgroup_size_x: u32,
    /// Storage buffers of a kernel.
    pub storage_buffers: u32,
}

impl Allowed {
    /// Fails if a limit is below what the kernels need.
    ///
    /// # Errors
    ///
    /// [`Error::AdapterTooSmall`].
    pub fn check(&self) -> Result<(), Error> {
        // In the order of the names.
        let actual = [
            self.storage_buffers.into(),
            self.workgroup_bytes.into(),
            self.workgroup_lanes.into(),
            self.workgroup_size_x.into(),
            self.workgroups.into(),
            self.binding_size,
        ];
        for ((limit, needed), actual) in NEEDED_LIMITS.into_iter().zip(actual) {
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

    /// The bytes of a buffer that can be bound at once, and the limit's name.
    pub(crate) const fn bound(&self) -> (&'static str, u64) {
        if self.binding_size <= self.buffer_size {
            ("max_storage_buffer_binding_size", self.binding_size)
        } else {
            ("max_buffer_size", self.buffer_size)
        }
    }
}

/// The device properties that a plan depends on. A [`Sorter`](crate::Sorter) reads them from its
/// device; plans and recordings without a device need explicit values.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::KeyType;
/// use wgpu_bcfsort::internals::device::DeviceLimits;
/// let limits = DeviceLimits {
///     buffer_bytes: 1 << 30,
///     workgroups: 65_535,
///     keys_per_dispatch: 1 << 25,
///     workgroup_bytes: 32 << 10,
///     workgroup_lanes: 1024,
///     sampling_seed: 0x5eed,
/// };
/// assert_eq!(limits.max_len(KeyType::F64), 1 << 27);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// The smaller of the largest buffer and the largest binding, in bytes.
    pub buffer_bytes: u64,
    /// Workgroups per dimension of a dispatch.
    pub workgroups: u32,
    /// Keys that one dispatch may move.
    pub keys_per_dispatch: u32,
    /// Bytes of workgroup memory that a workgroup may use.
    pub workgroup_bytes: u32,
    /// The largest number of lanes of a workgroup.
    pub workgroup_lanes: u32,
    /// The seed of the sample positions. It is not a property of the device: it is random for each
    /// sorter, so that no input is bad for all of them.
    pub sampling_seed: u32,
}

impl DeviceLimits {
    /// The largest number of keys that one recording sorts. It is limited by the buffer size and by
    /// 32-bit indices, also of the keys' words, since keys are copied word by word.
    #[must_use]
    pub const fn max_len(&self, key: KeyType) -> u64 {
        // The last page may reach past the last key.
        let indices = ((1 << 32) - 2 * LARGEST_TILE as u64) / key.words() as u64;
        let keys = self.buffer_bytes / (4 * key.words() as u64);
        if keys < indices { keys } else { indices }
    }

    /// Keys that one dispatch may merge. One workgroup merges a pair, page by page.
    #[must_use]
    pub const fn merged_keys_per_dispatch(&self) -> u32 {
        const MOST: u32 = 1 << 25;
        if self.keys_per_dispatch < MOST {
            self.keys_per_dispatch
        } else {
            MOST
        }
    }

    /// Pairs that are merged in one dispatch, whatever their length, if there are enough of them.
    ///
    /// 4096 for 2^25 keys per dispatch: 31 warps per multiprocessor of an H200, with 16 steps each.
    #[must_use]
    pub const fn fewest_pairs(&self) -> u32 {
        let pairs = self.merged_keys_per_dispatch() >> 13;
        if pairs == 0 { 1 } else { pairs }
    }

    /// Page merges (or copied pages) of a pair in one dispatch. They are sequential.
    #[must_use]
    pub const fn steps_per_dispatch(&self, page: u32) -> u32 {
        // A dispatch must end well before a driver's watchdog would end it. And llvmpipe silently
        // ends a loop after 65,535 iterations.
        match self.merged_keys_per_dispatch() / page {
            0 => 1,
            steps if steps < 1 << 14 => steps,
            _ => 1 << 14,
        }
    }
}

/// Divides a dispatch of `workgroups` workgroups with `keys` keys each into parts that are short
/// enough: the first workgroup of each part, and one past its last.
pub(crate) fn parts(
    workgroups: u32,
    keys: u32,
    limits: &DeviceLimits,
) -> impl Iterator<Item = (u32, u32)> + use<> {
    let part = (limits.keys_per_dispatch / keys).max(1);
    let firsts = (0..workgroups).step_by(part as usize);
    firsts.map(move |first| (first, workgroups.min(first.saturating_add(part))))
}

/// Workgroups in x and y for `count` of them in total. The last row may exceed `count`.
pub(crate) fn grid(count: u32, limits: &DeviceLimits) -> [u32; 2] {
    let x = count.min(limits.workgroups).max(1);
    [x, count.div_ceil(x)]
}

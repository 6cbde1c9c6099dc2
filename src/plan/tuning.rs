//! The sizes of the sample sort that may be chosen.

/// The sizes that decide the sample sort's speed, and not its result.
///
/// `wgpu-bcfsort tune` finds those that suit a device, and writes them to a file.
///
/// # Examples
///
/// The file, read with the feature `serde`. Of its fields a program needs but one, `tuning`:
///
#[cfg_attr(feature = "serde", doc = "```")]
#[cfg_attr(not(feature = "serde"), doc = "```ignore")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use wgpu_bcfsort::{Engine, Options, Tuning};
///
/// #[derive(serde::Deserialize)]
/// struct TuningFile {
///     tuning: Tuning,
/// }
///
/// // What the file does not name is as by default.
/// let text = r#"{ "adapter": "NVIDIA H200", "tuning": { "tile": 2048 } }"#;
/// let TuningFile { tuning } = serde_json::from_str(text)?;
/// assert_eq!((tuning.tile, tuning.samples), (2048, Tuning::default().samples));
/// // A sorter does so, too.
/// tuning.validate()?;
/// let options = Options::default().engine(Engine::SampleSort).tuning(tuning);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Tuning {
    /// Words of a tile that is sorted in workgroup memory: a power of two from 1024 to 8192.
    ///
    /// A tile has at least 1024 records of any size, and no more than fit the device's workgroup
    /// memory and 16 KiB.
    pub tile: u32,
    /// The most samples from which a segment's splitters are chosen: a power of two from 1024 to
    /// 8192.
    ///
    /// No more than 4096, or than fit the device's workgroup memory and 32 KiB, are taken.
    pub samples: u32,
    /// The most records that are sorted in tiles which are then merged at once; more are
    /// partitioned.
    ///
    /// Up to 16 tiles are merged, so [`tile`](Self::tile) bounds it, too. 0: none are merged.
    pub merged: u32,
    /// Whether kernels have the sizes that suit GPUs; if not, they have those that suit CPUs, which
    /// compile large kernels slowly.
    ///
    /// On CPUs tiles are of 1024 records, and a segment is split into at most 256 children.
    pub gpu: bool,
}

impl Tuning {
    /// What suits a CPU.
    #[must_use]
    pub const fn cpu() -> Self {
        Self {
            tile: 1024,
            samples: 2048,
            merged: 1 << 13,
            gpu: false,
        }
    }

    /// Sizes of a GPU whose compiler is slow with large kernels: that of DX12.
    pub(crate) const fn small_kernels() -> Self {
        Self {
            tile: 1024,
            samples: 1024,
            merged: 1 << 14,
            gpu: true,
        }
    }

    const fn gpu() -> Self {
        Self {
            tile: 4096,
            samples: 8192,
            merged: 1 << 16,
            gpu: true,
        }
    }
}

impl Default for Tuning {
    fn default() -> Self {
        Self::gpu()
    }
}

//! The tunable sizes of the sample sort.

use crate::error::Error;
use crate::shader::{LARGEST_TILE, MATRIX};

/// The largest number of samples that one workgroup sorts.
pub(super) const MOST_SAMPLES: u32 = 4096;

/// The sizes that determine the sample sort's speed, and not its result.
///
/// `wgpu-bcfsort tune` finds the sizes that are fastest on a device, and writes them to a file.
///
/// # Examples
///
/// The file, read with the feature `serde`. A program needs only its field `tuning`:
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
/// // Fields that the file does not contain have their default.
/// let text = r#"{ "adapter": "NVIDIA H200", "tuning": { "tile": 2048 } }"#;
/// let TuningFile { tuning } = serde_json::from_str(text)?;
/// assert_eq!((tuning.tile, tuning.samples), (2048, Tuning::default().samples));
/// // A sorter validates the tuning, too.
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
    /// A tile has 1024 to 4096 records, whatever their size, and no more than the device's
    /// workgroup memory holds. The default is 4096 words, 16 KiB: three workgroups share the 48 KiB
    /// of an NVIDIA multiprocessor.
    pub tile: u32,
    /// The largest number of samples from which a segment's splitters are chosen: a power of two
    /// from 1024 to 4096.
    ///
    /// The sort uses fewer where the device's workgroup memory, or 32 KiB of it, holds fewer.
    pub samples: u32,
    /// The largest number of records that are sorted in tiles and then merged at once. More records
    /// are partitioned.
    ///
    /// At most 16 tiles are merged, so [`tile`](Self::tile) is a bound, too. With 0 none are
    /// merged.
    pub merged: u32,
    /// True for the kernel sizes that suit GPUs; false for those that suit CPUs, which compile
    /// large kernels slowly.
    ///
    /// On CPUs tiles have 1024 records, and a segment has at most 256 children.
    pub gpu: bool,
}

impl Tuning {
    /// The sizes that suit a CPU.
    #[must_use]
    pub const fn cpu() -> Self {
        Self {
            tile: 1024,
            samples: 2048,
            merged: 1 << 13,
            gpu: false,
        }
    }

    /// The sizes for a GPU whose compiler is slow with large kernels, as on DX12.
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
            samples: MOST_SAMPLES,
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

impl Tuning {
    /// Checks that every tile size is in its range.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] with the name, the value and the range.
    pub fn validate(&self) -> Result<(), Error> {
        let is_size = |size: u32, most| size.is_power_of_two() && (MATRIX..=most).contains(&size);
        let numbers = [
            (
                "tuning.tile",
                self.tile,
                is_size(self.tile, LARGEST_TILE),
                "a power of two from 1024 to 8192",
            ),
            (
                "tuning.samples",
                self.samples,
                is_size(self.samples, MOST_SAMPLES),
                "a power of two from 1024 to 4096",
            ),
        ];
        match numbers.into_iter().find(|&(_, _, right, _)| !right) {
            Some((name, value, _, allowed)) => Err(Error::InvalidOption {
                name,
                value: value.into(),
                allowed,
            }),
            None => Ok(()),
        }
    }
}

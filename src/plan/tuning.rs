//! The numbers of the sample sort that may be chosen.

/// The numbers that decide the sample sort's speed, and not its result.
///
/// `wgpu-bcfsort tune` finds what suits a device, and writes it to a file.
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
/// // A sorter does the same, and refuses nonsense.
/// tuning.validate()?;
/// let options = Options::default().engine(Engine::SampleSort).tuning(tuning);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Tuning {
    /// Records of a tile that is sorted in workgroup memory, where a record is one word; as many
    /// words of larger records, but no fewer than 1024 records: 1024 to 8192, a power of two. Less
    /// where workgroup memory has no room for so many.
    pub tile: u32,
    /// Samples that a segment's splitters are chosen from, at the most: 1024 to 8192, a power of
    /// two.
    pub samples: u32,
    /// Records up to which sorted tiles are merged, all at once, and not partitioned: in 16 tiles
    /// at the most.
    pub merged: u32,
    /// Whether kernels have the sizes that suit GPUs. If not, they have those of CPUs, which
    /// compile large kernels slowly.
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

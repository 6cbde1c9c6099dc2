//! Sorts numbers and structs on the GPU, in WGSL compute shaders on [wgpu], for Vulkan, Metal and
//! DX12, without subgroup operations or vendor extensions.
//!
//! ```
//! # fn main() -> Result<(), wgpu_bcfsort::Error> {
//! let mut keys = [8, 6, 6, 5, 3, 0, 9];
//! wgpu_bcfsort::sort(&mut keys)?;
//! assert_eq!(keys, [0, 3, 5, 6, 6, 8, 9]);
//! # Ok(()) }
//! ```
//!
//! A sort of a GPU buffer, recorded into your command encoder:
//!
//! ```
//! use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter, wgpu};
//! # fn main() -> Result<(), wgpu_bcfsort::Error> {
//! let sorter = Sorter::open(Options::default())?; // or Sorter::new(&device, &queue, ..)
//! let keys: wgpu::Buffer = sorter.upload(&[0.5_f32, 2.0, -1.0])?;
//! // Once: compiles kernels, creates bind groups and scratch memory.
//! let sort = SortJob::new(Keys::new(&keys, KeyType::F32), 3).prepare(&sorter)?;
//! // Each frame: cannot fail and creates no GPU object.
//! let mut encoder = sorter.device().create_command_encoder(&Default::default());
//! sort.record(&mut encoder);
//! sorter.queue().submit([encoder.finish()]);
//! assert_eq!(sorter.download::<f32>(&keys)?, [-1.0, 0.5, 2.0]);
//! # Ok(()) }
//! ```
//!
//! # What to call
//!
//! | you have | use |
//! |---|---|
//! | one slice | [`sort`], [`sort_async`] |
//! | more keys or records than fit in memory | `ExternalSorter`, with the feature `external` |
//! | many slices | [`Sorter::open`], then [`Sorter::sort`] |
//! | an adapter of your choice | [`adapters`], [`Options::adapter`] |
//! | a slice, to get the indices that would sort it | [`Sorter::argsort`] |
//! | a slice of structs, or two slices | [`Sorter::sort_by_key`], [`Sorter::sort_pairs`]: stable |
//! | a slice of structs, and a custom comparator in WGSL | [`Sorter::sort_by`] with a [`Comparator`] |
//! | a wgpu device | [`Sorter::new`] |
//! | keys in a GPU buffer | [`SortJob::new`], [`SortJob::prepare`], [`PreparedSort::run`] |
//! | keys and 32-bit values (key-value sort) | [`SortJob::values`]; if the sort must be stable, [`SortJob::payload`] |
//! | keys and payload of any size (structure of arrays) | [`SortJob::payload`] |
//! | structs to sort by a field (array of structs) | [`Keys::strided`] |
//! | structs to sort by several fields; `u128`, `i128` | [`Keys::fields`], [`Sorter::sort_by_fields`]: stable |
//! | structs to sort by any other order; strings of fixed width | [`SortJob::by`] with a [`Comparator`] |
//! | read-only keys: to get the indices (argsort), or a sorted copy (out of place) | [`SortJob::argsort`], [`SortJob::output`] |
//! | a part of a buffer | a byte range: [`ToBinding`] |
//! | a number of keys in a GPU buffer (indirect count) | [`SortJob::len_from`] |
//! | many small arrays (segmented sort) | [`SortJob::segmented`] |
//! | top-k; `nth_element` | [`SortJob::top`], [`SortJob::range`] |
//! | top-k of each row of a matrix, or of each segment | [`TopKJob`] |
//! | several sorts that share scratch memory | [`Scratch`] |
//! | your own encoder or compute pass | [`PreparedSort::record`], [`PreparedSort::record_in_pass`] |
//! | a result to read back | [`Sorter::download`] |
//! | runs of equal keys, each key once, the starts of cells, the places of other keys | [`SortJob::runs`], [`SortJob::unique`], [`SortJob::starts_of`], [`SortJob::lower_bound`] |
//! | the same in a buffer that is sorted already | [`SortJob::of_sorted`] |
//! | records with a flag, or that a function in WGSL selects, to keep these (stream compaction) | [`CompactJob`], [`Predicate`] |
//! | values to add up (scan) | [`ScanJob`] |
//! | two sorted buffers, to merge them | [`MergeJob`] |
//! | keys, to count them in bins (histogram) | [`HistogramJob`] |
//! | keys that may be sorted already | [`Sorter::is_sorted_until`], [`Sorter::prepare_is_sorted`] |
//! | the time of each phase | [`PreparedSort::profile`], [`Sorter::profile`] |
//! | the time of each phase, in your own encoder | [`PreparedSort::record_timed`] |
//! | a first sort without the time of compiling | [`Sorter::warm_up`], [`Sorter::with_pipeline_cache`] |
//! | an error | [which errors to retry](Error#which-to-try-again) |
//!
//! # Keys, order and cost
//!
//! Keys are integers and floats of 8 to 64 bits ([`KeyType`]), and several fields of structs as one
//! key of up to 128 bits ([`KeyField`]), as `u128` is. Floats are in the total order of
//! [`f32::total_cmp`], and no bit of a NaN is changed. The result is the same on every device and
//! in every run. A sort takes O(n log n) time for all inputs. Scratch memory is at most 1.15 times
//! the bytes of keys and values, plus 16 MiB; [`SortJob`](SortJob#scratch-memory) has the bounds of
//! other sorts.
//!
//! # Browsers
//!
//! With the feature `webgpu`, on wasm32. A browser's thread cannot block: call the async versions.
//! Blocking calls fail there, including [`Sorter::open`] and [`adapters`]. Errors of non-blocking
//! calls such as [`SortJob::prepare`] are reported by the next non-blocking call on that device, or
//! by [`SortJob::prepare_async`]. wgpu cannot use a page's own device:
//! `integrations/web` can.
//!
//! # Not supported
//!
//! - Runs in segments of keys that are kept. By
//!   [some bits](Keys::bits) runs have no keys, and no other keys are looked for; by several
//!   [fields](Keys::fields) there are only starts and lengths of runs, of structs that are kept.
//! - Keys of more than 128 bits but by a comparator. With those of more than 64 bits nothing is
//!   found among sorted keys.
//! - Floats of 16 bits in host slices, which Rust has no type of. GPU buffers may have them.
//!
//! # Current implementation
//!
//! [`Engine::SampleSort`] is the fast engine on GPUs. The mergesorts are a complete implementation
//! of Sitchinava and Weichert, "Bank Conflict Free Comparison-based Sorting On GPUs"; [`paper`] has
//! its parameters and its colored prefix sums. A job becomes a plan, the plan becomes a recording
//! of dispatches, and an executor runs the recording. Only the executor needs a GPU.

#![deny(missing_docs)]
#![cfg_attr(docsrs, feature(doc_cfg))]
// Without `gpu`, some helpers have no caller.
#![cfg_attr(not(feature = "gpu"), allow(dead_code))]

/// The examples of README.md, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of the library's guide, as tests. One has an `ExternalSorter`.
#[cfg(all(doctest, feature = "external"))]
#[doc = include_str!("../docs/library.md")]
struct Guide;

#[cfg(feature = "gpu")]
mod at_once;
mod device;
mod engine;
mod error;
// Browsers have no files.
#[cfg(all(feature = "external", any(unix, windows)))]
mod external;
#[cfg(feature = "gpu")]
mod gpu;
mod histogram;
mod host;
#[doc(hidden)]
pub mod internals;
mod job;
mod key;
mod layout;
mod mergesort;
mod merging;
mod names;
mod no_adapter;
mod options;
mod order;
mod planner;
mod prefix_sums;
mod radixsort;
mod recording;
mod row_function;
mod samplesort;
mod scan;
mod shader;
#[cfg(feature = "gpu")]
mod sorter;
mod top_k;

pub use engine::Engine;
pub use error::{BufferRole, Error};
#[cfg(all(feature = "external", any(unix, windows)))]
pub use external::{ExternalError, ExternalSorter, Numbers, RecordFormat};
#[cfg(feature = "gpu")]
pub use gpu::adapter::{Requirements, adapters, adapters_async, requirements};
#[cfg(feature = "gpu")]
pub use gpu::binding::ToBinding;
#[cfg(feature = "gpu")]
pub use gpu::profile::{Clock, Detail, PhaseTime, Profile};
pub use host::permute;
pub use job::{Field, KeyField};
pub use key::{KeyType, SortKey};
#[cfg(feature = "gpu")]
pub use merging::MergeJob;
pub use names::UnknownName;
pub use options::Options;
pub use order::Order;
pub use recording::Phase;
#[doc(hidden)]
pub use row_function::FieldOf;
pub use row_function::{Comparator, Members, Predicate, WideKey};
pub use samplesort::Tuning;
#[cfg(feature = "gpu")]
pub use scan::ScanJob;
// Browsers wait for nothing.
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
pub use sorter::MultiSorter;
#[cfg(feature = "gpu")]
pub use sorter::{
    CompactJob, HistogramJob, Keys, Payload, PreparedSort, Runs, Scratch, SortJob, Sorter, TopKJob,
};
#[cfg(feature = "gpu")]
pub use wgpu;

/// The parameters of the paper's mergesorts, and its colored prefix sums. Most programs need
/// neither.
///
/// The paper is Sitchinava and Weichert, "Bank Conflict Free Comparison-based Sorting On GPUs".
pub mod paper {
    pub use crate::mergesort::{BaseCase, MergesortOptions};
    pub use crate::prefix_sums::{
        MOST_COLORS, PrefixSumsMethod, PrefixSumsOptions, Scan, Summand, prefix_sums_on_cpu,
    };
    #[cfg(feature = "gpu")]
    pub use crate::prefix_sums::{PrefixSums, PreparedPrefixSums};
}

/// Sorts a slice in ascending order on the best GPU of this machine.
///
/// Opens a device and compiles kernels for this one call: for more than one sort keep a [`Sorter`].
/// The sort is [`Sorter::sort`]: slices of any length, O(n log n) time, the same result on every
/// device.
///
/// # Errors
///
/// [`Error::NoAdapter`], [`Error::RequestDevice`], and those of [`Sorter::sort`]. The slice is
/// unchanged after an error.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let mut keys: Vec<i64> = (0..5000).map(|i| (i * 7919) % 5000 - 2500).collect();
/// wgpu_bcfsort::sort(&mut keys)?;
/// assert!(keys.is_sorted());
/// # Ok(()) }
/// ```
#[cfg(feature = "gpu")]
pub fn sort<T: SortKey>(keys: &mut [T]) -> Result<(), Error> {
    Sorter::open(Options::default())?.sort(keys, Order::Ascending)
}

/// The async version of [`sort`]. It does not block while the device works, but may block while it
/// opens the device and compiles kernels.
///
/// # Errors
///
/// Those of [`sort`].
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// # pollster::block_on(async {
/// let mut keys = [2.0_f64, -1.0, 0.5];
/// wgpu_bcfsort::sort_async(&mut keys).await?;
/// assert_eq!(keys, [-1.0, 0.5, 2.0]);
/// # Ok(()) }) }
/// ```
#[cfg(feature = "gpu")]
pub async fn sort_async<T: SortKey>(keys: &mut [T]) -> Result<(), Error> {
    Sorter::open_async(Options::default())
        .await?
        .sort_async(keys, Order::Ascending)
        .await
}

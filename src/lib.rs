//! Sorts numbers and structs on the GPU, in WGSL compute shaders on [wgpu]: for Vulkan, Metal and
//! DX12, without subgroup operations and without vendor extensions.
//!
//! ```
//! # fn main() -> Result<(), wgpu_bcfsort::Error> {
//! let mut keys = [8, 6, 6, 5, 3, 0, 9];
//! wgpu_bcfsort::sort(&mut keys)?;
//! assert_eq!(keys, [0, 3, 5, 6, 6, 8, 9]);
//! # Ok(()) }
//! ```
//!
//! In GPU buffers, recorded into a command encoder of your own:
//!
//! ```
//! use wgpu_bcfsort::{KeyType, Keys, Options, SortJob, Sorter, wgpu};
//! # fn main() -> Result<(), wgpu_bcfsort::Error> {
//! let sorter = Sorter::open(Options::default())?; // or Sorter::new(&device, &queue, ..)
//! let keys: wgpu::Buffer = sorter.upload(&[0.5_f32, 2.0, -1.0])?;
//! // Once: compiles kernels, makes bind groups and scratch memory.
//! let sort = sorter.prepare(&SortJob::new(Keys::new(&keys, KeyType::F32), 3))?;
//! // Each frame: cannot fail, and makes no GPU object.
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
//! | many slices, or a choice of adapter | [`Sorter::open`] or [`Sorter::on_adapter`], then [`Sorter::sort`] |
//! | a slice whose order you want as indices | [`Sorter::argsort`] |
//! | a slice of structs, or two slices | [`Sorter::sort_by_key`], [`Sorter::sort_pairs`]: stable |
//! | a slice of structs and an order in WGSL | [`Sorter::sort_by`] with a [`Comparator`] |
//! | a wgpu device | [`Sorter::new`] |
//! | keys in a GPU buffer | [`SortJob::new`], [`Sorter::prepare`], [`PreparedSort::run`] |
//! | keys and 32-bit values (key-value) | [`SortJob::values`], or [`SortJob::payload`] if ties must stay in order |
//! | keys and payload of any size (structure of arrays) | [`SortJob::payload`] |
//! | structs to sort by a field (array of structs) | [`Keys::strided`] |
//! | structs to sort by several fields or any rule; `u128`, strings of fixed width | [`SortJob::by`] with a [`Comparator`] |
//! | keys to leave as they are: indices, or a sorted copy | [`SortJob::argsort`], [`SortJob::output`] |
//! | a part of a buffer | a byte range: see [`ToBinding`] |
//! | a number of keys that only the GPU knows | [`SortJob::len_from`] |
//! | many small arrays | [`SortJob::segmented`] |
//! | the best k; the n-th | [`SortJob::top`], [`SortJob::range`] |
//! | several sorts that share scratch memory | [`Scratch`] |
//! | an encoder or a compute pass of your own | [`PreparedSort::record`], [`PreparedSort::record_in_pass`] |
//! | a result to read back | [`Sorter::download`] |
//! | keys that may be sorted already | [`Sorter::is_sorted_until`], [`Sorter::prepare_is_sorted`] |
//! | the time of each phase | [`PreparedSort::run_profiled`], [`PreparedSort::record_timed`] |
//! | a first sort that must not wait for compilers | [`Sorter::warm_up`], [`Sorter::with_pipeline_cache`] |
//! | an error | [`Error`](Error#which-to-try-again) says what may be tried again |
//!
//! # Keys, order and cost
//!
//! Keys are `u32`, `i32`, `f32`, `u64`, `i64` and `f64`, and in GPU buffers also of 8 and 16 bits
//! ([`KeyType`]). Floats are in the total order of [`f32::total_cmp`], and no bit of a NaN is
//! changed. The result is the same on every device and in every run. A sort takes O(n log n) time
//! whatever the keys are, and scratch memory of at most 1.15 times the bytes of keys and values and
//! 16 MiB; [`SortJob`](SortJob#scratch-memory) has the bound for all else.
//!
//! # What there is not
//!
//! - A merge of sorted buffers: copy them behind each other and sort.
//! - Unique keys and run lengths.
//! - A partial sort of each segment: all of each segment is sorted, and its best k are its first.
//! - A comparator with segments: give structs a field for the segment, and compare it first.
//! - Host slices of 8- and 16-bit keys, which GPU buffers may have.
//! - Futures of [`Sorter::sort_pairs`], [`Sorter::sort_by_key`] and [`Sorter::sort_by`].
//!   [`Sorter::argsort_async`] is what the first two are made of.
//!
//! # Current implementation
//!
//! [`Engine::SampleSort`] is the fast engine on GPUs. The mergesorts are a complete implementation
//! of Sitchinava and Weichert, "Bank Conflict Free Comparison-based Sorting On GPUs"; [`paper`] has
//! its parameters and its colored prefix sums. Keys become a plan, a plan becomes a recording of
//! dispatches, and an executor runs the recording. All but the executor is arithmetic and needs no
//! GPU.

#![deny(missing_docs)]
#![cfg_attr(docsrs, feature(doc_cfg))]

/// The examples of README.md, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of the library's guide, as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
struct Guide;

mod algorithm;
mod comparator;
mod error;
mod gpu;
mod host;
#[doc(hidden)]
pub mod internals;
mod kernel;
mod key;
mod layout;
mod network;
mod options;
mod order;
mod phases;
mod plan;
mod prefix_sums;
mod recording;
mod samplesort;
mod sorter;

pub use algorithm::{Engine, UnknownName};
#[doc(hidden)]
pub use comparator::FieldOf;
pub use comparator::{Comparator, Members, WideKey};
pub use error::{BufferRole, Error};
pub use gpu::adapter::{Requirements, adapters, requirements};
pub use gpu::binding::ToBinding;
pub use gpu::executor::{Clock, PhaseTime, Profile};
pub use key::{KeyType, SortKey};
pub use options::Options;
pub use order::Order;
pub use plan::Tuning;
pub use recording::Phase;
pub use sorter::{
    Field, Keys, Payload, PreparedSort, Scratch, Segmented, SegmentedSortJob, SortJob, Sorter,
    Whole,
};
pub use wgpu;

/// What the experiments of the paper need, and programs rarely do: the parameters of its mergesorts
/// and its colored prefix sums.
///
/// Sitchinava and Weichert, "Bank Conflict Free Comparison-based Sorting On GPUs".
pub mod paper {
    pub use crate::algorithm::{BaseCase, PrefixSumsMethod, Scan};
    pub use crate::options::{MergesortOptions, PrefixSumsOptions};
    pub use crate::prefix_sums::{PrefixSums, PreparedPrefixSums, Summand, prefix_sums_on_cpu};
}

/// Sorts a slice in ascending order on the best GPU of this machine.
///
/// It opens a device for this one call, and compiles kernels for it: for more than one sort
/// keep a [`Sorter`]. Else it is [`Sorter::sort`]: any length, O(n log n) time, and the same result
/// on every device.
///
/// # Errors
///
/// [`Error::NoAdapter`], [`Error::RequestDevice`], and those of [`Sorter::sort`]; the slice is then
/// as it was.
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
pub fn sort<T: SortKey>(keys: &mut [T]) -> Result<(), Error> {
    Sorter::open(Options::default())?.sort(keys, Order::Ascending)
}

/// [`sort`], as a future that does not block its executor while the device works. The opening of
/// the device and the compiling of kernels may.
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
pub async fn sort_async<T: SortKey>(keys: &mut [T]) -> Result<(), Error> {
    Sorter::open_async(Options::default())
        .await?
        .sort_async(keys, Order::Ascending)
        .await
}

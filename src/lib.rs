//! Bank-conflict-free GPU sorting in WGSL, on wgpu: for Vulkan, Metal and DX12.
//!
//! A complete implementation of Sitchinava and Weichert, "Bank Conflict Free Comparison-based
//! Sorting On GPUs": a mergesort whose kernels never let two lanes of a warp meet in a bank of
//! workgroup memory, whatever the keys; its colored prefix sums; and what it compares itself with
//! ([`Engine::Warpsort`], two [base cases](BaseCase) and the naive prefix sums), bank conflicts and
//! all.
//!
//! And a sample sort, which is faster on GPUs: [`Engine::SampleSort`] (the repository's
//! `docs/samplesort.md` is its design note). [`Engine::Auto`] chooses.
//!
//! | you have | use |
//! |---|---|
//! | a slice, and nothing else | [`sort`], or [`sort_async`] |
//! | many slices, or a choice of adapter | [`Sorter::open`] or [`Sorter::on_adapter`], then [`Sorter::sort`] |
//! | a slice whose order you want to know | [`Sorter::argsort`] |
//! | a slice of structs, or two slices | [`Sorter::sort_by_key`], [`Sorter::sort_pairs`]: stable |
//! | a wgpu device | [`Sorter::new`] |
//! | keys in a GPU buffer | [`Sorter::sort_buffer`] |
//! | keys and values in GPU buffers, or indices to be sorted | [`Sorter::prepare_pairs`] ([`BufferSort::stable`] if ties are to stay in order), [`Sorter::prepare_indices`] |
//! | structs in a GPU buffer, to be sorted by a field | [`BufferSort::of_rows`] |
//! | rows of any size that go with keys in another buffer, ties in order | [`BufferSort::rows`] |
//! | keys that stay where they are, and indices | [`BufferSort::keep_keys`] with [`BufferSort::indices`] |
//! | keys or rows that stay where they are, and another buffer for them in order | [`BufferSort::sorted_into`], [`BufferSort::rows_into`] |
//! | a part of a buffer; a number of keys that only the GPU knows | [`BufferSort::first`]; [`BufferSort::count`] |
//! | many arrays, one behind the other | [`BufferSort::segments`] |
//! | keys of 8 or 16 bits | [`BufferSort::of_packed`] |
//! | keys of many bits: `u128`, addresses, strings of a fixed width | [`Comparator::wide`] |
//! | the best k, in order or not; the n-th | [`BufferSort::ranks`] |
//! | an order of your own, in WGSL: several fields, any rule | [`Comparator`] with [`BufferSort::compared`] or [`Sorter::sort_compared`] |
//! | several sorts that may share scratch memory | [`Sorter::prepare_sort`] of a [`BufferSort`] with a [`Scratch`] |
//! | an encoder, or a compute pass, of your own | [`Sorter::prepare`] once, then [`Sorter::record_sort`] or [`Sorter::record_sort_in_pass`] |
//! | the time of each phase | [`Sorter::run_profiled`]; in an encoder of your own, [`Sorter::record_sort_timed`] |
//! | keys of which you want to know whether they are sorted | [`Sorter::first_out_of_order`]; on the GPU, [`Sorter::prepare_order_check`] |
//! | a first sort that need not compile its kernels | [`Sorter::warm_up`], [`Sorter::warm_up_sort`] |
//! | kernels that the next run need not compile | [`Sorter::with_pipeline_cache`] |
//! | values to add up, by color | [`PrefixSums`] |
//! | an error, which may go away or not | [`Error`](Error#which-to-try-again) |
//!
//! Keys are `u32`, `i32`, `f32`, `u64`, `i64` and `f64`, ascending or descending; floats sort by
//! [`f32::total_cmp`], and no bit of a NaN is changed. In GPU buffers they may also be of 8 or 16
//! bits ([`PackedKey`]). Sorts take O(n log n) time whatever the keys are. Keys alone and pairs
//! take scratch memory of at most 1.15 times their bytes and 16 MiB;
//! [`BufferSort`](BufferSort#scratch-memory) says what all else takes.
//!
//! ```
//! # fn main() -> Result<(), wgpu_bcfsort::Error> {
//! let mut keys = [8, 6, 6, 5, 3, 0, 9];
//! wgpu_bcfsort::sort(&mut keys)?;
//! assert_eq!(keys, [0, 3, 5, 6, 6, 8, 9]);
//! # Ok(()) }
//! ```
//!
//! # What there is not
//!
//! - A merge of sorted buffers. The sample sort makes no use of sorted parts: copy them behind each
//!   other and sort. A merge would be kernels of its own.
//! - Unique keys and run lengths. Nothing of a sort says which keys are equal, but of the few that
//!   are splitters: that is a pass over sorted keys which compares neighbours, and a sum over all
//!   of them.
//! - [Places](BufferSort::ranks) of each of many [arrays](BufferSort::segments): refused. All of
//!   each is sorted, and the best k are its first.
//! - A [comparator](BufferSort::compared) with [arrays](BufferSort::segments), or from a
//!   [first](BufferSort::first) record on: refused. Rows may have a field for the number of their
//!   array, which is compared before all else.
//! - A [look](Sorter::first_out_of_order) at the order of rows that are compared, of arrays, of
//!   places or of a number of keys that only the GPU knows: refused. It is for keys of all types,
//!   packed ones and fields, too, in one array or a part of it.
//! - Sorts of slices of 8 and 16 bits, which [buffers](BufferSort::of_packed) have.
//!   ([Slices](Sorter::sort_compared) of `u128` and other wide keys have one.)
//! - Futures of [`Sorter::sort_pairs`], [`Sorter::sort_by_key`] and [`Sorter::sort_compared`], and
//!   of [`PrefixSums`]. There is [`Sorter::argsort_async`], of which the first two are made.
//!
//! # How it is built
//!
//! Keys become a plan, a plan becomes a recording of dispatches of kernels, and an executor runs
//! the recording. Everything but the executor is arithmetic and needs no GPU.

#![deny(missing_docs)]
#![cfg_attr(docsrs, feature(doc_cfg))]

/// The examples of README.md, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

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
mod payload;
mod phases;
mod plan;
mod prefix_sums;
mod recording;
mod samplesort;
mod sorter;

pub use algorithm::{BaseCase, Engine, PrefixSumsMethod, Scan, UnknownName};
#[doc(hidden)]
pub use comparator::FieldOf;
pub use comparator::{Comparator, Members, WideKey};
pub use error::{BufferRole, Error};
pub use gpu::adapter::{Requirements, adapters, requirements};
pub use gpu::executor::{Clock, PhaseTime, Profile};
pub use host::{KWayMerge, first_out_of_order, sort_on_cpu};
pub use key::{KeyMap, KeyType, SortKey, UnknownKeyType};
pub use options::{Options, PrefixSumsOptions};
pub use order::Order;
pub use payload::Payload;
pub use plan::Tuning;
pub use prefix_sums::{PrefixSums, PreparedPrefixSums, Summand, prefix_sums_on_cpu};
pub use recording::Phase;
pub use sorter::{BufferSort, PackedKey, PreparedSort, Scratch, Sorter};
pub use wgpu;

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

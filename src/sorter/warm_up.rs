//! Compiles kernels in advance.

use super::Sorter;
use crate::error::Error;
use crate::key::KeyType;
use crate::order::Order;

impl Sorter {
    /// Compiles the kernels for a sort of `len` keys alone, in a slice or in a buffer, so that the
    /// first sort does not compile. To compile for any other sort,
    /// [prepare](crate::SortJob::prepare) it.
    ///
    /// Creates no buffer and submits nothing. Kernels that the sorter has already are not compiled
    /// again. Sorters made by [`with_options`](Self::with_options) share kernels. The kernels
    /// depend on ranges of `len`: after a warm-up for a large sort, a much smaller sort may still
    /// compile some.
    ///
    /// Blocks until all kernels are compiled, on all threads of the machine. That takes some
    /// seconds with an empty driver cache. From async code, call it on a thread for blocking work.
    /// Some drivers, such as lavapipe, defer a part of the work to the first run of a kernel. In
    /// browsers the call returns at once, and the browser compiles in the background; where your
    /// program must wait for the kernels, use
    /// [`SortJob::prepare_async`](crate::SortJob::prepare_async) instead.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] for more than [`max_len`](Self::max_len) keys (a longer slice is sorted
    /// in chunks of that length); [`Error::WorkgroupMemory`], [`Error::DeviceLost`],
    /// [`Error::Device`]. Kernels that compiled before the error are kept, and the next call tries
    /// the others again.
    ///
    /// # Examples
    ///
    /// Compile while the program reads its keys:
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// use wgpu_bcfsort::{KeyType, Options, Order, Sorter};
    /// let sorter = Sorter::open(Options::default())?;
    /// let mut keys: Vec<u32> = std::thread::scope(|scope| {
    ///     let warm = scope.spawn(|| sorter.warm_up(100_000, KeyType::U32, Order::Ascending));
    ///     let keys = (0..100_000).rev().collect();
    ///     // The sort reports the same error if this fails.
    ///     let _ = warm.join();
    ///     keys
    /// });
    /// sorter.sort(&mut keys, Order::Ascending)?;
    /// assert!(keys.is_sorted());
    /// # Ok(()) }
    /// ```
    pub fn warm_up(&self, len: u64, key: KeyType, order: Order) -> Result<(), Error> {
        let recording = self.planner.record_keys(len, key, order)?;
        self.pipelines.of_steps(&self.device, &recording).map(drop)
    }
}

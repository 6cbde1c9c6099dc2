//! Compiles what a later sort needs.

use super::Sorter;
use crate::gpu::calls;
use crate::layout::SortLayout;
use crate::{Error, KeyType, Order};

impl Sorter {
    /// Compiles the kernels that a sort of `len` keys alone needs, in a slice or a buffer, so that
    /// the first sort need not. For any other sort, [`prepare`](Self::prepare) it.
    ///
    /// It makes no buffer and submits nothing. Kernels that the sorter has are not compiled again,
    /// and sorters made by [`with_options`](Self::with_options) share them. They depend on `len`,
    /// in steps: after a warm-up for the largest sort, a much smaller one may still compile some.
    ///
    /// It blocks until all kernels are compiled, on as many threads as the machine runs at once:
    /// with an empty driver cache some seconds. From async code, call it on a thread for blocking
    /// work. (A driver may put a part of the work off until a kernel first runs, as lavapipe does.)
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] for more than [`max_len`](Self::max_len) keys, which a slice is sorted
    /// in parts of; [`Error::WorkgroupMemory`], [`Error::DeviceLost`], [`Error::Device`]. Kernels
    /// that compiled before the error are kept, and the next call tries the others again.
    ///
    /// # Examples
    ///
    /// While the program reads its keys:
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// use wgpu_bcfsort::{KeyType, Options, Order, Sorter};
    /// let sorter = Sorter::open(Options::default())?;
    /// let mut keys: Vec<u32> = std::thread::scope(|scope| {
    ///     let warm = scope.spawn(|| sorter.warm_up(100_000, KeyType::U32, Order::Ascending));
    ///     let keys = (0..100_000).rev().collect();
    ///     // A failure is one of the sort, too.
    ///     let _ = warm.join();
    ///     keys
    /// });
    /// sorter.sort(&mut keys, Order::Ascending)?;
    /// assert!(keys.is_sorted());
    /// # Ok(()) }
    /// ```
    pub fn warm_up(&self, len: u64, key: KeyType, order: Order) -> Result<(), Error> {
        let len = calls::check_len(&self.device, &self.limits, len, key)?;
        let layout = SortLayout::default();
        let recording = self.record_planned(self.plan(len, key.widened(), order, &layout))?;
        self.pipelines.of_steps(&self.device, &recording).map(drop)
    }
}

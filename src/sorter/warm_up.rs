//! Compiles what a later sort needs.

use super::{BufferSort, Sorter};
use crate::gpu::calls;
use crate::layout::Arrangement;
use crate::{Error, KeyType, Order};

impl Sorter {
    /// Compiles the kernels that a sort of `len` keys needs, so that this sort need not.
    ///
    /// It makes no buffer and submits nothing. Kernels that the sorter has are not compiled again,
    /// and sorters made by [`with_options`](Self::with_options) share them. A sort needs the same
    /// kernels in a buffer and in a slice. They depend on `len`, in steps: after a warm-up for the
    /// largest sort, a much smaller one may still compile some.
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
        let recording = self.record_job(self.job(len, key, order, &Arrangement::default()))?;
        self.pipelines.of_steps(&self.device, &recording).map(drop)
    }

    /// [`warm_up`](Self::warm_up) for a sort of buffers, with all that it may have.
    ///
    /// The buffers are not looked at, and may be too small or the same: any buffer of the device
    /// stands in for those that are yet to be made. An [argsort](Self::argsort) of a slice, and
    /// what is made of it, needs the kernels of [`BufferSort::indices`].
    ///
    /// # Errors
    ///
    /// Those of [`scratch_size_of`](Self::scratch_size_of) and of [`warm_up`](Self::warm_up).
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// use wgpu_bcfsort::{BufferSort, KeyType, Options, Order, Sorter};
    /// let sorter = Sorter::open(Options::default())?;
    /// let any = sorter.device().create_buffer(&wgpu::BufferDescriptor {
    ///     label: None,
    ///     size: 4,
    ///     usage: wgpu::BufferUsages::STORAGE,
    ///     mapped_at_creation: false,
    /// });
    /// sorter.warm_up_sort(&BufferSort::new(&any, 1000, KeyType::F32).indices(&any))?;
    ///
    /// let distances: Vec<f32> = (0..1000).map(|i| (i * 7919 % 1000) as f32).collect();
    /// let nearest = sorter.argsort(&distances, Order::Ascending)?;
    /// assert_eq!(nearest[0], 0);
    /// # Ok(()) }
    /// ```
    pub fn warm_up_sort(&self, sort: &BufferSort<'_>) -> Result<(), Error> {
        let recording = self.record_buffers(sort)?;
        self.pipelines.of_steps(&self.device, &recording).map(drop)
    }
}

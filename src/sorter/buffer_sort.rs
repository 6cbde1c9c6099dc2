//! What to sort in buffers of the GPU, said piece by piece.

use crate::gpu::executor::BufferSet;
use crate::{KeyType, Order, Payload};

/// A sort of buffers of the GPU, for [`Sorter::prepare_sort`](crate::Sorter::prepare_sort): of keys, ascending, unless more is
/// said.
///
/// # Examples
///
/// Two argsorts that share their scratch memory:
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use wgpu_bcfsort::{BufferSort, KeyType, Options, Order, Scratch, Sorter};
/// # let sorter = Sorter::open(Options::default())?;
/// # let buffer = || sorter.device().create_buffer(&wgpu::BufferDescriptor {
/// #     label: None,
/// #     size: 4 * 3000,
/// #     usage: wgpu::BufferUsages::STORAGE,
/// #     mapped_at_creation: false,
/// # });
/// # let [near, nearest, far, farthest] = [buffer(), buffer(), buffer(), buffer()];
/// let mut scratch = Scratch::default();
/// let first = sorter.prepare_sort(
///     BufferSort::new(&near, 3000, KeyType::F32)
///         .indices(&nearest)
///         .scratch(&mut scratch),
/// )?;
/// let second = sorter.prepare_sort(
///     BufferSort::new(&far, 3000, KeyType::F32)
///         .order(Order::Descending)
///         .indices(&farthest)
///         .scratch(&mut scratch),
/// )?;
/// let mut encoder = sorter.device().create_command_encoder(&Default::default());
/// sorter.record_sort(&mut encoder, &first)?;
/// sorter.record_sort(&mut encoder, &second)?;
/// sorter.queue().submit([encoder.finish()]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "it is prepared by Sorter::prepare_sort"]
pub struct BufferSort<'a> {
    pub(super) keys: &'a wgpu::Buffer,
    pub(super) len: u64,
    pub(super) key: KeyType,
    pub(super) order: Order,
    pub(super) carried: Option<(Payload, &'a wgpu::Buffer)>,
    pub(super) scratch: Option<&'a mut Scratch>,
}

impl<'a> BufferSort<'a> {
    /// Of the first `len` keys of a buffer, which needs the usage `STORAGE`.
    pub const fn new(keys: &'a wgpu::Buffer, len: u64, key: KeyType) -> Self {
        Self {
            keys,
            len,
            key,
            order: Order::Ascending,
            carried: None,
            scratch: None,
        }
    }

    /// In this order.
    pub const fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// With a 32-bit value of another buffer for each key: [`Payload::Values`]. In place of
    /// [`indices`](Self::indices), if they were named.
    pub const fn values(mut self, values: &'a wgpu::Buffer) -> Self {
        self.carried = Some((Payload::Values, values));
        self
    }

    /// With each key's index in the input, which is written to another buffer: [`Payload::Indices`], a stable sort. In place
    /// of [`values`](Self::values), if they were named.
    pub const fn indices(mut self, indices: &'a wgpu::Buffer) -> Self {
        self.carried = Some((Payload::Indices, indices));
        self
    }

    /// With this scratch memory, which other sorts use, too, and which grows to what is needed. Without, the sort has
    /// memory of its own.
    pub const fn scratch(mut self, scratch: &'a mut Scratch) -> Self {
        self.scratch = Some(scratch);
        self
    }
}

/// Scratch memory for sorts that do not run at the same time: as much as the largest of them needs.
///
/// What is recorded one after the other, into one encoder or several, does not run at the same time. A sort
/// keeps the memory that it was prepared with, also where this has grown since. It belongs to one device.
///
/// Made by [`Default`], empty; see [`BufferSort`].
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) buffers: BufferSet,
}

impl Scratch {
    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.buffers.values().map(wgpu::Buffer::size).sum()
    }
}

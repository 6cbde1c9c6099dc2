//! What a user describes: which buffers a sort reads and writes, and what became of it.

use bevy_asset::Handle;
use bevy_ecs::component::Component;
use bevy_render::render_asset::RenderAssets;
use bevy_render::render_resource::Buffer;
use bevy_render::storage::{GpuShaderBuffer, ShaderBuffer};
use std::fmt;
use std::sync::Arc;
use wgpu_bcfsort::{Error, KeyType, Keys, Order, PreparedSort, SortJob, Sorter, wgpu};

/// A buffer of Bevy's device: a buffer of its own, or the buffer of an asset.
///
/// It needs the usage `STORAGE`, which a [`ShaderBuffer`] has by default. The first record is at
/// the beginning of the buffer. Other ranges are for [`GpuSort::custom`].
///
/// An asset has a buffer once Bevy has uploaded it, and the sort waits until then. The sort keeps
/// the asset alive. If Bevy replaces its buffer, as it does when the asset is resized, the sort is
/// prepared again.
#[derive(Clone, Debug, PartialEq)]
pub enum SortBuffer {
    /// A buffer that the app has made, on the `RenderDevice`.
    Buffer(wgpu::Buffer),
    /// The buffer of an asset.
    Asset(Handle<ShaderBuffer>),
}

impl SortBuffer {
    fn resolve(&self, assets: &RenderAssets<GpuShaderBuffer>) -> Option<wgpu::Buffer> {
        match self {
            Self::Buffer(buffer) => Some(buffer.clone()),
            Self::Asset(handle) => assets.get(handle).map(|asset| (*asset.buffer).clone()),
        }
    }
}

impl From<&Buffer> for SortBuffer {
    fn from(buffer: &Buffer) -> Self {
        Self::Buffer((**buffer).clone())
    }
}

impl From<&wgpu::Buffer> for SortBuffer {
    fn from(buffer: &wgpu::Buffer) -> Self {
        Self::Buffer(buffer.clone())
    }
}

impl From<&Handle<ShaderBuffer>> for SortBuffer {
    fn from(handle: &Handle<ShaderBuffer>) -> Self {
        Self::Asset(handle.clone())
    }
}

/// Sorts keys in a GPU buffer in each frame, with values or indices if you give them.
///
/// Spawn it, or insert it into an entity, of the main world. It is prepared in the next frame that
/// is rendered, which compiles kernels and allocates scratch memory: that frame takes longer. From
/// then on it is recorded in each frame, in [`GpuSortSystems::Record`](crate::GpuSortSystems), and
/// neither makes a GPU object nor allocates. [`GpuSortState`], which is inserted with it, says
/// whether it is prepared.
///
/// If it is replaced or changed, it is prepared again, unless the change makes no difference. To
/// stop sorting and to free the memory, remove it or despawn its entity.
///
/// # Shapes
///
/// | buffer | bytes |
/// |---|---|
/// | keys | `len` times [`KeyType::bytes`] |
/// | [`values`](Self::values), [`indices`](Self::indices) | 4 times `len` |
/// | [`starts_of`](Self::starts_of) | 4 times `cells + 1` |
/// | [`len_from`](Self::len_from) | 4 |
///
/// Buffers may be larger: the bytes beyond are left as they are. No buffer may be given twice.
///
/// # Order and stability
///
/// Floats have the total order of [`f32::total_cmp`]. Indices are stable: those of equal keys
/// ascend. Values of equal keys are in an unspecified order, the same in each run.
///
/// If several sorts are recorded in a frame, their order is unspecified: none may use what another
/// one writes. To sort one after the other, call [`manual`](Self::manual) and record them yourself.
///
/// # Memory
///
/// Each sort has scratch memory of its own on the GPU: 1.15 times the bytes of keys and values plus
/// at most 16 MiB, and 2.5 times in some cases, which the library's documentation lists
/// ([`SortJob`]). It also keeps its buffers alive.
///
/// # Errors
///
/// An error is logged once, and put into [`GpuSortState`]: a buffer without the usage `STORAGE`, a
/// buffer that is too small, and whatever else [`SortJob::prepare`] refuses. Then nothing is
/// recorded. It is tried again when the component changes, or the buffer of an asset.
///
/// # Examples
///
/// ```
/// use bevy_asset::Assets;
/// use bevy_bcfsort::GpuSort;
/// use bevy_bcfsort::wgpu_bcfsort::{KeyType, Order};
/// use bevy_ecs::prelude::*;
/// use bevy_render::storage::ShaderBuffer;
///
/// fn setup(mut commands: Commands, mut buffers: ResMut<Assets<ShaderBuffer>>) {
///     let depths = buffers.add(ShaderBuffer::from(vec![0.5_f32, 2.0, -1.0]));
///     let order = buffers.add(ShaderBuffer::from(vec![0_u32; 3]));
///     // Writes the indices in each frame, the farthest first.
///     commands.spawn(
///         GpuSort::argsort(&depths, KeyType::F32, &order, 3).order(Order::Descending),
///     );
/// }
/// ```
#[derive(Clone, Component, Debug, PartialEq)]
#[require(GpuSortState)]
pub struct GpuSort {
    pub(crate) job: Job<SortBuffer>,
    pub(crate) manual: bool,
}

impl GpuSort {
    /// Sorts the first `len` keys in place, ascending.
    pub fn new(keys: impl Into<SortBuffer>, key: KeyType, len: u64) -> Self {
        Self {
            job: Job::Buffers(Buffers {
                keys: keys.into(),
                key,
                len,
                order: Order::Ascending,
                keep_keys: false,
                values: None,
                indices: None,
                starts: None,
                count: None,
            }),
            manual: false,
        }
    }

    /// Writes the indices that would sort the first `len` keys, each a `u32`. The keys are not
    /// changed.
    pub fn argsort(
        keys: impl Into<SortBuffer>,
        key: KeyType,
        indices: impl Into<SortBuffer>,
        len: u64,
    ) -> Self {
        let sort = Self::new(keys, key, len).indices(indices);
        sort.set(|buffers| buffers.keep_keys = true)
    }

    /// Whatever the library prepares: payload of any size, structs, ranges of buffers, segments,
    /// comparators, runs, top-k, scans, compaction.
    ///
    /// `prepare` is called in the render world, in the frame after the component was inserted, and
    /// again if the device was lost and Bevy has made another one. A clone of the component is the
    /// same sort; one from another call of this method is prepared anew. The other methods of the
    /// builder, but for [`manual`](Self::manual), do not apply.
    ///
    /// # Examples
    ///
    /// Keys and rows of 12 bytes, in one sort:
    ///
    /// ```
    /// use bevy_bcfsort::GpuSort;
    /// use bevy_bcfsort::wgpu_bcfsort::{KeyType, Keys, Payload, SortJob, wgpu};
    ///
    /// fn by_cell(cells: wgpu::Buffer, positions: wgpu::Buffer, len: u64) -> GpuSort {
    ///     GpuSort::custom(move |sorter| {
    ///         SortJob::new(Keys::new(&cells, KeyType::U32), len)
    ///             .payload(Payload::new(&positions, 12))
    ///             .prepare(sorter)
    ///     })
    /// }
    /// ```
    pub fn custom(
        prepare: impl Fn(&Sorter) -> Result<PreparedSort, Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            job: Job::Custom(Custom(Arc::new(prepare))),
            manual: false,
        }
    }

    /// Moves a value of 32 bits with each key. In a frame loop the values must be written anew in
    /// each frame, as the keys are. Indices are written by the sort itself.
    #[must_use]
    pub fn values(self, values: impl Into<SortBuffer>) -> Self {
        self.set(|buffers| buffers.values = Some(values.into()))
    }

    /// Writes the index that each key had, a `u32`, in the sorted order.
    #[must_use]
    pub fn indices(self, indices: impl Into<SortBuffer>) -> Self {
        self.set(|buffers| buffers.indices = Some(indices.into()))
    }

    /// Sorts in this order instead of ascending.
    #[must_use]
    pub fn order(self, order: Order) -> Self {
        self.set(|buffers| buffers.order = order)
    }

    /// Writes where the records of each cell begin, for unsigned keys that are numbers of cells:
    /// cell c has the records `table[c]..table[c + 1]`. The table has `cells + 1` words.
    #[must_use]
    pub fn starts_of(self, table: impl Into<SortBuffer>, cells: u32) -> Self {
        self.set(|buffers| buffers.starts = Some((table.into(), cells)))
    }

    /// Reads the number of keys from the first word of a buffer when the sort runs, a `u32` of at
    /// most `len`: the app need not know it.
    #[must_use]
    pub fn len_from(self, count: impl Into<SortBuffer>) -> Self {
        self.set(|buffers| buffers.count = Some(count.into()))
    }

    /// Prepares the sort and does not record it: a system of yours does, by
    /// [`ExtractedGpuSort::prepared`](crate::ExtractedGpuSort::prepared), such as one between two
    /// passes of a camera.
    #[must_use]
    pub fn manual(mut self) -> Self {
        self.manual = true;
        self
    }

    /// Changes what the builder describes: nothing of a custom sort.
    fn set(mut self, change: impl FnOnce(&mut Buffers<SortBuffer>)) -> Self {
        if let Job::Buffers(buffers) = &mut self.job {
            change(buffers);
        }
        self
    }

    /// Sets the number of keys. Another number than before prepares the sort again, in the next
    /// frame; a number that changes often is for [`len_from`](Self::len_from).
    pub fn set_len(&mut self, len: u64) {
        if let Job::Buffers(buffers) = &mut self.job {
            buffers.len = len;
        }
    }
}

/// Whether a [`GpuSort`] sorts: a component of the same entity, which the plugin writes.
///
/// It is that of the last frame that was rendered, and changes only when the sort is prepared, has
/// failed or waits again. So a query with `Changed<GpuSortState>` sees each error once.
/// It stays on the entity if the sort is removed.
///
/// # Examples
///
/// ```
/// use bevy_bcfsort::GpuSortState;
/// use bevy_ecs::prelude::*;
///
/// fn on_error(states: Query<(Entity, &GpuSortState), Changed<GpuSortState>>) {
///     for (entity, state) in &states {
///         if let GpuSortState::Failed(error) = state {
///             eprintln!("{entity}: {error}");
///         }
///     }
/// }
/// ```
#[derive(Clone, Component, Debug, Default)]
#[non_exhaustive]
pub enum GpuSortState {
    /// It is not prepared yet, or the buffer of an asset is not on the GPU. Without a renderer, or
    /// without [`SortPlugin`](crate::SortPlugin), it remains so.
    #[default]
    Waiting,
    /// It is prepared, and recorded in each frame, unless it is [manual](GpuSort::manual).
    Ready,
    /// It could not be prepared, and nothing is recorded.
    Failed(Arc<Error>),
}

/// A sort with buffers of some kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Job<B> {
    Buffers(Buffers<B>),
    Custom(Custom),
}

impl Job<SortBuffer> {
    /// The same with the buffers on the GPU, if all of them are there.
    pub(crate) fn resolve(
        &self,
        assets: &RenderAssets<GpuShaderBuffer>,
    ) -> Option<Job<wgpu::Buffer>> {
        Some(match self {
            Self::Buffers(buffers) => Job::Buffers(buffers.resolve(assets)?),
            Self::Custom(custom) => Job::Custom(custom.clone()),
        })
    }
}

impl Job<wgpu::Buffer> {
    pub(crate) fn prepare(&self, sorter: &Sorter) -> Result<PreparedSort, Error> {
        match self {
            Self::Buffers(buffers) => buffers.prepare(sorter),
            Self::Custom(Custom(prepare)) => prepare(sorter),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Buffers<B> {
    keys: B,
    key: KeyType,
    len: u64,
    order: Order,
    keep_keys: bool,
    values: Option<B>,
    indices: Option<B>,
    starts: Option<(B, u32)>,
    count: Option<B>,
}

impl Buffers<SortBuffer> {
    fn resolve(&self, assets: &RenderAssets<GpuShaderBuffer>) -> Option<Buffers<wgpu::Buffer>> {
        // Outside, whether the buffer is there; inside, whether there is one at all.
        let optional = |buffer: &Option<SortBuffer>| match buffer {
            None => Some(None),
            Some(buffer) => buffer.resolve(assets).map(Some),
        };
        let starts = match &self.starts {
            None => None,
            Some((table, cells)) => Some((table.resolve(assets)?, *cells)),
        };
        Some(Buffers {
            keys: self.keys.resolve(assets)?,
            key: self.key,
            len: self.len,
            order: self.order,
            keep_keys: self.keep_keys,
            values: optional(&self.values)?,
            indices: optional(&self.indices)?,
            starts,
            count: optional(&self.count)?,
        })
    }
}

impl Buffers<wgpu::Buffer> {
    fn prepare(&self, sorter: &Sorter) -> Result<PreparedSort, Error> {
        let mut job = SortJob::new(Keys::new(&self.keys, self.key), self.len).order(self.order);
        if self.keep_keys {
            job = job.keep_keys();
        }
        if let Some(values) = &self.values {
            job = job.values(values);
        }
        if let Some(indices) = &self.indices {
            job = job.indices(indices);
        }
        if let Some((table, cells)) = &self.starts {
            job = job.starts_of(table, *cells);
        }
        if let Some(count) = &self.count {
            job = job.len_from(count);
        }
        job.prepare(sorter)
    }
}

type Prepare = dyn Fn(&Sorter) -> Result<PreparedSort, Error> + Send + Sync;

#[derive(Clone)]
pub(crate) struct Custom(Arc<Prepare>);

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Custom(..)")
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

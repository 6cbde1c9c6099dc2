//! The sorter: checks the descriptor, makes all GPU objects, records frames.

use crate::binding::{bind, check_order};
use crate::descriptor::{DepthKey, SplatSorterDescriptor};
use crate::error::Error;
use crate::kernels::{Dispatch, module, scoped};
use crate::plan::{BEGIN, WRITE_KEYS};
use wgpu_bcfsort::wgpu::util::DeviceExt;
use wgpu_bcfsort::wgpu::{self, BufferUsages};
use wgpu_bcfsort::{KeyType, Keys, PreparedSort, SortJob, Sorter};

/// Puts splats in the order in which they are drawn, on the GPU, in each frame: culls those that
/// cannot be seen, sorts the others by depth, and writes the arguments of an indirect draw.
///
/// Make it once; [`record`](Self::record) it in each frame. Recording makes no GPU object, submits
/// nothing, waits for nothing and cannot fail. The number of splats that are drawn stays on the
/// GPU. Positions and matrix may change between frames. For two cameras make two sorters, which may
/// share [scratch memory](SplatSorterDescriptor::scratch).
///
/// # What is drawn
///
/// A splat is drawn if its position and its product with the matrix are finite, and in clip space
/// `0 < w`, `0 <= z <= w`, and `|x|` and `|y|` are at most `(1 + margin) w`. So nothing behind the
/// camera is, and no NaN or infinity, in whichever coordinate. With a matrix that is not finite,
/// nothing is drawn.
///
/// # Order
///
/// By [depth](crate::Depth), [the farthest or the nearest first](crate::DrawOrder). Splats with
/// equal keys are in the order of their indices. So the same positions and matrix give the same
/// bytes in each frame, and pictures do not flicker. Another device may round a depth in its last
/// bit in another way.
///
/// # Time and memory
///
/// O(n log n) for n splats, O(n) with keys of 16 bits: two dispatches for culling, keys and
/// arguments, and those of the sort. All splats are sorted, and those that are not drawn end after
/// the others: the time depends on their number, and hardly on the camera.
///
/// [`memory`](Self::memory) has the bytes: 8 for each splat, and the
/// [scratch memory](SortJob#scratch-memory) of the sort. For a million splats that is 16.5 bytes
/// for each with keys of 32 bits, and 12.3 with keys of 16.
///
/// # Errors
///
/// [`new`](Self::new) has them.
///
/// # Examples
///
/// ```
/// use bcfsort_splat::{Positions, SplatSorter, SplatSorterDescriptor};
/// use wgpu_bcfsort::{Options, Sorter, wgpu};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let sorter = Sorter::open(Options::default())?;
/// let (device, queue) = (sorter.device(), sorter.queue());
/// // A camera at the origin that looks along z, from 1 to 100; and four splats.
/// let (near, far) = (1.0_f32, 100.0_f32);
/// let scale = far / (far - near);
/// let matrix = [
///     [1.0, 0.0, 0.0, 0.0],
///     [0.0, 1.0, 0.0, 0.0],
///     [0.0, 0.0, scale, 1.0],
///     [0.0, 0.0, -near * scale, 0.0],
/// ];
/// let camera = device.create_buffer(&wgpu::BufferDescriptor {
///     label: Some("camera"),
///     size: 64,
///     usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
///     mapped_at_creation: false,
/// });
/// let rows = sorter.upload(&[
///     [0.0_f32, 0.0, 2.0],
///     [0.0, 0.0, -5.0], // behind the camera
///     [1.0, 2.0, 50.0],
///     [f32::NAN, 0.0, 7.0],
/// ])?;
///
/// // Once:
/// let positions = Positions::Strided { rows: rows.slice(..), stride: 12, offset: 0 };
/// let descriptor = SplatSorterDescriptor::new(positions, 4, camera.slice(..));
/// let splats = SplatSorter::new(&sorter, &descriptor)?;
/// // Each frame:
/// queue.write_buffer(&camera, 0, bytemuck::cast_slice(&matrix));
/// let mut encoder = device.create_command_encoder(&Default::default());
/// splats.record(&mut encoder);
/// // Here a render pass would draw: pass.draw_indirect(splats.indirect(), 0).
/// queue.submit([encoder.finish()]);
///
/// // The farthest first. Those that are not drawn follow.
/// assert_eq!(sorter.download::<u32>(splats.count())?, [2]);
/// assert_eq!(sorter.download::<u32>(splats.order())?, [2, 0, 1, 3]);
/// assert_eq!(sorter.download::<u32>(splats.indirect())?, [4, 2, 0, 0]);
/// # Ok(()) }
/// ```
pub struct SplatSorter {
    len: u32,
    memory: u64,
    order: wgpu::Buffer,
    count: wgpu::Buffer,
    indirect: wgpu::Buffer,
    begin: Dispatch,
    /// `None` if there is no splat.
    write_keys: Option<Dispatch>,
    sort: PreparedSort,
}

impl std::fmt::Debug for SplatSorter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SplatSorter")
            .field("len", &self.len)
            .field("memory", &self.memory)
            .field("sort", &self.sort)
            .finish_non_exhaustive()
    }
}

impl SplatSorter {
    /// Makes a sorter: checks the descriptor, compiles the kernels, and allocates all memory.
    ///
    /// The sorter's device is that of `sorter`, which may be dropped after that, and keeps the
    /// kernels of sorts for other calls.
    ///
    /// # Errors
    ///
    /// [`Error`] for a descriptor that does not fit, and [`Error::Sort`] if there are more splats
    /// than the device sorts at once, no memory, or a lost device.
    ///
    /// # Examples
    ///
    /// See [`SplatSorter`].
    pub fn new(sorter: &Sorter, descriptor: &SplatSorterDescriptor<'_>) -> Result<Self, Error> {
        let device = sorter.device();
        let limits = device.limits();
        let len = descriptor.len;
        let (plan, bound) = bind(descriptor, &limits)?;
        if let Some(order) = descriptor.order_buffer {
            check_order(order, u64::from(len.max(1)) * 4)?;
        }

        let storage = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
        let buffer = |label, words: u32, usage| {
            // (No buffer is empty: that could not be bound.)
            let size = u64::from(words.max(1)) * 4;
            let make = || {
                device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some(label),
                    size,
                    usage,
                    mapped_at_creation: false,
                })
            };
            scoped(device, size, make)
        };
        let keys = buffer("bcfsort.splat.keys", len, BufferUsages::STORAGE)?;
        let order = match descriptor.order_buffer {
            Some(order) => order.clone(),
            None => buffer("bcfsort.splat.order", len, storage | BufferUsages::VERTEX)?,
        };
        let count = buffer("bcfsort.splat.count", 1, storage)?;
        let indirect = buffer(
            "bcfsort.splat.indirect",
            4,
            storage | BufferUsages::INDIRECT,
        )?;

        // Keys of 32 bits are sorted where they are, which takes the fewest passes; of those of 16,
        // only indices are moved.
        let of_32 = descriptor.key == DepthKey::Bits32;
        let all = Keys::new(&keys, KeyType::U32);
        let mut job = if of_32 {
            SortJob::new(all, len.into()).indices(&order)
        } else {
            SortJob::argsort(all.bits(0..16), &order, len.into())
        };
        if let Some(scratch) = descriptor.scratch {
            job = job.scratch(scratch);
        }
        let sort = job.prepare(sorter)?;
        let scratch = job.scratch_size(sorter)?;

        let parameters: Vec<u8> = plan
            .parameters
            .into_iter()
            .flat_map(u32::to_ne_bytes)
            .collect();
        let parameters = scoped(device, parameters.len() as u64, || {
            device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
                label: Some("bcfsort.splat.parameters"),
                contents: &parameters,
                usage: BufferUsages::UNIFORM,
            })
        })?;
        let module = module(device)?;
        let whole = wgpu::Buffer::as_entire_binding;
        let mut bindings = vec![
            ("parameters", whole(&parameters)),
            ("view_projection", bound.camera),
            ("keys", whole(&keys)),
            ("count", whole(&count)),
            ("draw", whole(&indirect)),
        ];
        let begin = Dispatch::new(device, &module, BEGIN, &bindings, [1, 1])?;
        let write_keys = match bound.coordinates {
            None => None,
            Some([x, y, z]) => {
                bindings.extend([("x", x), ("y", y), ("z", z)]);
                let dispatch = Dispatch::new(device, &module, WRITE_KEYS, &bindings, plan.grid)?;
                Some(dispatch)
            }
        };
        let own_order = match descriptor.order_buffer {
            Some(_) => 0,
            None => order.size(),
        };
        let own = [&keys, &count, &indirect].map(wgpu::Buffer::size);
        Ok(Self {
            len,
            memory: own.iter().sum::<u64>() + own_order + scratch,
            order,
            count,
            indirect,
            begin,
            write_keys,
            sort,
        })
    }

    /// Records a frame: one compute pass.
    ///
    /// It runs in one submission of that encoder. A driver's watchdog may stop submissions of some
    /// seconds, which more than 2^24 splats may take on GPUs without memory of their own.
    ///
    /// # Examples
    ///
    /// See [`SplatSorter`].
    pub fn record(&self, encoder: &mut wgpu::CommandEncoder) {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("bcfsort.splat"),
            timestamp_writes: None,
        });
        self.record_in_pass(&mut pass);
    }

    /// Records a frame into a compute pass, between other dispatches: after those that move the
    /// splats, for example. It changes the pass's pipeline and bind group 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use bcfsort_splat::SplatSorter;
    /// use wgpu_bcfsort::wgpu;
    ///
    /// /// With the time of the frame, in two queries.
    /// fn record(
    ///     splats: &SplatSorter,
    ///     encoder: &mut wgpu::CommandEncoder,
    ///     queries: &wgpu::QuerySet,
    /// ) {
    ///     let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
    ///         label: Some("splats"),
    ///         timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
    ///             query_set: queries,
    ///             beginning_of_pass_write_index: Some(0),
    ///             end_of_pass_write_index: Some(1),
    ///         }),
    ///     });
    ///     splats.record_in_pass(&mut pass);
    /// }
    /// ```
    pub fn record_in_pass(&self, pass: &mut wgpu::ComputePass<'_>) {
        self.begin.record(pass);
        if let Some(write_keys) = &self.write_keys {
            write_keys.record(pass);
        }
        self.sort.record_in_pass(pass);
    }

    /// The indices of all splats, a `u32` each, in the order of drawing. Only the first
    /// [`count`](Self::count) are to be drawn; the others follow in ascending order.
    ///
    /// A vertex shader reads it as storage, by the index of the instance, or as a vertex buffer
    /// with one `u32` for each instance. Its usages are `STORAGE`, `VERTEX` and `COPY_SRC`, unless
    /// it is the program's own [buffer](SplatSorterDescriptor::order_buffer).
    #[must_use]
    pub fn order(&self) -> &wgpu::Buffer {
        &self.order
    }

    /// The number of splats that are drawn, a `u32`: for other jobs of the library
    /// ([`SortJob::len_from`]) and for shaders. Its usages are `STORAGE` and `COPY_SRC`.
    #[must_use]
    pub fn count(&self) -> &wgpu::Buffer {
        &self.count
    }

    /// The arguments for [`wgpu::RenderPass::draw_indirect`] at offset 0, in the layout of
    /// [`wgpu::util::DrawIndirectArgs`]: an instance for each splat that is drawn. Its usages are
    /// `INDIRECT`, `STORAGE` and `COPY_SRC`.
    #[must_use]
    pub fn indirect(&self) -> &wgpu::Buffer {
        &self.indirect
    }

    /// The number of all splats.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is no splat at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of device memory: of keys, order, count and draw arguments, and of scratch memory, be
    /// it shared or not. The program's own buffer for the order is not among them.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.memory
    }
}

//! What to sort in buffers of the GPU, said piece by piece.

use crate::gpu::calls;
use crate::gpu::executor::BufferSet;
use crate::layout::{Arrangement, Carried, Column, Sorted};
use crate::recording::Buffer;
use crate::{BufferRole, Comparator, Error, KeyType, Order};
use std::collections::BTreeMap;
use std::ops::Range;

/// A sort of buffers of the GPU, for [`Sorter::prepare_sort`](crate::Sorter::prepare_sort): of
/// keys, ascending, unless more is said. What is said is looked at there: that it fits the buffers,
/// and goes together.
///
/// It takes O(n log n) time, and is stable but for [values](Self::values) that are not said to
/// [be](Self::stable). Every buffer needs the usage `STORAGE`, and none may be given twice.
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
///
/// # Scratch memory
///
/// [`Sorter::scratch_size_of`](crate::Sorter::scratch_size_of) says how much a sort takes. It is at
/// most 16 MiB and
///
/// - 1.15 times the bytes of the keys, and of [values](Self::values) or [indices](Self::indices) if
///   there are any, where the sort works in the caller's buffers: keys of 32 or 64 bits,
///   contiguous, of a whole buffer or from an [aligned record](Self::first) on, in one segment;
///   keys alone may end out of place, and values and indices go with keys that move in place.
///   [Packed](Self::of_packed) keys alone take half a mebibyte if they are
///   [counted](Self::of_packed).
/// - 2.5 times the bytes of the composed records for all else. A composed record is a key of 4 or 8
///   bytes (packed keys have 4), 4 bytes more in [segments](Self::segments), and 4 for the index if
///   anything goes with the keys; of a [comparator](Self::compared), the index alone.
/// - and a copy of the largest payload row that moves in its own buffer, [stable](Self::stable)
///   values among them. Rows that [end elsewhere](Self::rows_into) take none.
///
/// # How it is composed
///
/// What is not sorted in the caller's buffers is encoded to scratch memory, sorted there as words,
/// and decoded back: two dispatches more, each one pass over the keys. With payload, keys are
/// sorted with their indices (an argsort), and each buffer of rows is gathered by these: one
/// dispatch out of place, two in place. An argsort of segments of 64-bit keys sorts twice.
///
/// The sample sort maps keys of any type and order in its own dispatches. For the mergesorts, those
/// that are not unsigned and ascending are encoded and decoded wherever they are, by way of the
/// caller's buffer, with no more scratch memory.
#[derive(Debug)]
#[must_use = "it is prepared by Sorter::prepare_sort"]
pub struct BufferSort<'a> {
    pub(super) keys: &'a wgpu::Buffer,
    pub(super) len: u64,
    pub(super) key: KeyType,
    pub(super) order: Order,
    first: u64,
    ranks: Option<Range<u64>>,
    stable: bool,
    packed: Option<PackedKey>,
    pub(super) comparator: Option<Comparator>,
    segments: Option<(&'a wgpu::Buffer, u32)>,
    /// Words of a row, and those before its key.
    field: Option<(u32, u32)>,
    keeps_keys: bool,
    sorted: Option<&'a wgpu::Buffer>,
    count: Option<(&'a wgpu::Buffer, u32)>,
    carried: Carries<'a>,
    pub(super) scratch: Option<&'a mut Scratch>,
}

/// The type of keys of fewer than 32 bits, which lie in a buffer one behind the other: for
/// [`BufferSort::of_packed`]. (Rust has no type for some of them, and slices of them have no sort
/// here.)
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::PackedKey;
/// let in_a_word = PackedKey::ALL.map(|key| 32 / key.bits());
/// assert_eq!(in_a_word, [4, 4, 2, 2, 2, 2]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PackedKey {
    /// `u8`.
    U8,
    /// `i8`.
    I8,
    /// `u16`.
    U16,
    /// `i16`.
    I16,
    /// IEEE 754's 16 bits, in its total order, as [`f32::total_cmp`] is.
    F16,
    /// The upper half of an [`f32`], in the same order.
    Bf16,
}

impl PackedKey {
    /// Every type.
    pub const ALL: [Self; 6] = [
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::F16,
        Self::Bf16,
    ];

    /// Bits of a key: 8 or 16.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::U8 | Self::I8 => 8,
            Self::U16 | Self::I16 | Self::F16 | Self::Bf16 => 16,
        }
    }

    /// The type that has this one's order if these are its upper bits.
    const fn as_word(self) -> KeyType {
        match self {
            Self::U8 | Self::U16 => KeyType::U32,
            Self::I8 | Self::I16 => KeyType::I32,
            Self::F16 | Self::Bf16 => KeyType::F32,
        }
    }
}

/// What goes with the keys.
#[derive(Debug)]
enum Carries<'a> {
    Nothing,
    Values(&'a wgpu::Buffer),
    Indices(&'a wgpu::Buffer),
    Rows(Vec<Rows<'a>>),
}

/// Rows of a buffer that go with the keys.
#[derive(Clone, Copy, Debug)]
struct Rows<'a> {
    buffer: &'a wgpu::Buffer,
    words: u32,
    /// Where they end, if not there.
    sorted: Option<&'a wgpu::Buffer>,
}

/// Columns that a sort may have.
const MOST_COLUMNS: usize = 64;

impl<'a> BufferSort<'a> {
    /// Of the first `len` keys of a buffer, which needs the usage `STORAGE`. What is behind them is
    /// left as it is.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use wgpu::util::{BufferInitDescriptor, DeviceExt};
    /// use wgpu_bcfsort::{BufferSort, KeyType, Options, Order, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let buffer = |keys: &[f32]| {
    /// #     sorter.device().create_buffer_init(&BufferInitDescriptor {
    /// #         label: None,
    /// #         contents: bytemuck::cast_slice(keys),
    /// #         usage: wgpu::BufferUsages::STORAGE,
    /// #     })
    /// # };
    /// let keys = buffer(&[0.5, 2.0, -1.0, 9.0]);
    /// let sort = BufferSort::new(&keys, 3, KeyType::F32).order(Order::Descending);
    /// let sort = sorter.prepare_sort(sort)?;
    /// sorter.run_profiled(&sort)?;
    /// // keys: [2.0, 0.5, -1.0, 9.0]
    /// # Ok(()) }
    /// ```
    pub const fn new(keys: &'a wgpu::Buffer, len: u64, key: KeyType) -> Self {
        Self {
            keys,
            len,
            key,
            order: Order::Ascending,
            first: 0,
            ranks: None,
            stable: false,
            packed: None,
            comparator: None,
            segments: None,
            field: None,
            keeps_keys: false,
            sorted: None,
            count: None,
            carried: Carries::Nothing,
            scratch: None,
        }
    }

    /// Of the first `len` rows of a buffer (structs, in an array) by a field of theirs: rows of
    /// `words` 32-bit words, of which the key is word `key_word` or begins there. Rows of equal
    /// keys stay in order: a stable sort.
    ///
    /// A key of 64 bits begins at an even word of rows of an even number of words, as in WGSL and
    /// in Rust.
    ///
    /// Keys are encoded with their indices, sorted, and rows are gathered once, by these: their
    /// size adds to the time of the sort what moving them takes.
    ///
    /// With [`indices`](Self::indices) or [`values`](Self::values) after it, these are written or
    /// sorted by the rows' keys, and the rows stay.
    ///
    /// # Examples
    ///
    /// Particles, farthest first, of which a shader says how many there are:
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use wgpu::util::{BufferInitDescriptor, DeviceExt};
    /// use wgpu_bcfsort::{BufferSort, KeyType, Options, Order, Sorter};
    ///
    /// #[repr(C)]
    /// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    /// struct Particle {
    ///     position: [f32; 3],
    ///     depth: f32,
    /// }
    ///
    /// let sorter = Sorter::open(Options::default())?;
    /// let particle = |depth| Particle { position: [0.0; 3], depth };
    /// let buffer = |contents: &[u8]| {
    ///     sorter.device().create_buffer_init(&BufferInitDescriptor {
    ///         label: None,
    ///         contents,
    ///         usage: wgpu::BufferUsages::STORAGE,
    ///     })
    /// };
    /// let particles = buffer(bytemuck::cast_slice(&[1.0, 9.0, 3.0, 0.0].map(particle)));
    /// let alive = buffer(bytemuck::bytes_of(&3_u32));
    /// // Four words each, of which the last is the key.
    /// let sort = sorter.prepare_sort(
    ///     BufferSort::of_rows(&particles, 4, 4, 3, KeyType::F32)
    ///         .order(Order::Descending)
    ///         .count(&alive, 0),
    /// )?;
    /// sorter.run_profiled(&sort)?;
    /// // depths: [9.0, 3.0, 1.0, 0.0], of which the last was not sorted
    /// # Ok(()) }
    /// ```
    pub fn of_rows(
        rows: &'a wgpu::Buffer,
        len: u64,
        words: u32,
        key_word: u32,
        key: KeyType,
    ) -> Self {
        let mut sort = Self::new(rows, len, key);
        sort.field = Some((words, key_word));
        sort.rows(rows, words)
    }

    /// Of the first `len` keys of 8 or 16 bits, as many in a word of the buffer as it has bits for:
    /// an array of them in host memory, as it is copied to the GPU. Its bytes are rounded up to
    /// whole words; those behind the keys are left as they are.
    ///
    /// Keys alone, if they are more than a [few tiles](crate::Tuning::merged), are sorted by
    /// counting how many there are of each, whatever the [engine](crate::Options::engine): in O(n)
    /// time, on an H200 in half of the time of as many words. (Not by
    /// [`Engine::Auto`](crate::Engine::Auto) on DX12.)
    ///
    /// # Examples
    ///
    /// Seven bytes, and one behind them that stays:
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use wgpu::util::{BufferInitDescriptor, DeviceExt};
    /// use wgpu_bcfsort::{BufferSort, Options, PackedKey, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let buffer = |words: &[u32]| {
    /// #     sorter.device().create_buffer_init(&BufferInitDescriptor {
    /// #         label: None,
    /// #         contents: bytemuck::cast_slice(words),
    /// #         usage: wgpu::BufferUsages::STORAGE,
    /// #     })
    /// # };
    /// let bytes = buffer(bytemuck::cast_slice(b"bcfsort!"));
    /// let sort = sorter.prepare_sort(BufferSort::of_packed(&bytes, 7, PackedKey::U8))?;
    /// sorter.run_profiled(&sort)?;
    /// // bytes: b"bcforst!"
    /// # Ok(()) }
    /// ```
    pub const fn of_packed(keys: &'a wgpu::Buffer, len: u64, key: PackedKey) -> Self {
        let mut sort = Self::new(keys, len, key.as_word());
        sort.packed = Some(key);
        sort
    }

    /// Of the first `len` rows of a buffer by a function of the caller's, a stable sort. Rows move;
    /// with [`indices`](Self::indices), which may be wanted alone, they stay if it is
    /// [said](Self::keep_keys).
    ///
    /// It makes O(n log n) comparisons. What is sorted is the rows' numbers, and a comparison reads
    /// the rows of both: some times as long as a sort by a field of theirs, or many times (2^24
    /// rows on an H200: of a word 3.5 ms, of four 12 to 20, and 2.3 by a field). Where a key says
    /// as much, as one of 64 bits does of two fields, prefer [`of_rows`](Self::of_rows). There are
    /// no parts ([`first`](Self::first)) and no [`segments`](Self::segments):
    /// [`Error::NotTogether`]. The [order](Self::order) is the function's, or from its end to its
    /// beginning. That what is in the buffer lies as the function's rows do is known of a
    /// comparator [of](Comparator::of) the Rust struct that was copied there, and the caller's to
    /// know of any other.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use wgpu::util::{BufferInitDescriptor, DeviceExt};
    /// use wgpu_bcfsort::{BufferSort, Comparator, Options, Sorter};
    ///
    /// // Keys of 128 bits, the upper half first.
    /// let wide = Comparator::new(
    ///     "struct Wide { words: array<u32, 4> }
    ///     fn precedes(a: Wide, b: Wide) -> bool {
    ///         for (var i = 0u; i < 4u; i++) {
    ///             if a.words[3u - i] != b.words[3u - i] {
    ///                 return a.words[3u - i] < b.words[3u - i];
    ///             }
    ///         }
    ///         return false;
    ///     }",
    /// )?;
    ///
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys: [u128; 3] = [1 << 100, 5, 1 << 64];
    /// let keys = sorter.device().create_buffer_init(&BufferInitDescriptor {
    ///     label: None,
    ///     contents: bytemuck::cast_slice(&keys),
    ///     usage: wgpu::BufferUsages::STORAGE,
    /// });
    /// let sort = sorter.prepare_sort(BufferSort::compared(&keys, 3, &wide))?;
    /// sorter.run_profiled(&sort)?;
    /// // keys: [5, 1 << 64, 1 << 100]
    /// # Ok(()) }
    /// ```
    pub fn compared(rows: &'a wgpu::Buffer, len: u64, comparator: &Comparator) -> Self {
        let mut sort = Self::new(rows, len, KeyType::U32);
        sort.comparator = Some(comparator.clone());
        sort
    }

    /// In this order. It takes neither time nor memory.
    ///
    /// # Examples
    ///
    /// See [`new`](Self::new).
    pub const fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// With a 32-bit value of another buffer for each key:
    /// [`Payload::Values`](crate::Payload::Values), where keys are equal in any order, unless they
    /// are to be [stable](Self::stable). In place of what was to go with the keys before.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use wgpu::util::{BufferInitDescriptor, DeviceExt};
    /// use wgpu_bcfsort::{BufferSort, KeyType, Options, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let buffer = |words: &[u32]| {
    /// #     sorter.device().create_buffer_init(&BufferInitDescriptor {
    /// #         label: None,
    /// #         contents: bytemuck::cast_slice(words),
    /// #         usage: wgpu::BufferUsages::STORAGE,
    /// #     })
    /// # };
    /// let (keys, values) = (buffer(&[3, 1, 2]), buffer(&[30, 10, 20]));
    /// let sort = BufferSort::new(&keys, 3, KeyType::U32).values(&values);
    /// let sort = sorter.prepare_sort(sort)?;
    /// sorter.run_profiled(&sort)?;
    /// // keys: [1, 2, 3], values: [10, 20, 30]
    /// # Ok(()) }
    /// ```
    pub fn values(mut self, values: &'a wgpu::Buffer) -> Self {
        self.carried = Carries::Values(values);
        self
    }

    /// With each key's index in the input, which is written to another buffer:
    /// [`Payload::Indices`](crate::Payload::Indices), a stable sort. In place of what was to go
    /// with the keys before. From a [first](Self::first) record on, indices count from there.
    ///
    /// # Examples
    ///
    /// An argsort, whose keys stay:
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use wgpu::util::{BufferInitDescriptor, DeviceExt};
    /// use wgpu_bcfsort::{BufferSort, KeyType, Options, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let buffer = |words: &[u32]| {
    /// #     sorter.device().create_buffer_init(&BufferInitDescriptor {
    /// #         label: None,
    /// #         contents: bytemuck::cast_slice(words),
    /// #         usage: wgpu::BufferUsages::STORAGE,
    /// #     })
    /// # };
    /// let (keys, indices) = (buffer(&[3, 1, 2]), buffer(&[0; 3]));
    /// let sort = BufferSort::new(&keys, 3, KeyType::U32).keep_keys();
    /// let sort = sorter.prepare_sort(sort.indices(&indices))?;
    /// sorter.run_profiled(&sort)?;
    /// // indices: [1, 2, 0]
    /// # Ok(()) }
    /// ```
    pub fn indices(mut self, indices: &'a wgpu::Buffer) -> Self {
        self.carried = Carries::Indices(indices);
        self
    }

    /// With a row of `words` 32-bit words of another buffer for each key: a stable sort. Called
    /// again, with rows of one more buffer. In place of [`values`](Self::values) and
    /// [`indices`](Self::indices).
    ///
    /// Rows are moved once, when the keys are sorted, to where they belong, and from there back to
    /// their buffer. They take as much scratch memory as the largest of these buffers, besides that
    /// of the keys and their indices.
    ///
    /// # Examples
    ///
    /// Rows of two words, and of one:
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use wgpu::util::{BufferInitDescriptor, DeviceExt};
    /// use wgpu_bcfsort::{BufferSort, KeyType, Options, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let buffer = |words: &[u32]| {
    /// #     sorter.device().create_buffer_init(&BufferInitDescriptor {
    /// #         label: None,
    /// #         contents: bytemuck::cast_slice(words),
    /// #         usage: wgpu::BufferUsages::STORAGE,
    /// #     })
    /// # };
    /// let (cells, positions) = (buffer(&[7, 3]), buffer(&[70, 71, 30, 31]));
    /// let names = buffer(&[700, 300]);
    /// let sort = BufferSort::new(&cells, 2, KeyType::U32)
    ///     .rows(&positions, 2)
    ///     .rows(&names, 1);
    /// let sort = sorter.prepare_sort(sort)?;
    /// sorter.run_profiled(&sort)?;
    /// // cells: [3, 7], positions: [30, 31, 70, 71], names: [300, 700]
    /// # Ok(()) }
    /// ```
    pub fn rows(self, rows: &'a wgpu::Buffer, words: u32) -> Self {
        self.carrying(Rows {
            buffer: rows,
            words,
            sorted: None,
        })
    }

    /// The same, but the rows stay where they are: in order they are written to the same places of
    /// another buffer. That moves them once, and takes no scratch memory for them.
    ///
    /// # Examples
    ///
    /// Keys and rows to other buffers, the input left as it is:
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use wgpu::util::{BufferInitDescriptor, DeviceExt};
    /// use wgpu_bcfsort::{BufferSort, KeyType, Options, Sorter};
    /// let sorter = Sorter::open(Options::default())?;
    /// let buffer = |contents: &[u32]| {
    ///     sorter.device().create_buffer_init(&BufferInitDescriptor {
    ///         label: None,
    ///         contents: bytemuck::cast_slice(contents),
    ///         usage: wgpu::BufferUsages::STORAGE,
    ///     })
    /// };
    /// let (cells, positions) = (buffer(&[7, 3, 5]), buffer(&[70, 71, 30, 31, 50, 51]));
    /// let (sorted_cells, sorted_positions) = (buffer(&[0; 3]), buffer(&[0; 6]));
    /// let sort = sorter.prepare_sort(
    ///     BufferSort::new(&cells, 3, KeyType::U32)
    ///         .sorted_into(&sorted_cells)
    ///         .rows_into(&positions, 2, &sorted_positions),
    /// )?;
    /// sorter.run_profiled(&sort)?;
    /// // sorted_cells: [3, 5, 7], sorted_positions: [30, 31, 50, 51, 70, 71]
    /// # Ok(()) }
    /// ```
    pub fn rows_into(self, rows: &'a wgpu::Buffer, words: u32, sorted: &'a wgpu::Buffer) -> Self {
        self.carrying(Rows {
            buffer: rows,
            words,
            sorted: Some(sorted),
        })
    }

    fn carrying(mut self, rows: Rows<'a>) -> Self {
        // Rows that the keys are fields of move in any case, and come first.
        let of_keys = self.field.map(|(words, _)| Rows {
            buffer: self.keys,
            words,
            sorted: None,
        });
        if !matches!(self.carried, Carries::Rows(_)) {
            self.carried = Carries::Rows(of_keys.into_iter().collect());
        }
        if let Carries::Rows(columns) = &mut self.carried {
            let is_same = |own: &Rows<'_>| own.buffer == rows.buffer && own.words == rows.words;
            match (of_keys.filter(is_same), columns.first_mut()) {
                (Some(_), Some(own)) => own.sorted = rows.sorted.or(own.sorted),
                _ => columns.push(rows),
            }
        }
        self
    }

    /// From this record on, in all buffers: those before, and those behind the `len` that are
    /// sorted, are left as they are.
    ///
    /// Where that is a multiple of 256 bytes in each of the buffers, as it is from every 64th
    /// record on unless keys are packed, it costs nothing: there buffers may be bound on every
    /// device. Otherwise keys are sorted in [scratch memory](Self#scratch-memory), and values as if
    /// they were to be [stable](Self::stable).
    ///
    /// A record that no buffer of the device has is an [`Error::InvalidOption`].
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use wgpu::util::{BufferInitDescriptor, DeviceExt};
    /// use wgpu_bcfsort::{BufferSort, KeyType, Options, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let buffer = |words: &[u32]| {
    /// #     sorter.device().create_buffer_init(&BufferInitDescriptor {
    /// #         label: None,
    /// #         contents: bytemuck::cast_slice(words),
    /// #         usage: wgpu::BufferUsages::STORAGE,
    /// #     })
    /// # };
    /// let keys = buffer(&[9, 8, 3, 1, 2, 0]);
    /// let sort = BufferSort::new(&keys, 3, KeyType::U32).first(2);
    /// let sort = sorter.prepare_sort(sort)?;
    /// sorter.run_profiled(&sort)?;
    /// // keys: [9, 8, 1, 2, 3, 0]
    /// # Ok(()) }
    /// ```
    pub const fn first(mut self, first: u64) -> Self {
        self.first = first;
        self
    }

    /// Only what comes to these places has to be in order: the records that belong before them come
    /// before them, in any order, and so those that belong behind. `0..k` is the `k` least, in
    /// order (with [`Order::Descending`] the greatest: top-k), `k..k` the same unordered, and
    /// `n..n + 1` the n-th element. Places are counted from the [first](Self::first) record on.
    ///
    /// It saves what sorting the others would cost: buckets without such a place are moved only. A
    /// hundred of 2^24 records take an H200 0.64 of a sort's time with keys of 32 bits, 0.56 with
    /// indices, 0.34 with a comparator, and the one in the middle of those of 64 bits 0.55. So few
    /// records that they are [merged](crate::Tuning::merged) are all sorted, and so they are by
    /// engines other than [`Engine::SampleSort`](crate::Engine::SampleSort).
    ///
    /// A range that is none, or ends behind the last of the `len` places, is an
    /// [`Error::InvalidOption`], and one together with [`segments`](Self::segments) is an
    /// [`Error::NotTogether`]. Where records are [counted](Self::count), places behind the last of
    /// them are left as they are, whether they are in the range or not.
    ///
    /// # Examples
    ///
    /// The three best scores' owners, the scores left where they are:
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use wgpu::util::{BufferInitDescriptor, DeviceExt};
    /// use wgpu_bcfsort::{BufferSort, KeyType, Options, Order, Sorter};
    /// let sorter = Sorter::open(Options::default())?;
    /// let scores = sorter.device().create_buffer_init(&BufferInitDescriptor {
    ///     label: None,
    ///     contents: bytemuck::cast_slice(&[0.5_f32, 9.0, 0.25, 7.0, 8.0]),
    ///     usage: wgpu::BufferUsages::STORAGE,
    /// });
    /// let owners = sorter.device().create_buffer(&wgpu::BufferDescriptor {
    ///     label: None,
    ///     size: 5 * 4,
    ///     usage: wgpu::BufferUsages::STORAGE,
    ///     mapped_at_creation: false,
    /// });
    /// let sort = sorter.prepare_sort(
    ///     BufferSort::new(&scores, 5, KeyType::F32)
    ///         .order(Order::Descending)
    ///         .indices(&owners)
    ///         .keep_keys()
    ///         .ranks(0..3),
    /// )?;
    /// sorter.run_profiled(&sort)?;
    /// // owners: 1, 4, 3, and the others
    /// # Ok(()) }
    /// ```
    pub const fn ranks(mut self, ranks: Range<u64>) -> Self {
        self.ranks = Some(ranks);
        self
    }

    /// With values in the order of the input where keys are equal, descending, too: a stable sort.
    /// All sorts are stable but that of [values](Self::values) (and that of keys alone, where it
    /// makes no difference), for which it takes more [scratch memory](Self#scratch-memory), and
    /// they are moved there and back.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use wgpu::util::{BufferInitDescriptor, DeviceExt};
    /// use wgpu_bcfsort::{BufferSort, KeyType, Options, Order, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let buffer = |words: &[u32]| {
    /// #     sorter.device().create_buffer_init(&BufferInitDescriptor {
    /// #         label: None,
    /// #         contents: bytemuck::cast_slice(words),
    /// #         usage: wgpu::BufferUsages::STORAGE,
    /// #     })
    /// # };
    /// let (keys, values) = (buffer(&[1, 2, 1, 2]), buffer(&[0, 1, 2, 3]));
    /// let sort = BufferSort::new(&keys, 4, KeyType::U32).order(Order::Descending);
    /// let sort = sorter.prepare_sort(sort.values(&values).stable())?;
    /// sorter.run_profiled(&sort)?;
    /// // keys: [2, 2, 1, 1], values: [1, 3, 0, 2]
    /// # Ok(()) }
    /// ```
    pub const fn stable(mut self) -> Self {
        self.stable = true;
        self
    }

    /// Leaves the keys as they are: with [`indices`](Self::indices), an argsort. Rows that the keys
    /// are [fields](Self::of_rows) of stay, too, and where it is these that are to move it is an
    /// [`Error::NotTogether`].
    ///
    /// # Examples
    ///
    /// See [`indices`](Self::indices).
    pub const fn keep_keys(mut self) -> Self {
        self.keeps_keys = true;
        self
    }

    /// Leaves the keys as they are, and writes them in order to the same places of another buffer,
    /// which needs the usage `STORAGE` and as many bytes as they take there; other places of it are
    /// left as they are. Of structs ([`of_rows`](Self::of_rows)), and of rows that are
    /// [compared](Self::compared), it is these that are written there, and not keys.
    ///
    /// What goes with the keys moves in its own buffer, but for rows with
    /// [`rows_into`](Self::rows_into), and values as if they were to be [stable](Self::stable).
    /// With [`indices`](Self::indices) or [`values`](Self::values) structs stay, and this is an
    /// [`Error::NotTogether`]. [`keep_keys`](Self::keep_keys) beside it says nothing new.
    ///
    /// Keys alone of a whole buffer, of 32 bits or more, are sorted in the other one: no scratch
    /// memory more.
    ///
    /// # Examples
    ///
    /// See [`rows_into`](Self::rows_into).
    pub const fn sorted_into(mut self, sorted: &'a wgpu::Buffer) -> Self {
        self.sorted = Some(sorted);
        self
    }

    /// As many records as a word of another buffer says when the sort runs, and no more than the
    /// `len` that there is room for: the GPU may have written it, and the host need not know it.
    /// Records behind those are left as they are.
    ///
    /// It takes no scratch memory more, and on GPUs little more time than as many records as there
    /// are: a first dispatch reads the word, and tells all others. But these are the dispatches of
    /// a [sample sort](crate::Engine::SampleSort) of `len` records, whatever the
    /// [engine](crate::Options::engine), and with nothing to do they take up to 0.1 ms on an H200
    /// (2^24 records 0.66 ms, a hundredth of them 0.10). On CPUs idle workgroups take time, too.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use wgpu::util::{BufferInitDescriptor, DeviceExt};
    /// use wgpu_bcfsort::{BufferSort, KeyType, Options, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let buffer = |words: &[u32]| {
    /// #     sorter.device().create_buffer_init(&BufferInitDescriptor {
    /// #         label: None,
    /// #         contents: bytemuck::cast_slice(words),
    /// #         usage: wgpu::BufferUsages::STORAGE,
    /// #     })
    /// # };
    /// // The second word, which a shader may have written.
    /// let (keys, counts) = (buffer(&[5, 4, 3, 2, 1]), buffer(&[0, 3]));
    /// let sort = BufferSort::new(&keys, 5, KeyType::U32).count(&counts, 1);
    /// let sort = sorter.prepare_sort(sort)?;
    /// sorter.run_profiled(&sort)?;
    /// // keys: [3, 4, 5, 2, 1]
    /// # Ok(()) }
    /// ```
    pub const fn count(mut self, counts: &'a wgpu::Buffer, word: u32) -> Self {
        self.count = Some((counts, word));
        self
    }

    /// Sorts many arrays, one behind the other, each by itself: `number` words of another buffer
    /// say where each begins, in ascending order, counted from the [first](Self::first) record; the
    /// last one ends with the last record. Empty ones are none, and they may be as many and as
    /// different as they like: it is one sort of all records by (segment, key), and takes the time
    /// of that. If the first does not begin with the first record, those before are an array, too.
    /// Those that begin behind the last record are empty.
    ///
    /// Nobody looks whether offsets ascend. If they do not, the records are divided into some
    /// arrays all the same, one behind the other, each of which is sorted: it is still every record
    /// once, with what goes with it, but which arrays these are is nothing to rely on. Until the
    /// sort has ended, nothing may write them.
    ///
    /// A composed record of a segment's number and a key takes 8 bytes, of packed keys and those of
    /// 32 bits, too. What the device cannot bind of these is an [`Error::RowsTooLarge`].
    ///
    /// All keys are sorted: there are no [`ranks`](Self::ranks). [Indices](Self::indices) are those
    /// of all records, not of their arrays. Keys of 64 bits with payload are sorted twice: by (key,
    /// index), and then by (segment, rank in that order).
    ///
    /// # Examples
    ///
    /// Three arrays, the second of which is empty:
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use wgpu::util::{BufferInitDescriptor, DeviceExt};
    /// use wgpu_bcfsort::{BufferSort, KeyType, Options, Sorter};
    /// # let sorter = Sorter::open(Options::default())?;
    /// # let buffer = |words: &[u32]| {
    /// #     sorter.device().create_buffer_init(&BufferInitDescriptor {
    /// #         label: None,
    /// #         contents: bytemuck::cast_slice(words),
    /// #         usage: wgpu::BufferUsages::STORAGE,
    /// #     })
    /// # };
    /// let (keys, starts) = (buffer(&[3, 1, 2, 9, 8]), buffer(&[0, 3, 3]));
    /// let sort = BufferSort::new(&keys, 5, KeyType::U32).segments(&starts, 3);
    /// let sort = sorter.prepare_sort(sort)?;
    /// sorter.run_profiled(&sort)?;
    /// // keys: [1, 2, 3, 8, 9]
    /// # Ok(()) }
    /// ```
    pub const fn segments(mut self, offsets: &'a wgpu::Buffer, number: u32) -> Self {
        self.segments = Some((offsets, number));
        self
    }

    /// With this scratch memory, which other sorts use, too, and which grows to what is needed.
    /// Without, the sort has memory of its own, which is freed with it.
    ///
    /// # Examples
    ///
    /// See [`BufferSort`] and [`Scratch`].
    pub const fn scratch(mut self, scratch: &'a mut Scratch) -> Self {
        self.scratch = Some(scratch);
        self
    }

    /// One past the last record.
    pub(super) const fn end(&self) -> u64 {
        self.first.saturating_add(self.len)
    }

    /// Fails if no buffer of `most_bytes` bytes, the device's largest, reaches to the last record.
    pub(super) fn check_first(&self, most_bytes: u64) -> Result<(), Error> {
        let end = u128::from(self.end()) * u128::from(self.key_bits());
        if end <= u128::from(most_bytes) * 8 {
            return Ok(());
        }
        let allowed = "so small that the last record is within max_buffer_size, the most bytes of \
                       a buffer on this device";
        Err(invalid("first", self.first, allowed))
    }

    /// Whether its first rows are those that the keys are fields of.
    const fn is_of_rows(&self) -> bool {
        self.field.is_some() && matches!(self.carried, Carries::Rows(_))
    }

    /// Where rows end, if not where they are.
    fn end_of(&self, number: usize, rows: &Rows<'a>) -> Option<&'a wgpu::Buffer> {
        // The first rows may be those that keys are fields of.
        let of_keys = self.sorted.filter(|_| number == 0 && self.is_of_rows());
        rows.sorted.or(of_keys)
    }

    /// Bits from one record to the next in the keys' buffer.
    pub(super) fn key_bits(&self) -> u64 {
        let compared = self.comparator.as_ref().map(Comparator::row_words);
        let row_words = self.field.map(|field| field.0).or(compared);
        match (row_words, self.packed) {
            (Some(words), _) => u64::from(words) * 32,
            (None, Some(packed)) => packed.bits().into(),
            (None, None) => self.key.bytes() * 8,
        }
    }

    /// The record that buffers are bound from: the last up to the [first](Self::first) where all of
    /// them may be on every device. (Not on this one: it decides whether values are stable.)
    fn bound_from(&self) -> u64 {
        const ALIGNMENT: u64 = 256 * 8;
        let of_rows = match &self.carried {
            Carries::Nothing => Vec::new(),
            Carries::Values(_) | Carries::Indices(_) => vec![1],
            Carries::Rows(columns) => columns.iter().map(|rows| rows.words).collect(),
        };
        let bits = of_rows.iter().map(|&words| u64::from(words) * 32);
        // Records from one such place to the next: of each buffer a power of two, so that the most
        // are a multiple of all.
        let distance = |bits: u64| ALIGNMENT >> bits.trailing_zeros().min(ALIGNMENT.ilog2());
        let most = bits.chain([self.key_bits()]).map(distance).max();
        self.first - self.first % most.unwrap_or(1)
    }

    /// Records from there to the last.
    pub(super) fn bound(&self) -> u64 {
        self.end() - self.bound_from()
    }

    /// What is to be done around the sort itself, on a device that binds so many bytes at once.
    pub(super) fn arrangement(&self, limit: u64) -> Result<Arrangement, Error> {
        if let Some((_, word)) = self.count {
            let instead = "have the count in a word nearer to the buffer's beginning";
            check_words(BufferRole::Count, u64::from(word) + 1, limit, instead)?;
        }
        if let Some((_, number)) = self.segments {
            let instead = "sort fewer segments at a time";
            check_words(BufferRole::Offsets, number.into(), limit, instead)?;
        }
        if let Some(comparator) = &self.comparator {
            self.check_rows(comparator.row_words(), limit)?;
            let with = "a comparator";
            if self.first > 0 {
                let instead = "copy the part to a buffer of its own";
                return Err(apart("first", with, instead));
            }
            if self.segments.is_some() {
                let instead =
                    "have rows say which array they are of, and compare that before all else";
                return Err(apart("segments", with, instead));
            }
        }
        Ok(Arrangement {
            // (Checked: what a buffer holds has numbers of 32 bits.)
            first: (self.first - self.bound_from()) as u32,
            field: self.field_in_keys(limit)?,
            bits: self.packed.map(PackedKey::bits),
            segments: self.segments.map(|segments| segments.1),
            compared: self.comparator.as_ref().map(Comparator::row_words),
            sorted: match self.sorted {
                Some(_) if !self.is_of_rows() => Sorted::Elsewhere,
                None if !self.keeps_keys => Sorted::Here,
                _ => Sorted::Nowhere,
            },
            count_at: self.count.map(|count| count.1),
            carried: self.carried_columns(limit)?,
        })
    }

    /// The rows that keys are fields of, counted in keys: words of a row, and the key's place.
    fn field_in_keys(&self, limit: u64) -> Result<Option<(u32, u32)>, Error> {
        let key_words = self.key.words();
        let Some((words, key_word)) = self.field else {
            return Ok(None);
        };
        self.check_rows(words, limit)?;
        if let Carries::Rows(columns) = &self.carried {
            let elsewhere = columns.first().and_then(|own| own.sorted);
            if self.keeps_keys && self.sorted.or(elsewhere).is_none() {
                let with = "rows that move with their keys";
                let instead =
                    "ask for indices alone, or for the rows in another buffer, by sorted_into";
                return Err(apart("keep_keys", with, instead));
            }
            if self.sorted.is_some() && elsewhere.is_some() {
                let with = "rows_into of the rows that the keys are fields of";
                let instead = "either says where they end, so leave one out";
                return Err(apart("sorted_into", with, instead));
            }
        }
        if self.sorted.is_some() && !self.is_of_rows() {
            let with = "indices or values of rows, which stay where they are";
            let instead = "leave it out, or move values with the rows, as rows of one word";
            return Err(apart("sorted_into", with, instead));
        }
        if !words.is_multiple_of(key_words) {
            let allowed = "even, as the key is of 64 bits";
            return Err(invalid("words of a row", words, allowed));
        }
        if !key_word.is_multiple_of(key_words) {
            let allowed = "even, as the key is of 64 bits";
            return Err(invalid("word of the key", key_word, allowed));
        }
        if u64::from(key_word) + u64::from(key_words) > words.into() {
            let allowed = "less than the words of a row";
            return Err(invalid("word of the key", key_word, allowed));
        }
        Ok(Some((words / key_words, key_word / key_words)))
    }

    /// What goes with the keys.
    fn carried_columns(&self, limit: u64) -> Result<Carried, Error> {
        Ok(match &self.carried {
            Carries::Nothing => Carried::Nothing,
            // (Those of rows that stay are moved by indices anyway. Columns of fields begin with
            // the fields' rows.)
            Carries::Values(_) if self.stable && self.field.is_none() => {
                Carried::Columns(vec![Column {
                    words: 1,
                    elsewhere: false,
                }])
            }
            Carries::Values(_) => Carried::Values,
            Carries::Indices(_) => Carried::Indices,
            Carries::Rows(columns) => {
                if columns.len() > MOST_COLUMNS {
                    let allowed = "at most 64";
                    return Err(invalid("buffers of rows", columns.len() as u64, allowed));
                }
                for rows in columns {
                    self.check_rows(rows.words, limit)?;
                }
                let column = |(i, rows): (usize, &Rows<'_>)| Column {
                    words: rows.words,
                    elsewhere: self.end_of(i, rows).is_some(),
                };
                Carried::Columns(columns.iter().enumerate().map(column).collect())
            }
        })
    }

    /// The places that are to be in order, if not all are.
    pub(super) fn selected(&self) -> Result<Option<Range<u32>>, Error> {
        let Some(Range { start, end }) = self.ranks else {
            return Ok(None);
        };
        if self.segments.is_some() {
            let instead = "sort all of each array, whose best k are its first";
            return Err(apart("ranks", "segments", instead));
        }
        if end > self.len {
            let allowed = "at most the number of records";
            return Err(invalid("end of ranks", end, allowed));
        }
        if start > end {
            let allowed = "at most the end of ranks";
            return Err(invalid("start of ranks", start, allowed));
        }
        // (Checked: what a buffer holds has numbers of 32 bits.)
        Ok(Some(start as u32..end as u32))
    }

    /// That it is of keys of one array, all of them and as many as it says: what can be looked at,
    /// whether it is in order.
    pub(super) fn check_only_keys(&self) -> Result<(), Error> {
        let refused = [
            ("compared", self.comparator.is_some()),
            ("segments", self.segments.is_some()),
            ("ranks", self.ranks.is_some()),
            ("count", self.count.is_some()),
        ];
        let instead = "sort, or compare neighbours in a shader of your own";
        match refused.into_iter().find(|refused| refused.1) {
            None => Ok(()),
            Some((option, _)) => Err(apart(option, "a look at the order", instead)),
        }
    }

    /// That there may be so many rows of so many words.
    fn check_rows(&self, words: u32, limit: u64) -> Result<(), Error> {
        if words == 0 {
            return Err(invalid("words of a row", words, "at least 1"));
        }
        check_bound(self.bound(), words, limit)
    }

    /// The caller's buffers by their roles.
    pub(super) fn bindings(&self) -> Result<BTreeMap<Buffer, wgpu::BufferBinding<'a>>, Error> {
        let end = self.end();
        let from = self.bound_from();
        let bind = |role, buffer, bits| {
            let binding = calls::bind(role, buffer, end, bits)?;
            Ok::<_, Error>(behind(binding, from * bits / 8))
        };
        // The first payload rows are where values would be.
        let carried_by = |number| match number {
            0 => BufferRole::Values,
            _ => BufferRole::Column(number as u8),
        };
        let mut bindings = BTreeMap::new();
        let mut add = |role: BufferRole, binding| bindings.insert(Buffer::from(role), binding);
        match &self.carried {
            Carries::Nothing => {}
            Carries::Values(buffer) | Carries::Indices(buffer) => {
                let role = BufferRole::Values;
                add(role, bind(role, buffer, 32)?);
            }
            Carries::Rows(columns) => {
                for (number, rows) in columns.iter().enumerate() {
                    let bits = u64::from(rows.words) * 32;
                    let role = carried_by(number);
                    add(role, bind(role, rows.buffer, bits)?);
                    if let Some(sorted) = self.end_of(number, rows) {
                        let role = BufferRole::SortedColumn(number as u8);
                        add(role, bind(role, sorted, bits)?);
                    }
                }
            }
        }
        if let Some((buffer, word)) = self.count {
            let words = u64::from(word) + 1;
            let role = BufferRole::Count;
            add(role, calls::bind(role, buffer, words, 32)?);
        }
        if let Some((buffer, number)) = self.segments {
            // (No segments: some word is bound all the same.)
            let words = u64::from(number).max(1);
            let role = BufferRole::Offsets;
            add(role, calls::bind(role, buffer, words, 32)?);
        }
        let key_bits = self.key_bits();
        if let Some(sorted) = self.sorted.filter(|_| !self.is_of_rows()) {
            let role = BufferRole::SortedKeys;
            add(role, bind(role, sorted, key_bits)?);
        }
        let given: Vec<_> = bindings.values().map(|binding| binding.buffer).collect();
        let is_given_twice = |i: usize| given[i + 1..].contains(&given[i]);
        // Keys and rows may be one buffer, which no dispatch has twice.
        let is_keys = |(&role, binding): (&Buffer, &wgpu::BufferBinding<'_>)| {
            binding.buffer == self.keys && !(self.is_of_rows() && role == Buffer::Values)
        };
        if (0..given.len()).any(is_given_twice) || bindings.iter().any(is_keys) {
            return Err(Error::SameBuffer);
        }
        bindings.insert(Buffer::Keys, bind(BufferRole::Keys, self.keys, key_bits)?);
        Ok(bindings)
    }
}

/// Fails if the device cannot bind the first `words` words of a buffer.
fn check_words(
    buffer: BufferRole,
    words: u64,
    limit: u64,
    instead: &'static str,
) -> Result<(), Error> {
    let needed = words * 4;
    if needed <= limit {
        return Ok(());
    }
    Err(Error::BindingTooLarge {
        buffer,
        needed,
        limit,
        instead,
    })
}

/// A number that is not allowed.
fn invalid(name: &'static str, value: impl Into<u64>, allowed: &'static str) -> Error {
    Error::InvalidOption {
        name,
        value: value.into(),
        allowed,
    }
}

/// What cannot be had at the same time.
const fn apart(option: &'static str, with: &'static str, instead: &'static str) -> Error {
    Error::NotTogether {
        option,
        with,
        instead,
    }
}

/// A binding without its first bytes.
fn behind(mut binding: wgpu::BufferBinding<'_>, bytes: u64) -> wgpu::BufferBinding<'_> {
    let size = binding.size.map_or(0, wgpu::BufferSize::get);
    binding.offset += bytes;
    binding.size = wgpu::BufferSize::new(size - bytes);
    binding
}

/// That a device binds so many rows of so many words.
pub(super) fn check_bound(len: u64, words: u32, limit: u64) -> Result<(), Error> {
    // Words have numbers of 32 bits.
    let limit = limit.min(u64::from(u32::MAX) * 4);
    let row = u64::from(words) * 4;
    let needed = len.saturating_mul(row);
    if needed <= limit {
        return Ok(());
    }
    Err(Error::RowsTooLarge {
        len,
        words,
        needed,
        limit,
    })
}

/// Scratch memory for sorts that do not run at the same time: of each kind of buffer as much as the
/// sort that needs most of it.
///
/// What is recorded one after the other, into one encoder or several, does not run at the same
/// time. But between two [slices](crate::Sorter::record_slice) of a sort no other that shares its
/// memory may run. A sort keeps the memory that it was prepared with, also where this has grown
/// since: who wants to grow it once prepares the largest sort first. It belongs to one device.
///
/// Made by [`Default`], empty; see [`BufferSort`].
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// # use wgpu_bcfsort::{BufferSort, KeyType, Options, Scratch, Sorter};
/// # let sorter = Sorter::open(Options::default())?;
/// # let keys = sorter.device().create_buffer(&wgpu::BufferDescriptor {
/// #     label: None,
/// #     size: 4 * 5000,
/// #     usage: wgpu::BufferUsages::STORAGE,
/// #     mapped_at_creation: false,
/// # });
/// let mut scratch = Scratch::default();
/// let all = BufferSort::new(&keys, 5000, KeyType::U32);
/// let all = sorter.prepare_sort(all.scratch(&mut scratch))?;
/// let bytes = scratch.bytes();
/// assert_eq!(bytes, sorter.scratch_size(5000, KeyType::U32)?);
/// // A smaller one needs no more.
/// let few = BufferSort::new(&keys, 3000, KeyType::U32);
/// let few = sorter.prepare_sort(few.scratch(&mut scratch))?;
/// assert_eq!(scratch.bytes(), bytes);
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) buffers: BufferSet,
}

impl Scratch {
    /// Its bytes of device memory: 0 before the first sort is prepared with it.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.buffers.values().map(wgpu::Buffer::size).sum()
    }
}

//! What can go wrong, with the numbers that say why.

use crate::KeyType;
use crate::recording::Buffer;

/// Every failure of the library.
///
/// The caller's data is intact after an error: host slices are untouched, and GPU buffers are only
/// written by submissions that were made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No adapter offers compute shaders.
    #[error(
        "no GPU adapter found: install a Vulkan driver (on Debian and Ubuntu the package \
         mesa-vulkan-drivers brings lavapipe, which needs no GPU)"
    )]
    NoAdapter,
    /// The adapter's limits are below what the kernels need.
    #[error("{limit} is {actual} on this device, and the kernels need {needed}")]
    AdapterTooSmall {
        /// The name of the limit in [`wgpu::Limits`].
        limit: &'static str,
        /// What the kernels need.
        needed: u64,
        /// What the device has.
        actual: u64,
    },
    /// wgpu refused to create the device.
    #[error("the device could not be opened: {0}")]
    RequestDevice(#[from] wgpu::RequestDeviceError),
    /// More keys, or values, than one call on GPU buffers takes on this device.
    #[error(
        "{len} {key} keys are {bytes} bytes; this device takes at most {max_len} in one buffer \
         ({limit} is {limit_bytes} bytes)"
    )]
    TooLarge {
        /// Keys asked for.
        len: u64,
        /// The type of the keys.
        key: KeyType,
        /// Bytes asked for.
        bytes: u64,
        /// The most keys of this type that one call sorts.
        max_len: u64,
        /// The limit that is in the way.
        limit: &'static str,
        /// The value of that limit in bytes.
        limit_bytes: u64,
    },
    /// A buffer holds fewer bytes than what is to be in it.
    #[error(
        "the buffer of {buffer} holds {actual} bytes, and {len} of {bits} bits each take {needed}"
    )]
    BufferTooSmall {
        /// What it was given for. (The first rows that go with keys are in the place of [values](Buffer::Values), the second
        /// are [`Buffer::Column`]`(1)`.)
        buffer: Buffer,
        /// Elements asked for, from the buffer's beginning on.
        len: u64,
        /// Bits of each: a key's, or those of a row.
        bits: u64,
        /// Bytes those take.
        needed: u64,
        /// Bytes of the buffer.
        actual: u64,
    },
    /// Rows of more bytes than one binding may have on this device.
    #[error(
        "{len} rows of {words} words are {needed} bytes; this device binds at most {limit} at once \
         (max_storage_buffer_binding_size)"
    )]
    RowsTooLarge {
        /// Rows asked for.
        len: u64,
        /// 32-bit words of each.
        words: u32,
        /// Bytes those take.
        needed: u64,
        /// The device's limit in bytes.
        limit: u64,
    },
    /// A buffer was created without a usage that the call needs.
    #[error("the buffer of {buffer} has usages {actual:?}, and {needed:?} is needed")]
    BufferUsage {
        /// What it was given for.
        buffer: Buffer,
        /// Usages that are needed.
        needed: wgpu::BufferUsages,
        /// Usages of the buffer.
        actual: wgpu::BufferUsages,
    },
    /// One buffer was given for both keys and values, say, or values and colors: the GPU may not have a buffer in two
    /// roles.
    #[error(
        "one buffer was given twice: keys, values, rows, what is sorted into another buffer, offsets, colors and a count must \
         be in buffers of their own"
    )]
    SameBuffer,
    /// There are no prefix sums of this type.
    #[error("no prefix sums of {0} values: there are those of u32, i32 and f32")]
    NoSums(KeyType),
    /// Values and colors are not of one length, or keys and values.
    #[error("{first} {of} and {second} {with}: each needs one of the other")]
    LengthsDiffer {
        /// What was given first.
        of: &'static str,
        /// How many of it.
        first: u64,
        /// What was given with it.
        with: &'static str,
        /// How many of it.
        second: u64,
    },
    /// Indices are of 32 bits.
    #[error(
        "{len} keys: indices are of 32 bits, which number at most {} keys",
        u32::MAX
    )]
    TooManyToNumber {
        /// Keys given.
        len: u64,
    },
    /// A color is not below the number of colors.
    #[error("color {color} at index {index}: with {colors} colors the greatest is {}", colors - 1)]
    ColorOutOfRange {
        /// Where it stands, from 0.
        index: u64,
        /// The color.
        color: u32,
        /// The number of colors asked for.
        colors: u32,
    },
    /// A [`Comparator`](crate::Comparator) was refused: its own line and column, and why; or it is not of the Rust type that
    /// was named.
    #[error("comparator: {0}")]
    Comparator(String),
    /// An option is outside its range.
    #[error("option {name} is {value}: {allowed}")]
    InvalidOption {
        /// The option's name.
        name: &'static str,
        /// The value given.
        value: u64,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The device has not enough memory.
    #[error("the device is out of memory: {bytes} bytes could not be had ({message})")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
        /// What wgpu says.
        message: String,
    },
    /// The host has not enough memory to merge chunks, or for the indices of an argsort.
    #[error("out of memory: {bytes} bytes of host memory could not be had ({message})")]
    OutOfHostMemory {
        /// Bytes asked for.
        bytes: u64,
        /// What the allocator says.
        message: String,
    },
    /// The base case that was asked for takes more workgroup memory than the device has.
    #[error(
        "kernel {kernel} takes {needed} bytes of workgroup memory for {key} keys, and this device \
         has {limit}: choose a base case of smaller tiles, or fewer warps"
    )]
    WorkgroupMemory {
        /// The kernel's name.
        kernel: String,
        /// The type of the keys.
        key: KeyType,
        /// Bytes it takes.
        needed: u32,
        /// Bytes there are.
        limit: u32,
    },
    /// The device was lost, before or during the sort.
    #[error("the device was lost: {0}")]
    DeviceLost(String),
    /// The handle belongs to another device or sorter.
    #[error("the {0} was made for another sorter")]
    Foreign(&'static str),
    /// wgpu refused an operation: with a buffer of another device, say, or one that was destroyed, or with a pipeline cache of another
    /// device. Otherwise it is a bug here or in a driver.
    ///
    /// What is wrong only while a sort runs, wgpu says where it is submitted: a buffer that is mapped then, or has been destroyed since the
    /// sort was prepared. Where this crate submits, that is this error; where the caller does, it is an error of the caller's
    /// [`wgpu::Queue::submit`], by the device's error scope or handler.
    #[error("the device refused an operation: {0}")]
    Device(String),
    /// A kernel does not compile: a bug here.
    #[error("kernel {kernel}: {message}")]
    Kernel {
        /// The kernel's name.
        kernel: String,
        /// What naga says.
        message: String,
    },
}

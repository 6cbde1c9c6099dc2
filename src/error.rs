//! What can go wrong, with the numbers that say why.

use crate::KeyType;
use std::fmt;

/// What a GPU buffer is used for, in an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BufferRole {
    /// The keys, or the structs that they are fields of, or that a comparator compares.
    Keys,
    /// The sorted keys or structs: [`SortJob::output`](crate::SortJob::output).
    Output,
    /// The indices: [`SortJob::indices`](crate::SortJob::indices).
    Indices,
    /// A payload: its number counts [`SortJob::values`](crate::SortJob::values) and
    /// [`SortJob::payload`](crate::SortJob::payload) from 0.
    Payload(u8),
    /// The output of a payload: [`Payload::output`](crate::Payload::output).
    PayloadOutput(u8),
    /// The number of records: [`SortJob::len_from`](crate::SortJob::len_from).
    Count,
    /// The offsets of segments: [`SortJob::segmented`](crate::SortJob::segmented).
    Offsets,
    /// The answer of [`Sorter::prepare_is_sorted`](crate::Sorter::prepare_is_sorted).
    Found,
    /// The records that are composed in scratch memory.
    Scratch,
    /// What [`Sorter::download`](crate::Sorter::download) reads.
    Download,
    /// The values of prefix sums.
    Values,
    /// The colors of prefix sums.
    Colors,
}

impl fmt::Display for BufferRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keys => f.write_str("keys"),
            Self::Output => f.write_str("output"),
            Self::Indices => f.write_str("indices"),
            Self::Payload(number) => write!(f, "payload {number}"),
            Self::PayloadOutput(number) => write!(f, "payload output {number}"),
            Self::Count => f.write_str("record count"),
            Self::Offsets => f.write_str("segment offsets"),
            Self::Found => f.write_str("is_sorted result"),
            Self::Scratch => f.write_str("scratch"),
            Self::Download => f.write_str("downloaded"),
            Self::Values => f.write_str("values"),
            Self::Colors => f.write_str("colors"),
        }
    }
}

/// Every failure of the library. Its text is one line, with the numbers that say why; below it,
/// [`Comparator`](Self::Comparator) and [`Kernel`](Self::Kernel) may quote the WGSL that they are
/// about.
///
/// The caller's data is intact after an error: host slices are untouched, and GPU buffers are only
/// written by submissions that were made.
///
/// # Which to try again
///
/// | error | the same call may succeed |
/// |---|---|
/// | [`OutOfMemory`](Self::OutOfMemory), [`OutOfHostMemory`](Self::OutOfHostMemory) | when memory is free again; with fewer records sooner |
/// | [`RequestDevice`](Self::RequestDevice) | when other devices are dropped, maybe; or on another adapter |
/// | [`DeviceLost`](Self::DeviceLost) | on another sorter, on a device opened anew: this one's fails from now on, and what was in its buffers is gone |
/// | all others | never: it is what was asked for that has to change, or the device; or it is a bug |
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::{Error, Options, Order, Sorter};
///
/// fn sort(sorter: &mut Sorter, keys: &mut [u32]) -> Result<(), Error> {
///     match sorter.sort(keys, Order::Ascending) {
///         Err(Error::DeviceLost(_)) => {
///             // The keys are as they were.
///             *sorter = Sorter::open(Options::default())?;
///             sorter.sort(keys, Order::Ascending)
///         }
///         outcome => outcome,
///     }
/// }
/// # let mut keys = [2, 1];
/// # sort(&mut Sorter::open(Options::default()).unwrap(), &mut keys).unwrap();
/// # assert_eq!(keys, [1, 2]);
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No adapter offers compute shaders.
    #[error(
        "no GPU adapter found: install a Vulkan driver (on Debian and Ubuntu the package \
         mesa-vulkan-drivers brings lavapipe, which needs no GPU)"
    )]
    NoAdapter,
    /// The adapter's limits, or those that its device was opened with, are below what the kernels
    /// need: see [`requirements`](crate::requirements).
    #[error("{limit} is {actual} on this device, and the kernels need {needed}")]
    AdapterTooSmall {
        /// The name of the limit in [`wgpu::Limits`].
        limit: &'static str,
        /// What the kernels need.
        needed: u64,
        /// What the device has.
        actual: u64,
    },
    /// wgpu refused to create the device. The adapter has what was asked for; its driver may have
    /// no room for one more device.
    #[error("the device could not be opened: {0}")]
    RequestDevice(#[from] wgpu::RequestDeviceError),
    /// More keys, or values, than one call on GPU buffers takes on this device. Host slices may be
    /// longer.
    #[non_exhaustive]
    #[error(
        "{len} {key} keys are {} bytes; this device takes at most {max_len} in one buffer \
         ({limit} is {limit_bytes} bytes)",
        u128::from(*len) * u128::from(key.bytes())
    )]
    TooLarge {
        /// Keys asked for.
        len: u64,
        /// The type of the keys.
        key: KeyType,
        /// Bytes asked for, or [`u64::MAX`] if they are more.
        bytes: u64,
        /// The most keys of this type that one call sorts.
        max_len: u64,
        /// The limit that is in the way.
        limit: &'static str,
        /// The value of that limit in bytes.
        limit_bytes: u64,
    },
    /// A buffer, or the range of it that was given, has fewer bytes than the records take.
    #[non_exhaustive]
    #[error("the {buffer} buffer has {actual} bytes, and the records take {needed}")]
    BufferTooSmall {
        /// What the buffer is for.
        buffer: BufferRole,
        /// Bytes that the records take.
        needed: u64,
        /// Bytes of the range.
        actual: u64,
    },
    /// The records take more bytes than the device can bind at once.
    #[non_exhaustive]
    #[error(
        "the {buffer} buffer would need {needed} bytes, and this device binds at most {limit} at \
         once (max_storage_buffer_binding_size): sort fewer records, or smaller ones"
    )]
    BindingTooLarge {
        /// What the buffer is for.
        buffer: BufferRole,
        /// Bytes that would be bound.
        needed: u128,
        /// The device's limit in bytes.
        limit: u64,
    },
    /// A range of a buffer begins within a record.
    #[non_exhaustive]
    #[error(
        "the {buffer} buffer is used from byte {offset} on, which must be a multiple of \
         {multiple_of}"
    )]
    Offset {
        /// What the buffer is for.
        buffer: BufferRole,
        /// The range's byte offset.
        offset: u64,
        /// What it must be a multiple of.
        multiple_of: u64,
    },
    /// A buffer was created without a usage that the call needs.
    #[non_exhaustive]
    #[error("the {buffer} buffer has the usages {actual:?}, and needs {needed:?}")]
    BufferUsage {
        /// What the buffer is for.
        buffer: BufferRole,
        /// Usages that are needed.
        needed: wgpu::BufferUsages,
        /// Usages of the buffer.
        actual: wgpu::BufferUsages,
    },
    /// One buffer was given twice. A dispatch cannot bind a buffer in two roles, even for ranges
    /// that do not overlap.
    #[error(
        "one buffer was given twice: keys, output, indices, each payload, offsets, colors and the \
         record count must be in buffers of their own"
    )]
    SameBuffer,
    /// There are no prefix sums of this type.
    #[error("no prefix sums of {0} values: there are those of u32, i32 and f32")]
    NoSums(KeyType),
    /// Values and colors are not of one length, or keys and values.
    #[non_exhaustive]
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
    /// Indices are of 32 bits, and a slice has more keys.
    #[non_exhaustive]
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
    /// A [`Comparator`](crate::Comparator) was refused: why, with the line and the column, and
    /// below it the line itself; or it is not of the Rust type that was named.
    #[error("comparator: {0}")]
    Comparator(String),
    /// An option is outside its range.
    #[non_exhaustive]
    #[error("option {name} is {value}, but must be {allowed}")]
    InvalidOption {
        /// The option's name.
        name: &'static str,
        /// The value given.
        value: u64,
        /// What it must be.
        allowed: &'static str,
    },
    /// The device has not enough memory. (A host slice has been sorted in ever smaller chunks
    /// before.)
    #[error("the device is out of memory: {bytes} bytes could not be had ({message})")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
        /// What wgpu says.
        message: String,
    },
    /// The host has not enough memory to merge chunks, or for the indices of an argsort.
    #[non_exhaustive]
    #[error("out of memory: {bytes} bytes of host memory could not be had ({message})")]
    OutOfHostMemory {
        /// Bytes asked for.
        bytes: u64,
        /// What the allocator says.
        message: String,
    },
    /// The base case or the [tuning](crate::Tuning) that was asked for takes more workgroup memory
    /// than the device has.
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
    /// A kernel's workgroups have more lanes than the device allows.
    #[non_exhaustive]
    #[error("kernel {kernel} has workgroups of {needed} lanes, and this device allows {limit}")]
    WorkgroupLanes {
        /// The kernel's name.
        kernel: String,
        /// Lanes of its workgroups.
        needed: u32,
        /// Lanes that the device allows.
        limit: u32,
    },
    /// The device was lost, before or during the sort: its driver was reset or ended a submission
    /// that took too long, it was unplugged, or the caller has destroyed it.
    #[error("the device was lost: {0}")]
    DeviceLost(String),
    /// wgpu refused an operation, as invalid or for a reason inside it; its text is what wgpu says.
    /// It covers
    ///
    /// - a buffer of another device, or one that was destroyed, and a pipeline cache of another
    ///   device: the caller's mistakes;
    /// - a kernel that the driver does not compile, and all else that wgpu finds wrong with what
    ///   this crate asks for: a bug here or in a driver;
    /// - for futures alone, no thread to wait with.
    ///
    /// What is wrong only while a sort runs, wgpu says where it is submitted: a buffer that is
    /// mapped then, or has been destroyed since the sort was prepared. Where this crate submits,
    /// that is this error; where the caller does, it is an error of the caller's
    /// [`wgpu::Queue::submit`], by the device's error scope or handler.
    #[error("the device refused an operation: {0}")]
    Device(String),
    /// A kernel does not compile, before a driver has seen it: a bug here. naga quotes it, on lines
    /// of their own.
    #[non_exhaustive]
    #[error("kernel {kernel}: {message}")]
    Kernel {
        /// The kernel's name.
        kernel: String,
        /// What naga says.
        message: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the numbers, as large as they may be.
    #[test]
    fn texts_are_one_line_each() {
        let all = u64::MAX;
        let (key, buffer, storage) = (
            KeyType::U64,
            BufferRole::Offsets,
            wgpu::BufferUsages::STORAGE,
        );
        let message = || "why".to_owned();
        for error in [
            Error::NoAdapter,
            Error::AdapterTooSmall {
                limit: "max_buffer_size",
                needed: all,
                actual: 0,
            },
            Error::TooLarge {
                len: all,
                key,
                bytes: all,
                max_len: 1,
                limit: "max_buffer_size",
                limit_bytes: 8,
            },
            Error::BufferTooSmall {
                buffer,
                needed: all,
                actual: 0,
            },
            Error::BindingTooLarge {
                buffer,
                needed: u128::MAX,
                limit: 8,
            },
            Error::Offset {
                buffer,
                offset: all,
                multiple_of: 4,
            },
            Error::BufferUsage {
                buffer,
                needed: storage,
                actual: wgpu::BufferUsages::all(),
            },
            Error::SameBuffer,
            Error::NoSums(key),
            Error::LengthsDiffer {
                of: "keys",
                first: all,
                with: "values",
                second: 0,
            },
            Error::TooManyToNumber { len: all },
            Error::ColorOutOfRange {
                index: all,
                color: u32::MAX,
                colors: 1,
            },
            Error::InvalidOption {
                name: "buckets",
                value: all,
                allowed: "1 to 1024",
            },
            Error::OutOfMemory {
                bytes: all,
                message: message(),
            },
            Error::OutOfHostMemory {
                bytes: all,
                message: message(),
            },
            Error::WorkgroupMemory {
                kernel: "base_case".to_owned(),
                key,
                needed: 2,
                limit: 1,
            },
            Error::WorkgroupLanes {
                kernel: "base_case".to_owned(),
                needed: 2,
                limit: 1,
            },
            Error::DeviceLost(message()),
            Error::Device(message()),
        ] {
            let text = error.to_string();
            assert!(!text.contains(['\n', '\r', '\t']), "{text}");
            assert!(!text.contains("  ") && !text.ends_with('.'), "{text}");
        }
    }
}

//! The errors of the library, with the numbers that explain them.

use crate::key::KeyType;
use crate::no_adapter::advice;
use std::fmt;

/// The role of a GPU buffer in an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BufferRole {
    /// The keys, or the structs that are sorted.
    Keys,
    /// The sorted keys or structs: [`SortJob::output`](crate::SortJob::output).
    Output,
    /// The sorted indices: [`SortJob::indices`](crate::SortJob::indices).
    Indices,
    /// A payload: the n-th call of [`SortJob::values`](crate::SortJob::values) or
    /// [`SortJob::payload`](crate::SortJob::payload), from 0.
    Payload(u8),
    /// The output of a payload, of the same number: [`Payload::output`](crate::Payload::output).
    PayloadOutput(u8),
    /// The number of records: [`SortJob::len_from`](crate::SortJob::len_from).
    Count,
    /// The offsets of segments: [`SortJob::segmented`](crate::SortJob::segmented).
    Offsets,
    /// The result of [`Sorter::prepare_is_sorted`](crate::Sorter::prepare_is_sorted).
    Found,
    /// The number of runs: [`Runs::new`](crate::Runs::new).
    RunCount,
    /// The starts of runs: [`Runs::starts`](crate::Runs::starts).
    RunStarts,
    /// The lengths of runs: [`Runs::lengths`](crate::Runs::lengths).
    RunLengths,
    /// The keys of runs: [`Runs::keys`](crate::Runs::keys).
    RunKeys,
    /// The rows of runs' first records, of the payload of the same number:
    /// [`Payload::firsts`](crate::Payload::firsts).
    RunPayload(u8),
    /// The starts of cells: [`SortJob::starts_of`](crate::SortJob::starts_of).
    Cells,
    /// The keys to search for: [`SortJob::lower_bound`](crate::SortJob::lower_bound).
    Needles,
    /// Their places: [`SortJob::lower_bound`](crate::SortJob::lower_bound).
    Places,
    /// The flags of a [`CompactJob`](crate::CompactJob), or the rows that its predicate reads.
    Flags,
    /// The number of records that a [`CompactJob`](crate::CompactJob) keeps.
    Kept,
    /// The keys of the second input of a [`MergeJob`](crate::MergeJob).
    SecondKeys,
    /// The number of records of the second input of a [`MergeJob`](crate::MergeJob).
    SecondCount,
    /// The bounds of a [`HistogramJob`](crate::HistogramJob)'s bins.
    Bounds,
    /// The counts of a [`HistogramJob`](crate::HistogramJob).
    BinCounts,
    /// The composed records in scratch memory.
    Scratch,
    /// The source of [`Sorter::download`](crate::Sorter::download).
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
            Self::RunCount => f.write_str("run count"),
            Self::RunStarts => f.write_str("run starts"),
            Self::RunLengths => f.write_str("run lengths"),
            Self::RunKeys => f.write_str("run keys"),
            Self::RunPayload(number) => write!(f, "run payload {number}"),
            Self::Cells => f.write_str("cell starts"),
            Self::Needles => f.write_str("needles"),
            Self::Places => f.write_str("places"),
            Self::Flags => f.write_str("flags"),
            Self::Kept => f.write_str("kept count"),
            Self::SecondKeys => f.write_str("second keys"),
            Self::SecondCount => f.write_str("second record count"),
            Self::Bounds => f.write_str("bounds"),
            Self::BinCounts => f.write_str("bin counts"),
            Self::Scratch => f.write_str("scratch"),
            Self::Download => f.write_str("downloaded"),
            Self::Values => f.write_str("values"),
            Self::Colors => f.write_str("colors"),
        }
    }
}

/// Every error of the library. The text is one line, with the numbers that explain it. Below that
/// line, [`Comparator`](Self::Comparator), [`Predicate`](Self::Predicate) and
/// [`Kernel`](Self::Kernel) may quote WGSL.
///
/// An error leaves the user's data intact: host slices are unchanged, and GPU buffers are written
/// only by submissions that were made.
///
/// # Which to try again
///
/// | error | the same call may succeed |
/// |---|---|
/// | [`OutOfMemory`](Self::OutOfMemory), [`OutOfHostMemory`](Self::OutOfHostMemory) | when memory is free again, or with fewer records |
/// | [`RequestDevice`](Self::RequestDevice) | possibly when other devices are dropped, or on another adapter |
/// | [`DeviceLost`](Self::DeviceLost) | with a new sorter on a new device: all further calls on this device fail, and the contents of its buffers are lost |
/// | all others | never: change the arguments or the device, or report a bug |
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::{Error, Options, Order, Sorter};
///
/// fn sort(sorter: &mut Sorter, keys: &mut [u32]) -> Result<(), Error> {
///     match sorter.sort(keys, Order::Ascending) {
///         Err(Error::DeviceLost(_)) => {
///             // The keys are unchanged.
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
    /// No adapter offers compute shaders. The text says what seems to be missing on this machine.
    #[error("no GPU adapter found: {}", advice())]
    NoAdapter,
    /// A limit of the adapter, or of the opened device, is below what the kernels need. If the
    /// adapter has enough, request the device with the limits of
    /// [`requirements`](crate::requirements).
    #[error("{limit} is {actual} on this device, and the kernels need {needed}")]
    AdapterTooSmall {
        /// The name of the limit in [`wgpu::Limits`].
        limit: &'static str,
        /// The value that the kernels need.
        needed: u64,
        /// The value of the device.
        actual: u64,
    },
    /// wgpu could not create the device, although the adapter supports the request: e.g. the driver
    /// has reached its maximum number of devices.
    #[cfg(feature = "gpu")]
    #[error("the device could not be opened: {0}")]
    RequestDevice(#[from] wgpu::RequestDeviceError),
    /// Too many keys, or values of prefix sums, for one call on GPU buffers of this device. Host
    /// slices may be longer.
    #[non_exhaustive]
    #[error(
        "{len} {key} keys are too many: this device sorts at most {max_len} at once, each of which \
         takes {} bytes while it is sorted ({limit} is {limit_bytes} bytes)",
        key.widened().bytes()
    )]
    TooLarge {
        /// The number of keys requested.
        len: u64,
        /// The type of the keys.
        key: KeyType,
        /// The size of the keys in bytes, at most [`u64::MAX`].
        bytes: u64,
        /// The maximum number of keys of this type in one call.
        max_len: u64,
        /// The name of the exceeded limit.
        limit: &'static str,
        /// The value of that limit in bytes.
        limit_bytes: u64,
    },
    /// A buffer, or the specified range of it, is smaller than the records.
    #[non_exhaustive]
    #[error("the {buffer} buffer has {actual} bytes, and needs {needed}")]
    BufferTooSmall {
        /// The role of the buffer.
        buffer: BufferRole,
        /// The size of the records in bytes.
        needed: u64,
        /// The size of the range in bytes.
        actual: u64,
    },
    /// The records are larger than the largest binding of the device.
    #[non_exhaustive]
    #[error(
        "the {buffer} buffer would need {needed} bytes, and this device binds at most {limit} at \
         once (max_storage_buffer_binding_size): sort fewer records, or smaller ones"
    )]
    BindingTooLarge {
        /// The role of the buffer.
        buffer: BufferRole,
        /// The size of the binding in bytes.
        needed: u128,
        /// The device's limit in bytes.
        limit: u64,
    },
    /// The offset of a buffer range is not aligned to the records.
    #[non_exhaustive]
    #[error(
        "the {buffer} buffer is used from byte {offset} on: this offset must be a multiple of \
         {multiple_of}"
    )]
    Offset {
        /// The role of the buffer.
        buffer: BufferRole,
        /// The range's byte offset.
        offset: u64,
        /// The required alignment in bytes.
        multiple_of: u64,
    },
    /// A buffer lacks a usage that the call needs.
    #[cfg(feature = "gpu")]
    #[non_exhaustive]
    #[error("the {buffer} buffer has the usages {actual:?}, but also needs {needed:?}")]
    BufferUsage {
        /// The role of the buffer.
        buffer: BufferRole,
        /// The usages that are needed.
        needed: wgpu::BufferUsages,
        /// The usages of the buffer.
        actual: wgpu::BufferUsages,
    },
    /// One buffer was used in two roles, at least one of which is written. A dispatch cannot bind a
    /// buffer in two roles, even if the ranges do not overlap.
    #[non_exhaustive]
    #[error(
        "the {first} and the {second} are in one buffer, which a dispatch cannot bind twice: copy \
         one of them to another buffer"
    )]
    SameBuffer {
        /// One role of the buffer.
        first: BufferRole,
        /// The other role.
        second: BufferRole,
    },
    /// Something is to be found among sorted keys, and there are none: see
    /// [`SortJob::runs`](crate::SortJob::runs).
    #[error("runs, cells and places are found where all keys lie in order, but {0}")]
    NotInOrder(&'static str),
    /// Cells are not numbered by keys of this type.
    #[error("cells are numbered by unsigned keys, not {0}")]
    NoCells(KeyType),
    /// Bits of keys of this type cannot be selected: [`Keys::bits`](crate::Keys::bits).
    #[error("bits are selected of u32 keys, not of {0}")]
    NoBits(KeyType),
    /// Prefix sums do not support this type.
    #[error(
        "{0} values are not added: prefix sums are of u32, i32 and f32, scans also of u64 and i64"
    )]
    NoSums(KeyType),
    /// Keys of this type are not merged.
    #[error("{0} keys are not merged: merges are of keys of 32 and 64 bits")]
    NoMerge(KeyType),
    /// The bounds of a [`HistogramJob`](crate::HistogramJob)'s bins do not fit: their order, their
    /// number or their type. The text has the reason.
    #[error("bounds of bins: {0}")]
    Bounds(String),
    /// Two slices or counts that must have the same length differ, e.g. keys and values.
    #[non_exhaustive]
    #[error("{first} {of} but {second} {with}: the lengths must be equal")]
    LengthsDiffer {
        /// The name of the first.
        of: &'static str,
        /// The length of the first.
        first: u64,
        /// The name of the second.
        with: &'static str,
        /// The length of the second.
        second: u64,
    },
    /// A slice has more keys than 32-bit indices can address.
    #[non_exhaustive]
    #[error("{len} keys are too many for 32-bit indices (at most {})", u32::MAX)]
    TooManyToNumber {
        /// The number of keys.
        len: u64,
    },
    /// A color of prefix sums is not below the number of colors.
    #[error("color {color} at index {index}: with {colors} colors the greatest is {}", colors - 1)]
    ColorOutOfRange {
        /// The index of the color, from 0.
        index: u64,
        /// The color.
        color: u32,
        /// The number of colors.
        colors: u32,
    },
    /// A [`Comparator`](crate::Comparator) was refused, or its rows do not have the layout of the
    /// Rust type. The text has the reason with line and column, and quotes the line below.
    #[error("comparator: {0}")]
    Comparator(String),
    /// A [`Predicate`](crate::Predicate) was refused, or its rows do not have the layout of the
    /// Rust type. The text is like that of [`Comparator`](Self::Comparator).
    #[error("predicate: {0}")]
    Predicate(String),
    /// An option is outside its range.
    #[non_exhaustive]
    #[error("option {name} is {value}, but must be {allowed}")]
    InvalidOption {
        /// The option's name.
        name: &'static str,
        /// The value given.
        value: u64,
        /// The allowed values.
        allowed: &'static str,
    },
    /// The device is out of memory. A sort of a host slice has tried smaller chunks before.
    #[error("the device is out of memory: cannot allocate {bytes} bytes ({message})")]
    OutOfMemory {
        /// The size of the allocation in bytes.
        bytes: u64,
        /// wgpu's message.
        message: String,
    },
    /// The host is out of memory for merging chunks or for indices.
    #[non_exhaustive]
    #[error("out of memory: cannot allocate {bytes} bytes of host memory ({message})")]
    OutOfHostMemory {
        /// The size of the allocation in bytes.
        bytes: u64,
        /// The allocator's message.
        message: String,
    },
    /// The base case or the [tuning](crate::Tuning) exceeds the device's workgroup memory.
    #[error(
        "kernel {kernel} takes {needed} bytes of workgroup memory for {key} keys, and this device \
         has {limit}: choose a base case of smaller tiles, or fewer warps"
    )]
    WorkgroupMemory {
        /// The kernel's name.
        kernel: String,
        /// The type of the keys.
        key: KeyType,
        /// The bytes that the kernel needs.
        needed: u32,
        /// The bytes that the device has.
        limit: u32,
    },
    /// A kernel's workgroups have more lanes than the device allows.
    #[non_exhaustive]
    #[error("kernel {kernel} has workgroups of {needed} lanes, and this device allows {limit}")]
    WorkgroupLanes {
        /// The kernel's name.
        kernel: String,
        /// The number of lanes in its workgroups.
        needed: u32,
        /// The maximum number of lanes on the device.
        limit: u32,
    },
    /// The device was lost before or during the sort: its driver was reset or stopped a submission
    /// that took too long, it was unplugged, or the program destroyed it.
    #[error("the device was lost: {0}")]
    DeviceLost(String),
    /// wgpu refused an operation as invalid, or had an internal error. The text is wgpu's message.
    /// The causes are
    ///
    /// - a mistake of the program: a destroyed buffer, or a buffer or a pipeline cache of another
    ///   device;
    /// - a bug in this crate or in a driver: the driver does not compile a kernel, or wgpu rejects
    ///   another call;
    /// - for futures only, a failure to start a thread.
    ///
    /// A buffer that is mapped, or was destroyed after [`prepare`](crate::SortJob::prepare), is an
    /// error when the sort is submitted. If this crate submits it, it returns this error. If the
    /// program submits it, [`wgpu::Queue::submit`] reports it to the device's error scope or
    /// handler.
    #[error("the device refused an operation: {0}")]
    Device(String),
    /// naga does not compile a kernel, which is a bug in this crate. The message quotes the WGSL.
    #[non_exhaustive]
    #[error("kernel {kernel}: {message}")]
    Kernel {
        /// The kernel's name.
        kernel: String,
        /// naga's message.
        message: String,
    },
}

#[cfg(feature = "gpu")]
impl Error {
    /// The error with other names for its buffers.
    pub(crate) fn with_roles(mut self, name: impl Fn(BufferRole) -> BufferRole) -> Self {
        match &mut self {
            Self::BufferTooSmall { buffer, .. }
            | Self::BindingTooLarge { buffer, .. }
            | Self::Offset { buffer, .. }
            | Self::BufferUsage { buffer, .. } => *buffer = name(*buffer),
            Self::SameBuffer { first, second } => {
                (*first, *second) = (name(*first), name(*second));
            }
            _ => {}
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the largest numbers.
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
            Error::SameBuffer {
                first: buffer,
                second: BufferRole::PayloadOutput(63),
            },
            Error::NoSums(key),
            Error::NoMerge(key),
            Error::Bounds(message()),
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

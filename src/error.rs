//! What can go wrong, with the numbers that say why.

use crate::KeyType;
use std::fmt;

/// What a buffer of the caller's was given for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BufferRole {
    /// The keys, or the rows that they are fields of, or that are compared.
    Keys,
    /// Values that are sorted with the keys, indices that are written, or the first payload rows;
    /// of prefix sums, the values.
    Values,
    /// Further payload rows, numbered from 1 on.
    Column(u8),
    /// The output of [`BufferSort::sorted_into`](crate::BufferSort::sorted_into).
    SortedKeys,
    /// The outputs of [`BufferSort::rows_into`](crate::BufferSort::rows_into), numbered from 0 on
    /// as the payload rows are.
    SortedColumn(u8),
    /// The number of records: [`BufferSort::count`](crate::BufferSort::count).
    Count,
    /// Where segments begin: [`BufferSort::segments`](crate::BufferSort::segments).
    Offsets,
    /// The answer of [`Sorter::prepare_order_check`](crate::Sorter::prepare_order_check).
    OutOfOrder,
    /// The colors of prefix sums.
    Colors,
}

impl fmt::Display for BufferRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keys => f.write_str("keys"),
            Self::Values => f.write_str("values"),
            Self::Column(number) => write!(f, "column.{number}"),
            Self::SortedKeys => f.write_str("sorted_keys"),
            Self::SortedColumn(number) => write!(f, "sorted_column.{number}"),
            Self::Count => f.write_str("count"),
            Self::Offsets => f.write_str("offsets"),
            Self::OutOfOrder => f.write_str("out_of_order"),
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
    /// A buffer holds fewer bytes than what is to be in it.
    #[error(
        "the buffer of {buffer} holds {actual} bytes, and {len} of {bits} bits each take {needed}"
    )]
    BufferTooSmall {
        /// What it was given for.
        buffer: BufferRole,
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
    #[non_exhaustive]
    #[error(
        "{len} rows of {words} words are {} bytes; this device binds at most {limit} at once \
         (max_storage_buffer_binding_size): sort fewer of them, or smaller ones",
        u128::from(*len) * u128::from(*words) * 4
    )]
    RowsTooLarge {
        /// Rows asked for.
        len: u64,
        /// 32-bit words of each.
        words: u32,
        /// Bytes those take, or [`u64::MAX`] if they are more.
        needed: u64,
        /// The device's limit in bytes.
        limit: u64,
    },
    /// More of a buffer with offsets or a count than one binding may have on this device.
    #[non_exhaustive]
    #[error(
        "{needed} bytes of the buffer of {buffer} are needed; this device binds at most {limit} at \
         once (max_storage_buffer_binding_size): {instead}"
    )]
    BindingTooLarge {
        /// What it was given for.
        buffer: BufferRole,
        /// Bytes from its beginning on.
        needed: u64,
        /// The device's limit in bytes.
        limit: u64,
        /// What to do.
        instead: &'static str,
    },
    /// A buffer was created without a usage that the call needs.
    #[non_exhaustive]
    #[error("the buffer of {buffer} has usages {actual:?}, and {needed:?} is needed")]
    BufferUsage {
        /// What it was given for.
        buffer: BufferRole,
        /// Usages that are needed.
        needed: wgpu::BufferUsages,
        /// Usages of the buffer.
        actual: wgpu::BufferUsages,
    },
    /// One buffer was given for both keys and values, say, or values and colors: the GPU may not
    /// have a buffer in two roles.
    #[error(
        "one buffer was given twice: keys, values, rows, what is sorted into another buffer, \
         offsets, colors and a count must be in buffers of their own"
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
    /// Two things that a [`BufferSort`](crate::BufferSort) cannot have at the same time.
    #[non_exhaustive]
    #[error("{option} does not go with {with}: {instead}")]
    NotTogether {
        /// The one, by the name of its method.
        option: &'static str,
        /// The other.
        with: &'static str,
        /// What to do in place of it.
        instead: &'static str,
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
    /// The handle belongs to another device or sorter, which is named.
    #[error("the {0} was made for another sorter")]
    Foreign(&'static str),
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
                len: all,
                bits: 32,
                needed: all,
                actual: 0,
            },
            Error::RowsTooLarge {
                len: all,
                words: u32::MAX,
                needed: all,
                limit: 8,
            },
            Error::BindingTooLarge {
                buffer,
                needed: all,
                limit: 8,
                instead: "sort fewer",
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
            Error::NotTogether {
                option: "first",
                with: "a comparator",
                instead: "copy",
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
            Error::Foreign("prepared sort"),
            Error::Device(message()),
        ] {
            let text = error.to_string();
            assert!(!text.contains(['\n', '\r', '\t']), "{text}");
            assert!(!text.contains("  ") && !text.ends_with('.'), "{text}");
        }
    }

    #[test]
    fn bytes_are_not_cut_off() {
        let rows = Error::RowsTooLarge {
            len: u64::MAX,
            words: 1,
            needed: u64::MAX,
            limit: 8,
        };
        let text = rows.to_string();
        assert!(text.contains(" are 73786976294838206460 bytes"), "{text}");
    }
}

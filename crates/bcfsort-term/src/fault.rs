//! Failures of a command, with their messages and exit codes.

use crate::{notice, output};
use bcfsort_auto::NoDevice;
use bcfsort_data::DataError;
use std::fmt;
use std::io;
use wgpu_bcfsort::Error;

/// A failure and its message.
#[derive(Debug)]
pub enum Fault {
    /// `check` found keys out of order and reported the position.
    NotSorted,
    /// `audit` found failures and reported them.
    Unclean,
    /// Wrong usage, bad input, or output that could not be written.
    Usage(String),
    /// Device trouble, or a wrong result.
    Device(String),
    /// The output pipe was closed, as in `sort | head`; not a failure.
    ClosedPipe,
}

impl Fault {
    /// The failure of an operation on the file `name`.
    pub fn io(name: &str, what: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            Self::Usage(format!("{name}: {what}: {error}"))
        }
    }

    /// A failure to read or write keys of the file `name`.
    pub fn data(name: &str, error: &DataError) -> Self {
        match error {
            DataError::Write(error) => Self::io(name, "cannot write", error),
            DataError::Read(error) => Self::io(name, "cannot read", error),
            DataError::LooksLikeText => Self::Usage(format!(
                "{name} looks like text: -f text reads it as numbers, -f raw as bytes; sort and \
                 check have -f lines and csv"
            )),
            // Text with other characters than numbers have, without -f text, ends up here.
            DataError::Truncated { .. } => {
                Self::Usage(format!("{name}: {error}, or is text (-f text)"))
            }
            error => Self::Usage(format!("{name}: {error}")),
        }
    }

    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::ClosedPipe => 0,
            Self::NotSorted | Self::Unclean => 1,
            Self::Usage(_) => 2,
            Self::Device(_) => 3,
        }
    }

    /// Prints the message, and ends the process at once, whatever other threads do.
    pub fn exit(&self) -> ! {
        if let Some(message) = self.message() {
            notice::say(message);
        }
        output::exit(self.exit_code())
    }

    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Usage(message) | Self::Device(message) => Some(message),
            Self::NotSorted | Self::Unclean | Self::ClosedPipe => None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message().unwrap_or_default())
    }
}

impl std::error::Error for Fault {}

impl From<NoDevice> for Fault {
    fn from(error: NoDevice) -> Self {
        match error {
            NoDevice::None => Error::NoAdapter.into(),
            NoDevice::Unknown { .. } => Self::Usage(error.to_string()),
        }
    }
}

impl From<bcfsort_auto::Error> for Fault {
    fn from(error: bcfsort_auto::Error) -> Self {
        match error {
            bcfsort_auto::Error::NoDevice(error) => error.into(),
            bcfsort_auto::Error::Sort(error) => error.into(),
            error => Self::Usage(error.to_string()),
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match error {
            // Options of this command.
            Error::InvalidOption {
                name: name @ ("buckets" | "samples" | "warps"),
                value,
                allowed,
                ..
            } => Self::Usage(format!("--{name} is {value}, but must be {allowed}")),
            // Usage errors: the options do not fit this device. Another may have more memory.
            Error::InvalidOption { .. }
            | Error::WorkgroupMemory { .. }
            | Error::LengthsDiffer { .. }
            | Error::TooManyToNumber { .. }
            | Error::ColorOutOfRange { .. } => Self::Usage(error.to_string()),
            error => Self::Device(error.to_string()),
        }
    }
}

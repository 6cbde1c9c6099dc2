//! Errors of data sets and key files, with the numbers that explain them.

use wgpu_bcfsort::KeyType;

/// Every error of this module. Each message is one line and says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// Reading failed.
    #[error("reading failed: {0}")]
    Read(#[source] std::io::Error),
    /// Writing failed.
    #[error("writing failed: {0}")]
    Write(#[source] std::io::Error),
    /// A raw input ends in the middle of a key.
    #[error(
        "the input is {}, not a multiple of the {width} bytes of a {key} key: it was cut short, or \
         holds another key type",
        crate::bytes(*bytes)
    )]
    Truncated {
        /// Bytes of the whole input.
        bytes: u64,
        /// Bytes per key.
        width: u64,
        /// The type of the keys.
        key: KeyType,
    },
    /// An input looks like text, and raw keys were only assumed.
    #[error("the input looks like text: request a format to read it")]
    LooksLikeText,
    /// A line of a text input is empty.
    #[error("line {line} is empty: every line must hold one {key} key")]
    EmptyLine {
        /// The line's number, from 1.
        line: u64,
        /// The type of the keys.
        key: KeyType,
    },
    /// A line of a text input is not a key.
    #[error("line {line}: '{content}' is not a valid {key} key{hint}")]
    BadLine {
        /// The line's number, from 1.
        line: u64,
        /// The line, clipped if long, with non-printable bytes escaped.
        content: String,
        /// The type of the keys.
        key: KeyType,
        /// What to do about it: text that begins with a colon, or empty if there is no hint.
        hint: String,
    },
    /// A number cannot be parsed.
    #[error("'{text}' is {why}")]
    BadNumber {
        /// The text given.
        text: String,
        /// What is wrong with it, and the expected form.
        why: &'static str,
    },
    /// The pattern has no such parameter.
    #[error("pattern {pattern} takes no --{parameter}, which is for {patterns}")]
    UnusedParameter {
        /// The pattern's name.
        pattern: &'static str,
        /// The parameter's name.
        parameter: &'static str,
        /// The patterns that have the parameter.
        patterns: String,
    },
    /// A parameter is outside its range.
    #[error("--{parameter} is {value}: {allowed}")]
    BadParameter {
        /// The parameter's name.
        parameter: &'static str,
        /// The value given.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// The key type has fewer different values than the pattern needs.
    #[error("pattern {pattern} needs {count} different {key} keys, and has at most {most}")]
    TooFewValues {
        /// The pattern's name.
        pattern: &'static str,
        /// Number of keys requested.
        count: u64,
        /// The type of the keys.
        key: KeyType,
        /// The most different keys of this type.
        most: u64,
    },
    /// The adversary exists only for some counts.
    #[error(
        "the adversary with {items} items a lane exists for {unit} x 2^k keys only, not for \
         {count}: the nearest are {nearest}"
    )]
    AdversaryCount {
        /// Number of keys requested.
        count: u64,
        /// Items per lane.
        items: u32,
        /// Keys of one warp.
        unit: u64,
        /// The nearest valid counts.
        nearest: String,
    },
    /// The keys do not fit in memory.
    #[error("{count} {key} keys do not fit in memory ({})", crate::bytes(*bytes))]
    OutOfMemory {
        /// Number of keys requested.
        count: u64,
        /// The type of the keys.
        key: KeyType,
        /// Bytes of these keys.
        bytes: u64,
    },
}

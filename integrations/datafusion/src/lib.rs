#![doc = include_str!("../README.md")]

mod exec;
mod gather;
mod gpu;
mod metrics;
mod options;
mod rule;
mod sorting;

pub use exec::GpuSortExec;
pub use gpu::GpuPool;
pub use options::{BcfsortOptions, OnError, Switch};
pub use rule::GpuSortRule;

/// Text with control characters escaped, as they could come from a file to the terminal. For this
/// repository's commands.
#[doc(hidden)]
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => escaped.push(character),
            // They turn the direction of text.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                escaped.extend(character.escape_unicode());
            }
            _ if character.is_control() => escaped.extend(character.escape_default()),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(feature = "session")]
mod session;
#[cfg(feature = "session")]
pub use session::with_gpu_sort;

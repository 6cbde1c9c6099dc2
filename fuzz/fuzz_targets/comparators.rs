//! Any text as a comparator: it is refused, or accepted as WGSL that naga takes once more. Nothing
//! panics, hangs or takes all memory.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wgpu_bcfsort::{Comparator, Error};

fuzz_target!(|text: &str| {
    match Comparator::new(text) {
        Ok(comparator) => assert!(comparator.row_words() > 0),
        Err(Error::Comparator(why)) => assert!(!why.is_empty()),
        Err(other) => panic!("{other}"),
    }
});

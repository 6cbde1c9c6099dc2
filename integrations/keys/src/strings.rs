//! Prefixes of strings and binary values, as integers.

use crate::column::{BLOCK, blocks};
use arrow_array::{
    Array, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray, LargeStringArray,
    StringArray, StringViewArray,
};
use arrow_buffer::NullBuffer;
use rayon::prelude::*;

/// The most bytes of a string that a key holds.
pub(crate) const PREFIX: usize = 8;

/// An array of strings or binary values, in any of Arrow's layouts.
pub(crate) trait Strings: Sync {
    fn len(&self) -> usize;
    fn bytes(&self, i: usize) -> &[u8];
}

macro_rules! strings {
    ($($array:ty),*) => {$(
        impl Strings for &$array {
            fn len(&self) -> usize {
                Array::len(*self)
            }
            #[inline(always)]
            fn bytes(&self, i: usize) -> &[u8] {
                self.value(i).as_ref()
            }
        }
    )*};
}
strings!(
    StringArray,
    LargeStringArray,
    StringViewArray,
    BinaryArray,
    LargeBinaryArray,
    BinaryViewArray,
    FixedSizeBinaryArray
);

/// Calls a generic expression with the [`Strings`] of an array that [`has_bytes`].
macro_rules! with_bytes {
    ($array:expr, $strings:ident => $call:expr) => {{
        use arrow_array::cast::AsArray;
        use arrow_schema::DataType;
        match $array.data_type() {
            DataType::Utf8 => with_bytes!(@ $array.as_string::<i32>(), $strings => $call),
            DataType::LargeUtf8 => with_bytes!(@ $array.as_string::<i64>(), $strings => $call),
            DataType::Utf8View => with_bytes!(@ $array.as_string_view(), $strings => $call),
            DataType::Binary => with_bytes!(@ $array.as_binary::<i32>(), $strings => $call),
            DataType::LargeBinary => with_bytes!(@ $array.as_binary::<i64>(), $strings => $call),
            DataType::BinaryView => with_bytes!(@ $array.as_binary_view(), $strings => $call),
            _ => with_bytes!(@ $array.as_fixed_size_binary(), $strings => $call),
        }
    }};
    (@ $value:expr, $strings:ident => $call:expr) => {{
        let $strings = $value;
        $call
    }};
}
pub(crate) use with_bytes;

/// The first bytes of strings as integers, after the prefix that all strings share.
pub(crate) struct Prefixes {
    pub(crate) words: Vec<u64>,
    /// Whether the words tell all strings apart.
    pub(crate) is_exact: bool,
    /// The length of the prefix that all strings share.
    pub(crate) skipped: usize,
    /// The most bytes of a string in its word.
    pub(crate) held: usize,
}

pub(crate) fn prefixes(array: &impl Strings, nulls: Option<&NullBuffer>) -> Prefixes {
    let is_valid = |i: usize| nulls.is_none_or(|nulls| nulls.is_valid(i));
    let Some(first) = (0..array.len()).find(|&i| is_valid(i)) else {
        return Prefixes {
            words: vec![0; array.len()],
            is_exact: true,
            skipped: 0,
            held: 0,
        };
    };
    let first = array.bytes(first);
    // The length of the common prefix, and the shortest and the longest length.
    let look = |(common, least, most): (usize, usize, usize), i: usize| {
        let bytes = array.bytes(i);
        let equal = bytes
            .iter()
            .zip(&first[..common])
            .take_while(|(a, b)| a == b)
            .count();
        (equal, least.min(bytes.len()), most.max(bytes.len()))
    };
    let none = (first.len(), first.len(), first.len());
    let (skipped, least, most) = blocks(array.len())
        .map(|block| block.filter(|&i| is_valid(i)).fold(none, look))
        .reduce(|| none, |a, b| (a.0.min(b.0), a.1.min(b.1), a.2.max(b.2)));
    let width = (most - skipped).min(PREFIX);
    let mut words = vec![0; array.len()];
    let is_exact = words
        .par_chunks_mut(BLOCK)
        .zip(blocks(array.len()))
        .map(|(words, block)| {
            let mut is_exact = most - skipped <= PREFIX;
            for (word, i) in words.iter_mut().zip(block) {
                if !is_valid(i) {
                    continue;
                }
                let rest = &array.bytes(i)[skipped..];
                let taken = rest.len().min(width);
                let mut prefix = [0; PREFIX];
                prefix[PREFIX - width..][..taken].copy_from_slice(&rest[..taken]);
                *word = u64::from_be_bytes(prefix);
                // Words are padded with zeros, so a zero at the end of a string looks like padding,
                // unless all strings have one length.
                is_exact &= least == most || rest.last() != Some(&0);
            }
            is_exact
        })
        .reduce(|| true, |a, b| a && b);
    Prefixes {
        words,
        is_exact,
        skipped,
        held: width,
    }
}

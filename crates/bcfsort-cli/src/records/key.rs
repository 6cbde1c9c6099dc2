//! Keys that compare as bytes, made of strings and numbers.

use memchr::memchr;
use wgpu_bcfsort::{KeyType, Order};

/// Appends a string that is the last part of a key or has the same length in all keys.
pub(super) fn push_bytes(bytes: &[u8], order: Order, key: &mut Vec<u8>) {
    let start = key.len();
    key.extend_from_slice(bytes);
    complement(&mut key[start..], order);
}

/// Appends a string of any length and its end, which precedes every byte.
///
/// A zero becomes 00 ff, and the end is 00 01.
pub(super) fn push_string(mut bytes: &[u8], order: Order, key: &mut Vec<u8>) {
    let start = key.len();
    while let Some(zero) = memchr(0, bytes) {
        key.extend_from_slice(&bytes[..=zero]);
        key.push(0xff);
        bytes = &bytes[zero + 1..];
    }
    key.extend_from_slice(bytes);
    key.extend_from_slice(&[0, 1]);
    complement(&mut key[start..], order);
}

/// Appends the last part of a key if it may have any length. Only an ascending one needs no end.
pub(super) fn push_last_string(bytes: &[u8], order: Order, key: &mut Vec<u8>) {
    match order {
        Order::Ascending => key.extend_from_slice(bytes),
        Order::Descending => push_string(bytes, order, key),
    }
}

/// Appends a number, given by its bits.
pub(super) fn push_number(bits: u64, number: KeyType, order: Order, key: &mut Vec<u8>) {
    let bytes = number.bytes() as usize;
    let map = number.map(order);
    // Packed types are mapped as the upper bits of a word.
    let padding = map.bits - 8 * bytes as u32;
    let ordered = map.encode(bits << padding) >> padding;
    key.extend_from_slice(&ordered.to_be_bytes()[8 - bytes..]);
}

/// The order of one field.
pub(super) const fn order(descending: bool) -> Order {
    if descending {
        Order::Descending
    } else {
        Order::Ascending
    }
}

pub(super) fn complement(bytes: &mut [u8], order: Order) {
    if order == Order::Descending {
        for byte in bytes {
            *byte = !*byte;
        }
    }
}

/// The number of bytes before the first one that is not `of`.
#[inline]
pub(super) fn leading(bytes: &[u8], of: impl Fn(u8) -> bool) -> usize {
    let end = bytes.iter().position(|&byte| !of(byte));
    end.unwrap_or(bytes.len())
}

/// True for the blanks between fields. A newline is one in lines that end with a zero.
#[inline]
pub(super) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n')
}

//! Keys that compare as bytes, made of strings, numbers and decimal text.

use super::Prefix;
use memchr::memchr;
use wgpu_bcfsort::{KeyType, Order};

/// Decimal digits in one block of a key: 10^16 < 2^56.
const DIGITS: usize = 16;

/// Bytes of such a block.
const BLOCK: usize = 7;

/// The first byte of zero. That of a positive number is larger by 1 and the number of digits
/// before the decimal point.
const ZERO: u8 = 0x80;

/// The most digits before the point that the first byte has room for.
const FEW: usize = 0x3e;

/// The first byte of a number of more digits before the point, which 8 bytes count.
const MANY: u8 = 0xc0;

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

fn complement(bytes: &mut [u8], order: Order) {
    if order == Order::Descending {
        for byte in bytes {
            *byte = !*byte;
        }
    }
}

/// A decimal number of any length.
///
/// The key is a byte for the sign and the number of digits before the decimal point, then blocks of
/// 16 digits in 7 bytes, each followed by a byte that says whether there is another one. Zero is
/// its first byte alone. All bytes of a negative number are complemented.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decimal<'a> {
    negative: bool,
    /// The digits before the decimal point, without leading zeros.
    whole: &'a [u8],
    /// The digits behind it, without trailing zeros.
    fraction: &'a [u8],
}

impl<'a> Decimal<'a> {
    /// The number that the text begins with, after blanks: `-`, digits, a point and digits, all of
    /// them optional. 0 if there is none.
    #[inline]
    pub(super) fn parse(text: &'a [u8]) -> Self {
        let text = &text[leading(text, is_blank)..];
        let (negative, text) = match text {
            [b'-', text @ ..] => (true, text),
            _ => (false, text),
        };
        let zeros = leading(text, |byte| byte == b'0');
        let (whole, rest) = split_digits(&text[zeros..]);
        let fraction = match rest {
            [b'.', rest @ ..] => split_digits(rest).0,
            _ => &[],
        };
        let zeros = fraction.iter().rev().take_while(|&&byte| byte == b'0');
        let fraction = &fraction[..fraction.len() - zeros.count()];
        Self {
            negative,
            whole,
            fraction,
        }
    }

    const fn is_zero(&self) -> bool {
        self.whole.is_empty() && self.fraction.is_empty()
    }

    /// The 16 digits from the one at `start`, with zeros behind the last.
    #[inline]
    fn block(&self, start: usize) -> u64 {
        let whole = &self.whole[start.min(self.whole.len())..];
        let whole = &whole[..whole.len().min(DIGITS)];
        let fraction = &self.fraction[start.saturating_sub(self.whole.len())..];
        let fraction = &fraction[..fraction.len().min(DIGITS - whole.len())];
        let append = |value, digits: &[u8]| {
            let digits = digits.iter().map(|digit| u64::from(digit - b'0'));
            digits.fold(value, |value: u64, digit| value * 10 + digit)
        };
        let value = append(append(0, whole), fraction);
        value * POWERS[DIGITS - whole.len() - fraction.len()]
    }

    /// The first 64 bits of the key.
    #[inline]
    pub(super) fn prefix(&self, order: Order) -> Prefix {
        let few = self.whole.len() <= FEW;
        let bits = if self.is_zero() {
            u64::from(ZERO) << 56
        } else if few {
            (u64::from(ZERO) + 1 + self.whole.len() as u64) << 56 | self.block(0)
        } else {
            u64::from(MANY) << 56 | self.whole.len() as u64 >> 8
        };
        // Like the key, but zero is padded with zeros in both orders, as a short key is.
        let bits = match (self.is_zero(), order) {
            (true, Order::Ascending) => bits,
            (true, Order::Descending) => u64::from(!ZERO) << 56,
            (false, order) if self.negative == (order == Order::Descending) => bits,
            _ => !bits,
        };
        let exact = few && self.whole.len() + self.fraction.len() <= DIGITS;
        Prefix { bits, exact }
    }

    /// Appends the key.
    pub(super) fn push(&self, order: Order, key: &mut Vec<u8>) {
        let start = key.len();
        if self.is_zero() {
            key.push(ZERO);
            return complement(&mut key[start..], order);
        }
        if self.whole.len() <= FEW {
            key.push(ZERO + 1 + self.whole.len() as u8);
        } else {
            key.push(MANY);
            key.extend_from_slice(&(self.whole.len() as u64).to_be_bytes());
        }
        let digits = self.whole.len() + self.fraction.len();
        for block in (0..digits).step_by(DIGITS) {
            key.extend_from_slice(&self.block(block).to_be_bytes()[8 - BLOCK..]);
            key.push(u8::from(block + DIGITS < digits));
        }
        if self.negative {
            complement(&mut key[start..], Order::Descending);
        }
        complement(&mut key[start..], order);
    }
}

/// The powers of 10 up to that of a block.
const POWERS: [u64; DIGITS + 1] = {
    let mut powers = [1; DIGITS + 1];
    let mut index = 1;
    while index <= DIGITS {
        powers[index] = powers[index - 1] * 10;
        index += 1;
    }
    powers
};

/// The number of bytes before the first one that is not `of`.
#[inline]
pub(super) fn leading(bytes: &[u8], of: impl Fn(u8) -> bool) -> usize {
    let end = bytes.iter().position(|&byte| !of(byte));
    end.unwrap_or(bytes.len())
}

/// True for the blanks between fields.
#[inline]
pub(super) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(leading(text, |byte| byte.is_ascii_digit()))
}

//! Decimal numbers of any size, as keys that compare as bytes.

use super::Prefix;
use super::key::{complement, is_blank, leading};
use wgpu_bcfsort::Order;

/// Decimal digits in one block of a key: 10^16 < 2^56.
const DIGITS: usize = 16;

/// Bytes of such a block.
const BLOCK: usize = 7;

/// The first byte of zero. Those of positive numbers are larger, and those of negative ones
/// smaller. No number has the first byte 00 or ff.
const ZERO: u8 = 0x80;

/// The first byte of a number with an exponent below [`LEAST`], which 8 bytes follow.
const TINY: u8 = 0x81;

/// The exponents that the first byte has room for.
const LEAST: i64 = -60;
const MOST: i64 = 63;

/// The first byte of a number with an exponent above [`MOST`], which 8 bytes follow.
const HUGE: u8 = 0xfe;

/// The most digits of an exponent: a sum with the number of digits has 64 bits.
const EXPONENT_DIGITS: usize = 18;

/// A decimal number: 0.DIGITS times a power of 10.
///
/// The key is a byte for the sign and the exponent, which has 8 more bytes if it is far from 0,
/// then blocks of 16 digits in 7 bytes, each followed by a byte that says whether there is another
/// one. Zero is its first byte alone. All bytes of a negative number are complemented.
///
/// The length of a key is that of the text at most, whatever the exponent is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal<'a> {
    negative: bool,
    /// The digits before the point of the text, and those after it. Together they neither begin nor
    /// end with a zero.
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
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
        let (whole, fraction, _) = split(text);
        Self::new(negative, whole, fraction, 0)
    }

    /// The number that the text begins with, and what follows it: a sign, digits with a point, and
    /// an exponent of at most 18 digits, as in `-1.5e-3`. `None` if there is no digit.
    #[inline]
    pub(super) fn scientific(text: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (negative, text) = signed(text);
        let (whole, fraction, rest) = split(text);
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let (power, rest) = match rest {
            [b'e' | b'E', text @ ..] => power(text).unwrap_or((0, rest)),
            _ => (0, rest),
        };
        Some((Self::new(negative, whole, fraction, power), rest))
    }

    #[inline]
    fn new(negative: bool, whole: &'a [u8], fraction: &'a [u8], power: i64) -> Self {
        let is_zero = |byte| byte == b'0';
        let mut whole = &whole[leading(whole, is_zero)..];
        let mut fraction = without_zeros(fraction);
        let mut point = whole.len().cast_signed() as i64;
        if whole.is_empty() {
            let zeros = leading(fraction, is_zero);
            fraction = &fraction[zeros..];
            point = -(zeros.cast_signed() as i64);
        } else if fraction.is_empty() {
            whole = without_zeros(whole);
        }
        Self {
            negative,
            whole,
            fraction,
            exponent: point + power,
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

    /// The first byte of the key of a positive number, and true if the exponent follows.
    #[inline]
    const fn class(&self) -> (u8, bool) {
        match self.exponent {
            ..LEAST => (TINY, true),
            LEAST..=MOST => (
                TINY + 1 + (self.exponent - LEAST).cast_unsigned() as u8,
                false,
            ),
            _ => (HUGE, true),
        }
    }

    /// The exponent as bits in its order.
    const fn exponent_bits(&self) -> u64 {
        self.exponent.cast_unsigned() ^ 1 << 63
    }

    /// The first 64 bits of the key.
    #[inline]
    pub(super) fn prefix(&self, order: Order) -> Prefix {
        let (class, is_far) = self.class();
        let bits = if self.is_zero() {
            u64::from(ZERO) << 56
        } else if is_far {
            u64::from(class) << 56 | self.exponent_bits() >> 8
        } else {
            u64::from(class) << 56 | self.block(0)
        };
        // Like the key, but zero is padded with zeros in both orders, as a short key is.
        let bits = match (self.is_zero(), order) {
            (true, Order::Ascending) => bits,
            (true, Order::Descending) => u64::from(!ZERO) << 56,
            (false, order) if self.negative == (order == Order::Descending) => bits,
            _ => !bits,
        };
        let exact = self.is_zero() || !is_far && self.whole.len() + self.fraction.len() <= DIGITS;
        Prefix { bits, exact }
    }

    /// Appends the key.
    pub(super) fn push(&self, order: Order, key: &mut Vec<u8>) {
        let start = key.len();
        if self.is_zero() {
            key.push(ZERO);
            return complement(&mut key[start..], order);
        }
        let (class, is_far) = self.class();
        key.push(class);
        if is_far {
            key.extend_from_slice(&self.exponent_bits().to_be_bytes());
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

/// Splits off a sign, and returns true if it is a minus.
const fn signed(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', text @ ..] => (true, text),
        [b'+', text @ ..] => (false, text),
        _ => (false, text),
    }
}

/// The digits before the point, those after it, and what follows.
#[inline]
fn split(text: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let (whole, rest) = split_digits(text);
    match rest {
        [b'.', rest @ ..] => {
            let (fraction, rest) = split_digits(rest);
            (whole, fraction, rest)
        }
        _ => (whole, &[], rest),
    }
}

fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(leading(text, |byte| byte.is_ascii_digit()))
}

fn without_zeros(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().rev().take_while(|&&byte| byte == b'0');
    &digits[..digits.len() - zeros.count()]
}

/// An exponent and what follows it, if it has from 1 to 18 digits besides zeros in front.
fn power(text: &[u8]) -> Option<(i64, &[u8])> {
    let (negative, text) = signed(text);
    let (digits, rest) = split_digits(text);
    let few = &digits[leading(digits, |byte| byte == b'0')..];
    if digits.is_empty() || few.len() > EXPONENT_DIGITS {
        return None;
    }
    let power = few
        .iter()
        .fold(0, |power, digit| power * 10 + i64::from(digit - b'0'));
    Some((if negative { -power } else { power }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str, order: Order) -> Vec<u8> {
        let (number, rest) = Decimal::scientific(text.as_bytes()).expect(text);
        assert_eq!(rest, b"", "{text}");
        let mut key = Vec::new();
        number.push(order, &mut key);
        let prefix = number.prefix(order);
        let generic = Prefix::of(&key, true);
        assert_eq!(prefix.bits, generic.bits, "{text}");
        assert!(key.len() <= 9 + 8 * text.len().div_ceil(DIGITS), "{text}");
        key
    }

    #[test]
    fn numbers_compare_by_value_whatever_their_form() {
        // Each line has one value, and they are in order.
        let lines = [
            "-1e999999999999999999 -10e999999999999999998",
            "-2e70 -20e69",
            "-1e63 -1000000000000000000000000000000000000000000000000000000000000000",
            "-9007199254740993 -9007199254740993.0 -9.007199254740993E15",
            "-9007199254740992",
            "-1 -1.0 -01 -1e0 -10e-1 -0.01e+2",
            "-1e-61",
            "-1e-999999999999999999",
            "0 -0 +0 0.000 -0e9 .0 0. 0e-999999999999999999",
            "1e-999999999999999999",
            "1e-62 0.1e-61",
            "1e-61",
            "0.1 .1 1e-1 +.1",
            "0.1000000000000000000001",
            "1 1.0 1. 1e0 1e-0 1e+00000000000000000000000",
            "1.00000000000000000000000000000001",
            "10 1e1 1E+1 100e-1",
            "9007199254740992",
            "9007199254740992.00000000000000000000000000001",
            "9007199254740993",
            "18446744073709551616 18446744073709551616.000",
            "1e62",
            "1e63 0.001e66",
            "1e64",
            "123456789012345678901234567890e100",
            "1e999999999999999999",
        ];
        for order in [Order::Ascending, Order::Descending] {
            let mut before: Option<Vec<u8>> = None;
            for line in lines {
                let mut keys = line.split(' ').map(|text| key(text, order));
                let first = keys.next().expect(line);
                assert!(keys.all(|key| key == first), "{line}");
                if let Some(before) = before {
                    let ascends = before < first;
                    assert_eq!(ascends, order == Order::Ascending, "{line}");
                    assert_ne!(before, first, "{line}");
                }
                before = Some(first);
            }
        }
    }

    #[test]
    fn what_is_no_number_is_left() {
        let rest = |text: &'static str| Decimal::scientific(text.as_bytes()).map(|parsed| parsed.1);
        for none in ["", "+", "-", ".", "e5", "-.e1", "x", "--1", " 1"] {
            assert_eq!(rest(none), None, "{none}");
        }
        assert_eq!(rest("1e"), Some(&b"e"[..]));
        assert_eq!(rest("1e+"), Some(&b"e+"[..]));
        assert_eq!(rest("1.5.5"), Some(&b".5"[..]));
        assert_eq!(rest("1e5.5"), Some(&b".5"[..]));
        assert_eq!(
            rest("1e1000000000000000000"),
            Some(&b"e1000000000000000000"[..])
        );
        assert_eq!(rest("12 "), Some(&b" "[..]));
    }
}

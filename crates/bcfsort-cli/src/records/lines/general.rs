//! Numbers as `strtold` reads them, for `--general-numeric-sort`.

use super::super::Prefix;
use super::super::key::{complement, leading};
use std::cmp::Ordering;
use wgpu_bcfsort::Order;

/// The size of a key.
const BYTES: usize = 10;

/// Bits of a float's significand, the first of which is not stored.
const PRECISION: i64 = 64;

/// The exponents of the largest and of the smallest normal floats.
const MAX_EXPONENT: i64 = 16383;
const MIN_EXPONENT: i64 = -16382;

/// Infinity: the stored bits of the exponent, then 63 of the significand.
const INFINITY: u128 = 0x7fff << 63;

/// What zero has for its key. Others are larger or smaller by their stored bits.
const ZERO: u128 = 1 << 78;

/// Text that is no number is the smallest key. All of these are below that of -infinity.
const NO_NUMBER: u128 = 0;
const NAN: u128 = 1 << 17;
const NEGATIVE_NAN: u128 = 2 << 17;

/// No float needs more digits to be told from the middle between two others.
const MAX_DIGITS: usize = 12_000;

/// The exponents of 10 of the first digit, beyond which a number is infinite or zero.
const MAX_POWER: i64 = 4932;
const MIN_POWER: i64 = -4951;

/// The number at the beginning of a text, rounded to the 80-bit floats of x86: the order is that of
/// GNU sort there, and the same on all machines.
///
/// First comes text that is no number, then NaN, -NaN, -inf, the other numbers and inf. -0 is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct General(u128);

impl General {
    /// The number that the text begins with, after white space.
    pub(super) fn parse(text: &[u8]) -> Self {
        let text = &text[leading(text, |byte| matches!(byte, b' ' | b'\t'..=b'\r'))..];
        let (is_negative, text) = match text {
            [b'-', text @ ..] => (true, text),
            [b'+', text @ ..] => (false, text),
            _ => (false, text),
        };
        if starts_with(text, b"nan") {
            return Self(if is_negative { NEGATIVE_NAN } else { NAN });
        }
        let magnitude = if starts_with(text, b"inf") {
            Some(INFINITY)
        } else {
            hexadecimal(text).or_else(|| decimal(text))
        };
        Self(match magnitude {
            None => NO_NUMBER,
            Some(magnitude) if is_negative => (ZERO - magnitude) << 1,
            Some(magnitude) => (ZERO + magnitude) << 1,
        })
    }

    /// The first 64 bits of the key.
    pub(super) fn prefix(self, order: Order) -> Prefix {
        let bits = (self.0 >> 16) as u64;
        Prefix {
            bits: match order {
                Order::Ascending => bits,
                Order::Descending => !bits,
            },
            exact: self.0.trailing_zeros() >= 16,
        }
    }

    /// Appends the key.
    pub(super) fn push(self, order: Order, key: &mut Vec<u8>) {
        let start = key.len();
        key.extend_from_slice(&self.0.to_be_bytes()[16 - BYTES..]);
        complement(&mut key[start..], order);
    }
}

fn starts_with(text: &[u8], word: &[u8]) -> bool {
    text.len() >= word.len() && text[..word.len()].eq_ignore_ascii_case(word)
}

/// The digits before a point and after it, and what follows.
fn digits(text: &[u8], is_digit: impl Fn(u8) -> bool) -> (&[u8], &[u8], &[u8]) {
    let (whole, rest) = text.split_at(leading(text, &is_digit));
    match rest {
        [b'.', rest @ ..] => {
            let (fraction, rest) = rest.split_at(leading(rest, is_digit));
            (whole, fraction, rest)
        }
        _ => (whole, &[], rest),
    }
}

/// The exponent behind a letter. 0 if there is none, and far from 0 if it is too long.
fn exponent(text: &[u8], letter: u8) -> i64 {
    let Some((first, text)) = text.split_first() else {
        return 0;
    };
    let (is_negative, text) = match text {
        [b'-', text @ ..] => (true, text),
        [b'+', text @ ..] => (false, text),
        _ => (false, text),
    };
    if !first.eq_ignore_ascii_case(&letter) {
        return 0;
    }
    let digits = &text[..leading(text, |byte| byte.is_ascii_digit())];
    let value = digits.iter().fold(0, |value: i64, digit| {
        // Lines have fewer than 2^59 digits.
        (value * 10 + i64::from(digit - b'0')).min(1 << 59)
    });
    if is_negative { -value } else { value }
}

/// The number of the digits before the point, less that of the first `count` digits of a number.
const fn point(whole: &[u8], count: usize) -> i64 {
    whole.len().cast_signed() as i64 - count.cast_signed() as i64
}

/// The stored bits of a number such as `1.5e3`.
fn decimal(text: &[u8]) -> Option<u128> {
    let (whole, fraction, rest) = digits(text, |byte| byte.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let is_zero = |&digit: &u8| digit == b'0';
    let all = || whole.iter().chain(fraction);
    let zeros = all().take_while(|digit| is_zero(digit)).count();
    let end = whole.len() + fraction.len();
    let end = end - all().rev().take_while(|digit| is_zero(digit)).count();
    if zeros >= end {
        return Some(0);
    }
    let power = exponent(rest, b'e');
    let first = power + point(whole, zeros + 1);
    if first > MAX_POWER {
        return Some(INFINITY);
    }
    if first < MIN_POWER {
        return Some(0);
    }
    let digits = || all().take(end).skip(zeros).map(|digit| digit - b'0');
    let power = power + point(whole, end);
    if let Some(stored) = short_decimal(digits(), end - zeros, power) {
        return Some(stored);
    }
    let kept = (end - zeros).min(MAX_DIGITS);
    let mut number = Natural(vec![0]);
    for digit in digits().take(kept) {
        number.multiply(10, u64::from(digit));
    }
    let mut power = power + (end - zeros - kept).cast_signed() as i64;
    if kept < end - zeros {
        // The last digit is not 0, so the number is larger than what is kept.
        number.multiply(10, 1);
        power -= 1;
    }
    let mut divisor = Natural(vec![1]);
    let scaled = if power < 0 { &mut divisor } else { &mut number };
    scaled.multiply_by_power_of_5(power.unsigned_abs());
    let (significand, is_inexact, exponent) = number.divide(divisor);
    Some(stored(significand, is_inexact, exponent + power))
}

/// As [`decimal`], of few digits and a small power of 10.
fn short_decimal(digits: impl Iterator<Item = u8>, count: usize, power: i64) -> Option<u128> {
    /// 5^27 < 2^63.
    const MOST: u64 = 27;
    if count > 19 || power.unsigned_abs() > MOST {
        return None;
    }
    let number = digits.fold(0, |number, digit| number * 10 + u64::from(digit));
    let scale = 5_u128.pow(power.unsigned_abs() as u32);
    let (quotient, is_inexact, exponent) = if power >= 0 {
        (u128::from(number) * scale, false, 0)
    } else {
        // The quotient has at least 65 bits: what is lost decides no rounding but that of a tie.
        let shift = u128::from(number).leading_zeros();
        let number = u128::from(number) << shift;
        let exponent = -i64::from(shift);
        (number / scale, number % scale != 0, exponent)
    };
    let shift = quotient.leading_zeros();
    let exponent = exponent + power + i64::from(127 - shift);
    Some(stored(quotient << shift, is_inexact, exponent))
}

/// The stored bits of a number such as `0x1.8p3`. Its exponent is one of 2.
fn hexadecimal(text: &[u8]) -> Option<u128> {
    let [b'0', b'x' | b'X', text @ ..] = text else {
        return None;
    };
    let (whole, fraction, rest) = digits(text, |byte| byte.is_ascii_hexdigit());
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let all = || whole.iter().chain(fraction);
    let zeros = all().take_while(|&&digit| digit == b'0').count();
    let digit = |&digit: &u8| match digit {
        b'0'..=b'9' => u128::from(digit - b'0'),
        _ => u128::from(digit.to_ascii_lowercase() - b'a' + 10),
    };
    let kept = (whole.len() + fraction.len() - zeros).min(32);
    let significant = all().skip(zeros).take(kept);
    let significand = significant
        .map(digit)
        .fold(0, |sum, digit| sum << 4 | digit);
    if significand == 0 {
        return Some(0);
    }
    let is_inexact = all().skip(zeros + kept).any(|&digit| digit != b'0');
    let shift = significand.leading_zeros();
    let power = exponent(rest, b'p') + 4 * point(whole, zeros + kept);
    let exponent = power + i64::from(127 - shift);
    Some(stored(significand << shift, is_inexact, exponent))
}

/// Rounds a number to the nearest float, and of two to the even one. The first bit of the
/// significand is set and stands for 2^exponent. `is_inexact`: the number is somewhat larger.
fn stored(significand: u128, is_inexact: bool, exponent: i64) -> u128 {
    if exponent > MAX_EXPONENT {
        return INFINITY;
    }
    // Floats below the normal ones have fewer bits.
    let normal = exponent.max(MIN_EXPONENT);
    let dropped = 128 - PRECISION + (normal - exponent);
    if dropped > 128 {
        return 0;
    }
    let dropped = dropped.unsigned_abs() as u32;
    let kept = significand.checked_shr(dropped).unwrap_or(0);
    let rest = significand - kept.checked_shl(dropped).unwrap_or(0);
    let is_up = match rest.cmp(&(1 << (dropped - 1))) {
        Ordering::Less => false,
        Ordering::Equal => is_inexact || kept & 1 == 1,
        Ordering::Greater => true,
    };
    // The first bit of a normal float adds 1 to the exponent.
    let exponent = (normal - MIN_EXPONENT).cast_unsigned();
    let stored = (u128::from(exponent) << (PRECISION - 1)) + kept + u128::from(is_up);
    stored.min(INFINITY)
}

/// A natural number of any size, from its lowest 64 bits on.
struct Natural(Vec<u64>);

impl Natural {
    /// Multiplies by a factor, and adds.
    fn multiply(&mut self, factor: u64, add: u64) {
        let mut carry = u128::from(add);
        for word in &mut self.0 {
            carry += u128::from(*word) * u128::from(factor);
            *word = carry as u64;
            carry >>= 64;
        }
        if carry != 0 {
            self.0.push(carry as u64);
        }
    }

    fn multiply_by_power_of_5(&mut self, mut power: u64) {
        while power > 0 {
            let step = power.min(27);
            self.multiply(5_u64.pow(step as u32), 0);
            power -= step;
        }
    }

    /// The number of bits. The number is not 0.
    fn bits(&self) -> usize {
        let zeros = self.0.iter().rev().take_while(|&&word| word == 0).count();
        let top = self.0[self.0.len() - 1 - zeros];
        64 * (self.0.len() - zeros) - top.leading_zeros() as usize
    }

    /// Multiplies by a power of 2, and makes room for `words` words.
    fn shift(&mut self, bits: usize, words: usize) {
        for _ in 0..bits % 64 {
            self.double();
        }
        self.0.splice(0..0, std::iter::repeat_n(0, bits / 64));
        self.0.resize(self.0.len().max(words), 0);
    }

    fn double(&mut self) {
        self.multiply(2, 0);
    }

    /// True if this is at least `other`, which has as many words.
    fn is_at_least(&self, other: &Self) -> bool {
        self.0.iter().rev().ge(other.0.iter().rev())
    }

    /// Subtracts a number that is not larger, and has as many words.
    fn subtract(&mut self, other: &Self) {
        let mut borrows = false;
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            let (rest, first) = word.overflowing_sub(*other);
            let (rest, second) = rest.overflowing_sub(u64::from(borrows));
            *word = rest;
            borrows = first || second;
        }
    }

    /// The quotient: its first bits, from bit 127 on, whether it is larger, and the exponent of 2
    /// of the first bit.
    fn divide(mut self, mut divisor: Self) -> (u128, bool, i64) {
        /// One more than a float has, so that only a tie depends on the rest.
        const BITS: u32 = PRECISION as u32 + 2;
        let (bits, divisor_bits) = (self.bits(), divisor.bits());
        let mut exponent = bits.cast_signed() as i64 - divisor_bits.cast_signed() as i64;
        // Both have the same bits then, and room for one more.
        let most = bits.max(divisor_bits);
        let words = most / 64 + 1;
        self.shift(most - bits, words);
        divisor.shift(most - divisor_bits, words);
        self.0.truncate(words);
        divisor.0.truncate(words);
        if !self.is_at_least(&divisor) {
            self.double();
            exponent -= 1;
        }
        let mut quotient = 0;
        for _ in 0..BITS {
            quotient <<= 1;
            if self.is_at_least(&divisor) {
                self.subtract(&divisor);
                quotient |= 1;
            }
            self.double();
        }
        let is_inexact = self.0.iter().any(|&word| word != 0);
        (quotient << (128 - BITS), is_inexact, exponent)
    }
}

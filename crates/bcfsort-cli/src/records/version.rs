//! Version order and natural order: digits compare as whole numbers.

use super::key::{complement, leading};
use wgpu_bcfsort::Order;

/// What the key of a text begins with. GNU sort puts these in front of all others.
const EMPTY: u8 = 0;
const DOT: u8 = 1;
const DOTS: u8 = 2;
const HIDDEN: u8 = 3;
const OTHER: u8 = 4;

/// The end of the bytes that are no digits, and of the whole text. Only `~` precedes it.
const END: u8 = 2;

/// The order of all bytes but digits in a version: `~`, the end, letters, others.
const CODES: [u8; 256] = {
    let mut codes = [0; 256];
    codes[b'~' as usize] = 1;
    let mut next = END + 1;
    let mut pass = 0;
    while pass < 2 {
        let mut byte = 0;
        while byte < 256 {
            let this = byte as u8;
            let is_letter = this.is_ascii_alphabetic();
            let is_other = !is_letter && !this.is_ascii_digit() && this != b'~';
            if pass == 0 && is_letter || pass == 1 && is_other {
                codes[byte] = next;
                next = next.wrapping_add(1);
            }
            byte += 1;
        }
        pass += 1;
    }
    codes
};

/// Appends the key of a version, in the order of GNU sort: a text without its suffixes, such as
/// `.tar.gz`, and then the whole text decide.
pub(super) fn push_version(text: &[u8], order: Order, key: &mut Vec<u8>) {
    let start = key.len();
    let class = match text {
        [] => EMPTY,
        b"." => DOT,
        b".." => DOTS,
        [b'.', ..] => HIDDEN,
        _ => OTHER,
    };
    key.push(class);
    if class >= HIDDEN {
        push_runs(&text[..without_suffixes(text)], key);
        push_runs(text, key);
    }
    complement(&mut key[start..], order);
}

/// Appends bytes that are no digits, the end of these, and a number, again and again. The last of
/// these may be missing: it is 0 then.
fn push_runs(mut text: &[u8], key: &mut Vec<u8>) {
    loop {
        let (others, rest) = text.split_at(leading(text, |byte| !byte.is_ascii_digit()));
        key.extend(others.iter().map(|&byte| CODES[usize::from(byte)]));
        key.push(END);
        text = push_digits(rest, key);
        if text.is_empty() {
            break;
        }
    }
    key.push(END);
}

/// Appends the digits that the text begins with: by their number, then by the digits. Returns what
/// follows them. Leading zeros do not count.
fn push_digits<'a>(text: &'a [u8], key: &mut Vec<u8>) -> &'a [u8] {
    /// Says that the number of digits has 8 bytes.
    const LONG: u8 = 0xff;
    let text = &text[leading(text, |byte| byte == b'0')..];
    let (digits, rest) = text.split_at(leading(text, |byte| byte.is_ascii_digit()));
    if digits.len() < usize::from(LONG) {
        key.push(digits.len() as u8);
    } else {
        key.push(LONG);
        key.extend_from_slice(&(digits.len() as u64).to_be_bytes());
    }
    key.extend_from_slice(digits);
    rest
}

/// The length of the text without the suffixes at its end: each is a point and a letter or `~`,
/// then letters, digits and `~`. At least one byte stays.
fn without_suffixes(text: &[u8]) -> usize {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'~';
    let mut end = text.len();
    let mut rest = text;
    // A suffix ends where the one behind it begins.
    while let Some(point) = rest.iter().rposition(|&byte| !is_part(byte)) {
        let is_suffix = point > 0
            && rest[point] == b'.'
            && rest
                .get(point + 1)
                .is_some_and(|byte| !byte.is_ascii_digit());
        if !is_suffix {
            break;
        }
        rest = &rest[..point];
        end = point;
    }
    end
}

/// Appends the key of a text in natural order: digits as whole numbers, which are among the other
/// bytes where the digits would be.
pub(super) fn push_natural(mut text: &[u8], order: Order, key: &mut Vec<u8>) {
    let start = key.len();
    while let Some(&first) = text.first() {
        if first.is_ascii_digit() {
            key.push(b'0');
            text = push_digits(text, key);
            continue;
        }
        // As in a string of any length, a zero is followed by ff.
        key.push(first);
        if first == 0 {
            key.push(0xff);
        }
        text = &text[1..];
    }
    key.extend_from_slice(&[0, 1]);
    complement(&mut key[start..], order);
}

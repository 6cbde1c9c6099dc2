//! Decimal numbers of any size, as keys that compare as bytes.

/// The first byte of zero. Those of positive numbers are larger, those of negative ones smaller.
const ZERO: u8 = 0x80;

/// The first byte of a number with an exponent below [`LEAST`], which 8 bytes follow.
const TINY: u8 = 0x81;

/// The first byte of a number with an exponent above [`MOST`], which 8 bytes follow.
const HUGE: u8 = 0xfe;

/// The first byte, and the only one, of infinity.
const INFINITY: u8 = 0xff;

/// The least and the greatest exponent that fit in the first byte.
const LEAST: i64 = -60;
const MOST: i64 = 63;

/// The most digits of an exponent, so that its sum with the number of digits fits in 64 bits.
const EXPONENT_DIGITS: usize = 18;

/// Appends the key of a decimal number. Returns false if the text is not a number.
///
/// A number has an optional sign, at least one digit, an optional point and an optional exponent.
///
/// The number is 0.DIGITS times a power of 10. The key is one byte for the sign and the exponent,
/// one byte for each two digits (their value plus 1), and a zero. The bytes of a negative number
/// are complemented.
pub(crate) fn push_number(text: &[u8], key: &mut Vec<u8>) -> bool {
    let (negative, text) = signed(text);
    let start = key.len();
    if text.eq_ignore_ascii_case(b"inf") || text.eq_ignore_ascii_case(b"infinity") {
        key.push(INFINITY);
    } else {
        let Some((digits, exponent)) = parse(text) else {
            return false;
        };
        if digits.is_empty() {
            key.push(ZERO);
            return true;
        }
        push_exponent(exponent, key);
        let value = |digit: Option<&u8>| digit.map_or(0, |digit| digit - b'0');
        for pair in digits.chunks(2) {
            key.push(10 * value(pair.first()) + value(pair.get(1)) + 1);
        }
        key.push(0);
    }
    if negative {
        for byte in &mut key[start..] {
            *byte = !*byte;
        }
    }
    true
}

fn push_exponent(exponent: i64, key: &mut Vec<u8>) {
    let class = match exponent {
        ..LEAST => TINY,
        LEAST..=MOST => return key.push(TINY + 1 + (exponent - LEAST) as u8),
        _ => HUGE,
    };
    key.push(class);
    key.extend_from_slice(&(exponent.cast_unsigned() ^ (1 << 63)).to_be_bytes());
}

/// The digits without leading and trailing zeros, and the exponent.
fn parse(text: &[u8]) -> Option<(Vec<u8>, i64)> {
    let (whole, rest) = split_digits(text);
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => split_digits(rest),
        _ => (&[][..], rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let power = match rest {
        [] => 0,
        [b'e' | b'E', rest @ ..] => power(rest)?,
        _ => return None,
    };
    let all = [whole, fraction].concat();
    let zeros = all.iter().take_while(|&&digit| digit == b'0').count();
    let digits = &all[zeros..];
    let end = digits.iter().rposition(|&digit| digit != b'0');
    let digits = &digits[..end.map_or(0, |last| last + 1)];
    let point = whole.len().cast_signed() as i64 - zeros.cast_signed() as i64;
    Some((digits.to_vec(), point + power))
}

fn power(text: &[u8]) -> Option<i64> {
    let (negative, text) = signed(text);
    let (digits, rest) = split_digits(text);
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    let few = &digits[zeros..];
    if digits.is_empty() || !rest.is_empty() || few.len() > EXPONENT_DIGITS {
        return None;
    }
    let append = |power, digit: &u8| power * 10 + i64::from(digit - b'0');
    let power = few.iter().fold(0, append);
    Some(if negative { -power } else { power })
}

fn signed(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', text @ ..] => (true, text),
        [b'+', text @ ..] => (false, text),
        _ => (false, text),
    }
}

fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| !byte.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Option<Vec<u8>> {
        let mut key = Vec::new();
        push_number(text.as_bytes(), &mut key).then_some(key)
    }

    #[test]
    fn numbers_compare_by_value_whatever_their_form() {
        // Each line has one value, and they are in order.
        let lines = [
            "-inf -Infinity",
            "-1e999999999999999999 -10e999999999999999998",
            "-1e63 -1000000000000000000000000000000000000000000000000000000000000000",
            "-9007199254740993 -9007199254740993.0 -9.007199254740993E15",
            "-9007199254740992",
            "-1.05",
            "-1 -1.0 -01 -1e0 -10e-1 -0.01e+2",
            "-1e-62",
            "-1e-999999999999999999",
            "0 -0 +0 0.000 -0e9 .0 0.",
            "1e-999999999999999999",
            "1e-62 0.1e-61",
            "0.1 .1 1e-1 +.1",
            "0.1000000000000000000001",
            "1 1.0 1. 1e-0",
            "1.00000000000000000000000000000001",
            "9 +9",
            "10 1e1 1E+1 100e-1",
            "9007199254740992",
            "9007199254740993 9007199254740993.000",
            "18446744073709551616",
            "1e62",
            "1e63 0.001e66",
            "1e999999999999999999",
            "inf +inf",
        ];
        let keys = |line: &str| line.split(' ').map(|text| key(text).expect(line)).collect();
        let keys: Vec<Vec<Vec<u8>>> = lines.into_iter().map(keys).collect();
        for (line, keys) in lines.into_iter().zip(&keys) {
            assert!(keys.iter().all(|key| *key == keys[0]), "{line}");
        }
        assert!(keys.is_sorted_by(|a, b| a[0] < b[0]));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "", "+", "-", ".", "e5", "--1", " 1", "1e", "1e+", "1.5.5", "1x", "1_0",
        ] {
            assert_eq!(key(text), None, "{text}");
        }
        assert_eq!(key("1e1000000000000000000"), None);
    }
}

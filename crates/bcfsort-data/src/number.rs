//! Counts and ranges as people write them.

use super::DataError;
use std::fmt;
use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

const COUNT: &str = "not a count: write it as 1000, 1_000, 2^20, 1e6, 10K, 1.5M, 1G or 1T (powers \
                     of 1000)";
const FRACTION: &str = "not a whole number: a count needs one, such as 1500, 1.5K or 1.5e3";
const NEGATIVE: &str = "negative: a count is at least 0";
const TOO_LARGE: &str = "too large: a count is at most 2^64 - 1";
const RANGE: &str = "not a range: write 'full', or LO..HI (both included), whole numbers only, \
                     such as -5, 1000, 2^20 or 10M";

/// Parses a count: digits with or without underscores, a power (`2^20`), or a number with an
/// exponent (`1e6`), or with K, M, G or T for 10^3 to 10^12. The number may have a fraction if the
/// count is whole (`1.5K`).
///
/// # Errors
///
/// [`DataError::BadNumber`] if the text is none of these, or above `u64::MAX`.
///
/// # Examples
///
/// ```
/// use bcfsort_data::parse_count;
/// assert_eq!(parse_count("2^20")?, 1 << 20);
/// assert_eq!(parse_count("10M")?, 10_000_000);
/// assert_eq!(parse_count("1.5K")?, 1500);
/// assert!(parse_count("0.5").is_err());
/// assert!(parse_count("ten").is_err());
/// # Ok::<(), bcfsort_data::DataError>(())
/// ```
pub fn parse_count(text: &str) -> Result<u64, DataError> {
    unsigned(text).map_err(|fault| DataError::BadNumber {
        text: text.to_owned(),
        why: match (fault, text.strip_prefix('-').map(unsigned)) {
            (NotCount::TooLarge, _) => TOO_LARGE,
            (NotCount::Fraction, _) => FRACTION,
            (NotCount::Form, None | Some(Err(NotCount::Form))) => COUNT,
            (NotCount::Form, Some(_)) => NEGATIVE,
        },
    })
}

/// The reason why a text is not a count.
enum NotCount {
    Form,
    Fraction,
    TooLarge,
}

impl From<ParseIntError> for NotCount {
    fn from(error: ParseIntError) -> Self {
        match error.kind() {
            IntErrorKind::PosOverflow => Self::TooLarge,
            _ => Self::Form,
        }
    }
}

fn unsigned(text: &str) -> Result<u64, NotCount> {
    if let Some((base, exponent)) = text.split_once('^') {
        let power = digits(base)?.checked_pow(exponent.parse()?);
        return power.ok_or(NotCount::TooLarge);
    }
    let (number, exponent): (&str, u32) = match text.as_bytes().last().ok_or(NotCount::Form)? {
        b'K' | b'k' => (&text[..text.len() - 1], 3),
        b'M' | b'm' => (&text[..text.len() - 1], 6),
        b'G' | b'g' => (&text[..text.len() - 1], 9),
        b'T' | b't' => (&text[..text.len() - 1], 12),
        _ => match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse()?),
            None => (text, 0),
        },
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let whole = digits(whole)?;
    let fraction = match fraction.as_bytes() {
        [b'0'..=b'9', ..] => fraction.replace('_', ""),
        _ => return Err(NotCount::Form),
    };
    let fraction = fraction.trim_end_matches('0');
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NotCount::Form);
    }
    let Some(zeros) = exponent.checked_sub(fraction.len() as u32) else {
        return Err(NotCount::Fraction);
    };
    let power = |exponent| 10_u64.checked_pow(exponent).ok_or(NotCount::TooLarge);
    let part = match fraction {
        "" => Some(0),
        _ => digits(fraction)?.checked_mul(power(zeros)?),
    };
    let count = whole.checked_mul(power(exponent)?);
    let count = count.zip(part).and_then(|(a, b)| a.checked_add(b));
    count.ok_or(NotCount::TooLarge)
}

fn digits(text: &str) -> Result<u64, NotCount> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(NotCount::Form);
    }
    Ok(text.replace('_', "").parse()?)
}

/// The values that random keys are drawn from.
///
/// # Examples
///
/// ```
/// use bcfsort_data::Range;
/// assert_eq!("-5..10K".parse::<Range>()?, Range::Values { low: -5, high: 10_000 });
/// assert_eq!("full".parse::<Range>()?, Range::Full);
/// # Ok::<(), bcfsort_data::DataError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Every bit pattern of the key type; for floats, `NaN`s and infinities included.
    Full,
    /// The integers from `low` to `high`, both included.
    Values {
        /// The smallest value.
        low: i128,
        /// The largest value.
        high: i128,
    },
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("full"),
            Self::Values { low, high } => write!(f, "{low}..{high}"),
        }
    }
}

impl FromStr for Range {
    type Err = DataError;

    fn from_str(text: &str) -> Result<Self, DataError> {
        let signed = |number: &str| match number.strip_prefix('-') {
            Some(rest) => unsigned(rest).map(|value| -i128::from(value)).ok(),
            None => unsigned(number).map(i128::from).ok(),
        };
        let parse = || {
            if text == "full" {
                return Some(Self::Full);
            }
            let (low, high) = text.split_once("..")?;
            let (low, high) = (signed(low)?, signed(high)?);
            (low <= high).then_some(Self::Values { low, high })
        };
        parse().ok_or_else(|| DataError::BadNumber {
            text: text.to_owned(),
            why: RANGE,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        for (text, count) in [
            ("0", 0),
            ("17", 17),
            ("1_000", 1000),
            ("2^20", 1 << 20),
            ("10^6", 1_000_000),
            ("3K", 3000),
            ("10M", 10_000_000),
            ("2g", 2_000_000_000),
            ("18446744073709551615", u64::MAX),
            ("1e6", 1_000_000),
            ("1E6", 1_000_000),
            ("1.5K", 1500),
            ("1.5M", 1_500_000),
            ("0.25k", 250),
            ("1.5e3", 1500),
            ("2.0", 2),
            ("1.050K", 1050),
            ("18446744073.709551615G", u64::MAX),
        ] {
            assert_eq!(parse_count(text).ok(), Some(count), "{text}");
        }
        for text in [
            "",
            "K",
            "-1",
            "+1",
            "1.5",
            "1.",
            ".5K",
            "1.K",
            "1..5K",
            "1.5.5K",
            "1.-5K",
            "1e",
            "e6",
            "1e-6",
            "1e6K",
            "1e1.5",
            "2^",
            "^2",
            "2^64",
            "2^-1",
            "1KK",
            "99999999999G",
            "é",
            "_1",
        ] {
            assert!(parse_count(text).is_err(), "{text}");
        }
        let message = |text: &str| parse_count(text).unwrap_err().to_string();
        assert_eq!(message("-5"), "'-5' is negative: a count is at least 0");
        for text in [
            "10^21",
            "2^64",
            "2^99999999999",
            "20000000000G",
            "18446744073709551616",
            "18446744073.709551616G",
            "1e20",
            "1e99999999999",
        ] {
            assert!(message(text).contains("' is too large: "), "{text}");
        }
        for text in ["1.5", "0.0001K", "1.2345e3", "0.000000000000000000000001G"] {
            let told = message(text);
            assert!(told.contains("' is not a whole number: "), "{told}");
        }
        for text in ["", "-", "-five", "1.", "1e", "2^-1"] {
            assert!(message(text).contains("' is not a count: "), "{text}");
        }
    }

    #[test]
    fn ranges() {
        for text in ["full", "0..1", "-10..10", "5..5"] {
            assert_eq!(
                text.parse::<Range>().ok().map(|r| r.to_string()).as_deref(),
                Some(text)
            );
        }
        for text in ["", "1", "2..1", "..", "a..b", "Full", "1...2", "0..2^99"] {
            assert!(text.parse::<Range>().is_err(), "{text}");
        }
        let message = "0.5..1.5".parse::<Range>().unwrap_err().to_string();
        assert!(message.contains("whole numbers only"), "{message}");
    }
}

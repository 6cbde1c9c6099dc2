//! Counts and ranges as people write them.

use super::DataError;
use std::fmt;
use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

const COUNT: &str = "not a count: write it as 1000, 1_000, 2^20, 10K, 10M or 1G (powers of 1000)";
const NEGATIVE: &str = "negative: a count is at least 0";
const TOO_LARGE: &str = "too large: a count is at most 2^64 - 1";
const RANGE: &str = "not a range: write 'full', or LO..HI (both included), whole numbers only, \
                     such as -5, 1000, 2^20 or 10M";

/// Parses a count: digits with or without underscores, a power (`2^20`), or a number with K, M or G
/// for 10^3, 10^6 and 10^9.
///
/// # Errors
///
/// [`DataError::BadNumber`] if the text is none of these, or above `u64::MAX`.
///
/// # Examples
///
/// ```
/// use bcfsort_testkit::data::parse_count;
/// assert_eq!(parse_count("2^20")?, 1 << 20);
/// assert_eq!(parse_count("10M")?, 10_000_000);
/// assert!(parse_count("ten").is_err());
/// # Ok::<(), bcfsort_testkit::data::DataError>(())
/// ```
pub fn parse_count(text: &str) -> Result<u64, DataError> {
    unsigned(text).map_err(|fault| DataError::BadNumber {
        text: text.to_owned(),
        why: match (fault, text.strip_prefix('-').map(unsigned)) {
            (NotCount::TooLarge, _) => TOO_LARGE,
            (NotCount::Form, None | Some(Err(NotCount::Form))) => COUNT,
            (NotCount::Form, Some(_)) => NEGATIVE,
        },
    })
}

/// The reason why a text is not a count.
enum NotCount {
    Form,
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
    let (number, unit) = match text.as_bytes().last().ok_or(NotCount::Form)? {
        b'K' | b'k' => (&text[..text.len() - 1], 1_000),
        b'M' | b'm' => (&text[..text.len() - 1], 1_000_000),
        b'G' | b'g' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    let count = digits(number)?.checked_mul(unit);
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
/// use bcfsort_testkit::data::Range;
/// assert_eq!("-5..10K".parse::<Range>()?, Range::Values { low: -5, high: 10_000 });
/// assert_eq!("full".parse::<Range>()?, Range::Full);
/// # Ok::<(), bcfsort_testkit::data::DataError>(())
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
        ] {
            assert_eq!(parse_count(text).ok(), Some(count), "{text}");
        }
        for text in [
            "",
            "K",
            "-1",
            "+1",
            "1.5",
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
        ] {
            assert!(message(text).contains("' is too large: "), "{text}");
        }
        for text in ["", "-", "-five", "1.5", "1e6", "2^-1"] {
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

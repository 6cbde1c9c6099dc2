//! Keys as text.
//!
//! Integers are decimal. Floats are written with the fewest digits that read back as the same
//! float, and with an exponent if the number would be long. Infinities are `inf` and `-inf`. The
//! quiet `NaN` without payload is `NaN` or `-NaN`. Any other is `NaN(0x…)` with the bits of its
//! mantissa, as C's `strtod` reads it, so that no bit of a key is lost.

use std::io::{self, Write};
use wgpu_bcfsort::{KeyType, SortKey};

/// Sign, infinity and the quiet bit of a float type.
struct FloatBits {
    sign: u64,
    infinity: u64,
    quiet: u64,
}

const fn float_bits(key: KeyType) -> Option<FloatBits> {
    match key {
        KeyType::F32 => Some(FloatBits {
            sign: 1 << 31,
            infinity: 0xff << 23,
            quiet: 1 << 22,
        }),
        KeyType::F64 => Some(FloatBits {
            sign: 1 << 63,
            infinity: 0x7ff << 52,
            quiet: 1 << 51,
        }),
        _ => None,
    }
}

/// Parses a key; `text` must not begin or end with blanks.
pub(super) fn parse<T: SortKey>(text: &[u8]) -> Option<T> {
    let text = str::from_utf8(text).ok()?;
    let bits = match T::KEY_TYPE {
        KeyType::U32 => text.parse::<u32>().ok()?.to_bits64(),
        KeyType::I32 => text.parse::<i32>().ok()?.to_bits64(),
        KeyType::U64 => text.parse::<u64>().ok()?.to_bits64(),
        KeyType::I64 => text.parse::<i64>().ok()?.to_bits64(),
        KeyType::F32 => match nan(text, T::KEY_TYPE) {
            Some(bits) => bits,
            None => (text.parse().ok())
                .filter(|key: &f32| key.is_finite() || is_infinity(text))?
                .to_bits64(),
        },
        KeyType::F64 => match nan(text, T::KEY_TYPE) {
            Some(bits) => bits,
            None => (text.parse().ok())
                .filter(|key: &f64| key.is_finite() || is_infinity(text))?
                .to_bits64(),
        },
        _ => return None,
    };
    Some(T::from_bits64(bits))
}

/// True if the text itself says infinity. Rust also parses a number too large for the type as an
/// infinity, and that must be an error here.
fn is_infinity(text: &str) -> bool {
    text.contains(['i', 'I'])
}

/// Parses the bits of a `NaN`. Rust does not specify the bits of a `NaN` that its own parser makes.
fn nan(text: &str, key: KeyType) -> Option<u64> {
    let FloatBits {
        sign,
        infinity,
        quiet,
    } = float_bits(key)?;
    let (negative, text) = match text.as_bytes().first()? {
        b'-' => (sign, &text[1..]),
        b'+' => (0, &text[1..]),
        _ => (0, text),
    };
    if !text.get(..3)?.eq_ignore_ascii_case("nan") {
        return None;
    }
    let mantissa = match &text[3..] {
        "" => quiet,
        payload => {
            let payload = payload.strip_prefix("(0x")?.strip_suffix(')')?;
            u64::from_str_radix(payload, 16).ok()?
        }
    };
    (1..2 * quiet)
        .contains(&mantissa)
        .then_some(negative | infinity | mantissa)
}

/// The reason why `text` is not a key, as text that begins with a colon; empty if it is unknown.
pub(super) fn hint(text: &[u8], key: KeyType) -> String {
    let integer = {
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
    };
    let (low, high) = match key {
        KeyType::U32 => (0, u64::from(u32::MAX)),
        KeyType::I32 => (i64::from(i32::MIN), i32::MAX as u64),
        KeyType::U64 => (0, u64::MAX),
        KeyType::I64 => (i64::MIN, i64::MAX as u64),
        KeyType::F32 | KeyType::F64 => {
            let number = str::from_utf8(text).is_ok_and(|text| text.parse::<f64>().is_ok());
            return if number {
                format!(": too large for {key}")
            } else {
                form_hint(text).to_owned()
            };
        }
        _ => return String::new(),
    };
    if integer {
        format!(": {key} is {low} to {high}")
    } else if parse::<f64>(text).is_some() {
        ": floats need --type f32 or --type f64".to_owned()
    } else {
        form_hint(text).to_owned()
    }
}

/// The hint for a text that is no number of any type.
fn form_hint(text: &[u8]) -> &'static str {
    if text.contains(&0) {
        ": is the input raw? (-f raw)"
    } else if text.iter().any(|byte| b",; \t".contains(byte)) {
        ": one number per line"
    } else {
        ""
    }
}

/// True if the first line of a file, `text`, may be the header of a column of numbers: it has
/// letters, and the line after it is a number.
pub(super) fn is_header(text: &[u8], rest: &[u8]) -> bool {
    let is_number = |text: &[u8]| parse::<f64>(text.trim_ascii()).is_some();
    let mut lines = rest.split(|byte| b"\r\n".contains(byte));
    let next = lines.next().unwrap_or_default();
    let is_name = text.iter().any(u8::is_ascii_alphabetic)
        && !text.starts_with(b"-")
        && !text.first().is_some_and(u8::is_ascii_digit)
        && !is_number(text);
    is_name && is_number(next)
}

/// Appends the key and a newline.
pub(super) fn write<T: SortKey>(out: &mut Vec<u8>, key: T) -> io::Result<()> {
    let bits = key.to_bits64();
    macro_rules! write_float {
        ($float:ty) => {{
            let value = <$float>::from_bits64(bits);
            let magnitude = value.abs();
            return if value.is_nan() {
                write_nan(out, bits, T::KEY_TYPE)
            } else if magnitude == 0.0 || value.is_infinite() || (1e-5..1e16).contains(&magnitude) {
                writeln!(out, "{value}")
            } else {
                writeln!(out, "{value:e}")
            };
        }};
    }
    match T::KEY_TYPE {
        KeyType::U32 | KeyType::U64 => write_integer(out, bits),
        KeyType::I32 => write_integer(out, i32::from_bits64(bits)),
        KeyType::I64 => write_integer(out, i64::from_bits64(bits)),
        KeyType::F32 => write_float!(f32),
        KeyType::F64 => write_float!(f64),
        other => {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!("{other} keys have no text"),
            ));
        }
    }
    Ok(())
}

fn write_integer(out: &mut Vec<u8>, integer: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes());
    out.push(b'\n');
}

fn write_nan(out: &mut Vec<u8>, bits: u64, key: KeyType) -> io::Result<()> {
    let Some(FloatBits { sign, quiet, .. }) = float_bits(key) else {
        return Ok(());
    };
    let minus = if bits & sign == 0 { "" } else { "-" };
    match bits & (2 * quiet - 1) {
        mantissa if mantissa == quiet => writeln!(out, "{minus}NaN"),
        mantissa => writeln!(out, "{minus}NaN({mantissa:#x})"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Pattern, Spec, generate};
    use super::*;

    fn round_trip<T: SortKey>() {
        for pattern in [Pattern::Special, Pattern::Full, Pattern::Random] {
            for key in generate::<T>(&Spec::new(pattern, 2000)).unwrap() {
                let mut text = Vec::new();
                write(&mut text, key).unwrap();
                assert_eq!(text.pop(), Some(b'\n'));
                let back: T = parse(&text).unwrap();
                let text = String::from_utf8(text).unwrap();
                assert_eq!(back.to_bits64(), key.to_bits64(), "{text}");
                assert!(text.len() <= 26, "{text}");
            }
        }
    }

    #[test]
    fn every_key_reads_back_to_the_bit() {
        round_trip::<u32>();
        round_trip::<i32>();
        round_trip::<f32>();
        round_trip::<u64>();
        round_trip::<i64>();
        round_trip::<f64>();
    }

    #[test]
    fn floats() {
        let text = |bits: u32| {
            let mut text = Vec::new();
            write(&mut text, f32::from_bits(bits)).unwrap();
            String::from_utf8(text).unwrap()
        };
        assert_eq!(text(1f32.to_bits()), "1\n");
        assert_eq!(text((-0f32).to_bits()), "-0\n");
        assert_eq!(text(0.1f32.to_bits()), "0.1\n");
        assert_eq!(text(1e30f32.to_bits()), "1e30\n");
        assert_eq!(text(1), "1e-45\n");
        assert_eq!(text(0xff80_0000), "-inf\n");
        assert_eq!(text(0x7fc0_0000), "NaN\n");
        assert_eq!(text(0xffc0_0000), "-NaN\n");
        assert_eq!(text(0x7f80_0001), "NaN(0x1)\n");
        let bits = |text: &str| parse::<f32>(text.as_bytes()).map(f32::to_bits);
        assert_eq!(bits("nan"), Some(0x7fc0_0000));
        assert_eq!(bits("-NAN"), Some(0xffc0_0000));
        assert_eq!(bits("+nan(0x7fffff)"), Some(0x7fff_ffff));
        assert_eq!(bits("+1.5E2"), Some(150f32.to_bits()));
        assert_eq!(bits("-Infinity"), Some(0xff80_0000));
        for bad in [
            "nan(0x0)",
            "nan(0x800000)",
            "nan(1)",
            "nan()",
            "nano",
            "1.5x",
            "0x10",
            "é",
            "na\u{e9}",
        ] {
            assert_eq!(bits(bad), None, "{bad}");
        }
    }

    #[test]
    fn hints() {
        assert_eq!(
            hint(b"4294967296", KeyType::U32),
            ": u32 is 0 to 4294967295"
        );
        assert_eq!(
            hint(b"-1", KeyType::U64),
            ": u64 is 0 to 18446744073709551615"
        );
        assert!(hint(b"1.5", KeyType::I32).contains("--type f32"));
        assert!(hint(b"\0\x01", KeyType::I32).contains("-f raw"));
        assert!(hint(b"1e400", KeyType::F64).contains("too large"));
        assert!(hint(b"\0 \x01", KeyType::F64).contains("-f raw"));
        for text in ["id,score", "1;2", "1 2", "1\t2"] {
            for key in [KeyType::F64, KeyType::I32] {
                assert_eq!(hint(text.as_bytes(), key), ": one number per line");
            }
        }
        assert!(is_header(b"score", b"1.5\r\nx") && is_header(b"the score", b"7"));
        assert!(!is_header(b"1e5", b"2") && !is_header(b"NaN", b"2") && !is_header(b"", b"2"));
        assert!(!is_header(b"1;2", b"3\n") && !is_header(b"score", b"1,2\n3\n"));
        assert_eq!(hint(b"abc", KeyType::F64), "");
        assert_eq!(hint(b"abc", KeyType::I32), "");
        assert_eq!(hint(b"-", KeyType::I32), "");
    }
}

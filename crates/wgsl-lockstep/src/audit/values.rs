//! Numbers, words and values of overrides as text.

/// Parses a count such as 1000, 2^20 or 10M.
pub(super) fn count(text: &str) -> Result<u64, String> {
    parse(text).ok_or_else(|| {
        format!("'{text}' is not a count below 2^64: write it as 1000, 2^10, 1K, 1M or 1G")
    })
}

fn parse(text: &str) -> Option<u64> {
    if let Some((base, exponent)) = text.split_once('^') {
        return digits(base)?.checked_pow(exponent.parse().ok()?);
    }
    let (number, unit) = match text.as_bytes().last()? {
        b'K' | b'k' => (&text[..text.len() - 1], 1_000),
        b'M' | b'm' => (&text[..text.len() - 1], 1_000_000),
        b'G' | b'g' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    digits(number)?.checked_mul(unit)
}

fn digits(text: &str) -> Option<u64> {
    // Rust's own parser also accepts a sign.
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    text.replace('_', "").parse().ok()
}

/// Parses a count of at least 1, such as 1000, 2^20 or 10M.
///
/// # Errors
///
/// A message.
pub fn positive(text: &str) -> Result<u64, String> {
    match count(text)? {
        0 => Err("at least 1 is needed".to_owned()),
        count => Ok(count),
    }
}

/// Parses a 32-bit word: an `f32` if it has a point, an `i32` if it is negative, else a `u32`.
pub(super) fn word(text: &str) -> Result<u32, String> {
    let text = text.trim();
    let wrong = |what: &str| format!("'{text}' is not {what}");
    if text.contains('.') {
        return match text.parse::<f32>() {
            Ok(float) => Ok(float.to_bits()),
            Err(_) => Err(wrong("an f32")),
        };
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return u32::from_str_radix(digits, 16).map_err(|_| wrong("a u32"));
    }
    if text.starts_with('-') {
        return match text.parse::<i32>() {
            Ok(number) => Ok(number.cast_unsigned()),
            Err(_) => Err(wrong("an i32")),
        };
    }
    u32::try_from(count(text)?).map_err(|_| wrong("a u32"))
}

/// Parses the value of an `override` declaration: `NAME=VALUE`, as for the command's `--override`.
/// A value is a count, another number, `true` or `false`.
///
/// # Errors
///
/// A message.
pub fn override_value(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or("write it as NAME=VALUE")?;
    let value = match value {
        "true" => 1.0,
        "false" => 0.0,
        value => match count(value) {
            Ok(count) => count as f64,
            Err(_) => value
                .parse()
                .map_err(|_| format!("'{value}' is not a number, true or false"))?,
        },
    };
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_parsed() {
        for (text, value) in [("0", 0), ("1_000", 1000), ("2^10", 1024), ("3K", 3000)] {
            assert_eq!(count(text), Ok(value), "{text}");
        }
        for text in ["", "K", "-1", "+1", "1.5", "x", "2^", "^2", "2^64"] {
            assert!(count(text).is_err(), "{text}");
        }
        assert!(positive("0").is_err());
    }

    #[test]
    fn overrides_are_parsed() {
        let value = |text: &str| override_value(text).map(|named| named.1);
        assert_eq!(value("N=2^4"), Ok(16.0));
        assert_eq!(value("N=-1.5"), Ok(-1.5));
        assert_eq!(value("N=true"), Ok(1.0));
        for text in ["N", "=1", "N=many"] {
            assert!(override_value(text).is_err(), "{text}");
        }
    }
}

//! Statistics of times: quartiles and ratios, and formatted numbers.

/// The spread of some measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) q1: f64,
    pub(crate) median: f64,
    pub(crate) q3: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Returns `None` for no values.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        // Linear interpolation between two measurements.
        let quantile = |share: f64| {
            let position = share * last as f64;
            let below = position.floor();
            let (low, high) = (sorted[below as usize], sorted[position.ceil() as usize]);
            low + (high - low) * (position - below)
        };
        Some(Self {
            min: sorted[0],
            q1: quantile(0.25),
            median: quantile(0.5),
            q3: quantile(0.75),
            max: sorted[last],
        })
    }
}

/// The median, or NaN for no values.
pub(crate) fn median(values: &[f64]) -> f64 {
    Spread::of(values).map_or(f64::NAN, |spread| spread.median)
}

/// Formats three significant digits, without an exponent where that is readable.
pub(crate) fn digits(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || !size.is_finite() {
        return format!("{value}");
    }
    if !(1e-4..1e7).contains(&size) {
        return format!("{value:.2e}");
    }
    let decimals = (2 - size.log10().floor() as i32).max(0) as usize;
    format!("{value:.decimals$}")
}

/// Formats a count: as a power of two, if it is a large one.
pub(crate) fn count(count: u64) -> String {
    if count >= 1024 && count.is_power_of_two() {
        format!("2^{}", count.ilog2())
    } else {
        count.to_string()
    }
}

/// Formats a duration.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds.max(0.0) {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Formats a number of bytes.
pub(crate) fn bytes(bytes: f64) -> String {
    match bytes {
        b if b >= (1u64 << 30) as f64 => format!("{} GiB", digits(b / (1u64 << 30) as f64)),
        b if b >= (1 << 20) as f64 => format!("{} MiB", digits(b / (1 << 20) as f64)),
        b => format!("{b:.0} bytes"),
    }
}

/// Formats a date and time in UTC.
pub(crate) fn date(seconds_since_1970: u64) -> String {
    let (days, seconds) = (seconds_since_1970 / 86_400, seconds_since_1970 % 86_400);
    // Days are counted in eras of 400 years from March 1 of the year 0, so that leap days come
    // last.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = 400 * era + year + u64::from(month <= 2);
    let (hour, minute) = (seconds / 3600, seconds / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads() {
        assert_eq!(Spread::of(&[]), None);
        let spread = Spread::of(&[5.0, 1.0, 2.0, 4.0, 3.0]);
        let expected = Spread {
            min: 1.0,
            q1: 2.0,
            median: 3.0,
            q3: 4.0,
            max: 5.0,
        };
        assert_eq!(spread, Some(expected));
        assert!((median(&[1.0, 2.0]) - 1.5).abs() < 1e-12);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn words() {
        assert_eq!(digits(0.012_345), "0.0123");
        assert_eq!(digits(1234.5), "1234");
        assert_eq!(digits(9.999), "10.00");
        assert_eq!(digits(1e-9), "1.00e-9");
        assert_eq!(count(1 << 20), "2^20");
        assert_eq!(count(544), "544");
        assert_eq!(bytes(1.5 * 1024.0 * 1024.0), "1.50 MiB");
        assert_eq!(duration(200.0), "3 min");
    }

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_735_689_599), "2024-12-31 23:59 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00 UTC");
    }
}

//! Dates and times of ISO 8601.
//!
//! The parsers of crates keep 6 or 9 digits of a second and fold leap seconds into their
//! neighbours; here, times that differ in any digit differ.

/// Minutes that make every instant positive. The sum has 33 bits.
const BIAS: i64 = 1 << 32;

/// Days before 1970 from the first of March of the year 0.
const TO_1970: i64 = 719_468;

/// An instant in the years from 0 to 9999, in universal time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Instant<'a> {
    /// Minutes since 1970.
    minutes: i64,
    /// From 0 to 60: offsets are whole minutes, so that a leap second stays one.
    second: i64,
    /// The digits of the fraction of a second, without trailing zeros.
    fraction: &'a [u8],
}

impl<'a> Instant<'a> {
    /// Parses a date, or a date and a time with or without an offset; without one it is in
    /// universal time.
    ///
    /// - Dates: `2024-12-31`, `20241231`, `2024-366`, `2024366`, `2025-W01-2`, `2025W012`.
    /// - `T` or a blank, and the time: `23:59`, `23:59:60`, `23:59:59.123`, also without colons;
    ///   `24:00` is the end of the day.
    /// - An offset, also after a blank: `Z`, `+01:00`, `+0100`, `+01`.
    pub(super) fn parse(text: &'a [u8]) -> Option<Self> {
        let mut text = Scanner(text);
        let days = date(&mut text)?;
        let mut instant = Self {
            minutes: days * 24 * 60,
            second: 0,
            fraction: &[],
        };
        if text.0.is_empty() {
            return Some(instant);
        }
        text.one_of(b"Tt ")?;
        instant.add_time(&mut text)?;
        if !text.0.is_empty() {
            text.take(b' ');
            instant.minutes -= offset(&mut text)?;
        }
        (text.0.is_empty() && instant.is_second()).then_some(instant)
    }

    /// False for a leap second that does not end a day in universal time.
    const fn is_second(&self) -> bool {
        self.second < 60 || self.minutes.rem_euclid(24 * 60) == 24 * 60 - 1
    }

    fn add_time(&mut self, text: &mut Scanner<'a>) -> Option<()> {
        let hour = text.number(2)?;
        let has_colons = text.take(b':');
        let minute = text.number(2)?;
        let has_second = if has_colons {
            text.take(b':')
        } else {
            text.is_digit()
        };
        if has_second {
            self.second = text.number(2)?;
            if text.one_of(b".,").is_some() {
                self.fraction = text.digits()?;
            }
        }
        let ends_day = hour == 24 && minute == 0 && self.second == 0 && self.fraction.is_empty();
        let is_time = hour < 24 && minute < 60 && self.second <= 60;
        self.minutes += hour * 60 + minute;
        (is_time || ends_day).then_some(())
    }

    /// Appends an ascending key that is no beginning of another, and does not begin with 00 or ff.
    pub(super) fn push(&self, key: &mut Vec<u8>) {
        let whole = (self.minutes + BIAS) << 6 | self.second;
        key.extend_from_slice(&whole.to_be_bytes()[3..]);
        key.extend_from_slice(self.fraction);
        key.push(0);
    }
}

/// The days since 1970.
fn date(text: &mut Scanner) -> Option<i64> {
    let year = text.number(4)?;
    let has_dashes = text.take(b'-');
    if text.take(b'W') {
        let week = text.number(2)?;
        if has_dashes && !text.take(b'-') {
            return None;
        }
        let day = text.number(1)?;
        let monday = first_monday(year) + 7 * (week - 1);
        let is_day = week >= 1 && (1..=7).contains(&day) && monday < first_monday(year + 1);
        return is_day.then_some(monday + day - 1);
    }
    if text.leading_digits() % 2 == 1 {
        let day = text.number(3)?;
        let new_year = days(year, 1, 1);
        let is_day = day >= 1 && new_year + day <= days(year + 1, 1, 1);
        return is_day.then_some(new_year + day - 1);
    }
    let month = text.number(2)?;
    if has_dashes && !text.take(b'-') {
        return None;
    }
    let day = text.number(2)?;
    if !(1..=12).contains(&month) {
        return None;
    }
    let next = if month == 12 {
        days(year + 1, 1, 1)
    } else {
        days(year, month + 1, 1)
    };
    let days = days(year, month, day);
    (day >= 1 && days < next).then_some(days)
}

/// The minutes by which the local time is ahead of the universal time.
fn offset(text: &mut Scanner) -> Option<i64> {
    if text.one_of(b"Zz").is_some() {
        return Some(0);
    }
    let sign = match text.one_of(b"+-")? {
        b'-' => -1,
        _ => 1,
    };
    let hours = text.number(2)?;
    let has_minutes = text.take(b':') || text.is_digit();
    let minutes = if has_minutes { text.number(2)? } else { 0 };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

/// The days from 1970-01-01 to a date of the Gregorian calendar.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March, so that the leap day is the last one.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // Five months from March or August on have 153 days.
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - TO_1970
}

/// The Monday of the first week of a year, which is the one with the fourth of January.
const fn first_monday(year: i64) -> i64 {
    let fourth = days(year, 1, 4);
    // 1970 began on a Thursday.
    fourth - (fourth + 3).rem_euclid(7)
}

/// What is left of a text.
struct Scanner<'a>(&'a [u8]);

impl<'a> Scanner<'a> {
    fn leading_digits(&self) -> usize {
        let end = self.0.iter().position(|byte| !byte.is_ascii_digit());
        end.unwrap_or(self.0.len())
    }

    fn is_digit(&self) -> bool {
        self.leading_digits() > 0
    }

    /// A number of this many digits.
    fn number(&mut self, digits: usize) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        number.iter().try_fold(0, |number, byte| {
            byte.is_ascii_digit()
                .then(|| number * 10 + i64::from(byte - b'0'))
        })
    }

    /// All digits, of which there is at least one, without trailing zeros.
    fn digits(&mut self) -> Option<&'a [u8]> {
        let (digits, rest) = self.0.split_at(self.leading_digits());
        self.0 = rest;
        let zeros = digits
            .iter()
            .rev()
            .take_while(|&&byte| byte == b'0')
            .count();
        (!digits.is_empty()).then(|| &digits[..digits.len() - zeros])
    }

    fn one_of(&mut self, bytes: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        bytes.contains(first).then(|| {
            self.0 = rest;
            *first
        })
    }

    fn take(&mut self, byte: u8) -> bool {
        self.one_of(&[byte]).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Option<Vec<u8>> {
        let mut key = Vec::new();
        Instant::parse(text.as_bytes())?.push(&mut key);
        assert!((1..0xff).contains(&key[0]), "{text}");
        Some(key)
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(days(1970, 1, 1), 0);
        assert_eq!(days(2000, 2, 29), 11_016);
        assert_eq!(days(2024, 12, 31), 20_088);
        assert_eq!(days(0, 1, 1), -719_528);
        assert_eq!(days(10_000, 1, 1), 2_932_897);
        // Every day follows the one before.
        let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let mut next = days(1599, 1, 1);
        for year in 1599..2001 {
            for (month, length) in (1..).zip(lengths) {
                let is_leap = year % 4 == 0 && year % 100 != 0 || year % 400 == 0;
                let length = length + i64::from(month == 2 && is_leap);
                for day in 1..=length {
                    assert_eq!(days(year, month, day), next, "{year} {month} {day}");
                    next += 1;
                }
                let overlong = format!("{year:04}-{month:02}-{:02}", length + 1);
                assert_eq!(key(&overlong), None, "{overlong}");
            }
        }
    }

    #[test]
    fn instants_compare_whatever_their_form() {
        // Each line has one instant, and they are in order.
        let lines = [
            "0000-01-01T00:00+23:59",
            "0000-01-01",
            "1969-12-31T23:59:59.999999999999999999999999999999",
            "1970-01-01 19700101 1970-001 1970001 1970-W01-4 1970W014 1970-01-01T00:00 \
             1969-12-31T24:00 19691231T2400Z 1970-01-01T00:00:00.000z 1970-01-01t0200+02 \
             1969-12-31T19:00:00,0-05:00 1970-01-01T05:45:00+0545",
            "1970-01-01T00:00:00.0000000000000000000000000001",
            "2016-12-31T23:59:59",
            "2016-12-31T23:59:60Z 2017-01-01T08:59:60+09:00",
            "2016-12-31T23:59:60.5",
            "2017-01-01 2016-W52-7",
            "2020-12-31 2020-366 2020-W53-4",
            "2024-02-29T12:30:15.25Z 20240229T123015,250 2024-060T06:30:15.25-06",
            "9999-12-31T23:59:60.9",
            "9999-12-31T23:59:59.9-23:59",
        ];
        let mut before = Vec::new();
        for line in lines {
            let mut keys = line.split_whitespace().map(|text| key(text).expect(text));
            let first = keys.next().expect(line);
            assert!(keys.all(|key| key == first), "{line}");
            assert!(before < first, "{line}");
            before = first;
        }
        assert_eq!(key("1970-01-01 00:00:30"), key("1970-01-01T00:00:30Z"));
        assert_eq!(key("1970-01-01 01:00 +0100"), key("1970-01-01"));
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "x",
            "2024",
            "2024-",
            "2024-1-1",
            "2024-13-01",
            "2024-00-10",
            "2024-02-30",
            "2023-02-29",
            "1900-02-29",
            "2024-01-00",
            "2024-000",
            "2023-366",
            "2024-367",
            "2024-W53-1",
            "2024-W00-1",
            "2024-W10",
            "2024-W10-8",
            "2024-W10-0",
            "2024-0101",
            "202401-01",
            "01/02/2024",
            "2024-01-01T",
            "2024-01-01 ",
            "2024-01-01T1",
            "2024-01-01T24:01",
            "2024-01-01T25:00",
            "2024-01-01T12:60",
            "2024-01-01T12:30:60",
            "2016-12-31T23:59:60+09:00",
            "2024-01-01T12:30:61",
            "2024-01-01T12:30:15.",
            "2024-01-01T12:3015",
            "2024-01-01Z",
            "2024-01-01T12:30+",
            "2024-01-01T12:30+1",
            "2024-01-01T12:30+24:00",
            "2024-01-01T12:30+01:60",
            "2024-01-01T12:30+01:",
            "2024-01-01T12:30ZZ",
            "2024-01-01T12:30 UTC",
            "+2024-01-01",
            "2024-01-01T24:00:00.1",
            "20240101120000",
            "2024-01-01T12:30:1x",
        ] {
            assert_eq!(key(text), None, "{text}");
        }
    }
}

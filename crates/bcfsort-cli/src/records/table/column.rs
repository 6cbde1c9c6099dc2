//! The columns that a table is sorted by, and the keys of their cells.

use super::date::Instant;
use super::header::Header;
use crate::records::decimal::Decimal;
use crate::records::key::{complement, order, push_last_string, push_number, push_string};
use crate::records::version::{push_natural, push_version};
use memchr::{memchr, memchr2};
use std::borrow::Cow;
use std::str::FromStr;
use wgpu_bcfsort::{KeyType, Order, SortKey};

/// What cells without a value are, besides those that are empty.
const NONE: [&str; 4] = ["NA", "N/A", "null", "None"];

/// A column, and how its cells compare.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Column {
    /// From 0.
    pub(super) index: usize,
    pub(super) name: String,
    kind: Kind,
    order: Order,
    missing: Missing,
    /// True if lowercase letters of ASCII count as uppercase.
    ignores_case: bool,
    /// True if numbers have a comma before their fraction.
    decimal_comma: bool,
}

/// How cells compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// By bytes.
    Str,
    /// By bytes, and digits as whole numbers.
    Natural,
    /// As GNU sort -V.
    Version,
    /// Any decimal number, by its exact value.
    Num,
    /// Decimal numbers in the range of this type.
    Integer(KeyType),
    /// In total order.
    Float(KeyType),
    /// By the instant.
    Date,
}

impl Kind {
    const NAMES: &str = "str, natural, version, num, date, u32, i32, f32, u64, i64, f64";

    fn parse(name: &str) -> Option<Self> {
        match name {
            "str" => Some(Self::Str),
            "natural" => Some(Self::Natural),
            "version" => Some(Self::Version),
            "num" => Some(Self::Num),
            "date" => Some(Self::Date),
            _ => {
                let mut numbers = KeyType::WHOLE_WORDS.into_iter();
                let number = numbers.find(|number| number.name() == name)?;
                Some(match number {
                    KeyType::F32 | KeyType::F64 => Self::Float(number),
                    _ => Self::Integer(number),
                })
            }
        }
    }

    /// True if every cell is a value, also an empty one.
    const fn is_text(self) -> bool {
        matches!(self, Self::Str | Self::Natural | Self::Version)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Str => "str",
            Self::Natural => "natural",
            Self::Version => "version",
            Self::Num => "num",
            Self::Date => "date",
            Self::Integer(number) | Self::Float(number) => number.name(),
        }
    }
}

/// Where rows go that have no value in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    /// In front, in both orders.
    First,
    /// At the end, in both orders.
    Last,
    Error,
}

impl FromStr for Missing {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "first" => Ok(Self::First),
            "last" => Ok(Self::Last),
            "error" => Ok(Self::Error),
            _ => Err(format!("'missing={name}' is not first, last or error")),
        }
    }
}

/// What a cell holds.
#[derive(Debug)]
pub(super) enum Value<'a> {
    Missing,
    Text(&'a [u8]),
    Decimal(Decimal<'a>),
    /// A float, by its bits.
    Float(u64, KeyType),
    Date(Instant<'a>),
}

impl Column {
    /// Parses `COL[:TYPE][:desc][:nocase][:missing=WHERE]`. The name may have colons itself.
    pub(super) fn parse(
        text: &str,
        header: Option<&Header>,
        reverse: bool,
        decimal_comma: bool,
    ) -> Result<Self, String> {
        let (mut kind, mut missing) = (None, None);
        let (mut descending, mut ignores_case) = (false, false);
        let mut name = text;
        while let Some((rest, option)) = name.rsplit_once(':') {
            if option == "desc" && !descending {
                descending = true;
            } else if option == "nocase" && !ignores_case {
                ignores_case = true;
            } else if let (None, Some(given)) = (kind, Kind::parse(option)) {
                kind = Some(given);
            } else if let (None, Some(place)) = (missing, option.strip_prefix("missing=")) {
                missing = Some(place.parse()?);
            } else {
                break;
            }
            name = rest;
        }
        let kind = kind.unwrap_or(Kind::Str);
        if ignores_case && !kind.is_text() {
            return Err("nocase is for the types str, natural and version".to_owned());
        }
        let index = Self::find(name, header).map_err(|why| match header {
            Some(header) if name != text && header.find(text).is_some() => {
                format!(
                    "':{}' is an option here: give the column's number",
                    &text[name.len() + 1..]
                )
            }
            _ => why,
        })?;
        Ok(Self {
            index,
            name: name.to_owned(),
            kind,
            order: order(descending != reverse),
            missing: missing.unwrap_or(Missing::Last),
            ignores_case,
            decimal_comma,
        })
    }

    /// The index of a column by its name or its number.
    fn find(name: &str, header: Option<&Header>) -> Result<usize, String> {
        if let Some(index) = header.and_then(|header| header.find(name)) {
            return index;
        }
        let index = match name.parse::<usize>() {
            Ok(0) => return Err("columns are counted from 1".to_owned()),
            number => number.ok().map(|number| number - 1),
        };
        let Some(header) = header else {
            let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
            let why = if is_number {
                "no row has so many columns"
            } else {
                "without a header, columns have numbers, from 1"
            };
            return index.ok_or_else(|| why.to_owned());
        };
        if let Some(index) = index.filter(|&index| index < header.count()) {
            return Ok(index);
        }
        let parts = name.rsplit_once(':');
        let is_column = |name| Self::find(name, Some(header)).is_ok();
        if let Some((_, option)) = parts.filter(|&(column, _)| is_column(column)) {
            let names = Kind::NAMES;
            return Err(format!(
                "'{option}' is no type or option of a column: {names}, desc, nocase, \
                 missing=first, missing=last, missing=error"
            ));
        }
        Err(format!("there is no such column: {}", header.list()))
    }

    /// True if no key of this column is the beginning of another, though it is the last.
    pub(super) fn is_prefix_free(&self) -> bool {
        self.kind != Kind::Str || self.order == Order::Descending
    }

    /// True if every row has a key.
    pub(super) fn takes_all(&self) -> bool {
        self.kind.is_text() && self.missing != Missing::Error
    }

    pub(super) const fn order(&self) -> Order {
        self.order
    }

    /// The content of a cell as [`value`](Self::value) takes it. `None` if there is none.
    #[inline]
    pub(super) fn normal<'a>(&self, content: Cow<'a, [u8]>) -> Option<Cow<'a, [u8]>> {
        match self.kind {
            Kind::Num | Kind::Integer(_) | Kind::Float(_) if self.decimal_comma => {
                with_point(content)
            }
            _ if self.ignores_case => Some(Cow::Owned(content.to_ascii_uppercase())),
            _ => Some(content),
        }
    }

    /// What a cell with this text holds. `None` if it is nothing of the column's type.
    #[inline]
    pub(super) fn value<'a>(&self, content: &'a [u8]) -> Option<Value<'a>> {
        let text = content.trim_ascii();
        let value = match self.kind {
            Kind::Str | Kind::Natural | Kind::Version => return Some(Value::Text(content)),
            Kind::Num | Kind::Integer(_) => decimal(text).map(Value::Decimal),
            Kind::Float(number) => float(text, number),
            Kind::Date => Instant::parse(text).map(Value::Date),
        };
        value.or_else(|| self.is_missing(text).then_some(Value::Missing))
    }

    /// True if a cell of another type than str has no value.
    fn is_missing(&self, text: &[u8]) -> bool {
        let names = |names: &[&str]| {
            let mut names = names.iter();
            names.any(|name| text.eq_ignore_ascii_case(name.as_bytes()))
        };
        text.is_empty()
            || names(&NONE)
            || match self.kind {
                Kind::Num | Kind::Integer(_) => names(&["NaN"]),
                Kind::Date => names(&["NaN", "NaT"]),
                _ => false,
            }
    }

    /// True if a cell with this content has a key. `None`: the row has no such cell.
    #[inline]
    pub(super) fn accepts(&self, content: Option<Cow<[u8]>>) -> bool {
        let Some(content) = content else {
            return self.missing != Missing::Error;
        };
        let Some(content) = self.normal(content) else {
            return false;
        };
        let text = content.trim_ascii();
        let is_value = match self.kind {
            Kind::Str | Kind::Natural | Kind::Version => true,
            Kind::Num => decimal(text).is_some(),
            Kind::Integer(number) => is_in_range(text, number),
            Kind::Float(number) => float(text, number).is_some(),
            Kind::Date => Instant::parse(text).is_some(),
        };
        is_value || self.missing != Missing::Error && self.is_missing(text)
    }

    /// Appends the key of a value.
    ///
    /// No value has the key 00 or ff, and the keys of strings that begin with ff are changed.
    pub(super) fn push(&self, value: &Value, is_last: bool, key: &mut Vec<u8>) {
        let order = self.order;
        match value {
            Value::Missing => self.push_missing(key),
            Value::Text(text) => self.push_text(text, is_last, key),
            Value::Decimal(number) => number.push(order, key),
            Value::Float(bits, number) => push_number(*bits, *number, order, key),
            Value::Date(instant) => {
                let start = key.len();
                instant.push(key);
                complement(&mut key[start..], order);
            }
        }
    }

    fn push_text(&self, mut text: &[u8], is_last: bool, key: &mut Vec<u8>) {
        let order = self.order;
        if self.kind != Kind::Str || self.missing == Missing::First {
            // Other keys may begin with any byte.
            key.push(1);
        } else if order == Order::Ascending && text.first() == Some(&0xff) {
            key.extend_from_slice(&[0xff, 0]);
            text = &text[1..];
        }
        match self.kind {
            Kind::Natural => push_natural(text, order, key),
            Kind::Version => push_version(text, order, key),
            _ if is_last => push_last_string(text, order, key),
            _ => push_string(text, order, key),
        }
    }

    fn push_missing(&self, key: &mut Vec<u8>) {
        let byte = match self.missing {
            Missing::First => 0,
            Missing::Last | Missing::Error => 0xff,
        };
        let length = match self.kind {
            Kind::Str if self.missing != Missing::First => 2,
            Kind::Float(number) => number.bytes() as usize,
            _ => 1,
        };
        key.resize(key.len() + length, byte);
    }

    /// Why a cell is wrong, for a message that begins with the cell.
    pub(super) fn hint(&self, content: &[u8]) -> &'static str {
        if self.kind == Kind::Date {
            ": write it as 2024-12-31 or 2024-12-31T23:59:59Z"
        } else if !self.decimal_comma
            && content.contains(&b',')
            && with_point(Cow::Borrowed(content))
                .is_some_and(|text| decimal(text.trim_ascii()).is_some())
        {
            ": --decimal-comma reads 1.234,5"
        } else {
            ""
        }
    }

    pub(super) fn type_name(&self) -> String {
        match self.kind {
            Kind::Num => "a number".to_owned(),
            Kind::Date => "a date".to_owned(),
            kind => format!("a valid {}", kind.name()),
        }
    }
}

/// The decimal number that a text is.
#[inline]
fn decimal(text: &[u8]) -> Option<Decimal<'_>> {
    let (number, rest) = Decimal::scientific(text)?;
    rest.is_empty().then_some(number)
}

/// A float. A number too large for its type is none, though Rust reads it as an infinity.
#[inline]
fn float(text: &[u8], number: KeyType) -> Option<Value<'static>> {
    let text = std::str::from_utf8(text).ok()?;
    let (bits, is_finite) = if number == KeyType::F32 {
        let float = text.parse::<f32>().ok()?;
        (float.to_bits64(), float.is_finite())
    } else {
        let float = text.parse::<f64>().ok()?;
        (float.to_bits64(), float.is_finite())
    };
    let is_float = is_finite || !text.bytes().any(|byte| byte.is_ascii_digit());
    is_float.then_some(Value::Float(bits, number))
}

fn is_in_range(text: &[u8], number: KeyType) -> bool {
    fn is<T: FromStr>(text: &str) -> bool {
        text.parse::<T>().is_ok()
    }
    std::str::from_utf8(text).is_ok_and(|text| match number {
        KeyType::U32 => is::<u32>(text),
        KeyType::I32 => is::<i32>(text),
        KeyType::U64 => is::<u64>(text),
        _ => is::<i64>(text),
    })
}

/// A number such as `-1.234,5` with a point in place of the comma, and without those of thousands.
/// `None` if the points are not in front of every third digit.
fn with_point(text: Cow<'_, [u8]>) -> Option<Cow<'_, [u8]>> {
    let number = text.trim_ascii();
    let end = memchr2(b'e', b'E', number).unwrap_or(number.len());
    let comma = memchr(b',', &number[..end]);
    if comma.is_none() && memchr(b'.', number).is_none() {
        return Some(text);
    }
    let (whole, rest) = number.split_at(comma.unwrap_or(end));
    let digits = match whole {
        [b'-' | b'+', digits @ ..] => digits,
        _ => whole,
    };
    let is_group = |group: &[u8]| group.iter().all(u8::is_ascii_digit);
    let mut groups = digits.split(|&byte| byte == b'.');
    let first = groups.next().unwrap_or_default();
    let mut groups = groups.peekable();
    let is_grouped = groups.peek().is_some();
    let well_formed = !is_grouped
        || (1..=3).contains(&first.len())
            && is_group(first)
            && groups.all(|group| group.len() == 3 && is_group(group));
    if !well_formed || memchr(b'.', rest).is_some() {
        return None;
    }
    let mut with_point: Vec<u8> = whole.iter().copied().filter(|&byte| byte != b'.').collect();
    match rest {
        [b',', fraction @ ..] => {
            with_point.push(b'.');
            with_point.extend_from_slice(fraction);
        }
        exponent => with_point.extend_from_slice(exponent),
    }
    Some(Cow::Owned(with_point))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_thousands_are_in_front_of_every_third_digit() {
        let with = |text: &'static str| {
            let number = with_point(Cow::Borrowed(text.as_bytes()))?;
            Some(String::from_utf8(number.into_owned()).expect("text"))
        };
        for (text, number) in [
            ("1", "1"),
            ("-1,5", "-1.5"),
            ("1.234,5", "1234.5"),
            ("+12.345.678", "+12345678"),
            (",5", ".5"),
            ("5,", "5."),
            ("1.234e5", "1234e5"),
            ("1,5e-3", "1.5e-3"),
            ("inf", "inf"),
            ("", ""),
            ("1,2,3", "1.2,3"),
        ] {
            assert_eq!(with(text).as_deref(), Some(number), "{text}");
        }
        for text in [
            "1.5",
            "1234.567",
            "1.23.456",
            ".123",
            "1.234,5.6",
            "1..234",
            "1,234.5",
            "-.1",
        ] {
            assert_eq!(with(text), None, "{text}");
        }
    }
}

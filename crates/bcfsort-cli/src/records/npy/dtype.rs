//! The types of elements.

use super::literal::{Literal, clipped};
use crate::records::fixed::{Field as Key, Fixed, Kind};
use crate::records::key::order;
use bcfsort_data::listed;
use std::fmt;
use wgpu_bcfsort::{KeyType, Order};

/// The type of an element or of a field.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DType {
    Plain(Plain),
    Struct(Vec<Field>),
    /// Elements of a type, and their number.
    Array(Box<DType>, usize),
}

/// A type without parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plain {
    big_endian: bool,
    letter: u8,
    /// The bytes of a value.
    width: usize,
    /// As the file has it, with the unit of a time.
    text: String,
}

/// A field of a struct.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// Empty for padding.
    name: String,
    title: Option<String>,
    dtype: DType,
}

impl DType {
    pub(super) fn parse(literal: Literal) -> Result<Self, String> {
        match literal {
            Literal::Text(text) => Plain::parse(&text).map(Self::Plain),
            Literal::List(fields) => {
                let fields = fields.into_iter().map(Field::parse);
                Ok(Self::Struct(fields.collect::<Result<_, _>>()?))
            }
            Literal::Tuple(parts) => match <[Literal; 2]>::try_from(parts) {
                Ok([dtype, shape]) => Self::parse(dtype)?.of_shape(shape),
                Err(_) => Err("a type has other parts than a type and a shape".to_owned()),
            },
            Literal::Number(_) | Literal::Bool(_) => {
                Err("a type is no string and no list".to_owned())
            }
        }
    }

    fn of_shape(self, shape: Literal) -> Result<Self, String> {
        let lengths = lengths(shape)?;
        let count = lengths
            .iter()
            .try_fold(1_u64, |count, &length| count.checked_mul(length));
        let count = count.and_then(|count| usize::try_from(count).ok());
        Ok(Self::Array(Box::new(self), count.ok_or(TOO_LARGE)?))
    }

    /// The bytes of a value.
    fn width(&self) -> Result<usize, String> {
        let width = match self {
            Self::Plain(plain) => Some(plain.width),
            Self::Struct(fields) => {
                let mut sum = Some(0_usize);
                for field in fields {
                    let width = field.dtype.width()?;
                    sum = sum.and_then(|sum| sum.checked_add(width));
                }
                sum
            }
            Self::Array(dtype, count) => dtype.width()?.checked_mul(*count),
        };
        width.ok_or_else(|| TOO_LARGE.to_owned())
    }

    fn has_objects(&self) -> bool {
        match self {
            Self::Plain(plain) => plain.letter == b'O',
            Self::Struct(fields) => fields.iter().any(|field| field.dtype.has_objects()),
            Self::Array(dtype, _) => dtype.has_objects(),
        }
    }

    /// The elements as records, sorted by themselves or by the fields `by`.
    pub(super) fn layout(&self, by: Option<&str>, reverse: bool) -> Result<Fixed, String> {
        let fields = match (self, by) {
            (Self::Plain(plain), None) => {
                let kind = plain.kind()?;
                let key = Key {
                    offset: 0,
                    kind,
                    order: order(reverse),
                };
                return Ok(Fixed::of_fields(kind.width(), vec![key]));
            }
            (Self::Plain(plain), Some(_)) => {
                return Err(format!(
                    "--by is for structured arrays: the elements of this one are '{plain}'"
                ));
            }
            (Self::Array(..), _) => return Err("arrays of arrays cannot be sorted".to_owned()),
            (Self::Struct(fields), _) => fields,
        };
        let Some(by) = by else {
            return Err(format!(
                "a structured array needs --by FIELD: it has {}",
                names(fields)
            ));
        };
        if let Some(field) = fields.iter().find(|field| field.dtype.has_objects()) {
            let name = clipped(&field.name);
            return Err(format!(
                "field '{name}' holds objects, which stand elsewhere"
            ));
        }
        let keys = by.split(',').map(|key| {
            let is_name = fields.iter().any(|field| field.name == key);
            let (name, descending) = match key.strip_suffix(":desc").filter(|_| !is_name) {
                Some(name) => (name, true),
                None => (key, false),
            };
            find(fields, name, order(descending != reverse))
                .map_err(|why| format!("--by {key}: {why}"))
        });
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        Ok(Fixed::of_fields(self.width()?, keys))
    }
}

const TOO_LARGE: &str = "an element is too large";

/// The lengths of a shape.
pub(super) fn lengths(shape: Literal) -> Result<Vec<u64>, String> {
    let number = |literal| match literal {
        Literal::Number(number) => Ok(number),
        _ => Err("a shape has something else than numbers".to_owned()),
    };
    match shape {
        Literal::Tuple(lengths) => lengths.into_iter().map(number).collect(),
        length => Ok(vec![number(length)?]),
    }
}

impl Field {
    fn parse(literal: Literal) -> Result<Self, String> {
        let Literal::Tuple(parts) = literal else {
            return Err("a field is no tuple".to_owned());
        };
        let mut parts = parts.into_iter();
        let (Some(name), Some(dtype), shape, None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err("a field has other parts than a name, a type and a shape".to_owned());
        };
        let (title, name) = match name {
            Literal::Text(name) => (None, name),
            Literal::Tuple(both) => match <[Literal; 2]>::try_from(both) {
                Ok([Literal::Text(title), Literal::Text(name)]) => (Some(title), name),
                _ => return Err("the title and the name of a field are no strings".to_owned()),
            },
            _ => return Err("the name of a field is no string".to_owned()),
        };
        let dtype = DType::parse(dtype)?;
        let dtype = match shape {
            Some(shape) => dtype.of_shape(shape)?,
            None => dtype,
        };
        Ok(Self { name, title, dtype })
    }
}

/// The names of the fields. Those without a name are padding.
fn names(fields: &[Field]) -> String {
    let names = fields.iter().map(|field| field.name.as_str());
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    listed(&names)
}

/// The field with this name, or else with this title.
fn find(fields: &[Field], name: &str, order: Order) -> Result<Key, String> {
    let is_named = |field: &&Field| field.name == name;
    let is_titled = |field: &&Field| field.title.as_deref() == Some(name);
    let found = fields.iter().filter(|_| !name.is_empty());
    let found = found
        .clone()
        .find(is_named)
        .or(found.clone().find(is_titled));
    let Some(found) = found else {
        return Err(format!(
            "there is no such field: the array has {}",
            names(fields)
        ));
    };
    let mut offset = 0_usize;
    for field in fields
        .iter()
        .take_while(|field| !std::ptr::eq(*field, found))
    {
        let end = offset.checked_add(field.dtype.width()?);
        offset = end.ok_or(TOO_LARGE)?;
    }
    let kind = match &found.dtype {
        DType::Plain(number) => number.kind()?,
        DType::Array(..) => return Err("the field is an array, not a number".to_owned()),
        DType::Struct(_) => return Err("the field is a struct, not a number".to_owned()),
    };
    Ok(Key {
        offset,
        kind,
        order,
    })
}

impl Plain {
    /// Parses the byte order, the letter of a type, a size, and the unit of a time.
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{}' is no type", clipped(text));
        let typed = text.strip_prefix(['<', '>', '|', '=']).unwrap_or(text);
        let (&letter, rest) = typed.as_bytes().split_first().ok_or_else(wrong)?;
        if !letter.is_ascii_alphabetic() {
            return Err(wrong());
        }
        let rest = std::str::from_utf8(rest).map_err(|_| wrong())?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, unit) = rest.split_at(digits);
        let is_unit = unit.is_empty()
            || matches!(letter, b'M' | b'm') && unit.starts_with('[') && unit.ends_with(']');
        let size = match (letter, digits) {
            (b'O', "") => Some(8),
            _ => digits.parse::<usize>().ok(),
        };
        let width = match letter {
            b'U' => size.and_then(|characters| characters.checked_mul(4)),
            _ => size,
        };
        Ok(Self {
            big_endian: text.starts_with('>'),
            letter,
            width: width.filter(|_| is_unit).ok_or_else(wrong)?,
            text: text.to_owned(),
        })
    }

    /// The keys of this type, or why they cannot be sorted.
    fn kind(&self) -> Result<Kind, String> {
        use KeyType::{F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let big_endian = self.big_endian;
        let number = match (self.letter, self.width) {
            (b'b' | b'u', 1) => Ok(U8),
            (b'u', 2) => Ok(U16),
            (b'u', 4) => Ok(U32),
            (b'u', 8) => Ok(U64),
            (b'i', 1) => Ok(I8),
            (b'i', 2) => Ok(I16),
            (b'i', 4) => Ok(I32),
            (b'i', 8) => Ok(I64),
            (b'f', 2) => Ok(F16),
            (b'f', 4) => Ok(F32),
            (b'f', 8) => Ok(F64),
            // Whatever the unit is, all times of an array have the same.
            (b'M' | b'm', 8) => return Ok(Kind::Time { big_endian }),
            (b'f', _) => Err("floats of more than 64 bits"),
            (b'c', _) => Err("complex numbers, which have no order"),
            (b'O', _) => Err("Python objects"),
            (b'S' | b'a' | b'U', _) => Err("strings"),
            (b'V', _) => Err("bytes without a meaning"),
            _ => Err("of an unknown type"),
        };
        let number =
            number.map_err(|what| format!("'{self}' cannot be sorted: these are {what}"))?;
        Ok(Kind::Number { number, big_endian })
    }
}

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&clipped(&self.text))
    }
}

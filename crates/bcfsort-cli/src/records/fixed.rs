//! Records of a fixed size in binary files.

use super::key::{order, push_bytes, push_number};
use super::{Bounds, Layout};
use bcfsort_data::bytes;
use wgpu_bcfsort::{KeyType, Order};

/// Records of `width` bytes, sorted by fields.
pub(crate) struct Fixed {
    width: usize,
    fields: Vec<Field>,
}

/// A field of a record, and its order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) offset: usize,
    pub(super) kind: Kind,
    pub(super) order: Order,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bytes(usize),
    Number {
        number: KeyType,
        big_endian: bool,
    },
    /// A signed number of 64 bits, of which the least one is no time. It is last in both orders.
    Time {
        big_endian: bool,
    },
}

impl Kind {
    pub(super) const fn width(self) -> usize {
        match self {
            Self::Bytes(width) => width,
            Self::Number { number, .. } => number.bytes() as usize,
            Self::Time { .. } => 8,
        }
    }
}

impl Fixed {
    /// Records of `width` bytes, sorted by the fields `OFFSET:TYPE[:desc][:be],...`. With `reverse`
    /// each is in the other order.
    pub(crate) fn new(width: usize, fields: &str, reverse: bool) -> Result<Self, String> {
        let mut parsed = Vec::new();
        for field in fields.split(',') {
            let of_record = Field::parse(field, width, reverse);
            parsed.push(of_record.map_err(|why| format!("--key {field}: {why}"))?);
        }
        Ok(Self::of_fields(width, parsed))
    }

    /// Records of `width` bytes, sorted by fields that are within them.
    pub(super) const fn of_fields(width: usize, fields: Vec<Field>) -> Self {
        Self { width, fields }
    }

    /// The bytes of a record.
    pub(super) const fn width(&self) -> usize {
        self.width
    }

    /// The records of the sort benchmark: 10 bytes of key, 90 of payload.
    pub(crate) fn gensort(order: Order) -> Self {
        Self {
            width: 100,
            fields: vec![Field {
                offset: 0,
                kind: Kind::Bytes(10),
                order,
            }],
        }
    }
}

impl Field {
    fn parse(text: &str, width: usize, reverse: bool) -> Result<Self, String> {
        let mut words = text.split(':');
        let offset = words.next().unwrap_or_default();
        let offset = offset.parse::<usize>().map_err(|_| {
            format!("'{offset}' is not a number of bytes: OFFSET:TYPE[:desc][:be] is needed")
        })?;
        let mut kind = parse_kind(words.next().unwrap_or_default())?;
        let mut descending = false;
        for word in words {
            match (word, &mut kind) {
                ("desc", _) => descending = true,
                ("be", Kind::Number { big_endian, .. }) => *big_endian = true,
                ("be", Kind::Bytes(_) | Kind::Time { .. }) => {
                    return Err("'be' is for numbers".to_owned());
                }
                _ => return Err(format!("unknown option '{word}': use desc or be")),
            }
        }
        let end = offset.saturating_add(kind.width());
        if end > width {
            let width = bytes(width as u64);
            return Err(format!("it ends at byte {end}, and a record has {width}"));
        }
        Ok(Self {
            offset,
            kind,
            order: order(descending != reverse),
        })
    }

    fn bytes<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        &record[self.offset..self.offset + self.kind.width()]
    }
}

/// The bits of a number of at most 8 bytes.
fn word(bytes: &[u8], big_endian: bool) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    if big_endian {
        word[..bytes.len()].reverse();
    }
    u64::from_le_bytes(word)
}

fn parse_kind(text: &str) -> Result<Kind, String> {
    let width = text.strip_prefix("bytes");
    let width = width.and_then(|width| width.parse().ok());
    if let Some(width) = width.filter(|&width| width > 0) {
        return Ok(Kind::Bytes(width));
    }
    match text.parse() {
        Ok(number) => Ok(Kind::Number {
            number,
            big_endian: false,
        }),
        Err(_) => Err(format!(
            "'{text}' is no type: {} or bytesN",
            KeyType::ALL.map(KeyType::name).join(", ")
        )),
    }
}

impl Layout for Fixed {
    fn bounds(&self, bytes: &[u8]) -> Bounds {
        Bounds::Every {
            width: self.width,
            count: bytes.len() / self.width,
        }
    }

    fn cut(&self, bytes: &[u8], limit: usize) -> usize {
        let records = (limit.min(bytes.len()) / self.width).max(1);
        (records * self.width).min(bytes.len())
    }

    fn parts(&self) -> usize {
        self.fields.len()
    }

    fn push_part(&self, record: &[u8], part: usize, key: &mut Vec<u8>) {
        let field = &self.fields[part];
        let bytes = field.bytes(record);
        match field.kind {
            Kind::Bytes(_) => push_bytes(bytes, field.order, key),
            Kind::Number { number, big_endian } => {
                push_number(word(bytes, big_endian), number, field.order, key);
            }
            Kind::Time { big_endian } => {
                let time = word(bytes, big_endian);
                // The least number becomes the largest one, and the others keep their order.
                let time = match field.order {
                    Order::Ascending => time.wrapping_sub(1),
                    Order::Descending => time,
                };
                push_number(time, KeyType::I64, field.order, key);
            }
        }
    }

    fn is_prefix_free(&self) -> bool {
        true
    }

    fn line_end(&self) -> Option<u8> {
        None
    }
}

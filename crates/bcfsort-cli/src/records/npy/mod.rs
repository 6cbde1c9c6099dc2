//! Files of `NumPy` arrays: a header that describes the elements, then the elements.

mod dtype;
mod literal;

use super::fixed::Fixed;
use super::reader::{ChunkReader, Front, Rearrange};
use bcfsort_term::fault::Fault;
use dtype::{DType, lengths};
use literal::{Literal, Parser, clipped};
use std::borrow::Cow;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Bytes up to the text of the header in version 1, whose length has 16 bits.
const SHORT_START: usize = 10;

/// The same in the versions 2 and 3, whose lengths have 32 bits. No file is shorter.
const LONG_START: usize = 12;

/// The longest text of a header. Those of thousands of fields are shorter.
const MAX_TEXT: usize = 1 << 16;

/// The start of the next file is a multiple of this, as `numpy.save` has it.
const ALIGNMENT: usize = 64;

/// Reads the header. Returns the layout of the elements and the bytes of the header.
pub(super) fn open(
    reader: &mut ChunkReader,
    by: Option<&str>,
    reverse: bool,
) -> Result<(Fixed, Vec<u8>), Fault> {
    let bytes = read_header(reader)?;
    let failed = |why: String| Fault::Usage(format!("{}: {why}", reader.name()));
    let header = Header::parse(&bytes).map_err(failed)?;
    let layout = header.dtype.layout(by, reverse).map_err(failed)?;
    let arrays = Arrays {
        name: reader.name().to_owned(),
        width: layout.width() as u64,
        count: header.count,
        is_one: true,
        header,
    };
    arrays.expect_end(reader, arrays.count, bytes.len())?;
    reader.set_front(arrays);
    Ok((layout, bytes))
}

/// Arrays of several files, which must have the same type.
struct Arrays {
    /// The first file.
    name: String,
    header: Header,
    width: u64,
    /// The elements of all files so far.
    count: u64,
    /// True if there is one file alone.
    is_one: bool,
}

impl Arrays {
    /// A file must have as many elements as its header says.
    fn expect_end(&self, reader: &mut ChunkReader, count: u64, header: usize) -> Result<(), Fault> {
        let end = count
            .checked_mul(self.width)
            .and_then(|data| data.checked_add(header as u64));
        let Some(end) = end else {
            let name = reader.name();
            return Err(Fault::Usage(format!(
                "{name}: no file has room for the shape ({count},)"
            )));
        };
        reader.expect_end(end, format!("the shape ({count},) in its header"))
    }
}

impl Front for Arrays {
    fn open(&mut self, file: &mut ChunkReader) -> Result<Option<Rearrange>, Fault> {
        let bytes = read_header(file)?;
        let failed = |why: String| Fault::Usage(format!("{}: {why}", file.name()));
        let header = Header::parse(&bytes).map_err(failed)?;
        if header.dtype != self.header.dtype {
            return Err(failed(format!(
                "its elements are {}, those of {} are {}: all files need the same type",
                clipped(&header.descr),
                self.name,
                clipped(&self.header.descr)
            )));
        }
        let sum = self.count.checked_add(header.count);
        self.count = sum.ok_or_else(|| failed("no file has room for all elements".to_owned()))?;
        self.is_one = false;
        self.expect_end(file, header.count, bytes.len())?;
        Ok(None)
    }

    fn of_all(&self, first: Vec<u8>) -> Vec<u8> {
        if self.is_one {
            first
        } else {
            self.header.of_count(self.count)
        }
    }

    fn of_count(&self, records: u64) -> Option<Vec<u8>> {
        Some(self.header.of_count(records))
    }
}

/// What the header of a file says.
struct Header {
    version: u8,
    dtype: DType,
    /// The type as the file has it.
    descr: String,
    count: u64,
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let version = bytes[MAGIC.len()];
        let start = if version == 1 {
            SHORT_START
        } else {
            LONG_START
        };
        let text = decoded(version, &bytes[start..])?;
        let wrong = |why: String| format!("the header is wrong: {why}");
        let (dict, descr) = Dict::parse(&text).map_err(wrong)?;
        let shape = lengths(dict.shape).map_err(wrong)?;
        let [count] = shape[..] else {
            let numbers: Vec<String> = shape.iter().map(u64::to_string).collect();
            return Err(format!(
                "the array has the shape ({}): -f npy sorts arrays of one dimension",
                clipped(&numbers.join(", "))
            ));
        };
        Ok(Self {
            version,
            dtype: DType::parse(dict.descr).map_err(wrong)?,
            descr,
            count,
        })
    }

    /// A header of the same type and `count` elements.
    fn of_count(&self, count: u64) -> Vec<u8> {
        let Self { descr, version, .. } = self;
        let dict = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': ({count},), }}");
        let dict = match version {
            3 => dict.into_bytes(),
            // It was read as Latin-1, so each character is a byte.
            _ => dict.chars().map(|char| char as u8).collect(),
        };
        let of_version = |version: u8, start: usize| {
            let end = (start + dict.len() + 1).next_multiple_of(ALIGNMENT);
            let length = (end - start) as u32;
            let mut header = [MAGIC, &[version, 0]].concat();
            header.extend_from_slice(&length.to_le_bytes()[..start - header.len()]);
            header.extend_from_slice(&dict);
            header.resize(end - 1, b' ');
            header.push(b'\n');
            header
        };
        match version {
            1 if dict.len() + ALIGNMENT < 1 << 16 => of_version(1, SHORT_START),
            // Version 2 has longer headers.
            1 | 2 => of_version(2, LONG_START),
            version => of_version(*version, LONG_START),
        }
    }
}

/// The text of a header: Latin-1, or UTF-8 from version 3 on.
fn decoded(version: u8, text: &[u8]) -> Result<Cow<'_, str>, String> {
    if version < 3 {
        return Ok(text
            .iter()
            .copied()
            .map(char::from)
            .collect::<String>()
            .into());
    }
    let text = std::str::from_utf8(text);
    text.map(Cow::Borrowed)
        .map_err(|_| "the header is wrong: it is no UTF-8".to_owned())
}

/// The entries of a header.
struct Dict {
    descr: Literal,
    shape: Literal,
}

impl Dict {
    /// Parses the text of a header. Returns also the text of the type.
    fn parse(text: &str) -> Result<(Self, String), String> {
        let mut parser = Parser::new(text);
        let (mut descr, mut shape, mut order) = (None, None, None);
        parser.expect('{')?;
        while !parser.take('}') {
            let (key, _) = parser.literal()?;
            parser.expect(':')?;
            let value = parser.literal()?;
            let Literal::Text(key) = key else {
                return Err("a key is no string".to_owned());
            };
            let place = match &*key {
                "descr" => &mut descr,
                "shape" => &mut shape,
                "fortran_order" => &mut order,
                _ => return Err(format!("the key '{}' is not known", clipped(&key))),
            };
            *place = Some(value);
            if !parser.take(',') {
                parser.expect('}')?;
                break;
            }
        }
        if !parser.is_at_end() {
            return Err("there is more behind its end".to_owned());
        }
        let missing = |key: &str| format!("the key '{key}' is missing");
        let (descr, text) = descr.ok_or_else(|| missing("descr"))?;
        let (shape, _) = shape.ok_or_else(|| missing("shape"))?;
        // The order of dimensions has no meaning for one.
        let (Literal::Bool(_), _) = order.ok_or_else(|| missing("fortran_order"))? else {
            return Err("'fortran_order' is neither True nor False".to_owned());
        };
        Ok((Self { descr, shape }, text.to_owned()))
    }
}

fn read_header(reader: &mut ChunkReader) -> Result<Vec<u8>, Fault> {
    let mut header = reader.next_bytes(LONG_START)?;
    let failed = |reader: &ChunkReader, why: &str| {
        let name = reader.name();
        Err(Fault::Usage(format!("{name}: {why}")))
    };
    if !header.starts_with(MAGIC) {
        return failed(
            reader,
            "this is no .npy file: it does not begin with \\x93NUMPY",
        );
    }
    let end = match header[MAGIC.len()..] {
        [1, _, low, high, ..] => SHORT_START + usize::from(u16::from_le_bytes([low, high])),
        [2 | 3, _, a, b, c, d] => {
            LONG_START.saturating_add(u32::from_le_bytes([a, b, c, d]) as usize)
        }
        [version, minor, ..] if header.len() == LONG_START => {
            let why = format!("version {version}.{minor} of .npy files is not supported");
            return failed(reader, &why);
        }
        _ => return failed(reader, "the file ends in its header"),
    };
    if end > LONG_START + MAX_TEXT {
        return failed(reader, "the header is longer than 64 KiB");
    }
    header.extend(reader.next_bytes(end.saturating_sub(LONG_START))?);
    if header.len() != end {
        return failed(reader, "the file ends in its header");
    }
    Ok(header)
}

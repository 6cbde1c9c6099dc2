//! Files of `NumPy` arrays: a header that describes the elements, then the elements.

use super::fixed::{Field, Fixed, Kind};
use super::key::order;
use super::reader::ChunkReader;
use bcfsort_term::fault::Fault;
use npyz::{DType, Endianness, NpyHeader, TypeChar, TypeStr};
use wgpu_bcfsort::{KeyType, Order};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Bytes up to the text of the header in version 1, whose length has 16 bits.
const SHORT_START: usize = 10;

/// The same in the versions 2 and 3, whose lengths have 32 bits. No file is shorter.
const LONG_START: usize = 12;

/// The longest text of a header. Those of thousands of fields are shorter.
const MAX_TEXT: usize = 1 << 16;

/// The deepest nesting of a header: structs in structs in structs. The time to parse one may
/// double with each level.
const MAX_DEPTH: usize = 8;

/// Reads the header. Returns the layout of the elements and the bytes of the header.
pub(super) fn open(
    reader: &mut ChunkReader,
    by: Option<&str>,
    reverse: bool,
) -> Result<(Fixed, Vec<u8>), Fault> {
    let bytes = read_header(reader)?;
    let name = reader.name().to_owned();
    let failed = |why: String| Fault::Usage(format!("{name}: {why}"));
    let header = parse(&bytes).map_err(failed)?;
    let [count] = *header.shape() else {
        return Err(failed(format!(
            "the array has the shape {}: -f npy sorts arrays of one dimension",
            tuple(header.shape())
        )));
    };
    let layout = layout(&header.dtype(), by, reverse).map_err(failed)?;
    let end = count
        .checked_mul(layout.width() as u64)
        .and_then(|data| data.checked_add(bytes.len() as u64))
        .ok_or_else(|| failed(format!("no file has room for the shape ({count},)")))?;
    let what = format!("the shape ({count},) in its header");
    reader.expect_end(end, what)?;
    Ok((layout, bytes))
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

fn parse(header: &[u8]) -> Result<NpyHeader, String> {
    let mut depth = 0_usize;
    for byte in header {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(format!("the header is nested more than {MAX_DEPTH} deep"));
        }
    }
    NpyHeader::from_reader(header).map_err(|error| {
        // The parser shows an excerpt in further lines.
        let error = error.to_string();
        let first = error.lines().next().unwrap_or_default();
        format!("the header is wrong: {first}")
    })
}

/// A shape as Python writes it.
fn tuple(shape: &[u64]) -> String {
    let numbers: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("({})", numbers.join(", "))
}

fn layout(dtype: &DType, by: Option<&str>, reverse: bool) -> Result<Fixed, String> {
    match (dtype, by) {
        (DType::Plain(number), None) => {
            let kind = kind(number)?;
            let field = Field {
                offset: 0,
                kind,
                order: order(reverse),
            };
            Ok(Fixed::of_fields(kind.width(), vec![field]))
        }
        (DType::Plain(number), Some(_)) => Err(format!(
            "--by is for structured arrays: the elements of this one are '{number}'"
        )),
        (DType::Record(fields), None) => Err(format!(
            "a structured array needs --by FIELD: it has {}",
            names(fields)
        )),
        (DType::Record(fields), Some(by)) => {
            if let Some(field) = fields.iter().find(|field| field.dtype.uses_pickled_array()) {
                let name = &field.name;
                return Err(format!(
                    "field '{name}' holds objects, which stand elsewhere"
                ));
            }
            let keys = by.split(',').map(|key| {
                let (name, descending) = match key.strip_suffix(":desc") {
                    Some(name) => (name, true),
                    None => (key, false),
                };
                field(fields, name, order(descending != reverse))
                    .map_err(|why| format!("--by {key}: {why}"))
            });
            let keys = keys.collect::<Result<Vec<_>, _>>()?;
            let width = dtype.num_bytes().ok_or("an element is too large")?;
            Ok(Fixed::of_fields(width, keys))
        }
        (DType::Array(..), _) => Err("arrays of arrays cannot be sorted".to_owned()),
    }
}

/// The names of the fields. Those without a name are padding.
fn names(fields: &[npyz::Field]) -> String {
    let names = fields.iter().map(|field| field.name.as_str());
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    names.join(", ")
}

/// The field with this name.
fn field(fields: &[npyz::Field], name: &str, order: Order) -> Result<Field, String> {
    let mut offset = 0;
    for field in fields {
        if !name.is_empty() && field.name == name {
            let kind = match &field.dtype {
                DType::Plain(number) => kind(number)?,
                DType::Array(..) => return Err("the field is an array, not a number".to_owned()),
                DType::Record(_) => return Err("the field is a struct, not a number".to_owned()),
            };
            return Ok(Field {
                offset,
                kind,
                order,
            });
        }
        offset += field.dtype.num_bytes().unwrap_or(0);
    }
    Err(format!(
        "there is no such field: the array has {}",
        names(fields)
    ))
}

/// The numbers of a type, or why they cannot be sorted.
fn kind(number: &TypeStr) -> Result<Kind, String> {
    use KeyType::{F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let key = match (number.type_char(), number.size_field()) {
        (TypeChar::Bool | TypeChar::Uint, 1) => Ok(U8),
        (TypeChar::Uint, 2) => Ok(U16),
        (TypeChar::Uint, 4) => Ok(U32),
        (TypeChar::Uint, 8) => Ok(U64),
        (TypeChar::Int, 1) => Ok(I8),
        (TypeChar::Int, 2) => Ok(I16),
        (TypeChar::Int, 4) => Ok(I32),
        // The times are numbers of their units.
        (TypeChar::Int | TypeChar::DateTime | TypeChar::TimeDelta, 8) => Ok(I64),
        (TypeChar::Float, 2) => Ok(F16),
        (TypeChar::Float, 4) => Ok(F32),
        (TypeChar::Float, 8) => Ok(F64),
        (TypeChar::Float, _) => Err("floats of more than 64 bits"),
        (TypeChar::Complex, _) => Err("complex numbers, which have no order"),
        (TypeChar::Object, _) => Err("Python objects"),
        (TypeChar::ByteStr | TypeChar::UnicodeStr, _) => Err("strings"),
        (TypeChar::RawData, _) => Err("bytes without a meaning"),
        _ => Err("of an unknown type"),
    };
    let key = key.map_err(|what| format!("'{number}' cannot be sorted: these are {what}"))?;
    Ok(Kind::Number {
        number: key,
        big_endian: number.endianness() == Endianness::Big,
    })
}

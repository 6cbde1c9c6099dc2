//! The formats of files, and the option -t, whose meaning depends on them.

use crate::records::args::RecordKind;
use bcfsort_data::{Format, UnknownFormat};
use bcfsort_term::fault::Fault;
use clap::builder::{OsStringValueParser, TypedValueParser};
use std::ffi::{OsStr, OsString};
use std::str::FromStr;
use wgpu_bcfsort::KeyType;

/// The format of a file to sort or to check.
#[derive(Clone, Copy)]
pub(crate) enum FileFormat {
    Numbers(Format),
    Records(RecordKind),
}

impl FileFormat {
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        let records = RecordKind::ALL.map(RecordKind::name);
        Format::ALL.map(Format::name).into_iter().chain(records)
    }

    /// True if the first bytes of a file can tell that it is compressed.
    pub(crate) const fn tells_codec(self) -> bool {
        match self {
            Self::Numbers(format) => matches!(format, Format::Text),
            Self::Records(kind) => kind.tells_codec(),
        }
    }
}

impl FromStr for FileFormat {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let records = name.parse().map(Self::Records);
        records.or_else(|_| name.parse().map(Self::Numbers))
    }
}

/// Checks the value of -t, as far as all formats have it. A separator may be any byte.
pub(crate) fn type_or_separator() -> impl TypedValueParser<Value = OsString> {
    OsStringValueParser::new().try_map(checked_type_or_separator)
}

fn checked_type_or_separator(text: OsString) -> Result<OsString, String> {
    let is_separator = text.len() == 1 || text == "\\t" || text == "\\0";
    if is_separator || whole_word_type(&text).is_some() {
        return Ok(text);
    }
    let types = KeyType::WHOLE_WORDS.map(KeyType::name).join(", ");
    Err(format!(
        "in raw and text it is the type of the numbers, one of {types}; in other formats a \
         separator, one byte as in -t ';'"
    ))
}

/// The type of numbers that -t names; u32 without it.
pub(crate) fn type_of_numbers(of_t: Option<&OsStr>, format: Format) -> Result<KeyType, Fault> {
    whole_word_type(of_t.unwrap_or(OsStr::new("u32"))).ok_or_else(|| {
        Fault::Usage(format!(
            "-t is the type of the numbers in -f {}: separators are for -f lines, csv and tsv",
            format.name()
        ))
    })
}

fn whole_word_type(name: &OsStr) -> Option<KeyType> {
    let mut types = KeyType::WHOLE_WORDS.into_iter();
    types.find(|key| name == key.name())
}

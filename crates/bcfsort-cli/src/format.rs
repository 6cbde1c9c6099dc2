//! The formats of files, the type of the numbers in two of them, and equal keys.

use crate::records::args::{RecordArgs, RecordKind};
use bcfsort_data::{Format, UnknownFormat};
use bcfsort_term::args::{key_type, one_of};
use bcfsort_term::fault::Fault;
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

    /// What `-f` names, or the format that is assumed without it.
    pub(crate) fn or_assumed(named: Option<Self>) -> Self {
        named.unwrap_or(Self::Numbers(Format::AssumedRaw))
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

/// What is in a file, and by what its records compare.
#[derive(clap::Args)]
pub(crate) struct FormatArgs {
    #[command(flatten)]
    pub(crate) numbers: NumberType,
    /// raw (default), text; records: lines, csv, tsv, npy, fixed, gensort
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        hide_possible_values = true,
        value_parser = one_of::<FileFormat>(FileFormat::names())
    )]
    pub(crate) format: Option<FileFormat>,
    #[command(flatten)]
    pub(crate) records: RecordArgs,
}

/// What becomes of equal keys.
#[derive(clap::Args)]
pub(crate) struct Unique {
    /// Of records or numbers with equal keys, keep the first one
    ///
    /// Keys are compared, not records: -u -k1,1 keeps one line for each first field. Floats are
    /// equal if their bits are: -0 and 0 both stay, and so do NaNs of another sign or payload. With
    /// 'check', or -c: equal keys are out of order.
    #[arg(short, long)]
    pub(crate) unique: bool,
}

/// The type of numbers. Records have their types in other options, or in the file.
#[derive(clap::Args)]
pub(crate) struct NumberType {
    /// raw, text: u32 (default), i32, f32, u64, i64 or f64
    #[arg(
        long = "type",
        value_name = "TYPE",
        hide_possible_values = true,
        value_parser = key_type()
    )]
    number_type: Option<KeyType>,
}

impl NumberType {
    /// The type of the numbers, in formats of numbers.
    pub(crate) fn of_numbers(&self) -> KeyType {
        self.number_type.unwrap_or(KeyType::U32)
    }

    /// Fails if the type is given, as records of this kind do not have it from here.
    pub(crate) fn refuse_for(&self, kind: RecordKind) -> Result<(), Fault> {
        if self.number_type.is_none() {
            return Ok(());
        }
        let types = match kind {
            RecordKind::Lines => "-n compares numbers",
            RecordKind::Csv | RecordKind::Tsv => "--by has the types",
            RecordKind::Fixed => "--key has the types",
            RecordKind::Gensort => "keys of 10 bytes",
            RecordKind::Npy => "the file has the types",
        };
        Err(Fault::Usage(format!(
            "--type is for -f raw, text, not for -f {}: {types}",
            kind.name()
        )))
    }
}

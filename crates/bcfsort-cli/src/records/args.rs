//! The options of records.

use super::Layout;
use super::fixed::Fixed;
use super::key::order;
use super::lines::Lines;
use super::lines::args::LineArgs;
use super::npy;
use super::reader::{ChunkReader, Front, Rearrange};
use super::table::{TableArgs, TablePlan};
use bcfsort_term::args::count_of;
use bcfsort_term::fault::Fault;
use clap::builder::{OsStringValueParser, TypedValueParser};
use std::ffi::OsStr;
use std::str::FromStr;
use wgpu_bcfsort::KeyType;

/// A format of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordKind {
    Lines,
    Csv,
    Tsv,
    Fixed,
    Gensort,
    Npy,
}

use RecordKind::{Csv, Lines as OfLines, Tsv};

impl RecordKind {
    pub(crate) const ALL: [Self; 6] = [OfLines, Csv, Tsv, Self::Fixed, Self::Gensort, Self::Npy];

    /// Its name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            OfLines => "lines",
            Csv => "csv",
            Tsv => "tsv",
            Self::Fixed => "fixed",
            Self::Gensort => "gensort",
            Self::Npy => "npy",
        }
    }

    /// True if the first bytes of a file in this format tell whether it is compressed.
    pub(crate) const fn tells_codec(self) -> bool {
        !matches!(self, Self::Fixed | Self::Gensort)
    }
}

impl FromStr for RecordKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let mut all = Self::ALL.into_iter();
        all.find(|kind| kind.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("unknown record format '{name}': one of {names}")
        })
    }
}

/// What records are sorted by.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// fixed: the size of a record
    #[arg(long, value_name = "BYTES", value_parser = count_of::<usize>)]
    pub(crate) record: Option<usize>,
    /// lines: fields as in GNU sort; fixed: OFFSET:TYPE[:desc]
    ///
    /// lines: F[.C][OPTIONS][,F[.C][OPTIONS]], from byte C of field F to the end, or to the second
    /// position. OPTIONS are the letters of GNU sort: b, d, f, g, h, i, M, n, r and V, and N for
    /// natural order; a key without any has those of the command. Several keys are compared one
    /// after the other, and lines with equal keys keep their order, as with -s in GNU sort. fixed:
    /// OFFSET:TYPE[:desc][:be],..., where TYPE is u8, i8, u16, i16, f16, bf16, u32, i32, f32, u64,
    /// i64, f64 or bytesN; numbers are little-endian, or big-endian with be.
    #[arg(short, long, value_name = "KEY")]
    pub(crate) key: Vec<String>,
    /// lines, csv, tsv: what separates fields
    ///
    /// One byte, as in -t ';', which may be any but a line end; \t is the tab, and \0 the zero
    /// byte. Without it, a field of lines begins with the blanks in front of it, csv has a comma
    /// and tsv the tab.
    #[arg(
        short = 't',
        long,
        value_name = "CHAR",
        aliases = ["separator", "delimiter"],
        value_parser = OsStringValueParser::new().try_map(|text| separator(&text))
    )]
    pub(crate) field_separator: Option<u8>,
    #[command(flatten)]
    pub(crate) lines: LineArgs,
}

/// A format whose layout may need the header of the file.
pub(crate) enum Plan {
    Lines(Lines),
    Fixed(Fixed),
    Table(TablePlan),
    Npy { by: Option<String>, reverse: bool },
}

impl RecordArgs {
    /// The options that are given, each with the formats that have it.
    fn given(&self) -> impl Iterator<Item = (&'static str, &'static [RecordKind])> {
        const FIXED: &[RecordKind] = &[RecordKind::Fixed];
        let others = [
            ("--record", FIXED, self.record.is_some()),
            (
                "--key",
                &[OfLines, RecordKind::Fixed][..],
                !self.key.is_empty(),
            ),
            (
                "--field-separator",
                &[OfLines, Csv, Tsv][..],
                self.field_separator.is_some(),
            ),
        ];
        let all = self.table.given().into_iter().chain(self.lines.given());
        let all = all.chain(others);
        all.filter_map(|(option, kinds, given)| given.then_some((option, kinds)))
    }

    /// Fails if an option is given that `format` does not have. `kind` is `None` if it has none.
    pub(crate) fn refuse_for_others(
        &self,
        format: &str,
        kind: Option<RecordKind>,
    ) -> Result<(), Fault> {
        for (option, kinds) in self.given() {
            if kind.is_none_or(|kind| !kinds.contains(&kind)) {
                let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                return Err(Fault::Usage(format!(
                    "{option} is for -f {}, not for -f {format}",
                    names.join(", ")
                )));
            }
        }
        Ok(())
    }

    /// What to sort by.
    pub(crate) fn plan(&self, kind: RecordKind, reverse: bool) -> Result<Plan, Fault> {
        self.refuse_for_others(kind.name(), Some(kind))?;
        let order = order(reverse);
        let separator = self.field_separator;
        Ok(match kind {
            OfLines => Plan::Lines(self.lines.plan(&self.key, separator, reverse)?),
            Csv | Tsv => Plan::Table(self.table.plan(kind, separator, reverse)?),
            RecordKind::Fixed => {
                let width = self.record.filter(|&width| width > 0);
                let width = width.ok_or_else(|| needs(kind, "--record BYTES, at least 1"))?;
                if self.key.is_empty() {
                    return Err(needs(kind, "--key OFFSET:TYPE"));
                }
                let fields = self.key.join(",");
                Plan::Fixed(Fixed::new(width, &fields, reverse).map_err(Fault::Usage)?)
            }
            RecordKind::Gensort => Plan::Fixed(Fixed::gensort(order)),
            RecordKind::Npy => Plan::Npy {
                by: self.table.by.clone(),
                reverse,
            },
        })
    }
}

/// Parses a separator of fields. Tables refuse one more.
fn separator(text: &OsStr) -> Result<u8, String> {
    let mut types = KeyType::WHOLE_WORDS.into_iter();
    match text.as_encoded_bytes() {
        b"\\t" => Ok(b'\t'),
        b"\\0" => Ok(0),
        b"\n" => Err("a newline cannot separate fields".to_owned()),
        &[byte] => Ok(byte),
        _ => {
            let tip = match types.find(|key| text == key.name()) {
                Some(key) => format!(" (the type of numbers is --type {key})"),
                None => String::new(),
            };
            Err(format!("a separator is one byte, as in -t ';'{tip}"))
        }
    }
}

fn needs(kind: RecordKind, option: &str) -> Fault {
    Fault::Usage(format!("-f {} needs {option}", kind.name()))
}

impl Plan {
    /// Reads what stays in front, a byte order mark or a header, and returns the layout and these
    /// bytes.
    pub(crate) fn open(
        self,
        reader: &mut ChunkReader,
        memory: u64,
    ) -> Result<(Box<dyn Layout>, Vec<u8>), Fault> {
        match self {
            Self::Lines(lines) => {
                reader.set_front(Mark);
                Ok((Box::new(lines), reader.take_mark()?))
            }
            Self::Fixed(fixed) => Ok((Box::new(fixed), Vec::new())),
            Self::Npy { by, reverse } => {
                let (layout, header) = npy::open(reader, by.as_deref(), reverse)?;
                Ok((Box::new(layout), header))
            }
            Self::Table(table) => {
                let (layout, front) = table.open(reader, memory)?;
                Ok((Box::new(layout), front))
            }
        }
    }
}

/// The byte order marks of lines: that of the first file stays.
struct Mark;

impl Front for Mark {
    fn open(&mut self, file: &mut ChunkReader) -> Result<Option<Rearrange>, Fault> {
        file.take_mark()?;
        Ok(None)
    }
}

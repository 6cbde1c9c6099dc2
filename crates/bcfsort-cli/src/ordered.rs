//! Inputs that must be sorted, and where one is not.

use crate::input::Input;
use crate::verify::OrderCheck;
use bcfsort_data::{Format, KeyReader, KeyWriter};
use bcfsort_term::fault::Fault;
use std::cmp::Ordering;
use std::io::BufRead;
use wgpu_bcfsort::{Order, SortKey};

/// The first record that is out of order.
pub(crate) struct Disorder {
    /// The name of the file.
    pub(crate) name: String,
    pub(crate) place: Place,
    /// The record and the one before it, if they are text.
    pub(crate) texts: Option<[String; 2]>,
    /// What may be the cause, in brackets.
    pub(crate) hint: &'static str,
}

impl Disorder {
    /// The message, without a newline.
    pub(crate) fn message(&self) -> String {
        let Self {
            name, texts, hint, ..
        } = self;
        let place = match self.place {
            Place::Line(line) => format!("line {line}"),
            Place::Index(index) => format!("index {index}"),
        };
        let texts = match texts {
            Some([text, before]) => format!(": {text} after {before}"),
            None => String::new(),
        };
        format!("{name}: not sorted: {place}{texts}{hint}")
    }
}

/// Where something is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Lines of text, from 1.
    Line(u64),
    /// Records or numbers, from 0.
    Index(u64),
}

/// Why a sorted input cannot be read on.
pub(crate) enum Flaw {
    Fault(Fault),
    Disorder(Disorder),
}

impl From<Fault> for Flaw {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Where only sorted inputs will do.
impl From<Flaw> for Fault {
    fn from(flaw: Flaw) -> Self {
        match flaw {
            Flaw::Fault(fault) => fault,
            Flaw::Disorder(found) => Self::Usage(found.message()),
        }
    }
}

/// Reads a sorted input to its end with `next`. Returns what is out of order.
pub(crate) fn disorder_of<T>(
    mut next: impl FnMut() -> Result<Option<T>, Flaw>,
) -> Result<Option<Disorder>, Fault> {
    loop {
        match next() {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(None),
            Err(Flaw::Disorder(found)) => return Ok(Some(found)),
            Err(Flaw::Fault(fault)) => return Err(fault),
        }
    }
}

/// Reads the sorted numbers of a file.
pub(crate) struct OrderedKeys<T> {
    name: String,
    format: Format,
    order: Order,
    reader: KeyReader<T, Box<dyn BufRead + Send>>,
    check: OrderCheck<T>,
}

impl<T: SortKey> OrderedKeys<T> {
    /// With `unique`, equal numbers are out of order. Of text, at most `text_at_once` bytes are in
    /// memory.
    pub(crate) fn new(
        input: Input,
        format: Format,
        order: Order,
        unique: bool,
        text_at_once: u64,
    ) -> Self {
        Self {
            name: input.name,
            format,
            order,
            reader: KeyReader::new(input.stream, format)
                .with_bytes(input.bytes)
                .with_text_at_once(text_at_once),
            check: OrderCheck::new(order, unique),
        }
    }

    /// The number of keys returned so far.
    pub(crate) fn count(&self) -> u64 {
        self.reader.count()
    }

    /// The next `max` keys, or fewer if these are all. None at the end.
    pub(crate) fn next(&mut self, max: usize) -> Result<Option<Vec<T>>, Flaw> {
        let keys =
            (self.reader.read_chunk(max)).map_err(|error| Fault::data(&self.name, &error))?;
        let Some(found) = self.check.add(&keys) else {
            return Ok(Some(keys).filter(|keys| !keys.is_empty()));
        };
        // The hint is given if all keys of the first chunk descend.
        let descends = |a: &T, b: &T| a.total_order(b) != Ordering::Less;
        let is_other = found.key.total_order(&found.before) != Ordering::Equal;
        let is_first = found.index < keys.len() as u64;
        Err(Flaw::Disorder(Disorder {
            name: self.name.clone(),
            place: match self.format {
                Format::Text => Place::Line(found.index + 1),
                _ => Place::Index(found.index),
            },
            texts: Some([text(found.key), text(found.before)]),
            hint: match self.order {
                Order::Ascending if is_first && is_other && keys.is_sorted_by(descends) => {
                    " (descending? -r)"
                }
                _ => "",
            },
        }))
    }
}

/// The key in the text format.
fn text<T: SortKey>(key: T) -> String {
    let mut writer = KeyWriter::new(Vec::new(), Format::Text);
    let written = writer.write(&[key]).and_then(|()| writer.finish());
    written.map_or_else(
        |error| error.to_string(),
        |text| String::from_utf8_lossy(&text).trim().to_owned(),
    )
}

//! Says whether a file of records is sorted.

use super::args::Plan;
use super::neighbours::Neighbours;
use super::reader::ChunkReader;
use crate::input::Inputs;
use bcfsort_data::clipped;
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::Progress;
use std::cmp::Ordering;

/// Bytes of the records that are checked at a time.
const CHUNK: u64 = 64 << 20;

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

/// Where something is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Lines of text, from 1.
    Line(u64),
    /// Records or numbers, from 0.
    Index(u64),
}

/// Finds the first record that the one before it should follow. If they must be `unique`, their
/// keys may not be equal either.
pub(crate) fn check(
    input: Inputs,
    plan: Plan,
    unique: bool,
    quiet: bool,
) -> Result<Option<Disorder>, Fault> {
    let mut reader = ChunkReader::open(input)?;
    let (layout, _) = plan.open(&mut reader, CHUNK)?;
    let mut neighbours = Neighbours::new(&*layout);
    let mut progress = Progress::new(quiet);
    let mut count = 0;
    let mut last = String::new();
    let text = |record: &[u8]| {
        let record = record
            .strip_suffix(layout.terminator(false))
            .unwrap_or(record);
        clipped(record.strip_suffix(b"\r").unwrap_or(record))
    };
    while let Some(chunk) = reader.next(&*layout, CHUNK)? {
        progress.bytes("checking", reader.position(), reader.size_of_all());
        let bounds = layout.bounds(&chunk);
        let is_wrong = |order: &Ordering| match order {
            Ordering::Less => false,
            Ordering::Equal => unique,
            Ordering::Greater => true,
        };
        let wrong = neighbours
            .compare(&chunk, &bounds)
            .iter()
            .position(is_wrong);
        let record = |index: usize| &chunk[bounds.range(index)];
        if let Some(wrong) = wrong {
            let line = reader.line_of(&*layout, &chunk[bounds.end(wrong)..]);
            let before = match wrong {
                0 => last,
                _ => text(record(wrong - 1)),
            };
            return Ok(Some(Disorder {
                name: reader.name().to_owned(),
                place: line.map_or(Place::Index(count + wrong as u64), Place::Line),
                texts: line.map(|_| [text(record(wrong)), before]),
                hint: "",
            }));
        }
        count += bounds.len() as u64;
        last = bounds
            .len()
            .checked_sub(1)
            .map_or(last, |end| text(record(end)));
    }
    Ok(None)
}

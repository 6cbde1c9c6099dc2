//! Files of records that must be sorted.

use super::Layout;
use super::args::Plan;
use super::neighbours::Neighbours;
use super::reader::ChunkReader;
use crate::input::Inputs;
use crate::ordered::{Disorder, Flaw, Place, disorder_of};
use bcfsort_data::clipped;
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::Progress;
use std::cmp::Ordering;

/// Bytes of the records that are checked at a time.
const CHUNK: u64 = 64 << 20;

/// Reads the sorted records of a file.
pub(super) struct Ordered<'a> {
    reader: ChunkReader,
    layout: &'a dyn Layout,
    neighbours: Neighbours<'a>,
    /// Equal keys are out of order.
    unique: bool,
    /// The number of records returned so far.
    count: u64,
    /// The last of them, if records are text.
    last: String,
}

impl<'a> Ordered<'a> {
    pub(super) fn new(reader: ChunkReader, layout: &'a dyn Layout, unique: bool) -> Self {
        Self {
            reader,
            layout,
            neighbours: Neighbours::new(layout),
            unique,
            count: 0,
            last: String::new(),
        }
    }

    /// The next records that take at most `budget` bytes. `None` at the end.
    pub(super) fn next(&mut self, budget: u64) -> Result<Option<Vec<u8>>, Flaw> {
        let Some(chunk) = self.reader.next(self.layout, budget)? else {
            return Ok(None);
        };
        let bounds = self.layout.bounds(&chunk);
        let is_wrong = |order: &Ordering| match order {
            Ordering::Less => false,
            Ordering::Equal => self.unique,
            Ordering::Greater => true,
        };
        let orders = self.neighbours.compare(&chunk, &bounds);
        let record = |index: usize| &chunk[bounds.range(index)];
        if let Some(wrong) = orders.iter().position(is_wrong) {
            let line = (self.reader).line_of(self.layout, &chunk[bounds.end(wrong)..]);
            let before = match wrong {
                0 => std::mem::take(&mut self.last),
                _ => self.text(record(wrong - 1)),
            };
            return Err(Flaw::Disorder(Disorder {
                name: self.reader.name().to_owned(),
                place: line.map_or(Place::Index(self.count + wrong as u64), Place::Line),
                texts: line.map(|_| [self.text(record(wrong)), before]),
                hint: "",
            }));
        }
        self.count += bounds.len() as u64;
        if let Some(last) = bounds.len().checked_sub(1) {
            self.last = self.text(record(last));
        }
        Ok(Some(chunk))
    }

    fn text(&self, record: &[u8]) -> String {
        let end = self.layout.terminator(false);
        let record = record.strip_suffix(end).unwrap_or(record);
        clipped(record.strip_suffix(b"\r").unwrap_or(record))
    }
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
    let mut records = Ordered::new(reader, &*layout, unique);
    let mut progress = Progress::new(quiet);
    disorder_of(|| {
        let chunk = records.next(CHUNK)?;
        let reader = &records.reader;
        progress.bytes("checking", reader.position(), reader.size_of_all());
        Ok(chunk)
    })
}

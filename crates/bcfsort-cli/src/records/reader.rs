//! Reads files in chunks of whole records.

use super::{Bounds, Layout, Records};
use crate::input::Input;
use bcfsort_term::fault::Fault;
use bcfsort_testkit::data::read_full;
use memchr::memchr_iter;
use rayon::prelude::*;
use std::io::{self, Read};
use std::path::Path;
use wgpu_bcfsort::RecordFormat;

/// Most bytes read at a time.
const STEP: usize = 64 << 20;

/// Bytes read at a time if one record is wanted, and from a stream at first.
const SMALL_STEP: usize = 1 << 16;

/// The most records in a chunk: their indices have 32 bits.
const MAX_RECORDS: usize = u32::MAX as usize;

/// Reads chunks of whole records.
pub(crate) struct ChunkReader {
    name: String,
    stream: Box<dyn Read + Send>,
    /// The size of the file when it was opened, if it is known.
    size: Option<u64>,
    /// The number of bytes read so far.
    read: u64,
    /// The first `filled` bytes were read, and belong to no chunk yet.
    buffer: Vec<u8>,
    filled: usize,
    at_end: bool,
    /// The number of bytes and lines before the buffer.
    bytes: u64,
    lines: u64,
    /// True if the last record ended with `\r\n`.
    crlf: bool,
    expected: Option<Expected>,
}

/// The size that a file must have.
struct Expected {
    bytes: u64,
    /// What says so.
    by: String,
}

impl ChunkReader {
    /// Opens the file, or stdin for `-`.
    pub(crate) fn open(path: &Path) -> Result<Self, Fault> {
        let input = Input::open(path)?;
        Ok(Self::new(input.name, Box::new(input.stream), input.bytes))
    }

    fn new(name: String, stream: Box<dyn Read + Send>, size: Option<u64>) -> Self {
        Self {
            name,
            stream,
            size,
            read: 0,
            buffer: Vec::new(),
            filled: 0,
            at_end: false,
            bytes: 0,
            lines: 0,
            crlf: false,
            expected: None,
        }
    }

    /// Reads from a stream.
    #[cfg(test)]
    pub(super) fn of_stream(name: &str, stream: impl Read + Send + 'static) -> Self {
        Self::new(name.to_owned(), Box::new(stream), None)
    }

    /// The name of the file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The size of the file, if it is known.
    pub(crate) const fn size(&self) -> Option<u64> {
        self.size
    }

    /// The number of bytes before the next chunk.
    pub(crate) const fn position(&self) -> u64 {
        self.bytes
    }

    /// Removes the byte order mark of UTF-8 that a text may begin with, and returns it. No record
    /// has it, so it stays in front.
    pub(crate) fn take_mark(&mut self) -> Result<Vec<u8>, Fault> {
        const MARK: &[u8] = "\u{feff}".as_bytes();
        let is_marked = |start: &[u8], at_end| {
            (at_end || start.len() >= MARK.len()).then(|| start.starts_with(MARK))
        };
        let is_marked = self.look(is_marked, MARK.len() as u64)?;
        Ok(match is_marked {
            Some(true) => self.split(MARK.len()),
            _ => Vec::new(),
        })
    }

    /// Reads until `find` returns a result for the bytes that come next, or there are `budget`
    /// bytes. These stay unread. `find` is told whether they are all that is left.
    pub(crate) fn look<T>(
        &mut self,
        find: impl Fn(&[u8], bool) -> Option<T>,
        budget: u64,
    ) -> Result<Option<T>, Fault> {
        loop {
            let found = find(&self.buffer[..self.filled], self.at_end);
            if found.is_some() || self.at_end || self.filled as u64 >= budget {
                return Ok(found);
            }
            // Twice as many each time, so that the bytes searched stay in proportion.
            let step = self.filled.max(SMALL_STEP);
            self.read(step, step)?;
        }
    }

    /// The next `count` bytes, or all that are left if these are fewer.
    pub(crate) fn next_bytes(&mut self, count: usize) -> Result<Vec<u8>, Fault> {
        while self.filled < count && !self.at_end {
            self.read(SMALL_STEP, SMALL_STEP)?;
        }
        Ok(self.split(count.min(self.filled)))
    }

    /// From now on, a file that has not `bytes` bytes is an error. `by` is what says that it has as
    /// many.
    pub(crate) fn expect_end(&mut self, bytes: u64, by: String) -> Result<(), Fault> {
        let expected = Expected { bytes, by };
        if let Some(size) = self.size().filter(|size| *size != bytes) {
            return Err(self.unexpected(&expected, size, ""));
        }
        self.expected = Some(expected);
        self.check_end()
    }

    fn unexpected(&self, expected: &Expected, size: u64, or_more: &str) -> Fault {
        let Self { name, .. } = self;
        let Expected { bytes, by } = expected;
        Fault::Usage(format!(
            "{name}: the file has {size}{or_more} bytes, but should have {bytes} by {by}"
        ))
    }

    /// Fails if the bytes read so far show that the file has not the size expected.
    fn check_end(&self) -> Result<(), Fault> {
        let Some(expected) = &self.expected else {
            return Ok(());
        };
        let read = self.bytes + self.filled as u64;
        if read > expected.bytes {
            return Err(self.unexpected(expected, read, " or more"));
        }
        if self.at_end && read < expected.bytes {
            return Err(self.unexpected(expected, read, ""));
        }
        Ok(())
    }

    /// The next records that take at most `budget` bytes, the overhead of a sort included. `None`
    /// at the end.
    pub(crate) fn next(
        &mut self,
        layout: &dyn Layout,
        budget: u64,
    ) -> Result<Option<Vec<u8>>, Fault> {
        self.refuse_partial(layout)?;
        self.take(layout, budget, MAX_RECORDS)
    }

    /// The next record alone.
    pub(crate) fn next_record(
        &mut self,
        layout: &dyn Layout,
        budget: u64,
    ) -> Result<Option<Vec<u8>>, Fault> {
        self.take(layout, budget, 1)
    }

    /// Fails before any work if the size of a file shows that its last record is cut short.
    fn refuse_partial(&self, layout: &dyn Layout) -> Result<(), Fault> {
        match (self.size(), layout.bounds(&[])) {
            (Some(size), Bounds::Every { width, .. })
                if !(size - self.bytes).is_multiple_of(width as u64) =>
            {
                Err(self.partial(width, size))
            }
            _ => Ok(()),
        }
    }

    fn partial(&self, width: usize, total: u64) -> Fault {
        let rest = (total - self.bytes) % width as u64;
        Fault::Usage(format!(
            "{}: byte {}: the last record has {rest} of {width} bytes: the file was cut short, or \
             its records have another size",
            self.name,
            total - rest,
        ))
    }

    fn take(
        &mut self,
        layout: &dyn Layout,
        budget: u64,
        max: usize,
    ) -> Result<Option<Vec<u8>>, Fault> {
        let budget = usize::try_from(budget).unwrap_or(usize::MAX);
        let (mut end, mut count) = (0, 0);
        let mut completed = false;
        loop {
            let bounds = layout.bounds(&self.buffer[end..self.filled]);
            let room = budget.saturating_sub(end + count * Records::OVERHEAD);
            let fitting = fitting(&bounds, room).min(max - count);
            self.check(layout, end, &bounds, fitting)?;
            end += bounds.end(fitting);
            count += fitting;
            if fitting < bounds.len() || count == max || self.at_end && end == self.filled {
                break;
            }
            if self.at_end {
                if completed {
                    return Err(self.fault(layout, end, "a quoted cell of this record has no end"));
                }
                self.complete(layout, end, &bounds)?;
                completed = true;
                continue;
            }
            let room = budget.saturating_sub(end + (count + 1) * Records::OVERHEAD);
            let room = room.saturating_sub(self.filled - end);
            if room == 0 {
                break;
            }
            // For one record, twice as many each time: those before are searched again.
            let step = match max {
                1 => self.filled.max(SMALL_STEP),
                _ => STEP.min(budget / 8 + SMALL_STEP),
            };
            self.read(room, step)?;
        }
        if end == 0 && self.filled > 0 {
            let what = format!("a record takes more than the {budget} bytes of memory for a chunk");
            return Err(self.fault(layout, 0, &what));
        }
        Ok(self.split_off(layout, end))
    }

    /// The first `end` bytes of the buffer as a chunk.
    fn split_off(&mut self, layout: &dyn Layout, end: usize) -> Option<Vec<u8>> {
        let chunk = self.split(end);
        if chunk.is_empty() {
            return None;
        }
        if let Some(line_end) = layout.line_end() {
            self.lines += memchr_iter(line_end, &chunk).count() as u64;
            self.crlf = chunk.ends_with(b"\r\n");
        }
        Some(chunk)
    }

    /// The first `end` bytes of the buffer.
    fn split(&mut self, end: usize) -> Vec<u8> {
        let rest = self.buffer[end..self.filled].to_vec();
        self.filled = rest.len();
        let mut bytes = std::mem::replace(&mut self.buffer, rest);
        bytes.truncate(end);
        self.bytes += end as u64;
        bytes
    }

    /// Appends the end that the last record of the file lacks.
    fn complete(&mut self, layout: &dyn Layout, end: usize, bounds: &Bounds) -> Result<(), Fault> {
        if let Bounds::Every { width, .. } = bounds {
            return Err(self.partial(*width, self.bytes + self.filled as u64));
        }
        let crlf = match end {
            0 => self.crlf,
            _ => self.buffer[..end].ends_with(b"\r\n"),
        };
        self.buffer.truncate(self.filled);
        self.buffer.extend_from_slice(layout.terminator(crlf));
        self.filled = self.buffer.len();
        Ok(())
    }

    /// Reads at most `step` bytes. There will be room for `room` bytes in this chunk.
    fn read(&mut self, room: usize, step: usize) -> Result<(), Fault> {
        let failed = |error: &io::Error| Fault::io(&self.name, "cannot read", error);
        let left = self.size.map(|size| size - self.read);
        let left = left.map(|left| usize::try_from(left).unwrap_or(usize::MAX));
        let step = step.min(room);
        let step = match left {
            Some(left) => step.min(left),
            None => step.min(self.filled.max(SMALL_STEP)),
        };
        let end = self.filled + step;
        if self.buffer.len() < end {
            // Of a file, all of a chunk at once: the system provides zeroed pages when the threads
            // that read write to them.
            let more = left.map_or(step, |left| room.min(left));
            let mut larger = vec![0; self.filled + more];
            larger[..self.filled].copy_from_slice(&self.buffer[..self.filled]);
            self.buffer = larger;
        }
        let read = read_full(&mut self.stream, &mut self.buffer[self.filled..end])
            .map_err(|error| failed(&error))?;
        if left.is_some() && read < step {
            let cut_short = io::ErrorKind::UnexpectedEof;
            let error = io::Error::new(cut_short, "it was cut short meanwhile");
            return Err(failed(&error));
        }
        self.filled += read;
        self.read += read as u64;
        self.at_end = left.map_or(read < step, |left| left == step);
        self.check_end()
    }

    /// Checks the records that fit.
    fn check(
        &self,
        layout: &dyn Layout,
        start: usize,
        bounds: &Bounds,
        fitting: usize,
    ) -> Result<(), Fault> {
        if !layout.is_checked() {
            return Ok(());
        }
        let records = &self.buffer[start..];
        let wrong = (0..fitting).into_par_iter().find_map_first(|index| {
            let range = bounds.range(index);
            let wrong = layout.check(&records[range.clone()]).err()?;
            Some((range.start + wrong.at, wrong.what))
        });
        match wrong {
            Some((at, what)) => Err(self.fault(layout, start + at, &what)),
            None => Ok(()),
        }
    }

    /// What is wrong at a byte of the buffer.
    fn fault(&self, layout: &dyn Layout, at: usize, what: &str) -> Fault {
        let name = &self.name;
        let byte = self.bytes + at as u64;
        let lines = |line_end| memchr_iter(line_end, &self.buffer[..at]).count() as u64;
        Fault::Usage(match layout.line_end().map(lines) {
            Some(lines) => {
                let line = 1 + self.lines + lines;
                format!("{name}: line {line}, byte {byte}: {what}")
            }
            None => format!("{name}: byte {byte}: {what}"),
        })
    }
}

/// The number of records that fit in `room`, the overhead of a sort included.
fn fitting(bounds: &Bounds, room: usize) -> usize {
    let (mut low, mut high) = (0, bounds.len());
    while low < high {
        let count = usize::midpoint(low, high + 1);
        if bounds.end(count) + count * Records::OVERHEAD <= room {
            low = count;
        } else {
            high = count - 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::super::fixed::Fixed;
    use super::*;
    use std::io::Cursor;

    fn chunks(bytes: usize, size: usize) -> Result<usize, Fault> {
        let layout = Fixed::new(4, "0:u32", false).expect("a layout");
        let stream = Box::new(Cursor::new(vec![7; bytes]));
        let mut reader = ChunkReader::new("file".to_owned(), stream, Some(size as u64));
        let mut read = 0;
        while let Some(chunk) = reader.next(&layout, 4 << 20)? {
            read += chunk.len();
        }
        Ok(read)
    }

    #[test]
    fn a_file_that_shrinks_is_an_error_and_what_is_appended_is_ignored() {
        for size in [4, 4000, 1 << 20] {
            assert_eq!(chunks(size, size).expect("all of the file"), size);
            assert_eq!(chunks(size + 8, size).expect("what the file had"), size);
            let error = chunks(size - 4, size).expect_err("4 bytes are missing");
            assert_eq!(
                error.message(),
                Some("file: cannot read: it was cut short meanwhile")
            );
        }
    }
}

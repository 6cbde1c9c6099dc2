//! Reads files in chunks of whole records.

use super::lines::count_lines;
use super::{Bounds, Layout, Records};
use crate::input::{Input, Inputs};
use crate::spool::Part;
use bcfsort_data::read_full;
use bcfsort_term::fault::Fault;
use memchr::memchr_iter;
use rayon::prelude::*;
use std::io::{self, Read};
use wgpu_bcfsort::RecordFormat;

/// Most bytes read at a time.
const STEP: usize = 64 << 20;

/// Bytes read at a time if one record is wanted, and from a stream at first.
const SMALL_STEP: usize = 1 << 16;

/// The most records in a chunk: their indices have 32 bits.
const MAX_RECORDS: usize = u32::MAX as usize;

/// What stands in front of the records of each file.
pub(crate) trait Front: Send {
    /// Reads it from a further file. `None` if its records are like those of the first file.
    fn open(&mut self, file: &mut ChunkReader) -> Result<Option<Rearrange>, Fault>;

    /// What stands in front of the result. `first` is what the first file has there.
    fn of_all(&self, first: Vec<u8>) -> Vec<u8> {
        first
    }

    /// What stands in front of a result of so many records. `None` if their number makes no
    /// difference.
    fn of_count(&self, _records: u64) -> Option<Vec<u8>> {
        None
    }
}

/// Appends a record of another file as one of the first file, of the same size, or says why it
/// cannot be one.
pub(crate) type Rearrange = Box<dyn Fn(&[u8], &mut Vec<u8>) -> Result<(), String> + Send + Sync>;

/// Records of files that have nothing in front.
struct Nothing;

impl Front for Nothing {
    fn open(&mut self, _: &mut ChunkReader) -> Result<Option<Rearrange>, Fault> {
        Ok(None)
    }
}

/// Records that one thread rearranges at a time.
const REARRANGED: usize = 1 << 12;

/// Reads chunks of whole records, of one file after the other.
pub(crate) struct ChunkReader {
    /// The files that follow.
    inputs: Option<Inputs>,
    front: Box<dyn Front>,
    rearrange: Option<Rearrange>,
    /// The bytes of all chunks so far.
    passed: u64,
    /// Where in the buffer the file begins, or what is left of it. The fields below, up to the
    /// buffer, are of this file.
    base: usize,
    name: String,
    stream: Box<dyn Read + Send>,
    /// The size of the file when it was opened, if it is known.
    size: Option<u64>,
    /// The number of bytes read so far.
    read: u64,
    at_end: bool,
    /// The number of bytes and lines before the buffer.
    bytes: u64,
    lines: u64,
    /// True if the last record ended with `\r\n`.
    crlf: bool,
    expected: Option<Expected>,
    /// The first `filled` bytes were read, and belong to no chunk yet.
    buffer: Vec<u8>,
    filled: usize,
}

/// The size that a file must have.
struct Expected {
    bytes: u64,
    /// What says so.
    by: String,
}

impl ChunkReader {
    /// Opens the first of the files.
    pub(crate) fn open(mut inputs: Inputs) -> Result<Self, Fault> {
        let first = Self::of_file(inputs.first()?);
        Ok(Self {
            inputs: Some(inputs),
            ..first
        })
    }

    fn of_file(input: Input) -> Self {
        Self::new(input.name, Box::new(input.stream), input.bytes)
    }

    fn new(name: String, stream: Box<dyn Read + Send>, size: Option<u64>) -> Self {
        Self {
            inputs: None,
            front: Box::new(Nothing),
            rearrange: None,
            passed: 0,
            base: 0,
            name,
            stream,
            size,
            read: 0,
            at_end: false,
            bytes: 0,
            lines: 0,
            crlf: false,
            expected: None,
            buffer: Vec::new(),
            filled: 0,
        }
    }

    /// Reads records of a temporary file, which has `bytes` bytes.
    pub(super) fn of_part(name: &str, part: Part, bytes: u64) -> Self {
        Self::new(name.to_owned(), Box::new(part), Some(bytes))
    }

    /// Reads from a stream.
    #[cfg(test)]
    pub(super) fn of_stream(name: &str, stream: impl Read + Send + 'static) -> Self {
        Self::new(name.to_owned(), Box::new(stream), None)
    }

    /// From now on, `front` reads what stands in front of the records of further files.
    pub(crate) fn set_front(&mut self, front: impl Front + 'static) {
        self.front = Box::new(front);
    }

    /// What stands in front of the records of all files. `first` is what the first one has there.
    pub(crate) fn front_of_all(&self, first: Vec<u8>) -> Vec<u8> {
        self.front.of_all(first)
    }

    /// As [`front_of_all`](Self::front_of_all), of which so many records are left. `None` if their
    /// number makes no difference.
    pub(crate) fn front_of_count(&self, records: u64) -> Option<Vec<u8>> {
        self.front.of_count(records)
    }

    /// Leaves a file that has ended for the next one. Returns false if it has not, or is the last.
    pub(crate) fn skip_ended(&mut self) -> Result<bool, Fault> {
        if !self.at_end || self.filled > 0 {
            return Ok(false);
        }
        let Some(next) = self.next_input()? else {
            return Ok(false);
        };
        self.go_on(next);
        Ok(true)
    }

    fn next_input(&mut self) -> Result<Option<Self>, Fault> {
        let Some(inputs) = &mut self.inputs else {
            return Ok(None);
        };
        Ok(inputs.next()?.map(Self::of_file))
    }

    /// Opens the next file, whose first records follow those in the buffer. Returns false if there
    /// is none.
    fn follow(&mut self, layout: &dyn Layout) -> Result<bool, Fault> {
        let Some(next) = self.next_apart(layout)? else {
            return Ok(false);
        };
        self.go_on(next);
        Ok(true)
    }

    /// The present file alone. What is left here opens those that follow, one by one.
    pub(super) fn apart(&mut self) -> Self {
        let mut file = Self::new(self.name.clone(), Box::new(io::empty()), Some(0));
        file.at_end = true;
        std::mem::swap(self, &mut file);
        std::mem::swap(&mut self.inputs, &mut file.inputs);
        std::mem::swap(&mut self.front, &mut file.front);
        file
    }

    /// The next file alone, behind what stands in front of its records.
    pub(super) fn next_apart(&mut self, layout: &dyn Layout) -> Result<Option<Self>, Fault> {
        let Some(mut next) = self.next_input()? else {
            return Ok(None);
        };
        next.rearrange = self.front.open(&mut next)?;
        next.refuse_partial(layout)?;
        Ok(Some(next))
    }

    fn go_on(&mut self, next: Self) {
        self.rearrange = next.rearrange;
        self.base = self.filled;
        self.buffer.truncate(self.filled);
        self.buffer.extend_from_slice(&next.buffer[..next.filled]);
        self.filled = self.buffer.len();
        self.name = next.name;
        self.stream = next.stream;
        self.size = next.size;
        self.read = next.read;
        self.at_end = next.at_end;
        self.bytes = next.bytes;
        self.lines = next.lines;
        self.crlf = next.crlf;
        self.expected = next.expected;
    }

    /// The name of the file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The size of all files, if it is known.
    pub(crate) fn size_of_all(&self) -> Option<u64> {
        self.inputs.as_ref()?.bytes
    }

    /// The line of text in which a record of the last chunk begins, of which there is `rest` from
    /// this record on. `None` if the records are no text.
    pub(crate) fn line_of(&self, layout: &dyn Layout, rest: &[u8]) -> Option<u64> {
        let line_end = layout.line_end()?;
        let lines = memchr_iter(line_end, rest).count() as u64;
        Some(self.lines + 1 - lines)
    }

    /// The number of bytes before the next chunk.
    pub(crate) const fn position(&self) -> u64 {
        self.passed
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
        if let Some(size) = self.size.filter(|size| *size != bytes) {
            return Err(self.unexpected(&expected, size, ""));
        }
        self.expected = Some(expected);
        self.check_end()
    }

    fn unexpected(&self, expected: &Expected, size: u64, or_more: &str) -> Fault {
        let Self { name, .. } = self;
        let Expected { bytes, by } = expected;
        Fault::Usage(format!(
            "{name}: the file has {}{or_more}, but should have {bytes} by {by}",
            bcfsort_data::bytes(size)
        ))
    }

    /// Fails if the bytes read so far show that the file has not the size expected.
    fn check_end(&self) -> Result<(), Fault> {
        let Some(expected) = &self.expected else {
            return Ok(());
        };
        let read = self.bytes + (self.filled - self.base) as u64;
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
        match (self.size, layout.bounds(&[])) {
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
            "{}: byte {}: the last record has {rest} of {}: the file was cut short, or \
             its records have another size",
            self.name,
            total - rest,
            bcfsort_data::bytes(width as u64),
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
            self.rearrange(layout, end, &bounds, fitting)?;
            self.check(layout, end, &bounds, fitting)?;
            end += bounds.end(fitting);
            count += fitting;
            if fitting < bounds.len() || count == max {
                break;
            }
            if self.at_end && end == self.filled {
                // One record alone is a header of this file.
                if max == 1 || !self.follow(layout)? {
                    break;
                }
                completed = false;
                continue;
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
            let what = format!(
                "a record takes more than the {budget} bytes of memory for a chunk: allow more \
                 --memory"
            );
            return Err(self.fault(layout, 0, &what));
        }
        Ok(self.split_off(layout, end))
    }

    /// The first `end` bytes of the buffer as a chunk.
    fn split_off(&mut self, layout: &dyn Layout, end: usize) -> Option<Vec<u8>> {
        let base = self.base;
        let chunk = self.split(end);
        if chunk.is_empty() {
            return None;
        }
        if let (Some(line_end), of_file @ [_, ..]) = (layout.line_end(), &chunk[base..]) {
            self.lines += count_lines(of_file, line_end) as u64;
            self.crlf = of_file.ends_with(b"\r\n");
        }
        Some(chunk)
    }

    /// The first `end` bytes of the buffer.
    fn split(&mut self, end: usize) -> Vec<u8> {
        let rest = self.buffer[end..self.filled].to_vec();
        self.filled = rest.len();
        let mut bytes = std::mem::replace(&mut self.buffer, rest);
        bytes.truncate(end);
        self.bytes += (end - self.base) as u64;
        self.passed += end as u64;
        self.base = 0;
        bytes
    }

    /// Appends the end that the last record of the file lacks.
    fn complete(&mut self, layout: &dyn Layout, end: usize, bounds: &Bounds) -> Result<(), Fault> {
        if let Bounds::Every { width, .. } = bounds {
            let total = self.bytes + (self.filled - self.base) as u64;
            return Err(self.partial(*width, total));
        }
        let crlf = if end == self.base {
            self.crlf
        } else {
            self.buffer[..end].ends_with(b"\r\n")
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
            // Behind other files twice as many each time: the next one may follow soon.
            let more = left.map_or(step, |left| room.min(left.max(self.base)));
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

    /// Makes those records that fit records of the first file.
    fn rearrange(
        &mut self,
        layout: &dyn Layout,
        start: usize,
        bounds: &Bounds,
        fitting: usize,
    ) -> Result<(), Fault> {
        let Some(rearrange) = &self.rearrange else {
            return Ok(());
        };
        let records = &self.buffer[start..];
        let blocks = (0..fitting).into_par_iter().step_by(REARRANGED);
        let rearranged = blocks.map(|first| {
            let last = fitting.min(first + REARRANGED);
            let mut block = Vec::with_capacity(bounds.end(last) - bounds.end(first));
            for index in first..last {
                let record = bounds.range(index);
                rearrange(&records[record.clone()], &mut block)
                    .map_err(|what| (record.start, what))?;
            }
            Ok(block)
        });
        let rearranged: Result<Vec<_>, (usize, String)> = rearranged.collect();
        match rearranged {
            Ok(blocks) => {
                let mut at = start;
                for block in blocks {
                    self.buffer[at..at + block.len()].copy_from_slice(&block);
                    at += block.len();
                }
                Ok(())
            }
            Err((at, what)) => Err(self.fault(layout, start + at, &what)),
        }
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
        let is_rearranged = self.rearrange.is_some();
        let wrong = (0..fitting).into_par_iter().find_map_first(|index| {
            let range = bounds.range(index);
            let wrong = layout.check(&records[range.clone()]).err()?;
            // In a record that is rearranged, the byte was at another place.
            let at = if is_rearranged { 0 } else { wrong.at };
            Some((range.start + at, wrong.what))
        });
        match wrong {
            Some((at, what)) => Err(self.fault(layout, start + at, &what)),
            None => Ok(()),
        }
    }

    /// What is wrong at a byte of the buffer.
    fn fault(&self, layout: &dyn Layout, at: usize, what: &str) -> Fault {
        let name = &self.name;
        let byte = self.bytes + (at - self.base) as u64;
        let before = &self.buffer[self.base..at];
        let lines = |line_end| memchr_iter(line_end, before).count() as u64;
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

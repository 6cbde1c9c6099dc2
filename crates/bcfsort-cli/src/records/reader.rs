//! Reads files in chunks of whole records.

use super::{Bounds, Layout, Records};
use crate::input::Input;
use bcfsort_term::fault::Fault;
use memchr::memchr_iter;
use rayon::prelude::*;
use std::io::{self, Read};
use std::path::Path;
use wgpu_bcfsort::RecordFormat;

/// Most bytes read at a time.
const STEP: usize = 64 << 20;

/// Bytes read at a time if one record is wanted, and from a stream at first.
const SMALL_STEP: usize = 1 << 16;

/// Bytes of a file that one thread reads at a time.
#[cfg(unix)]
const PIECE: usize = 1 << 21;

/// The most records in a chunk: their indices have 32 bits.
const MAX_RECORDS: usize = u32::MAX as usize;

/// Reads chunks of whole records.
pub(crate) struct ChunkReader {
    name: String,
    source: Source,
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

enum Source {
    Stream(Box<dyn Read + Send>),
    /// A regular file, read on all cores, and the number of bytes that are left of it.
    #[cfg(unix)]
    File {
        file: std::fs::File,
        position: u64,
        left: u64,
    },
}

impl ChunkReader {
    /// Opens the file, or stdin for `-`.
    pub(crate) fn open(path: &Path) -> Result<Self, Fault> {
        let input = Input::open(path)?;
        #[cfg(unix)]
        if let Some(file) =
            regular_file(path).map_err(|error| Fault::io(&input.name, "cannot read", &error))?
        {
            return Ok(Self::new(input.name, file));
        }
        Ok(Self::new(
            input.name,
            Source::Stream(Box::new(input.stream)),
        ))
    }

    fn new(name: String, source: Source) -> Self {
        Self {
            name,
            source,
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
        Self::new(name.to_owned(), Source::Stream(Box::new(stream)))
    }

    /// The name of the file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The size of the file, if it is known.
    pub(crate) fn size(&self) -> Option<u64> {
        match &self.source {
            Source::Stream(_) => None,
            #[cfg(unix)]
            Source::File { position, left, .. } => Some(position + left),
        }
    }

    /// The number of bytes before the next chunk.
    pub(crate) const fn position(&self) -> u64 {
        self.bytes
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
        let step = if max == 1 {
            SMALL_STEP
        } else {
            STEP.min(budget / 8 + SMALL_STEP)
        };
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
        if layout.is_text() {
            self.lines += memchr_iter(b'\n', &chunk).count() as u64;
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
        let step = step.min(room);
        let Self {
            source,
            buffer,
            filled,
            at_end,
            ..
        } = self;
        let read = match source {
            Source::Stream(stream) => {
                let step = step.min((*filled).max(SMALL_STEP));
                buffer.resize(*filled + step, 0);
                read_full(stream, &mut buffer[*filled..])
            }
            #[cfg(unix)]
            Source::File {
                file,
                position,
                left,
            } => {
                let left_now = usize::try_from(*left).unwrap_or(usize::MAX);
                let (room, step) = (room.min(left_now), step.min(left_now));
                if buffer.len() < *filled + step {
                    // All of a chunk at once: the system provides zeroed pages when the threads
                    // that read write to them.
                    let mut larger = vec![0; *filled + room];
                    larger[..*filled].copy_from_slice(&buffer[..*filled]);
                    *buffer = larger;
                }
                let read = read_in_parallel(file, *position, &mut buffer[*filled..*filled + step]);
                *position += step as u64;
                *left -= step as u64;
                read.map(|()| (step, *left == 0))
            }
        };
        let (read, ended) = read.map_err(|error| Fault::io(&self.name, "cannot read", &error))?;
        *filled += read;
        *at_end = ended;
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
        Fault::Usage(if layout.is_text() {
            let line = 1 + self.lines + memchr_iter(b'\n', &self.buffer[..at]).count() as u64;
            format!("{name}: line {line}, byte {byte}: {what}")
        } else {
            format!("{name}: byte {byte}: {what}")
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

/// Fills the buffer, or reads up to the end of the stream. Returns the number of bytes, and true at
/// the end.
pub(super) fn read_full(stream: &mut dyn Read, buffer: &mut [u8]) -> io::Result<(usize, bool)> {
    let mut filled = 0;
    while filled < buffer.len() {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => return Ok((filled, true)),
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((filled, false))
}

/// The file with this path, if it is a regular one that has a size. (The files of /proc have none.)
#[cfg(unix)]
fn regular_file(path: &Path) -> io::Result<Option<Source>> {
    let is_file = |metadata: &std::fs::Metadata| metadata.is_file() && metadata.len() > 0;
    // A second `open` of a pipe could wait for ever.
    if path == Path::new("-") || !std::fs::metadata(path).is_ok_and(|found| is_file(&found)) {
        return Ok(None);
    }
    let file = std::fs::File::open(path)?;
    let left = file.metadata()?.len();
    Ok(Some(Source::File {
        file,
        position: 0,
        left,
    }))
}

#[cfg(unix)]
fn read_in_parallel(file: &std::fs::File, position: u64, buffer: &mut [u8]) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    let pieces = buffer.par_chunks_mut(PIECE).enumerate();
    let read =
        pieces.map(|(index, piece)| file.read_exact_at(piece, position + (index * PIECE) as u64));
    read.collect::<io::Result<()>>()
        .map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(error.kind(), "it was cut short meanwhile")
            }
            _ => error,
        })
}

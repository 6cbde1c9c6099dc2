//! Streams of keys: reading and writing.

use super::{DataError, clipped, text};
use rayon::prelude::*;
use std::fmt;
use std::io::{self, BufRead, Read, Write};
use std::marker::PhantomData;
use std::str::FromStr;
use wgpu_bcfsort::SortKey;

/// The format of a file of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Little-endian keys of 4 or 8 bytes, without separators.
    #[default]
    Raw,
    /// [`Raw`](Self::Raw), but reading refuses an input that looks like text. For a format that is
    /// assumed, not requested.
    AssumedRaw,
    /// One number a line.
    ///
    /// Reading accepts blanks around the number, a byte order mark of UTF-8 at the beginning, CRLF
    /// line ends, a missing last newline, and CR as the only line end of a file. Floats are written
    /// with the fewest digits that read back exactly. `NaN`s keep their sign and payload (`NaN`,
    /// `-NaN`, `NaN(0x1)`).
    Text,
}

impl Format {
    /// The formats that a user can request.
    pub const ALL: [Self; 2] = [Self::Raw, Self::Text];

    /// The name used on the command line: `raw` or `text`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw | Self::AssumedRaw => "raw",
            Self::Text => "text",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is not the name of a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown format '{0}': raw or text")]
#[non_exhaustive]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

/// Longer lines are refused: the longest number, a float written in full, has about 1100
/// characters, and a file without newlines must not be read into memory as one line.
const LONGEST_LINE: usize = 4096;

/// The byte order mark of UTF-8, which a text may begin with.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// The number of bytes, at the start of an input, that tell text from raw keys.
const PROBE: usize = 4096;

/// The number of keys by which a chunk grows while it is read.
const STEP: usize = 1 << 18;

/// Bytes of text that each thread parses or formats at a time, unless a reader or writer has a
/// lower limit for all threads together.
const TEXT_PART: usize = 1 << 20;

/// The least text that all threads together parse or format at a time. Longer than any good line.
const LEAST_TEXT: usize = 1 << 14;

/// Bytes of text that all threads together parse or format at a time: `limit`, but at most 1 MiB
/// for each thread, and at least 16 KiB.
#[must_use]
pub fn text_at_once(limit: u64) -> usize {
    let all = TEXT_PART * rayon::current_num_threads();
    usize::try_from(limit).map_or(all, |limit| all.min(limit.max(LEAST_TEXT)))
}

/// Reads keys from a stream, chunk by chunk.
///
/// Text is parsed on all cores.
///
/// # Examples
///
/// ```
/// use bcfsort_data::{Format, KeyReader};
/// let mut reader = KeyReader::<i64, _>::new(&b"3\n-1\r\n 2"[..], Format::Text);
/// assert_eq!(reader.read_chunk(2)?, [3, -1]);
/// assert_eq!(reader.read_chunk(2)?, [2]);
/// assert!(reader.read_chunk(2)?.is_empty());
/// # Ok::<(), bcfsort_data::DataError>(())
/// ```
#[derive(Debug)]
pub struct KeyReader<T, R> {
    input: R,
    format: Format,
    bytes: Option<u64>,
    count: u64,
    /// The text that is read: whole lines, which become keys at once, and the start of the next.
    text: Vec<u8>,
    /// Keys that are parsed and not returned yet.
    parsed: std::vec::IntoIter<T>,
    /// The number of keys parsed so far.
    lines: u64,
    /// The byte that ends a line, once text is read.
    line_end: Option<u8>,
    /// Bytes of text that are read and parsed at a time.
    at_once: usize,
}

impl<T: SortKey, R: BufRead> KeyReader<T, R> {
    /// Reads keys of type `T` from `input`.
    pub fn new(input: R, format: Format) -> Self {
        Self {
            input,
            format,
            bytes: None,
            count: 0,
            text: Vec::new(),
            parsed: Vec::new().into_iter(),
            lines: 0,
            line_end: None,
            at_once: text_at_once(u64::MAX),
        }
    }

    /// The same reader, with [`text_at_once`] bytes of text in memory at a time. If lines have 10
    /// bytes, their keys take up to twice as much besides.
    #[must_use]
    pub fn with_text_at_once(mut self, limit: u64) -> Self {
        self.at_once = text_at_once(limit);
        self
    }

    /// The same reader of an input that is expected to have this many bytes: a raw chunk is
    /// allocated and read at once. The input may have more or fewer.
    #[must_use]
    pub fn with_bytes(mut self, bytes: Option<u64>) -> Self {
        self.bytes = bytes;
        self
    }

    /// The expected number of keys, if the size of the input is known. An estimate for text.
    pub fn expected(&self) -> Option<u64> {
        self.bytes
            .map(|bytes| Self::expected_in(bytes, self.format))
    }

    /// The number of keys in an input of this many bytes. An estimate for text.
    pub fn expected_in(bytes: u64, format: Format) -> u64 {
        /// Bytes of a line: of random `u32` keys some 11, of small ones 2.
        const LINE: u64 = 10;
        match format {
            Format::Raw | Format::AssumedRaw => bytes / T::KEY_TYPE.bytes(),
            Format::Text => bytes / LINE,
        }
    }

    /// The number of keys returned so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// True if the input has ended. Blocks until there is more input or the end is known.
    ///
    /// # Errors
    ///
    /// [`DataError::Read`].
    pub fn at_end(&mut self) -> Result<bool, DataError> {
        if self.parsed.len() > 0 || !self.text.is_empty() {
            return Ok(false);
        }
        loop {
            match self.input.fill_buf() {
                Ok(buffer) => return Ok(buffer.is_empty()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(DataError::Read(error)),
            }
        }
    }

    /// Reads the next `max` keys, or fewer if the input ends. The result is empty only at the end,
    /// or if `max` is 0.
    ///
    /// Allocates memory for the keys that exist, not for `max` keys.
    ///
    /// # Errors
    ///
    /// [`DataError::Read`], [`DataError::Truncated`] for a raw input that ends in the middle of a
    /// key, [`DataError::LooksLikeText`] for [`Format::AssumedRaw`], [`DataError::EmptyLine`] and
    /// [`DataError::BadLine`] for a text input, and [`DataError::OutOfMemory`].
    pub fn read_chunk(&mut self, max: usize) -> Result<Vec<T>, DataError> {
        let mut keys = match self.format {
            Format::Raw | Format::AssumedRaw => self.read_expected(max)?,
            Format::Text => Vec::new(),
        };
        // More than was expected, or an input of unknown size.
        while keys.len() < max && !self.at_end()? {
            let step = STEP.min(max - keys.len());
            reserve(&mut keys, step, max)?;
            match self.format {
                Format::Raw | Format::AssumedRaw => {
                    let before = keys.len();
                    keys.resize(before + step, T::from_bits64(0));
                    self.read_raw(&mut keys, before)?;
                }
                Format::Text => self.read_text(&mut keys, step)?,
            }
        }
        Ok(keys)
    }

    /// Reads the raw keys that are expected, at most `max`, in one step.
    fn read_expected(&mut self, max: usize) -> Result<Vec<T>, DataError> {
        let left = self.expected().unwrap_or(0).saturating_sub(self.count);
        let count = usize::try_from(left).map_or(max, |left| left.min(max));
        // The operating system zeroes this memory when the threads that read first touch it.
        let mut keys =
            bytemuck::allocation::try_zeroed_vec(count).map_err(|()| out_of_memory::<T>(count))?;
        if count > 0 {
            self.read_raw(&mut keys, 0)?;
        }
        Ok(keys)
    }

    /// Reads raw keys into `keys[start..]`, and truncates `keys` if the input ends before.
    fn read_raw(&mut self, keys: &mut Vec<T>, start: usize) -> Result<(), DataError> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut keys[start..]);
        let width = T::KEY_TYPE.bytes();
        let filled = read_full(&mut self.input, bytes).map_err(DataError::Read)?;
        if self.format == Format::AssumedRaw && self.count == 0 {
            let start = &bytes[..filled.min(PROBE)];
            if looks_like_text(start, filled < bytes.len() && filled <= PROBE) {
                return Err(DataError::LooksLikeText);
            }
        }
        if !(filled as u64).is_multiple_of(width) {
            return Err(DataError::Truncated {
                bytes: self.count * width + filled as u64,
                width,
                key: T::KEY_TYPE,
            });
        }
        let read = filled / width as usize;
        keys.truncate(start + read);
        if cfg!(target_endian = "big") {
            keys[start..]
                .iter_mut()
                .for_each(|key| *key = swap_bytes(*key));
        }
        self.count += read as u64;
        Ok(())
    }

    /// Appends the next `step` keys, or fewer if the input ends.
    fn read_text(&mut self, keys: &mut Vec<T>, step: usize) -> Result<(), DataError> {
        let end = keys.len() + step;
        loop {
            let before = keys.len();
            keys.extend(self.parsed.by_ref().take(end - before));
            self.count += (keys.len() - before) as u64;
            if keys.len() == end || !self.parse_text()? {
                return Ok(());
            }
        }
    }

    /// Reads and parses the next lines. Returns false if there are none.
    fn parse_text(&mut self) -> Result<bool, DataError> {
        let rest = self.text.len();
        self.text.resize(rest + self.at_once, 0);
        let read = read_full(&mut self.input, &mut self.text[rest..]).map_err(DataError::Read)?;
        let is_last = read < self.text.len() - rest;
        self.text.truncate(rest + read);
        let line_end = *self.line_end.get_or_insert_with(|| {
            if self.text.starts_with(MARK) {
                self.text.drain(..MARK.len());
            }
            line_end(&self.text)
        });
        if self.text.is_empty() {
            return Ok(false);
        }
        let lines = match memchr::memrchr(line_end, &self.text) {
            // The last line of the input may lack its newline.
            _ if is_last => self.text.len(),
            Some(end) => end + 1,
            None => {
                let line = self.text.trim_ascii_start();
                return Err(bad_line::<T>(line, self.lines + 1, &[]));
            }
        };
        let parts = parts_of_lines(&self.text[..lines], line_end);
        let parsed: Vec<_> = (parts.par_iter())
            .map(|part| parse_lines::<T>(part, line_end))
            .collect();
        let mut keys = Vec::new();
        let mut start = 0;
        for (part, (of_part, is_good)) in parts.into_iter().zip(parsed) {
            if !is_good {
                let number = self.lines + (keys.len() + of_part.len()) as u64 + 1;
                let text = &self.text[start..];
                return Err(first_bad_line::<T>(text, line_end, of_part.len(), number));
            }
            start += part.len();
            if keys.is_empty() {
                keys = of_part;
            } else {
                keys.extend(of_part);
            }
        }
        self.lines += keys.len() as u64;
        self.parsed = keys.into_iter();
        self.text.drain(..lines);
        Ok(true)
    }
}

/// Makes room for `step` more keys. Doubles the capacity as `push` would, but at most to `max`, and
/// returns an error when memory is out instead of aborting.
fn reserve<T: SortKey>(keys: &mut Vec<T>, step: usize, max: usize) -> Result<(), DataError> {
    if keys.capacity() - keys.len() >= step {
        return Ok(());
    }
    let more = keys.len().clamp(step, max - keys.len());
    keys.try_reserve_exact(more)
        .map_err(|_| out_of_memory::<T>(keys.len() + more))
}

fn out_of_memory<T: SortKey>(count: usize) -> DataError {
    DataError::OutOfMemory {
        count: count as u64,
        key: T::KEY_TYPE,
        bytes: count as u64 * T::KEY_TYPE.bytes(),
    }
}

/// Fills `bytes`, unless the input ends. Returns the number of bytes read.
///
/// # Errors
///
/// The first error of the input, interruptions excepted.
pub fn read_full(input: &mut (impl Read + ?Sized), bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match input.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The byte that ends the lines of a text: a line feed, or a carriage return in a text without one.
fn line_end(text: &[u8]) -> u8 {
    match memchr::memchr(b'\n', text) {
        None if text.contains(&b'\r') => b'\r',
        _ => b'\n',
    }
}

/// Cuts text into parts of whole lines, one for each thread unless the text is short.
fn parts_of_lines(mut text: &[u8], line_end: u8) -> Vec<&[u8]> {
    let part = (text.len() / rayon::current_num_threads()).clamp(LEAST_TEXT, TEXT_PART);
    let mut parts = Vec::new();
    while !text.is_empty() {
        let rest = text.get(part..).unwrap_or_default();
        let end = memchr::memchr(line_end, rest).map_or(text.len(), |end| part + end + 1);
        let (lines, after) = text.split_at(end);
        parts.push(lines);
        text = after;
    }
    parts
}

/// Parses lines up to the first bad one. Returns false if there is a bad one.
fn parse_lines<T: SortKey>(text: &[u8], line_end: u8) -> (Vec<T>, bool) {
    let mut keys = Vec::with_capacity(text.len() / 8);
    let mut start = 0;
    for end in memchr::memchr_iter(line_end, text).chain(Some(text.len())) {
        if start == text.len() {
            break;
        }
        let line = text[start..end].trim_ascii();
        match text::parse(line).filter(|_| line.len() <= LONGEST_LINE) {
            Some(key) => keys.push(key),
            None => return (keys, false),
        }
        start = end + 1;
    }
    (keys, true)
}

/// The error of the line after `good` lines of `text`, which is line `number` of the input.
fn first_bad_line<T: SortKey>(text: &[u8], line_end: u8, good: usize, number: u64) -> DataError {
    let mut lines = text.splitn(good + 2, |&byte| byte == line_end).skip(good);
    let line = lines.next().unwrap_or_default();
    bad_line::<T>(line.trim_ascii(), number, lines.next().unwrap_or_default())
}

/// True if `start`, the first bytes of an input, are text: lines of UTF-8, or mostly of ASCII, or a
/// line of numbers. `is_all` is true if they are the whole input.
///
/// Random keys hardly ever pass: text has a line end and no other control byte. So 4 random bytes
/// pass once in 300 inputs, 8 once in 3,000, and 16 once in ten million.
fn looks_like_text(start: &[u8], is_all: bool) -> bool {
    let start = start.strip_prefix(MARK).unwrap_or(start);
    let is_control = |&byte: &u8| byte.is_ascii_control() && !b"\t\n\r\x0c".contains(&byte);
    if start.iter().any(is_control) || start.iter().all(u8::is_ascii_whitespace) {
        return false;
    }
    if !start.iter().any(|byte| b"\n\r".contains(byte)) {
        let allowed = |byte: &u8| byte.is_ascii_digit() || b"+-.eE \t".contains(byte);
        return is_all && start.len() >= 8 && start.iter().all(allowed);
    }
    // The last character may be cut.
    let is_utf8 = std::str::from_utf8(start).map_or_else(|e| e.error_len().is_none(), |_| true);
    let ascii = start.iter().filter(|byte| byte.is_ascii()).count();
    is_utf8 || start.len() >= 64 && ascii >= start.len() / 8 * 7
}

/// The error of a line that is not a key. `rest` is the start of the input after it, as far as it
/// is known.
fn bad_line<T: SortKey>(text: &[u8], number: u64, rest: &[u8]) -> DataError {
    if text.is_empty() {
        return DataError::EmptyLine {
            line: number,
            key: T::KEY_TYPE,
        };
    }
    DataError::BadLine {
        line: number,
        content: clipped(text),
        key: T::KEY_TYPE,
        hint: if number == 1 && text::is_header(text, rest) {
            ": is it a header? skip it with tail -n +2".to_owned()
        } else {
            text::hint(text, T::KEY_TYPE)
        },
    }
}

/// Keys whose bytes are swapped at a time.
const SWAPPED: usize = 1 << 15;

/// Bytes of text of most keys of 4 bytes, newline included. Keys of 8 bytes take up to twice as
/// many.
const TEXT_OF_KEY: usize = 12;

/// Writes keys to a stream.
///
/// Text is formatted on all cores and written in large pieces, so `output` needs no buffer of its
/// own. Call [`finish`](Self::finish) at the end.
#[derive(Debug)]
pub struct KeyWriter<T, W> {
    output: W,
    format: Format,
    /// Bytes of text that are formatted at a time.
    at_once: usize,
    key: PhantomData<T>,
}

impl<T: SortKey, W: Write> KeyWriter<T, W> {
    /// Writes keys of type `T` to `output`.
    pub fn new(output: W, format: Format) -> Self {
        Self {
            output,
            format,
            at_once: text_at_once(u64::MAX),
            key: PhantomData,
        }
    }

    /// The same writer, with about [`text_at_once`] bytes of text in memory at a time.
    #[must_use]
    pub fn with_text_at_once(mut self, limit: u64) -> Self {
        self.at_once = text_at_once(limit);
        self
    }

    /// Writes keys.
    ///
    /// # Errors
    ///
    /// [`DataError::Write`].
    pub fn write(&mut self, keys: &[T]) -> Result<(), DataError> {
        let mut write = |bytes: &[u8]| self.output.write_all(bytes).map_err(DataError::Write);
        match self.format {
            Format::Raw | Format::AssumedRaw if cfg!(target_endian = "little") => {
                write(bytemuck::cast_slice(keys))
            }
            Format::Raw | Format::AssumedRaw => keys.chunks(SWAPPED).try_for_each(|chunk| {
                let swapped: Vec<T> = chunk.iter().map(|&key| swap_bytes(key)).collect();
                write(bytemuck::cast_slice(&swapped))
            }),
            Format::Text => {
                let words = T::KEY_TYPE.words() as usize;
                let wave = self.at_once / (TEXT_OF_KEY * words);
                // Four parts for each thread, of at least a page or so.
                let part = (wave / (4 * rayon::current_num_threads())).max(256);
                keys.chunks(wave).try_for_each(|wave| {
                    let parts: Vec<_> = wave.par_chunks(part).map(text_of).collect();
                    parts
                        .into_iter()
                        .try_for_each(|part| write(&part.map_err(DataError::Write)?))
                })
            }
        }
    }

    /// Flushes, and returns the output.
    ///
    /// # Errors
    ///
    /// [`DataError::Write`].
    pub fn finish(mut self) -> Result<W, DataError> {
        self.output.flush().map_err(DataError::Write)?;
        Ok(self.output)
    }
}

fn text_of<T: SortKey>(keys: &[T]) -> io::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(TEXT_OF_KEY * keys.len());
    keys.iter()
        .try_for_each(|&key| text::write(&mut text, key))?;
    Ok(text)
}

/// Converts between the byte orders of a big-endian host and the file.
fn swap_bytes<T: SortKey>(key: T) -> T {
    T::from_bits64(key.to_bits64().swap_bytes() >> (64 - 32 * T::KEY_TYPE.words()))
}

#[cfg(test)]
mod tests {
    use super::super::{Pattern, Spec, generate};
    use super::*;

    /// A reader that returns a few bytes at a time, as a pipe may.
    struct Dribble<'a>(&'a [u8], usize);

    impl Read for Dribble<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(buffer.len()).min(self.0.len());
            buffer[..len].copy_from_slice(&self.0[..len]);
            self.0 = &self.0[len..];
            Ok(len)
        }
    }

    fn read<T: SortKey>(input: &[u8], format: Format, max: usize) -> Result<Vec<T>, DataError> {
        let mut all = Vec::new();
        for step in [1, 7, 4096] {
            let input = io::BufReader::with_capacity(16, Dribble(input, step));
            let mut reader = KeyReader::<T, _>::new(input, format);
            let mut keys = Vec::new();
            loop {
                let chunk = reader.read_chunk(max)?;
                assert!(chunk.len() <= max);
                if chunk.is_empty() {
                    break;
                }
                keys.extend(chunk);
            }
            assert_eq!(reader.count(), keys.len() as u64);
            all = keys;
        }
        Ok(all)
    }

    fn round_trip<T: SortKey + PartialEq>() {
        let keys = generate::<T>(&Spec::new(Pattern::Special, 3000)).unwrap();
        for format in Format::ALL {
            let mut writer = KeyWriter::new(Vec::new(), format);
            writer.write(&keys[..1000]).unwrap();
            writer.write(&keys[1000..]).unwrap();
            let file = writer.finish().unwrap();
            for max in [1, 1000, 1 << 40] {
                let back = read::<T>(&file, format, max).unwrap();
                assert_eq!(
                    bytemuck::cast_slice::<T, u8>(&back),
                    bytemuck::cast_slice::<T, u8>(&keys)
                );
            }
        }
    }

    #[test]
    fn both_formats_round_trip_in_chunks() {
        round_trip::<u32>();
        round_trip::<f32>();
        round_trip::<i64>();
        round_trip::<f64>();
    }

    #[test]
    fn chunks_can_be_larger_than_a_step() {
        let keys: Vec<u32> = (0..3 * STEP as u32 + 5).collect();
        let bytes = bytemuck::cast_slice(&keys);
        let mut reader = KeyReader::<u32, _>::new(bytes, Format::Raw);
        assert!(reader.read_chunk(usize::MAX).unwrap() == keys);
        let mut reader = KeyReader::<u32, _>::new(bytes, Format::Raw);
        assert_eq!(reader.read_chunk(STEP + 1).unwrap().len(), STEP + 1);
    }

    #[test]
    fn text_input_is_lenient_and_errors_name_the_line() {
        let keys = |text: &str| read::<i32>(text.as_bytes(), Format::Text, 100);
        assert!(keys("").unwrap().is_empty());
        assert_eq!(keys("1\n2\n").unwrap(), [1, 2]);
        assert_eq!(keys("1\r\n\t 2 \r\n+3").unwrap(), [1, 2, 3]);
        assert_eq!(keys("00000000000000000000000000000007").unwrap(), [7]);
        let message = |text: &str| keys(text).unwrap_err().to_string();
        assert_eq!(
            message("1\n\n2"),
            "line 2 is empty: every line must hold one i32 key"
        );
        assert_eq!(
            message("1\n2 3\n"),
            "line 2: '2 3' is not a valid i32 key: one number per line"
        );
        assert_eq!(
            message("\u{1b}[2J\n"),
            "line 1: '\\u{1b}[2J' is not a valid i32 key"
        );
        assert_eq!(
            message("1\n9999999999"),
            "line 2: '9999999999' is not a valid i32 key: i32 is -2147483648 to 2147483647"
        );
        assert!(
            message(&"7".repeat(1 << 20))
                .starts_with("line 1: '7777777777777777777777777777777777777777...'")
        );
        assert!(message(&"0".repeat(1 << 13)).contains("..."));
        assert_eq!(
            read::<u32>(b"\xff\xfe\n", Format::Text, 1)
                .unwrap_err()
                .to_string(),
            "line 1: '\\xff\\xfe' is not a valid u32 key"
        );
    }

    #[test]
    fn text_may_have_a_mark_and_carriage_returns() {
        let keys = |text: &str| read::<i32>(text.as_bytes(), Format::Text, 2);
        assert_eq!(keys("\u{feff}3\n1\n").unwrap(), [3, 1]);
        assert_eq!(keys("\u{feff}3").unwrap(), [3]);
        assert!(keys("\u{feff}").unwrap().is_empty());
        assert_eq!(keys("3\r1\r2\r").unwrap(), [3, 1, 2]);
        assert_eq!(keys("\u{feff}3\r1\r 2").unwrap(), [3, 1, 2]);
        let message = |text: &str| keys(text).unwrap_err().to_string();
        assert_eq!(message("1\rx\r"), "line 2: 'x' is not a valid i32 key");
        assert_eq!(
            message("1\r\r2"),
            "line 2 is empty: every line must hold one i32 key"
        );
        assert_eq!(
            message("1\n2\r3\n"),
            "line 2: '2\\r3' is not a valid i32 key"
        );
        assert!(message("\u{feff}n\r3\r").contains("is it a header?"));
        // Nor are they raw keys.
        for text in ["\u{feff}1\n2\n", "1\r22\r333\r"] {
            let raw = read::<u32>(text.as_bytes(), Format::AssumedRaw, 100);
            assert!(matches!(raw, Err(DataError::LooksLikeText)), "{text:?}");
        }
    }

    #[test]
    fn a_line_longer_than_what_is_read_at_once_is_not_cut() {
        let blanks = " ".repeat(2 * TEXT_PART * rayon::current_num_threads());
        for (start, end, message) in [
            ("1\n5", "6\n", "line 2: '5      "),
            ("1\n5", "\n", "line 2: '5      "),
            ("1\n", "6\n", "line 2 is empty"),
            ("5", "6", "line 1: '5      "),
        ] {
            let text = format!("{start}{blanks}{end}");
            let mut reader = KeyReader::<i32, _>::new(text.as_bytes(), Format::Text);
            let error = loop {
                match reader.read_chunk(100) {
                    Ok(keys) => assert_eq!(keys, [1]),
                    Err(error) => break error.to_string(),
                }
            };
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn a_limit_of_text_bounds_what_is_read_and_formatted_at_once() {
        /// The text, and the bytes of the longest piece of it.
        #[derive(Default)]
        struct Pieces(Vec<u8>, usize);

        impl Write for Pieces {
            fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
                self.0.extend_from_slice(piece);
                self.1 = self.1.max(piece.len());
                Ok(piece.len())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        let limit = 1 << 15;
        let keys: Vec<u64> = (0..20_000).map(|key| u64::MAX - key).collect();
        let mut writer =
            KeyWriter::new(Pieces::default(), Format::Text).with_text_at_once(limit as u64);
        writer.write(&keys).unwrap();
        let Pieces(text, longest) = writer.finish().unwrap();
        assert!(longest <= limit, "{longest}");

        let mut reader =
            KeyReader::<u64, _>::new(&text[..], Format::Text).with_text_at_once(limit as u64);
        assert_eq!(reader.read_chunk(1).unwrap(), keys[..1]);
        assert_eq!(reader.input.len(), text.len() - limit);
        assert_eq!(reader.read_chunk(keys.len()).unwrap(), keys[1..]);
    }

    #[test]
    fn a_truncated_raw_file_is_an_error_with_its_size() {
        let error = read::<u64>(&[0; 1234], Format::Raw, 7)
            .unwrap_err()
            .to_string();
        assert!(
            error
                .starts_with("the input is 1234 bytes, not a multiple of the 8 bytes of a u64 key")
        );
        assert!(read::<u32>(&[], Format::Raw, 7).unwrap().is_empty());
    }

    #[test]
    fn text_is_no_raw_input_unless_raw_is_requested() {
        let is_text = |input: &[u8], max| match read::<u32>(input, Format::AssumedRaw, max) {
            Err(DataError::LooksLikeText) => true,
            Ok(_) | Err(DataError::Truncated { .. }) => false,
            Err(error) => panic!("{error}"),
        };
        let lines = "-12.5e+3\r\n\t 7E2\n".repeat(1000);
        for text in [
            lines.as_str(),
            "5\n",
            "1\n2\n",
            "123\n",
            "12345678",
            "1 2 3 4 5",
        ] {
            assert!(is_text(text.as_bytes(), 1 << 20), "{text}");
            assert!(is_text(text.as_bytes(), 4), "{text}");
            let raw = read::<u32>(text.as_bytes(), Format::Raw, 100);
            assert!(!matches!(raw, Err(DataError::LooksLikeText)), "{text}");
        }
        let ones = "1".repeat(PROBE);
        assert!(is_text(ones.as_bytes(), 1 << 20));
        assert!(is_text(b"nan\n1\n-inf\n", 1 << 20));
        for text in [
            "1\nx\n",
            "nul\n1\n2\n",
            "name,age\nbob,3\nal,20000\n",
            "{\"a\": 1}\n..\n",
            "äöü\n",
            "hello\rworld\r",
        ] {
            assert!(is_text(text.as_bytes(), 1 << 20), "{text:?}");
        }
        assert!(is_text(&b"a caf\xe9 in Latin-1\n".repeat(4), 1 << 20));
        let words = "some words\n".repeat(PROBE);
        assert!(is_text(words.as_bytes(), 1 << 20));
        for raw in [
            &b""[..],
            b"5",
            b"1234",
            b"\n\n\n\n",
            b"12345678\n\0\0\0",
            b"RIFFWAVEfmt data",
            b"a\n\xff\xfe",
        ] {
            assert!(!is_text(raw, 1 << 20), "{raw:?}");
        }
        // Only the first bytes count, and a long input needs a newline among them.
        let (long, late) = (ones + "\n", lines[..PROBE - 1].to_owned() + "\nx");
        assert!(is_text(late.as_bytes(), 1 << 20));
        assert!(!is_text(long.as_bytes(), 1 << 20));
        let keys = generate::<u32>(&Spec::new(Pattern::Random, 1000)).unwrap();
        assert!(!is_text(bytemuck::cast_slice(&keys), 1 << 20));
    }

    #[test]
    fn names_parse_back() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        assert!("csv".parse::<Format>().is_err());
    }
}

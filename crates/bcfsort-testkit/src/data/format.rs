//! Streams of keys: reading and writing.

use super::{DataError, text};
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
    /// Reading accepts blanks around the number, CRLF line ends and a missing last newline. Floats
    /// are written with the fewest digits that read back exactly. `NaN`s keep their sign and
    /// payload (`NaN`, `-NaN`, `NaN(0x1)`).
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

/// The number of bytes of a bad line that its error shows.
const SHOWN: usize = 40;

/// The number of bytes, at the start of an input, that tell text from raw keys.
const PROBE: usize = 4096;

/// The number of keys by which a chunk grows while it is read.
const STEP: usize = 1 << 18;

/// Reads keys from a stream, chunk by chunk.
///
/// # Examples
///
/// ```
/// use bcfsort_testkit::data::{Format, KeyReader};
/// let mut reader = KeyReader::<i64, _>::new(&b"3\n-1\r\n 2"[..], Format::Text);
/// assert_eq!(reader.read_chunk(2)?, [3, -1]);
/// assert_eq!(reader.read_chunk(2)?, [2]);
/// assert!(reader.read_chunk(2)?.is_empty());
/// # Ok::<(), bcfsort_testkit::data::DataError>(())
/// ```
#[derive(Debug)]
pub struct KeyReader<T, R> {
    input: R,
    format: Format,
    count: u64,
    line: Vec<u8>,
    key: PhantomData<T>,
}

impl<T: SortKey, R: BufRead> KeyReader<T, R> {
    /// Reads keys of type `T` from `input`.
    pub fn new(input: R, format: Format) -> Self {
        Self {
            input,
            format,
            count: 0,
            line: Vec::new(),
            key: PhantomData,
        }
    }

    /// The number of keys read so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// True if the input has ended. Blocks until there is more input or the end is known.
    ///
    /// # Errors
    ///
    /// [`DataError::Read`].
    pub fn at_end(&mut self) -> Result<bool, DataError> {
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
        let mut keys = Vec::new();
        while keys.len() < max {
            let step = STEP.min(max - keys.len());
            if keys.capacity() - keys.len() < step {
                // Doubles as `push` would, but bounded by `max`, and returns an error when memory
                // is out instead of aborting.
                let more = keys.len().clamp(step, max - keys.len());
                keys.try_reserve_exact(more)
                    .map_err(|_| DataError::OutOfMemory {
                        count: (keys.len() + more) as u64,
                        key: T::KEY_TYPE,
                        bytes: (keys.len() + more) as u64 * T::KEY_TYPE.bytes(),
                    })?;
            }
            let before = keys.len();
            match self.format {
                Format::Raw | Format::AssumedRaw => self.read_raw(&mut keys, step)?,
                Format::Text => self.read_text(&mut keys, step)?,
            }
            if keys.len() < before + step {
                break;
            }
        }
        Ok(keys)
    }

    fn read_raw(&mut self, keys: &mut Vec<T>, step: usize) -> Result<(), DataError> {
        let start = keys.len();
        keys.resize(start + step, T::from_bits64(0));
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut keys[start..]);
        let width = T::KEY_TYPE.bytes();
        let mut filled = 0;
        while filled < bytes.len() {
            match self.input.read(&mut bytes[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(DataError::Read(error)),
            }
        }
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

    fn read_text(&mut self, keys: &mut Vec<T>, step: usize) -> Result<(), DataError> {
        let mut left = step;
        while left > 0 {
            // Lines that are complete in the buffer are parsed without a copy.
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(DataError::Read(error)),
            };
            if buffer.is_empty() {
                return Ok(());
            }
            let mut used = 0;
            while left > 0 {
                let rest = &buffer[used..];
                let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
                    break;
                };
                keys.push(parse_line(&rest[..end], self.count + 1, &rest[end + 1..])?);
                self.count += 1;
                used += end + 1;
                left -= 1;
            }
            self.input.consume(used);
            if used == 0 {
                // The buffer holds only the start of the line.
                self.line.clear();
                self.input
                    .by_ref()
                    .take(LONGEST_LINE as u64 + 1)
                    .read_until(b'\n', &mut self.line)
                    .map_err(DataError::Read)?;
                if self.line.last() == Some(&b'\n') {
                    self.line.pop();
                }
                keys.push(parse_line(&self.line, self.count + 1, &[])?);
                self.count += 1;
                left -= 1;
            }
        }
        Ok(())
    }
}

/// True if `start`, the first bytes of an input, are numbers as text. `is_all` is true if they are
/// the whole input.
///
/// Random keys hardly ever pass: 31 of 256 bytes are allowed, so 8 bytes pass once in 22 million
/// inputs. Fewer bytes pass only with a newline, as text has: a random `u32` key once in 200 000.
fn looks_like_text(start: &[u8], is_all: bool) -> bool {
    let allowed = |byte: &u8| {
        byte.is_ascii_digit() || b"+-.eE \t\r\n".contains(byte) || b"NnAaIiFfTtYy".contains(byte)
    };
    let has_lines = start.contains(&b'\n') || is_all && start.len() >= 8;
    has_lines && start.iter().any(u8::is_ascii_digit) && start.iter().all(allowed)
}

/// Parses the line of this number. `rest` is the start of the input after it, as far as it is
/// known.
fn parse_line<T: SortKey>(line: &[u8], number: u64, rest: &[u8]) -> Result<T, DataError> {
    let text = line.trim_ascii();
    if let Some(key) = text::parse(text).filter(|_| text.len() <= LONGEST_LINE) {
        return Ok(key);
    }
    Err(if text.is_empty() {
        DataError::EmptyLine {
            line: number,
            key: T::KEY_TYPE,
        }
    } else {
        DataError::BadLine {
            line: number,
            content: printable(text),
            key: T::KEY_TYPE,
            hint: if number == 1 && text::is_header(text, rest) {
                ": is it a header? skip it with tail -n +2".to_owned()
            } else {
                text::hint(text, T::KEY_TYPE)
            },
        }
    })
}

/// The start of a line, safe to show on a terminal.
fn printable(text: &[u8]) -> String {
    use fmt::Write as _;
    let shown = &text[..text.len().min(SHOWN)];
    let mut printable = String::new();
    for chunk in shown.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_ascii_graphic() || c == ' ' || c.is_alphanumeric() {
                printable.push(c);
            } else {
                printable.extend(c.escape_default());
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(printable, "\\x{byte:02x}");
        }
    }
    if shown.len() < text.len() {
        printable += "...";
    }
    printable
}

/// The number of bytes of text that a writer collects before it writes them.
const BUFFER: usize = 1 << 18;

/// Writes keys to a stream.
///
/// Text is collected and written in large pieces, so `output` needs no buffer of its own. Raw keys
/// are written at once. Call [`finish`](Self::finish) at the end: dropping the writer loses
/// buffered text.
#[derive(Debug)]
pub struct KeyWriter<T, W> {
    output: W,
    format: Format,
    buffer: Vec<u8>,
    key: PhantomData<T>,
}

impl<T: SortKey, W: Write> KeyWriter<T, W> {
    /// Writes keys of type `T` to `output`.
    pub fn new(output: W, format: Format) -> Self {
        Self {
            output,
            format,
            buffer: Vec::new(),
            key: PhantomData,
        }
    }

    /// Writes keys.
    ///
    /// # Errors
    ///
    /// [`DataError::Write`].
    pub fn write(&mut self, keys: &[T]) -> Result<(), DataError> {
        match self.format {
            Format::Raw | Format::AssumedRaw if cfg!(target_endian = "little") => self
                .output
                .write_all(bytemuck::cast_slice(keys))
                .map_err(DataError::Write),
            Format::Raw | Format::AssumedRaw => {
                for chunk in keys.chunks(BUFFER / size_of::<T>()) {
                    let swapped: Vec<T> = chunk.iter().map(|&key| swap_bytes(key)).collect();
                    self.output
                        .write_all(bytemuck::cast_slice(&swapped))
                        .map_err(DataError::Write)?;
                }
                Ok(())
            }
            Format::Text => {
                for &key in keys {
                    text::write(&mut self.buffer, key).map_err(DataError::Write)?;
                    if self.buffer.len() >= BUFFER {
                        self.write_buffer()?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Writes the buffered text, flushes, and returns the output.
    ///
    /// # Errors
    ///
    /// [`DataError::Write`].
    pub fn finish(mut self) -> Result<W, DataError> {
        self.write_buffer()?;
        self.output.flush().map_err(DataError::Write)?;
        Ok(self.output)
    }

    fn write_buffer(&mut self) -> Result<(), DataError> {
        self.output
            .write_all(&self.buffer)
            .map_err(DataError::Write)?;
        self.buffer.clear();
        Ok(())
    }
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
        for raw in [
            "",
            "5",
            "1234",
            "\n\n\n\n",
            "1\nx\n",
            "12345678\n\0\0\0",
            "nul\n1\n2\n",
        ] {
            assert!(!is_text(raw.as_bytes(), 1 << 20), "{raw:?}");
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

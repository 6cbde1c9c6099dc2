//! Compressed files: gzip, also of several members, and zstd, also of several frames.
//!
//! Both decoders run in bounded memory, whatever the file says: gzip needs 32 KiB, zstd the window
//! that the file asks for, which is refused above 128 MiB.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use rayon::prelude::*;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::error::Error;
use std::fmt;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;

/// Bytes of content in each gzip member or zstd frame that is written. They do not depend on the
/// number of threads, so the output does not, either.
const PART: usize = 1 << 20;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    Gzip,
    Zstd,
}

/// What an option says about compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    None,
    Some(Codec),
}

impl Compression {
    /// Parses `none`, `gzip` or `zstd`.
    pub fn parser() -> impl TypedValueParser<Value = Self> {
        PossibleValuesParser::new(["none", "gzip", "zstd"]).map(|name| match &*name {
            "gzip" => Self::Some(Codec::Gzip),
            "zstd" => Self::Some(Codec::Zstd),
            // The parser accepts only these names.
            _ => Self::None,
        })
    }

    /// The codec that an option names, or else the extension of a file.
    pub fn of(option: Option<Self>, path: &Path) -> Option<Codec> {
        match option {
            Some(Self::Some(codec)) => Some(codec),
            Some(Self::None) => None,
            None => Codec::of_name(path),
        }
    }
}

impl Codec {
    /// The codec that the extension of a file name says: `.gz` or `.zst`.
    pub fn of_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?;
        if extension.eq_ignore_ascii_case("gz") {
            Some(Self::Gzip)
        } else if extension.eq_ignore_ascii_case("zst") {
            Some(Self::Zstd)
        } else {
            None
        }
    }

    /// The codec whose files begin with these bytes. No UTF-8 text without control characters does.
    pub fn of_start(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"\x1f\x8b\x08") {
            Some(Self::Gzip)
        } else if bytes.starts_with(b"\x28\xb5\x2f\xfd")
            // Writers such as pzstd put a frame to be skipped first, with the size of the next one.
            || bytes.len() >= 4 && check_skipped(bytes).is_ok()
        {
            Some(Self::Zstd)
        } else {
            None
        }
    }

    /// The tool that unpacks files which begin with these bytes, if it is one that no codec stands
    /// for. Their bytes would pass for a text.
    pub fn unknown_of_start(bytes: &[u8]) -> Option<&'static str> {
        let is_bzip2 = bytes.starts_with(b"BZh")
            && bytes
                .get(3)
                .is_some_and(|level| (b'1'..=b'9').contains(level))
            && bytes[4..].starts_with(b"\x31\x41\x59\x26\x53\x59");
        if bytes.starts_with(b"\xfd7zXZ\0") {
            Some("xz")
        } else if is_bzip2 {
            Some("bzip2")
        } else if bytes.starts_with(b"\x04\x22\x4d\x18") {
            Some("lz4")
        } else {
            None
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    /// The content of a compressed stream. Corrupt data and a stream that ends early are errors.
    pub fn decode(self, stream: impl BufRead + Send + 'static) -> Box<dyn Read + Send> {
        Box::new(Decoded {
            codec: self,
            content: match self {
                Self::Gzip => Box::new(Members::new(stream)),
                Self::Zstd => Box::new(Frames::new(stream)),
            },
        })
    }

    /// One gzip member or zstd frame.
    fn encode(self, content: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(content)?;
                encoder.finish()
            }
            Self::Zstd => Ok(compress_to_vec(content, CompressionLevel::Fastest)),
        }
    }
}

/// A decoder whose errors say which data is wrong.
struct Decoded {
    codec: Codec,
    content: Box<dyn Read + Send>,
}

impl Read for Decoded {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.content.read(bytes).map_err(|error| {
            if error.raw_os_error().is_some() || error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            let name = self.codec.name();
            let is_followed = error
                .get_ref()
                .is_some_and(<dyn Error + Send + Sync>::is::<Followed>);
            let what = match error.kind() {
                _ if is_followed => format!("the {name} data is followed by others"),
                io::ErrorKind::UnexpectedEof => format!("the {name} data is cut short"),
                io::ErrorKind::Unsupported => {
                    format!("it is no {name} data: --decompress none reads it as it is")
                }
                _ => format!("the {name} data is corrupt or cut short ({error})"),
            };
            io::Error::new(io::ErrorKind::InvalidData, what)
        })
    }
}

/// Says that something else than zeros stands behind the last member.
#[derive(Debug)]
struct Followed;

impl fmt::Display for Followed {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("other data follow")
    }
}

impl Error for Followed {}

/// Fails if a stream does not begin as the files of a codec do.
fn check_start(codec: Codec, stream: &mut impl BufRead) -> io::Result<()> {
    let start = stream.fill_buf()?;
    if start.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let magic: &[u8] = match codec {
        Codec::Gzip => b"\x1f\x8b",
        // A frame, or one to be skipped.
        Codec::Zstd if start.first() == Some(&0x28) => b"\x28\xb5\x2f\xfd",
        Codec::Zstd => return check_skipped(start),
    };
    let length = start.len().min(magic.len());
    if start[..length] != magic[..length] {
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(())
}

/// Fails if this is not the start of a zstd frame to be skipped.
fn check_skipped(start: &[u8]) -> io::Result<()> {
    let magic = [0x2a, 0x4d, 0x18];
    let is_first = start
        .first()
        .is_some_and(|byte| (0x50..0x60).contains(byte));
    let length = start.len().saturating_sub(1).min(magic.len());
    if is_first && start[1..=length] == magic[..length] {
        return Ok(());
    }
    Err(io::ErrorKind::Unsupported.into())
}

/// The content of gzip members, one after the other. As gzip does, it accepts zeros after the last
/// one: tapes and some archives are padded.
struct Members<R> {
    /// The member that is read, or the stream between members.
    member: Option<GzDecoder<R>>,
    source: Option<R>,
    is_first: bool,
}

impl<R: BufRead> Members<R> {
    const fn new(source: R) -> Self {
        Self {
            member: None,
            source: Some(source),
            is_first: true,
        }
    }

    /// Begins the next member. Returns false at the end.
    fn next_member(&mut self) -> io::Result<bool> {
        let Some(mut source) = self.source.take() else {
            return Ok(false);
        };
        if std::mem::take(&mut self.is_first) {
            check_start(Codec::Gzip, &mut source)?;
            self.member = Some(GzDecoder::new(source));
            return Ok(true);
        }
        let mut is_padded = false;
        loop {
            let rest = source.fill_buf()?;
            let Some(&first) = rest.first() else {
                return Ok(false);
            };
            if first == 0x1f && !is_padded {
                self.member = Some(GzDecoder::new(source));
                return Ok(true);
            }
            let zeros = rest.iter().take_while(|&&byte| byte == 0).count();
            if zeros == 0 {
                return Err(io::Error::other(Followed));
            }
            is_padded = true;
            source.consume(zeros);
        }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        loop {
            let Some(member) = &mut self.member else {
                if self.next_member()? {
                    continue;
                }
                return Ok(0);
            };
            let read = member.read(bytes)?;
            if read > 0 {
                return Ok(read);
            }
            self.source = self.member.take().map(GzDecoder::into_inner);
        }
    }
}

/// The content of zstd frames, one after the other.
struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
    /// True before the first frame: a file has at least one.
    is_empty: bool,
}

impl<R: BufRead> Frames<R> {
    fn new(source: R) -> Self {
        Self {
            source,
            decoder: FrameDecoder::new(),
            in_frame: false,
            is_empty: true,
        }
    }

    /// Reads the header of the next frame with content. Returns false at the end.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            if std::mem::take(&mut self.is_empty) {
                check_start(Codec::Zstd, &mut self.source)?;
            } else if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.init(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = (&mut self.source).take(u64::from(length));
                    if io::copy(&mut skipped, &mut io::sink())? < u64::from(length) {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(innermost(&error)),
            }
        }
    }
}

/// The error that caused another one: it says what is wrong, in one line.
fn innermost(error: &FrameDecoderError) -> io::Error {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    io::Error::other(cause.to_string())
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame && !self.next_frame()? {
                return Ok(0);
            }
            self.in_frame = true;
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.decoder.decode_blocks(&mut self.source, one);
                decoded.map_err(|error| innermost(&error))?;
            }
            let read = self.decoder.read(bytes)?;
            if read > 0 {
                return Ok(read);
            }
            self.in_frame = false;
            let stored = self.decoder.get_checksum_from_data();
            if stored.is_some() && stored != self.decoder.get_calculated_checksum() {
                return Err(io::Error::other("its checksum is another one"));
            }
        }
    }
}

/// Compresses what is written, on all cores.
#[derive(Debug)]
pub(crate) struct Encoder {
    codec: Codec,
    content: Vec<u8>,
    has_parts: bool,
}

impl Encoder {
    pub(crate) fn new(codec: Codec) -> Self {
        Self {
            codec,
            content: Vec::new(),
            has_parts: false,
        }
    }

    /// Takes some of the bytes. Writes whole parts, one for each thread at a time.
    pub(crate) fn write(&mut self, bytes: &[u8], output: &mut impl Write) -> io::Result<usize> {
        let most = PART * rayon::current_num_threads();
        if self.content.len() == most {
            self.write_parts(output)?;
        }
        let taken = bytes.len().min(most - self.content.len());
        self.content.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    /// Writes what is left. An empty content is one empty part.
    pub(crate) fn finish(&mut self, output: &mut impl Write) -> io::Result<()> {
        if self.content.is_empty() && !self.has_parts {
            return output.write_all(&self.codec.encode(&[])?);
        }
        self.write_parts(output)
    }

    fn write_parts(&mut self, output: &mut impl Write) -> io::Result<()> {
        let parts = self.content.par_chunks(PART);
        let parts = parts.map(|part| self.codec.encode(part));
        for part in parts.collect::<io::Result<Vec<_>>>()? {
            output.write_all(&part)?;
            self.has_parts = true;
        }
        self.content.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    const BOTH: [Codec; 2] = [Codec::Gzip, Codec::Zstd];

    fn encoded(codec: Codec, content: &[u8]) -> Vec<u8> {
        let mut encoder = Encoder::new(codec);
        let mut output = Vec::new();
        let mut rest = content;
        while !rest.is_empty() {
            let taken = encoder.write(rest, &mut output).unwrap();
            rest = &rest[taken..];
        }
        encoder.finish(&mut output).unwrap();
        output
    }

    fn decoded(codec: Codec, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        let mut stream = codec.decode(Cursor::new(bytes.to_vec()));
        stream.read_to_end(&mut content).map(|_| content)
    }

    fn text(bytes: usize) -> Vec<u8> {
        let numbers = (0..bytes as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40);
        let text = numbers.flat_map(|number| format!("{number}\n").into_bytes());
        text.take(bytes).collect()
    }

    #[test]
    fn what_is_written_is_read_again() {
        for codec in BOTH {
            for bytes in [0, 1, 100, PART, PART + 1, 20 * PART + 7] {
                let content = text(bytes);
                let file = encoded(codec, &content);
                assert_eq!(Codec::of_start(&file), Some(codec));
                assert!(
                    decoded(codec, &file).unwrap() == content,
                    "{codec:?} {bytes}"
                );
                assert!(bytes < PART || file.len() < bytes * 3 / 4, "{}", file.len());
            }
        }
    }

    #[test]
    fn members_and_frames_follow_one_another() {
        // "a\n" and "b\n", as `gzip -n` and `zstd` write them.
        let gzip: [&[u8]; 2] = [
            b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\xe4\x02\x00\x07\xa1\xea\xdd\x02\x00\x00\x00",
            b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\xe2\x02\x00\xc4\xf2\xc7\xf6\x02\x00\x00\x00",
        ];
        assert_eq!(decoded(Codec::Gzip, &gzip.concat()).unwrap(), b"a\nb\n");
        // Zeros may follow, as on tapes; nothing else.
        let padded = [gzip[0], gzip[1], &[0; 5]].concat();
        assert_eq!(decoded(Codec::Gzip, &padded).unwrap(), b"a\nb\n");
        for more in [&b"x"[..], b"\0\0x", &[&[0], gzip[0]].concat()] {
            let error = decoded(Codec::Gzip, &[gzip[0], more].concat()).unwrap_err();
            assert_eq!(error.to_string(), "the gzip data is followed by others");
        }
        for codec in BOTH {
            for other in [&b"text"[..], b"\x28\xb5x"] {
                let error = decoded(codec, other).unwrap_err().to_string();
                assert!(
                    error.starts_with("it is no "),
                    "{codec:?} {other:?}: {error}"
                );
            }
        }
        let frame = |content| Codec::Zstd.encode(content).unwrap();
        // The one in the middle is to be skipped.
        let skipped = b"\x50\x2a\x4d\x18\x03\x00\x00\x00xyz".to_vec();
        let zstd = [frame(b"a\n"), skipped, frame(b""), frame(b"b\n")].concat();
        assert_eq!(decoded(Codec::Zstd, &zstd).unwrap(), b"a\nb\n");
        // Nothing but frames to be skipped has no content.
        for first in 0x50..0x60 {
            let skipped = [&[first], &b"\x2a\x4d\x18\x02\x00\x00\x00xy"[..]].concat();
            assert_eq!(Codec::of_start(&skipped), Some(Codec::Zstd));
            assert_eq!(decoded(Codec::Zstd, &skipped).unwrap(), b"");
            let zstd = [skipped.clone(), skipped, frame(b"a\n")].concat();
            assert_eq!(decoded(Codec::Zstd, &zstd).unwrap(), b"a\n");
        }
        // A raw block of 2 bytes, without a checksum.
        let raw = b"\x28\xb5\x2f\xfd\x20\x02\x11\x00\x00c\n";
        assert_eq!(decoded(Codec::Zstd, raw).unwrap(), b"c\n");
    }

    #[test]
    fn only_the_whole_first_bytes_tell() {
        let other: [(&[u8], &str); 3] = [
            (b"\xfd7zXZ\0", "xz"),
            (b"BZh91AY&SY", "bzip2"),
            (b"\x04\x22\x4d\x18", "lz4"),
        ];
        for (start, tool) in other {
            assert_eq!(Codec::unknown_of_start(start), Some(tool));
            let short = &start[..start.len() - 1];
            assert_eq!(Codec::unknown_of_start(short), None, "{tool}");
            assert_eq!(Codec::of_start(start), None, "{tool}");
        }
        assert_eq!(Codec::unknown_of_start(b"BZh01AY&SY"), None);
        for text in [
            &b"P*M"[..],
            b"P*M\n",
            b"O*M\x18",
            b"(",
            b"\x1f\x8b\x00",
            b"",
        ] {
            assert_eq!(Codec::of_start(text), None, "{text:?}");
        }
    }

    #[test]
    fn data_that_is_corrupt_or_cut_short_is_an_error() {
        for codec in BOTH {
            let file = encoded(codec, &text(3000));
            for end in 0..file.len() {
                let error = decoded(codec, &file[..end]).unwrap_err().to_string();
                assert!(error.contains("cut short"), "{codec:?} {end}: {error}");
            }
            let mut changed = 0;
            for at in 0..file.len() {
                let mut file = file.clone();
                file[at] ^= 0x10;
                match decoded(codec, &file) {
                    Ok(content) => changed += usize::from(content != text(3000)),
                    Err(error) => {
                        let error = error.to_string();
                        let is_right = error.contains("corrupt") || error.starts_with("it is no ");
                        assert!(
                            is_right || error.contains("cut short"),
                            "{codec:?} {at}: {error}"
                        );
                    }
                }
            }
            assert_eq!(changed, 0, "{codec:?}: a checksum tells");
            let garbage = [file, b"garbage".to_vec()].concat();
            assert!(decoded(codec, &garbage).is_err(), "{codec:?}");
        }
        // A window of 3.75 TiB.
        let bomb = b"\x28\xb5\x2f\xfd\x00\xff\x01\x00\x00";
        let error = decoded(Codec::Zstd, bomb).unwrap_err().to_string();
        assert!(error.contains("window"), "{error}");
    }

    #[test]
    fn an_option_overrides_the_extension() {
        let of = |option, name| Compression::of(option, Path::new(name));
        assert_eq!(of(None, "a.csv"), None);
        assert_eq!(of(None, "a.csv.gz"), Some(Codec::Gzip));
        assert_eq!(of(None, "A.ZST"), Some(Codec::Zstd));
        assert_eq!(of(Some(Compression::None), "a.zst"), None);
        assert_eq!(
            of(Some(Compression::Some(Codec::Zstd)), "-"),
            Some(Codec::Zstd)
        );
    }
}

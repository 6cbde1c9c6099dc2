//! Opens input files.

use bcfsort_data::read_full;
use bcfsort_term::codec::{Codec, Compression};
use bcfsort_term::fault::Fault;
use bcfsort_term::output::Output;
use bcfsort_term::stdio;
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

const BUFFER: usize = 1 << 18;

/// Bytes that a thread reads at a time.
const PART: usize = 4 << 20;

/// Bytes at the start of a file that tell how it is compressed.
const MAGIC: usize = 10;

/// The longest name of a file in a list of names, and the longest list.
const LONGEST_NAME: u64 = 1 << 16;
const LONGEST_LIST: u64 = 1 << 28;

/// The files to read, and how they and the output are compressed.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct FileArgs {
    /// Files to sort, as one; - is stdin
    #[arg(value_name = "FILE", help_heading = None::<&str>)]
    files: Vec<PathBuf>,
    /// Read the names of the files from F, each ended by a NUL byte; - is stdin
    #[arg(long, value_name = "F", hide_short_help = true)]
    files0_from: Option<PathBuf>,
    #[command(flatten)]
    decompress: Decompress,
    /// How to compress the output: gzip, zstd or none [default: by the extension .gz or .zst]
    #[arg(
        long,
        value_name = "CODEC",
        hide_short_help = true,
        hide_possible_values = true,
        value_parser = Compression::parser()
    )]
    compress: Option<Compression>,
}

/// How the files to read are compressed.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct Decompress {
    /// How the input is compressed: gzip, zstd or none
    ///
    /// By default, the extensions .gz and .zst say so, and in text and npy the first bytes. Binary
    /// data may begin with any bytes, so they do not count there.
    #[arg(
        long,
        value_name = "CODEC",
        hide_short_help = true,
        hide_possible_values = true,
        value_parser = Compression::parser()
    )]
    decompress: Option<Compression>,
}

impl Decompress {
    /// Checks that there is this one file, as [`FileArgs::inputs`] does.
    pub(crate) fn input(self, file: &Path, tells_codec: bool) -> Result<Inputs, Fault> {
        let files = FileArgs {
            files: vec![file.to_owned()],
            decompress: self,
            ..FileArgs::default()
        };
        files.inputs(tells_codec)
    }
}

impl FileArgs {
    #[cfg(test)]
    pub(crate) fn of(files: &[&Path]) -> Self {
        Self {
            files: files.iter().map(PathBuf::from).collect(),
            ..Self::default()
        }
    }

    /// Checks that there are such files. `tells_codec` is true if the first bytes of the format
    /// can tell that a file is compressed.
    pub(crate) fn inputs(&self, tells_codec: bool) -> Result<Inputs, Fault> {
        let files = match &self.files0_from {
            Some(list) => self.listed(list)?,
            None if self.files.is_empty() => vec![PathBuf::from("-")],
            None => self.files.clone(),
        };
        if files.iter().filter(|file| is_stdin(file)).nth(1).is_some() {
            return Err(Fault::Usage(
                "- is given twice, but stdin can be read only once".to_owned(),
            ));
        }
        let inputs = Inputs {
            count: files.len(),
            bytes: self.bytes(&files)?,
            files: files.into_iter(),
            decompress: self.decompress.decompress,
            tells_codec,
        };
        Ok(inputs)
    }

    /// Opens the output.
    pub(crate) fn output(&self, path: &Path) -> Result<Output, Fault> {
        Output::create_as(path, Compression::of(self.compress, path))
    }

    fn listed(&self, list: &Path) -> Result<Vec<PathBuf>, Fault> {
        if let Some(file) = self.files.first() {
            return Err(Fault::Usage(format!(
                "{}: files cannot be given beside --files0-from",
                name_of(file)
            )));
        }
        let mut input = Input::open(list)?;
        let files = names(&mut input.stream)
            .map_err(|what| Fault::Usage(format!("--files0-from {}: {what}", input.name)))?;
        if is_stdin(list) && files.iter().any(|file| is_stdin(file)) {
            return Err(Fault::Usage(
                "--files0-from -: stdin has the names of the files, so - cannot be one of them"
                    .to_owned(),
            ));
        }
        Ok(files)
    }

    /// The size of all files, if it is known.
    fn bytes(&self, files: &[PathBuf]) -> Result<Option<u64>, Fault> {
        let mut sum = Some(0);
        for file in files.iter().filter(|file| !is_stdin(file)) {
            let name = name_of(file);
            let metadata = std::fs::metadata(file);
            let metadata = metadata.map_err(|error| Fault::io(&name, "cannot read", &error))?;
            if metadata.is_dir() {
                return Err(is_directory(&name));
            }
            let size = metadata.is_file().then_some(metadata.len());
            sum = sum.zip(size).map(|(sum, size)| sum + size);
            if Compression::of(self.decompress.decompress, file).is_some() {
                sum = None;
            }
        }
        let has_stdin = files.iter().any(|file| is_stdin(file));
        Ok(sum.filter(|&sum| sum > 0 && !has_stdin))
    }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// The name of a file. Every message that has it is one line.
fn name_of(path: &Path) -> String {
    path.display().to_string().replace('\n', "\\n")
}

fn is_directory(name: &str) -> Fault {
    Fault::Usage(format!("{name} is a directory: give a file of keys"))
}

/// The names of a list, each ended by a NUL byte; the last one may lack it.
fn names(list: &mut dyn BufRead) -> Result<Vec<PathBuf>, String> {
    let mut list = list.take(LONGEST_LIST);
    let mut names = Vec::new();
    loop {
        let mut name = Vec::new();
        (&mut list)
            .take(LONGEST_NAME)
            .read_until(0, &mut name)
            .map_err(|error| format!("cannot read: {error}"))?;
        if name.is_empty() {
            break;
        }
        let is_ended = name.pop_if(|last| *last == 0).is_some();
        let number = names.len() + 1;
        if name.is_empty() {
            return Err(format!("name {number} is empty"));
        }
        if list.limit() == 0 || !is_ended && name.len() as u64 == LONGEST_NAME {
            return Err(format!(
                "name {number} is too long: a NUL byte ends each name"
            ));
        }
        if number == 1 && !is_ended && name.contains(&b'\n') {
            return Err(format!(
                "name {number} has a line end: a NUL byte ends each name, as find -print0 writes it"
            ));
        }
        names.push(path(name).ok_or_else(|| format!("name {number} is not UTF-8"))?);
    }
    if names.is_empty() {
        return Err("there is no name of a file in it".to_owned());
    }
    Ok(names)
}

#[cfg(unix)]
#[allow(clippy::unnecessary_wraps)]
fn path(name: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Some(std::ffi::OsString::from_vec(name).into())
}

#[cfg(not(unix))]
fn path(name: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(name).ok().map(PathBuf::from)
}

/// Files that are read one after the other.
pub(crate) struct Inputs {
    files: std::vec::IntoIter<PathBuf>,
    /// The number of files.
    pub(crate) count: usize,
    /// The size of all of them in bytes, if it is known.
    pub(crate) bytes: Option<u64>,
    decompress: Option<Compression>,
    tells_codec: bool,
}

impl Inputs {
    /// Opens the next file.
    pub(crate) fn next(&mut self) -> Result<Option<Input>, Fault> {
        let Some(path) = self.files.next() else {
            return Ok(None);
        };
        let codec = Compression::of(self.decompress, &path);
        let tells_codec = self.tells_codec && self.decompress.is_none();
        let input = Input::open_as(&path, codec, tells_codec)?;
        if input.is_compressed {
            self.bytes = None;
        }
        Ok(Some(input))
    }

    /// Refuses more than one file.
    pub(crate) fn only(self) -> Result<Self, Fault> {
        match self.files.as_slice() {
            [_, extra, ..] => Err(Fault::Usage(format!(
                "{}: one file at a time can be checked",
                name_of(extra)
            ))),
            _ => Ok(self),
        }
    }

    /// Opens the first file. There is one.
    pub(crate) fn first(&mut self) -> Result<Input, Fault> {
        let none = || Fault::Usage("there is no file to read".to_owned());
        self.next()?.ok_or_else(none)
    }
}

/// An open input.
///
/// Inputs are read as streams, never memory-mapped: if another program truncates a file, the result
/// is an error, not a crash.
pub(crate) struct Input {
    pub(crate) name: String,
    /// The size in bytes, if it is known.
    pub(crate) bytes: Option<u64>,
    pub(crate) stream: Box<dyn BufRead + Send>,
    is_compressed: bool,
}

impl Input {
    /// Opens the file, or stdin for `-`. The extension says how it is compressed.
    pub(crate) fn open(path: &Path) -> Result<Self, Fault> {
        Self::open_as(path, Codec::of_name(path), false)
    }

    fn open_as(path: &Path, codec: Option<Codec>, tells_codec: bool) -> Result<Self, Fault> {
        let input = Self::open_file(path)?;
        match codec {
            Some(codec) => Ok(input.decoded(codec)),
            None if tells_codec => input.decoded_if_compressed(),
            None => Ok(input),
        }
    }

    /// The content of a compressed file.
    fn decoded(self, codec: Codec) -> Self {
        let content = codec.decode(self.stream);
        Self {
            bytes: None,
            stream: Box::new(BufReader::with_capacity(BUFFER, content)),
            is_compressed: true,
            ..self
        }
    }

    fn decoded_if_compressed(mut self) -> Result<Self, Fault> {
        let mut start = vec![0; MAGIC];
        let read = read_full(&mut self.stream, &mut start)
            .map_err(|error| Fault::io(&self.name, "cannot read", &error))?;
        start.truncate(read);
        if let Some(tool) = Codec::unknown_of_start(&start) {
            return Err(Fault::Usage(format!(
                "{}: it is compressed with {tool}: unpack it first, as '{tool} -dc' does, or \
                 read it as it is with --decompress none",
                self.name
            )));
        }
        let codec = Codec::of_start(&start);
        self.stream = Box::new(Cursor::new(start).chain(self.stream));
        Ok(match codec {
            Some(codec) => self.decoded(codec),
            None => self,
        })
    }

    fn open_file(path: &Path) -> Result<Self, Fault> {
        if is_stdin(path) {
            return Ok(Self {
                name: "stdin".to_owned(),
                bytes: None,
                stream: Box::new(BufReader::with_capacity(BUFFER, stdio::stdin()?)),
                is_compressed: false,
            });
        }
        let name = name_of(path);
        let failed = |error: &io::Error| Fault::io(&name, "cannot read", error);
        let file = File::open(path).map_err(|error| failed(&error))?;
        let metadata = file.metadata().map_err(|error| failed(&error))?;
        if metadata.is_dir() {
            return Err(is_directory(&name));
        }
        // Files of /proc have contents, and a size of 0.
        let bytes = Some(metadata.len()).filter(|&bytes| metadata.is_file() && bytes > 0);
        let stream: Box<dyn BufRead + Send> = match bytes {
            Some(bytes) => {
                let file = Parallel { file, at: 0, bytes };
                Box::new(BufReader::with_capacity(BUFFER, file))
            }
            None => Box::new(BufReader::with_capacity(BUFFER, file)),
        };
        Ok(Self {
            name,
            bytes,
            stream,
            is_compressed: false,
        })
    }
}

/// A regular file, of which large parts are read on all cores. One core copies from the cache of
/// files at a fraction of the speed of memory.
struct Parallel {
    file: File,
    at: u64,
    /// The size when it was opened. An earlier end is an error.
    bytes: u64,
}

impl Read for Parallel {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let parts: Vec<(usize, io::Result<usize>)> = bytes
            .par_chunks_mut(PART)
            .enumerate()
            .map(|(i, part)| {
                let at = self.at + (i * PART) as u64;
                (part.len(), read_at(&self.file, part, at))
            })
            .collect();
        // The file ends in the first part that is not full, whatever the ones after it have: it
        // may have grown meanwhile.
        let mut read = 0;
        for (len, of_part) in parts {
            let of_part = match of_part {
                // What was read before is returned first.
                Err(_) if read > 0 => break,
                of_part => of_part?,
            };
            read += of_part;
            if of_part < len {
                break;
            }
        }
        self.at += read as u64;
        if read == 0 && !bytes.is_empty() && self.at < self.bytes {
            let cut_short = io::ErrorKind::UnexpectedEof;
            return Err(io::Error::new(cut_short, "it was cut short meanwhile"));
        }
        Ok(read)
    }
}

/// Fills `bytes` from an offset, unless the file ends.
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < bytes.len() {
        match read_some_at(file, &mut bytes[read..], at + read as u64) {
            Ok(0) => break,
            Ok(some) => read += some,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// Reads from an offset, as `read` does.
#[cfg(unix)]
pub(crate) fn read_some_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, at)
}

#[cfg(windows)]
pub(crate) fn read_some_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(list: &[u8]) -> Result<Vec<PathBuf>, String> {
        names(&mut &list[..])
    }

    #[test]
    fn a_nul_byte_ends_each_name_of_a_list() {
        let both = vec![PathBuf::from("a"), PathBuf::from("b c\n")];
        assert_eq!(listed(b"a\0b c\n\0"), Ok(both.clone()));
        assert_eq!(listed(b"a\0b c\n"), Ok(both));
        assert_eq!(listed(b"a\0\0b\0"), Err("name 2 is empty".to_owned()));
        assert_eq!(
            listed(b""),
            Err("there is no name of a file in it".to_owned())
        );
        let endless = vec![b'x'; LONGEST_NAME as usize + 1];
        assert_eq!(
            listed(&endless),
            Err("name 1 is too long: a NUL byte ends each name".to_owned())
        );
    }

    #[test]
    fn a_file_that_is_cut_short_while_it_is_read_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, vec![7; 3 * BUFFER]).expect("written");
        let mut input = Input::open(&path).expect("open");
        let mut start = vec![0; 100];
        input.stream.read_exact(&mut start).expect("read");
        let file = File::options().write(true).open(&path).expect("open");
        file.set_len(2 * BUFFER as u64).expect("shorter");
        let error = input.stream.read_to_end(&mut start).expect_err("shorter");
        assert_eq!(error.to_string(), "it was cut short meanwhile");
    }
}

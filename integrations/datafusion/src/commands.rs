//! Code that the commands `bcfsort-sql` and `bcfsort-ballista` share.

use anyhow::{Context, Result, ensure};
use clap::builder::Styles;
use clap::{Args, Parser};
use datafusion::config::{ParquetColumnOptions, TableParquetOptions};
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use datafusion::parquet::basic::Compression;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use url::Url;

pub use crate::remains::{Private, exit_without_memory};
use crate::{BcfsortOptions, Device, GpuPool, remains};

/// Escapes all characters that a terminal would obey or not show: those that control it, change the
/// direction of text, or have no width. Line feeds and tabs stay.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, ' '..='~' | '\n' | '\t') {
            escaped.push(c);
        } else {
            // After another character, `escape_debug` leaves combining characters as they are.
            escaped.extend(format!("x{c}").escape_debug().skip(1));
        }
    }
    escaped
}

/// The text in one line, [`escaped`].
///
/// Line feeds between the parts of a message become spaces. Others, as in a file's name, are
/// escaped.
#[must_use]
pub fn in_one_line(text: &str) -> String {
    let text = text.replace("\ncaused by\n", ": ");
    let mut line = String::with_capacity(text.len());
    let mut lines = text.split('\n');
    line.push_str(lines.next().unwrap_or_default());
    for next in lines {
        let is_part = line.ends_with([':', ',', '.', ';']) || next.starts_with(' ');
        line.push_str(if is_part { " " } else { "\\n" });
        line.push_str(if is_part { next.trim_start() } else { next });
    }
    escaped(&line)
}

/// The messages of the error and of its causes, without repetitions.
fn message(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain() {
        // Many errors end with what their cause says.
        let text = cause.to_string();
        if message.is_empty() {
            message = text;
        } else if !message.ends_with(&text) {
            message += &format!(": {text}");
        }
    }
    message
}

/// Prepares the process of a command: a file that exceeds the limit of `ulimit -f` becomes an
/// error, instead of the end of the process.
pub fn begin() {
    #[cfg(unix)]
    crate::remains::file_size_is_an_error();
}

/// The arguments of this process. As [`Parser::parse`], it ends the process after help and errors.
#[must_use]
pub fn arguments<P: Parser>() -> P {
    P::try_parse().unwrap_or_else(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        // With styles, clap would drop text that looks like a terminal's escape sequence.
        let plain = P::command().styles(Styles::plain());
        let error = plain.try_get_matches().err().unwrap_or(error);
        let text = error.render().ansi().to_string();
        let _ = writeln!(io::stderr(), "{}", escaped(text.trim_end()));
        std::process::exit(error.exit_code());
    })
}

/// The argument for the device to sort on.
#[derive(Args)]
pub struct DeviceArgument {
    /// Where to sort: auto, cpu, gpu, all, the number of an adapter, or a part of its name
    ///
    /// auto: the CPU or the best GPU, whichever takes less time. all: all GPUs together. The first
    /// number is 0. Instead of auto, the environment variable WGPU_BCFSORT_DEVICE is taken if it is
    /// set.
    #[arg(long, value_name = "DEVICE", alias = "adapter", default_value_t = Device::Auto)]
    device: Device,
}

impl DeviceArgument {
    /// The options with this device.
    ///
    /// # Errors
    ///
    /// If there is no such adapter.
    pub fn options(&self) -> Result<BcfsortOptions> {
        let options = BcfsortOptions {
            device: self.device.to_string(),
            ..BcfsortOptions::default()
        };
        match options.device() {
            // No adapter is named, so the time to list them is saved.
            Device::Auto | Device::Cpu => {}
            named => drop(GpuPool::of_device(&named)?),
        }
        Ok(options)
    }
}

/// Logs to stderr, these levels unless `RUST_LOG` says otherwise.
pub fn log(levels: &str) {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(levels))
        .format(|out, record| {
            let text = in_one_line(&record.args().to_string());
            writeln!(out, "[{} {}] {text}", record.level(), record.target())
        })
        .init();
}

/// The exit code of a command: `failure` after an error, which is printed.
#[must_use]
pub fn ended(done: Result<()>, failure: u8) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("error: {}", message(&error)));
            ExitCode::from(failure)
        }
    }
}

/// Prints a line to stderr. A closed stderr is no error.
pub fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{}", in_one_line(line));
}

/// Prints a text to stdout. If the pipe is closed, as by `| head`, the process ends without an
/// error.
///
/// # Errors
///
/// If stdout cannot be written.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout();
    let printed = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match printed {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        printed => printed.context("cannot write to stdout"),
    }
}

/// A file that appears whole or not at all. It is written in a private directory beside its target,
/// and renamed.
pub struct Whole {
    private: Private,
    written: PathBuf,
    target: PathBuf,
}

impl Whole {
    /// Begins a file that will replace `target`, or the file that `target` links to.
    ///
    /// # Errors
    ///
    /// If `target` exists and is not a regular file, or if its directory cannot be written.
    pub fn beside(target: &Path) -> Result<Self> {
        let target = match std::fs::canonicalize(target) {
            Ok(existing) => {
                ensure!(
                    existing.is_file(),
                    "{}: not a regular file",
                    target.display()
                );
                existing
            }
            Err(_) => target.to_owned(),
        };
        let directory = match target.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let private = Private::inside(directory)?;
        let mut written = private.path().join("rows");
        written.set_extension(target.extension().unwrap_or_default());
        // DataFusion's object store writes to this name, and renames the complete file.
        let mut staged = written.clone().into_os_string();
        staged.push("#1");
        private.expect(vec![written.clone(), staged.into()]);
        Ok(Self {
            private,
            written,
            target,
        })
    }

    /// The path to write to, where no other user can read the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.written
    }

    /// Renames the file to its target, with the permissions of the file that it replaces.
    ///
    /// # Errors
    ///
    /// If it cannot be renamed.
    pub fn finish(self) -> Result<()> {
        let cannot = || format!("cannot write {}", self.target.display());
        #[cfg(unix)]
        if let Ok(old) = std::fs::metadata(&self.target) {
            use std::os::unix::fs::PermissionsExt;
            // Without the setuid and setgid bits: the owner may differ.
            let mode = old.permissions().mode() & 0o777;
            let rights = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&self.written, rights).with_context(cannot)?;
        }
        let rename = || std::fs::rename(&self.written, &self.target);
        remains::complete(rename).with_context(cannot)?;
        drop(self.private);
        Ok(())
    }
}

/// The URL of a file or directory: in a path, DataFusion would take some characters for a pattern.
pub fn url_of(path: &Path) -> Result<Url> {
    let absolute = std::path::absolute(path)?;
    let url = if absolute.is_dir() {
        Url::from_directory_path(&absolute)
    } else {
        Url::from_file_path(&absolute)
    };
    let url = url.ok();
    url.with_context(|| format!("{}: the path cannot be written as a URL", path.display()))
}

/// Reads the footer of a Parquet file.
pub fn parquet_footer(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>> {
    File::open(path)
        .map_err(anyhow::Error::from)
        .and_then(|file| Ok(ParquetRecordBatchReaderBuilder::try_new(file)?))
        .with_context(|| format!("cannot read {}", path.display()))
}

/// Sets the compression of each column to that of an existing Parquet file.
pub fn keep_compression(file: &Path, options: &mut TableParquetOptions) -> Result<()> {
    let footer = parquet_footer(file)?;
    let Some(group) = footer.metadata().row_groups().first() else {
        return Ok(());
    };
    for column in group.columns() {
        // The file does not say the level: these are the usual ones.
        let compression = match column.compression() {
            Compression::UNCOMPRESSED => "uncompressed",
            Compression::SNAPPY => "snappy",
            Compression::GZIP(_) => "gzip(6)",
            Compression::BROTLI(_) => "brotli(1)",
            Compression::ZSTD(_) => "zstd(3)",
            Compression::LZ4 | Compression::LZ4_RAW => "lz4_raw",
            Compression::LZO => continue,
        };
        let column_options = ParquetColumnOptions {
            compression: Some(compression.to_owned()),
            dictionary_enabled: Some(column.dictionary_page_offset().is_some()),
            ..Default::default()
        };
        let path = column.column_path().string();
        options.column_specific_options.insert(path, column_options);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{escaped, in_one_line, message};

    #[test]
    fn a_message_is_one_line() {
        assert_eq!(in_one_line("no\u{1b}\n.csv"), "no\\u{1b}\\n.csv");
        assert_eq!(in_one_line("as:\n  a,\n  b.\nError"), "as: a, b. Error");
        let error = anyhow::anyhow!("x").context("y").context("a\ncaused by\ny");
        assert_eq!(in_one_line(&message(&error)), "a: y: x");
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(escaped("größe\t1\n"), "größe\t1\n");
        assert_eq!(escaped("\u{1b}[2J\u{7}"), "\\u{1b}[2J\\u{7}");
        assert_eq!(escaped("a\u{202e}b\u{2028}"), "a\\u{202e}b\\u{2028}");
    }
}

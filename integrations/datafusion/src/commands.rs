//! What this repository's commands on DataFusion share: `bcfsort-sql` and `bcfsort-ballista`.

use anyhow::{Context, Result};
use clap::Parser;
use clap::error::ContextValue;
use datafusion::config::{ParquetColumnOptions, TableParquetOptions};
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use datafusion::parquet::basic::Compression;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use url::Url;

/// The text with escapes in place of what a terminal would obey or not show: characters that control
/// it, change the direction of text, or take no room. Line feeds and tabs stay.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, ' '..='~' | '\n' | '\t') {
            escaped.push(c);
        } else {
            // Behind another one, a character that combines with it is no escape.
            escaped.extend(format!("x{c}").escape_debug().skip(1));
        }
    }
    escaped
}

/// The arguments of this process. As [`Parser::parse`], it ends the process after help and errors.
#[must_use]
pub fn arguments<P: Parser>() -> P {
    P::try_parse().unwrap_or_else(|mut error| {
        if error.use_stderr() {
            // Clap would leave out what it takes for a terminal's sequences.
            let context: Vec<_> = error.context().map(|(kind, value)| (kind, value.clone())).collect();
            for (kind, value) in context {
                if let ContextValue::String(text) = value {
                    error.insert(kind, ContextValue::String(escaped(&text)));
                }
            }
            eprint!("{}", escaped(&error.to_string()));
            std::process::exit(error.exit_code());
        }
        error.exit()
    })
}

/// Logs to stderr, these levels unless `RUST_LOG` says otherwise.
pub fn log(levels: &str) {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(levels))
        .format(|out, record| {
            let text = escaped(&record.args().to_string());
            writeln!(out, "[{} {}] {text}", record.level(), record.target())
        })
        .init();
}

/// Prints the error, if there is one.
#[must_use]
pub fn ended(done: Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", escaped(&format!("{error:#}")));
            ExitCode::FAILURE
        }
    }
}

/// A file or directory for DataFusion: of a URL, no character is a pattern.
pub fn url_of(path: &Path) -> Result<Url> {
    let absolute = std::path::absolute(path)?;
    let url = if absolute.is_dir() {
        Url::from_directory_path(&absolute)
    } else {
        Url::from_file_path(&absolute)
    };
    let url = url.ok();
    url.with_context(|| format!("{}: no URL has this name", path.display()))
}

/// Reads the footer of a Parquet file.
pub fn parquet_footer(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>> {
    File::open(path)
        .map_err(anyhow::Error::from)
        .and_then(|file| Ok(ParquetRecordBatchReaderBuilder::try_new(file)?))
        .with_context(|| format!("cannot read {}", path.display()))
}

/// Has the columns of a Parquet file compressed as those of another one.
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
    use super::escaped;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(escaped("größe\t1\n"), "größe\t1\n");
        assert_eq!(escaped("\u{1b}[2J\u{7}"), "\\u{1b}[2J\\u{7}");
        assert_eq!(escaped("a\u{202e}b\u{2028}"), "a\\u{202e}b\\u{2028}");
    }
}

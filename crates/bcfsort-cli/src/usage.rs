//! Errors of command-line usage, with tips for users of other sort commands.

use crate::ended;
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::{say, say_lines};
use bcfsort_term::stdio;
use clap::ArgMatches;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use std::error::Error;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Options of other sort commands, each with a tip.
const FOREIGN_OPTIONS: [(&str, &str); 15] = [
    ("-m", MERGE),
    ("--merge", MERGE),
    ("-R", SHUFFLE),
    ("--random-sort", SHUFFLE),
    ("--random", SHUFFLE),
    (
        "--debug",
        "'--timings' shows what sorts, and how long it takes",
    ),
    ("--parallel", THREADS),
    ("--jobs", THREADS),
    ("--batch-size", "'--memory' bounds what is merged at once"),
    (
        "--compress-program",
        "leave it out: the temporary file is not compressed",
    ),
    ("--select", "'--by' names the columns"),
    (
        "--natural",
        "natural order is '--natural-sort' of lines, and '--by COLUMN:natural' of tables",
    ),
    ("--descending", DESCENDING),
    ("--desc", DESCENDING),
    ("--reverse-order", DESCENDING),
];

const MERGE: &str = "'wgpu-bcfsort merge' merges sorted files";
const SHUFFLE: &str = "'shuf' shuffles lines";
const THREADS: &str = "all cores sort; RAYON_NUM_THREADS=N in the environment takes N";
const DESCENDING: &str = "'-r' sorts in descending order";

/// Prints help, the version or an error as clap formats it, without misleading tips. The error is
/// one of a command without styles.
pub(crate) fn exit(mut error: clap::Error) -> ExitCode {
    if !error.use_stderr() {
        if let Err(fault) = stdio::stdout() {
            return ended(Err(fault));
        }
    }
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let printed = error.print();
        if let (Err(failed), false) = (printed, error.use_stderr()) {
            return ended(Err(Fault::io("stdout", "cannot write", &failed)));
        }
    } else if error.kind() == ErrorKind::InvalidUtf8 {
        // Clap does not say which one, and names of files may be any bytes.
        say(
            "an argument is not UTF-8: only names of files, separators and quotes may be any bytes",
        );
    } else {
        improve(&mut error, std::env::args_os().skip(1));
        escape_newlines(&mut error);
        // Without what clap takes for a terminal's sequences, words would be others.
        let text = error.render().ansi().to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let text = &with_reason_on_one_line(text, &error);
        say_lines(&format!("wgpu-bcfsort: {text}"));
    }
    ExitCode::from(if error.use_stderr() { 2 } else { 0 })
}

/// Escapes the newlines of values and names that the message quotes: those of its layout alone are
/// printed as they are.
fn escape_newlines(error: &mut clap::Error) {
    let escape = |text: &str| text.replace('\n', "\\n");
    let quoted: Vec<_> = error
        .context()
        .filter_map(|(kind, value)| match value {
            ContextValue::String(text) => Some((kind, ContextValue::String(escape(text)))),
            ContextValue::Strings(texts) => {
                let texts = texts.iter().map(|text| escape(text)).collect();
                Some((kind, ContextValue::Strings(texts)))
            }
            _ => None,
        })
        .collect();
    for (kind, value) in quoted {
        error.insert(kind, value);
    }
}

/// The message, in which the reason of a parser has no newline. A reason may quote the value.
fn with_reason_on_one_line(text: &str, error: &clap::Error) -> String {
    match error.source().map(ToString::to_string) {
        Some(reason) if reason.contains('\n') => {
            text.replace(&reason, &reason.replace('\n', "\\n"))
        }
        _ => text.to_owned(),
    }
}

/// Fails if a command would write raw keys to the terminal, and not because of `-o -`.
pub(crate) fn refuse_raw_on_terminal(
    matches: &ArgMatches,
    stdout_is_terminal: bool,
) -> Result<(), Fault> {
    let writing = ["sort", "argsort", "merge", "uniq", "gen", "prefix-sums"];
    let Some((command, matches)) = matches.subcommand() else {
        return Ok(());
    };
    if !writing.contains(&command) {
        return Ok(());
    }
    let format = matches
        .get_raw("format")
        .and_then(|mut formats| formats.next());
    let is_text = ["text", "lines", "csv", "tsv"]
        .iter()
        .any(|&text| format == Some(text.as_ref()));
    let codec = matches.try_get_raw("compress").ok().flatten();
    let is_compressed = codec.is_some_and(|mut codec| codec.next().is_some_and(|it| it != "none"));
    let is_given = matches.value_source("output") == Some(ValueSource::CommandLine);
    if is_text && !is_compressed || is_given || !stdout_is_terminal {
        return Ok(());
    }
    Err(Fault::Usage(
        "raw keys would go to the terminal: -f text, -o FILE, or -o - to do it all the same"
            .to_owned(),
    ))
}

/// Replaces misleading tips.
fn improve(error: &mut clap::Error, args: impl Iterator<Item = OsString>) {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    let mut words = args.filter(|arg| !arg.as_encoded_bytes().starts_with(b"-"));
    let in_sort = words.next().is_some_and(|word| word == "sort");
    let argument = text(ContextKind::InvalidArg);
    let value = text(ContextKind::InvalidValue);
    let tip = match error.kind() {
        ErrorKind::UnknownArgument => {
            let is_option = argument.starts_with('-');
            let foreign = FOREIGN_OPTIONS
                .into_iter()
                .find(|(name, _)| *name == argument);
            // Clap mistakes an unknown option for a file name.
            if is_option && !Path::new(&argument).exists() {
                error.remove(ContextKind::Suggested);
            }
            match foreign {
                Some((_, tip)) if in_sort => {
                    error.remove(ContextKind::SuggestedArg);
                    tip.to_owned()
                }
                _ => return,
            }
        }
        ErrorKind::InvalidValue if argument.starts_with("--engine <") && value == "gpu" => {
            // Clap finds it similar to 'cpu'.
            error.remove(ContextKind::SuggestedValue);
            "'auto', the default, is the fastest engine for the input".to_owned()
        }
        ErrorKind::InvalidSubcommand => {
            let name = text(ContextKind::InvalidSubcommand);
            if !Path::new(&name).exists() {
                return;
            }
            format!("to sort a file, 'wgpu-bcfsort sort {name}'")
        }
        _ => return,
    };
    // It may name an option that only looks alike.
    error.remove(ContextKind::Usage);
    let tips = vec![StyledStr::from(tip)];
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
}

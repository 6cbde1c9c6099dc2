//! Statements from files and pipes: the first one that fails ends the run.

use anyhow::{Context, Result, bail};
use bcfsort_datafusion::commands::print;
use datafusion::prelude::SessionContext;
use datafusion_cli::command::{Command, OutputFormat};
use datafusion_cli::exec;
use datafusion_cli::print_options::PrintOptions;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Runs the statements of a file.
pub(crate) async fn run_file(
    session: &SessionContext,
    path: &Path,
    options: &mut PrintOptions,
) -> Result<()> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let done = run(session, BufReader::new(file), options).await;
    done.with_context(|| path.display().to_string())
}

/// Runs statements as they come.
pub(crate) async fn run(
    session: &SessionContext,
    mut lines: impl BufRead,
    options: &mut PrintOptions,
) -> Result<()> {
    let mut splitter = Splitter::default();
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        number += 1;
        let at = || format!("line {number}");
        let text = std::str::from_utf8(&line).with_context(at)?;
        if splitter.is_between() {
            if let Some(command) = text.trim().strip_prefix('\\') {
                if !execute(session, command, options).await.with_context(at)? {
                    return Ok(());
                }
                continue;
            }
            if number == 1 && text.starts_with("#!") {
                continue;
            }
        }
        for statement in splitter.add(text) {
            let done = exec::exec_from_commands(session, vec![statement], options).await;
            done.with_context(at)?;
        }
    }
    // The last statement needs no semicolon.
    let rest = splitter.statement;
    Ok(exec::exec_from_commands(session, vec![rest], options).await?)
}

/// Runs a command of the shell, such as `\d`. Returns false if it ends the run.
async fn execute(
    session: &SessionContext,
    command: &str,
    options: &mut PrintOptions,
) -> Result<bool> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let Ok(parsed) = words.join(" ").parse::<Command>() else {
        bail!("unknown command \\{command}: \\? lists all");
    };
    match parsed {
        Command::Quit => return Ok(false),
        Command::OutputFormat(Some(format)) => match format.parse::<OutputFormat>() {
            Ok(format) => format.execute(options)?,
            Err(()) => bail!("unknown command \\{command}: \\? lists all"),
        },
        Command::OutputFormat(None) => print(&format!("Output format is {:?}.\n", options.format))?,
        Command::Include(Some(file)) => {
            Box::pin(run_file(session, Path::new(&file), options)).await?;
        }
        other => other.execute(session, options).await?,
    }
    Ok(true)
}

/// Cuts text into statements, at semicolons outside of quotes and comments.
#[derive(Default)]
struct Splitter {
    statement: String,
    inside: Inside,
    /// The previous character, unless it belongs to a pair already.
    last: Option<char>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Statement,
    Quotes(char),
    LineComment,
    /// The number of nested comments that are open.
    BlockComment(usize),
}

impl Splitter {
    /// True if no statement has begun.
    fn is_between(&self) -> bool {
        self.inside == Inside::Statement && self.statement.trim().is_empty()
    }

    /// Adds text, and returns the statements that end in it.
    fn add(&mut self, text: &str) -> Vec<String> {
        let mut done = Vec::new();
        for character in text.chars() {
            let last = self.last.replace(character);
            // A character that belongs to a pair is not part of another one.
            let mut pair = |inside| {
                self.last = None;
                inside
            };
            let after = match (self.inside, last, character) {
                (Inside::Statement, Some('-'), '-') => pair(Inside::LineComment),
                (Inside::Statement, Some('/'), '*') => pair(Inside::BlockComment(1)),
                (Inside::Statement, _, '\'' | '"' | '`') => Inside::Quotes(character),
                (Inside::Quotes(quote), ..) if quote == character => Inside::Statement,
                (Inside::LineComment, _, '\n') => Inside::Statement,
                (Inside::BlockComment(1), Some('*'), '/') => pair(Inside::Statement),
                (Inside::BlockComment(open), Some('*'), '/') => {
                    pair(Inside::BlockComment(open - 1))
                }
                (Inside::BlockComment(open), Some('/'), '*') => {
                    pair(Inside::BlockComment(open + 1))
                }
                (inside, ..) => inside,
            };
            self.statement.push(character);
            if self.inside == Inside::Statement && character == ';' {
                done.push(std::mem::take(&mut self.statement));
            }
            self.inside = after;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_at_semicolons_outside_of_quotes_and_comments() {
        let mut splitter = Splitter::default();
        assert_eq!(
            splitter.add("SELECT ';'; SELECT 2;\n"),
            ["SELECT ';';", " SELECT 2;"]
        );
        assert!(splitter.is_between());
        assert!(splitter.add("SELECT 'it''s;\n").is_empty());
        assert!(!splitter.is_between());
        assert_eq!(
            splitter
                .add("' -- a;\n, 1 /* ; /* ; */ ; */, \";\";\n")
                .len(),
            1
        );
        assert!(splitter.add("-- nothing;\nSELECT 1").is_empty());
        assert_eq!(splitter.statement, "\n-- nothing;\nSELECT 1");
    }
}

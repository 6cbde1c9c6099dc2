//! The result of a run.

use crate::clock::Clock;
use crate::request::Request;
use serde::Serialize;
use serde_json::value::RawValue;
use wgsl_lockstep::audit::{DispatchError, Note, Severity};
use wgsl_lockstep::{Location, ShaderError};

/// The result of a run.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Answer {
    /// The JSON that the command `wgsl-audit --json` prints.
    pub report: Box<RawValue>,
    /// The notes of the command's text: failures, warnings and slow accesses, with advice.
    pub notes: Vec<ToldNote>,
}

/// A note, in the order of the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToldNote {
    /// The id of its rule, as in SARIF.
    pub rule: &'static str,
    /// `failure`, `warning` or `note`.
    pub severity: &'static str,
    /// The line, from 1; 0 if it concerns the whole shader.
    pub line: u32,
    /// The column in bytes, from 1.
    pub column: u32,
    /// The length in bytes.
    pub length: u32,
    /// A race's other access, if it is elsewhere.
    pub other: Option<Place>,
    /// The message, in one line.
    pub message: String,
    /// Evidence: lanes and addresses.
    pub detail: Option<String>,
    /// Advice.
    pub help: String,
}

/// A passage of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Place {
    /// The line, from 1.
    pub line: u32,
    /// The column in bytes, from 1.
    pub column: u32,
    /// The length in bytes.
    pub length: u32,
}

impl From<Location> for Place {
    fn from(location: Location) -> Self {
        Self {
            line: location.line,
            column: location.column,
            length: location.length,
        }
    }
}

/// The reason why there is no answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// The message, in one line.
    pub message: String,
    /// The line, from 1; 0 if the problem has no location.
    pub line: u32,
    /// The column in bytes, from 1.
    pub column: u32,
    /// The length in bytes.
    pub length: u32,
    /// The message with lines of the source, for monospaced text; may be empty.
    pub detail: String,
}

impl Problem {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }

    /// The problem of the shader in `file`.
    pub(crate) fn of_shader(file: &str, error: &ShaderError) -> Self {
        let Location {
            line,
            column,
            length,
            ..
        } = error.location().unwrap_or_default();
        let (message, detail) = match error {
            // naga does not know the name of the file.
            ShaderError::Invalid(diagnostic) => (
                diagnostic.message.clone(),
                diagnostic
                    .rendered
                    .replace("─ wgsl:", &format!("─ {file}:")),
            ),
            ShaderError::Unsupported { what, excerpt, .. } => {
                (format!("cannot run {what}"), excerpt.clone())
            }
            error => {
                let text = error.to_string();
                match text.split_once('\n') {
                    Some((first, _)) => (first.to_owned(), text),
                    None => (text, String::new()),
                }
            }
        };
        Self {
            message,
            line,
            column,
            length,
            detail,
        }
    }
}

impl From<&Note> for ToldNote {
    fn from(note: &Note) -> Self {
        Self {
            rule: note.rule.id(),
            severity: match note.severity {
                Severity::Failure => "failure",
                Severity::Warning => "warning",
                Severity::Note => "note",
            },
            line: note.location.line,
            column: note.location.column,
            length: note.location.length,
            other: note.other.map(Place::from),
            message: note.message.clone(),
            detail: note.detail.clone(),
            help: note.help.clone(),
        }
    }
}

impl Answer {
    /// Runs the entry point that the request names.
    ///
    /// # Errors
    ///
    /// A [`Problem`].
    pub fn of(request: &Request) -> Result<Self, Problem> {
        let file = &request.file;
        let mut prepared =
            request
                .dispatch()?
                .prepare(&request.wgsl)
                .map_err(|error| match error {
                    DispatchError::Shader(error) => Problem::of_shader(file, &error),
                    error => Problem::new(error.to_string()),
                })?;
        let clock = Clock::start();
        let report = prepared
            .run()
            .map_err(|error| Problem::of_shader(file, &error))?;
        let audit = prepared.audit(report).time(clock.elapsed());
        let json = prepared
            .json(&audit, env!("CARGO_PKG_VERSION"))
            .and_then(RawValue::from_string)
            .map_err(|error| Problem::new(error.to_string()))?;
        Ok(Self {
            report: json,
            notes: audit.notes().iter().flatten().map(ToldNote::from).collect(),
        })
    }
}

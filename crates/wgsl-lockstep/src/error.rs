//! The errors of preparing and running a shader.

use crate::nesting::TooDeep;
use crate::report::Location;
use naga::front::wgsl::ParseError;
use naga::valid::ValidationError;
use naga::{SourceLocation, WithSpan};
use std::error::Error;
use std::fmt;

/// The reason why a shader was not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShaderError {
    /// The text is not valid WGSL.
    #[error("{0}")]
    Invalid(Diagnostic),
    /// The compute entry point does not exist.
    #[error(
        "no compute entry point{}; the shader has: {}",
        quoted(name.as_deref()),
        if available.is_empty() { "none that computes".to_owned() } else { list(available) }
    )]
    NoEntryPoint {
        /// The requested name. Without one, a shader needs exactly one entry point.
        name: Option<String>,
        /// The shader's compute entry points.
        available: Vec<String>,
    },
    /// A value was given for an `override` that the shader does not declare.
    #[error("no override '{name}'; the shader has: {}", list(available))]
    UnknownOverride {
        /// The name or number given.
        name: String,
        /// The shader's overrides.
        available: Vec<String>,
    },
    /// An `override` without a default is used, but has no value.
    #[error("the override '{name}' has no default: a value is needed")]
    MissingOverride {
        /// Its name.
        name: String,
    },
    /// A value of an `override` does not fit, or makes the shader invalid.
    #[error("{0}")]
    Override(String),
    /// The executor cannot run this construct.
    #[error("{}: cannot run {what}{}", line_of(*location), below(excerpt))]
    Unsupported {
        /// The construct.
        what: String,
        /// Its location.
        location: Location,
        /// The line of the source with the construct underlined; empty if the location is unknown.
        excerpt: String,
    },
    /// A binding that the shader uses has no buffer.
    #[error("binding {group}.{binding} ({name}) has no buffer")]
    NoBuffer {
        /// `@group`.
        group: u32,
        /// `@binding`.
        binding: u32,
        /// The variable's name.
        name: String,
    },
    /// A buffer is too small for its type, or too large to be addressed.
    #[error(
        "the buffer of binding {group}.{binding} ({name}) has {actual} bytes, and {what} is {limit}"
    )]
    BufferSize {
        /// `@group`.
        group: u32,
        /// `@binding`.
        binding: u32,
        /// The variable's name.
        name: String,
        /// Its size in bytes.
        actual: u64,
        /// The limit that it breaks.
        what: &'static str,
        /// The limit in bytes.
        limit: u64,
    },
    /// The configuration is invalid.
    #[error("{what} is {value}, and must be {allowed}")]
    Config {
        /// The setting.
        what: &'static str,
        /// Its value.
        value: u32,
        /// The allowed values.
        allowed: &'static str,
    },
}

impl ShaderError {
    pub(crate) fn too_deep(too_deep: &TooDeep, source: &str) -> Self {
        let location = Location {
            line: too_deep.line,
            column: too_deep.column,
            length: u32::from(too_deep.line > 0),
        };
        Self::Unsupported {
            what: format!("a text in which {}", too_deep.message),
            location,
            excerpt: location.excerpt(source),
        }
    }

    /// The location in the source of text that is invalid or not supported, if it is known.
    #[must_use]
    pub fn location(&self) -> Option<Location> {
        let location = match self {
            Self::Invalid(diagnostic) => diagnostic.location,
            Self::Unsupported { location, .. } => *location,
            _ => return None,
        };
        (location.line > 0).then_some(location)
    }
}

/// naga's description of invalid WGSL.
///
/// # Examples
///
/// ```
/// use wgsl_lockstep::{Shader, ShaderError};
///
/// let wgsl = "@compute @workgroup_size(1)\nfn main() { let x = 1 }";
/// let Err(ShaderError::Invalid(diagnostic)) = Shader::new(wgsl, None, &[]) else {
///     panic!("there is no semicolon");
/// };
/// assert_eq!((diagnostic.location.line, diagnostic.location.column), (2, 23));
/// assert!(diagnostic.message.contains("expected"));
/// assert!(diagnostic.rendered.contains("let x = 1 }"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The message in one line, with its causes.
    pub message: String,
    /// Its first location; line 0 if it has none.
    pub location: Location,
    /// The message with lines of the source and notes, for terminals.
    pub rendered: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rendered)
    }
}

impl Diagnostic {
    pub(crate) fn of_text(error: &ParseError, source: &str) -> Self {
        Self {
            message: error.message().to_owned(),
            location: location(error.location(source)),
            rendered: error.emit_to_string(source),
        }
    }

    pub(crate) fn of_module(error: &WithSpan<ValidationError>, source: &str) -> Self {
        let mut message = error.as_inner().to_string();
        let mut cause = error.as_inner().source();
        while let Some(error) = cause {
            message += &format!(": {error}");
            cause = error.source();
        }
        // The spans go from the function to the expression.
        let span = error.spans().last().filter(|_| !source.is_empty());
        Self {
            message,
            location: location(span.map(|(span, _)| span.location(source))),
            rendered: error.emit_to_string(source),
        }
    }
}

fn location(found: Option<SourceLocation>) -> Location {
    found.map_or_else(Location::default, |found| Location {
        line: found.line_number,
        column: found.line_position,
        length: found.length,
    })
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

fn line_of(location: Location) -> String {
    match location.line {
        0 => "the shader".to_owned(),
        line => format!("line {line}"),
    }
}

fn quoted(name: Option<&str>) -> String {
    name.map(|name| format!(" '{name}'")).unwrap_or_default()
}

/// Puts an excerpt on separate lines.
fn below(excerpt: &str) -> String {
    match excerpt {
        "" => String::new(),
        lines => format!("\n{lines}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::shader::Shader;

    #[test]
    fn invalid_text_has_a_location() {
        let found = |wgsl: &str| {
            let error = Shader::new(wgsl, None, &[]).unwrap_err();
            let location = error.location().unwrap();
            (location.line, location.column)
        };
        // The text, the module, and a construct that cannot be run.
        assert_eq!(found("fn f() {\n  let x = ;\n}"), (2, 11));
        let module = "fn f(x: u32) -> u32 {
                if x == 0u {
                    return 1i;
                }
                return x;
            }";
        assert_eq!(found(module), (3, 28));
        let texture = "@group(0) @binding(0) var image: texture_2d<f32>;
            @compute @workgroup_size(1) fn main() { _ = textureDimensions(image); }";
        assert_eq!(found(texture), (1, 23));
        assert_eq!(Shader::new("", None, &[]).unwrap_err().location(), None);
    }

    #[test]
    fn long_chains_are_read_or_refused() {
        let main = "@compute @workgroup_size(1) fn main()";
        let sum = |terms| format!("{main} {{ var x = 1u; x = x{}; }}", " + x".repeat(terms));
        // An unoptimised parser needs some 60 MB of stack for that.
        assert!(Shader::new(&sum(9_000), None, &[]).is_ok());
        let ifs = format!(
            "{main} {{ if true {{}} {} }}",
            "else if true {}".repeat(10_000)
        );
        for text in [sum(100_000), ifs, "fn f() {}".repeat(100_000)] {
            let error = Shader::new(&text, None, &[]).unwrap_err();
            assert_eq!(
                error.location().map(|location| location.line),
                Some(1),
                "{error}"
            );
            assert_eq!(Shader::overrides(&text).unwrap_err(), error);
            assert_eq!(Shader::entry_points(&text).unwrap_err(), error);
        }
    }
}

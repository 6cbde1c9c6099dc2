//! The errors of preparing and running a shader.

use crate::report::Location;

/// The reason why a shader was not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShaderError {
    /// The text is not valid WGSL. naga's message shows the location.
    #[error("{0}")]
    Invalid(String),
    /// The compute entry point does not exist.
    #[error(
        "no compute entry point{}; the shader has: {}",
        quoted(name.as_deref()),
        list(available)
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

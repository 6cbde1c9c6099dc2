//! Why a shader was not run.

use crate::report::Location;

/// Why a shader was not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShaderError {
    /// The text is no valid WGSL; naga's message shows where.
    #[error("{0}")]
    Invalid(String),
    /// There is no such compute entry point.
    #[error(
        "no compute entry point{}; the shader has: {}",
        quoted(name.as_deref()),
        list(available)
    )]
    NoEntryPoint {
        /// The name asked for; without one, a shader needs exactly one entry point.
        name: Option<String>,
        /// The compute entry points there are.
        available: Vec<String>,
    },
    /// A value is given for an `override` that the shader does not declare.
    #[error("no override '{name}'; the shader has: {}", list(available))]
    UnknownOverride {
        /// The name or the number that was given.
        name: String,
        /// The shader's overrides.
        available: Vec<String>,
    },
    /// An `override` without a default is used, and no value is given for it.
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
        /// Where it stands.
        location: Location,
        /// The line of the source with the construct underlined; empty where it is unknown.
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
        /// Its bytes.
        actual: u64,
        /// Which limit it breaks.
        what: &'static str,
        /// The limit in bytes.
        limit: u64,
    },
    /// The configuration makes no sense.
    #[error("{what} is {value}, and must be {allowed}")]
    Config {
        /// The setting.
        what: &'static str,
        /// Its value.
        value: u32,
        /// What it may be.
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

/// An excerpt on lines of its own.
fn below(excerpt: &str) -> String {
    match excerpt {
        "" => String::new(),
        lines => format!("\n{lines}"),
    }
}

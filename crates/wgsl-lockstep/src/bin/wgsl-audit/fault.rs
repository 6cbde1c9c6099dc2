//! Failures of the command: messages and exit codes.

use std::io;
use wgsl_lockstep::ShaderError;
use wgsl_lockstep::audit::DispatchError;

/// A failure.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The audit found failures, and printed them.
    Unclean,
    /// Wrong usage, or a shader that cannot be run: a message, and lines to print below it.
    Usage(String, String),
    /// The output pipe was closed, as in `wgsl-audit a.wgsl | head`; not a failure.
    ClosedPipe,
}

impl Fault {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into(), String::new())
    }

    /// The failure of an operation on the file `name`.
    pub(crate) fn io(name: &str, what: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            Self::usage(format!("{name}: {what}: {error}"))
        }
    }

    /// A dispatch of the shader `name` that cannot be run.
    pub(crate) fn dispatch(name: &str, error: DispatchError) -> Self {
        match error {
            DispatchError::Shader(error) => Self::shader(name, error),
            error => Self::usage(error.to_string()),
        }
    }

    /// An error of the executor for the shader `name`, with the option that helps.
    pub(crate) fn shader(name: &str, error: ShaderError) -> Self {
        match error {
            ShaderError::Invalid(diagnostic) => Self::Usage(
                format!("{name} is not valid WGSL:"),
                // naga does not know the name of the file.
                diagnostic
                    .rendered
                    .replace("─ wgsl:", &format!("─ {name}:")),
            ),
            ShaderError::Unsupported {
                what,
                location,
                excerpt,
            } => {
                let location = match location.line {
                    0 => String::new(),
                    line => format!(":{line}:{}", location.column),
                };
                Self::Usage(format!("{name}{location}: cannot run {what}"), excerpt)
            }
            ShaderError::Override(rendered) => match rendered.split_once('\n') {
                Some((first, rest)) => Self::Usage(format!("{name}: {first}"), rest.to_owned()),
                None => Self::usage(format!("{name}: {rendered}")),
            },
            error => {
                let advice = match &error {
                    ShaderError::NoEntryPoint { available, .. } if !available.is_empty() => {
                        ": name one of them by --entry".to_owned()
                    }
                    ShaderError::BufferSize { .. } => ": give another --buffer".to_owned(),
                    ShaderError::MissingOverride { name } => {
                        format!(": give it by --override {name}=VALUE")
                    }
                    _ => String::new(),
                };
                Self::usage(format!("{name}: {error}{advice}"))
            }
        }
    }

    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::ClosedPipe => 0,
            Self::Unclean => 1,
            Self::Usage(..) => 2,
        }
    }
}

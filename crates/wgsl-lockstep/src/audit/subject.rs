//! A kernel, and what it did.

use crate::program::WorkgroupVariable;
use crate::report::Report;
use crate::shader::Shader;

/// A kernel and its report.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Subject {
    /// The name of its source file, which begins each message.
    pub file: String,
    /// The kernel's name in tables.
    pub kernel: String,
    /// The step of a larger computation that ran it, which gets a column of its own.
    pub phase: Option<String>,
    /// Its WGSL text.
    pub source: String,
    /// Whether bank conflicts are expected of it, and none of them is a failure.
    pub may_conflict: bool,
    /// Its variables in workgroup memory. More than WebGPU's default limit gives a note.
    pub workgroup_variables: Vec<WorkgroupVariable>,
    /// Storage buffers that nobody chose the contents of. Accesses out of bounds name them.
    pub default_buffers: Vec<DefaultBuffer>,
    /// What it did.
    pub report: Report,
}

/// A storage buffer with made-up contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultBuffer {
    /// `@group`.
    pub group: u32,
    /// `@binding`.
    pub binding: u32,
    /// The variable's name.
    pub name: String,
}

impl Subject {
    /// A kernel by its name in tables, with its WGSL text in the file `file`, and what it did.
    #[must_use]
    pub fn of_kernel(file: &str, kernel: &str, source: &str, report: Report) -> Self {
        Self {
            file: file.to_owned(),
            kernel: kernel.to_owned(),
            phase: None,
            source: source.to_owned(),
            may_conflict: false,
            workgroup_variables: Vec::new(),
            default_buffers: Vec::new(),
            report,
        }
    }

    /// An entry point of the file `file`, and what it did.
    #[must_use]
    pub fn new(file: &str, shader: &Shader, report: Report) -> Self {
        Self {
            workgroup_variables: shader.workgroup_variables().to_vec(),
            ..Self::of_kernel(file, shader.entry(), shader.source(), report)
        }
    }
}

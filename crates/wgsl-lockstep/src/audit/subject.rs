//! An audited kernel.

use crate::program::WorkgroupVariable;
use crate::report::{Report, Space};
use crate::shader::Shader;

/// A kernel and its report.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Subject {
    /// The name of its source file, the prefix of each message.
    pub file: String,
    /// The kernel's name in tables.
    pub kernel: String,
    /// The step of a larger computation that ran it. Tables have a column for it.
    pub phase: Option<String>,
    /// Its WGSL text.
    pub source: String,
    /// True if bank conflicts are expected, and never failures.
    pub may_conflict: bool,
    /// Its variables in workgroup memory. A note is made if they exceed WebGPU's default limit.
    pub workgroup_variables: Vec<WorkgroupVariable>,
    /// True if accesses that were never executed are warnings, and failures if a limit is set and
    /// no access to workgroup memory was executed. True for one entry point, since each access
    /// should be audited. False for a kernel of a larger program, whose runs need not reach all.
    pub warn_unreached: bool,
    /// Buffers with default contents. Notes on accesses out of bounds name those in storage, and
    /// notes on unreached accesses name all.
    pub default_buffers: Vec<DefaultBuffer>,
    /// Its report.
    pub report: Report,
}

/// A buffer with default contents: zeros in a uniform, random words in storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultBuffer {
    /// `@group`.
    pub group: u32,
    /// `@binding`.
    pub binding: u32,
    /// The variable's name.
    pub name: String,
    /// Storage or uniform.
    pub space: Space,
}

impl Subject {
    /// Makes a subject from a kernel's report. `file` is the name of its source file, and `kernel`
    /// its name in tables.
    #[must_use]
    pub fn of_kernel(file: &str, kernel: &str, source: &str, report: Report) -> Self {
        Self {
            file: file.to_owned(),
            kernel: kernel.to_owned(),
            phase: None,
            source: source.to_owned(),
            may_conflict: false,
            workgroup_variables: Vec::new(),
            warn_unreached: false,
            default_buffers: Vec::new(),
            report,
        }
    }

    /// Makes a subject from the report of an entry point in `file`, with [`Self::warn_unreached`].
    #[must_use]
    pub fn new(file: &str, shader: &Shader, report: Report) -> Self {
        Self {
            workgroup_variables: shader.workgroup_variables().to_vec(),
            warn_unreached: true,
            ..Self::of_kernel(file, shader.entry(), shader.source(), report)
        }
    }
}

//! A dispatch of an entry point, as the command runs it.

use super::buffers::{self, BufferContents, MadeBuffer};
use super::memory::MOST_MEMORY;
use super::outcome::Audit;
use super::subject::Subject;
use crate::config::Config;
use crate::error::ShaderError;
use crate::report::Report;
use crate::shader::{Buffers, Shader};
use serde::Serialize;

/// A dispatch of an entry point on buffers with given contents: the input of the command
/// `wgsl-audit`.
///
/// # Examples
///
/// ```
/// use wgsl_lockstep::audit::Dispatch;
///
/// let wgsl = "@group(0) @binding(0) var<storage, read_write> data: array<u32>;
///     var<workgroup> tile: array<u32, 64>;
///     @compute @workgroup_size(32)
///     fn main(@builtin(local_invocation_index) lane: u32) {
///         tile[2u * lane] = data[lane];
///     }";
/// let mut dispatch = Dispatch::new("stride.wgsl");
/// dispatch.buffers.push("data=iota:32".parse()?);
/// dispatch.max_degree = Some(1);
/// let mut prepared = dispatch.prepare(wgsl)?;
/// let report = prepared.run()?;
/// let audit = prepared.audit(report);
/// assert!(audit.failures()[0].starts_with("stride.wgsl:5:9: conflict: degree 2"));
/// assert!(prepared.json(&audit, "1.0.0")?.contains("\"contents\": \"iota:32\""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Dispatch {
    /// The name of the shader's file, the prefix of each message.
    pub file: String,
    /// The entry point. It may be `None` if there is only one.
    pub entry: Option<String>,
    /// Values of `override` declarations.
    pub overrides: Vec<(String, f64)>,
    /// Workgroups in x, y and z.
    pub workgroups: [u32; 3],
    /// Contents of buffers. Those that are left out have default contents.
    pub buffers: Vec<BufferContents>,
    /// The seed of random contents.
    pub seed: u64,
    /// The hardware, and the limits of the run.
    pub config: Config,
    /// The limit of [`Audit::max_degree`].
    pub max_degree: Option<u32>,
    /// The maximum memory of all buffers in bytes, as for
    /// [`check_memory`](super::check_memory).
    pub most_memory: u64,
}

/// The reason why a dispatch was not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// The shader is invalid, or cannot be run.
    #[error(transparent)]
    Shader(#[from] ShaderError),
    /// The buffers or the number of workgroups do not fit. The message names options of the
    /// command.
    #[error("{0}")]
    Input(String),
}

impl Dispatch {
    /// One workgroup, default buffers, and the command's other defaults.
    #[must_use]
    pub fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            entry: None,
            overrides: Vec::new(),
            workgroups: [1; 3],
            buffers: Vec::new(),
            seed: 1,
            config: Config::default(),
            max_degree: None,
            most_memory: MOST_MEMORY,
        }
    }

    /// Prepares the entry point of a WGSL text, and makes its buffers.
    ///
    /// # Errors
    ///
    /// [`DispatchError`].
    pub fn prepare(self, wgsl: &str) -> Result<Prepared, DispatchError> {
        let shader = Shader::new(wgsl, self.entry.as_deref(), &self.overrides)?;
        let counts = self.workgroups.into_iter().chain(shader.workgroup_size());
        // The executor numbers lanes with 32 bits.
        if counts.map(u128::from).product::<u128>() > u128::from(u32::MAX) {
            return Err(DispatchError::Input(
                "that many workgroups have more than 2^32 lanes: take fewer --workgroups"
                    .to_owned(),
            ));
        }
        let (contents, made) = buffers::make(
            &self.file,
            shader.resources(),
            &self.buffers,
            self.seed,
            self.most_memory,
        )
        .map_err(DispatchError::Input)?;
        Ok(Prepared {
            dispatch: self,
            shader,
            contents,
            made,
        })
    }
}

/// A dispatch that is ready to run.
#[derive(Debug)]
pub struct Prepared {
    dispatch: Dispatch,
    shader: Shader,
    contents: Buffers,
    made: Vec<MadeBuffer>,
}

/// The JSON beside the audit.
#[derive(Serialize)]
struct Beside<'a> {
    entry: &'a str,
    workgroup_size: [u32; 3],
    workgroup_bytes: u32,
    dispatched: [u32; 3],
    buffers: &'a [MadeBuffer],
}

impl Prepared {
    /// The shader.
    #[must_use]
    pub const fn shader(&self) -> &Shader {
        &self.shader
    }

    /// The buffers, in order of declaration.
    #[must_use]
    pub fn buffers(&self) -> &[MadeBuffer] {
        &self.made
    }

    /// Runs the dispatch. A second run continues with the results of the first.
    ///
    /// # Errors
    ///
    /// The errors of [`Shader::run`].
    pub fn run(&mut self) -> Result<Report, ShaderError> {
        let Dispatch {
            workgroups, config, ..
        } = &self.dispatch;
        self.shader.run(&mut self.contents, *workgroups, config)
    }

    /// Makes an audit of the report of [`Self::run`].
    #[must_use]
    pub fn audit(&self, report: Report) -> Audit {
        let mut subject = Subject::new(&self.dispatch.file, &self.shader, report);
        subject.default_buffers = buffers::defaults(&self.made);
        Audit::new(vec![subject], self.dispatch.config).max_degree(self.dispatch.max_degree)
    }

    /// The JSON of the command: that of [`Audit::json`], with the dispatch.
    ///
    /// # Errors
    ///
    /// Those of [`Audit::json`].
    pub fn json(&self, audit: &Audit, version: &str) -> Result<String, serde_json::Error> {
        let beside = Beside {
            entry: self.shader.entry(),
            workgroup_size: self.shader.workgroup_size(),
            workgroup_bytes: self.shader.workgroup_bytes(),
            dispatched: self.dispatch.workgroups,
            buffers: &self.made,
        };
        audit.json(version, &beside)
    }
}

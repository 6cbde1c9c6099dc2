//! What a [`Report`](crate::Report) means: failures, warnings and notes with advice, as text, tables, JSON, SARIF
//! and a picture.
//!
//! The command `wgsl-audit` prints nothing else. An [`Audit`] holds one [`Subject`] for each kernel;
//! build it from the reports of your own dispatches to get the same output for a whole program.
//! Advice in notes names options of that command, such as `--buffer` and `--max-degree`.
//!
//! # Examples
//!
//! ```
//! use wgsl_lockstep::audit::{Audit, Rule, Subject};
//! use wgsl_lockstep::{Buffers, Config, Shader};
//!
//! let shader = Shader::new(
//!     "@group(0) @binding(0) var<storage, read_write> data: array<u32>;
//!      var<workgroup> tile: array<u32, 64>;
//!      @compute @workgroup_size(64)
//!      fn main(@builtin(local_invocation_index) lane: u32) {
//!          tile[lane] = data[lane];
//!          data[lane] = tile[63u - lane];
//!      }",
//!     None,
//!     &[],
//! )?;
//! let mut buffers = Buffers::from([((0, 0), vec![0; 64])]);
//! let config = Config::default();
//! let report = shader.run(&mut buffers, [1, 1, 1], &config)?;
//! let audit = Audit::new(vec![Subject::new("reverse.wgsl", &shader, report)], config);
//! assert_eq!(audit.notes()[0][0].rule, Rule::Race);
//! assert_eq!(audit.failures().len(), 1);
//! # Ok::<(), wgsl_lockstep::ShaderError>(())
//! ```

mod figures;
mod heatmap;
mod json;
mod notes;
mod rules;
mod sarif;
mod subject;
mod table;
mod text;

pub use figures::Figures;
pub use notes::{Note, Severity};
pub use rules::Rule;
pub use subject::{DefaultBuffer, Subject};
pub use table::{plural, ratio, share, short};

use crate::config::Config;
use serde::Serialize;
use std::time::Duration;

/// The reports of one or more kernels, and what there is to say of them.
#[derive(Debug)]
pub struct Audit {
    subjects: Vec<Subject>,
    notes: Vec<Vec<Note>>,
    config: Config,
    max_degree: Option<u32>,
    time: Duration,
    wrong_result: Option<String>,
}

impl Audit {
    /// An audit of kernels that were run with `config`.
    #[must_use]
    pub fn new(subjects: Vec<Subject>, config: Config) -> Self {
        let mut audit = Self {
            subjects,
            notes: Vec::new(),
            config,
            max_degree: None,
            time: Duration::ZERO,
            wrong_result: None,
        };
        audit.note();
        audit
    }

    /// Makes bank conflicts of a greater degree than this failures; without it they are notes.
    #[must_use]
    pub fn max_degree(mut self, max_degree: Option<u32>) -> Self {
        self.max_degree = max_degree;
        self.note();
        self
    }

    /// Sets the time that the runs took, which text and JSON report.
    #[must_use]
    pub const fn time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Adds a failure that no kernel shows by itself, such as a wrong result, in one line.
    #[must_use]
    pub fn wrong_result(mut self, message: Option<String>) -> Self {
        self.wrong_result = message;
        self
    }

    fn note(&mut self) {
        let notes = self.subjects.iter().map(|subject| {
            let limit = self.max_degree.filter(|_| !subject.may_conflict);
            notes::of(subject, limit)
        });
        self.notes = notes.collect();
    }

    /// The kernels.
    #[must_use]
    pub fn subjects(&self) -> &[Subject] {
        &self.subjects
    }

    /// The failures, warnings and notes of each kernel, in order of its source.
    #[must_use]
    pub fn notes(&self) -> &[Vec<Note>] {
        &self.notes
    }

    /// One line for each failure; none if the audit is clean.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let noted = self.subjects.iter().zip(&self.notes);
        let headlines = noted.flat_map(|(subject, notes)| {
            let failed = notes.iter().filter(|n| n.severity == Severity::Failure);
            failed.map(|note| note.headline(&subject.file))
        });
        self.wrong_result.iter().cloned().chain(headlines).collect()
    }

    /// Operations on lanes of all kernels together.
    #[must_use]
    pub fn lane_instructions(&self) -> u64 {
        let of = self.subjects.iter().map(|s| s.report.lane_instructions);
        of.sum()
    }

    /// The report for people: `header`, a row of figures for each kernel, notes, and the verdict.
    ///
    /// With `lines` it lists every line that accesses memory, and tells notes in full; without,
    /// only failures and warnings.
    #[must_use]
    pub fn text(&self, header: &str, lines: bool) -> String {
        text::report(self, header, lines)
    }

    /// The figures of each kernel as a Markdown table.
    #[must_use]
    pub fn markdown(&self) -> String {
        figures::markdown(&self.subjects)
    }

    /// The degree of each access in each bank as a picture in SVG, a panel for each kernel.
    #[must_use]
    pub fn heatmap(&self) -> String {
        heatmap::draw(&self.subjects, self.config.banks as usize)
    }

    /// All counts, sites and findings as JSON. `version` is the version of the program that writes
    /// it, and the fields of `more` go into the object beside those of the audit.
    ///
    /// # Errors
    ///
    /// An error if `more` cannot be serialized as an object.
    pub fn json(&self, version: &str, more: &impl Serialize) -> Result<String, serde_json::Error> {
        json::document(self, version, more)
    }

    /// Failures, warnings and notes as SARIF 2.1.0, the format of code-scanning services.
    #[must_use]
    pub fn sarif(&self) -> String {
        sarif::log(self)
    }
}

/// The most memory that [`check_memory`] allows a run.
pub const MOST_MEMORY: u64 = 4 << 30;

/// Checks that a run may have `needed` bytes: the sum of
/// [`Resource::memory_a_word`](crate::Resource::memory_a_word) over all words of buffers.
///
/// # Errors
///
/// A message if that is more than [`MOST_MEMORY`] or than the system gives now.
pub fn check_memory(needed: u64) -> Result<(), String> {
    // Tried out, since a failed allocation in the executor would end the process.
    let room = || {
        let mut room: Vec<u8> = Vec::new();
        room.try_reserve_exact(usize::try_from(needed).ok()?).ok()
    };
    if needed > MOST_MEMORY || room().is_none() {
        return Err(format!(
            "the buffers and the records of who touched their words need {} MiB; at most {} MiB \
             are allowed",
            needed >> 20,
            MOST_MEMORY >> 20
        ));
    }
    Ok(())
}

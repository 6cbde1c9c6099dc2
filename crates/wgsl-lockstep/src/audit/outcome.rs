//! The reports of several kernels, with notes.

use super::notes::{self, Note};
use super::rules::Severity;
use super::subject::Subject;
use crate::config::Config;
use std::time::Duration;

/// The reports of one or more kernels, with notes.
#[derive(Debug)]
pub struct Audit {
    pub(super) subjects: Vec<Subject>,
    pub(super) notes: Vec<Vec<Note>>,
    pub(super) config: Config,
    pub(super) max_degree: Option<u32>,
    pub(super) time: Duration,
    pub(super) wrong_result: Option<String>,
}

impl Audit {
    /// Makes an audit of kernels that were run with `config`.
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

    /// Bank conflicts of a larger degree become failures. Without a limit they are notes.
    ///
    /// If no access to workgroup memory was executed, there is nothing to limit: that is a failure,
    /// too, for subjects with [`Subject::warn_unreached`].
    #[must_use]
    pub fn max_degree(mut self, max_degree: Option<u32>) -> Self {
        self.max_degree = max_degree;
        self.note();
        self
    }

    /// Sets the time of the runs, for text and JSON.
    #[must_use]
    pub const fn time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Adds a failure outside the kernels, such as a wrong result, as one line.
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

    /// One line for each failure; empty if the audit is clean.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let noted = self.subjects.iter().zip(&self.notes);
        let headlines = noted.flat_map(|(subject, notes)| {
            let failed = notes.iter().filter(|n| n.severity == Severity::Failure);
            failed.map(|note| note.headline(&subject.file))
        });
        self.wrong_result.iter().cloned().chain(headlines).collect()
    }

    /// The lane-instructions of all kernels.
    #[must_use]
    pub fn lane_instructions(&self) -> u64 {
        let of = self.subjects.iter().map(|s| s.report.lane_instructions);
        of.sum()
    }
}

//! First merge phase: page-wise binary merges of pairs of runs (paper, section 3.2).

use super::Job;
use crate::kernel::Kernel;
use crate::plan::page_merges;
use crate::recording::{Buffer, Phase, Recording, Step};

/// One round: pairs of runs of `run` keys of `from` are merged into the other buffer.
pub(super) fn record(job: &Job<'_>, recording: &mut Recording, round: u32, run: u32, from: Buffer) {
    let len = job.plan.len;
    let first_run = run.min(len);
    let pairs = Pairs {
        phase: Phase::Merge,
        round,
        count: len.div_ceil(run).div_ceil(2),
        keys: len,
        // No pair is longer than the first.
        most_steps: page_merges(first_run, run.min(len - first_run)).max(1),
        shape: vec![
            ("len", len),
            ("run", run),
            ("substreams", 0),
            ("span", 0),
            ("pairs", 0),
            ("bucket_step", 0),
        ],
        separators: None,
    };
    pairs.record(job, recording, from);
}

/// Pairs of runs to be merged in one round, of either merge phase.
pub(super) struct Pairs {
    pub phase: Phase,
    pub round: u32,
    pub count: u32,
    /// Keys of all pairs, about.
    pub keys: u32,
    /// The most steps that any pair can take.
    pub most_steps: u32,
    /// The kernel's parameters that say where the runs are.
    pub shape: Vec<(&'static str, u32)>,
    /// The table of separators, in the final merge phase.
    pub separators: Option<Buffer>,
}

impl Pairs {
    /// Cuts the round into dispatches of at most `keys_per_dispatch` keys, and long pairs into
    /// dispatches of at most `steps_per_dispatch` page merges that take each other up.
    pub(super) fn record(&self, job: &Job<'_>, recording: &mut Recording, from: Buffer) {
        let limits = job.limits;
        let pair_keys = self.keys.div_ceil(self.count).max(1);
        let pairs_per_dispatch = (limits.keys_per_dispatch / pair_keys).max(1);
        let steps = limits.steps_per_dispatch().min(self.most_steps);
        let resumed = self.most_steps > steps;
        let progress_bytes = if resumed {
            u64::from(self.count) * 8
        } else {
            8
        };
        let progress = recording.reserve(Buffer::Progress, progress_bytes);
        // Bound even where it is not read: a kernel's bindings are always all there.
        let separators = self
            .separators
            .unwrap_or_else(|| recording.reserve(Buffer::Separators(job.level), 4));
        for first in (0..self.count).step_by(pairs_per_dispatch as usize) {
            let end = self.count.min(first.saturating_add(pairs_per_dispatch));
            for done in (0..self.most_steps).step_by(steps as usize) {
                let mut parameters = vec![
                    ("first", first),
                    ("end", end),
                    ("done", done),
                    ("steps", steps),
                ];
                parameters.extend(&self.shape);
                recording.steps.push(Step {
                    phase: job.phase(self.phase),
                    round: self.round,
                    kernel: Kernel::PageMerge,
                    workgroups: job.grid(end - first),
                    bindings: vec![
                        ("source", from),
                        ("destination", job.opposite(from)),
                        ("separators", separators),
                        ("progress", progress),
                    ],
                    parameters,
                    keys: u64::from(end - first) * u64::from(pair_keys),
                });
            }
        }
    }
}

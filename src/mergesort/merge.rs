//! First merge phase: page-wise binary merges of pairs of runs (paper, section 3.2).

use super::kernels::{self, PairsParams};
use super::plan::page_merges;
use super::record::Recorder;
use crate::recording::{Buffer, Phase, Recording, Step};

/// One round: merges pairs of runs of `run` keys from `from` into the other buffer.
pub(super) fn record(
    job: &Recorder<'_>,
    recording: &mut Recording,
    round: u32,
    run: u32,
    from: Buffer,
) {
    let len = job.plan.len;
    let first_run = run.min(len);
    // No pair is longer than the first one.
    let page = job.engine.page();
    let steps = page_merges(first_run, run.min(len - first_run), page).max(1);
    let pairs = Pairs {
        phase: Phase::Merge,
        round,
        count: len.div_ceil(run).div_ceil(2),
        keys: len,
        likely_steps: steps,
        most_steps: steps,
        shape: PairsParams {
            len,
            run,
            ..PairsParams::default()
        },
        separators: None,
    };
    pairs.record(job, recording, from);
}

/// The pairs of runs to be merged in one round of either merge phase.
pub(super) struct Pairs {
    pub phase: Phase,
    pub round: u32,
    pub count: u32,
    /// Keys of all pairs, approximately.
    pub keys: u32,
    /// The largest number of steps per pair with distinct keys, and with any keys.
    pub likely_steps: u32,
    pub most_steps: u32,
    /// Parameters that locate the runs. The other parameters differ between dispatches.
    pub shape: PairsParams,
    /// The table of separators, in the final merge phase.
    pub separators: Option<Buffer>,
}

impl Pairs {
    /// Cuts the round into dispatches of about `keys_per_dispatch` keys at most.
    ///
    /// Many short pairs are divided into groups of pairs. Few long pairs are not, since smaller
    /// groups would leave the device idle: each dispatch advances all of them by some steps.
    pub(super) fn record(&self, job: &Recorder<'_>, recording: &mut Recording, from: Buffer) {
        let limits = job.limits;
        let page = job.engine.page();
        let pair_keys = self.keys.div_ceil(self.count).max(1);
        let of_this_length = limits.merged_keys_per_dispatch() / pair_keys;
        let pairs = of_this_length.max(limits.fewest_pairs()).min(self.count);
        let steps = if pairs > of_this_length {
            (limits.merged_keys_per_dispatch() / page / pairs).max(1)
        } else {
            limits.steps_per_dispatch(page)
        };
        let slices = self.slices(steps, limits.steps_per_dispatch(page));
        // For every pair, even if one dispatch is likely enough: if the user overwrites keys in the
        // middle of a sort, a kernel must not access memory out of bounds.
        let progress = recording.reserve(Buffer::Progress, u64::from(self.count) * 8);
        // Bound even if it is not read: a kernel always needs all its bindings.
        let separators = self
            .separators
            .unwrap_or_else(|| recording.reserve(Buffer::Separators(job.level), 4));
        let kernel = kernels::merge(job.engine, recording.key);
        for first in (0..self.count).step_by(pairs as usize) {
            let end = self.count.min(first + pairs);
            for &(done, steps) in &slices {
                let parameters = PairsParams {
                    first,
                    end,
                    done,
                    steps,
                    ..self.shape
                };
                let keys = u64::from(pair_keys).min(u64::from(steps) * u64::from(page));
                recording.steps.push(Step {
                    phase: job.phase(self.phase),
                    round: self.round,
                    kernel: kernel.clone(),
                    workgroups: job.grid(end - first),
                    bindings: vec![
                        ("source", from),
                        ("destination", job.opposite(from)),
                        ("separators", separators),
                        ("progress", progress),
                    ],
                    parameters: parameters.into(),
                    keys: u64::from(end - first) * keys,
                });
            }
        }
    }

    /// For each dispatch, the steps done before and the steps to do. Few pairs continue beyond the
    /// likely end, so their dispatches may have more steps.
    fn slices(&self, steps: u32, most: u32) -> Vec<(u32, u32)> {
        let mut slices = Vec::new();
        let mut done = 0;
        while done < self.most_steps {
            let stride = if done < self.likely_steps {
                steps
            } else {
                most
            };
            let stride = stride.min(most).min(self.most_steps - done);
            slices.push((done, stride));
            done += stride;
        }
        slices
    }
}

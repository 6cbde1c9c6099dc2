//! First merge phase: page-wise binary merges of pairs of runs (paper, section 3.2).

use super::{Job, merge_kernel};
use crate::kernel::PairsParams;
use crate::plan::page_merges;
use crate::recording::{Buffer, Phase, Recording, Step};

/// One round: pairs of runs of `run` keys of `from` are merged into the other buffer.
pub(super) fn record(job: &Job<'_>, recording: &mut Recording, round: u32, run: u32, from: Buffer) {
    let len = job.plan.len;
    let first_run = run.min(len);
    // No pair is longer than the first.
    let page = job.options.engine.page();
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

/// Pairs of runs to be merged in one round, of either merge phase.
pub(super) struct Pairs {
    pub phase: Phase,
    pub round: u32,
    pub count: u32,
    /// Keys of all pairs, about.
    pub keys: u32,
    /// The most steps that pairs take where keys are distinct, and the most that any pair can take.
    pub likely_steps: u32,
    pub most_steps: u32,
    /// Parameters that say where the runs are; the others are each dispatch's own.
    pub shape: PairsParams,
    /// The table of separators, in the final merge phase.
    pub separators: Option<Buffer>,
}

impl Pairs {
    /// Cuts the round into dispatches of at most about `keys_per_dispatch` keys.
    ///
    /// Many short pairs are cut into groups of pairs. Few long pairs are not, since fewer still
    /// would leave the device idle: each dispatch takes all of them some steps further.
    pub(super) fn record(&self, job: &Job<'_>, recording: &mut Recording, from: Buffer) {
        let limits = job.limits;
        let page = job.options.engine.page();
        let pair_keys = self.keys.div_ceil(self.count).max(1);
        let of_this_length = limits.merged_keys_per_dispatch() / pair_keys;
        let pairs = of_this_length.max(limits.fewest_pairs()).min(self.count);
        let steps = if pairs > of_this_length {
            (limits.merged_keys_per_dispatch() / page / pairs).max(1)
        } else {
            limits.steps_per_dispatch(page)
        };
        let slices = self.slices(steps, limits.steps_per_dispatch(page));
        // For every pair, even where one dispatch should do: keys overwritten in the middle of a
        // sort must not lead a kernel out of a buffer.
        let progress = recording.reserve(Buffer::Progress, u64::from(self.count) * 8);
        // Bound even where it is not read: a kernel's bindings are always all there.
        let separators = self
            .separators
            .unwrap_or_else(|| recording.reserve(Buffer::Separators(job.level), 4));
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
                    kernel: merge_kernel(job.options.engine),
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

    /// Steps done and to do of each dispatch. The few pairs that go on beyond the likely end may do
    /// so in larger strides.
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

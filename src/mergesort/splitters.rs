//! Splitters: regular samples of each run or random samples of all keys, sorted, and their ranks
//! (paper, section 3.2).

use super::kernels::{
    self, ITEM_LANES, RandomSamplesParams, RankSplittersParams, SampleRunsParams,
};
use super::plan::Distribution;
use super::record::Recorder;
use crate::recording::{Buffer, Phase, Recording, Step};

/// Samples the keys in `from`, sorts the samples by this same sort, and finds the ranks of the
/// splitters in every run.
pub(super) fn record(
    job: &Recorder<'_>,
    recording: &mut Recording,
    distribution: &Distribution,
    from: Buffer,
) {
    let len = job.plan.len;
    let &Distribution {
        runs,
        run,
        samples,
        buckets,
        pivots,
        random,
        ..
    } = distribution;
    let total = distribution.total_samples();
    let bytes = u64::from(total) * recording.key.bytes();
    let sorted = recording.reserve(Buffer::Samples(job.level), bytes);

    let samples_job = Recorder {
        plan: &distribution.sample_plan,
        home: sorted,
        other: Buffer::SamplesScratch(job.level),
        level: job.level + 1,
        within: Some(job.phase(Phase::Splitters)),
        ..*job
    };
    // Samples are written to the buffer in which their base case works in place.
    let sampled = samples_job.first_buffer();
    recording.reserve(sampled, bytes);
    let (kernel, parameters) = if random {
        let seed = job.options.seed;
        let parameters = RandomSamplesParams {
            len,
            total,
            seed_low: seed as u32,
            seed_high: (seed >> 32) as u32,
            level: job.level.into(),
        };
        (kernels::random_samples(recording.key), parameters.into())
    } else {
        let parameters = SampleRunsParams {
            len,
            run,
            samples,
            total,
        };
        (kernels::sample_runs(recording.key), parameters.into())
    };
    recording.steps.push(Step {
        phase: job.phase(Phase::Splitters),
        round: 0,
        kernel,
        workgroups: job.grid(total.div_ceil(ITEM_LANES)),
        bindings: vec![("source", from), ("sampled", sampled)],
        parameters,
        keys: u64::from(total),
    });
    samples_job.record(recording, sampled);

    let ranks = recording.reserve(Buffer::Ranks(job.level), distribution.rank_words() * 4);
    recording.steps.push(Step {
        phase: job.phase(Phase::Ranks),
        round: 0,
        kernel: kernels::rank_splitters(recording.key),
        workgroups: job.grid(((buckets + 1) * runs).div_ceil(ITEM_LANES)),
        bindings: vec![("source", from), ("sampled", sorted), ("ranks", ranks)],
        parameters: RankSplittersParams {
            len,
            run,
            runs,
            buckets,
            samples: total,
            pivots: pivots.into(),
        }
        .into(),
        keys: distribution.rank_words(),
    });
}

//! Final merge phase: the parts of each bucket are merged (paper, section 3.2).

use super::kernels::PairsParams;
use super::merge::Pairs;
use super::plan::{Distribution, most_page_merges};
use super::record::Recorder;
use crate::recording::{Buffer, Phase, Recording};

/// One round: in every bucket, pairs of the runs that remain are merged from `from` into the other
/// buffer. Pivot buckets, of one key, are skipped: they are already at their final position.
pub(super) fn record(
    job: &Recorder<'_>,
    recording: &mut Recording,
    distribution: &Distribution,
    round: u32,
    from: Buffer,
) {
    let &Distribution {
        runs,
        run,
        buckets,
        pivots,
        largest_bucket,
        likely_bucket,
        ..
    } = distribution;
    let span = 1 << round;
    let pairs_per_bucket = runs.div_ceil(span).div_ceil(2);
    // A pair has the parts of at most 2 * span runs, all in one bucket.
    let runs_keys = u64::from(run) * 2 * u64::from(span);
    let page = job.engine.page();
    let steps = |bucket: u32| most_page_merges(runs_keys.min(bucket.into()), page);
    let pairs = Pairs {
        phase: Phase::FinalMerge,
        round,
        count: pairs_per_bucket * buckets,
        keys: job.plan.len,
        likely_steps: steps(likely_bucket),
        most_steps: steps(largest_bucket),
        shape: PairsParams {
            len: job.plan.len,
            substreams: runs,
            span,
            pairs: pairs_per_bucket,
            bucket_step: if pivots { 2 } else { 1 },
            ..PairsParams::default()
        },
        separators: Some(Buffer::Separators(job.level)),
    };
    pairs.record(job, recording, from);
}

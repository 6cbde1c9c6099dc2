//! Distribution of the runs into buckets (paper, section 3.2).

use super::kernels::{self, BucketOffsetsParams, DistributeParams};
use super::plan::Distribution;
use super::record::Recorder;
use crate::recording::{Buffer, Phase, Recording, Step};
use crate::shader::MATRIX;

/// The largest number of workgroups per part, one run's share of one bucket; also for empty parts.
const MOST_PIECES: u32 = 16;

/// Scans the sizes of all parts, and moves each part from `from` to its bucket in the other buffer.
pub(super) fn record(
    job: &Recorder<'_>,
    recording: &mut Recording,
    distribution: &Distribution,
    from: Buffer,
) {
    let &Distribution { runs, run, .. } = distribution;
    let buckets = distribution.all_buckets();
    let ranks = Buffer::Ranks(job.level);
    let separators = recording.reserve(
        Buffer::Separators(job.level),
        distribution.separator_words() * 4,
    );
    recording.steps.push(Step {
        phase: job.phase(Phase::Ranks),
        round: 1,
        kernel: kernels::bucket_offsets(),
        workgroups: job.grid(buckets),
        bindings: vec![("ranks", ranks), ("separators", separators)],
        parameters: BucketOffsetsParams { runs, run, buckets }.into(),
        keys: distribution.separator_words(),
    });

    // A part gets as many workgroups as an average part has chunks. So most workgroups have one
    // chunk to move, and a part much larger than the others is still divided.
    let average = job.plan.len / (runs * distribution.buckets);
    let most = MOST_PIECES.min(job.limits.workgroups);
    let pieces = average.div_ceil(MATRIX).clamp(1, most);
    let runs_per_dispatch =
        (job.limits.keys_per_dispatch / run).clamp(1, job.limits.workgroups / pieces);
    let kernel = kernels::distribute(recording.key);
    for first in (0..runs).step_by(runs_per_dispatch as usize) {
        let count = runs_per_dispatch.min(runs - first);
        recording.steps.push(Step {
            phase: job.phase(Phase::Distribution),
            round: 0,
            kernel: kernel.clone(),
            workgroups: [count * pieces, buckets],
            bindings: vec![
                ("source", from),
                ("destination", job.opposite(from)),
                ("ranks", ranks),
                ("separators", separators),
            ],
            parameters: DistributeParams {
                len: job.plan.len,
                runs,
                first,
                pieces,
            }
            .into(),
            keys: u64::from(count) * u64::from(run),
        });
    }
}

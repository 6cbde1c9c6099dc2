//! Base case: each 1024 keys are sorted by `ShearSort` (paper, section 3.1).

use super::Job;
use crate::BaseCase;
use crate::kernel::{Kernel, MATRIX, WARPS};
use crate::recording::{Buffer, Phase, Recording, Step};

/// Sorts each 1024 keys of `from` into `to`, which may be the same buffer.
pub(super) fn record(job: &Job<'_>, recording: &mut Recording, from: Buffer, to: Buffer) {
    let in_place = from == to;
    let kernel = match job.base_case {
        BaseCase::Transpose => Kernel::ShearsortTranspose { in_place },
        BaseCase::Diagonal => Kernel::ShearsortDiagonal { in_place },
    };
    let len = job.plan.len;
    let matrices = len.div_ceil(MATRIX);
    let per_dispatch = (job.limits.keys_per_dispatch / MATRIX)
        .max(1)
        .next_multiple_of(WARPS);
    for first in (0..matrices).step_by(per_dispatch as usize) {
        let end = matrices.min(first + per_dispatch);
        recording.steps.push(Step {
            phase: job.phase(Phase::BaseCase),
            round: 0,
            kernel,
            workgroups: job.grid((end - first).div_ceil(WARPS)),
            bindings: if in_place {
                vec![("keys", to)]
            } else {
                vec![("source", from), ("destination", to)]
            },
            parameters: vec![("len", len), ("first", first), ("end", end)],
            keys: u64::from((end - first) * MATRIX),
        });
    }
}

//! Base case: each tile of keys is sorted in workgroup memory (paper, section 3.1).

use super::kernels::BaseCaseParams;
use super::record::Recorder;
use crate::recording::{Buffer, Phase, Recording, Step};

/// Sorts each tile of the keys in `buffer`.
pub(super) fn record(job: &Recorder<'_>, recording: &mut Recording, buffer: Buffer) {
    let form = job.options.base_case_of(job.engine);
    let tiles_a_workgroup = job.options.warps_of(job.engine) / form.warps();
    let len = job.plan.len;
    let tiles = len.div_ceil(form.keys());
    let per_dispatch = (job.limits.keys_per_dispatch / form.keys())
        .max(1)
        .next_multiple_of(tiles_a_workgroup);
    let kernel = job.options.base_case_kernel(job.engine, recording.key);
    for first in (0..tiles).step_by(per_dispatch as usize) {
        let end = tiles.min(first + per_dispatch);
        recording.steps.push(Step {
            phase: job.phase(Phase::BaseCase),
            round: 0,
            kernel: kernel.clone(),
            workgroups: job.grid((end - first).div_ceil(tiles_a_workgroup)),
            bindings: vec![("keys", buffer)],
            parameters: BaseCaseParams { len, first, end }.into(),
            keys: u64::from(end - first) * u64::from(form.keys()),
        });
    }
}

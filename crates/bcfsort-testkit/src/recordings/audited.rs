//! Kernels as subjects of an audit.

use wgpu_bcfsort::internals::kernel::Specialised;
use wgpu_bcfsort::internals::recording::Phase;
use wgsl_lockstep::Report;
use wgsl_lockstep::audit::Subject;

/// The audit subject of a sorter's kernel: the kernel, its report, and its phase if tables list
/// phases separately.
pub fn audit_subject(kernel: Specialised, phase: Option<Phase>, report: Report) -> Subject {
    let file = format!("{}.wgsl", kernel.label());
    let name = kernel.kernel().name();
    let mut subject = Subject::of_kernel(&file, &name, &kernel.wgsl(), report);
    subject.phase = phase.map(|phase| phase.name().to_owned());
    subject.may_conflict = kernel.kernel().has_bank_conflicts();
    subject
}

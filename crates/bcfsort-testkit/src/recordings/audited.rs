//! Kernels as subjects of an audit.

use wgpu_bcfsort::internals::recording::Phase;
use wgpu_bcfsort::internals::shader::Kernel;
use wgsl_lockstep::audit::Subject;
use wgsl_lockstep::{Fault, Finding, Report};

/// The findings of a kernel, but for the order of atomics that is meant: in the counting sort, the
/// key that is stored last owns a slot, and any key may.
pub fn unexpected(report: &Report) -> Vec<&Finding> {
    let meant = |finding: &Finding| {
        finding.fault == Fault::AtomicOrder && finding.variable.as_deref() == Some("owners")
    };
    let findings = report.findings.iter();
    findings.filter(|finding| !meant(finding)).collect()
}

/// The audit subject of a sorter's kernel: the kernel, its report, and its phase if tables list
/// phases separately.
pub fn audit_subject(kernel: &Kernel, phase: Option<Phase>, report: Report) -> Subject {
    let file = format!("{}.wgsl", kernel.label());
    let mut subject = Subject::of_kernel(&file, kernel.name(), &kernel.wgsl(), report);
    subject.phase = phase.map(|phase| phase.name().to_owned());
    subject.may_conflict = kernel.has_bank_conflicts();
    subject
}

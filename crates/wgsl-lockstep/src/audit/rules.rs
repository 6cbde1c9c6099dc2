//! The rules of the audit.

use crate::report::Fault;

/// The severity of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The shader is wrong, or exceeds a limit that was set: the audit is not clean.
    Failure,
    /// The behaviour is defined by WGSL, but hardly intended.
    Warning,
    /// The shader is right, but slow or not portable.
    Note,
}

/// The subject of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Rule {
    /// Two lanes access the same bytes, one of them writes, and no barrier is in between.
    Race,
    /// An access past the end of an array or a buffer.
    OutOfBounds,
    /// A barrier that not all lanes of the workgroup reach together.
    DivergentBarrier,
    /// A loop that exceeds the limits.
    RunawayLoop,
    /// A read of workgroup memory before any write.
    UninitialisedRead,
    /// Two lanes change a word by atomic operations whose order decides the result.
    AtomicOrder,
    /// Accesses that no lane has executed, so that nothing is known about them.
    UnreachedAccess,
    /// Lanes of a warp access different words of one bank.
    BankConflict,
    /// A warp's access to storage touches more sectors than its bytes need.
    UncoalescedAccess,
    /// More workgroup memory than WebGPU guarantees.
    WorkgroupMemory,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 10] = [
        Self::Race,
        Self::OutOfBounds,
        Self::DivergentBarrier,
        Self::RunawayLoop,
        Self::UninitialisedRead,
        Self::AtomicOrder,
        Self::UnreachedAccess,
        Self::BankConflict,
        Self::UncoalescedAccess,
        Self::WorkgroupMemory,
    ];

    pub(super) const fn of(fault: Fault) -> Self {
        match fault {
            Fault::Race => Self::Race,
            Fault::OutOfBounds => Self::OutOfBounds,
            Fault::DivergentBarrier => Self::DivergentBarrier,
            Fault::Uninitialised => Self::UninitialisedRead,
            Fault::Runaway => Self::RunawayLoop,
            Fault::AtomicOrder => Self::AtomicOrder,
        }
    }

    /// Its id in SARIF.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Race => "race",
            Self::OutOfBounds => "out-of-bounds",
            Self::DivergentBarrier => "divergent-barrier",
            Self::RunawayLoop => "runaway-loop",
            Self::UninitialisedRead => "uninitialised-read",
            Self::AtomicOrder => "atomic-order",
            Self::UnreachedAccess => "unreached-access",
            Self::BankConflict => "bank-conflict",
            Self::UncoalescedAccess => "uncoalesced-access",
            Self::WorkgroupMemory => "workgroup-memory",
        }
    }

    /// Its name in SARIF.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Race => "Race",
            Self::OutOfBounds => "OutOfBounds",
            Self::DivergentBarrier => "DivergentBarrier",
            Self::RunawayLoop => "RunawayLoop",
            Self::UninitialisedRead => "UninitialisedRead",
            Self::AtomicOrder => "AtomicOrder",
            Self::UnreachedAccess => "UnreachedAccess",
            Self::BankConflict => "BankConflict",
            Self::UncoalescedAccess => "UncoalescedAccess",
            Self::WorkgroupMemory => "WorkgroupMemory",
        }
    }

    /// The defect that it finds, in one sentence.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Race => {
                "Two invocations touch the same bytes, one of them writes, and no barrier orders \
                 them."
            }
            Self::OutOfBounds => {
                "An index is past the end of an array, or an address past the end of a buffer."
            }
            Self::DivergentBarrier => {
                "A barrier is not reached by all lanes of the workgroup together."
            }
            Self::RunawayLoop => "A loop does not end within the allowed number of iterations.",
            Self::UninitialisedRead => "Workgroup memory is read before any lane has written it.",
            Self::AtomicOrder => {
                "Two invocations change a word by atomic operations that do not commute, and no \
                 barrier orders them, so the result depends on which comes first."
            }
            Self::UnreachedAccess => {
                "An access to workgroup memory or storage was never executed, so this run says \
                 nothing about it."
            }
            Self::BankConflict => {
                "Lanes of a warp touch different words of one bank of workgroup memory, and the \
                 hardware serves them one after the other."
            }
            Self::UncoalescedAccess => {
                "A warp's access to storage touches more than twice the 32-byte sectors that \
                 its bytes need."
            }
            Self::WorkgroupMemory => {
                "The entry point uses more workgroup memory than WebGPU guarantees (16,384 bytes)."
            }
        }
    }

    /// Advice on the defect.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Race => {
                "Put a barrier between the two accesses: workgroupBarrier() orders workgroup \
                 memory and storageBarrier() orders storage, both within one workgroup. Nothing \
                 orders two workgroups of a dispatch: let them touch different bytes, use atomics, \
                 or use two dispatches."
            }
            Self::OutOfBounds => {
                "Guard the access by the array's length or by arrayLength(). An index that is read \
                 from a buffer is only as good as the contents that the buffer was given."
            }
            Self::DivergentBarrier => {
                "Move the barrier out of the branch or loop that lanes leave one by one: lanes \
                 with nothing to do skip the work, not the barrier."
            }
            Self::RunawayLoop => {
                "Check the loop's condition and step. If the loop is meant to take that long, \
                 raise --max-iterations or --max-lane-instructions."
            }
            Self::UninitialisedRead => {
                "WGSL guarantees zeros there, at the cost of a pass over the memory before each \
                 workgroup. Write the memory first, and runtimes can be told to skip that pass."
            }
            Self::AtomicOrder => {
                "Put a barrier between the two operations, for instance between the stores that \
                 clear a table and the first operation that counts in it."
            }
            Self::UnreachedAccess => {
                "Set the buffers that the condition depends on by --buffer: uniforms are zero by \
                 default. Set overrides by --override, or run another audit for the other branch."
            }
            Self::BankConflict => {
                "Let neighbouring lanes take neighbouring words, pad the rows of an array to an \
                 odd number of words, or rotate the columns by the row's number."
            }
            Self::UncoalescedAccess => {
                "Let neighbouring lanes take neighbouring elements (index = step * lanes + lane), \
                 keep each member of a struct in an array of its own, or go through workgroup \
                 memory."
            }
            Self::WorkgroupMemory => {
                "Use less, or request a higher maxComputeWorkgroupStorageSize from the device and \
                 check that the adapter has it."
            }
        }
    }

    /// Its default severity. A bank conflict above `--max-degree` is a failure. So is a limit for
    /// workgroup memory of which no access was executed.
    #[must_use]
    pub const fn severity(self) -> Severity {
        match self {
            Self::Race | Self::OutOfBounds | Self::DivergentBarrier | Self::RunawayLoop => {
                Severity::Failure
            }
            Self::UninitialisedRead | Self::UnreachedAccess => Severity::Warning,
            Self::AtomicOrder
            | Self::BankConflict
            | Self::UncoalescedAccess
            | Self::WorkgroupMemory => Severity::Note,
        }
    }
}

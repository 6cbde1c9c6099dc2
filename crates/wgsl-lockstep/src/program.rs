//! The machine's program: naga's IR with values split into scalars and calls inlined.
//!
//! Each scalar component of each value has a slot: 32 bits for each lane. Structs, vectors and
//! arrays are lists of slots, so composing, swizzling and passing them costs nothing. The variables
//! of a function are slots as well. A pointer is a root (slots, or a memory), a constant offset
//! and, after a dynamic index, a slot with the dynamic offset. Because calls are inlined, all of
//! this is known before the program runs.

use crate::arithmetic::LaneFn;
use crate::report::{AccessKind, Location, Space};

/// Index of a scalar in the registers.
pub(crate) type Slot = u32;

/// A range in one of the program's pools.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Range {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl Range {
    pub(crate) fn of<T>(self, pool: &[T]) -> &[T] {
        &pool[self.start as usize..][..self.len as usize]
    }
}

/// A scalar or a vector in memory: the unit of an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    /// Byte offset in the accessed value.
    pub(crate) offset: u32,
    /// Bytes per component: 1, 2, 4 or 8.
    pub(crate) width: u32,
    pub(crate) components: u32,
    pub(crate) site: u32,
    /// For a store to one component of a vector: the vector.
    pub(crate) vector: Option<VectorInfo>,
}

impl Leaf {
    pub(crate) const fn bytes(self) -> u32 {
        self.width * self.components
    }
}

/// A vector in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VectorInfo {
    /// The first byte of its variable.
    pub(crate) origin: u32,
    /// Its size in bytes, and its alignment within the variable.
    pub(crate) bytes: u32,
    pub(crate) alignment: u32,
}

impl VectorInfo {
    /// Its first byte and one past its last, if it has a component at `at`.
    pub(crate) const fn around(self, at: u32) -> (u32, u32) {
        let start = at - (at - self.origin) % self.alignment;
        (start, start + self.bytes)
    }
}

/// An address in a memory, for each lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) memory: u32,
    pub(crate) base: u32,
    /// Byte offset, or [`POISON`].
    pub(crate) offset: Option<Slot>,
    /// The checks of its indices, which tell the index that was out of bounds.
    pub(crate) checks: Range,
    pub(crate) location: u32,
}

/// The offset of an element that does not exist.
pub(crate) const POISON: u32 = u32::MAX;

/// The number of elements of an indexed value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    Constant(u32),
    /// The number of elements in the buffer after the first `before` bytes.
    Runtime {
        memory: u32,
        before: u32,
        stride: u32,
    },
}

/// What an atomic operation does to its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Load,
    Store,
    /// A store of the value that the word has already.
    StoreSame,
    Add,
    And,
    Or,
    Xor,
    Min,
    Max,
    /// An exchange, also one that compares.
    Exchange,
}

impl Effect {
    pub(crate) const fn bit(self) -> u16 {
        match self {
            Self::Load => 0,
            Self::StoreSame => Self::Store.bit(),
            other => 1 << other as u16,
        }
    }

    /// The effects that do not commute with this one. Not counted are those among exchanges and
    /// stores, by which lanes pass a lock or the head of a list on, in any order.
    pub(crate) const fn opposed(self) -> u16 {
        let passing = Self::Store.bit() | Self::Exchange.bit();
        match self {
            Self::Load => 0,
            Self::Store => !Self::Exchange.bit(),
            Self::StoreSame | Self::Exchange => !passing,
            other => !other.bit(),
        }
    }
}

/// An atomic read-modify-write operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AtomicOp {
    /// A function of the old value and the operand, and its effect.
    Update(LaneFn, Effect),
    Exchange,
    /// The slots of the comparison operand.
    CompareExchange(Range),
}

/// The source lane of a subgroup operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gather {
    First,
    /// The lane whose number is in the slot.
    Lane(Slot),
    /// This lane's number plus, minus or xor the slot's value.
    Down(Slot),
    Up(Slot),
    Xor(Slot),
    /// The lane of this number among four neighbors.
    Quad(Slot),
    QuadSwap(u32),
}

/// One instruction for all active lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instruction {
    /// Arithmetic. Inactive lanes receive undefined values.
    Compute {
        function: LaneFn,
        inputs: Range,
        output: Slot,
        outputs: u32,
    },
    /// A copy in all lanes.
    Copy {
        from: Slot,
        to: Slot,
    },
    /// A copy in the active lanes.
    Assign {
        from: Slot,
        to: Slot,
    },
    /// `output = before + index * scale`, or poison.
    Index {
        index: Slot,
        before: Option<Slot>,
        scale: u32,
        bound: Bound,
        check: u32,
        output: Slot,
    },
    /// Reads a lane's own variable at a dynamic index.
    LoadLocal {
        base: Slot,
        offset: Slot,
        count: u32,
        output: Slot,
        checks: Range,
        location: u32,
    },
    /// Writes a lane's own variable at a dynamic index.
    StoreLocal {
        base: Slot,
        offset: Slot,
        values: Range,
        checks: Range,
        location: u32,
    },
    /// Selects an element of a value. `table` has `outputs` slots for each element.
    Pick {
        index: Slot,
        table: Range,
        output: Slot,
        outputs: u32,
        location: u32,
    },
    Load {
        address: Address,
        leaves: Range,
        output: Slot,
    },
    Store {
        address: Address,
        leaves: Range,
        values: Range,
    },
    Atomic {
        address: Address,
        leaf: Leaf,
        op: AtomicOp,
        value: Range,
        output: Option<Slot>,
    },
    ArrayLength {
        memory: u32,
        before: u32,
        stride: u32,
        output: Slot,
    },
    If {
        condition: Slot,
        accept: u32,
        reject: u32,
    },
    Switch {
        selector: Slot,
        cases: Range,
    },
    Loop {
        body: u32,
        continuing: u32,
        break_if: Option<Slot>,
        location: u32,
    },
    Break,
    Continue,
    Return,
    /// A block that `Return` exits.
    Call {
        body: u32,
    },
    Barrier {
        workgroup: bool,
        storage: bool,
        subgroup: bool,
        location: u32,
    },
    Ballot {
        predicate: Option<Slot>,
        output: Slot,
    },
    Gather {
        mode: Gather,
        from: Slot,
        output: Slot,
    },
    /// Reduces or scans the values of a subgroup; `identity` starts an exclusive scan.
    Collective {
        function: LaneFn,
        scan: Scan,
        value: Range,
        identity: Range,
        output: Slot,
    },
}

impl Instruction {
    /// Operations per lane: each scalar or vector of a value is one access.
    pub(crate) const fn operations(&self) -> u64 {
        let count = match self {
            Self::Load { leaves, .. } | Self::Store { leaves, .. } => leaves.len,
            Self::LoadLocal { count, .. } => *count,
            Self::StoreLocal { values, .. } => values.len,
            _ => 1,
        };
        count as u64
    }
}

/// The lanes whose values a collective operation combines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scan {
    All,
    Inclusive,
    Exclusive,
}

/// A case of a `switch`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// `None` for the default.
    pub(crate) value: Option<u32>,
    pub(crate) body: u32,
    pub(crate) fall_through: bool,
}

/// A location in the source that accesses memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SiteInfo {
    pub(crate) location: u32,
    pub(crate) variable: String,
    pub(crate) space: Space,
    pub(crate) kind: AccessKind,
    pub(crate) bytes: u32,
}

/// An input of the entry point, set when a workgroup starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    GlobalInvocationId(u32),
    LocalInvocationId(u32),
    LocalInvocationIndex,
    WorkgroupId(u32),
    NumWorkgroups(u32),
    WorkgroupSize(u32),
    SubgroupSize,
    SubgroupInvocationId,
    SubgroupId,
    NumSubgroups,
}

/// A memory shared by lanes. The first one is workgroup memory.
#[derive(Clone, Debug)]
pub(crate) struct MemoryInfo {
    pub(crate) space: Space,
    pub(crate) variable: String,
    /// Group and binding.
    pub(crate) binding: Option<(u32, u32)>,
    pub(crate) writable: bool,
    /// Size in bytes; the minimum size of a buffer.
    pub(crate) bytes: u32,
    /// Bytes per element of the runtime-sized array at its end.
    pub(crate) stride: Option<u32>,
    /// Log2 of the bytes of its smallest scalar, the granularity of race detection.
    pub(crate) granule_shift: u32,
}

/// A variable in workgroup memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkgroupVariable {
    /// Its name.
    pub name: String,
    /// Its size in bytes, before it is rounded up to 16.
    pub bytes: u32,
    /// The location of its declaration.
    pub location: Location,
}

/// A whole program.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) workgroup_size: [u32; 3],
    pub(crate) blocks: Vec<Vec<Instruction>>,
    pub(crate) operands: Vec<Slot>,
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) cases: Vec<Case>,
    pub(crate) checks: Vec<u32>,
    pub(crate) check_count: u32,
    pub(crate) entry: u32,
    pub(crate) slots: u32,
    pub(crate) constants: Vec<(Slot, u32)>,
    /// Slots of private variables, each with the slot of its initial value.
    pub(crate) privates: Vec<(Slot, Slot)>,
    pub(crate) builtins: Vec<(Slot, Builtin)>,
    pub(crate) memories: Vec<MemoryInfo>,
    pub(crate) workgroup_variables: Vec<WorkgroupVariable>,
    pub(crate) sites: Vec<SiteInfo>,
    pub(crate) locations: Vec<Location>,
}

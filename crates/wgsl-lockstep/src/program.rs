//! What the machine runs: naga's IR with values taken apart into scalars and calls inlined.
//!
//! Every scalar component of every value has a slot: 32 bits for each lane. Structs, vectors and
//! arrays are lists of slots, so composing, swizzling and passing them costs nothing, and the
//! variables of a function are slots, too. A pointer is a root (slots, or a memory), a constant
//! offset and, where it was indexed by a value, a slot with the rest. Because calls are inlined,
//! all of this is known before the program runs.

use crate::arithmetic::LaneFn;
use crate::report::{AccessKind, Location, Space};

/// Index of a scalar's place among the registers.
pub(crate) type Slot = u32;

/// Part of one of the program's pools.
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

/// A scalar or a vector in memory: what one access moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    /// Bytes from the start of the value accessed.
    pub(crate) offset: u32,
    /// Bytes of a component: 1, 2, 4 or 8.
    pub(crate) width: u32,
    pub(crate) components: u32,
    pub(crate) site: u32,
    /// Of a store to one component of a vector: that vector.
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
    /// The first byte of the variable that it is in.
    pub(crate) origin: u32,
    /// Its bytes, and those that it is aligned to in that variable.
    pub(crate) bytes: u32,
    pub(crate) alignment: u32,
}

impl VectorInfo {
    /// Its first byte, and one past its last, where it has a component at `at`.
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
    /// Bytes to add, or [`POISON`].
    pub(crate) offset: Option<Slot>,
    /// The indices that led here, to say which of them was out of bounds.
    pub(crate) checks: Range,
    pub(crate) location: u32,
}

/// The offset of an element that does not exist.
pub(crate) const POISON: u32 = u32::MAX;

/// How many elements there are to index.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    Constant(u32),
    /// As many as fit behind these bytes of a buffer.
    Runtime {
        memory: u32,
        before: u32,
        stride: u32,
    },
}

/// A read-modify-write.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AtomicOp {
    /// Of the old value and the operand.
    Update(LaneFn),
    Exchange,
    /// The operand of the comparison has these slots.
    CompareExchange(Range),
}

/// Where a subgroup's lane takes its value from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gather {
    First,
    /// The lane whose number is in a slot.
    Lane(Slot),
    /// This lane's number plus, minus, or exclusive-or what is in a slot.
    Down(Slot),
    Up(Slot),
    Xor(Slot),
    /// Within four lanes.
    Quad(Slot),
    QuadSwap(u32),
}

/// One instruction for all active lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instruction {
    /// Arithmetic; inactive lanes may get anything.
    Compute {
        function: LaneFn,
        inputs: Range,
        output: Slot,
        outputs: u32,
    },
    /// A copy in every lane.
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
    /// Reads a lane's own variable through an index.
    LoadLocal {
        base: Slot,
        offset: Slot,
        count: u32,
        output: Slot,
        checks: Range,
        location: u32,
    },
    /// Writes a lane's own variable through an index.
    StoreLocal {
        base: Slot,
        offset: Slot,
        values: Range,
        checks: Range,
        location: u32,
    },
    /// Picks an element of a value: `table` has as many slots as there are elements times
    /// `outputs`.
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
    /// A block that `Return` leaves.
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
    /// Combines the values of a subgroup's lanes; `identity` is where an exclusive scan begins.
    Collective {
        function: LaneFn,
        scan: Scan,
        value: Range,
        identity: Range,
        output: Slot,
    },
}

impl Instruction {
    /// What a lane does in it: an access to each scalar or vector of a value is one of its own.
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

/// Which lanes' values a collective operation combines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scan {
    All,
    Inclusive,
    Exclusive,
}

/// A case of a `switch`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    /// `None` is the default.
    pub(crate) value: Option<u32>,
    pub(crate) body: u32,
    pub(crate) fall_through: bool,
}

/// A place in the source that accesses memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SiteInfo {
    pub(crate) location: u32,
    pub(crate) variable: String,
    pub(crate) space: Space,
    pub(crate) kind: AccessKind,
    pub(crate) bytes: u32,
}

/// An input of the entry point, filled in before a workgroup starts.
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

/// A memory that lanes share. The first is workgroup memory.
#[derive(Clone, Debug)]
pub(crate) struct MemoryInfo {
    pub(crate) space: Space,
    pub(crate) variable: String,
    /// Group and binding.
    pub(crate) binding: Option<(u32, u32)>,
    pub(crate) writable: bool,
    /// Bytes; of a buffer, the fewest it may have.
    pub(crate) bytes: u32,
    /// Bytes of an element of the runtime-sized array at its end.
    pub(crate) stride: Option<u32>,
    /// Log2 of the bytes of the smallest scalar in it: races are told apart that finely.
    pub(crate) granule_shift: u32,
}

/// A variable in workgroup memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkgroupVariable {
    /// Its name.
    pub name: String,
    /// Its bytes, before they are rounded up to 16.
    pub bytes: u32,
    /// Where it is declared.
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
    /// Slots of private variables with what they begin with.
    pub(crate) privates: Vec<(Slot, Slot)>,
    pub(crate) builtins: Vec<(Slot, Builtin)>,
    pub(crate) memories: Vec<MemoryInfo>,
    pub(crate) workgroup_variables: Vec<WorkgroupVariable>,
    pub(crate) sites: Vec<SiteInfo>,
    pub(crate) locations: Vec<Location>,
}

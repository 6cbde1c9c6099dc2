//! Pointers, and loads and stores through them.

use super::{Frame, Lowering, Place, Result, Root, Value, length, math_of_two, width};
use crate::arithmetic;
use crate::program::{
    Address, AtomicOp, Bound, Effect, Instruction, Leaf, Range, SiteInfo, Slot, VectorInfo,
};
use crate::report::AccessKind;
use naga::{AtomicFunction, Expression, Handle, Scalar, Span, StructMember, TypeInner};

impl<'a> Lowering<'a> {
    /// The name of the variable that a pointer points to or into.
    pub(super) fn name_of(&self, frame: &Frame<'a>, pointer: Handle<Expression>) -> String {
        let mut pointer = pointer;
        loop {
            match frame.function.expressions[pointer] {
                Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => {
                    pointer = base;
                }
                Expression::GlobalVariable(handle) => {
                    let name = self.module.global_variables[handle].name.clone();
                    return name.unwrap_or_default();
                }
                Expression::FunctionArgument(index) => {
                    let name = frame.function.arguments[index as usize].name.clone();
                    return name.unwrap_or_default();
                }
                _ => return String::new(),
            }
        }
    }

    /// Number of slots of the members before the one at `index`.
    fn slots_before(&self, members: &[StructMember], index: u32, span: Span) -> Result<usize> {
        let before = &members[..index as usize];
        before
            .iter()
            .map(|member| self.slots_of(self.inner(member.ty), span))
            .sum()
    }

    pub(super) fn access_index(
        &mut self,
        frame: &mut Frame<'a>,
        base: Handle<Expression>,
        index: u32,
        span: Span,
        out: &mut Vec<Instruction>,
    ) -> Result<Value> {
        let base_type = self.type_of(frame, base);
        match self.value(frame, base, out)? {
            Value::Slots(slots) => {
                let (before, count) = if let TypeInner::Struct { members, .. } = base_type {
                    let member = &members[index as usize];
                    let count = self.slots_of(self.inner(member.ty), span)?;
                    (self.slots_before(members, index, span)?, count)
                } else {
                    let each = self.slots_each(frame, base)?;
                    (each * index as usize, each)
                };
                Ok(Value::Slots(slots[before..before + count].to_vec()))
            }
            Value::Place(mut place) => {
                let inner = self.pointee(base_type, span)?;
                place.constant += match (&*inner, place.root) {
                    (TypeInner::Struct { members, .. }, Root::Shared { .. }) => {
                        members[index as usize].offset
                    }
                    (TypeInner::Struct { members, .. }, Root::Private(_)) => {
                        self.slots_before(members, index, span)? as u32
                    }
                    _ => {
                        let (stride, count) = self.elements(&inner, place.root, span)?;
                        if count.is_none() {
                            // Only the length of the buffer determines whether the element exists.
                            let index = self.constant(index, span)?;
                            return self.index_place(place, &inner, index, span, out);
                        }
                        stride * index
                    }
                };
                Ok(Value::Place(place))
            }
        }
    }

    /// The stride of the elements of an array, vector or matrix, and their number, if it is fixed.
    pub(super) fn elements(
        &self,
        inner: &TypeInner,
        root: Root,
        span: Span,
    ) -> Result<(u32, Option<u32>)> {
        let private = matches!(root, Root::Private(_));
        Ok(match *inner {
            TypeInner::Array { base, size, stride } => {
                let count = length(self.module, size);
                let slots = if private {
                    self.slots_of(self.inner(base), span)? as u32
                } else {
                    stride
                };
                (slots, count)
            }
            TypeInner::Vector { size, scalar } => {
                let each = if private {
                    arithmetic::slots(scalar) as u32
                } else {
                    width(scalar)
                };
                (each, Some(size as u32))
            }
            TypeInner::Matrix {
                columns,
                rows,
                scalar,
            } => {
                let each = if private {
                    rows as u32 * arithmetic::slots(scalar) as u32
                } else {
                    column_stride(rows, scalar)
                };
                (each, Some(columns as u32))
            }
            _ => return Err(self.unsupported("an index into this type", span)),
        })
    }

    pub(super) fn access(
        &mut self,
        frame: &mut Frame<'a>,
        base: Handle<Expression>,
        index: Handle<Expression>,
        span: Span,
        out: &mut Vec<Instruction>,
    ) -> Result<Value> {
        let index = self.slot(frame, index, out)?;
        match self.value(frame, base, out)? {
            Value::Slots(slots) => {
                let outputs = self.slots_each(frame, base)?;
                let table = self.operands(slots);
                let output = self.allocate(outputs, span)?;
                let outputs = outputs as u32;
                let location = self.location(span);
                let instruction = Instruction::Pick {
                    index,
                    table,
                    output,
                    outputs,
                    location,
                };
                self.push(out, instruction)?;
                Ok(Value::Slots((output..output + outputs).collect()))
            }
            Value::Place(place) => {
                let inner = self.pointee(self.type_of(frame, base), span)?;
                self.index_place(place, &inner, index, span, out)
            }
        }
    }

    pub(super) fn index_place(
        &mut self,
        mut place: Place,
        inner: &TypeInner,
        index: Slot,
        span: Span,
        out: &mut Vec<Instruction>,
    ) -> Result<Value> {
        let (scale, count) = self.elements(inner, place.root, span)?;
        let bound = match (count, place.root) {
            (Some(count), _) => Bound::Constant(count),
            (None, Root::Shared { memory, start }) if place.dynamic.is_none() => Bound::Runtime {
                memory,
                before: start + place.constant,
                stride: scale,
            },
            (None, _) => return Err(self.unsupported("a runtime-sized array here", span)),
        };
        let output = self.allocate(1, span)?;
        let check = self.program.check_count;
        self.program.check_count += 1;
        let instruction = Instruction::Index {
            index,
            before: place.dynamic,
            scale,
            bound,
            check,
            output,
        };
        self.push(out, instruction)?;
        place.dynamic = Some(output);
        place.checks.push(check);
        Ok(Value::Place(place))
    }

    // Memory.

    pub(super) fn checks(&mut self, place: &Place) -> Range {
        let start = self.program.checks.len() as u32;
        self.program.checks.extend_from_slice(&place.checks);
        Range {
            start,
            len: place.checks.len() as u32,
        }
    }

    /// Splits a type in memory into vectors and scalars.
    pub(super) fn flatten(
        &mut self,
        inner: &TypeInner,
        offset: u32,
        site: &SiteInfo,
        leaves: &mut Vec<Leaf>,
        span: Span,
    ) -> Result<()> {
        let (components, scalar) = match *inner {
            TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => (1, scalar),
            TypeInner::Vector { size, scalar } => (size as u32, scalar),
            TypeInner::Matrix {
                columns,
                rows,
                scalar,
            } => {
                for column in 0..columns as u32 {
                    let inner = TypeInner::Vector { size: rows, scalar };
                    let offset = offset + column * column_stride(rows, scalar);
                    self.flatten(&inner, offset, site, leaves, span)?;
                }
                return Ok(());
            }
            TypeInner::Array { base, size, stride } => {
                let count = length(self.module, size)
                    .ok_or_else(|| self.unsupported("an array of no fixed length", span))?;
                for i in 0..count {
                    self.flatten(self.inner(base), offset + i * stride, site, leaves, span)?;
                }
                return Ok(());
            }
            TypeInner::Struct { ref members, .. } => {
                for member in members {
                    let offset = offset + member.offset;
                    self.flatten(self.inner(member.ty), offset, site, leaves, span)?;
                }
                return Ok(());
            }
            _ => return Err(self.unsupported("a value of this type", span)),
        };
        let mut leaf = Leaf {
            offset,
            width: width(scalar),
            components,
            site: 0,
            vector: None,
        };
        leaf.site = self.site(SiteInfo {
            bytes: leaf.bytes(),
            ..site.clone()
        });
        leaves.push(leaf);
        Ok(())
    }

    pub(super) fn site(&mut self, site: SiteInfo) -> u32 {
        let known = self.program.sites.len() as u32;
        let index = *self.sites.entry(site.clone()).or_insert(known);
        if index == known {
            self.program.sites.push(site);
        }
        index
    }

    /// The address of a place in a shared memory, and the leaves of its type.
    fn shared(
        &mut self,
        place: &Place,
        inner: &TypeInner,
        (memory, start): (u32, u32),
        (kind, variable): (AccessKind, String),
        span: Span,
    ) -> Result<(Address, Range)> {
        // Refuses types that are too large or too deep, before they are expanded.
        let slots = self.slots_of(inner, span)?;
        self.spend(slots, span)?;
        let location = self.location(span);
        let site = SiteInfo {
            location,
            variable,
            space: self.program.memories[memory as usize].space,
            kind,
            bytes: 0,
        };
        let mut leaves = Vec::new();
        self.flatten(inner, 0, &site, &mut leaves, span)?;
        let first = self.program.leaves.len() as u32;
        self.program.leaves.extend_from_slice(&leaves);
        let address = Address {
            memory,
            base: start + place.constant,
            offset: place.dynamic,
            checks: self.checks(place),
            location,
        };
        let leaves = Range {
            start: first,
            len: leaves.len() as u32,
        };
        Ok((address, leaves))
    }

    pub(super) fn load(
        &mut self,
        place: &Place,
        inner: &TypeInner,
        kind: AccessKind,
        variable: String,
        span: Span,
        out: &mut Vec<Instruction>,
    ) -> Result<Vec<Slot>> {
        let count = self.slots_of(inner, span)?;
        let output = self.allocate(count, span)?;
        let checks = self.checks(place);
        match (place.root, place.dynamic) {
            (Root::Private(base), None) => {
                for i in 0..count as u32 {
                    let (from, to) = (base + place.constant + i, output + i);
                    self.push(out, Instruction::Copy { from, to })?;
                }
            }
            (Root::Private(base), Some(offset)) => {
                let location = self.location(span);
                let instruction = Instruction::LoadLocal {
                    base: base + place.constant,
                    offset,
                    count: count as u32,
                    output,
                    checks,
                    location,
                };
                self.push(out, instruction)?;
            }
            (Root::Shared { memory, start }, _) => {
                let access = (kind, variable);
                let (address, leaves) = self.shared(place, inner, (memory, start), access, span)?;
                let instruction = Instruction::Load {
                    address,
                    leaves,
                    output,
                };
                self.push(out, instruction)?;
            }
        }
        Ok((output..output + count as u32).collect())
    }

    pub(super) fn store(
        &mut self,
        frame: &mut Frame<'a>,
        pointer: Handle<Expression>,
        value: Handle<Expression>,
        span: Span,
        out: &mut Vec<Instruction>,
    ) -> Result<()> {
        let place = self.place(frame, pointer, out)?;
        let values = self.slots(frame, value, out)?;
        let checks = self.checks(&place);
        match (place.root, place.dynamic) {
            (Root::Private(base), None) => {
                for (to, from) in (base + place.constant..).zip(values) {
                    self.push(out, Instruction::Assign { from, to })?;
                }
            }
            (Root::Private(base), Some(offset)) => {
                let values = self.operands(values);
                let location = self.location(span);
                let instruction = Instruction::StoreLocal {
                    base: base + place.constant,
                    offset,
                    values,
                    checks,
                    location,
                };
                self.push(out, instruction)?;
            }
            (Root::Shared { memory, start }, _) => {
                let inner = self.pointee(self.type_of(frame, pointer), span)?;
                let kind = match *inner {
                    TypeInner::Atomic(_) => AccessKind::Atomic,
                    _ => AccessKind::Store,
                };
                let access = (kind, self.name_of(frame, pointer));
                let (address, leaves) =
                    self.shared(&place, &inner, (memory, start), access, span)?;
                if let Some(vector) = self.vector_of(frame, pointer, start, span)? {
                    // A component is one leaf.
                    self.program.leaves[leaves.start as usize].vector = Some(vector);
                }
                let values = self.operands(values);
                let instruction = Instruction::Store {
                    address,
                    leaves,
                    values,
                };
                self.push(out, instruction)?;
            }
        }
        Ok(())
    }

    /// If a pointer points to a component of a vector, that vector. `origin` is the first byte of
    /// its variable.
    fn vector_of(
        &self,
        frame: &Frame<'a>,
        pointer: Handle<Expression>,
        origin: u32,
        span: Span,
    ) -> Result<Option<VectorInfo>> {
        // A pointer to a component cannot be passed on, so its base is in this expression.
        let (Expression::Access { base, .. } | Expression::AccessIndex { base, .. }) =
            frame.function.expressions[pointer]
        else {
            return Ok(None);
        };
        Ok(match *self.pointee(self.type_of(frame, base), span)? {
            TypeInner::Vector { size, scalar } => Some(VectorInfo {
                origin,
                bytes: size as u32 * width(scalar),
                alignment: (size as u32).next_power_of_two() * width(scalar),
            }),
            _ => None,
        })
    }

    #[allow(clippy::too_many_arguments)] // As in the statement.
    pub(super) fn atomic(
        &mut self,
        frame: &mut Frame<'a>,
        pointer: Handle<Expression>,
        fun: AtomicFunction,
        value: Handle<Expression>,
        result: Option<Handle<Expression>>,
        span: Span,
        out: &mut Vec<Instruction>,
    ) -> Result<()> {
        use naga::BinaryOperator as Op;
        let place = self.place(frame, pointer, out)?;
        let inner = self.pointee(self.type_of(frame, pointer), span)?;
        let (Root::Shared { memory, start }, TypeInner::Atomic(scalar)) = (place.root, &*inner)
        else {
            return Err(self.unsupported("an atomic operation here", span));
        };
        let scalar = *scalar;
        let update = |op, effect| {
            let function = arithmetic::binary(op, scalar);
            function.map(|function| AtomicOp::Update(function, effect))
        };
        let extremum = |fun, effect| {
            let function = math_of_two(fun, scalar);
            function.map(|function| AtomicOp::Update(function, effect))
        };
        let op = match fun {
            AtomicFunction::Add => update(Op::Add, Effect::Add),
            AtomicFunction::Subtract => update(Op::Subtract, Effect::Add),
            AtomicFunction::And => update(Op::And, Effect::And),
            AtomicFunction::ExclusiveOr => update(Op::ExclusiveOr, Effect::Xor),
            AtomicFunction::InclusiveOr => update(Op::InclusiveOr, Effect::Or),
            AtomicFunction::Min => extremum(naga::MathFunction::Min, Effect::Min),
            AtomicFunction::Max => extremum(naga::MathFunction::Max, Effect::Max),
            AtomicFunction::Exchange { compare: None } => Some(AtomicOp::Exchange),
            AtomicFunction::Exchange {
                compare: Some(compare),
            } => {
                let compare = self.slots(frame, compare, out)?;
                Some(AtomicOp::CompareExchange(self.operands(compare)))
            }
        }
        .ok_or_else(|| self.unsupported("this atomic operation", span))?;
        let value = self.slots(frame, value, out)?;
        let value = self.operands(value);
        let output = match result {
            Some(result) => {
                let count = self.slots_of(self.type_of(frame, result), span)?;
                let output = self.allocate(count, span)?;
                let slots = (output..output + count as u32).collect();
                frame.values[result.index()] = Some(Value::Slots(slots));
                Some(output)
            }
            None => None,
        };
        let name = self.name_of(frame, pointer);
        let access = (AccessKind::Atomic, name);
        let (address, leaves) = self.shared(&place, &inner, (memory, start), access, span)?;
        let leaf = leaves.of(&self.program.leaves)[0];
        let instruction = Instruction::Atomic {
            address,
            leaf,
            op,
            value,
            output,
        };
        self.push(out, instruction)
    }
}

/// Bytes from one column of a matrix to the next: three rows have the stride of four.
const fn column_stride(rows: naga::VectorSize, scalar: Scalar) -> u32 {
    match rows {
        naga::VectorSize::Bi => 2 * width(scalar),
        naga::VectorSize::Tri | naga::VectorSize::Quad => 4 * width(scalar),
    }
}

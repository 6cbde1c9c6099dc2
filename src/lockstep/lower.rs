//! From naga's IR to a [`Program`].

use super::ShaderError;
use super::arithmetic::{self, LaneFn, Math, Shape};
use super::program::{
    Address, AtomicOp, Bound, Builtin, Case, Gather, Instruction, Leaf, MemoryInfo, Program, Range,
    Scan, SiteInfo, Slot,
};
use super::report::{AccessKind, Location, Space};
use naga::{
    AddressSpace, ArraySize, AtomicFunction, Binding, Block, BuiltIn, Constant, Expression,
    Function, GlobalVariable, Handle, Literal, LocalVariable, Module, Scalar, ScalarKind, Span,
    Statement, StorageAccess, SwitchValue, Type, TypeInner, valid::FunctionInfo, valid::ModuleInfo,
};
use std::borrow::Cow;
use std::collections::HashMap;

/// Different constants that a shader may use: their slots lie before all others.
const MOST_CONSTANTS: u32 = 4096;
/// Inlining multiplies; beyond these bounds a shader is refused rather than memory exhausted.
const MOST_INSTRUCTIONS: usize = 1 << 22;
const MOST_SLOTS: u32 = 1 << 18;
/// A called function with more scalars of its own is not merged with its caller: its slots would
/// be taken until the caller's block ends.
const MOST_MERGED_SLOTS: u32 = 64;

type Result<T> = std::result::Result<T, ShaderError>;

/// What an expression stands for.
#[derive(Clone, Debug)]
enum Value {
    Slots(Vec<Slot>),
    Place(Place),
}

#[derive(Clone, Copy, Debug)]
enum Root {
    /// A variable of a lane's own: offsets count slots.
    Private(Slot),
    /// A variable in a memory, at a byte: offsets count bytes.
    Shared { memory: u32, start: u32 },
}

#[derive(Clone, Debug)]
struct Place {
    root: Root,
    constant: u32,
    dynamic: Option<Slot>,
    checks: Vec<u32>,
}

/// A function being inlined.
struct Frame<'a> {
    function: &'a Function,
    info: &'a FunctionInfo,
    arguments: Vec<Value>,
    values: Vec<Option<Value>>,
    locals: HashMap<Handle<LocalVariable>, Slot>,
    /// Where `return` leaves its value; nothing where the last statement's value is used as it is.
    result: Option<Vec<Slot>>,
}

pub(super) fn lower(
    module: &Module,
    info: &ModuleInfo,
    entry: usize,
    source: &str,
) -> Result<Program> {
    let entry_point = &module.entry_points[entry];
    let mut lowering = Lowering {
        module,
        info,
        source,
        program: Program {
            workgroup_size: entry_point.workgroup_size,
            ..Program::default()
        },
        literals: HashMap::new(),
        globals: HashMap::new(),
        locations: HashMap::new(),
        sites: HashMap::new(),
        next: MOST_CONSTANTS,
        instructions: 0,
    };
    lowering.declare_globals(info.get_entry_point(entry))?;
    let function = &entry_point.function;
    let mut arguments = Vec::new();
    for argument in &function.arguments {
        arguments.push(Value::Slots(lowering.declare_input(argument)?));
    }
    let mut frame = Frame::new(
        function,
        info.get_entry_point(entry),
        arguments,
        Some(Vec::new()),
    );
    let mut out = Vec::new();
    lowering.enter(&mut frame, &mut out)?;
    lowering.statements(&mut frame, &function.body, &mut out)?;
    lowering.program.entry = lowering.add_block(out);
    lowering.program.constants = lowering
        .literals
        .iter()
        .map(|(&value, &slot)| (slot, value))
        .collect();
    Ok(lowering.program)
}

impl<'a> Frame<'a> {
    fn new(
        function: &'a Function,
        info: &'a FunctionInfo,
        arguments: Vec<Value>,
        result: Option<Vec<Slot>>,
    ) -> Self {
        Self {
            function,
            info,
            arguments,
            values: vec![None; function.expressions.len()],
            locals: HashMap::new(),
            result,
        }
    }

    fn span(&self, expression: Handle<Expression>) -> Span {
        self.function.expressions.get_span(expression)
    }
}

struct Lowering<'a> {
    module: &'a Module,
    info: &'a ModuleInfo,
    source: &'a str,
    program: Program,
    literals: HashMap<u32, Slot>,
    globals: HashMap<Handle<GlobalVariable>, Root>,
    locations: HashMap<Location, u32>,
    sites: HashMap<SiteInfo, u32>,
    /// The next free slot. Slots of a block are free again where it ends.
    next: Slot,
    instructions: usize,
}

/// Bytes of a scalar in memory. A `bool` takes one, as naga lays it out.
const fn width(scalar: Scalar) -> u32 {
    scalar.width as u32
}

/// The scalars that a value of a type consists of, or `None` for types with no values.
fn scalars(
    types: &naga::UniqueArena<Type>,
    inner: &TypeInner,
    out: &mut Vec<Scalar>,
) -> Option<()> {
    match *inner {
        TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => out.push(scalar),
        TypeInner::Vector { size, scalar } => {
            out.extend(std::iter::repeat_n(scalar, size as usize));
        }
        TypeInner::Matrix {
            columns,
            rows,
            scalar,
        } => out.extend(std::iter::repeat_n(
            scalar,
            columns as usize * rows as usize,
        )),
        TypeInner::Array {
            base,
            size: ArraySize::Constant(count),
            ..
        } => {
            let mut element = Vec::new();
            scalars(types, &types[base].inner, &mut element)?;
            if element.len() as u64 * u64::from(count.get()) > u64::from(MOST_SLOTS) {
                return None;
            }
            for _ in 0..count.get() {
                out.extend_from_slice(&element);
            }
        }
        TypeInner::Struct { ref members, .. } => {
            for member in members {
                scalars(types, &types[member.ty].inner, out)?;
            }
        }
        _ => return None,
    }
    (out.len() <= MOST_SLOTS as usize).then_some(())
}

impl<'a> Lowering<'a> {
    // Errors and places in the source.

    fn locate(&self, span: Span) -> Location {
        if !span.is_defined() || self.source.is_empty() {
            return Location::default();
        }
        let found = span.location(self.source);
        Location {
            line: found.line_number,
            column: found.line_position,
            length: found.length,
        }
    }

    fn location(&mut self, span: Span) -> u32 {
        let location = self.locate(span);
        let known = self.program.locations.len() as u32;
        let index = *self.locations.entry(location).or_insert(known);
        if index == known {
            self.program.locations.push(location);
        }
        index
    }

    fn unsupported(&self, what: impl Into<String>, span: Span) -> ShaderError {
        let location = self.locate(span);
        ShaderError::Unsupported {
            what: what.into(),
            location,
            excerpt: super::excerpt(self.source, location),
        }
    }

    // Slots.

    fn allocate(&mut self, count: usize, span: Span) -> Result<Slot> {
        let start = self.next;
        let end = u64::from(start) + count as u64;
        if end > u64::from(MOST_SLOTS) {
            return Err(self.unsupported(
                format!("more than {MOST_SLOTS} scalars alive in a lane"),
                span,
            ));
        }
        self.next = end as u32;
        self.program.slots = self.program.slots.max(self.next);
        Ok(start)
    }

    fn constant(&mut self, bits: u32, span: Span) -> Result<Slot> {
        let count = self.literals.len() as u32;
        if let Some(&slot) = self.literals.get(&bits) {
            return Ok(slot);
        }
        if count == MOST_CONSTANTS {
            return Err(self.unsupported(
                format!("more than {MOST_CONSTANTS} different constants"),
                span,
            ));
        }
        self.literals.insert(bits, count);
        Ok(count)
    }

    fn push(&mut self, out: &mut Vec<Instruction>, instruction: Instruction) -> Result<()> {
        self.instructions += 1;
        if self.instructions > MOST_INSTRUCTIONS {
            return Err(self.unsupported(
                format!("more than {MOST_INSTRUCTIONS} instructions with all calls inlined"),
                Span::UNDEFINED,
            ));
        }
        out.push(instruction);
        Ok(())
    }

    fn add_block(&mut self, block: Vec<Instruction>) -> u32 {
        self.program.blocks.push(block);
        self.program.blocks.len() as u32 - 1
    }

    fn operands(&mut self, slots: impl IntoIterator<Item = Slot>) -> Range {
        let start = self.program.operands.len() as u32;
        self.program.operands.extend(slots);
        Range {
            start,
            len: self.program.operands.len() as u32 - start,
        }
    }

    fn compute(
        &mut self,
        out: &mut Vec<Instruction>,
        function: LaneFn,
        inputs: impl IntoIterator<Item = Slot>,
        outputs: usize,
        span: Span,
    ) -> Result<Vec<Slot>> {
        let inputs = self.operands(inputs);
        let output = self.allocate(outputs, span)?;
        let outputs = outputs as u32;
        self.push(
            out,
            Instruction::Compute {
                function,
                inputs,
                output,
                outputs,
            },
        )?;
        Ok((output..output + outputs).collect())
    }

    // Types.

    fn scalars_of(&self, inner: &TypeInner, span: Span) -> Result<Vec<Scalar>> {
        let mut out = Vec::new();
        scalars(&self.module.types, inner, &mut out)
            .ok_or_else(|| self.unsupported("a value of this type (or of this size)", span))?;
        Ok(out)
    }

    fn slots_of(&self, inner: &TypeInner, span: Span) -> Result<usize> {
        let scalars = self.scalars_of(inner, span)?;
        Ok(scalars.iter().map(|&s| arithmetic::slots(s)).sum())
    }

    fn inner(&self, ty: Handle<Type>) -> &'a TypeInner {
        &self.module.types[ty].inner
    }

    fn type_of(&self, frame: &Frame<'a>, expression: Handle<Expression>) -> &'a TypeInner {
        frame.info[expression].ty.inner_with(&self.module.types)
    }

    /// What a pointer points to.
    fn pointee(&self, pointer: &'a TypeInner, span: Span) -> Result<Cow<'a, TypeInner>> {
        match *pointer {
            TypeInner::Pointer { base, .. } => Ok(Cow::Borrowed(self.inner(base))),
            TypeInner::ValuePointer {
                size: Some(size),
                scalar,
                ..
            } => Ok(Cow::Owned(TypeInner::Vector { size, scalar })),
            TypeInner::ValuePointer { scalar, .. } => Ok(Cow::Owned(TypeInner::Scalar(scalar))),
            _ => Err(self.unsupported("a pointer of this type", span)),
        }
    }

    /// A type's shape for arithmetic.
    fn shape(&self, inner: &TypeInner, span: Span) -> Result<Shape> {
        let (components, columns, scalar) = match *inner {
            TypeInner::Scalar(scalar) => (1, 1, scalar),
            TypeInner::Vector { size, scalar } => (size as usize, 1, scalar),
            TypeInner::Matrix {
                columns,
                rows,
                scalar,
            } => (rows as usize, columns as usize, scalar),
            _ => return Err(self.unsupported("arithmetic on this type", span)),
        };
        Ok(Shape {
            components,
            columns,
            scalar,
        })
    }

    // Declarations.

    fn declare_globals(&mut self, used: &FunctionInfo) -> Result<()> {
        self.program.memories.push(MemoryInfo {
            space: Space::Workgroup,
            variable: String::new(),
            binding: None,
            writable: true,
            bytes: 0,
            stride: None,
        });
        let mut smallest = 4;
        for (handle, variable) in self.module.global_variables.iter() {
            if used[handle].is_empty() {
                continue;
            }
            let span = self.module.global_variables.get_span(handle);
            let inner = self.inner(variable.ty);
            let name = variable.name.clone().unwrap_or_default();
            let root = match variable.space {
                AddressSpace::Private => {
                    let count = self.slots_of(inner, span)?;
                    let start = self.allocate(count, span)?;
                    let initial = match variable.init {
                        Some(init) => self.global_constant(init)?,
                        None => vec![self.constant(0, span)?; count],
                    };
                    let slots = (start..).zip(initial);
                    self.program.privates.extend(slots);
                    Root::Private(start)
                }
                AddressSpace::WorkGroup => {
                    smallest = smallest.min(self.smallest_scalar(inner));
                    let bytes = inner.size(self.module.to_ctx());
                    let start = self.program.memories[0].bytes;
                    // Sixteen bytes are enough for every alignment.
                    self.program.memories[0].bytes = bytes
                        .checked_next_multiple_of(16)
                        .and_then(|b| b.checked_add(start))
                        .filter(|&b| b <= 1 << 28)
                        .ok_or_else(|| self.unsupported("as much workgroup memory", span))?;
                    Root::Shared { memory: 0, start }
                }
                AddressSpace::Uniform | AddressSpace::Storage { .. } => {
                    smallest = smallest.min(self.smallest_scalar(inner));
                    self.declare_buffer(variable, inner, name, span)?
                }
                _ => {
                    return Err(self.unsupported(
                        "a texture, sampler or other resource that is no buffer",
                        span,
                    ));
                }
            };
            self.globals.insert(handle, root);
        }
        self.program.granule_shift = smallest.trailing_zeros();
        Ok(())
    }

    fn smallest_scalar(&self, inner: &TypeInner) -> u32 {
        match inner {
            TypeInner::Scalar(scalar)
            | TypeInner::Atomic(scalar)
            | TypeInner::Vector { scalar, .. }
            | TypeInner::Matrix { scalar, .. } => width(*scalar),
            TypeInner::Array { base, .. } => self.smallest_scalar(self.inner(*base)),
            TypeInner::Struct { members, .. } => {
                let of = members
                    .iter()
                    .map(|m| self.smallest_scalar(self.inner(m.ty)));
                of.min().unwrap_or(4)
            }
            _ => 4,
        }
    }

    fn declare_buffer(
        &mut self,
        variable: &GlobalVariable,
        inner: &TypeInner,
        name: String,
        span: Span,
    ) -> Result<Root> {
        let Some(binding) = &variable.binding else {
            return Err(self.unsupported("a buffer without a binding", span));
        };
        let (stride, bytes) = match inner {
            TypeInner::Array {
                size: ArraySize::Dynamic,
                stride,
                ..
            } => (Some(*stride), *stride),
            TypeInner::Struct { members, span } => {
                match members.last().map(|m| (m.offset, self.inner(m.ty))) {
                    Some((
                        offset,
                        TypeInner::Array {
                            size: ArraySize::Dynamic,
                            stride,
                            ..
                        },
                    )) => (Some(*stride), offset + stride),
                    _ => (None, *span),
                }
            }
            TypeInner::BindingArray { .. } => {
                return Err(self.unsupported("an array of bindings", span));
            }
            other => (None, other.size(self.module.to_ctx())),
        };
        self.program.memories.push(MemoryInfo {
            space: match variable.space {
                AddressSpace::Uniform => Space::Uniform,
                _ => Space::Storage,
            },
            variable: name,
            binding: Some((binding.group, binding.binding)),
            writable: matches!(variable.space, AddressSpace::Storage { access } if access.intersects(StorageAccess::STORE | StorageAccess::ATOMIC)),
            bytes,
            stride,
        });
        Ok(Root::Shared {
            memory: self.program.memories.len() as u32 - 1,
            start: 0,
        })
    }

    fn declare_input(&mut self, argument: &naga::FunctionArgument) -> Result<Vec<Slot>> {
        let span = Span::UNDEFINED;
        let inputs: Vec<(Option<&Binding>, Handle<Type>)> =
            match (&argument.binding, self.inner(argument.ty)) {
                (None, TypeInner::Struct { members, .. }) => {
                    members.iter().map(|m| (m.binding.as_ref(), m.ty)).collect()
                }
                (binding, _) => vec![(binding.as_ref(), argument.ty)],
            };
        let mut slots = Vec::new();
        for (binding, ty) in inputs {
            let Some(Binding::BuiltIn(builtin)) = binding else {
                return Err(self.unsupported("an input that is no built-in value", span));
            };
            let count = self.slots_of(self.inner(ty), span)?;
            let start = self.allocate(count, span)?;
            for i in 0..count as u32 {
                let input = match builtin {
                    BuiltIn::GlobalInvocationId => Builtin::GlobalInvocationId(i),
                    BuiltIn::LocalInvocationId => Builtin::LocalInvocationId(i),
                    BuiltIn::LocalInvocationIndex => Builtin::LocalInvocationIndex,
                    BuiltIn::WorkGroupId => Builtin::WorkgroupId(i),
                    BuiltIn::NumWorkGroups => Builtin::NumWorkgroups(i),
                    BuiltIn::WorkGroupSize => Builtin::WorkgroupSize(i),
                    BuiltIn::SubgroupSize => Builtin::SubgroupSize,
                    BuiltIn::SubgroupInvocationId => Builtin::SubgroupInvocationId,
                    BuiltIn::SubgroupId => Builtin::SubgroupId,
                    BuiltIn::NumSubgroups => Builtin::NumSubgroups,
                    other => return Err(self.unsupported(format!("the built-in {other:?}"), span)),
                };
                self.program.builtins.push((start + i, input));
            }
            slots.extend(start..start + count as u32);
        }
        Ok(slots)
    }

    // Constants.

    fn literal(&mut self, literal: Literal, span: Span) -> Result<Vec<Slot>> {
        let two = |bits: u64| vec![bits as u32, (bits >> 32) as u32];
        let words = match literal {
            Literal::U32(value) => vec![value],
            Literal::I32(value) => vec![value.cast_unsigned()],
            Literal::F32(value) => vec![value.to_bits()],
            Literal::Bool(value) => vec![u32::from(value)],
            Literal::F16(value) => vec![u32::from(value.to_bits())],
            Literal::U16(value) => vec![u32::from(value)],
            Literal::I16(value) => vec![u32::from(value.cast_unsigned())],
            Literal::U64(value) => two(value),
            Literal::I64(value) => two(value.cast_unsigned()),
            Literal::F64(value) => two(value.to_bits()),
            _ => return Err(self.unsupported("a literal of this type", span)),
        };
        words.into_iter().map(|w| self.constant(w, span)).collect()
    }

    /// The slots of a module-scope constant expression.
    fn global_constant(&mut self, expression: Handle<Expression>) -> Result<Vec<Slot>> {
        let span = self.module.global_expressions.get_span(expression);
        match self.module.global_expressions[expression] {
            Expression::Literal(literal) => self.literal(literal, span),
            Expression::Constant(constant) => self.named_constant(constant),
            Expression::ZeroValue(ty) => {
                let count = self.slots_of(self.inner(ty), span)?;
                Ok(vec![self.constant(0, span)?; count])
            }
            Expression::Compose { ref components, .. } => {
                let mut slots = Vec::new();
                for &component in components {
                    slots.extend(self.global_constant(component)?);
                }
                Ok(slots)
            }
            Expression::Splat { size, value } => {
                let one = self.global_constant(value)?;
                Ok(one.repeat(size as usize))
            }
            _ => Err(self.unsupported("a constant of this form", span)),
        }
    }

    fn named_constant(&mut self, constant: Handle<Constant>) -> Result<Vec<Slot>> {
        self.global_constant(self.module.constants[constant].init)
    }

    // Expressions.

    fn value(
        &mut self,
        frame: &mut Frame<'a>,
        expression: Handle<Expression>,
        out: &mut Vec<Instruction>,
    ) -> Result<Value> {
        if let Some(value) = &frame.values[expression.index()] {
            return Ok(value.clone());
        }
        let value = self.evaluate(frame, expression, out)?;
        frame.values[expression.index()] = Some(value.clone());
        Ok(value)
    }

    fn slots(
        &mut self,
        frame: &mut Frame<'a>,
        expression: Handle<Expression>,
        out: &mut Vec<Instruction>,
    ) -> Result<Vec<Slot>> {
        match self.value(frame, expression, out)? {
            Value::Slots(slots) => Ok(slots),
            Value::Place(_) => {
                Err(self.unsupported("a pointer as a value", frame.span(expression)))
            }
        }
    }

    fn slot(
        &mut self,
        frame: &mut Frame<'a>,
        expression: Handle<Expression>,
        out: &mut Vec<Instruction>,
    ) -> Result<Slot> {
        let slots = self.slots(frame, expression, out)?;
        slots
            .first()
            .copied()
            .ok_or_else(|| self.unsupported("a value of no size", frame.span(expression)))
    }

    fn place(
        &mut self,
        frame: &mut Frame<'a>,
        expression: Handle<Expression>,
        out: &mut Vec<Instruction>,
    ) -> Result<Place> {
        match self.value(frame, expression, out)? {
            Value::Place(place) => Ok(place),
            Value::Slots(_) => {
                Err(self.unsupported("a value as a pointer", frame.span(expression)))
            }
        }
    }

    #[allow(clippy::too_many_lines)] // One arm an expression: shorter in no other order.
    fn evaluate(
        &mut self,
        frame: &mut Frame<'a>,
        expression: Handle<Expression>,
        out: &mut Vec<Instruction>,
    ) -> Result<Value> {
        let span = frame.span(expression);
        let function = frame.function;
        let slots = match function.expressions[expression] {
            Expression::Literal(literal) => self.literal(literal, span)?,
            Expression::Constant(constant) => self.named_constant(constant)?,
            Expression::ZeroValue(ty) => {
                let count = self.slots_of(self.inner(ty), span)?;
                vec![self.constant(0, span)?; count]
            }
            Expression::Compose { ref components, .. } => {
                let mut slots = Vec::new();
                for &component in components {
                    slots.extend(self.slots(frame, component, out)?);
                }
                slots
            }
            Expression::Splat { size, value } => {
                self.slots(frame, value, out)?.repeat(size as usize)
            }
            Expression::Swizzle {
                size,
                vector,
                pattern,
            } => {
                let slots = self.slots(frame, vector, out)?;
                let each = self.slots_each(frame, vector)?;
                let of = |c: &naga::SwizzleComponent| slots[*c as usize * each..][..each].to_vec();
                pattern[..size as usize].iter().flat_map(of).collect()
            }
            Expression::FunctionArgument(index) => {
                return Ok(frame.arguments[index as usize].clone());
            }
            Expression::GlobalVariable(variable) => {
                let Some(&root) = self.globals.get(&variable) else {
                    return Err(self.unsupported("this variable", span));
                };
                return Ok(Value::Place(Place::at(root)));
            }
            Expression::LocalVariable(variable) => {
                return Ok(Value::Place(Place::at(Root::Private(
                    frame.locals[&variable],
                ))));
            }
            Expression::Access { base, index } => {
                return self.access(frame, base, index, span, out);
            }
            Expression::AccessIndex { base, index } => {
                return self.access_index(frame, base, index, span, out);
            }
            Expression::Load { pointer } => {
                let place = self.place(frame, pointer, out)?;
                let inner = self.pointee(self.type_of(frame, pointer), span)?;
                let kind = match *inner {
                    TypeInner::Atomic(_) => AccessKind::Atomic,
                    _ => AccessKind::Load,
                };
                self.load(
                    &place,
                    &inner,
                    kind,
                    self.name_of(frame, pointer),
                    span,
                    out,
                )?
            }
            Expression::Unary { op, expr } => {
                let shape = self.shape(self.type_of(frame, expr), span)?;
                let function = arithmetic::unary(op, shape.scalar)
                    .ok_or_else(|| self.unsupported(format!("{op:?} on this type"), span))?;
                let value = self.slots(frame, expr, out)?;
                self.each_component(out, function, shape.scalar, &[(value, shape.scalar)], span)?
            }
            Expression::Binary { op, left, right } => {
                self.binary(frame, op, left, right, span, out)?
            }
            Expression::Select {
                condition,
                accept,
                reject,
            } => {
                let shape = self.shape(self.type_of(frame, accept), span)?;
                let accept = self.slots(frame, accept, out)?;
                let reject = self.slots(frame, reject, out)?;
                let condition = self.slots(frame, condition, out)?;
                let function = arithmetic::select(shape.scalar);
                let inputs = [
                    (reject, shape.scalar),
                    (accept, shape.scalar),
                    (condition, Scalar::BOOL),
                ];
                self.each_component(out, function, shape.scalar, &inputs, span)?
            }
            Expression::Relational { fun, argument } => {
                let shape = self.shape(self.type_of(frame, argument), span)?;
                let value = self.slots(frame, argument, out)?;
                match arithmetic::relational(fun, shape.scalar) {
                    Some(Math::PerComponent(function)) => {
                        let inputs = [(value, shape.scalar)];
                        self.each_component(out, function, Scalar::BOOL, &inputs, span)?
                    }
                    Some(Math::Whole(function)) => self.compute(out, function, value, 1, span)?,
                    None => return Err(self.unsupported(format!("{fun:?}"), span)),
                }
            }
            Expression::Math {
                fun,
                arg,
                arg1,
                arg2,
                arg3,
            } => {
                let arguments: Vec<_> = [Some(arg), arg1, arg2, arg3]
                    .into_iter()
                    .flatten()
                    .collect();
                self.math(frame, expression, fun, &arguments, out)?
            }
            Expression::As {
                expr,
                kind,
                convert,
            } => {
                let shape = self.shape(self.type_of(frame, expr), span)?;
                let value = self.slots(frame, expr, out)?;
                let from = shape.scalar;
                let to = Scalar {
                    kind,
                    width: convert.unwrap_or(from.width),
                };
                if from == to || (convert.is_none() && from.kind != ScalarKind::Bool) {
                    value
                } else {
                    let function = arithmetic::cast(from, kind, convert)
                        .ok_or_else(|| self.unsupported("this conversion", span))?;
                    self.each_component(out, function, to, &[(value, from)], span)?
                }
            }
            Expression::ArrayLength(pointer) => {
                let place = self.place(frame, pointer, out)?;
                let inner = self.pointee(self.type_of(frame, pointer), span)?;
                let (Root::Shared { memory, start }, TypeInner::Array { stride, .. }, None) =
                    (place.root, &*inner, place.dynamic)
                else {
                    return Err(self.unsupported("the length of this array", span));
                };
                let output = self.allocate(1, span)?;
                let instruction = Instruction::ArrayLength {
                    memory,
                    before: start + place.constant,
                    stride: *stride,
                    output,
                };
                self.push(out, instruction)?;
                vec![output]
            }
            ref other => {
                let name = format!("{other:?}");
                let name = name
                    .split([' ', '(', '{'])
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                return Err(self.unsupported(name, span));
            }
        };
        Ok(Value::Slots(slots))
    }

    /// Slots of a component of a vector, or an element of an array.
    fn slots_each(&self, frame: &Frame<'a>, vector: Handle<Expression>) -> Result<usize> {
        let span = frame.span(vector);
        match *self.type_of(frame, vector) {
            TypeInner::Vector { scalar, .. } => Ok(arithmetic::slots(scalar)),
            TypeInner::Matrix { rows, scalar, .. } => Ok(rows as usize * arithmetic::slots(scalar)),
            TypeInner::Array { base, .. } => self.slots_of(self.inner(base), span),
            _ => Err(self.unsupported("an index into this type", span)),
        }
    }

    /// Applies a function to each component; a scalar goes with every component of the others.
    fn each_component(
        &mut self,
        out: &mut Vec<Instruction>,
        function: LaneFn,
        result: Scalar,
        inputs: &[(Vec<Slot>, Scalar)],
        span: Span,
    ) -> Result<Vec<Slot>> {
        let count =
            |(slots, scalar): &(Vec<Slot>, Scalar)| slots.len() / arithmetic::slots(*scalar);
        let components = inputs.iter().map(count).max().unwrap_or(0);
        let mut results = Vec::new();
        for i in 0..components {
            let mut operands = Vec::new();
            for input in inputs {
                let each = arithmetic::slots(input.1);
                let at = if count(input) == 1 { 0 } else { i };
                operands.extend_from_slice(&input.0[at * each..][..each]);
            }
            results.extend(self.compute(
                out,
                function,
                operands,
                arithmetic::slots(result),
                span,
            )?);
        }
        Ok(results)
    }

    fn binary(
        &mut self,
        frame: &mut Frame<'a>,
        op: naga::BinaryOperator,
        left: Handle<Expression>,
        right: Handle<Expression>,
        span: Span,
        out: &mut Vec<Instruction>,
    ) -> Result<Vec<Slot>> {
        use naga::BinaryOperator as Op;
        let a = self.shape(self.type_of(frame, left), span)?;
        let b = self.shape(self.type_of(frame, right), span)?;
        let left = self.slots(frame, left, out)?;
        let right = self.slots(frame, right, out)?;
        let is_scalar = |s: Shape| s.components == 1 && s.columns == 1;
        if op == Op::Multiply && a.columns.max(b.columns) > 1 && !is_scalar(a) && !is_scalar(b) {
            let function = arithmetic::matrix_multiply(a, b)
                .ok_or_else(|| self.unsupported("this product of matrices", span))?;
            // A column vector on the right gives one, a row vector on the left gives one.
            let elements = if a.columns == 1 {
                b.columns
            } else {
                a.components * b.columns
            };
            let outputs = elements * arithmetic::slots(a.scalar);
            return self.compute(out, function, left.into_iter().chain(right), outputs, span);
        }
        let function = arithmetic::binary(op, a.scalar)
            .ok_or_else(|| self.unsupported(format!("{op:?} on this type"), span))?;
        let result = match op {
            Op::Equal
            | Op::NotEqual
            | Op::Less
            | Op::LessEqual
            | Op::Greater
            | Op::GreaterEqual
            | Op::LogicalAnd
            | Op::LogicalOr => Scalar::BOOL,
            _ => a.scalar,
        };
        let inputs = [(left, a.scalar), (right, b.scalar)];
        self.each_component(out, function, result, &inputs, span)
    }

    fn math(
        &mut self,
        frame: &mut Frame<'a>,
        expression: Handle<Expression>,
        fun: naga::MathFunction,
        arguments: &[Handle<Expression>],
        out: &mut Vec<Instruction>,
    ) -> Result<Vec<Slot>> {
        let span = frame.span(expression);
        let mut shapes = Vec::new();
        let mut inputs = Vec::new();
        for &argument in arguments {
            let shape = self.shape(self.type_of(frame, argument), span)?;
            shapes.push(shape);
            inputs.push((self.slots(frame, argument, out)?, shape.scalar));
        }
        match arithmetic::math(fun, &shapes) {
            Some(Math::PerComponent(function)) => {
                let result = self.shape(self.type_of(frame, expression), span)?.scalar;
                self.each_component(out, function, result, &inputs, span)
            }
            Some(Math::Whole(function)) => {
                let outputs = self.slots_of(self.type_of(frame, expression), span)?;
                let inputs = inputs.into_iter().flat_map(|input| input.0);
                self.compute(out, function, inputs, outputs, span)
            }
            None => Err(self.unsupported(format!("{fun:?} on these types"), span)),
        }
    }

    // Pointers.

    /// The name of the variable that a pointer leads to.
    fn name_of(&self, frame: &Frame<'a>, pointer: Handle<Expression>) -> String {
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

    fn access_index(
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
                let (before, count) = match base_type {
                    TypeInner::Struct { members, .. } => {
                        let mut before = 0;
                        for member in &members[..index as usize] {
                            before += self.slots_of(self.inner(member.ty), span)?;
                        }
                        let member = &members[index as usize];
                        (before, self.slots_of(self.inner(member.ty), span)?)
                    }
                    _ => {
                        let each = self.slots_each(frame, base)?;
                        (each * index as usize, each)
                    }
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
                        let mut before = 0;
                        for member in &members[..index as usize] {
                            before += self.slots_of(self.inner(member.ty), span)? as u32;
                        }
                        before
                    }
                    _ => {
                        let (stride, count) = self.elements(&inner, place.root, span)?;
                        if count.is_none() {
                            // Only the length of the buffer tells whether there is such an element.
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

    /// The distance of the elements of an array, vector or matrix, and their number, if it is fixed.
    fn elements(&self, inner: &TypeInner, root: Root, span: Span) -> Result<(u32, Option<u32>)> {
        let private = matches!(root, Root::Private(_));
        Ok(match *inner {
            TypeInner::Array { base, size, stride } => {
                let count = match size {
                    ArraySize::Constant(count) => Some(count.get()),
                    ArraySize::Dynamic => None,
                    ArraySize::Pending(_) => {
                        return Err(self.unsupported("an array whose length is an override", span));
                    }
                };
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

    fn access(
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

    fn index_place(
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

    fn checks(&mut self, place: &Place) -> Range {
        let start = self.program.checks.len() as u32;
        self.program.checks.extend_from_slice(&place.checks);
        Range {
            start,
            len: place.checks.len() as u32,
        }
    }

    /// Takes a type in memory apart into vectors and scalars.
    fn flatten(
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
            TypeInner::Array {
                base,
                size: ArraySize::Constant(count),
                stride,
            } => {
                for i in 0..count.get() {
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
        };
        leaf.site = self.site(SiteInfo {
            bytes: leaf.bytes(),
            ..site.clone()
        });
        leaves.push(leaf);
        Ok(())
    }

    fn site(&mut self, site: SiteInfo) -> u32 {
        let known = self.program.sites.len() as u32;
        let index = *self.sites.entry(site.clone()).or_insert(known);
        if index == known {
            self.program.sites.push(site);
        }
        index
    }

    fn leaves(
        &mut self,
        inner: &TypeInner,
        memory: u32,
        kind: AccessKind,
        variable: String,
        span: Span,
    ) -> Result<(Range, u32)> {
        // The size is checked where it could be great.
        self.scalars_of(inner, span)?;
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
        let start = self.program.leaves.len() as u32;
        self.program.leaves.extend_from_slice(&leaves);
        let len = leaves.len() as u32;
        Ok((Range { start, len }, location))
    }

    fn load(
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
            (Root::Shared { memory, start }, offset) => {
                let (leaves, location) = self.leaves(inner, memory, kind, variable, span)?;
                let address = Address {
                    memory,
                    base: start + place.constant,
                    offset,
                    checks,
                    location,
                };
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

    fn store(
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
            (Root::Shared { memory, start }, offset) => {
                let inner = self.pointee(self.type_of(frame, pointer), span)?;
                let kind = match *inner {
                    TypeInner::Atomic(_) => AccessKind::Atomic,
                    _ => AccessKind::Store,
                };
                let name = self.name_of(frame, pointer);
                let (leaves, location) = self.leaves(&inner, memory, kind, name, span)?;
                let values = self.operands(values);
                let address = Address {
                    memory,
                    base: start + place.constant,
                    offset,
                    checks,
                    location,
                };
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

    fn atomic(
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
        let update = |op| arithmetic::binary(op, scalar).map(AtomicOp::Update);
        let extremum = |fun| {
            let shape = Shape {
                components: 1,
                columns: 1,
                scalar,
            };
            match arithmetic::math(fun, &[shape, shape]) {
                Some(Math::PerComponent(function)) => Some(AtomicOp::Update(function)),
                _ => None,
            }
        };
        let op = match fun {
            AtomicFunction::Add => update(Op::Add),
            AtomicFunction::Subtract => update(Op::Subtract),
            AtomicFunction::And => update(Op::And),
            AtomicFunction::ExclusiveOr => update(Op::ExclusiveOr),
            AtomicFunction::InclusiveOr => update(Op::InclusiveOr),
            AtomicFunction::Min => extremum(naga::MathFunction::Min),
            AtomicFunction::Max => extremum(naga::MathFunction::Max),
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
        let (leaves, location) = self.leaves(&inner, memory, AccessKind::Atomic, name, span)?;
        let leaf = leaves.of(&self.program.leaves)[0];
        let checks = self.checks(&place);
        let address = Address {
            memory,
            base: start + place.constant,
            offset: place.dynamic,
            checks,
            location,
        };
        let instruction = Instruction::Atomic {
            address,
            leaf,
            op,
            value,
            output,
        };
        self.push(out, instruction)
    }

    // Statements.

    /// Gives a function's variables their first values.
    fn enter(&mut self, frame: &mut Frame<'a>, out: &mut Vec<Instruction>) -> Result<()> {
        for (handle, variable) in frame.function.local_variables.iter() {
            let span = frame.function.local_variables.get_span(handle);
            let count = self.slots_of(self.inner(variable.ty), span)?;
            let start = self.allocate(count, span)?;
            frame.locals.insert(handle, start);
            let initial = match variable.init {
                Some(init) => self.slots(frame, init, out)?,
                None => vec![self.constant(0, span)?; count],
            };
            for (to, from) in (start..).zip(initial) {
                self.push(out, Instruction::Assign { from, to })?;
            }
        }
        Ok(())
    }

    /// Lowers a block of its own; its slots are free again afterwards.
    fn block(&mut self, frame: &mut Frame<'a>, block: &'a Block) -> Result<u32> {
        let mark = self.next;
        let mut out = Vec::new();
        self.statements(frame, block, &mut out)?;
        self.next = mark;
        Ok(self.add_block(out))
    }

    #[allow(clippy::too_many_lines)] // One arm a statement: shorter in no other order.
    fn statements(
        &mut self,
        frame: &mut Frame<'a>,
        block: &'a Block,
        out: &mut Vec<Instruction>,
    ) -> Result<()> {
        for (statement, &span) in block.span_iter() {
            match *statement {
                Statement::Emit(ref range) => {
                    for expression in range.clone() {
                        let value = self.evaluate(frame, expression, out)?;
                        frame.values[expression.index()] = Some(value);
                    }
                }
                Statement::Block(ref inner) => self.statements(frame, inner, out)?,
                Statement::If {
                    condition,
                    ref accept,
                    ref reject,
                } => {
                    let condition = self.slot(frame, condition, out)?;
                    let accept = self.block(frame, accept)?;
                    let reject = self.block(frame, reject)?;
                    let instruction = Instruction::If {
                        condition,
                        accept,
                        reject,
                    };
                    self.push(out, instruction)?;
                }
                Statement::Switch {
                    selector,
                    ref cases,
                } => {
                    let selector = self.slot(frame, selector, out)?;
                    let mut lowered = Vec::new();
                    for case in cases {
                        lowered.push(Case {
                            value: match case.value {
                                SwitchValue::I32(value) => Some(value.cast_unsigned()),
                                SwitchValue::U32(value) => Some(value),
                                SwitchValue::Default => None,
                            },
                            body: self.block(frame, &case.body)?,
                            fall_through: case.fall_through,
                        });
                    }
                    let start = self.program.cases.len() as u32;
                    let len = lowered.len() as u32;
                    self.program.cases.extend(lowered);
                    let cases = Range { start, len };
                    self.push(out, Instruction::Switch { selector, cases })?;
                }
                Statement::Loop {
                    ref body,
                    ref continuing,
                    break_if,
                } => {
                    // What the body computes is seen by the continuing block and by `break if`.
                    let mark = self.next;
                    let mut code = Vec::new();
                    self.statements(frame, body, &mut code)?;
                    let mut after = Vec::new();
                    self.statements(frame, continuing, &mut after)?;
                    let break_if = match break_if {
                        Some(condition) => Some(self.slot(frame, condition, &mut after)?),
                        None => None,
                    };
                    self.next = mark;
                    let instruction = Instruction::Loop {
                        body: self.add_block(code),
                        continuing: self.add_block(after),
                        break_if,
                        location: self.location(span),
                    };
                    self.push(out, instruction)?;
                }
                Statement::Break => self.push(out, Instruction::Break)?,
                Statement::Continue => self.push(out, Instruction::Continue)?,
                Statement::Return { value } => {
                    if let (Some(result), Some(value)) = (frame.result.clone(), value) {
                        let values = self.slots(frame, value, out)?;
                        for (to, from) in result.into_iter().zip(values) {
                            self.push(out, Instruction::Assign { from, to })?;
                        }
                    }
                    if frame.result.is_some() {
                        self.push(out, Instruction::Return)?;
                    }
                }
                Statement::ControlBarrier(flags) => {
                    let instruction = Instruction::Barrier {
                        workgroup: flags.contains(naga::Barrier::WORK_GROUP),
                        storage: flags.contains(naga::Barrier::STORAGE),
                        subgroup: flags == naga::Barrier::SUB_GROUP,
                        location: self.location(span),
                    };
                    self.push(out, instruction)?;
                }
                // It orders one lane's accesses, which alone orders no two lanes.
                Statement::MemoryBarrier(_) => {}
                Statement::Store { pointer, value } => {
                    self.store(frame, pointer, value, span, out)?;
                }
                Statement::Atomic {
                    pointer,
                    fun,
                    value,
                    result,
                } => self.atomic(frame, pointer, fun, value, result, span, out)?,
                Statement::WorkGroupUniformLoad { pointer, result } => {
                    let barrier = Instruction::Barrier {
                        workgroup: true,
                        storage: false,
                        subgroup: false,
                        location: self.location(span),
                    };
                    self.push(out, barrier)?;
                    let place = self.place(frame, pointer, out)?;
                    let inner = self.pointee(self.type_of(frame, pointer), span)?;
                    let name = self.name_of(frame, pointer);
                    let slots = self.load(&place, &inner, AccessKind::Load, name, span, out)?;
                    frame.values[result.index()] = Some(Value::Slots(slots));
                    self.push(out, barrier)?;
                }
                Statement::Call {
                    function,
                    ref arguments,
                    result,
                } => self.call(frame, function, arguments, result, span, out)?,
                Statement::SubgroupBallot { result, predicate } => {
                    let predicate = match predicate {
                        Some(predicate) => Some(self.slot(frame, predicate, out)?),
                        None => None,
                    };
                    let output = self.allocate(4, span)?;
                    frame.values[result.index()] =
                        Some(Value::Slots((output..output + 4).collect()));
                    self.push(out, Instruction::Ballot { predicate, output })?;
                }
                Statement::SubgroupGather {
                    mode,
                    argument,
                    result,
                } => self.gather(frame, mode, argument, result, span, out)?,
                Statement::SubgroupCollectiveOperation {
                    op,
                    collective_op,
                    argument,
                    result,
                } => self.collective(frame, op, collective_op, argument, result, span, out)?,
                ref other => {
                    let name = format!("{other:?}");
                    let name = name
                        .split([' ', '(', '{'])
                        .next()
                        .unwrap_or_default()
                        .to_owned();
                    return Err(self.unsupported(name, span));
                }
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        frame: &mut Frame<'a>,
        callee: Handle<Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
        span: Span,
        out: &mut Vec<Instruction>,
    ) -> Result<()> {
        let function = &self.module.functions[callee];
        let mut values = Vec::new();
        for &argument in arguments {
            values.push(self.value(frame, argument, out)?);
        }
        let mut locals = 0;
        for (_, variable) in function.local_variables.iter() {
            locals += self.slots_of(self.inner(variable.ty), span)?;
        }
        if returns_last(&function.body) && locals as u32 <= MOST_MERGED_SLOTS {
            let mut inner = Frame::new(function, &self.info[callee], values, None);
            self.enter(&mut inner, out)?;
            self.statements(&mut inner, &function.body, out)?;
            if let (Some(result), Some(Statement::Return { value: Some(value) })) =
                (result, function.body.last())
            {
                let slots = self.slots(&mut inner, *value, out)?;
                frame.values[result.index()] = Some(Value::Slots(slots));
            }
            return Ok(());
        }
        let count = match &function.result {
            Some(result) => self.slots_of(self.inner(result.ty), span)?,
            None => 0,
        };
        let start = self.allocate(count, span)?;
        let slots: Vec<Slot> = (start..start + count as u32).collect();
        let mark = self.next;
        let mut inner = Frame::new(function, &self.info[callee], values, Some(slots.clone()));
        let mut code = Vec::new();
        self.enter(&mut inner, &mut code)?;
        self.statements(&mut inner, &function.body, &mut code)?;
        self.next = mark;
        let body = self.add_block(code);
        self.push(out, Instruction::Call { body })?;
        if let Some(result) = result {
            frame.values[result.index()] = Some(Value::Slots(slots));
        }
        Ok(())
    }

    // Subgroups.

    fn gather(
        &mut self,
        frame: &mut Frame<'a>,
        mode: naga::GatherMode,
        argument: Handle<Expression>,
        result: Handle<Expression>,
        span: Span,
        out: &mut Vec<Instruction>,
    ) -> Result<()> {
        use naga::GatherMode as Mode;
        let mode = match mode {
            Mode::BroadcastFirst => Gather::First,
            Mode::Broadcast(lane) | Mode::Shuffle(lane) => {
                Gather::Lane(self.slot(frame, lane, out)?)
            }
            Mode::ShuffleDown(by) => Gather::Down(self.slot(frame, by, out)?),
            Mode::ShuffleUp(by) => Gather::Up(self.slot(frame, by, out)?),
            Mode::ShuffleXor(by) => Gather::Xor(self.slot(frame, by, out)?),
            Mode::QuadBroadcast(lane) => Gather::Quad(self.slot(frame, lane, out)?),
            Mode::QuadSwap(direction) => Gather::QuadSwap(match direction {
                naga::Direction::X => 1,
                naga::Direction::Y => 2,
                naga::Direction::Diagonal => 3,
            }),
        };
        let values = self.slots(frame, argument, out)?;
        let output = self.allocate(values.len(), span)?;
        let slots = (output..output + values.len() as u32).collect();
        for (output, from) in (output..).zip(values) {
            self.push(out, Instruction::Gather { mode, from, output })?;
        }
        frame.values[result.index()] = Some(Value::Slots(slots));
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn collective(
        &mut self,
        frame: &mut Frame<'a>,
        op: naga::SubgroupOperation,
        collective: naga::CollectiveOperation,
        argument: Handle<Expression>,
        result: Handle<Expression>,
        span: Span,
        out: &mut Vec<Instruction>,
    ) -> Result<()> {
        use naga::SubgroupOperation as Op;
        let shape = self.shape(self.type_of(frame, argument), span)?;
        let scalar = shape.scalar;
        let binary = |op| arithmetic::binary(op, scalar);
        let extremum = |fun| {
            let one = Shape {
                components: 1,
                columns: 1,
                scalar,
            };
            match arithmetic::math(fun, &[one, one]) {
                Some(Math::PerComponent(function)) => Some(function),
                _ => None,
            }
        };
        // Only sums and products have exclusive scans, so only theirs is ever used.
        let one = match (op, scalar.kind, scalar.width) {
            (Op::Mul, ScalarKind::Float, 4) => Literal::F32(1.0),
            (Op::Mul, ScalarKind::Float, 8) => Literal::F64(1.0),
            (Op::Mul, ScalarKind::Float, 2) => {
                return Err(self.unsupported("a product of f16 over a subgroup", span));
            }
            (Op::Mul, _, 8) => Literal::U64(1),
            (Op::Mul, ..) => Literal::U32(1),
            (_, _, 8) => Literal::U64(0),
            _ => Literal::U32(0),
        };
        let function = match op {
            Op::All => binary(naga::BinaryOperator::LogicalAnd),
            Op::Any => binary(naga::BinaryOperator::LogicalOr),
            Op::Add => binary(naga::BinaryOperator::Add),
            Op::Mul => binary(naga::BinaryOperator::Multiply),
            Op::Min => extremum(naga::MathFunction::Min),
            Op::Max => extremum(naga::MathFunction::Max),
            Op::And => binary(naga::BinaryOperator::And),
            Op::Or => binary(naga::BinaryOperator::InclusiveOr),
            Op::Xor => binary(naga::BinaryOperator::ExclusiveOr),
        }
        .ok_or_else(|| self.unsupported(format!("{op:?} over a subgroup"), span))?;
        let scan = match collective {
            naga::CollectiveOperation::Reduce => Scan::All,
            naga::CollectiveOperation::InclusiveScan => Scan::Inclusive,
            naga::CollectiveOperation::ExclusiveScan => Scan::Exclusive,
        };
        let identity = self.literal(one, span)?;
        let identity = self.operands(identity);
        let values = self.slots(frame, argument, out)?;
        let each = arithmetic::slots(scalar);
        let output = self.allocate(values.len(), span)?;
        for (i, component) in values.chunks(each).enumerate() {
            let value = self.operands(component.iter().copied());
            let instruction = Instruction::Collective {
                function,
                scan,
                value,
                identity,
                output: output + (i * each) as u32,
            };
            self.push(out, instruction)?;
        }
        let slots = (output..output + values.len() as u32).collect();
        frame.values[result.index()] = Some(Value::Slots(slots));
        Ok(())
    }
}

impl Place {
    const fn at(root: Root) -> Self {
        Self {
            root,
            constant: 0,
            dynamic: None,
            checks: Vec::new(),
        }
    }
}

/// Bytes from one column of a matrix to the next: three rows take as much as four.
const fn column_stride(rows: naga::VectorSize, scalar: Scalar) -> u32 {
    match rows {
        naga::VectorSize::Bi => 2 * width(scalar),
        naga::VectorSize::Tri | naga::VectorSize::Quad => 4 * width(scalar),
    }
}

/// Whether a function's only `return` is its last statement: then it is as good as no call.
fn returns_last(body: &Block) -> bool {
    fn returns(statements: &[Statement]) -> bool {
        statements.iter().any(|statement| match statement {
            Statement::Return { .. } | Statement::Kill => true,
            Statement::Block(block) => returns(block),
            Statement::If { accept, reject, .. } => returns(accept) || returns(reject),
            Statement::Switch { cases, .. } => cases.iter().any(|case| returns(&case.body)),
            Statement::Loop {
                body, continuing, ..
            } => returns(body) || returns(continuing),
            _ => false,
        })
    }
    match body.split_last() {
        Some((Statement::Return { .. }, before)) => !returns(before),
        _ => !returns(body),
    }
}

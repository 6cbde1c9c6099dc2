//! Lowers naga's IR to a [`Program`].

mod declarations;
mod expressions;
mod places;
mod statements;
mod subgroups;

use crate::arithmetic::{self, LaneFn, Shape};
use crate::error::ShaderError;
use crate::program::{Instruction, Program, Range, SiteInfo, Slot};
use crate::report::Location;
use naga::{
    ArraySize, Expression, Function, GlobalVariable, Handle, LocalVariable, Module, Scalar, Span,
    Type, TypeInner, valid::FunctionInfo, valid::ModuleInfo,
};
use std::borrow::Cow;
use std::collections::HashMap;

/// Maximum number of different constants. Their slots precede all others.
const MOST_CONSTANTS: u32 = 4096;
/// Inlining multiplies code. Above these limits a shader is refused, before memory runs out.
const MOST_INSTRUCTIONS: usize = 1 << 22;
/// Limit on statements, expressions and the scalars of their values, with all calls inlined: a tree
/// of calls may have no instruction, and an array value may be long.
const MOST_WORK: usize = 1 << 24;
const MOST_SLOTS: u32 = 1 << 18;
/// A called function with more scalars is not merged with its caller: its slots would be in use
/// until the caller's block ends.
const MOST_MERGED_SLOTS: u32 = 64;
/// Limit on nested blocks and calls, and on nested types. Each level needs stack, which may be
/// small in a thread.
const MOST_NESTED: u32 = 256;

type Result<T> = std::result::Result<T, ShaderError>;

/// The value of an expression.
#[derive(Clone, Debug)]
enum Value {
    Slots(Vec<Slot>),
    Place(Place),
}

#[derive(Clone, Copy, Debug)]
enum Root {
    /// A lane's own variable; offsets count slots.
    Private(Slot),
    /// A variable in a shared memory, with its first byte; offsets count bytes.
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
    /// The slots for the value of `return`, or `None` if the value of the last statement is used
    /// directly.
    result: Option<Vec<Slot>>,
}

pub(crate) fn lower(
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
        lines: std::iter::once(0)
            .chain(source.match_indices('\n').map(|(at, _)| at + 1))
            .collect(),
        program: Program {
            workgroup_size: entry_point.workgroup_size,
            ..Program::default()
        },
        literals: HashMap::new(),
        globals: HashMap::new(),
        locations: HashMap::new(),
        sites: HashMap::new(),
        shapes: TypeShape::all(module),
        spans: HashMap::new(),
        next: MOST_CONSTANTS,
        instructions: 0,
        work: 0,
        nested: 0,
        span: Span::UNDEFINED,
    };
    // The first location is unknown, for errors that concern the whole shader.
    lowering.location(Span::UNDEFINED);
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
    // A shader that computes nothing may have constants only.
    let slots = lowering.program.slots.max(lowering.literals.len() as u32);
    lowering.program.slots = slots;
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
    /// Where the lines of the source begin.
    lines: Vec<usize>,
    program: Program,
    literals: HashMap<u32, Slot>,
    globals: HashMap<Handle<GlobalVariable>, Root>,
    locations: HashMap<Location, u32>,
    sites: HashMap<SiteInfo, u32>,
    /// Indexed by type.
    shapes: Vec<TypeShape>,
    /// The locations of spans, cached: inlining repeats the lookups.
    spans: HashMap<(usize, usize), u32>,
    /// The next free slot. A block's slots are freed at its end.
    next: Slot,
    instructions: usize,
    work: usize,
    nested: u32,
    /// The span of the current statement.
    span: Span,
}

/// Bytes of a scalar in memory. A `bool` has one byte, as in naga's layout.
const fn width(scalar: Scalar) -> u32 {
    scalar.width as u32
}

/// A built-in function of two scalars of one type.
fn math_of_two(fun: naga::MathFunction, scalar: Scalar) -> Option<LaneFn> {
    let shape = Shape {
        components: 1,
        columns: 1,
        scalar,
    };
    match arithmetic::math(fun, &[shape, shape]) {
        Some(arithmetic::Math::PerComponent(function)) => Some(function),
        _ => None,
    }
}

/// The name of an expression or statement in naga's IR, for errors.
fn variant(of: &impl std::fmt::Debug) -> String {
    let text = format!("{of:?}");
    let end = text.find([' ', '(', '{']).unwrap_or(text.len());
    text[..end].to_owned()
}

/// Number of elements of an array, or `None` if it is runtime-sized.
fn length(module: &Module, size: ArraySize) -> Option<u32> {
    match size.resolve(module.to_ctx()) {
        Ok(naga::proc::IndexableLength::Known(count)) => Some(count),
        _ => None,
    }
}

/// Cached properties of a type.
#[derive(Clone, Copy, Debug)]
struct TypeShape {
    /// Slots of a value; `None` for types without values, and for those too large.
    slots: Option<u32>,
    /// Bytes of its smallest scalar; 4 if it has none.
    smallest: u32,
    /// Nesting depth of its types.
    depth: u32,
}

impl TypeShape {
    /// The shapes of all types, each computed from earlier ones. So deeply nested types and those
    /// with many equal members take no longer than others.
    fn all(module: &Module) -> Vec<Self> {
        let mut shapes = Vec::with_capacity(module.types.len());
        for (_, ty) in module.types.iter() {
            shapes.push(Self::of(module, &shapes, &ty.inner));
        }
        shapes
    }

    fn of(module: &Module, known: &[Self], inner: &TypeInner) -> Self {
        let numbers = |count: u32, scalar: Scalar| Self {
            slots: Some(count * arithmetic::slots(scalar) as u32),
            smallest: width(scalar),
            depth: 0,
        };
        let shape = match *inner {
            TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => numbers(1, scalar),
            TypeInner::Vector { size, scalar } => numbers(size as u32, scalar),
            TypeInner::Matrix {
                columns,
                rows,
                scalar,
            } => numbers(columns as u32 * rows as u32, scalar),
            TypeInner::Array { base, size, .. } => {
                let base = known[base.index()];
                let count = length(module, size);
                Self {
                    slots: base
                        .slots
                        .zip(count)
                        .and_then(|(n, count)| n.checked_mul(count)),
                    depth: base.depth + 1,
                    ..base
                }
            }
            TypeInner::Struct { ref members, .. } => {
                let members = || members.iter().map(|member| known[member.ty.index()]);
                Self {
                    slots: members().try_fold(0_u32, |sum, m| sum.checked_add(m.slots?)),
                    smallest: members().map(|m| m.smallest).min().unwrap_or(4),
                    depth: 1 + members().map(|m| m.depth).max().unwrap_or(0),
                }
            }
            _ => Self {
                slots: None,
                smallest: 4,
                depth: 0,
            },
        };
        Self {
            slots: shape
                .slots
                .filter(|&n| n <= MOST_SLOTS && shape.depth <= MOST_NESTED),
            ..shape
        }
    }
}

impl<'a> Lowering<'a> {
    // Errors and source locations.

    fn locate(&self, span: Span) -> Location {
        if !span.is_defined() || self.source.is_empty() {
            return Location::default();
        }
        let range = span.to_range().unwrap_or_default();
        let line = self.lines.partition_point(|&start| start <= range.start);
        let before = line.checked_sub(1).map_or(0, |index| self.lines[index]);
        Location {
            line: line as u32,
            column: (range.start - before) as u32 + 1,
            length: range.len() as u32,
        }
    }

    fn location(&mut self, span: Span) -> u32 {
        let range = span.to_range().unwrap_or_default();
        if let Some(&index) = self.spans.get(&(range.start, range.end)) {
            return index;
        }
        let index = self.new_location(span);
        self.spans.insert((range.start, range.end), index);
        index
    }

    fn new_location(&mut self, span: Span) -> u32 {
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
            excerpt: location.excerpt(self.source),
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
                self.span,
            ));
        }
        out.push(instruction);
        Ok(())
    }

    /// Counts work, whether or not it produces an instruction.
    fn spend(&mut self, work: usize, span: Span) -> Result<()> {
        self.work += work;
        if self.work > MOST_WORK {
            return Err(self.unsupported("as much with all calls inlined", span));
        }
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

    fn slots_of(&self, inner: &TypeInner, span: Span) -> Result<usize> {
        let slots = TypeShape::of(self.module, &self.shapes, inner).slots;
        let slots = slots
            .ok_or_else(|| self.unsupported("a value of this type (or of this size)", span))?;
        Ok(slots as usize)
    }

    fn inner(&self, ty: Handle<Type>) -> &'a TypeInner {
        &self.module.types[ty].inner
    }

    fn type_of(&self, frame: &Frame<'a>, expression: Handle<Expression>) -> &'a TypeInner {
        frame.info[expression].ty.inner_with(&self.module.types)
    }

    /// The type that a pointer points to.
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

    /// The shape of a type in arithmetic.
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

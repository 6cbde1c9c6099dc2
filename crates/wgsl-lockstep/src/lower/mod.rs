//! From naga's IR to a [`Program`].

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

/// Different constants that a shader may use: their slots lie before all others.
const MOST_CONSTANTS: u32 = 4096;
/// Inlining multiplies; beyond these bounds a shader is refused rather than memory exhausted.
const MOST_INSTRUCTIONS: usize = 1 << 22;
/// Statements, expressions and the scalars of their values, with all calls inlined: a tree of calls
/// may have no instruction at all, and an array by value is long.
const MOST_WORK: usize = 1 << 24;
const MOST_SLOTS: u32 = 1 << 18;
/// A called function with more scalars of its own is not merged with its caller: its slots would
/// be taken until the caller's block ends.
const MOST_MERGED_SLOTS: u32 = 64;
/// Blocks and calls in each other, and types in each other. Each takes a piece of the stack, of
/// which a thread may have little.
const MOST_NESTED: u32 = 256;

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
    // The first location is none: that of what concerns the whole shader.
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
    // Of a shader that computes nothing, constants may be all there is.
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
    program: Program,
    literals: HashMap<u32, Slot>,
    globals: HashMap<Handle<GlobalVariable>, Root>,
    locations: HashMap<Location, u32>,
    sites: HashMap<SiteInfo, u32>,
    /// By the type's index.
    shapes: Vec<TypeShape>,
    /// The locations of spans: counting lines takes long, and inlining asks often.
    spans: HashMap<(usize, usize), u32>,
    /// The next free slot. Slots of a block are free again where it ends.
    next: Slot,
    instructions: usize,
    work: usize,
    nested: u32,
    /// Of the statement at hand.
    span: Span,
}

/// Bytes of a scalar in memory. A `bool` takes one, as naga lays it out.
const fn width(scalar: Scalar) -> u32 {
    scalar.width as u32
}

/// A built-in function of two scalars of a type.
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

/// Elements of an array; nothing where only a buffer's size tells.
fn length(module: &Module, size: ArraySize) -> Option<u32> {
    match size.resolve(module.to_ctx()) {
        Ok(naga::proc::IndexableLength::Known(count)) => Some(count),
        _ => None,
    }
}

/// What is asked of a type again and again.
#[derive(Clone, Copy, Debug)]
struct TypeShape {
    /// Slots of a value; nothing for types with no values, and for those too large.
    slots: Option<u32>,
    /// Bytes of its smallest scalar; 4 where it has none.
    smallest: u32,
    /// How deep types are nested in it.
    depth: u32,
}

impl TypeShape {
    /// The shapes of all types, each from those before it: a type that is nested deeply, or that
    /// has another one many times in it, takes no longer than any.
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

    /// Takes note of work done, whether or not it leads to an instruction.
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

//! Runs one workgroup of a kernel, lane by lane, on naga's IR, with keys whose values are unknown.
//!
//! Lane numbers, parameters and tables are known, keys are not. So every address, trip count and
//! barrier that comes out is the same for all keys, and one that depends on a key panics: what is
//! counted here holds for every input. Where a condition depends on keys, both branches are taken,
//! and neither may touch workgroup memory.

use naga::{
    AddressSpace, BinaryOperator, Expression, Function, Handle, Literal, Module, Statement,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use wgpu_bcfsort::kernel::Specialised;

const BANKS: u32 = 32;
const WARP: usize = 32;

/// A load or store of workgroup memory by one lane.
#[derive(Clone, Debug)]
struct Access {
    /// Where in the program, loop iterations included: lanes at one point go together.
    point: Vec<u32>,
    variable: String,
    address: u32,
    store: bool,
    /// Barriers passed before.
    epoch: u32,
}

/// What one lane did.
#[derive(Debug, Default)]
struct Lane {
    accesses: Vec<Access>,
    barriers: u32,
    calls: BTreeMap<String, u64>,
}

/// What the lanes of a workgroup did.
#[derive(Debug)]
pub(crate) struct Workgroup {
    lanes: Vec<Lane>,
}

impl Workgroup {
    /// Runs the workgroup with number 0. `tables` gives the words of storage buffers that are known.
    pub(crate) fn run(
        kernel: Specialised,
        parameters: &[(&str, u32)],
        tables: &dyn Fn(&str, u32) -> Option<u32>,
    ) -> Self {
        let assembled = kernel.assemble().unwrap();
        let module = naga::front::wgsl::parse_str(&assembled.wgsl).unwrap();
        let lanes = (0..assembled.workgroup_size)
            .map(|lane| Interpreter::run(&module, lane, parameters, tables))
            .collect();
        Self { lanes }
    }

    /// Loads and stores of one workgroup variable by a lane.
    pub(crate) fn accesses(&self, lane: usize, variable: &str) -> usize {
        let of = |access: &&Access| access.variable == variable;
        self.lanes[lane].accesses.iter().filter(of).count()
    }

    /// The names of the workgroup variables that are used.
    pub(crate) fn variables(&self) -> BTreeSet<&str> {
        let accesses = self.lanes.iter().flat_map(|lane| &lane.accesses);
        accesses.map(|access| access.variable.as_str()).collect()
    }

    /// Calls of a function by a lane.
    pub(crate) fn calls(&self, lane: usize, function: &str) -> u64 {
        self.lanes[lane].calls.get(function).copied().unwrap_or(0)
    }

    /// The most different words of one bank that a warp touches in one access: 1 is no conflict.
    pub(crate) fn worst_bank_degree(&self) -> usize {
        let mut worst = 0;
        for warp in self.lanes.chunks(WARP) {
            let mut words: HashMap<_, BTreeSet<u32>> = HashMap::new();
            for access in warp.iter().flat_map(|lane| &lane.accesses) {
                let bank = access.address % BANKS;
                words
                    .entry((&access.point, &access.variable, bank))
                    .or_default()
                    .insert(access.address);
            }
            worst = words.values().map(BTreeSet::len).fold(worst, usize::max);
        }
        worst
    }

    /// A cell that one lane stores and another touches with no barrier between them, if any.
    pub(crate) fn race(&self) -> Option<String> {
        let barriers = self.lanes[0].barriers;
        if self.lanes.iter().any(|lane| lane.barriers != barriers) {
            return Some("lanes pass different numbers of barriers".to_owned());
        }
        let mut cells: HashMap<_, (BTreeSet<usize>, bool)> = HashMap::new();
        for (number, lane) in self.lanes.iter().enumerate() {
            for access in &lane.accesses {
                let cell = cells
                    .entry((&access.variable, access.address, access.epoch))
                    .or_default();
                cell.0.insert(number);
                cell.1 |= access.store;
            }
        }
        let race = cells
            .iter()
            .find(|(_, (lanes, stored))| *stored && lanes.len() > 1);
        race.map(|(cell, (lanes, _))| format!("{cell:?} by lanes {lanes:?}"))
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    /// A key, or what follows from one; of any type.
    Unknown,
    Word(u32),
    Bool(bool),
    Many(Vec<Value>),
    Pointer(Pointer),
}

#[derive(Clone, Debug, PartialEq)]
struct Pointer {
    root: Root,
    path: Vec<Option<u32>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Root {
    Local(usize, Handle<naga::LocalVariable>),
    Global(Handle<naga::GlobalVariable>),
}

impl Value {
    fn word(&self) -> Option<u32> {
        match self {
            Self::Word(word) => Some(*word),
            Self::Unknown => None,
            other => panic!("{other:?} is no word"),
        }
    }

    fn bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            Self::Unknown => None,
            other => panic!("{other:?} is no condition"),
        }
    }

    fn part(&self, index: Option<u32>) -> Self {
        match (self, index) {
            (Self::Many(parts), Some(index)) => parts[index as usize].clone(),
            (Self::Many(_) | Self::Unknown, _) => Self::Unknown,
            (other, _) => panic!("{other:?} has no parts"),
        }
    }

    fn set(&mut self, path: &[Option<u32>], value: Self) {
        match (path, self) {
            ([], place) => *place = value,
            ([Some(index), rest @ ..], Self::Many(parts)) => {
                parts[*index as usize].set(rest, value);
            }
            // Which part is not known: any may have changed.
            (_, place) => *place = Self::Unknown,
        }
    }

    /// What is known whichever of two branches was taken.
    fn merge(&self, other: &Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a.clone(),
            (Self::Many(a), Self::Many(b)) if a.len() == b.len() => {
                Self::Many(a.iter().zip(b).map(|(a, b)| a.merge(b)).collect())
            }
            _ => Self::Unknown,
        }
    }

    /// Applies an operation to scalars, or to each component; scalars go with every component.
    fn zip(&self, other: &Self, f: &dyn Fn(&Self, &Self) -> Self) -> Self {
        match (self, other) {
            (Self::Many(a), Self::Many(b)) => {
                Self::Many(a.iter().zip(b).map(|(a, b)| a.zip(b, f)).collect())
            }
            (Self::Many(a), b) => Self::Many(a.iter().map(|a| a.zip(b, f)).collect()),
            (a, Self::Many(b)) => Self::Many(b.iter().map(|b| a.zip(b, f)).collect()),
            (a, b) => f(a, b),
        }
    }
}

fn binary(op: BinaryOperator, a: &Value, b: &Value) -> Value {
    use BinaryOperator as Op;
    match (a, b) {
        (Value::Word(a), Value::Word(b)) => match op {
            Op::Add => Value::Word(a.wrapping_add(*b)),
            Op::Subtract => Value::Word(a.wrapping_sub(*b)),
            Op::Multiply => Value::Word(a.wrapping_mul(*b)),
            Op::Divide => Value::Word(a / b),
            Op::Modulo => Value::Word(a % b),
            Op::And => Value::Word(a & b),
            Op::InclusiveOr => Value::Word(a | b),
            Op::ExclusiveOr => Value::Word(a ^ b),
            Op::ShiftLeft => Value::Word(a << b),
            Op::ShiftRight => Value::Word(a >> b),
            Op::Equal => Value::Bool(a == b),
            Op::NotEqual => Value::Bool(a != b),
            Op::Less => Value::Bool(a < b),
            Op::LessEqual => Value::Bool(a <= b),
            Op::Greater => Value::Bool(a > b),
            Op::GreaterEqual => Value::Bool(a >= b),
            _ => panic!("{op:?} of words"),
        },
        (Value::Bool(a), Value::Bool(b)) => Value::Bool(match op {
            Op::Equal => a == b,
            Op::NotEqual => a != b,
            Op::And | Op::LogicalAnd => *a && *b,
            Op::InclusiveOr | Op::LogicalOr => *a || *b,
            _ => panic!("{op:?} of conditions"),
        }),
        _ => Value::Unknown,
    }
}

struct Frame<'a> {
    function: &'a Function,
    arguments: Vec<Value>,
}

/// What branches change.
struct FrameState {
    values: Vec<Value>,
    locals: Vec<Value>,
}

enum Flow {
    Next,
    Break,
    Continue,
    Return(Value),
}

struct Interpreter<'a> {
    module: &'a Module,
    parameters: &'a [(&'a str, u32)],
    tables: &'a dyn Fn(&str, u32) -> Option<u32>,
    frames: Vec<Frame<'a>>,
    states: Vec<FrameState>,
    point: Vec<u32>,
    lane: Lane,
}

impl<'a> Interpreter<'a> {
    fn run(
        module: &'a Module,
        lane: u32,
        parameters: &'a [(&'a str, u32)],
        tables: &'a dyn Fn(&str, u32) -> Option<u32>,
    ) -> Lane {
        let mut interpreter = Self {
            module,
            parameters,
            tables,
            frames: Vec::new(),
            states: Vec::new(),
            point: Vec::new(),
            lane: Lane::default(),
        };
        let function = &module.entry_points[0].function;
        let arguments = function.arguments.iter().map(|argument| {
            use naga::{Binding, BuiltIn};
            match argument.binding {
                Some(Binding::BuiltIn(BuiltIn::WorkGroupId)) => {
                    Value::Many(vec![Value::Word(0); 3])
                }
                Some(Binding::BuiltIn(BuiltIn::NumWorkGroups)) => {
                    Value::Many(vec![Value::Word(1); 3])
                }
                Some(Binding::BuiltIn(BuiltIn::LocalInvocationIndex)) => Value::Word(lane),
                ref other => panic!("entry point argument {other:?}"),
            }
        });
        interpreter.call(function, arguments.collect());
        interpreter.lane
    }

    fn call(&mut self, function: &'a Function, arguments: Vec<Value>) -> Value {
        if let Some(name) = &function.name {
            *self.lane.calls.entry(name.clone()).or_default() += 1;
        }
        self.frames.push(Frame {
            function,
            arguments,
        });
        self.states.push(FrameState {
            values: vec![Value::Unknown; function.expressions.len()],
            locals: vec![Value::Unknown; function.local_variables.len()],
        });
        for (handle, local) in function.local_variables.iter() {
            let value = match local.init {
                Some(init) => self.value(init),
                None => self.zero(local.ty),
            };
            self.states.last_mut().unwrap().locals[handle.index()] = value;
        }
        let flow = self.block(&function.body);
        self.frames.pop();
        self.states.pop();
        match flow {
            Flow::Return(value) => value,
            _ => Value::Unknown,
        }
    }

    fn block(&mut self, block: &'a naga::Block) -> Flow {
        for (i, statement) in block.iter().enumerate() {
            self.point.push(i as u32);
            let flow = self.statement(statement);
            self.point.pop();
            if !matches!(flow, Flow::Next) {
                return flow;
            }
        }
        Flow::Next
    }

    fn statement(&mut self, statement: &'a Statement) -> Flow {
        match statement {
            Statement::Emit(range) => {
                for handle in range.clone() {
                    let value = self.evaluate(handle);
                    self.states.last_mut().unwrap().values[handle.index()] = value;
                }
            }
            Statement::Block(block) => return self.block(block),
            Statement::If {
                condition,
                accept,
                reject,
            } => {
                return match self.value(*condition).bool() {
                    Some(true) => self.branch(0, accept),
                    Some(false) => self.branch(1, reject),
                    None => self.fork(accept, reject),
                };
            }
            Statement::Loop {
                body,
                continuing,
                break_if,
            } => {
                assert!(break_if.is_none(), "WGSL's for and while leave by break");
                for iteration in 0.. {
                    match self.branch(iteration, body) {
                        Flow::Break => break,
                        Flow::Return(value) => return Flow::Return(value),
                        Flow::Next | Flow::Continue => {}
                    }
                    self.branch(iteration, continuing);
                }
            }
            Statement::Break => return Flow::Break,
            Statement::Continue => return Flow::Continue,
            Statement::Return { value } => {
                return Flow::Return(value.map_or(Value::Unknown, |value| self.value(value)));
            }
            Statement::ControlBarrier(_) => self.lane.barriers += 1,
            Statement::Store { pointer, value } => {
                let value = self.value(*value);
                let pointer = self.pointer(*pointer);
                match pointer.root {
                    Root::Local(frame, local) => {
                        self.states[frame].locals[local.index()].set(&pointer.path, value);
                    }
                    Root::Global(_) => self.touch(&pointer, true),
                }
            }
            Statement::Call {
                function,
                arguments,
                result,
            } => {
                let arguments = arguments.iter().map(|&a| self.value(a)).collect();
                let value = self.call(&self.module.functions[*function], arguments);
                if let Some(result) = result {
                    self.states.last_mut().unwrap().values[result.index()] = value;
                }
            }
            other => panic!("no kernel has a {other:?}"),
        }
        Flow::Next
    }

    fn branch(&mut self, number: u32, block: &'a naga::Block) -> Flow {
        self.point.push(number);
        let flow = self.block(block);
        self.point.pop();
        flow
    }

    /// A condition that depends on keys: both branches are taken.
    fn fork(&mut self, accept: &'a naga::Block, reject: &'a naga::Block) -> Flow {
        let events = (self.lane.accesses.len(), self.lane.barriers);
        // Values belong to the function at hand; locals may be written through pointers.
        let values = |states: &Vec<FrameState>| states.last().unwrap().values.clone();
        let locals =
            |states: &Vec<FrameState>| states.iter().map(|s| s.locals.clone()).collect::<Vec<_>>();
        let (values_before, locals_before) = (values(&self.states), locals(&self.states));
        let accepted = self.branch(0, accept);
        let (values_accepted, locals_accepted) = (values(&self.states), locals(&self.states));
        for (state, before) in self.states.iter_mut().zip(locals_before) {
            state.locals = before;
        }
        self.states.last_mut().unwrap().values = values_before;
        let flows = (accepted, self.branch(1, reject));
        let merge = |into: &mut Vec<Value>, others: &[Value]| {
            for (value, other) in into.iter_mut().zip(others) {
                *value = value.merge(other);
            }
        };
        for (state, accepted) in self.states.iter_mut().zip(&locals_accepted) {
            merge(&mut state.locals, accepted);
        }
        merge(
            &mut self.states.last_mut().unwrap().values,
            &values_accepted,
        );
        assert!(
            matches!(flows, (Flow::Next, Flow::Next)),
            "a key decides where the program goes on"
        );
        assert_eq!(
            events,
            (self.lane.accesses.len(), self.lane.barriers),
            "a key decides whether workgroup memory is touched"
        );
        Flow::Next
    }

    fn value(&mut self, handle: Handle<Expression>) -> Value {
        let function = self.frames.last().unwrap().function;
        if function.expressions[handle].needs_pre_emit()
            || matches!(function.expressions[handle], Expression::Constant(_))
        {
            return self.evaluate(handle);
        }
        self.states.last().unwrap().values[handle.index()].clone()
    }

    fn pointer(&mut self, handle: Handle<Expression>) -> Pointer {
        match self.value(handle) {
            Value::Pointer(pointer) => pointer,
            other => panic!("{other:?} is no pointer"),
        }
    }

    fn evaluate(&mut self, handle: Handle<Expression>) -> Value {
        let function = self.frames.last().unwrap().function;
        match function.expressions[handle] {
            Expression::Literal(literal) => scalar(literal),
            Expression::Constant(constant) => self.constant(self.module.constants[constant].init),
            Expression::ZeroValue(ty) => self.zero(ty),
            Expression::FunctionArgument(index) => {
                self.frames.last().unwrap().arguments[index as usize].clone()
            }
            Expression::LocalVariable(local) => Value::Pointer(Pointer {
                root: Root::Local(self.frames.len() - 1, local),
                path: Vec::new(),
            }),
            Expression::GlobalVariable(global) => Value::Pointer(Pointer {
                root: Root::Global(global),
                path: Vec::new(),
            }),
            Expression::Compose { ref components, .. } => {
                Value::Many(components.iter().map(|&c| self.value(c)).collect())
            }
            Expression::Splat { size, value } => {
                Value::Many(vec![self.value(value); size as usize])
            }
            Expression::Access { base, index } => {
                let index = self.value(index).word();
                part(self.value(base), index)
            }
            Expression::AccessIndex { base, index } => part(self.value(base), Some(index)),
            Expression::Load { pointer } => {
                let pointer = self.pointer(pointer);
                self.load(&pointer)
            }
            Expression::Binary { op, left, right } => {
                let (left, right) = (self.value(left), self.value(right));
                left.zip(&right, &|a, b| binary(op, a, b))
            }
            Expression::Unary { op, expr } => match (op, self.value(expr)) {
                (naga::UnaryOperator::LogicalNot, Value::Bool(value)) => Value::Bool(!value),
                (naga::UnaryOperator::BitwiseNot, Value::Word(value)) => Value::Word(!value),
                (_, Value::Unknown) => Value::Unknown,
                other => panic!("{other:?}"),
            },
            Expression::Select {
                condition,
                accept,
                reject,
            } => {
                let (accept, reject) = (self.value(accept), self.value(reject));
                match self.value(condition).bool() {
                    Some(true) => accept,
                    Some(false) => reject,
                    None => accept.merge(&reject),
                }
            }
            Expression::Math { fun, arg, arg1, .. } => {
                let a = self.value(arg);
                let b = arg1.map_or(Value::Unknown, |b| self.value(b));
                a.zip(&b, &|a, b| match (fun, a, b) {
                    (naga::MathFunction::Min, Value::Word(a), Value::Word(b)) => {
                        Value::Word(*a.min(b))
                    }
                    (naga::MathFunction::Max, Value::Word(a), Value::Word(b)) => {
                        Value::Word(*a.max(b))
                    }
                    (_, Value::Unknown, _) | (_, _, Value::Unknown) => Value::Unknown,
                    other => panic!("{other:?}"),
                })
            }
            ref other => panic!("no kernel has a {other:?}"),
        }
    }

    fn constant(&self, handle: Handle<Expression>) -> Value {
        match &self.module.global_expressions[handle] {
            Expression::Literal(literal) => scalar(*literal),
            Expression::Constant(constant) => self.constant(self.module.constants[*constant].init),
            Expression::ZeroValue(ty) => self.zero(*ty),
            Expression::Compose { components, .. } => {
                Value::Many(components.iter().map(|&c| self.constant(c)).collect())
            }
            Expression::Splat { size, value } => {
                Value::Many(vec![self.constant(*value); *size as usize])
            }
            other => panic!("constant {other:?}"),
        }
    }

    fn zero(&self, ty: Handle<naga::Type>) -> Value {
        match &self.module.types[ty].inner {
            naga::TypeInner::Scalar(scalar) if scalar.kind == naga::ScalarKind::Bool => {
                Value::Bool(false)
            }
            naga::TypeInner::Scalar(_) => Value::Word(0),
            naga::TypeInner::Vector { size, .. } => {
                Value::Many(vec![Value::Word(0); *size as usize])
            }
            naga::TypeInner::Array {
                base,
                size: naga::ArraySize::Constant(size),
                ..
            } => Value::Many(vec![self.zero(*base); size.get() as usize]),
            naga::TypeInner::Struct { members, .. } => {
                Value::Many(members.iter().map(|m| self.zero(m.ty)).collect())
            }
            other => panic!("a variable of type {other:?}"),
        }
    }

    fn load(&mut self, pointer: &Pointer) -> Value {
        let global = match pointer.root {
            Root::Local(frame, local) => {
                let value = &self.states[frame].locals[local.index()];
                let path = pointer.path.iter();
                return path.fold(value.clone(), |value, &index| value.part(index));
            }
            Root::Global(global) => &self.module.global_variables[global],
        };
        let name = global.name.as_deref().unwrap_or_default();
        match global.space {
            AddressSpace::Uniform => {
                let naga::TypeInner::Struct { members, .. } = &self.module.types[global.ty].inner
                else {
                    panic!("{name} is no struct");
                };
                let [Some(member)] = pointer.path[..] else {
                    panic!("{name} is read member by member");
                };
                let member = members[member as usize].name.as_deref().unwrap();
                let known = self.parameters.iter().find(|(name, _)| *name == member);
                Value::Word(known.unwrap_or_else(|| panic!("no parameter {member}")).1)
            }
            AddressSpace::WorkGroup => {
                self.touch(pointer, false);
                Value::Unknown
            }
            _ => match pointer.path[..] {
                [Some(index)] => (self.tables)(name, index).map_or(Value::Unknown, Value::Word),
                _ => Value::Unknown,
            },
        }
    }

    /// Notes an access, if it is one of workgroup memory.
    fn touch(&mut self, pointer: &Pointer, store: bool) {
        let Root::Global(global) = pointer.root else {
            return;
        };
        let global = &self.module.global_variables[global];
        if global.space != AddressSpace::WorkGroup {
            return;
        }
        let variable = global.name.clone().unwrap_or_default();
        let [Some(address)] = pointer.path[..] else {
            panic!("the address in {variable} depends on a key");
        };
        let naga::TypeInner::Array {
            size: naga::ArraySize::Constant(cells),
            ..
        } = self.module.types[global.ty].inner
        else {
            panic!("{variable} is no array");
        };
        assert!(
            address < cells.get(),
            "cell {address} of {cells} of {variable}"
        );
        self.lane.accesses.push(Access {
            point: self.point.clone(),
            variable,
            address,
            store,
            epoch: self.lane.barriers,
        });
    }
}

fn scalar(literal: Literal) -> Value {
    match literal {
        Literal::U32(value) => Value::Word(value),
        Literal::I32(value) => Value::Word(value.cast_unsigned()),
        Literal::Bool(value) => Value::Bool(value),
        other => panic!("no kernel has a {other:?}"),
    }
}

fn part(base: Value, index: Option<u32>) -> Value {
    match base {
        Value::Pointer(mut pointer) => {
            pointer.path.push(index);
            Value::Pointer(pointer)
        }
        value => value.part(index),
    }
}

//! Expressions: values as lists of slots.

use super::{Frame, Lowering, Place, Result, Root, Value, variant};
use crate::arithmetic::{self, LaneFn, Math, Shape};
use crate::program::{Instruction, Slot};
use crate::report::AccessKind;
use naga::{Expression, Handle, Scalar, ScalarKind, Span, TypeInner};

impl<'a> Lowering<'a> {
    pub(super) fn value(
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

    pub(super) fn slots(
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

    pub(super) fn slot(
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

    pub(super) fn place(
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

    #[allow(clippy::too_many_lines)] // One arm per expression.
    pub(super) fn evaluate(
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
            Expression::Compose { ty, ref components } => {
                self.slots_of(self.inner(ty), span)?;
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
                return Err(self.unsupported(variant(other), span));
            }
        };
        self.spend(slots.len(), span)?;
        Ok(Value::Slots(slots))
    }

    /// Number of slots of a component of a vector, or of an element of an array.
    pub(super) fn slots_each(
        &self,
        frame: &Frame<'a>,
        vector: Handle<Expression>,
    ) -> Result<usize> {
        let span = frame.span(vector);
        match *self.type_of(frame, vector) {
            TypeInner::Vector { scalar, .. } => Ok(arithmetic::slots(scalar)),
            TypeInner::Matrix { rows, scalar, .. } => Ok(rows as usize * arithmetic::slots(scalar)),
            TypeInner::Array { base, .. } => self.slots_of(self.inner(base), span),
            _ => Err(self.unsupported("an index into this type", span)),
        }
    }

    /// Applies a function to each component. Scalars are used for every component.
    pub(super) fn each_component(
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

    pub(super) fn binary(
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
            // A column vector on the right, or a row vector on the left, gives a vector.
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

    pub(super) fn math(
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
}

//! Statements and calls.

use super::{Frame, Lowering, MOST_MERGED_SLOTS, MOST_NESTED, Result, Value, variant};
use crate::program::{Case, Instruction, Range, Slot};
use crate::report::AccessKind;
use naga::{Block, Expression, Function, Handle, Span, Statement, SwitchValue};

impl<'a> Lowering<'a> {
    /// Initializes the variables of a function.
    pub(super) fn enter(
        &mut self,
        frame: &mut Frame<'a>,
        out: &mut Vec<Instruction>,
    ) -> Result<()> {
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

    /// Lowers a block, and frees its slots afterwards.
    pub(super) fn block(&mut self, frame: &mut Frame<'a>, block: &'a Block) -> Result<u32> {
        let mark = self.next;
        let mut out = Vec::new();
        self.statements(frame, block, &mut out)?;
        self.next = mark;
        Ok(self.add_block(out))
    }

    pub(super) fn statements(
        &mut self,
        frame: &mut Frame<'a>,
        block: &'a Block,
        out: &mut Vec<Instruction>,
    ) -> Result<()> {
        self.nested += 1;
        if self.nested > MOST_NESTED {
            let span = block.span_iter().next().map(|(_, &span)| span);
            return Err(self.unsupported(
                format!("blocks and calls nested more than {MOST_NESTED} deep"),
                span.unwrap_or_default(),
            ));
        }
        self.each_statement(frame, block, out)?;
        self.nested -= 1;
        Ok(())
    }

    #[allow(clippy::too_many_lines)] // One arm per statement.
    fn each_statement(
        &mut self,
        frame: &mut Frame<'a>,
        block: &'a Block,
        out: &mut Vec<Instruction>,
    ) -> Result<()> {
        for (statement, &span) in block.span_iter() {
            self.span = span;
            self.spend(1, span)?;
            match *statement {
                Statement::Emit(ref range) => {
                    for expression in range.clone() {
                        self.spend(1, span)?;
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
                    // The continuing block and `break if` use values of the body: slots are freed
                    // after both.
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
                // It orders the accesses of one lane only, so it prevents no race.
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
                    return Err(self.unsupported(variant(other), span));
                }
            }
        }
        Ok(())
    }

    pub(super) fn call(
        &mut self,
        frame: &mut Frame<'a>,
        callee: Handle<Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
        span: Span,
        out: &mut Vec<Instruction>,
    ) -> Result<()> {
        let function = &self.module.functions[callee];
        self.spend(function.expressions.len(), span)?;
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
}

/// True if a function's only `return` is its last statement, so that it can be merged with its
/// caller.
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

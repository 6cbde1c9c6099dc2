//! Subgroup operations.

use super::{Frame, Lowering, Result, Value, math_of_two};
use crate::arithmetic;
use crate::program::{Gather, Instruction, Scan};
use naga::{Expression, Handle, Literal, ScalarKind, Span};

impl<'a> Lowering<'a> {
    pub(super) fn gather(
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
    pub(super) fn collective(
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
        let extremum = |fun| math_of_two(fun, scalar);
        // Only sums and products have exclusive scans, so only their identities are used.
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

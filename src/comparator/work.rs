//! How much a comparison does at the most, and that it ends.

use super::Place;
use crate::Error;
use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{Expression, Function, Handle, LocalVariable, Module, Statement};

/// The most operations of a comparison, as [`Checked::operations`] counts them. A dispatch makes
/// some 40 comparisons a row, so that 2^24 rows take a GPU of 10^13 operations a second about one
/// second with the longest: Windows takes a device away after two. Keys of 64 words, the widest
/// that there are, take 10,240.
pub(super) const MOST_OPERATIONS: u64 = 1 << 14;

/// That no function does what could do harm, or too much.
pub(super) fn check_functions(
    module: &Module,
    info: &ModuleInfo,
    place: Place,
) -> Result<(), Error> {
    // (A function stands behind those that it calls.)
    let mut works = Vec::new();
    for (handle, function) in module.functions.iter() {
        let derives = |e: &Expression| matches!(e, Expression::Derivative { .. });
        if let Some((at, _)) = function.expressions.iter().find(|e| derives(e.1)) {
            let span = function.expressions.get_span(at);
            return Err(place.refuse(span, "a comparator has no neighbours to differ from"));
        }
        let checked = Checked {
            module,
            function,
            info: &info[handle],
            works: &works,
            place,
        };
        let work = checked.block(&function.body)?;
        if work > MOST_OPERATIONS {
            let span = module.functions.get_span(handle);
            let why = format!("this takes {work} operations, where {MOST_OPERATIONS} are allowed");
            return Err(place.refuse(span, &why));
        }
        works.push(work);
    }
    Ok(())
}

/// A function that is looked through.
struct Checked<'a> {
    module: &'a Module,
    function: &'a Function,
    info: &'a FunctionInfo,
    /// Operations of the functions before this one.
    works: &'a [u64],
    place: Place<'a>,
}

impl Checked<'_> {
    /// How many operations a block makes at the most, if it has nothing in it that could do harm.
    fn block(&self, block: &naga::Block) -> Result<u64, Error> {
        let mut work = 0_u64;
        let mut before: Option<&Statement> = None;
        for (statement, &span) in block.span_iter() {
            let refuse = |why| Err(self.place.refuse(span, why));
            let more = match statement {
                Statement::Emit(range) => {
                    let operations = range.clone().map(|at| self.operations(at));
                    work = operations.fold(work, u64::saturating_add);
                    continue;
                }
                Statement::Block(block) => self.block(block)?,
                Statement::If { accept, reject, .. } => {
                    self.block(accept)?.saturating_add(self.block(reject)?)
                }
                Statement::Switch { cases, .. } => cases.iter().try_fold(0_u64, |work, case| {
                    let more = self.block(&case.body)?;
                    Ok::<_, Error>(work.saturating_add(more))
                })?,
                Statement::Loop {
                    body,
                    continuing,
                    break_if,
                } => {
                    let rounds = rounds(self.module, self.function, before, body, continuing);
                    let Some(rounds) = rounds.filter(|_| break_if.is_none()) else {
                        return refuse(
                            "it is not plain that this loop ends: say for (var i = 0u; i < 16u; \
                             i++), and write to i nowhere else",
                        );
                    };
                    let each = self.block(body)?.saturating_add(self.block(continuing)?);
                    let all = rounds.saturating_mul(each.saturating_add(1));
                    if all > MOST_OPERATIONS {
                        return refuse(&format!(
                            "this loop takes {all} operations in {rounds} rounds, where \
                             {MOST_OPERATIONS} are allowed"
                        ));
                    }
                    all
                }
                Statement::Call { function, .. } => {
                    let Some(called) = self.works.get(function.index()) else {
                        return refuse("what is called here stands behind it");
                    };
                    called.saturating_add(1)
                }
                Statement::Store { value, .. } => self.words(*value),
                Statement::Break | Statement::Continue | Statement::Return { .. } => 0,
                _ => return refuse("a comparator compares, and does nothing like this"),
            };
            work = work.saturating_add(more);
            before = Some(statement);
        }
        Ok(work)
    }

    /// What an expression takes: one for each word of what comes of it, and some where a word takes
    /// some instructions.
    fn operations(&self, at: Handle<Expression>) -> u64 {
        let each = match self.function.expressions[at] {
            Expression::Math { .. } => 8,
            Expression::Binary { op, .. } => match op {
                naga::BinaryOperator::Divide | naga::BinaryOperator::Modulo => 8,
                // (Of integers a slow one; of matrices, a row by a column.)
                naga::BinaryOperator::Multiply => 4,
                _ => 1,
            },
            _ => 1,
        };
        each * self.words(at)
    }

    /// Words of a value.
    fn words(&self, at: Handle<Expression>) -> u64 {
        let ty = self.info[at].ty.inner_with(&self.module.types);
        let bytes = ty.try_size(self.module.to_ctx()).unwrap_or(4);
        u64::from(bytes.div_ceil(4).max(1))
    }
}

/// How many rounds a loop takes at the most, if it is one that counts: from a number that a
/// variable begins with, or that is stored just before it, to one that is compared first in each
/// round, by one that is added at its end; and nothing else writes to what it counts in.
fn rounds(
    module: &Module,
    function: &Function,
    before: Option<&Statement>,
    body: &naga::Block,
    continuing: &naga::Block,
) -> Option<u64> {
    let number = |handle| number(module, function, handle);
    let mut steps = continuing
        .iter()
        .filter(|s| !matches!(s, Statement::Emit(_)));
    let (Some(&Statement::Store { pointer, value }), None) = (steps.next(), steps.next()) else {
        return None;
    };
    let whole = |pointer: Handle<Expression>| match function.expressions[pointer] {
        Expression::LocalVariable(variable) => Some(variable),
        _ => None,
    };
    let counter = whole(pointer)?;
    // That it is read there, and not before.
    let is_counter = |handle: Handle<Expression>, block: &naga::Block| {
        let reads = matches!(&function.expressions[handle],
            &Expression::Load { pointer } if whole(pointer) == Some(counter));
        let mut emitted = block.iter().map_while(|statement| match statement {
            Statement::Emit(range) => Some(range.clone()),
            _ => None,
        });
        reads && emitted.any(|mut range| range.any(|there| there == handle))
    };
    let mut steps = body.iter().filter(|s| !matches!(s, Statement::Emit(_)));
    let Some(Statement::If {
        condition,
        accept,
        reject,
    }) = steps.next()
    else {
        return None;
    };
    if !accept.is_empty() || !matches!(reject.iter().next(), Some(Statement::Break)) {
        return None;
    }
    let end = match &function.expressions[*condition] {
        Expression::Binary { op, left, right } if is_counter(*left, body) => match op {
            naga::BinaryOperator::Less => number(*right)?,
            naga::BinaryOperator::LessEqual => number(*right)? + 1,
            _ => return None,
        },
        _ => return None,
    };
    let added = match &function.expressions[value] {
        Expression::Binary {
            op: naga::BinaryOperator::Add,
            left,
            right,
        } if is_counter(*left, continuing) => number(*right)?,
        _ => return None,
    };
    // That store, and one just before the loop, unless the variable begins with a number.
    let (start, stores) = match before {
        Some(&Statement::Store { pointer, value }) if whole(pointer) == Some(counter) => {
            (number(value)?, 2)
        }
        _ => (number(function.local_variables[counter].init?)?, 1),
    };
    let only_counts = writes(function, &function.body, counter) == stores;
    let rounds = (end - start).max(0).unsigned_abs();
    // Beyond that it would begin again.
    let wraps = end + added > i64::from(i32::MAX);
    (added > 0 && only_counts && !wraps).then(|| rounds.div_ceil(added.unsigned_abs()))
}

/// A number that is known when the text is read.
fn number(module: &Module, function: &Function, handle: Handle<Expression>) -> Option<i64> {
    let literal = |expression: &Expression| match expression {
        Expression::Literal(naga::Literal::U32(number)) => Some(i64::from(*number)),
        Expression::Literal(naga::Literal::I32(number)) => Some(i64::from(*number)),
        _ => None,
    };
    match &function.expressions[handle] {
        Expression::Constant(constant) => {
            literal(&module.global_expressions[module.constants[*constant].init])
        }
        expression => literal(expression),
    }
}

/// The variable that a pointer is to, or to a part of.
fn local(function: &Function, pointer: Handle<Expression>) -> Option<Handle<LocalVariable>> {
    match function.expressions[pointer] {
        Expression::LocalVariable(variable) => Some(variable),
        Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => {
            local(function, base)
        }
        _ => None,
    }
}

/// How many statements write to a variable, or let others do.
fn writes(function: &Function, block: &naga::Block, variable: Handle<LocalVariable>) -> usize {
    let is_it = |handle| usize::from(local(function, handle) == Some(variable));
    block
        .iter()
        .map(|statement| match statement {
            Statement::Store { pointer, .. } => is_it(*pointer),
            Statement::Call { arguments, .. } => arguments.iter().map(|&a| is_it(a)).sum(),
            Statement::Block(block) => writes(function, block, variable),
            Statement::If { accept, reject, .. } => {
                writes(function, accept, variable) + writes(function, reject, variable)
            }
            Statement::Switch { cases, .. } => cases
                .iter()
                .map(|case| writes(function, &case.body, variable))
                .sum(),
            Statement::Loop {
                body, continuing, ..
            } => writes(function, body, variable) + writes(function, continuing, variable),
            _ => 0,
        })
        .sum()
}

//! Implements the operators and built-in functions of naga's IR with WGSL's semantics, for lanes in
//! lock-step.
//!
//! Each scalar component of a value is stored in slots of 32 bits, and a slot holds one word for
//! each of 32 lanes. A scalar of at most 32 bits has one slot, one of 64 bits has two (low, high).
//! A function is selected once, by an operator and the types of its operands, and then called on
//! slots. It is a plain loop over a constant number of lanes, which a compiler can vectorize.
//!
//! If WGSL leaves a result open, it is Rust's.

#[macro_use]
mod word;
mod geometry;
mod math;
mod packing;
#[cfg(test)]
mod tests;

pub(super) use geometry::matrix_multiply;
pub(super) use math::{Math, Shape, math};

use naga::{BinaryOperator, Bytes, RelationalFunction, Scalar, ScalarKind, UnaryOperator};
use word::{FloatWord, Word, take};

/// Lanes that one call of a [`LaneFn`] computes.
const LANES: usize = 32;

/// One 32-bit slot for each of 32 lanes.
pub(super) type Lanes = [u32; LANES];

/// Computes outputs from inputs for 32 lanes.
///
/// It reads the slots of all arguments in order, and writes those of the result. It never panics,
/// for any bits.
pub(super) type LaneFn = fn(inputs: &[&Lanes], outputs: &mut [Lanes]);

/// The number of slots of a scalar: two (low, high) for 64-bit types, one for all others.
///
/// A bool is 0 or 1. A 16-bit value is in the low half, and the high half is 0.
pub(super) const fn slots(scalar: Scalar) -> usize {
    if scalar.width == 8 { 2 } else { 1 }
}

/// A binary operator on one component.
///
/// `scalar` is the type of both operands, except that a shift's right operand is a u32. `None` if
/// the type does not have the operator.
pub(super) fn binary(op: BinaryOperator, scalar: Scalar) -> Option<LaneFn> {
    match scalar.kind {
        ScalarKind::Bool => binary_of_bools(op),
        ScalarKind::Uint | ScalarKind::Sint => binary_of_integers(op, scalar),
        ScalarKind::Float => binary_of_floats(op, scalar),
        ScalarKind::AbstractInt | ScalarKind::AbstractFloat => None,
    }
}

fn binary_of_bools(op: BinaryOperator) -> Option<LaneFn> {
    use BinaryOperator as Op;
    Some(match op {
        Op::Equal => each!(|a: bool, b: bool| -> bool { a == b }),
        Op::NotEqual | Op::ExclusiveOr => each!(|a: bool, b: bool| -> bool { a != b }),
        Op::And | Op::LogicalAnd => each!(|a: bool, b: bool| -> bool { a & b }),
        Op::InclusiveOr | Op::LogicalOr => each!(|a: bool, b: bool| -> bool { a | b }),
        _ => return None,
    })
}

fn binary_of_integers(op: BinaryOperator, scalar: Scalar) -> Option<LaneFn> {
    use BinaryOperator as Op;
    integer!(scalar, T => Some(match op {
        Op::Add => each!(|a: T, b: T| -> T { a.wrapping_add(b) }),
        Op::Subtract => each!(|a: T, b: T| -> T { a.wrapping_sub(b) }),
        Op::Multiply => each!(|a: T, b: T| -> T { a.wrapping_mul(b) }),
        // WGSL defines all quotients: x / 0 is x, and MIN / -1 wraps to MIN.
        Op::Divide => each!(|a: T, b: T| -> T { if b == 0 { a } else { a.wrapping_div(b) } }),
        Op::Modulo => each!(|a: T, b: T| -> T { if b == 0 { 0 } else { a.wrapping_rem(b) } }),
        Op::Equal => each!(|a: T, b: T| -> bool { a == b }),
        Op::NotEqual => each!(|a: T, b: T| -> bool { a != b }),
        Op::Less => each!(|a: T, b: T| -> bool { a < b }),
        Op::LessEqual => each!(|a: T, b: T| -> bool { a <= b }),
        Op::Greater => each!(|a: T, b: T| -> bool { a > b }),
        Op::GreaterEqual => each!(|a: T, b: T| -> bool { a >= b }),
        Op::And => each!(|a: T, b: T| -> T { a & b }),
        Op::ExclusiveOr => each!(|a: T, b: T| -> T { a ^ b }),
        Op::InclusiveOr => each!(|a: T, b: T| -> T { a | b }),
        // WGSL takes the amount modulo the bit width, like Rust's wrapping shifts.
        Op::ShiftLeft => each!(|a: T, b: u32| -> T { a.wrapping_shl(b) }),
        Op::ShiftRight => each!(|a: T, b: u32| -> T { a.wrapping_shr(b) }),
        Op::LogicalAnd | Op::LogicalOr => return None,
    }))
}

#[allow(clippy::float_cmp, reason = "it is what the shader asks for")]
fn binary_of_floats(op: BinaryOperator, scalar: Scalar) -> Option<LaneFn> {
    use BinaryOperator as Op;
    float!(scalar, T => Some(match op {
        Op::Add => each!(|a: T, b: T| -> T { a + b }),
        Op::Subtract => each!(|a: T, b: T| -> T { a - b }),
        Op::Multiply => each!(|a: T, b: T| -> T { a * b }),
        Op::Divide => each!(|a: T, b: T| -> T { a / b }),
        // a - b * trunc(a / b), without rounding the quotient.
        Op::Modulo => each!(|a: T, b: T| -> T { a % b }),
        Op::Equal => each!(|a: T, b: T| -> bool { a == b }),
        Op::NotEqual => each!(|a: T, b: T| -> bool { a != b }),
        Op::Less => each!(|a: T, b: T| -> bool { a < b }),
        Op::LessEqual => each!(|a: T, b: T| -> bool { a <= b }),
        Op::Greater => each!(|a: T, b: T| -> bool { a > b }),
        Op::GreaterEqual => each!(|a: T, b: T| -> bool { a >= b }),
        _ => return None,
    }))
}

/// A unary operator on one component. `None` if the type does not have the operator.
pub(super) fn unary(op: UnaryOperator, scalar: Scalar) -> Option<LaneFn> {
    match (op, scalar.kind) {
        (UnaryOperator::Negate, ScalarKind::Sint) => {
            signed!(scalar, T => Some(each!(|a: T| -> T { a.wrapping_neg() })))
        }
        (UnaryOperator::Negate, ScalarKind::Float) => {
            float!(scalar, T => Some(each!(|a: T| -> T { -a })))
        }
        (UnaryOperator::LogicalNot, ScalarKind::Bool) => Some(each!(|a: bool| -> bool { !a })),
        (UnaryOperator::BitwiseNot, _) => {
            integer!(scalar, T => Some(each!(|a: T| -> T { !a })))
        }
        _ => None,
    }
}

/// `select` of one component. Inputs: the value if false, the value if true, the condition.
pub(super) fn select(scalar: Scalar) -> LaneFn {
    // Copies the bits of the slots, so that NaNs are unchanged.
    if slots(scalar) == 2 {
        each!(|reject: u64, accept: u64, condition: bool| -> u64 {
            if condition { accept } else { reject }
        })
    } else {
        each!(|reject: u32, accept: u32, condition: bool| -> u32 {
            if condition { accept } else { reject }
        })
    }
}

/// [`naga::Expression::As`] of one component: a conversion to a width in bytes, or a bitcast.
///
/// `None` for bitcasts from or to bool.
pub(super) fn cast(from: Scalar, kind: ScalarKind, convert: Option<Bytes>) -> Option<LaneFn> {
    use ScalarKind as Kind;
    let concrete = |kind| !matches!(kind, Kind::AbstractInt | Kind::AbstractFloat);
    if !concrete(from.kind) || !concrete(kind) {
        return None;
    }
    let to = Scalar {
        kind,
        width: convert.unwrap_or(from.width),
    };
    if from == to {
        return Some(copy(from));
    }
    if convert.is_none() {
        return (from.kind != Kind::Bool && kind != Kind::Bool).then(|| copy(from));
    }
    match (from.kind, kind) {
        (_, Kind::Bool) => to_bool(from),
        (Kind::Bool, Kind::Float) => {
            float!(to, T => Some(each!(|a: bool| -> T { if a { 1.0 } else { 0.0 } })))
        }
        (Kind::Bool, _) => integer!(to, T => Some(each!(|a: bool| -> T { a.into() }))),
        (Kind::Float, Kind::Float) => convert_float(from, to),
        (Kind::Float, _) => float_to_integer(from, to),
        (_, Kind::Float) => integer_to_float(from, to),
        _ => convert_integer(from, to),
    }
}

fn copy(scalar: Scalar) -> LaneFn {
    if slots(scalar) == 2 {
        each!(|a: u64| -> u64 { a })
    } else {
        each!(|a: u32| -> u32 { a })
    }
}

fn to_bool(from: Scalar) -> Option<LaneFn> {
    match from.kind {
        ScalarKind::Float => float!(from, T => Some(each!(|a: T| -> bool { a != 0.0 }))),
        _ => integer!(from, T => Some(each!(|a: T| -> bool { a != 0 }))),
    }
}

#[allow(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "wraps in WGSL, too"
)]
fn convert_integer(from: Scalar, to: Scalar) -> Option<LaneFn> {
    integer!(from, A => integer!(to, B => Some(each!(|a: A| -> B { a as B }))))
}

fn integer_to_float(from: Scalar, to: Scalar) -> Option<LaneFn> {
    // An f16 is computed in f64. Integers too long for f64 are far above its range anyway.
    integer!(from, A => float!(to, B => Some(each!(|a: A| -> B { a as <B as Word>::Value }))))
}

fn convert_float(from: Scalar, to: Scalar) -> Option<LaneFn> {
    float!(from, A => float!(to, B => Some(each!(|a: A| -> B { a as <B as Word>::Value }))))
}

/// Rounds towards zero, to a value that both types have: WGSL's `u32(1e20f)` is 4294967040, the
/// largest u32 that is an f32.
#[allow(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::unnecessary_cast,
    clippy::unnecessary_min_or_max,
    reason = "what is needless for some of the types is not for others"
)]
fn float_to_integer(from: Scalar, to: Scalar) -> Option<LaneFn> {
    float!(from, A => integer!(to, B => Some(each!(|a: A| -> B {
        const TOP: B = leading_ones(B::MAX as u64, <A as FloatWord>::DIGITS) as B;
        (a.clamp(-<A as FloatWord>::MAX, <A as FloatWord>::MAX) as B).min(TOP)
    }))))
}

/// `ones`, a run of ones, reduced to its first `digits`.
const fn leading_ones(ones: u64, digits: u32) -> u64 {
    let dropped = ones.count_ones().saturating_sub(digits);
    ones >> dropped << dropped
}

/// A relational function: `all` and `any` of bools, `isNan` and `isInf` of floats. `None` for
/// others.
pub(super) fn relational(fun: RelationalFunction, scalar: Scalar) -> Option<Math> {
    fn fold(inputs: &[&Lanes], outputs: &mut [Lanes], join: fn(u32, u32) -> u32) {
        let (first, rest) = inputs.split_first().expect("an argument has a component");
        outputs[0] = **first;
        for slot in rest {
            for lane in 0..LANES {
                outputs[0][lane] = join(outputs[0][lane], slot[lane]);
            }
        }
    }
    match (fun, scalar.kind) {
        (RelationalFunction::All, ScalarKind::Bool) => Some(Math::Whole(|inputs, outputs| {
            fold(inputs, outputs, |a, b| a & b);
        })),
        (RelationalFunction::Any, ScalarKind::Bool) => Some(Math::Whole(|inputs, outputs| {
            fold(inputs, outputs, |a, b| a | b);
        })),
        (RelationalFunction::IsNan, ScalarKind::Float) => {
            float!(scalar, T => Some(Math::PerComponent(each!(|a: T| -> bool { a.is_nan() }))))
        }
        (RelationalFunction::IsInf, ScalarKind::Float) => {
            float!(scalar, T => Some(Math::PerComponent(each!(|a: T| -> bool { a.is_infinite() }))))
        }
        _ => None,
    }
}

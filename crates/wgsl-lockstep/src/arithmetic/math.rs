//! Selection of built-in functions of numbers, and the component-wise ones.

use super::geometry::{geometry, matrix};
use super::packing::packing;
use super::word::{Word, take};
use super::{LANES, LaneFn, copy};
use half::f16;
use naga::{MathFunction, Scalar, ScalarKind};
use std::cmp::Ordering;

/// A function, with its calling convention.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Math {
    /// Called once for each component, with the slots of that component of each argument.
    PerComponent(LaneFn),
    /// Called once, with all slots of all arguments in order.
    Whole(LaneFn),
}

/// The type of an argument. A scalar is one component in one column, a vector is one column of
/// components, and a matrix `matCxR` is C columns of R components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) components: usize,
    pub(crate) columns: usize,
    pub(crate) scalar: Scalar,
}

/// Returns the built-in function for arguments of these shapes.
///
/// The result's slots are in the order of its type: components, then columns; for `modf` and
/// `frexp` the members, each with all its components. `None` if the function does not accept these
/// shapes.
pub(crate) fn math(fun: MathFunction, args: &[Shape]) -> Option<Math> {
    if args.len() != fun.argument_count() {
        return None;
    }
    let first = *args.first()?;
    if args.iter().any(|arg| arg.columns != 1) {
        return matrix(fun, first).map(Math::Whole);
    }
    let alike = args.iter().all(|arg| *arg == first);
    let component_wise = || match fun {
        MathFunction::Ldexp => {
            let by_integers = args[1].scalar == Scalar::I32;
            (by_integers && args[1].components == first.components)
                .then(|| ldexp(first.scalar))
                .flatten()
        }
        _ if !alike => None,
        _ => match first.scalar.kind {
            ScalarKind::Uint | ScalarKind::Sint => of_integers(fun, first.scalar),
            ScalarKind::Float => trigonometry(fun, first.scalar)
                .or_else(|| rounding(fun, first.scalar))
                .or_else(|| of_floats(fun, first.scalar)),
            _ => None,
        },
    };
    component_wise()
        .map(Math::PerComponent)
        .or_else(|| with_scalars(fun, args).map(Math::Whole))
        .or_else(|| geometry(fun, args).map(Math::Whole))
        .or_else(|| packing(fun, args).map(Math::Whole))
}

#[allow(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "counts of bits, which every type holds, and -1, which is all ones in every type"
)]
fn of_integers(fun: MathFunction, scalar: Scalar) -> Option<LaneFn> {
    use MathFunction as Mf;
    if fun == Mf::Abs {
        return match scalar.kind {
            ScalarKind::Uint => Some(copy(scalar)),
            _ => signed!(scalar, T => Some(each!(|a: T| -> T { a.wrapping_abs() }))),
        };
    }
    integer!(scalar, T => Some(match fun {
        Mf::Min => each!(|a: T, b: T| -> T { a.min(b) }),
        Mf::Max => each!(|a: T, b: T| -> T { a.max(b) }),
        // As defined by WGSL. Rust's clamp panics if low is above high.
        Mf::Clamp => each!(|a: T, low: T, high: T| -> T { a.max(low).min(high) }),
        Mf::Sign => each!(|a: T| -> T {
            match a.cmp(&0) {
                Ordering::Less => !0,
                Ordering::Equal => 0,
                Ordering::Greater => 1,
            }
        }),
        Mf::CountTrailingZeros => each!(|a: T| -> T { a.trailing_zeros() as T }),
        Mf::CountLeadingZeros => each!(|a: T| -> T { a.leading_zeros() as T }),
        Mf::CountOneBits => each!(|a: T| -> T { a.count_ones() as T }),
        Mf::ReverseBits => each!(|a: T| -> T { a.reverse_bits() }),
        Mf::FirstTrailingBit => {
            each!(|a: T| -> T { if a == 0 { !0 } else { a.trailing_zeros() as T } })
        }
        // For a negative number, the first bit that differs from its sign; -1 without one.
        Mf::FirstLeadingBit => each!(|a: T| -> T {
            let signless = if T::MIN == 0 { a } else { a ^ (a >> (T::BITS - 1)) };
            (T::BITS as i32 - 1 - signless.leading_zeros() as i32) as T
        }),
        _ => return None,
    }))
}

/// The offset and count of a bit field, limited to a word of `bits`.
fn field(offset: u32, count: u32, bits: u32) -> (u32, u32) {
    let offset = offset.min(bits);
    (offset, count.min(bits - offset))
}

/// Functions of vectors with scalar arguments that apply to all components.
fn with_scalars(fun: MathFunction, args: &[Shape]) -> Option<LaneFn> {
    use MathFunction as Mf;
    let first = args[0];
    let (vectors, scalars) = match fun {
        Mf::ExtractBits => args.split_at(1),
        Mf::InsertBits | Mf::Mix => args.split_at(2),
        _ => return None,
    };
    let scalar = match fun {
        Mf::Mix => first.scalar,
        _ => Scalar::U32,
    };
    let one = Shape {
        components: 1,
        columns: 1,
        scalar,
    };
    if vectors.iter().any(|arg| *arg != first) || scalars.iter().any(|arg| *arg != one) {
        return None;
    }
    sized!(first.components, N in 1 2 3 4 => match fun {
        Mf::Mix => float!(first.scalar, T => Some(each!(|a: [T; N], b: [T; N], t: T| -> [T; N] {
            std::array::from_fn(|i| a[i] * (1.0 - t) + b[i] * t)
        }))),
        Mf::ExtractBits => integer!(first.scalar, T => Some(each!(
            |from: [T; N], offset: u32, count: u32| -> [T; N] {
                let (offset, count) = field(offset, count, T::BITS);
                let unused = T::BITS - count;
                // Shifted to the top and back, which extends the sign of a signed field.
                from.map(|from| match count {
                    0 => 0,
                    _ => from << (unused - offset) >> unused,
                })
            }
        ))),
        _ => integer!(first.scalar, T => Some(each!(
            |into: [T; N], new: [T; N], offset: u32, count: u32| -> [T; N] {
                let (offset, count) = field(offset, count, T::BITS);
                let one: T = 1;
                // Unbounded shifts give 0, which is right for an empty field and for a full one.
                let mask = one.unbounded_shl(count).wrapping_sub(1).unbounded_shl(offset);
                std::array::from_fn(|i| into[i] & !mask | new[i].unbounded_shl(offset) & mask)
            }
        ))),
    })
}

fn trigonometry(fun: MathFunction, scalar: Scalar) -> Option<LaneFn> {
    use MathFunction as Mf;
    float!(scalar, T => Some(match fun {
        Mf::Cos => each!(|a: T| -> T { a.cos() }),
        Mf::Cosh => each!(|a: T| -> T { a.cosh() }),
        Mf::Sin => each!(|a: T| -> T { a.sin() }),
        Mf::Sinh => each!(|a: T| -> T { a.sinh() }),
        Mf::Tan => each!(|a: T| -> T { a.tan() }),
        Mf::Tanh => each!(|a: T| -> T { a.tanh() }),
        Mf::Acos => each!(|a: T| -> T { a.acos() }),
        Mf::Asin => each!(|a: T| -> T { a.asin() }),
        Mf::Atan => each!(|a: T| -> T { a.atan() }),
        Mf::Atan2 => each!(|y: T, x: T| -> T { y.atan2(x) }),
        Mf::Asinh => each!(|a: T| -> T { a.asinh() }),
        Mf::Acosh => each!(|a: T| -> T { a.acosh() }),
        Mf::Atanh => each!(|a: T| -> T { a.atanh() }),
        Mf::Radians => each!(|a: T| -> T { a.to_radians() }),
        Mf::Degrees => each!(|a: T| -> T { a.to_degrees() }),
        _ => return None,
    }))
}

fn rounding(fun: MathFunction, scalar: Scalar) -> Option<LaneFn> {
    use MathFunction as Mf;
    if fun == Mf::QuantizeToF16 {
        return (scalar == Scalar::F32)
            .then(|| each!(|a: f32| -> f32 { f16::from_f32(a).to_f32() }));
    }
    float!(scalar, T => Some(match fun {
        Mf::Ceil => each!(|a: T| -> T { a.ceil() }),
        Mf::Floor => each!(|a: T| -> T { a.floor() }),
        Mf::Round => each!(|a: T| -> T { a.round_ties_even() }),
        // Never negative, unlike Rust's fract of negative numbers.
        Mf::Fract => each!(|a: T| -> T { a - a.floor() }),
        Mf::Trunc => each!(|a: T| -> T { a.trunc() }),
        _ => return None,
    }))
}

#[allow(
    clippy::manual_clamp,
    reason = "of a NaN this gives 0, and Rust's clamp a NaN"
)]
fn of_floats(fun: MathFunction, scalar: Scalar) -> Option<LaneFn> {
    use MathFunction as Mf;
    float!(scalar, T => Some(match fun {
        Mf::Abs => each!(|a: T| -> T { a.abs() }),
        Mf::Min => each!(|a: T, b: T| -> T { a.min(b) }),
        Mf::Max => each!(|a: T, b: T| -> T { a.max(b) }),
        // As defined by WGSL. Rust's clamp panics if low is above high.
        Mf::Clamp => each!(|a: T, low: T, high: T| -> T { a.max(low).min(high) }),
        Mf::Saturate => each!(|a: T| -> T { a.max(0.0).min(1.0) }),
        // Keeps the sign of zeros, and NaNs.
        Mf::Sign => each!(|a: T| -> T { if a > 0.0 { 1.0 } else if a < 0.0 { -1.0 } else { a } }),
        Mf::Exp => each!(|a: T| -> T { a.exp() }),
        Mf::Exp2 => each!(|a: T| -> T { a.exp2() }),
        Mf::Log => each!(|a: T| -> T { a.ln() }),
        Mf::Log2 => each!(|a: T| -> T { a.log2() }),
        Mf::Pow => each!(|a: T, b: T| -> T { a.powf(b) }),
        Mf::Sqrt => each!(|a: T| -> T { a.sqrt() }),
        Mf::InverseSqrt => each!(|a: T| -> T { a.sqrt().recip() }),
        Mf::Fma => each!(|a: T, b: T, c: T| -> T { a.mul_add(b, c) }),
        Mf::Mix => each!(|a: T, b: T, t: T| -> T { a * (1.0 - t) + b * t }),
        Mf::Step => each!(|edge: T, a: T| -> T { if edge <= a { 1.0 } else { 0.0 } }),
        Mf::SmoothStep => each!(|low: T, high: T, a: T| -> T {
            let t = ((a - low) / (high - low)).max(0.0).min(1.0);
            t * t * (3.0 - 2.0 * t)
        }),
        _ => return None,
    }))
}

/// For narrower types the product in f64 is exact, so that the result is rounded once.
fn ldexp(scalar: Scalar) -> Option<LaneFn> {
    float!(scalar, T => Some(each!(|a: T, exponent: i32| -> T {
        scale(a as f64, exponent) as <T as Word>::Value
    })))
}

/// `a` times 2^`exponent`, rounded once.
pub(super) fn scale(mut a: f64, mut exponent: i32) -> f64 {
    let power = |exponent: i32| f64::from_bits(u64::from((1023 + exponent).cast_unsigned()) << 52);
    // Two steps span the range from the smallest to the largest number. Downward steps stay 53 bits
    // above the smallest normal number, so that only the last product can round.
    for _ in 0..2 {
        let step = exponent.clamp(-969, 1023);
        if exponent != exponent.clamp(-1022, 1023) {
            a *= power(step);
            exponent -= step;
        }
    }
    a * power(exponent.clamp(-1022, 1023))
}

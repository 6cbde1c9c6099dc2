//! Operators, conversions and functions of scalars on edge values, compared with plain Rust.

use super::{Bits, assert_words, call, of_scalars, words};
use crate::arithmetic::word::to_f16;
use crate::arithmetic::{Math, binary, cast, relational, select, slots, unary};
use half::f16;
use naga::{BinaryOperator, MathFunction, RelationalFunction, Scalar, ScalarKind, UnaryOperator};

macro_rules! integers_as_in_rust {
    ($($test:ident: $type:ident, $scalar:expr;)+) => {$(
        #[test]
        fn $test() {
            use BinaryOperator as Op;
            let (min, max) = ($type::MIN, $type::MAX);
            let half = max / 2;
            let values = [0, 1, 2, 3, 7, 100, max, max - 1, half, half + 1, min, min + 1, !0, !1];
            let slots = slots($scalar);
            let op = |op| binary(op, $scalar).unwrap();
            for (a, b) in values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b))) {
                let check = |op, expected: $type| {
                    let function = binary(op, $scalar).unwrap();
                    assert_words(&call(function, &words(&[a, b]), slots), expected, (op, a, b));
                };
                check(Op::Add, a.wrapping_add(b));
                check(Op::Subtract, a.wrapping_sub(b));
                check(Op::Multiply, a.wrapping_mul(b));
                check(Op::Divide, if b == 0 { a } else { a.checked_div(b).unwrap_or(min) });
                check(Op::Modulo, if b == 0 { 0 } else { a.checked_rem(b).unwrap_or(0) });
                check(Op::And, a & b);
                check(Op::InclusiveOr, a | b);
                check(Op::ExclusiveOr, a ^ b);
                let test = |name, expected: bool| {
                    assert_words(&call(op(name), &words(&[a, b]), 1), expected, (name, a, b));
                };
                test(Op::Equal, a == b);
                test(Op::NotEqual, a != b);
                test(Op::Less, a < b);
                test(Op::LessEqual, a <= b);
                test(Op::Greater, a > b);
                test(Op::GreaterEqual, a >= b);
                let call = |name, args: &[$type]| {
                    call(of_scalars(name, $scalar), &words(args), slots)
                };
                assert_words(&call(MathFunction::Min, &[a, b]), a.min(b), (a, b));
                assert_words(&call(MathFunction::Max, &[a, b]), a.max(b), (a, b));
                assert_words(&call(MathFunction::Clamp, &[a, b, 7]), a.max(b).min(7), (a, b));
                assert_words(&call(MathFunction::ReverseBits, &[a]), a.reverse_bits(), a);
                for (name, count) in [
                    (MathFunction::CountOneBits, a.count_ones()),
                    (MathFunction::CountLeadingZeros, a.leading_zeros()),
                    (MathFunction::CountTrailingZeros, a.trailing_zeros()),
                ] {
                    assert_words(&call(name, &[a]), $type::try_from(count).unwrap(), a);
                }
            }
            for a in values {
                let not = unary(UnaryOperator::BitwiseNot, $scalar).unwrap();
                assert_words(&call(not, &words(&[a]), slots), !a, a);
                for amount in [0, 1, $type::BITS - 1, $type::BITS, $type::BITS + 3, 77, u32::MAX] {
                    let inputs = [a.words(), vec![amount]].concat();
                    let masked = amount % $type::BITS;
                    let shifted = |name| call(op(name), &inputs, slots);
                    assert_words(&shifted(Op::ShiftLeft), a << masked, (a, amount));
                    assert_words(&shifted(Op::ShiftRight), a >> masked, (a, amount));
                }
            }
            assert!(binary(Op::LogicalAnd, $scalar).is_none());
            assert!(unary(UnaryOperator::LogicalNot, $scalar).is_none());
        }
    )+};
}

integers_as_in_rust! {
    u16_as_in_rust: u16, Scalar::U16;
    i16_as_in_rust: i16, Scalar::I16;
    u32_as_in_rust: u32, Scalar::U32;
    i32_as_in_rust: i32, Scalar::I32;
    u64_as_in_rust: u64, Scalar::U64;
    i64_as_in_rust: i64, Scalar::I64;
}

macro_rules! floats_as_in_rust {
    ($($test:ident: $type:ident, $scalar:expr, $wide:ident, $narrow:expr;)+) => {$(
        #[test]
        #[allow(clippy::float_cmp)]
        fn $test() {
            use BinaryOperator as Op;
            use MathFunction as Mf;
            let narrow: fn($wide) -> $type = $narrow;
            let values = [
                0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.7, -3.7, 1e-3, 1e4,
                $type::MAX.into(), $type::MIN.into(), $type::MIN_POSITIVE.into(),
                $wide::from($type::MIN_POSITIVE) / 4.0, $type::INFINITY.into(),
                $type::NEG_INFINITY.into(), $type::NAN.into(),
            ].map(|value| $wide::from(narrow(value)));
            let slots = slots($scalar);
            for (a, b) in values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b))) {
                let inputs = words(&[narrow(a), narrow(b)]);
                for (op, expected) in [
                    (Op::Add, a + b),
                    (Op::Subtract, a - b),
                    (Op::Multiply, a * b),
                    (Op::Divide, a / b),
                    (Op::Modulo, a % b),
                ] {
                    let function = binary(op, $scalar).unwrap();
                    assert_words(&call(function, &inputs, slots), narrow(expected), (op, a, b));
                }
                for (op, expected) in [
                    (Op::Equal, a == b),
                    (Op::NotEqual, a != b),
                    (Op::Less, a < b),
                    (Op::LessEqual, a <= b),
                    (Op::Greater, a > b),
                    (Op::GreaterEqual, a >= b),
                ] {
                    let function = binary(op, $scalar).unwrap();
                    assert_words(&call(function, &inputs, 1), expected, (op, a, b));
                }
                for (name, expected) in [
                    (Mf::Min, a.min(b)),
                    (Mf::Max, a.max(b)),
                    (Mf::Atan2, a.atan2(b)),
                    (Mf::Pow, a.powf(b)),
                    (Mf::Step, if a <= b { 1.0 } else { 0.0 }),
                ] {
                    let actual = call(of_scalars(name, $scalar), &inputs, slots);
                    // Of two zeros, either may be the smaller or larger one.
                    if !(a == 0.0 && b == 0.0) {
                        assert_words(&actual, narrow(expected), (name, a, b));
                    }
                }
                let fma = [inputs, words(&[narrow(1.5)])].concat();
                let actual = call(of_scalars(Mf::Fma, $scalar), &fma, slots);
                assert_words(&actual, narrow(a.mul_add(b, 1.5)), (a, b));
            }
            for a in values {
                for (name, expected) in [
                    (Mf::Abs, a.abs()),
                    (Mf::Cos, a.cos()),
                    (Mf::Cosh, a.cosh()),
                    (Mf::Sin, a.sin()),
                    (Mf::Sinh, a.sinh()),
                    (Mf::Tan, a.tan()),
                    (Mf::Tanh, a.tanh()),
                    (Mf::Acos, a.acos()),
                    (Mf::Asin, a.asin()),
                    (Mf::Atan, a.atan()),
                    (Mf::Asinh, a.asinh()),
                    (Mf::Acosh, a.acosh()),
                    (Mf::Atanh, a.atanh()),
                    (Mf::Radians, a.to_radians()),
                    (Mf::Degrees, a.to_degrees()),
                    (Mf::Ceil, a.ceil()),
                    (Mf::Floor, a.floor()),
                    (Mf::Round, a.round_ties_even()),
                    (Mf::Fract, a - a.floor()),
                    (Mf::Trunc, a.trunc()),
                    (Mf::Exp, a.exp()),
                    (Mf::Exp2, a.exp2()),
                    (Mf::Log, a.ln()),
                    (Mf::Log2, a.log2()),
                    (Mf::Sqrt, a.sqrt()),
                    (Mf::InverseSqrt, 1.0 / a.sqrt()),
                    (Mf::Length, a.abs()),
                ] {
                    let actual = call(of_scalars(name, $scalar), &words(&[narrow(a)]), slots);
                    assert_words(&actual, narrow(expected), (name, a));
                }
                let negate = unary(UnaryOperator::Negate, $scalar).unwrap();
                assert_words(&call(negate, &words(&[narrow(a)]), slots), narrow(-a), a);
                let per_component = |name| match relational(name, $scalar) {
                    Some(Math::PerComponent(function)) => call(function, &words(&[narrow(a)]), 1),
                    other => panic!("{other:?}"),
                };
                assert_words(&per_component(RelationalFunction::IsNan), a.is_nan(), a);
                assert_words(&per_component(RelationalFunction::IsInf), a.is_infinite(), a);
            }
        }
    )+};
}

floats_as_in_rust! {
    f16_as_in_rust: f16, Scalar::F16, f64, to_f16;
    f32_as_in_rust: f32, Scalar::F32, f32, |a| a;
    f64_as_in_rust: f64, Scalar::F64, f64, |a| a;
}

#[test]
fn rounding_and_blending() {
    use MathFunction as Mf;
    #[track_caller]
    fn check(name: MathFunction, args: &[f32], expected: f32) {
        let function = of_scalars(name, Scalar::F32);
        assert_words(&call(function, &words(args), 1), expected, (name, args));
    }
    for (a, rounded) in [
        (0.5, 0.0),
        (1.5, 2.0),
        (2.5, 2.0),
        (-0.5, -0.0),
        (-1.5, -2.0),
        (3.25, 3.0),
    ] {
        check(Mf::Round, &[a], rounded);
    }
    for (a, sign) in [(-3.0, -1.0), (0.0, 0.0), (0.25, 1.0)] {
        check(Mf::Sign, &[a], sign);
    }
    for (a, within) in [(-3.0, 0.0), (0.25, 0.25), (7.0, 1.0), (f32::NAN, 0.0)] {
        check(Mf::Saturate, &[a], within);
    }
    // Low above high.
    check(Mf::Clamp, &[3.0, 5.0, 4.0], 4.0);
    check(Mf::Mix, &[2.0, 6.0, 0.25], 3.0);
    check(Mf::SmoothStep, &[0.0, 2.0, 1.0], 0.5);
    check(Mf::SmoothStep, &[0.0, 2.0, 3.0], 1.0);
}

#[test]
fn f16s_are_the_nearest() {
    for bits in 0..f16::MAX.to_bits() {
        let [below, above] = [bits, bits + 1].map(|bits| f16::from_bits(bits).to_f64());
        let middle = f64::midpoint(below, above);
        let even = bits + bits % 2;
        for (value, nearest) in [
            (below, bits),
            (middle.next_down(), bits),
            (middle, even),
            (middle.next_up(), bits + 1),
        ] {
            assert_eq!(to_f16(value).to_bits(), nearest, "{value:e}");
            assert_eq!(to_f16(-value).to_bits(), nearest | 0x8000, "-{value:e}");
        }
    }
    assert_eq!(to_f16(65519.999), f16::MAX);
    assert_eq!(to_f16(65520.0), f16::INFINITY);
    assert!(to_f16(f64::from_bits(0x7ff0_0000_0000_0001)).is_nan());
}

#[test]
fn bools() {
    use BinaryOperator as Op;
    for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
        for (op, expected) in [
            (Op::And, a && b),
            (Op::LogicalAnd, a && b),
            (Op::InclusiveOr, a || b),
            (Op::LogicalOr, a || b),
            (Op::Equal, a == b),
            (Op::NotEqual, a != b),
        ] {
            let function = binary(op, Scalar::BOOL).unwrap();
            assert_words(&call(function, &words(&[a, b]), 1), expected, (op, a, b));
        }
        let fold = |name| match relational(name, Scalar::BOOL) {
            Some(Math::Whole(function)) => call(function, &words(&[a, b, a]), 1),
            other => panic!("{other:?}"),
        };
        assert_words(&fold(RelationalFunction::All), a && b, (a, b));
        assert_words(&fold(RelationalFunction::Any), a || b, (a, b));
        let not = unary(UnaryOperator::LogicalNot, Scalar::BOOL).unwrap();
        assert_words(&call(not, &words(&[a]), 1), !a, a);
    }
    assert!(binary(Op::Less, Scalar::BOOL).is_none());
    assert!(relational(RelationalFunction::All, Scalar::U32).is_none());
}

#[test]
fn select_keeps_bits() {
    let signalling = 0x7f80_0001;
    let f32s = |condition| call(select(Scalar::F32), &[signalling, 5, condition], 1);
    assert_eq!(f32s(0), [signalling]);
    assert_eq!(f32s(1), [5]);
    let u64s = |condition| call(select(Scalar::U64), &[1, 2, 3, 4, condition], 2);
    assert_eq!(u64s(0), [1, 2]);
    assert_eq!(u64s(1), [3, 4]);
}

#[test]
fn minus_signs() {
    let abs = |scalar, a: &[u32]| call(of_scalars(MathFunction::Abs, scalar), a, a.len());
    let sign = |scalar, a: &[u32]| call(of_scalars(MathFunction::Sign, scalar), a, a.len());
    let negate =
        |scalar, a: &[u32]| call(unary(UnaryOperator::Negate, scalar).unwrap(), a, a.len());
    assert_eq!(abs(Scalar::I32, &(-7i32).words()), [7]);
    assert_eq!(abs(Scalar::I32, &i32::MIN.words()), i32::MIN.words());
    assert_eq!(abs(Scalar::U32, &[u32::MAX]), [u32::MAX]);
    assert_eq!(abs(Scalar::I64, &(-7i64).words()), [7, 0]);
    assert_eq!(negate(Scalar::I32, &i32::MIN.words()), i32::MIN.words());
    assert_eq!(negate(Scalar::I64, &1i64.words()), (-1i64).words());
    assert_eq!(sign(Scalar::I32, &(-7i32).words()), (-1i32).words());
    assert_eq!(sign(Scalar::U32, &[u32::MAX]), [1]);
    assert_eq!(sign(Scalar::I64, &[0, 0]), [0, 0]);
    assert!(unary(UnaryOperator::Negate, Scalar::U32).is_none());
}

#[test]
fn conversions() {
    #[track_caller]
    fn check<A: Bits, B: Bits + PartialEq>(from: Scalar, a: A, to: Scalar, b: B) {
        let function = cast(from, to.kind, Some(to.width)).unwrap();
        assert_words(&call(function, &a.words(), slots(to)), b, a.words());
    }
    let (u32s, i32s, f32s) = (Scalar::U32, Scalar::I32, Scalar::F32);
    let (u64s, i64s, f64s, f16s) = (Scalar::U64, Scalar::I64, Scalar::F64, Scalar::F16);
    check(u32s, u32::MAX, i32s, -1i32);
    check(i32s, -1i32, u32s, u32::MAX);
    check(i32s, -2i32, i64s, -2i64);
    check(i32s, -2i32, u64s, (-2i64).cast_unsigned());
    check(u64s, 0x1_2345_6789_u64, u32s, 0x2345_6789_u32);
    check(u32s, u32::MAX, f32s, 4_294_967_296.0f32);
    check(i32s, 16_777_217i32, f32s, 16_777_216.0f32);
    check(u64s, u64::MAX, f64s, 18_446_744_073_709_551_616.0f64);
    check(i32s, -2049i32, f16s, f16::from_f32(-2048.0));
    check(u32s, 70_000u32, f16s, f16::INFINITY);
    check(f32s, -1.9f32, i32s, -1i32);
    check(f32s, -1.9f32, u32s, 0u32);
    check(f32s, f32::NAN, i32s, 0i32);
    // The largest integers that are floats of the type, as defined by WGSL.
    check(f32s, 1e20f32, u32s, 4_294_967_040u32);
    check(f32s, 1e20f32, i32s, 2_147_483_520i32);
    check(f32s, f32::NEG_INFINITY, i32s, i32::MIN);
    check(f32s, f32::INFINITY, i64s, 9_223_371_487_098_961_920i64);
    check(f64s, 1e20f64, u32s, u32::MAX);
    check(f64s, -1e20f64, i32s, i32::MIN);
    check(f64s, 1e20f64, u64s, 18_446_744_073_709_549_568u64);
    check(f16s, f16::INFINITY, u32s, 65504u32);
    check(f16s, f16::NEG_INFINITY, i32s, -65504i32);
    check(f16s, f16::MAX, Scalar::I16, 32752i16);
    check(f32s, 1e-50f64 as f32, f16s, f16::ZERO);
    check(
        f64s,
        1.0 + 2f64.powi(-11) + 2f64.powi(-40),
        f16s,
        f16::from_f32(1.0 + 2f32.powi(-10)),
    );
    check(f16s, f16::from_f32(0.25), f64s, 0.25f64);
    check(f32s, -0.0f32, Scalar::BOOL, false);
    check(f32s, f32::NAN, Scalar::BOOL, true);
    check(u64s, 1u64 << 40, Scalar::BOOL, true);
    check(Scalar::BOOL, true, f16s, f16::ONE);
    check(Scalar::BOOL, true, f32s, 1.0f32);
    check(Scalar::BOOL, true, i64s, 1i64);
    check(Scalar::BOOL, false, u32s, 0u32);
}

#[test]
fn bitcasts() {
    let signalling = 0x7f80_0001;
    let bits = cast(Scalar::F32, ScalarKind::Uint, None).unwrap();
    assert_eq!(call(bits, &[signalling], 1), [signalling]);
    let float = cast(Scalar::I64, ScalarKind::Float, None).unwrap();
    assert_eq!(call(float, &[1, 2], 2), [1, 2]);
    assert!(cast(Scalar::BOOL, ScalarKind::Uint, None).is_none());
    assert!(cast(Scalar::F32, ScalarKind::Bool, None).is_none());
}

//! Tests of all functions on random bits, and helpers for the other tests.

mod functions;
mod scalars;

use super::*;
use half::f16;
use naga::MathFunction;
use proptest::prelude::*;

/// All variants of an enum. A match ensures that the list is complete.
macro_rules! every {
    ($enum:ident: $($variant:ident)+) => {{
        const fn complete(variant: $enum) {
            match variant {
                $($enum::$variant => {})+
            }
        }
        const _: fn($enum) = complete;
        &[$($enum::$variant),+]
    }};
}

const BINARY: &[BinaryOperator] = every!(BinaryOperator:
    Add Subtract Multiply Divide Modulo Equal NotEqual Less LessEqual Greater GreaterEqual And
    ExclusiveOr InclusiveOr LogicalAnd LogicalOr ShiftLeft ShiftRight);
const UNARY: &[UnaryOperator] = every!(UnaryOperator: Negate LogicalNot BitwiseNot);
const RELATIONAL: &[RelationalFunction] = every!(RelationalFunction: All Any IsNan IsInf);
const MATH: &[MathFunction] = every!(MathFunction:
    Abs Min Max Clamp Saturate Cos Cosh Sin Sinh Tan Tanh Acos Asin Atan Atan2 Asinh Acosh Atanh
    Radians Degrees Ceil Floor Round Fract Trunc Modf Frexp Ldexp Exp Exp2 Log Log2 Pow Dot
    Dot4I8Packed Dot4U8Packed Outer Cross Distance Length Normalize FaceForward Reflect Refract Sign
    Fma Mix Step SmoothStep Sqrt InverseSqrt Inverse Transpose Determinant QuantizeToF16
    CountTrailingZeros CountLeadingZeros CountOneBits ReverseBits ExtractBits InsertBits
    FirstTrailingBit FirstLeadingBit Pack4x8snorm Pack4x8unorm Pack2x16snorm Pack2x16unorm
    Pack2x16float Pack4xI8 Pack4xU8 Pack4xI8Clamp Pack4xU8Clamp Unpack4x8snorm Unpack4x8unorm
    Unpack2x16snorm Unpack2x16unorm Unpack2x16float Unpack4xI8 Unpack4xU8);
const KINDS: &[ScalarKind] = every!(ScalarKind: Sint Uint Float Bool AbstractInt AbstractFloat);

const SCALARS: [Scalar; 10] = [
    Scalar::BOOL,
    Scalar::U16,
    Scalar::I16,
    Scalar::F16,
    Scalar::U32,
    Scalar::I32,
    Scalar::F32,
    Scalar::U64,
    Scalar::I64,
    Scalar::F64,
];

const fn shape(components: usize, columns: usize, scalar: Scalar) -> Shape {
    Shape {
        components,
        columns,
        scalar,
    }
}

/// Calls a function with the same words in each lane, and checks that all lanes agree.
fn call(function: LaneFn, inputs: &[u32], outputs: usize) -> Vec<u32> {
    let inputs: Vec<Lanes> = inputs.iter().map(|word| [*word; LANES]).collect();
    let mut results = vec![[0xdead_beef; LANES]; outputs + 1];
    function(&inputs.iter().collect::<Vec<_>>(), &mut results);
    assert_eq!(
        results.pop(),
        Some([0xdead_beef; LANES]),
        "more outputs than the result has"
    );
    results
        .into_iter()
        .map(|lanes| {
            assert_eq!(lanes, [lanes[0]; LANES]);
            lanes[0]
        })
        .collect()
}

fn fun(fun: MathFunction, args: &[Shape]) -> LaneFn {
    match math(fun, args) {
        Some(Math::PerComponent(function) | Math::Whole(function)) => function,
        None => panic!("no {fun:?} of {args:?}"),
    }
}

/// A function of scalars of one type.
fn of_scalars(name: MathFunction, scalar: Scalar) -> LaneFn {
    fun(name, &vec![shape(1, 1, scalar); name.argument_count()])
}

trait Bits: Copy {
    fn words(self) -> Vec<u32>;
}

macro_rules! bits {
    ($($type:ty: $to:expr;)+) => {$(
        impl Bits for $type {
            fn words(self) -> Vec<u32> {
                const TO: fn($type) -> Vec<u32> = $to;
                TO(self)
            }
        }
    )+};
}

bits! {
    bool: |a| vec![u32::from(a)];
    u16: |a| vec![a.into()];
    i16: |a| vec![a.cast_unsigned().into()];
    u32: |a| vec![a];
    i32: |a| vec![a.cast_unsigned()];
    f32: |a| vec![a.to_bits()];
    f16: |a| vec![a.to_bits().into()];
    u64: |a| vec![a as u32, (a >> 32) as u32];
    i64: |a| a.cast_unsigned().words();
    f64: |a| a.to_bits().words();
}

fn words<T: Bits>(values: &[T]) -> Vec<u32> {
    values.iter().flat_map(|value| value.words()).collect()
}

/// Checks that the words encode a value, or that both are NaNs.
#[track_caller]
fn assert_words<T: Bits + PartialEq>(actual: &[u32], expected: T, context: impl std::fmt::Debug) {
    #[allow(clippy::eq_op, reason = "only a NaN is not itself")]
    let nan = expected != expected;
    if nan {
        let actual = match actual {
            [bits] if expected.words()[0] < 1 << 16 => f16::from_bits(*bits as u16).to_f64(),
            [bits] => f32::from_bits(*bits).into(),
            [low, high] => f64::from_bits(u64::from(*low) | u64::from(*high) << 32),
            _ => panic!("not a scalar"),
        };
        assert!(actual.is_nan(), "{context:?}");
    } else {
        assert_eq!(actual, expected.words(), "{context:?}");
    }
}

#[test]
fn nothing_is_abstract() {
    for scalar in [Scalar::ABSTRACT_INT, Scalar::ABSTRACT_FLOAT] {
        assert!(BINARY.iter().all(|op| binary(*op, scalar).is_none()));
        assert!(UNARY.iter().all(|op| unary(*op, scalar).is_none()));
        assert!(
            RELATIONAL
                .iter()
                .all(|fun| relational(*fun, scalar).is_none())
        );
        assert!(
            KINDS
                .iter()
                .all(|kind| cast(scalar, *kind, Some(4)).is_none())
        );
        for fun in MATH {
            assert!(math(*fun, &vec![shape(1, 1, scalar); fun.argument_count()]).is_none());
        }
    }
}

struct Known {
    name: String,
    function: LaneFn,
    inputs: usize,
}

/// More slots than any result needs.
const OUTPUTS: usize = 32;

fn all_shapes() -> impl Iterator<Item = Shape> {
    SCALARS.into_iter().flat_map(|scalar| {
        let sizes =
            (1..=4).flat_map(|components| (1..=4).map(move |columns| (components, columns)));
        sizes
            .filter(|(components, columns)| *columns == 1 || *components > 1)
            .map(move |(components, columns)| shape(components, columns, scalar))
    })
}

/// All argument lists that a function may accept, and many that none does.
fn all_arguments(count: usize) -> Vec<Vec<Shape>> {
    let amount = shape(1, 1, Scalar::U32);
    let mut lists = Vec::new();
    for first in all_shapes() {
        lists.push(vec![first; count]);
        let scalar = Shape {
            components: 1,
            columns: 1,
            ..first
        };
        if count > 1 {
            let but_one = vec![first; count - 1];
            lists.push([but_one.clone(), vec![scalar]].concat());
            lists.push(
                [
                    but_one,
                    vec![Shape {
                        scalar: Scalar::I32,
                        ..first
                    }],
                ]
                .concat(),
            );
        }
        if count > 2 {
            lists.push([vec![first; count - 2], vec![amount; 2]].concat());
        }
    }
    lists
}

/// All functions, and the names in [`MATH`] that exist.
fn all_functions() -> (Vec<Known>, Vec<MathFunction>) {
    let mut known = Vec::new();
    let mut add = |name: String, function: Option<LaneFn>, inputs: usize| {
        known.extend(function.map(|function| Known {
            name,
            function,
            inputs,
        }));
    };
    for scalar in SCALARS {
        let n = slots(scalar);
        for op in BINARY {
            let shift = matches!(op, BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight);
            let inputs = if shift { n + 1 } else { 2 * n };
            add(format!("{op:?} {scalar:?}"), binary(*op, scalar), inputs);
        }
        for op in UNARY {
            add(format!("{op:?} {scalar:?}"), unary(*op, scalar), n);
        }
        add(
            format!("select {scalar:?}"),
            Some(select(scalar)),
            2 * n + 1,
        );
        for kind in KINDS {
            for convert in [None, Some(1), Some(2), Some(4), Some(8)] {
                let name = format!("cast {scalar:?} {kind:?} {convert:?}");
                add(name, cast(scalar, *kind, convert), n);
            }
        }
        for fun in RELATIONAL {
            match relational(*fun, scalar) {
                Some(Math::PerComponent(function)) => {
                    add(format!("{fun:?} {scalar:?}"), Some(function), n);
                }
                Some(Math::Whole(function)) => {
                    for components in 1..=4 {
                        let name = format!("{fun:?} {scalar:?} {components}");
                        add(name, Some(function), components * n);
                    }
                }
                None => {}
            }
        }
    }
    for a in all_shapes() {
        for b in all_shapes() {
            let inputs = [a, b]
                .map(|m| m.components * m.columns * slots(m.scalar))
                .iter()
                .sum();
            add(format!("{a:?} * {b:?}"), matrix_multiply(a, b), inputs);
        }
    }
    let mut found = Vec::new();
    for fun in MATH {
        for args in all_arguments(fun.argument_count()) {
            let per_component = args.iter().map(|arg| slots(arg.scalar)).sum();
            let whole = args
                .iter()
                .map(|arg| arg.components * arg.columns * slots(arg.scalar))
                .sum();
            let (function, inputs) = match math(*fun, &args) {
                Some(Math::PerComponent(function)) => (function, per_component),
                Some(Math::Whole(function)) => (function, whole),
                None => continue,
            };
            found.push(*fun);
            add(format!("{fun:?} {args:?}"), Some(function), inputs);
        }
    }
    (known, found)
}

#[test]
fn every_math_function_is_there() {
    let (_, found) = all_functions();
    for fun in MATH {
        assert!(found.contains(fun), "{fun:?}");
    }
    for fun in MATH {
        assert!(math(*fun, &[]).is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// No bits make a function panic, and a lane's result depends only on its own inputs.
    #[test]
    fn lanes_are_independent_and_never_panic(
        random in prop::collection::vec(prop::array::uniform32(word()), 64),
        lane in 0..LANES,
    ) {
        let inputs: Vec<&Lanes> = random.iter().collect();
        let alone: Vec<Lanes> = random.iter().map(|lanes| [lanes[lane]; LANES]).collect();
        let alone: Vec<&Lanes> = alone.iter().collect();
        for Known { name, function, inputs: count } in all_functions().0 {
            let mut together = vec![[0; LANES]; OUTPUTS];
            let mut apart = together.clone();
            function(&inputs[..count], &mut together);
            function(&alone[..count], &mut apart);
            for (together, apart) in together.iter().zip(&apart) {
                prop_assert_eq!(together[lane], apart[0], "{}", name);
            }
        }
    }
}

/// Random words, with special values of some type more often.
fn word() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        0..64u32,
        prop::sample::select(vec![
            0x8000_0000,
            0x7fff_ffff,
            0xffff_ffff,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0x7ff0_0000,
            0xfff0_0000,
            0x3f80_0000,
            0x7c00,
            0xfc00,
            0x7e00,
        ]),
    ]
}

//! Known values of functions that Rust does not have.

use super::{Bits, assert_words, call, fun, of_scalars, shape, words};
use crate::arithmetic::math::scale;
use crate::arithmetic::matrix_multiply;
use half::f16;
use naga::{MathFunction, Scalar};

#[test]
fn first_bits() {
    let leading = |scalar, a: &[u32]| {
        call(
            of_scalars(MathFunction::FirstLeadingBit, scalar),
            a,
            a.len(),
        )
    };
    let trailing = |scalar, a: &[u32]| {
        call(
            of_scalars(MathFunction::FirstTrailingBit, scalar),
            a,
            a.len(),
        )
    };
    for (a, bit) in [
        (0, -1),
        (1, 0),
        (0x4000_0000, 30),
        (-1, -1),
        (-2, 0),
        (-256, 7),
        (i32::MIN, 30),
    ] {
        assert_words(&leading(Scalar::I32, &a.words()), bit, a);
        assert_words(
            &leading(Scalar::I64, &i64::from(a).words()),
            i64::from(bit),
            a,
        );
    }
    for (a, bit) in [(0, u32::MAX), (1, 0), (255, 7), (u32::MAX, 31)] {
        assert_words(&leading(Scalar::U32, &[a]), bit, a);
    }
    assert_eq!(leading(Scalar::U64, &[0, 1]), [32, 0]);
    assert_eq!(leading(Scalar::U64, &[0, 0]), [u32::MAX, u32::MAX]);
    assert_eq!(trailing(Scalar::U32, &[0]), [u32::MAX]);
    assert_eq!(trailing(Scalar::I32, &[0x8000_0000]), [31]);
    assert_eq!(trailing(Scalar::I64, &[0, 2]), [33, 0]);
}

#[test]
fn bit_fields() {
    let amount = shape(1, 1, Scalar::U32);
    let extract = |scalar, a, offset, count| {
        let function = fun(
            MathFunction::ExtractBits,
            &[shape(1, 1, scalar), amount, amount],
        );
        call(function, &[a, offset, count], 1)[0]
    };
    let value = 0x89ab_cdef;
    assert_eq!(extract(Scalar::U32, value, 4, 8), 0xde);
    assert_eq!(extract(Scalar::I32, value, 4, 8), 0xffff_ffde);
    for scalar in [Scalar::U32, Scalar::I32] {
        assert_eq!(extract(scalar, value, 0, 32), value);
        assert_eq!(extract(scalar, value, 0, u32::MAX), value);
        assert_eq!(extract(scalar, value, 7, 0), 0);
        assert_eq!(extract(scalar, value, 32, 5), 0);
        assert_eq!(extract(scalar, value, u32::MAX, u32::MAX), 0);
    }
    assert_eq!(extract(Scalar::U32, value, 28, 99), 8);
    assert_eq!(extract(Scalar::I32, value, 28, 99), 0xffff_fff8);

    let insert = |a, new, offset, count| {
        let value = shape(2, 1, Scalar::I32);
        let function = fun(MathFunction::InsertBits, &[value, value, amount, amount]);
        let results = call(function, &[a, a, new, new, offset, count], 2);
        assert_eq!(results[0], results[1]);
        results[0]
    };
    assert_eq!(insert(value, 0x12, 4, 8), 0x89ab_c12f);
    assert_eq!(insert(value, 0xfff, 4, 4), 0x89ab_cdff);
    assert_eq!(insert(value, 0x12, 0, 32), 0x12);
    assert_eq!(insert(value, 0x12, 0, 99), 0x12);
    assert_eq!(insert(value, 0x12, 9, 0), value);
    assert_eq!(insert(value, 0x12, 32, 7), value);
    assert_eq!(insert(value, 0x7, 30, 9), 0xc9ab_cdef);
}

#[test]
fn packing() {
    use MathFunction as Mf;
    let f32x4 = shape(4, 1, Scalar::F32);
    let f32x2 = shape(2, 1, Scalar::F32);
    let pack = |name, shape, inputs: &[u32]| call(fun(name, &[shape]), inputs, 1)[0];
    let quarters = words(&[-2.0f32, -1.0, 0.5, 1.0]);
    assert_eq!(pack(Mf::Pack4x8snorm, f32x4, &quarters), 0x7f40_8181);
    assert_eq!(pack(Mf::Pack4x8unorm, f32x4, &quarters), 0xff80_0000);
    assert_eq!(
        pack(Mf::Pack2x16snorm, f32x2, &words(&[-1.0f32, 0.5])),
        0x4000_8001
    );
    assert_eq!(
        pack(Mf::Pack2x16unorm, f32x2, &words(&[7.0f32, 0.5])),
        0x8000_ffff
    );
    assert_eq!(
        pack(Mf::Pack2x16float, f32x2, &words(&[1.0f32, -2.0])),
        0xc000_3c00
    );
    let integers = words(&[-1i32, 300, -200, 5]);
    let (i32x4, u32x4) = (shape(4, 1, Scalar::I32), shape(4, 1, Scalar::U32));
    assert_eq!(pack(Mf::Pack4xI8, i32x4, &integers), 0x0538_2cff);
    assert_eq!(pack(Mf::Pack4xI8Clamp, i32x4, &integers), 0x0580_7fff);
    assert_eq!(pack(Mf::Pack4xU8, u32x4, &[1, 256, 511, 5]), 0x05ff_0001);
    assert_eq!(
        pack(Mf::Pack4xU8Clamp, u32x4, &[1, 256, 511, 5]),
        0x05ff_ff01
    );

    let unpack = |name, word, outputs| call(of_scalars(name, Scalar::U32), &[word], outputs);
    assert_eq!(
        unpack(Mf::Unpack4x8snorm, 0x7f00_8081, 4),
        words(&[-1.0f32, -1.0, 0.0, 1.0])
    );
    assert_eq!(
        unpack(Mf::Unpack4x8unorm, 0xff00_0033, 4),
        words(&[0.2f32, 0.0, 0.0, 1.0])
    );
    assert_eq!(
        unpack(Mf::Unpack2x16snorm, 0x7fff_8000, 2),
        words(&[-1.0f32, 1.0])
    );
    assert_eq!(
        unpack(Mf::Unpack2x16unorm, 0xffff_0000, 2),
        words(&[0.0f32, 1.0])
    );
    assert_eq!(
        unpack(Mf::Unpack2x16float, 0xc000_3c00, 2),
        words(&[1.0f32, -2.0])
    );
    assert_eq!(
        unpack(Mf::Unpack4xI8, 0x0580_7fff, 4),
        words(&[-1i32, 127, -128, 5])
    );
    assert_eq!(unpack(Mf::Unpack4xU8, 0x0580_7fff, 4), [255, 127, 128, 5]);

    let dot = |name, a, b| call(of_scalars(name, Scalar::U32), &[a, b], 1)[0];
    assert_eq!(dot(Mf::Dot4I8Packed, 0x8080_8080, 0x8080_8080), 65536);
    assert_eq!(
        dot(Mf::Dot4I8Packed, 0xff02_0304, 0x0101_0101).cast_signed(),
        8
    );
    assert_eq!(dot(Mf::Dot4U8Packed, 0xff02_0304, 0x0101_0101), 264);
    assert_eq!(
        call(
            of_scalars(Mf::QuantizeToF16, Scalar::F32),
            &(1.0f32 + 1e-4).words(),
            1
        ),
        1.0f32.words()
    );
}

#[test]
fn parts_of_floats() {
    use MathFunction as Mf;
    let f32s = |name, a: f32| call(of_scalars(name, Scalar::F32), &a.words(), 2);
    let parts = |fraction: f32, exponent: i32| [fraction.words(), exponent.words()].concat();
    assert_eq!(f32s(Mf::Frexp, 8.0), parts(0.5, 4));
    assert_eq!(f32s(Mf::Frexp, -0.75), parts(-0.75, 0));
    assert_eq!(f32s(Mf::Frexp, 0.0), parts(0.0, 0));
    assert_eq!(f32s(Mf::Frexp, f32::INFINITY), parts(f32::INFINITY, 0));
    assert_eq!(f32s(Mf::Frexp, f32::from_bits(1)), parts(0.5, -148));
    assert_eq!(f32s(Mf::Modf, -3.25), words(&[-0.25f32, -3.0]));
    // The members one after the other, each with all components.
    let modf = fun(Mf::Modf, &[shape(2, 1, Scalar::F32)]);
    assert_eq!(
        call(modf, &words(&[1.5f32, 2.25]), 4),
        words(&[0.5f32, 0.25, 1.0, 2.0])
    );
    // The exponent is as wide as the float.
    let f64s = call(
        of_scalars(Mf::Frexp, Scalar::F64),
        &f64::from_bits(1).words(),
        4,
    );
    assert_eq!(f64s, [0.5f64.words(), (-1073i64).words()].concat());
    let f16s = call(
        of_scalars(Mf::Frexp, Scalar::F16),
        &f16::from_bits(1).words(),
        2,
    );
    assert_eq!(
        f16s,
        [f16::from_f32(0.5).words(), (-23i16).words()].concat()
    );

    let exponent = shape(1, 1, Scalar::I32);
    let ldexp = |a: f32, power: i32| {
        let function = fun(Mf::Ldexp, &[shape(1, 1, Scalar::F32), exponent]);
        f32::from_bits(call(function, &[a.words(), power.words()].concat(), 1)[0])
    };
    assert_eq!(ldexp(0.5, 4).to_bits(), 8.0f32.to_bits());
    assert_eq!(ldexp(f32::from_bits(1), 149).to_bits(), 1.0f32.to_bits());
    assert_eq!(ldexp(1.0, -149).to_bits(), 1);
    assert_eq!(ldexp(1.0, i32::MIN).to_bits(), 0);
    assert_eq!(ldexp(-1.0, i32::MAX).to_bits(), f32::NEG_INFINITY.to_bits());
    let least = f64::from_bits(1);
    assert_eq!(scale(least, 2097).to_bits(), 2f64.powi(1023).to_bits());
    assert_eq!(scale(2f64.powi(1023), -2097).to_bits(), 1);
    // Just above half of the smallest number. An earlier rounding to the half would lose it.
    assert_eq!(scale(1.0 + f64::EPSILON, -1075).to_bits(), 1);
    assert_eq!(scale(1.0, -1075).to_bits(), 0);
}

#[test]
fn vectors() {
    use MathFunction as Mf;
    let f32x3 = shape(3, 1, Scalar::F32);
    let run = |name: Mf, inputs: &[f32], outputs| {
        let function = fun(name, &vec![f32x3; name.argument_count()]);
        call(function, &words(inputs), outputs)
    };
    assert_eq!(
        run(Mf::Dot, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 1),
        32.0f32.words()
    );
    let cross = run(Mf::Cross, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3);
    assert_eq!(cross, words(&[-3.0f32, 6.0, -3.0]));
    assert_eq!(run(Mf::Length, &[2.0, 3.0, 6.0], 1), 7.0f32.words());
    assert_eq!(
        run(Mf::Distance, &[3.0, 3.0, 6.0, 1.0, 0.0, 0.0], 1),
        7.0f32.words()
    );
    assert_eq!(
        run(Mf::Normalize, &[0.0, 3.0, 4.0], 3),
        words(&[0.0f32, 0.6, 0.8])
    );
    let reflected = run(Mf::Reflect, &[1.0, -1.0, 0.0, 0.0, 1.0, 0.0], 3);
    assert_eq!(reflected, words(&[1.0f32, 1.0, 0.0]));
    let forward = run(
        Mf::FaceForward,
        &[1.0, 2.0, 3.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0],
        3,
    );
    assert_eq!(forward, words(&[-1.0f32, -2.0, -3.0]));
    let outer = call(
        fun(Mf::Outer, &[shape(2, 1, Scalar::F32); 2]),
        &words(&[1.0f32, 2.0, 3.0, 5.0]),
        4,
    );
    assert_eq!(outer, words(&[3.0f32, 6.0, 5.0, 10.0]));

    let ratio = shape(1, 1, Scalar::F32);
    let refract = |ratio_value: f32, incident: [f32; 2]| {
        let f32x2 = shape(2, 1, Scalar::F32);
        let [x, y] = incident;
        let inputs = words(&[x, y, 0.0, 1.0, ratio_value]);
        call(fun(Mf::Refract, &[f32x2, f32x2, ratio]), &inputs, 2)
    };
    assert_eq!(refract(1.0, [0.0, -1.0]), words(&[0.0f32, -1.0]));
    assert_eq!(
        refract(2.0, [1.0, 0.0]),
        words(&[0.0f32, 0.0]),
        "total reflection"
    );
    let mix = call(
        fun(Mf::Mix, &[f32x3, f32x3, ratio]),
        &words(&[0.0f32, 1.0, 2.0, 4.0, 5.0, 6.0, 0.5]),
        3,
    );
    assert_eq!(mix, words(&[2.0f32, 3.0, 4.0]));

    let integers = fun(Mf::Dot, &[shape(2, 1, Scalar::I32); 2]);
    assert_eq!(
        call(integers, &words(&[i32::MAX, -3, 2, 5]), 1),
        (-17i32).words()
    );
    // Rounded once: 2048 + 1 is not an f16.
    let halves = fun(Mf::Dot, &[shape(3, 1, Scalar::F16); 2]);
    let inputs = words(&[2048.0, 1.0, 1.0, 1.0, 1.0, 1.0].map(f16::from_f32));
    assert_eq!(call(halves, &inputs, 1), f16::from_f32(2050.0).words());
}

#[test]
fn matrices() {
    use MathFunction as Mf;
    let f32s = |columns, rows| shape(rows, columns, Scalar::F32);
    // Columns (1, 2), (3, 4), (5, 6).
    let m: Vec<f32> = (1..=6).map(|i| i as f32).collect();
    let transposed = call(fun(Mf::Transpose, &[f32s(3, 2)]), &words(&m), 6);
    assert_eq!(transposed, words(&[1.0f32, 3.0, 5.0, 2.0, 4.0, 6.0]));

    let multiply = |a, b, inputs: &[f32], outputs| {
        call(matrix_multiply(a, b).unwrap(), &words(inputs), outputs)
    };
    let with = |tail: &[f32]| [&m[..], tail].concat();
    let vector = |components| shape(components, 1, Scalar::F32);
    let column = multiply(f32s(3, 2), vector(3), &with(&[1.0, 10.0, 100.0]), 2);
    assert_eq!(column, words(&[531.0f32, 642.0]));
    let row = multiply(vector(2), f32s(3, 2), &[&[1.0, 10.0], &m[..]].concat(), 3);
    assert_eq!(row, words(&[21.0f32, 43.0, 65.0]));
    let square = multiply(
        f32s(3, 2),
        f32s(2, 3),
        &with(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]),
        4,
    );
    assert_eq!(square, words(&[1.0f32, 2.0, 9.0, 12.0]));
    assert!(matrix_multiply(f32s(3, 2), f32s(3, 2)).is_none());
    assert!(matrix_multiply(vector(3), vector(3)).is_none());
    assert!(matrix_multiply(vector(1), f32s(3, 2)).is_none());
    assert!(matrix_multiply(f32s(3, 2), vector(1)).is_none());

    let determinant = |n, m: &[f32]| call(fun(Mf::Determinant, &[f32s(n, n)]), &words(m), 1);
    assert_eq!(determinant(2, &[1.0, 2.0, 3.0, 4.0]), (-2.0f32).words());
    let three = [2.0, 0.0, 1.0, 3.0, 1.0, 0.0, 1.0, 4.0, 2.0];
    assert_eq!(determinant(3, &three), 15.0f32.words());
    let two = call(
        fun(Mf::Inverse, &[f32s(2, 2)]),
        &words(&[1.0f32, 2.0, 3.0, 4.0]),
        4,
    );
    assert_eq!(two, words(&[-2.0f32, 1.0, 1.5, -0.5]));

    // Powers of two, so that the product with the inverse is exact.
    let four: [f32; 16] = [
        2.0, 0.0, 0.0, 0.0, 4.0, 1.0, 0.0, 0.0, 0.0, 8.0, 0.5, 0.0, 1.0, 2.0, 0.0, 4.0,
    ];
    assert_eq!(determinant(4, &four), 4.0f32.words());
    let inverse = call(fun(Mf::Inverse, &[f32s(4, 4)]), &words(&four), 16);
    let inputs = [words(&four), inverse].concat();
    let product = call(
        matrix_multiply(f32s(4, 4), f32s(4, 4)).unwrap(),
        &inputs,
        16,
    );
    for (i, word) in product.into_iter().enumerate() {
        let expected = if i % 5 == 0 { 1.0 } else { 0.0 };
        assert!((f32::from_bits(word) - expected).abs() == 0.0, "{i}");
    }
}

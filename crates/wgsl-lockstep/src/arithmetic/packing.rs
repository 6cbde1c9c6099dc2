//! Vectors packed into a word, with the first component in the lowest bits.

use super::word::{Word, take};
use super::{LANES, LaneFn, Shape};
use half::f16;
use naga::{MathFunction, Scalar};
use std::array;

/// Packs the low 32 / N bits of each part.
fn join<const N: usize>(parts: [u32; N]) -> u32 {
    let width = 32 / N;
    let mask = u32::MAX >> (32 - width);
    (0..N).fold(0, |word, i| word | (parts[i] & mask) << (i * width))
}

fn split<const N: usize>(word: u32) -> [u32; N] {
    let width = 32 / N;
    array::from_fn(|i| word << (32 - (i + 1) * width) >> (32 - width))
}

fn split_signed<const N: usize>(word: u32) -> [i32; N] {
    let width = 32 / N;
    array::from_fn(|i| (word << (32 - (i + 1) * width)).cast_signed() >> (32 - width))
}

/// Halves round up, as defined by WGSL: `floor(0.5 + scale * a)`.
fn normalized<const N: usize>(parts: [f32; N], low: f32, scale: f32) -> [u32; N] {
    parts.map(|a| ((0.5 + scale * a.clamp(low, 1.0)).floor() as i32).cast_unsigned())
}

/// The smallest part is one below `-scale`, and also means -1.
fn signed_fractions<const N: usize>(word: u32, scale: f32) -> [f32; N] {
    split_signed(word).map(|a| (a as f32 / scale).max(-1.0))
}

/// Functions that pack a vector into a u32 or unpack it, and functions of packed vectors.
pub(super) fn packing(fun: MathFunction, args: &[Shape]) -> Option<LaneFn> {
    use MathFunction as Mf;
    let (components, scalar) = match fun {
        Mf::Pack4x8snorm | Mf::Pack4x8unorm => (4, Scalar::F32),
        Mf::Pack2x16snorm | Mf::Pack2x16unorm | Mf::Pack2x16float => (2, Scalar::F32),
        Mf::Pack4xI8 | Mf::Pack4xI8Clamp => (4, Scalar::I32),
        Mf::Pack4xU8 | Mf::Pack4xU8Clamp => (4, Scalar::U32),
        _ => (1, Scalar::U32),
    };
    let shape = Shape {
        components,
        columns: 1,
        scalar,
    };
    if args.iter().any(|arg| *arg != shape) {
        return None;
    }
    Some(match fun {
        Mf::Pack4x8snorm => each!(|a: [f32; 4]| -> u32 { join(normalized(a, -1.0, 127.0)) }),
        Mf::Pack4x8unorm => each!(|a: [f32; 4]| -> u32 { join(normalized(a, 0.0, 255.0)) }),
        Mf::Pack2x16snorm => each!(|a: [f32; 2]| -> u32 { join(normalized(a, -1.0, 32767.0)) }),
        Mf::Pack2x16unorm => each!(|a: [f32; 2]| -> u32 { join(normalized(a, 0.0, 65535.0)) }),
        Mf::Pack2x16float => {
            each!(|a: [f32; 2]| -> u32 { join(a.map(|a| f16::from_f32(a).to_bits().into())) })
        }
        Mf::Pack4xI8 => each!(|a: [i32; 4]| -> u32 { join(a.map(i32::cast_unsigned)) }),
        Mf::Pack4xU8 => each!(|a: [u32; 4]| -> u32 { join(a) }),
        Mf::Pack4xI8Clamp => {
            each!(|a: [i32; 4]| -> u32 { join(a.map(|a| a.clamp(-128, 127).cast_unsigned())) })
        }
        Mf::Pack4xU8Clamp => each!(|a: [u32; 4]| -> u32 { join(a.map(|a| a.min(255))) }),
        Mf::Unpack4x8snorm => each!(|a: u32| -> [f32; 4] { signed_fractions(a, 127.0) }),
        Mf::Unpack4x8unorm => each!(|a: u32| -> [f32; 4] { split(a).map(|a| a as f32 / 255.0) }),
        Mf::Unpack2x16snorm => each!(|a: u32| -> [f32; 2] { signed_fractions(a, 32767.0) }),
        Mf::Unpack2x16unorm => {
            each!(|a: u32| -> [f32; 2] { split(a).map(|a| a as f32 / 65535.0) })
        }
        Mf::Unpack2x16float => {
            each!(|a: u32| -> [f32; 2] { split(a).map(|a| f16::from_bits(a as u16).to_f32()) })
        }
        Mf::Unpack4xI8 => each!(|a: u32| -> [i32; 4] { split_signed(a) }),
        Mf::Unpack4xU8 => each!(|a: u32| -> [u32; 4] { split(a) }),
        Mf::Dot4I8Packed => each!(|a: u32, b: u32| -> i32 {
            let (a, b) = (split_signed::<4>(a), split_signed::<4>(b));
            (0..4).map(|i| a[i] * b[i]).sum()
        }),
        Mf::Dot4U8Packed => each!(|a: u32, b: u32| -> u32 {
            let (a, b) = (split::<4>(a), split::<4>(b));
            (0..4).map(|i| a[i] * b[i]).sum()
        }),
        _ => return None,
    })
}

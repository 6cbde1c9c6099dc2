//! Functions of whole vectors and of matrices.

use super::word::{FloatWord, Word, take};
use super::{LANES, LaneFn, Shape};
use naga::{MathFunction, ScalarKind};
use std::array;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The operations common to f32 and f64 that are used here.
trait Real:
    Copy
    + PartialOrd
    + From<f32>
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    fn sqrt(self) -> Self;
    fn abs(self) -> Self;
}

macro_rules! real {
    ($($float:ty)+) => {$(
        impl Real for $float {
            fn sqrt(self) -> Self {
                <$float>::sqrt(self)
            }

            fn abs(self) -> Self {
                <$float>::abs(self)
            }
        }
    )+};
}

real!(f32 f64);

fn dot<F: Real, const N: usize>(a: [F; N], b: [F; N]) -> F {
    // Starts from the first product: starting from zero would lose the sign of a sum of -0.
    (1..N).fold(a[0] * b[0], |sum, i| sum + a[i] * b[i])
}

fn length<F: Real, const N: usize>(a: [F; N]) -> F {
    match N {
        // The square of a scalar may overflow even if the scalar is finite.
        1 => a[0].abs(),
        _ => dot(a, a).sqrt(),
    }
}

fn reflect<F: Real, const N: usize>(incident: [F; N], normal: [F; N]) -> [F; N] {
    let twice = F::from(2.0) * dot(normal, incident);
    array::from_fn(|i| incident[i] - twice * normal[i])
}

fn refract<F: Real, const N: usize>(incident: [F; N], normal: [F; N], ratio: F) -> [F; N] {
    let one = F::from(1.0);
    let cosine = dot(normal, incident);
    let k = one - ratio * ratio * (one - cosine * cosine);
    if k < F::from(0.0) {
        return [F::from(0.0); N];
    }
    let along = ratio * cosine + k.sqrt();
    array::from_fn(|i| ratio * incident[i] - along * normal[i])
}

/// The product of a matrix of R rows and K columns and one of K rows and C columns. Matrices are
/// arrays of columns.
fn product<F: Real, const R: usize, const K: usize, const C: usize>(
    a: [[F; R]; K],
    b: [[F; K]; C],
) -> [[F; R]; C] {
    let rows = transpose(a);
    b.map(|column| array::from_fn(|r| dot(rows[r], column)))
}

fn transpose<F: Copy, const R: usize, const C: usize>(m: [[F; R]; C]) -> [[F; C]; R] {
    array::from_fn(|r| array::from_fn(|c| m[c][r]))
}

/// The determinant of the submatrix of the columns and rows whose bits are set, by Laplace
/// expansion along its first column. Their numbers must be equal.
fn minor<F: Real, const N: usize>(m: &[[F; N]; N], columns: u32, rows: u32) -> F {
    if columns == 0 {
        return F::from(1.0);
    }
    let column = columns.trailing_zeros() as usize;
    let mut sum = F::from(0.0);
    let mut positive = true;
    for row in (0..N).filter(|row| rows >> row & 1 == 1) {
        let term = m[column][row] * minor(m, columns & (columns - 1), rows & !(1 << row));
        sum = if positive { sum + term } else { sum - term };
        positive = !positive;
    }
    sum
}

fn determinant<F: Real, const N: usize>(m: &[[F; N]; N]) -> F {
    minor(m, (1 << N) - 1, (1 << N) - 1)
}

/// The adjugate divided by the determinant. Not finite for a singular matrix.
fn inverse<F: Real, const N: usize>(m: &[[F; N]; N]) -> [[F; N]; N] {
    let all = (1 << N) - 1;
    let determinant = determinant(m);
    array::from_fn(|c| {
        array::from_fn(|r| {
            let cofactor = minor(m, all & !(1 << r), all & !(1 << c));
            (if (c + r) % 2 == 0 {
                cofactor
            } else {
                -cofactor
            }) / determinant
        })
    })
}

/// Splits a number into a fraction of magnitude in [0.5, 1) and a power of two. Zeros and numbers
/// that are not finite are returned with the exponent 0.
fn frexp(a: f64) -> (f64, i32) {
    const EXPONENT: u64 = 0x7ff << 52;
    const HALF: u64 = 0x3fe << 52;
    if a == 0.0 || !a.is_finite() {
        return (a, 0);
    }
    // A subnormal number is scaled first, to have an exponent.
    let (normal, scaled) = if a.is_normal() {
        (a, 0)
    } else {
        (a * f64::from_bits(0x435 << 52), 54)
    };
    let bits = normal.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1022;
    (f64::from_bits(bits & !EXPONENT | HALF), exponent - scaled)
}

/// Functions of vectors that are not component-wise, and functions whose result is a structure, or
/// a scalar for vectors.
#[allow(clippy::unnecessary_cast, reason = "it is for the other types")]
pub(super) fn geometry(fun: MathFunction, args: &[Shape]) -> Option<LaneFn> {
    use MathFunction as Mf;
    let first = args[0];
    let scalar = first.scalar;
    let alike = args.iter().all(|arg| *arg == first);
    match fun {
        Mf::Refract => {
            let ratio = Shape {
                components: 1,
                ..first
            };
            (args[1] == first && args[2] == ratio).then_some(())?;
        }
        _ => alike.then_some(())?,
    }
    match fun {
        Mf::Dot if scalar.kind != ScalarKind::Float => {
            integer!(scalar, T => sized!(first.components, N in 2 3 4 => Some(each!(
                |a: [T; N], b: [T; N]| -> T {
                    (0..N).fold(0, |sum: T, i| sum.wrapping_add(a[i].wrapping_mul(b[i])))
                }
            ))))
        }
        Mf::Length | Mf::Distance | Mf::Modf | Mf::Frexp => {
            float!(scalar, T => sized!(first.components, N in 1 2 3 4 => Some(match fun {
                Mf::Length => each!(|a: [T; N]| -> T { length(a) }),
                Mf::Distance => each!(|a: [T; N], b: [T; N]| -> T {
                    length::<_, N>(array::from_fn(|i| a[i] - b[i]))
                }),
                Mf::Modf => each!(|a: [T; N]| -> ([T; N], [T; N]) {
                    let whole: [_; N] = array::from_fn(|i| a[i].trunc());
                    (array::from_fn(|i| a[i] - whole[i]), whole)
                }),
                _ => each!(|a: [T; N]| -> ([T; N], [<T as FloatWord>::Exponent; N]) {
                    let parts = a.map(|a| frexp(a as f64));
                    (parts.map(|(fraction, _)| fraction as _), parts.map(|(_, power)| power as _))
                }),
            })))
        }
        Mf::Cross if first.components == 3 => {
            float!(scalar, T => Some(each!(|a: [T; 3], b: [T; 3]| -> [T; 3] {
                [(1, 2), (2, 0), (0, 1)].map(|(i, j)| a[i] * b[j] - a[j] * b[i])
            })))
        }
        _ => float!(scalar, T => sized!(first.components, N in 2 3 4 => Some(match fun {
            Mf::Dot => each!(|a: [T; N], b: [T; N]| -> T { dot(a, b) }),
            // Square only: otherwise naga's result type has rows and columns exchanged. WGSL has no
            // outer product.
            Mf::Outer => each!(|a: [T; N], b: [T; N]| -> [[T; N]; N] {
                b.map(|b| a.map(|a| a * b))
            }),
            Mf::Normalize => each!(|a: [T; N]| -> [T; N] {
                let length = length(a);
                a.map(|a| a / length)
            }),
            Mf::FaceForward => each!(|a: [T; N], b: [T; N], c: [T; N]| -> [T; N] {
                if dot(b, c) < 0.0 { a } else { a.map(|a| -a) }
            }),
            Mf::Reflect => each!(|a: [T; N], b: [T; N]| -> [T; N] { reflect(a, b) }),
            Mf::Refract => each!(|a: [T; N], b: [T; N], ratio: T| -> [T; N] {
                refract(a, b, ratio)
            }),
            _ => return None,
        }))),
    }
}

/// Functions of a single matrix.
pub(super) fn matrix(fun: MathFunction, m: Shape) -> Option<LaneFn> {
    use MathFunction as Mf;
    match fun {
        Mf::Transpose => float!(m.scalar, T => sized!(m.columns, C in 2 3 4 => {
            sized!(m.components, R in 2 3 4 => {
                Some(each!(|m: [[T; R]; C]| -> [[T; C]; R] { transpose(m) }))
            })
        })),
        Mf::Determinant | Mf::Inverse if m.columns == m.components => {
            float!(m.scalar, T => sized!(m.columns, N in 2 3 4 => Some(if fun == Mf::Inverse {
                each!(|m: [[T; N]; N]| -> [[T; N]; N] { inverse(&m) })
            } else {
                each!(|m: [[T; N]; N]| -> T { determinant(&m) })
            })))
        }
        _ => None,
    }
}

/// The product of two matrices, or of a matrix and a vector in either order.
///
/// `None` for shapes without a product, and for shapes whose product is component-wise.
pub(crate) fn matrix_multiply(a: Shape, b: Shape) -> Option<LaneFn> {
    if a.columns == 1 && b.columns == 1 || a.scalar != b.scalar {
        return None;
    }
    // A vector is a row if it is on the left, and a column on the right.
    let (rows, inner) = match a.columns {
        1 => (1, a.components),
        columns => (a.components, columns),
    };
    if inner != b.components {
        return None;
    }
    float!(a.scalar, T => sized!(inner, K in 2 3 4 => sized!(rows, R in 1 2 3 4 => {
        sized!(b.columns, C in 1 2 3 4 => {
            Some(each!(|a: [[T; R]; K], b: [[T; K]; C]| -> [[T; R]; C] { product(a, b) }))
        })
    })))
}

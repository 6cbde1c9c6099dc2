//! Codes: unsigned integers whose ascending order is the wanted order of the values.

use crate::arrays::Integer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// How the bits of a value order it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Unsigned,
    Signed,
    /// A float with this many bits of mantissa, in the total order: -NaN, numbers, NaN.
    Float(u32),
}

/// The order of an array's values.
#[pyclass(module = "bcfsort._native", frozen)]
#[derive(Clone, Copy)]
pub(crate) struct Order {
    pub(crate) kind: Kind,
    pub(crate) descending: bool,
    /// Whether NaN, or NaT, comes last in either direction. Otherwise floats have the total order.
    missing_last: bool,
    is_time: bool,
    /// numpy's kind.
    letter: char,
}

#[pymethods]
impl Order {
    /// The kind is numpy's, and `E` for bfloat16.
    #[new]
    pub(crate) fn new(
        kind: char,
        bits: u32,
        descending: bool,
        missing_last: bool,
    ) -> PyResult<Self> {
        let float = match (kind, bits) {
            ('f', 16) => 10,
            ('f', 32) => 23,
            ('f', 64) => 52,
            ('E', 16) => 7,
            _ => 0,
        };
        let kind_of = match (kind, float) {
            ('u' | 'b', _) => Kind::Unsigned,
            ('i' | 'M' | 'm', _) => Kind::Signed,
            ('f' | 'E', 1..) => Kind::Float(float),
            _ => return Err(PyValueError::new_err(format!("no order of {kind}{bits}"))),
        };
        Ok(Self {
            kind: kind_of,
            descending,
            missing_last,
            is_time: matches!(kind, 'M' | 'm'),
            letter: kind,
        })
    }

    #[getter]
    const fn kind(&self) -> char {
        self.letter
    }
}

impl Order {
    /// The order of keys of a GPU.
    pub(crate) const fn direction(&self) -> wgpu_bcfsort::Order {
        if self.descending {
            wgpu_bcfsort::Order::Descending
        } else {
            wgpu_bcfsort::Order::Ascending
        }
    }

    /// Whether there are missing values, and they come last.
    pub(crate) const fn has_missing(&self) -> bool {
        self.missing_last && (self.is_time || matches!(self.kind, Kind::Float(_)))
    }

    /// The order of codes themselves.
    pub(crate) const fn of_codes() -> Self {
        Self {
            kind: Kind::Unsigned,
            descending: false,
            missing_last: false,
            is_time: false,
            letter: 'u',
        }
    }
}

/// The mapping from words of one size to codes.
///
/// Values are first put in their total order: the sign bit of signed integers and of floats is
/// flipped, and so are all other bits of negative floats. The complement reverses this order.
/// Values that are missing, NaN or NaT, are at its ends. A rotation moves those at the lower end to
/// the upper one, so that all come last. Each step is a bijection. There are no branches, so that a
/// loop maps several words in one instruction.
pub(crate) struct Codes<W> {
    /// The sign bit, if it is flipped.
    sign: W,
    /// All bits, if negative values are flipped whole.
    negative: W,
    /// All bits, if the order is reversed.
    reverse: W,
    /// The number of missing values at the lower end of the order.
    low: W,
    /// -0, if it is to have the code of 0.
    zero: W,
    /// The code of all missing values, if they are to have one.
    most: W,
}

impl<W: Word> Codes<W> {
    /// Whether a word is a missing value at the lower end of the total order, which is moved to the
    /// upper end. The codes must be a bijection.
    #[inline(always)]
    pub(crate) fn is_moved(&self, word: W) -> bool {
        word.encode(self).code() > W::of(u64::MAX).code() - self.low.code()
    }

    /// Whether values up to that of a code compare as their codes do: floats compare as numbers if
    /// none of them is missing. Equal values must have equal codes.
    pub(crate) fn compare_as_values(&self, code: W) -> bool {
        if self.negative.code() > 0 {
            self.zero.code() > 0 && code < self.most
        } else {
            self.low.code() == 0
        }
    }

    /// The code of all missing values, if they have one.
    pub(crate) const fn of_missing(&self) -> W {
        self.most
    }

    /// The codes that several words share, if values that compare equal have one code: that of -0
    /// and 0, and that of all NaNs.
    pub(crate) fn shared(&self) -> impl Iterator<Item = W> + use<W> {
        let is_float = self.zero.code() != 0;
        let codes = [W::of(0).encode(self), self.most];
        codes.into_iter().filter(move |_| is_float)
    }
}

/// An unsigned integer with the bits of a value.
pub(crate) trait Word: Integer + Ord {
    /// The mapping of an order. If `merges`, values that compare equal have one code, which cannot
    /// be decoded.
    fn codes(order: Order, merges: bool) -> Codes<Self>;

    /// The code of the bits.
    fn encode(self, codes: &Codes<Self>) -> Self;

    /// The bits that have this code.
    fn decode(self, codes: &Codes<Self>) -> Self;

    /// A code with the index of its element, ordered by code and then by index.
    type Indexed: Ord + Copy + Send + Sync;

    fn indexed(self, index: u32) -> Self::Indexed;

    fn index(record: Self::Indexed) -> u32;
}

macro_rules! word {
    ($($word:ty: $signed:ty, $indexed:ty),*) => {$(
        impl Word for $word {
            fn codes(order: Order, merges: bool) -> Codes<Self> {
                const SIGN: $word = 1 << (<$word>::BITS - 1);
                // Missing values at the lower and at the upper end: -NaNs and NaNs; NaT.
                let ends: (u64, u64) = match order.kind {
                    _ if !order.missing_last => (0, 0),
                    Kind::Float(mantissa) => ((1 << mantissa) - 1, (1 << mantissa) - 1),
                    Kind::Signed if order.is_time => (1, 0),
                    Kind::Signed | Kind::Unsigned => (0, 0),
                };
                let is_float = matches!(order.kind, Kind::Float(_));
                let merges = merges && order.missing_last;
                let missing = (ends.0 + ends.1) as Self;
                let all_if = |flag| if flag { Self::MAX } else { 0 };
                Codes {
                    sign: if order.kind == Kind::Unsigned { 0 } else { SIGN },
                    negative: all_if(is_float),
                    reverse: all_if(order.descending),
                    low: (if order.descending { ends.1 } else { ends.0 }) as Self,
                    zero: if is_float && merges { SIGN } else { 0 },
                    most: if merges && missing > 0 { Self::MAX - missing + 1 } else { Self::MAX },
                }
            }

            #[inline(always)]
            fn encode(self, codes: &Codes<Self>) -> Self {
                let bits = if self == codes.zero { 0 } else { self };
                let is_negative = (bits as $signed >> (Self::BITS - 1)) as Self;
                let ordered = bits ^ (is_negative & codes.negative | codes.sign) ^ codes.reverse;
                ordered.wrapping_sub(codes.low).min(codes.most)
            }

            #[inline(always)]
            fn decode(self, codes: &Codes<Self>) -> Self {
                let ordered = self.wrapping_add(codes.low) ^ codes.reverse;
                let is_positive = (ordered as $signed >> (Self::BITS - 1)) as Self;
                ordered ^ (!is_positive & codes.negative | codes.sign)
            }

            type Indexed = $indexed;

            #[inline(always)]
            fn indexed(self, index: u32) -> $indexed {
                <$indexed>::from(self) << 32 | <$indexed>::from(index)
            }

            #[inline(always)]
            fn index(record: $indexed) -> u32 {
                record as u32
            }
        }
    )*};
}
word!(u8: i8, u64, u16: i16, u64, u32: i32, u64, u64: i64, u128);

#[cfg(test)]
mod tests {
    use super::*;

    const fn order(kind: Kind, descending: bool, missing_last: bool, is_time: bool) -> Order {
        Order {
            kind,
            descending,
            missing_last,
            is_time,
            letter: ' ',
        }
    }

    #[test]
    fn codes_are_bijections() {
        for kind in [
            Kind::Unsigned,
            Kind::Signed,
            Kind::Float(10),
            Kind::Float(7),
        ] {
            for flags in 0..8 {
                let order = order(kind, flags & 1 > 0, flags & 2 > 0, flags & 4 > 0);
                let codes = u16::codes(order, false);
                let mut seen = vec![false; 1 << 16];
                for bits in 0..=u16::MAX {
                    let code = bits.encode(&codes);
                    assert_eq!(code.decode(&codes), bits);
                    assert!(!std::mem::replace(&mut seen[usize::from(code)], true));
                }
            }
        }
    }

    #[test]
    fn all_nans_come_last_in_both_directions() {
        let values = [
            f32::NEG_INFINITY,
            -1.0,
            -0.0,
            0.0,
            f32::MIN_POSITIVE,
            1.0,
            f32::INFINITY,
        ];
        let nans = [
            f32::NAN,
            -f32::NAN,
            f32::from_bits(0x7f80_0001),
            f32::from_bits(u32::MAX),
        ];
        for descending in [false, true] {
            let codes = u32::codes(order(Kind::Float(23), descending, true, false), false);
            let code = |value: &f32| value.to_bits().encode(&codes);
            let of_values: Vec<u32> = values.iter().map(code).collect();
            let mut sorted = of_values.clone();
            sorted.sort_unstable();
            if descending {
                sorted.reverse();
            }
            assert_eq!(of_values, sorted);
            assert!(nans.iter().map(code).min() > of_values.into_iter().max());
            let merged = u32::codes(order(Kind::Float(23), descending, true, false), true);
            let code = |value: &f32| value.to_bits().encode(&merged);
            assert!(nans.iter().all(|nan| code(nan) == code(&f32::NAN)));
            assert_eq!(code(&0.0), code(&-0.0));
            assert!(code(&f32::NAN) > code(&f32::INFINITY).max(code(&f32::NEG_INFINITY)));
        }
    }

    #[test]
    fn not_a_time_comes_last_in_both_directions() {
        for descending in [false, true] {
            let codes = u64::codes(order(Kind::Signed, descending, true, true), true);
            let code = |value: i64| (value as u64).encode(&codes);
            assert!(code(i64::MIN) > code(i64::MAX).max(code(i64::MIN + 1)).max(code(0)));
            assert_eq!(code(1) > code(0), !descending);
        }
    }
}

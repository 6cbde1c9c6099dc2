//! Codes: unsigned integers whose ascending order is the wanted order of the values.

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
#[derive(Clone, Copy)]
pub(crate) struct Order {
    kind: Kind,
    descending: bool,
    /// Whether NaN, or NaT, comes last in either direction. Otherwise floats have the total order.
    missing_last: bool,
    is_time: bool,
}

impl FromPyObject<'_, '_> for Order {
    type Error = PyErr;

    /// From `(kind, descending, missing_last)`. The kind is numpy's, and `E` for bfloat16.
    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let (kind, bits, descending, missing_last): (String, u32, bool, bool) = object.extract()?;
        let float = match (kind.as_str(), bits) {
            ("f", 16) => 10,
            ("f", 32) => 23,
            ("f", 64) => 52,
            ("E", 16) => 7,
            _ => 0,
        };
        let kind_of = match (kind.as_str(), float) {
            ("u" | "b", _) => Kind::Unsigned,
            ("i" | "M" | "m", _) => Kind::Signed,
            ("f" | "E", 1..) => Kind::Float(float),
            _ => return Err(PyValueError::new_err(format!("no order of {kind}{bits}"))),
        };
        Ok(Self {
            kind: kind_of,
            descending,
            missing_last,
            is_time: matches!(kind.as_str(), "M" | "m"),
        })
    }
}

/// An unsigned integer with the bits of a value.
pub(crate) trait Word: numpy::Element + Copy + Ord + Send + Sync {
    /// The code of the bits.
    fn encode(self, codes: &Codes) -> u64;

    /// The bits that have this code.
    fn decode(code: u64, codes: &Codes) -> Self;

    const BITS: u32;
}

/// The mapping for words of some size.
///
/// Values are first put in their total order: the sign bit of signed integers and floats is
/// flipped, and so are all other bits of negative floats. The complement reverses this order. Values
/// that are missing, NaN or NaT, are at its ends. A rotation moves those at the lower end to the
/// upper one, so that all come last. Each step is a bijection.
pub(crate) struct Codes {
    kind: Kind,
    descending: bool,
    /// The number of missing values at the lower end of the order.
    low: u64,
    /// The number of all missing values.
    missing: u64,
    mask: u64,
    sign: u64,
    /// Equal values of different bits have one code: this is no bijection.
    merges: bool,
}

impl Codes {
    pub(crate) fn new<W: Word>(order: Order, merges: bool) -> Self {
        let mask = u64::MAX >> (64 - W::BITS);
        // Of floats (-NaNs, NaNs), of times (NaT, none).
        let ends = match order.kind {
            _ if !order.missing_last => (0, 0),
            Kind::Float(mantissa) => ((1 << mantissa) - 1, (1 << mantissa) - 1),
            Kind::Signed if order.is_time => (1, 0),
            Kind::Signed | Kind::Unsigned => (0, 0),
        };
        Self {
            kind: order.kind,
            descending: order.descending,
            low: if order.descending { ends.1 } else { ends.0 },
            missing: ends.0 + ends.1,
            mask,
            sign: mask ^ (mask >> 1),
            // In the total order, values of different bits differ.
            merges: merges && order.missing_last,
        }
    }

    /// A word is a bijection's own inverse's argument: all arithmetic is modulo its size.
    #[inline(always)]
    fn encode(&self, mut bits: u64) -> u64 {
        bits = match self.kind {
            Kind::Unsigned => bits,
            Kind::Signed => bits ^ self.sign,
            Kind::Float(_) if self.merges && bits == self.sign => self.sign,
            Kind::Float(_) if bits & self.sign == 0 => bits | self.sign,
            Kind::Float(_) => bits ^ self.mask,
        };
        if self.descending {
            bits ^= self.mask;
        }
        bits = bits.wrapping_sub(self.low) & self.mask;
        if self.merges && self.missing > 0 {
            bits = bits.min(self.mask - self.missing + 1);
        }
        bits
    }

    #[inline(always)]
    fn decode(&self, code: u64) -> u64 {
        let mut bits = code.wrapping_add(self.low) & self.mask;
        if self.descending {
            bits ^= self.mask;
        }
        match self.kind {
            Kind::Unsigned => bits,
            Kind::Signed => bits ^ self.sign,
            Kind::Float(_) if bits & self.sign != 0 => bits ^ self.sign,
            Kind::Float(_) => bits ^ self.mask,
        }
    }
}

macro_rules! word {
    ($($word:ty),*) => {$(
        impl Word for $word {
            const BITS: u32 = <$word>::BITS;

            #[inline(always)]
            fn encode(self, codes: &Codes) -> u64 {
                codes.encode(u64::from(self))
            }

            #[inline(always)]
            fn decode(code: u64, codes: &Codes) -> Self {
                codes.decode(code) as Self
            }
        }
    )*};
}
word!(u8, u16, u32, u64);

#[cfg(test)]
mod tests {
    use super::*;

    const fn order(kind: Kind, descending: bool, missing_last: bool, is_time: bool) -> Order {
        Order {
            kind,
            descending,
            missing_last,
            is_time,
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
                let codes = Codes::new::<u16>(order, false);
                let mut seen = vec![false; 1 << 16];
                for bits in 0..=u16::MAX {
                    let code = bits.encode(&codes);
                    assert_eq!(u16::decode(code, &codes), bits);
                    assert!(!std::mem::replace(&mut seen[code as usize], true));
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
            let codes = Codes::new::<u32>(order(Kind::Float(23), descending, true, false), false);
            let code = |value: &f32| value.to_bits().encode(&codes);
            let of_values: Vec<u64> = values.iter().map(code).collect();
            let mut sorted = of_values.clone();
            sorted.sort_unstable();
            if descending {
                sorted.reverse();
            }
            assert_eq!(of_values, sorted);
            assert!(nans.iter().map(code).min() > of_values.into_iter().max());
            let merged = Codes::new::<u32>(order(Kind::Float(23), descending, true, false), true);
            let code = |value: &f32| value.to_bits().encode(&merged);
            assert!(nans.iter().all(|nan| code(nan) == code(&f32::NAN)));
            assert_eq!(code(&0.0), code(&-0.0));
            assert!(code(&f32::NAN) > code(&f32::INFINITY).max(code(&f32::NEG_INFINITY)));
        }
    }

    #[test]
    fn not_a_time_comes_last_in_both_directions() {
        for descending in [false, true] {
            let codes = Codes::new::<u64>(order(Kind::Signed, descending, true, true), true);
            let code = |value: i64| (value as u64).encode(&codes);
            assert!(code(i64::MIN) > code(i64::MAX).max(code(i64::MIN + 1)).max(code(0)));
            assert_eq!(code(1) > code(0), !descending);
        }
    }
}

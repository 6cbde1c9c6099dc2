//! Bounds of bins that the host has, as keys of the type that is counted.

use crate::error::Error;
use crate::key::{KeyType, SortKey};
use crate::order::Order;
use std::ops::Range;

/// Bounds of bins, of the type of the keys; of keys of 8 and 16 bits, also of the type that these
/// are widened to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostBounds {
    /// The type of the bounds.
    of: KeyType,
    bounds: Bounds,
}

/// As the bits of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Bounds {
    /// All of them.
    List(Vec<u64>),
    /// The lowest, the highest, and the number of even bins between them.
    Even(u64, u64, u32),
}

impl HostBounds {
    /// These bounds.
    pub fn list<T: SortKey>(bounds: &[T]) -> Self {
        Self {
            of: T::KEY_TYPE,
            bounds: Bounds::List(bounds.iter().map(|bound| bound.to_bits64()).collect()),
        }
    }

    /// Those of `bins` even bins.
    pub fn even<T: SortKey>(range: &Range<T>, bins: u32) -> Self {
        let [lowest, highest] = [range.start, range.end].map(T::to_bits64);
        Self {
            of: T::KEY_TYPE,
            bounds: Bounds::Even(lowest, highest, bins),
        }
    }

    /// The number of bins. Fails if there are none.
    ///
    /// # Errors
    ///
    /// [`Error::Bounds`].
    pub fn bins(&self) -> Result<u64, Error> {
        match &self.bounds {
            Bounds::List(bounds) if bounds.len() < 2 => {
                let count = bounds.len();
                let why = format!("{count} of them have no bin between them: two or more have");
                Err(Error::Bounds(why))
            }
            Bounds::List(bounds) => Ok(bounds.len() as u64 - 1),
            Bounds::Even(.., 0) => Err(Error::Bounds("there are no bins".into())),
            Bounds::Even(.., bins) => Ok((*bins).into()),
        }
    }

    /// The bits of the first key of each bin, and of the first key after the last bin. Those that
    /// are above all keys of the type are left out.
    ///
    /// # Errors
    ///
    /// [`Error::Bounds`].
    pub fn keys(&self, key: KeyType) -> Result<Vec<u64>, Error> {
        let of = self.of;
        if of != key && of != key.widened() {
            let why = format!("they are of {of}, and the keys of {key}");
            return Err(Error::Bounds(why));
        }
        let bounds = match &self.bounds {
            Bounds::List(bounds) => {
                let descends = |pair: &[u64]| rank(of, pair[1]) < rank(of, pair[0]);
                if let Some(at) = bounds.windows(2).position(descends) {
                    let why = format!("number {} is below the one before it", at + 1);
                    return Err(Error::Bounds(why));
                }
                bounds.clone()
            }
            &Bounds::Even(lowest, highest, bins) => even(of, [lowest, highest], bins)?,
        };
        // They ascend: the others are above all keys, too.
        let known = bounds
            .into_iter()
            .map_while(|bound| first_from(of, bound, key));
        Ok(known.collect())
    }
}

/// The place of a key in the order of its type.
fn rank(of: KeyType, bits: u64) -> u64 {
    let unused = 32_u64.saturating_sub(of.bytes() * 8);
    of.map(Order::Ascending).encode(bits << unused)
}

/// The first key of a type that is not below a bound, whose type is the same or the wider one.
fn first_from(of: KeyType, bound: u64, key: KeyType) -> Option<u64> {
    if of == key {
        return Some(bound);
    }
    let bits = key.bytes() * 8;
    let is_float = matches!(key, KeyType::F16 | KeyType::Bf16);
    if !is_float {
        let signed = key.map(Order::Ascending).flip != 0;
        let highest = (1_i64 << (bits - u64::from(signed))) - 1;
        let lowest = if signed { !highest } else { 0 };
        let number = integer(of, bound) as i64;
        let mask = u64::MAX >> (64 - bits);
        return (number <= highest).then(|| i64::cast_unsigned(number.max(lowest)) & mask);
    }
    // Keys of 16 bits in their order, from the first one on.
    let nth = |rank: u64| key.map(Order::Ascending).decode(rank << 16) >> 16;
    let is_below = |rank_of_key| {
        let bits = match key {
            KeyType::F16 => of_half(nth(rank_of_key) as u32),
            _ => (nth(rank_of_key) as u32) << 16,
        };
        rank(of, bits.into()) < rank(of, bound)
    };
    let (mut below, mut step) = (0, 1 << 15);
    while step > 0 {
        if is_below(below + step - 1) {
            below += step;
        }
        step /= 2;
    }
    // All but one have been compared.
    let first = below + u64::from(is_below(below));
    (first < 1 << 16).then(|| nth(first))
}

/// The bits of the `f32` that equals a binary16.
fn of_half(half: u32) -> u32 {
    let (exponent, mantissa) = ((half >> 10) & 0x1f, half & 0x3ff);
    let magnitude = match exponent {
        // Subnormal numbers are multiples of 2^-24.
        0 => (mantissa as f32 / (1 << 24) as f32).to_bits(),
        0x1f => 0xff << 23 | mantissa << 13,
        _ => (exponent + 127 - 15) << 23 | mantissa << 13,
    };
    (half >> 15) << 31 | magnitude
}

/// An integer key as a number.
fn integer(of: KeyType, bits: u64) -> i128 {
    let unused = 64 - of.bytes() as u32 * 8;
    if of.is_unsigned() {
        bits.into()
    } else {
        ((bits << unused).cast_signed() >> unused).into()
    }
}

/// The bounds of even bins: bound i is `lowest + (highest - lowest) i / bins`, rounded.
fn even(of: KeyType, [lowest, highest]: [u64; 2], bins: u32) -> Result<Vec<u64>, Error> {
    let is_finite = match of {
        KeyType::F32 => [lowest, highest].iter().all(|&at| of_f32(at).is_finite()),
        KeyType::F64 => [lowest, highest]
            .iter()
            .all(|&at| f64::from_bits(at).is_finite()),
        KeyType::F16 | KeyType::Bf16 => {
            let why = format!("even bins of {of} have bounds of f32");
            return Err(Error::Bounds(why));
        }
        _ => true,
    };
    if !is_finite || rank(of, lowest) >= rank(of, highest) {
        let why = "even bins lie between two finite numbers, of which the first is the lower one";
        return Err(Error::Bounds(why.into()));
    }
    let between = |i: u32| match of {
        KeyType::F32 => {
            let number = between([lowest, highest].map(|at| of_f32(at).into()), i, bins);
            u64::from((number as f32).to_bits())
        }
        KeyType::F64 => between([lowest, highest].map(f64::from_bits), i, bins).to_bits(),
        _ => {
            let [first, last] = [lowest, highest].map(|at| integer(of, at));
            let number = first + (last - first) * i128::from(i) / i128::from(bins);
            number.cast_unsigned() as u64 & (u64::MAX >> (64 - of.bytes() * 8))
        }
    };
    let mut bounds = vec![lowest];
    for i in 1..bins {
        // A number that is rounded is within the range, and not below the one before it.
        let last = bounds[bounds.len() - 1];
        let ranked = [last, between(i), highest];
        let mut ranked = ranked.map(|at| (rank(of, at), at));
        ranked.sort_unstable();
        bounds.push(ranked[1].1);
    }
    bounds.push(highest);
    Ok(bounds)
}

fn of_f32(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// `lowest + (highest - lowest) i / bins`, rounded once where the products are exact.
fn between([lowest, highest]: [f64; 2], i: u32, bins: u32) -> f64 {
    // Large numbers times the number of bins would overflow.
    let scale = if lowest.abs().max(highest.abs()) > 2_f64.powi(900) {
        2_f64.powi(-64)
    } else {
        1.0
    };
    let before = highest * scale * f64::from(i);
    let after = lowest * scale * f64::from(bins - i);
    (before + after) / f64::from(bins) / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys<T: SortKey>(bounds: &[T], key: KeyType) -> Vec<u64> {
        HostBounds::list(bounds).keys(key).unwrap()
    }

    fn even<T: SortKey>(range: Range<T>, bins: u32) -> Vec<T> {
        let keys = HostBounds::even(&range, bins).keys(T::KEY_TYPE).unwrap();
        keys.into_iter().map(T::from_bits64).collect()
    }

    #[test]
    fn even_bounds_are_rounded_as_documented() {
        assert_eq!(even(0_u32..10, 4), [0, 2, 5, 7, 10]);
        assert_eq!(even(-3_i32..4, 2), [-3, 0, 4]);
        assert_eq!(even(i64::MIN..i64::MAX, 2), [i64::MIN, -1, i64::MAX]);
        assert_eq!(even(0..u64::MAX, 3)[1..3], [u64::MAX / 3, u64::MAX / 3 * 2]);
        assert_eq!(even(5_u32..6, 3), [5, 5, 5, 6]);
        let tenths: Vec<f64> = (0..=10).map(|i| f64::from(i) / 10.0).collect();
        assert_eq!(even(0.0_f64..1.0, 10), tenths);
        let tenths: Vec<f32> = tenths.iter().map(|&tenth| tenth as f32).collect();
        assert_eq!(even(0.0_f32..1.0, 10), tenths);
        let (large, half) = (2_f64.powi(1023), 2_f64.powi(1022));
        let bounds = [-large, -half, 0.0, half, large];
        assert_eq!(even(-large..large, 4), bounds);
        let all = even(f64::MIN..f64::MAX, 1000);
        assert!(all.is_sorted() && all.iter().all(|bound| bound.is_finite()));
        for bins in [1, 2, 3, 1000] {
            let close = even(1.0_f32..1.000_001, bins);
            assert_eq!(close.len(), bins as usize + 1);
            assert!(close.is_sorted());
            assert_eq!(close[bins as usize].to_bits(), 1.000_001_f32.to_bits());
        }
        assert!(even(-0.0_f32..0.0, 2)[0].is_sign_negative());
    }

    #[test]
    fn bounds_of_packed_keys_are_the_first_keys_from_there_on() {
        assert_eq!(keys(&[0_u32, 7, 255, 256, 300], KeyType::U8), [0, 7, 255]);
        assert_eq!(
            keys(&[-900, -128, -1, 127, 128], KeyType::I8),
            [0x80, 0x80, 0xff, 0x7f]
        );
        assert_eq!(keys(&[1_u32, 1 << 16], KeyType::U16), [1]);
        let halves = [
            f32::NEG_INFINITY,
            -1.0,
            -0.0,
            0.0,
            1.0,
            1.0001,
            65504.0,
            65505.0,
            f32::NAN,
        ];
        let first = [
            0xfc00, 0xbc00, 0x8000, 0, 0x3c00, 0x3c01, 0x7bff, 0x7c00, 0x7e00,
        ];
        assert_eq!(keys(&halves, KeyType::F16), first);
        let bfloats = [-f32::NAN, f32::MIN, 1.0, 1.001, f32::MAX, f32::INFINITY];
        let first = [0xffc0, 0xff7f, 0x3f80, 0x3f81, 0x7f80, 0x7f80];
        assert_eq!(keys(&bfloats, KeyType::Bf16), first);
        // Above all keys, and below all.
        let above = f32::from_bits(0x7fff_ffff);
        assert_eq!(keys(&[-above, above], KeyType::F16), [0xffff]);
        assert_eq!(keys(&[above, above], KeyType::Bf16), [0; 0]);
    }

    /// The formats have other widths of the exponent and of the mantissa: each key of 16 bits is
    /// compared.
    #[test]
    fn a_half_is_the_float_that_equals_it() {
        for half in 0..1 << 16 {
            let (sign, exponent) = (half >> 15, (half >> 10) & 0x1f);
            let found = f32::from_bits(of_half(half));
            assert_eq!(found.is_sign_negative(), sign == 1, "{half:#x}");
            let fraction = f64::from(half & 0x3ff) / 1024.0;
            let magnitude = match exponent {
                0 => fraction * 2_f64.powi(-14),
                0x1f if fraction > 0.0 => {
                    assert!(found.is_nan(), "{half:#x}");
                    continue;
                }
                0x1f => f64::INFINITY,
                _ => (1.0 + fraction) * 2_f64.powi(exponent.cast_signed() - 15),
            };
            let found = f64::from(found.abs());
            assert_eq!(found.to_bits(), magnitude.to_bits(), "{half:#x}");
        }
    }

    #[test]
    fn errors_say_what_to_change() {
        let text = |bounds: HostBounds, key| bounds.keys(key).unwrap_err().to_string();
        let descending = HostBounds::list(&[1.0_f32, 2.0, 1.5]);
        assert_eq!(
            text(descending, KeyType::F32),
            "bounds of bins: number 2 is below the one before it"
        );
        assert_eq!(
            text(HostBounds::list(&[1_u32, 2]), KeyType::I32),
            "bounds of bins: they are of u32, and the keys of i32"
        );
        for range in [1.0..1.0, 2.0..1.0, f64::NEG_INFINITY..0.0, 0.0..f64::NAN] {
            let text = text(HostBounds::even(&range, 4), KeyType::F64);
            assert!(text.starts_with("bounds of bins: even bins lie"), "{text}");
        }
        for bounds in [HostBounds::list(&[3_u32]), HostBounds::even(&(0_u32..1), 0)] {
            assert!(matches!(bounds.bins(), Err(Error::Bounds(_))));
        }
    }
}

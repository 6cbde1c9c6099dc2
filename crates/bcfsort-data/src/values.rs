//! Keys from integers.

use wgpu_bcfsort::{KeyType, Order, SortKey};

/// The key of an integer value: the integer itself for integer types, the nearest float (ties to
/// even) for floats. `None` if the value is outside an integer type.
pub(super) fn from_value<T: SortKey>(value: i128) -> Option<T> {
    let bits = match T::KEY_TYPE {
        KeyType::U32 => u32::try_from(value).ok()?.to_bits64(),
        KeyType::I32 => i32::try_from(value).ok()?.to_bits64(),
        KeyType::U64 => u64::try_from(value).ok()?.to_bits64(),
        KeyType::I64 => i64::try_from(value).ok()?.to_bits64(),
        // IEEE 754 specifies this conversion exactly, so the result is the same everywhere.
        KeyType::F32 => (value as f32).to_bits64(),
        KeyType::F64 => (value as f64).to_bits64(),
        _ => return None,
    };
    Some(T::from_bits64(bits))
}

/// The first integer type that has all values from `low` to `high`.
pub(super) fn integer_type(low: i128, high: i128) -> Option<KeyType> {
    let types = [
        (KeyType::U32, 0, u32::MAX.into()),
        (KeyType::I32, i32::MIN.into(), i32::MAX.into()),
        (KeyType::U64, 0, u64::MAX.into()),
        (KeyType::I64, i64::MIN.into(), i64::MAX.into()),
    ];
    let fits = |&(_, min, max): &(KeyType, i128, i128)| min <= low && high <= max;
    types.into_iter().find(fits).map(|(key, ..)| key)
}

/// The largest rank that [`from_rank`] accepts.
pub(super) fn last_rank(key: KeyType) -> u64 {
    match key {
        KeyType::I32 => i32::MAX as u64,
        KeyType::I64 => i64::MAX as u64,
        KeyType::F32 => EXACT_F32 + u64::from(f32::MAX.to_bits() - F32_FROM),
        KeyType::F64 => EXACT_F64 + (f64::MAX.to_bits() - F64_FROM),
        _ => u64::MAX >> (64 - 32 * key.words()),
    }
}

/// All integers up to this one are floats.
const EXACT_F32: u64 = 1 << f32::MANTISSA_DIGITS;
const EXACT_F64: u64 = 1 << f64::MANTISSA_DIGITS;
const F32_FROM: u32 = (EXACT_F32 as f32).to_bits();
const F64_FROM: u64 = (EXACT_F64 as f64).to_bits();

/// The key of a rank. A larger rank always has a larger key.
///
/// An integer key is the rank itself. So is a float key, up to 2^24 for `f32` and 2^53 for `f64`.
/// Rounding larger ranks would give equal keys where a data set promises different ones, so each
/// further rank gets the next larger float, whatever its value.
pub(super) fn from_rank<T: SortKey>(rank: u64) -> T {
    debug_assert!(rank <= last_rank(T::KEY_TYPE));
    T::from_bits64(match T::KEY_TYPE {
        KeyType::F32 if rank > EXACT_F32 => u64::from(F32_FROM) + (rank - EXACT_F32),
        KeyType::F32 => (rank as f32).to_bits64(),
        KeyType::F64 if rank > EXACT_F64 => F64_FROM + (rank - EXACT_F64),
        KeyType::F64 => (rank as f64).to_bits64(),
        _ => rank,
    })
}

/// The largest key of the type; for floats the `NaN` with every bit set but the sign.
pub(super) fn largest<T: SortKey>() -> T {
    let all = u64::MAX >> (64 - 32 * T::KEY_TYPE.words());
    T::from_bits64(T::KEY_TYPE.map(Order::Ascending).decode(all))
}

/// `count` different keys, evenly spread over all finite keys of the type, in ascending order.
pub(super) fn spread<T: SortKey>(count: u64) -> Vec<T> {
    let map = T::KEY_TYPE.map(Order::Ascending);
    let all = u64::MAX >> (64 - 32 * T::KEY_TYPE.words());
    let (low, high) = match T::KEY_TYPE {
        KeyType::F32 => (f32::MIN.to_bits64(), f32::MAX.to_bits64()),
        KeyType::F64 => (f64::MIN.to_bits64(), f64::MAX.to_bits64()),
        _ => (map.decode(0), map.decode(all)),
    };
    let (low, high) = (map.encode(low), map.encode(high));
    let span = u128::from(high - low) + 1;
    (0..count)
        .map(|i| {
            // The middle of the i-th of `count` equal parts.
            let step = span * u128::from(2 * i + 1) / u128::from(2 * count);
            T::from_bits64(map.decode(low + step as u64))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks_ascend<T: SortKey>() {
        let last = last_rank(T::KEY_TYPE);
        for around in [1, 1 << 24, 1 << 53, last] {
            if around > last {
                continue;
            }
            for rank in around.saturating_sub(3)..around.saturating_add(3).min(last) {
                let (a, b) = (from_rank::<T>(rank), from_rank::<T>(rank + 1));
                assert!(a.total_order(&b).is_lt(), "{a:?} {b:?}");
            }
        }
        assert!(from_rank::<T>(last).total_order(&largest::<T>()).is_le());
        for count in [1, 2, 20, 1024] {
            let keys = spread::<T>(count);
            assert!(keys.windows(2).all(|w| w[0].total_order(&w[1]).is_lt()));
        }
    }

    #[test]
    fn larger_ranks_have_larger_keys() {
        ranks_ascend::<u32>();
        ranks_ascend::<i32>();
        ranks_ascend::<f32>();
        ranks_ascend::<u64>();
        ranks_ascend::<i64>();
        ranks_ascend::<f64>();
        assert_eq!(
            from_rank::<f32>((1 << 24) + 1).to_bits(),
            16_777_216f32.to_bits() + 1
        );
        assert_eq!(
            from_rank::<f32>(last_rank(KeyType::F32)).to_bits(),
            f32::MAX.to_bits()
        );
    }

    #[test]
    fn values() {
        assert_eq!(from_value::<i32>(-3), Some(-3));
        assert_eq!(from_value::<u32>(-3), None);
        assert_eq!(from_value::<f64>(-3), Some(-3.0));
        assert_eq!(largest::<i64>(), i64::MAX);
        assert_eq!(largest::<f32>().to_bits(), 0x7fff_ffff);
        assert_eq!(spread::<i32>(2), [-(1 << 30), 1 << 30]);
    }
}

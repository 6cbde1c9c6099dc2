//! The key types and their total orders.
//!
//! Every key is sorted as one or two 32-bit words whose unsigned order is the order of the key
//! ([`KeyMap`]). The map is applied before the sort or at its first read, and inverted at the end,
//! so kernels do not depend on key types. The map is a bijection: `NaN` payloads and subnormals are
//! preserved.

use crate::names::UnknownName;
use crate::order::Order;
use std::fmt;
use std::str::FromStr;

mod sealed {
    pub trait Sealed {}
}

/// The type of the keys in a GPU buffer: 1, 2, 4 or 8 bytes each.
///
/// Keys of 1 and 2 bytes are packed, four or two in a 32-bit word, as in an array in host memory.
/// Wider keys (`u128`, IP addresses, several fields) are fields of structs: see
/// [`KeyField`](crate::KeyField). Host slices support the types that implement [`SortKey`], which
/// are all but those of floats of 16 bits.
///
/// Floats of all widths are in the total order of [`f32::total_cmp`].
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::KeyType;
/// assert_eq!("f64".parse(), Ok(KeyType::F64));
/// assert_eq!(KeyType::F64.bytes(), 8);
/// assert_eq!(KeyType::U8.bytes(), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyType {
    /// `u8`.
    U8,
    /// `i8`.
    I8,
    /// `u16`.
    U16,
    /// `i16`.
    I16,
    /// IEEE 754 binary16, `half` or `f16`.
    F16,
    /// bfloat16, the upper half of an `f32`.
    Bf16,
    /// `u32`.
    U32,
    /// `i32`.
    I32,
    /// `f32`.
    F32,
    /// `u64`, low word first.
    U64,
    /// `i64`, low word first.
    I64,
    /// `f64`, low word first.
    F64,
}

impl KeyType {
    /// All key types, in the order of their declaration.
    pub const ALL: [Self; 12] = [
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::F16,
        Self::Bf16,
        Self::U32,
        Self::I32,
        Self::F32,
        Self::U64,
        Self::I64,
        Self::F64,
    ];

    /// The key types of whole words.
    #[doc(hidden)]
    pub const WHOLE_WORDS: [Self; 6] = [
        Self::U32,
        Self::I32,
        Self::F32,
        Self::U64,
        Self::I64,
        Self::F64,
    ];

    /// Returns the name used on the command line, in labels and in JSON: that of the Rust type, or
    /// `f16` or `bf16`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::F32 => "f32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F64 => "f64",
        }
    }

    /// Returns the size of a key in bytes: 1, 2, 4 or 8.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// The size of a key during a sort in 32-bit words: 1 or 2. Each packed key becomes one word.
    #[doc(hidden)]
    #[must_use]
    pub const fn words(self) -> u32 {
        match self {
            Self::U64 | Self::I64 | Self::F64 => 2,
            _ => 1,
        }
    }

    /// Whether keys are natural numbers.
    pub(crate) const fn is_unsigned(self) -> bool {
        matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    /// The type of whole words that sorts keys of this type in its upper bits.
    pub(crate) const fn widened(self) -> Self {
        match self {
            Self::U8 | Self::U16 => Self::U32,
            Self::I8 | Self::I16 => Self::I32,
            Self::F16 | Self::Bf16 => Self::F32,
            whole => whole,
        }
    }

    /// The map from keys to unsigned integers whose ascending order is `order` of the keys.
    ///
    /// A packed key is mapped as the upper bits of a word of the [widened](Self::widened) type.
    #[doc(hidden)]
    #[must_use]
    pub const fn map(self, order: Order) -> KeyMap {
        let (sign_mask, flip) = match self.widened() {
            Self::I32 => (0, 1 << 31),
            Self::I64 => (0, 1 << 63),
            Self::F32 => (u32::MAX as u64 >> 1, 1 << 31),
            Self::F64 => (u64::MAX >> 1, 1 << 63),
            _ => (0, 0),
        };
        let all = match self.words() {
            1 => u32::MAX as u64,
            _ => u64::MAX,
        };
        KeyMap {
            bits: self.words() * 32,
            sign_mask,
            flip: match order {
                Order::Ascending => flip,
                Order::Descending => flip ^ all,
            },
        }
    }
}

impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for KeyType {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|key| key.name() == name)
            .ok_or_else(|| UnknownName::new("key type", name, &Self::ALL.map(Self::name)))
    }
}

/// An order-preserving bijection between the bits of a key and an unsigned integer.
///
/// One formula, and so one kernel, is enough for integers and floats in both directions:
/// `ordered = bits ^ (if negative { sign_mask } else { 0 }) ^ flip`. It takes three operations per
/// word.
///
/// Made by [`KeyType::map`].
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::{KeyType, Order};
/// let map = KeyType::F32.map(Order::Ascending);
/// let ordered = |key: f32| map.encode(key.to_bits().into());
/// assert!(ordered(-2.0) < ordered(-0.0) && ordered(-0.0) < ordered(0.0));
/// assert_eq!(map.decode(ordered(-2.0)), (-2.0_f32).to_bits().into());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct KeyMap {
    /// The width of the key in bits: 32 or 64. A width of 0 or above 64 has no top bit, so such a
    /// key is never negative.
    pub bits: u32,
    /// The bits to invert if the key's top bit is set. The top bit itself is not among them, which
    /// makes the map invertible.
    pub sign_mask: u64,
    /// The bits to invert in every key.
    pub flip: u64,
}

impl KeyMap {
    /// The sign mask if the top bit of `word` is set, or else 0.
    const fn smear(self, word: u64) -> u64 {
        match word.checked_shr(self.bits.wrapping_sub(1)) {
            Some(top) if top & 1 == 1 => self.sign_mask,
            _ => 0,
        }
    }

    /// True if the map changes no bit.
    pub(crate) const fn is_identity(self) -> bool {
        self.sign_mask == 0 && self.flip == 0
    }

    /// Maps a key's bits, from [`SortKey::to_bits64`], to an unsigned integer of the same order. No
    /// bit above [`bits`](Self::bits) may be set.
    #[must_use]
    pub const fn encode(self, bits: u64) -> u64 {
        bits ^ self.smear(bits) ^ self.flip
    }

    /// Inverts [`encode`](Self::encode).
    #[must_use]
    pub const fn decode(self, ordered: u64) -> u64 {
        let bits = ordered ^ self.flip;
        bits ^ self.smear(bits)
    }
}

/// The Rust types of keys: `u8`, `i8`, `u16`, `i16`, `u32`, `i32`, `f32`, `u64`, `i64`, `f64`.
///
/// The order is total. Floats follow [`f32::total_cmp`]: `-NaN < -inf < … < -0 < +0 < … < +inf
/// < +NaN`, and no bit of a `NaN` is changed. The trait is sealed, since kernels support no other
/// types.
///
/// # Examples
///
/// A function that is generic over keys:
///
/// ```
/// use wgpu_bcfsort::SortKey;
/// fn smallest<T: SortKey>(keys: &[T]) -> Option<T> {
///     keys.iter().copied().min_by(T::total_order)
/// }
/// assert_eq!(smallest(&[0.5_f64, -0.0, 0.0]).map(f64::to_bits), Some((-0.0_f64).to_bits()));
/// ```
pub trait SortKey: bytemuck::Pod + Send + Sync + fmt::Debug + sealed::Sealed {
    /// The [`KeyType`] of this Rust type.
    const KEY_TYPE: KeyType;
    /// Returns the key's bits, zero-extended to 64.
    fn to_bits64(self) -> u64;
    /// Returns the key with these bits. Ignores bits above the key's width.
    fn from_bits64(bits: u64) -> Self;
    /// Compares two keys in the total order of sorts.
    fn total_order(&self, other: &Self) -> std::cmp::Ordering;
    /// The key as an unsigned integer: those of two keys compare as the keys do in this order.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{Order, SortKey};
    /// assert!((-1.5_f32).rank(Order::Ascending) < 0.0_f32.rank(Order::Ascending));
    /// assert_eq!(7_u32.rank(Order::Ascending), 7);
    /// assert_eq!(u32::MAX.rank(Order::Descending), 0);
    /// ```
    fn rank(self, order: Order) -> u64 {
        // The map is that of the upper bits of a word.
        let unused = 32_u64.saturating_sub(Self::KEY_TYPE.bytes() * 8);
        Self::KEY_TYPE.map(order).encode(self.to_bits64() << unused) >> unused
    }
}

macro_rules! sort_key {
    ($type:ty, $key_type:ident, $to:expr, $from:expr, $compare:expr) => {
        impl sealed::Sealed for $type {}
        impl SortKey for $type {
            const KEY_TYPE: KeyType = KeyType::$key_type;
            #[inline]
            fn to_bits64(self) -> u64 {
                $to(self)
            }
            #[inline]
            fn from_bits64(bits: u64) -> Self {
                $from(bits)
            }
            #[inline]
            fn total_order(&self, other: &Self) -> std::cmp::Ordering {
                $compare(self, other)
            }
        }
    };
}

sort_key!(u8, U8, u64::from, |b| b as u8, Ord::cmp);
sort_key!(
    i8,
    I8,
    |k| u64::from(i8::cast_unsigned(k)),
    |b| (b as u8).cast_signed(),
    Ord::cmp
);
sort_key!(u16, U16, u64::from, |b| b as u16, Ord::cmp);
sort_key!(
    i16,
    I16,
    |k| u64::from(i16::cast_unsigned(k)),
    |b| (b as u16).cast_signed(),
    Ord::cmp
);
sort_key!(u32, U32, u64::from, |b| b as u32, Ord::cmp);
sort_key!(
    i32,
    I32,
    |k| u64::from(i32::cast_unsigned(k)),
    |b| (b as u32).cast_signed(),
    Ord::cmp
);
sort_key!(
    f32,
    F32,
    |k| u64::from(f32::to_bits(k)),
    |b| f32::from_bits(b as u32),
    f32::total_cmp
);
sort_key!(u64, U64, |k| k, |b| b, Ord::cmp);
sort_key!(i64, I64, i64::cast_unsigned, u64::cast_signed, Ord::cmp);
sort_key!(f64, F64, f64::to_bits, f64::from_bits, f64::total_cmp);

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(key: KeyType) -> Vec<u64> {
        let mut bits: Vec<u64> = vec![
            0,
            1,
            2,
            3,
            1 << 22,
            1 << 23,
            (1 << 23) - 1,
            1 << 30,
            1 << 31,
        ];
        for shift in [32, 51, 52, 62, 63] {
            bits.extend([1u64 << shift, (1 << shift) - 1, (1 << shift) + 1]);
        }
        bits.extend(bits.clone().iter().map(|b| !b));
        if key.words() == 1 {
            for b in &mut bits {
                *b &= u64::from(u32::MAX);
            }
        }
        bits
    }

    fn compare(key: KeyType, a: u64, b: u64) -> std::cmp::Ordering {
        fn by<T: SortKey>(a: u64, b: u64) -> std::cmp::Ordering {
            T::from_bits64(a).total_order(&T::from_bits64(b))
        }
        match key {
            KeyType::U32 => by::<u32>(a, b),
            KeyType::I32 => by::<i32>(a, b),
            KeyType::F32 => by::<f32>(a, b),
            KeyType::U64 => by::<u64>(a, b),
            KeyType::I64 => by::<i64>(a, b),
            KeyType::F64 => by::<f64>(a, b),
            packed => unreachable!("{packed} keys have no Rust type here"),
        }
    }

    #[test]
    fn the_map_preserves_the_total_order_and_is_invertible() {
        for key in KeyType::WHOLE_WORDS {
            for order in [Order::Ascending, Order::Descending] {
                let map = key.map(order);
                for &a in &samples(key) {
                    assert_eq!(map.decode(map.encode(a)), a, "{key} {a:#x}");
                    for &b in &samples(key) {
                        let expected = match order {
                            Order::Ascending => compare(key, a, b),
                            Order::Descending => compare(key, b, a),
                        };
                        assert_eq!(
                            map.encode(a).cmp(&map.encode(b)),
                            expected,
                            "{key} {a:#x} {b:#x}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn ranks_of_few_bits_have_the_order_of_the_keys() {
        fn check<T: SortKey>(keys: &[T]) {
            for pair in keys.windows(2) {
                let ranks = |order| [pair[0].rank(order), pair[1].rank(order)];
                let [up, down] = [Order::Ascending, Order::Descending].map(ranks);
                assert!(up[0] < up[1] && down[0] > down[1], "{pair:?}");
                let most = (1 << (8 * T::KEY_TYPE.bytes())) - 1;
                assert!(up[1] <= most && down[0] <= most, "{pair:?}");
                assert_eq!(
                    T::from_bits64(pair[0].to_bits64()).to_bits64(),
                    pair[0].to_bits64()
                );
            }
        }
        check(&[0_u8, 1, 127, 128, 255]);
        check(&[i8::MIN, -1, 0, 1, i8::MAX]);
        check(&[0_u16, 255, 256, 1 << 15, u16::MAX]);
        check(&[i16::MIN, -256, -1, 0, 255, i16::MAX]);
    }

    #[test]
    fn a_map_of_no_bits_or_too_many_has_no_sign() {
        for bits in [0, 1, 32, 64, 65, u32::MAX] {
            let top = 1_u64.checked_shl(bits.wrapping_sub(1));
            let map = KeyMap {
                bits,
                sign_mask: top.map_or(u64::MAX, |top| top - 1),
                flip: 5,
            };
            for key in samples(KeyType::U64) {
                assert_eq!(map.decode(map.encode(key)), key, "{bits} bits: {key:#x}");
                if top.is_none() {
                    assert_eq!(map.encode(key), key ^ 5, "{bits} bits: {key:#x}");
                }
            }
        }
    }

    #[test]
    fn names_parse_back() {
        for key in KeyType::ALL {
            assert_eq!(key.name().parse(), Ok(key));
        }
        assert!("u128".parse::<KeyType>().is_err());
    }
}

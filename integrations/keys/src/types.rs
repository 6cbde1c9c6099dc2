//! Types of columns, and how their values become integers of the same order.

use crate::Floats;
use crate::strings::PREFIX;
use arrow_array::Array;
use arrow_buffer::{ArrowNativeType, IntervalDayTime, IntervalMonthDayNano, ScalarBuffer};
use arrow_schema::{DataType, IntervalUnit};
use half::f16;
use std::ops::{BitAnd, BitOr, BitOrAssign, Shl, Shr};

/// Whether columns of this type can be sorted by: all types but lists, maps, unions, run-end
/// encoded values, and dictionaries of nested types or of nulls. A struct is sorted by its fields.
///
/// A list has any number of elements, and a key only a fixed number of bits.
#[must_use]
pub fn is_supported(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => {
            // Arrow cannot compare the values of a dictionary of nulls.
            let is_plain = !matches!(
                **values,
                DataType::Null | DataType::Dictionary(..) | DataType::Struct(_)
            );
            is_plain && is_supported(values)
        }
        DataType::Struct(fields) => fields.iter().all(|field| is_supported(field.data_type())),
        DataType::Null | DataType::Boolean | DataType::Decimal256(..) => true,
        other => has_bytes(other) || Native::of(other).is_some(),
    }
}

/// The most bits that a value of a [supported](is_supported) type takes in a key; a nullable column
/// takes one more. For strings a key holds the first 8 bytes, for dictionaries the rank. Each field
/// of a struct counts as nullable, since it is null where the struct is.
#[must_use]
pub fn most_bits(data_type: &DataType) -> u32 {
    match data_type {
        DataType::Null => 0,
        DataType::Boolean => 1,
        DataType::Dictionary(..) => u32::BITS,
        DataType::Decimal256(..) => 256,
        DataType::FixedSizeBinary(bytes) => bytes.unsigned_abs().min(PREFIX as u32) * 8,
        DataType::Struct(fields) => fields
            .iter()
            .fold(0, |bits, field| bits + 1 + most_bits(field.data_type())),
        other => match Native::of(other) {
            Some(Native::I8 | Native::U8) => 8,
            Some(Native::I16 | Native::U16 | Native::F16) => 16,
            Some(Native::I32 | Native::U32 | Native::F32) => 32,
            Some(Native::I128 | Native::MonthDayNano) => 128,
            _ => 64,
        },
    }
}

/// Whether keys of [`most_bits`] tell all values of a [supported](is_supported) type apart. False
/// for strings and binary values, unless they have a fixed size of up to 8 bytes.
#[must_use]
pub fn is_exact(data_type: &DataType) -> bool {
    match data_type {
        DataType::FixedSizeBinary(bytes) => *bytes <= PREFIX as i32,
        DataType::Struct(fields) => fields.iter().all(|field| is_exact(field.data_type())),
        other => !has_bytes(other),
    }
}

pub(crate) fn has_bytes(data_type: &DataType) -> bool {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary, LargeUtf8, Utf8, Utf8View};
    matches!(
        data_type,
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_)
    )
}

/// The memory layout of a column's values.
#[derive(Clone, Copy)]
pub(crate) enum Native {
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
    DayTime,
    MonthDayNano,
}

impl Native {
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Int8 => Self::I8,
            DataType::Int16 => Self::I16,
            DataType::Int32
            | DataType::Date32
            | DataType::Time32(_)
            | DataType::Interval(IntervalUnit::YearMonth)
            | DataType::Decimal32(..) => Self::I32,
            DataType::Int64
            | DataType::Date64
            | DataType::Time64(_)
            | DataType::Timestamp(..)
            | DataType::Duration(_)
            | DataType::Decimal64(..) => Self::I64,
            DataType::Decimal128(..) => Self::I128,
            DataType::UInt8 => Self::U8,
            DataType::UInt16 => Self::U16,
            DataType::UInt32 => Self::U32,
            DataType::UInt64 => Self::U64,
            DataType::Float16 => Self::F16,
            DataType::Float32 => Self::F32,
            DataType::Float64 => Self::F64,
            DataType::Interval(IntervalUnit::DayTime) => Self::DayTime,
            DataType::Interval(IntervalUnit::MonthDayNano) => Self::MonthDayNano,
            _ => return None,
        })
    }
}

/// The values of an array of fixed width, which are in its first buffer.
pub(crate) fn scalars<T: ArrowNativeType>(array: &dyn Array) -> ScalarBuffer<T> {
    let data = array.to_data();
    ScalarBuffer::new(data.buffers()[0].clone(), data.offset(), data.len())
}

/// Calls a generic expression with the type of a [`Native`].
macro_rules! with_native {
    ($native:expr, $type:ident => $call:expr) => {{
        use crate::types::Native;
        match $native {
            Native::I8 => with_native!(@ i8, $type => $call),
            Native::I16 => with_native!(@ i16, $type => $call),
            Native::I32 => with_native!(@ i32, $type => $call),
            Native::I64 => with_native!(@ i64, $type => $call),
            Native::I128 => with_native!(@ i128, $type => $call),
            Native::U8 => with_native!(@ u8, $type => $call),
            Native::U16 => with_native!(@ u16, $type => $call),
            Native::U32 => with_native!(@ u32, $type => $call),
            Native::U64 => with_native!(@ u64, $type => $call),
            Native::F16 => with_native!(@ half::f16, $type => $call),
            Native::F32 => with_native!(@ f32, $type => $call),
            Native::F64 => with_native!(@ f64, $type => $call),
            Native::DayTime => with_native!(@ arrow_buffer::IntervalDayTime, $type => $call),
            Native::MonthDayNano => {
                with_native!(@ arrow_buffer::IntervalMonthDayNano, $type => $call)
            }
        }
    }};
    (@ $native:ty, $type:ident => $call:expr) => {{
        type $type = $native;
        $call
    }};
}
pub(crate) use with_native;

/// An unsigned integer of a key or of a part of one.
pub(crate) trait Word:
    Copy
    + Ord
    + Send
    + Sync
    + Into<u128>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitOrAssign
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    const ZERO: Self;
    const MAX: Self;
    const BITS: u32;

    /// The low bits.
    fn truncate(wide: u128) -> Self;
    /// 0 if all bits are shifted out.
    fn checked_shr(self, bits: u32) -> Self;
    fn wrapping_add(self, other: Self) -> Self;
    fn wrapping_sub(self, other: Self) -> Self;
}

macro_rules! words {
    ($($word:ty)*) => {$(
        impl Word for $word {
            const ZERO: Self = 0;
            const MAX: Self = Self::MAX;
            const BITS: u32 = Self::BITS;

            #[inline(always)]
            fn truncate(wide: u128) -> Self {
                wide as Self
            }

            #[inline(always)]
            fn checked_shr(self, bits: u32) -> Self {
                self.checked_shr(bits).unwrap_or(0)
            }

            #[inline(always)]
            fn wrapping_add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn wrapping_sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }
    )*};
}
words!(u8 u16 u32 u64 u128);

/// A value with an order-preserving bit transform to an unsigned integer.
pub(crate) trait Ordered: Copy + Send + Sync {
    type Bits: Word;

    fn ordered(self, floats: Floats) -> Self::Bits;

    /// Inverts [`ordered`](Self::ordered) for [`Floats::Total`].
    fn from_ordered(bits: Self::Bits) -> Self;
}

macro_rules! integers {
    ($($native:ty: $unsigned:ty),*) => {$(
        impl Ordered for $native {
            type Bits = $unsigned;

            #[inline(always)]
            fn ordered(self, _: Floats) -> $unsigned {
                self as $unsigned ^ <$native>::MIN as $unsigned
            }

            #[inline(always)]
            fn from_ordered(bits: $unsigned) -> Self {
                (bits ^ <$native>::MIN as $unsigned) as Self
            }
        }
    )*};
}
integers!(
    i8: u8, i16: u16, i32: u32, i64: u64, i128: u128, u8: u8, u16: u16, u32: u32, u64: u64
);

/// A float that can be normalised for [`Floats::NanGreatest`].
pub(crate) trait Canonical {
    /// Replaces all NaNs by one NaN, and -0 by 0.
    fn canonical(self) -> Self;
}

macro_rules! floats {
    ($($float:ty: $bits:ty, $zero:expr);*) => {$(
        impl Canonical for $float {
            #[inline(always)]
            fn canonical(self) -> Self {
                if self.is_nan() {
                    Self::NAN
                } else if self == $zero {
                    $zero
                } else {
                    self
                }
            }
        }

        impl Ordered for $float {
            type Bits = $bits;

            #[inline(always)]
            fn ordered(self, floats: Floats) -> $bits {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let value = match floats {
                    Floats::NanGreatest => self.canonical(),
                    Floats::Total => self,
                };
                let bits = value.to_bits();
                let is_negative = bits & SIGN != 0;
                if is_negative { !bits } else { bits | SIGN }
            }

            #[inline(always)]
            fn from_ordered(bits: $bits) -> Self {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let is_negative = bits & SIGN == 0;
                Self::from_bits(if is_negative { !bits } else { bits ^ SIGN })
            }
        }
    )*};
}
floats!(f16: u16, f16::ZERO; f32: u32, 0.0; f64: u64, 0.0);

/// Intervals are compared by their largest unit first, as in Arrow: a month is more than 100 days.
impl Ordered for IntervalDayTime {
    type Bits = u64;

    #[inline(always)]
    fn ordered(self, floats: Floats) -> u64 {
        let (days, milliseconds) = (self.days.ordered(floats), self.milliseconds.ordered(floats));
        u64::from(days) << 32 | u64::from(milliseconds)
    }

    #[inline(always)]
    fn from_ordered(bits: u64) -> Self {
        Self::new(
            i32::from_ordered((bits >> 32) as u32),
            i32::from_ordered(bits as u32),
        )
    }
}

impl Ordered for IntervalMonthDayNano {
    type Bits = u128;

    #[inline(always)]
    fn ordered(self, floats: Floats) -> u128 {
        let (months, days) = (self.months.ordered(floats), self.days.ordered(floats));
        let nanoseconds = self.nanoseconds.ordered(floats);
        u128::from(months) << 96 | u128::from(days) << 64 | u128::from(nanoseconds)
    }

    #[inline(always)]
    fn from_ordered(bits: u128) -> Self {
        Self::new(
            i32::from_ordered((bits >> 96) as u32),
            i32::from_ordered((bits >> 64) as u32),
            i64::from_ordered(bits as u64),
        )
    }
}

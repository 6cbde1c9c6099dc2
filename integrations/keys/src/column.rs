//! Columns as integers in the order of their values.

use crate::{Error, Floats, SortColumn};
use arrow_array::cast::AsArray;
use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray,
    LargeStringArray, StringArray, StringViewArray, UInt32Array, downcast_dictionary_array,
};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_data::ArrayData;
use arrow_ord::ord::make_comparator;
use arrow_ord::sort::sort_to_indices;
use arrow_schema::{ArrowError, DataType, IntervalUnit, SortOptions};
use half::f16;
use rayon::prelude::*;
use std::ops::Range;

/// Rows that a thread takes at a time.
pub(crate) const BLOCK: usize = 1 << 12;

/// Bytes of a string that are part of the key.
const PREFIX: usize = 8;

/// Whether columns of this type can be sorted by: all but nested types, 256-bit decimals,
/// intervals of more than one unit, and dictionaries of floats.
#[must_use]
pub fn is_supported(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => {
            !values.is_floating()
                && !matches!(**values, DataType::Dictionary(..))
                && is_supported(values)
        }
        DataType::Null | DataType::Boolean => true,
        other => has_bytes(other) || Native::of(other).is_some(),
    }
}

/// The most bits that a value of a [supported](is_supported) type takes in a key; a nullable column
/// takes one more. Of strings a key holds the first 8 bytes, and of a dictionary the rank.
#[must_use]
pub fn most_bits(data_type: &DataType) -> u32 {
    match data_type {
        DataType::Null => 0,
        DataType::Boolean => 1,
        DataType::Dictionary(..) => u32::BITS,
        DataType::FixedSizeBinary(bytes) => bytes.unsigned_abs().min(PREFIX as u32) * 8,
        other => match Native::of(other) {
            Some(Native::I8 | Native::U8) => 8,
            Some(Native::I16 | Native::U16 | Native::F16) => 16,
            Some(Native::I32 | Native::U32 | Native::F32) => 32,
            Some(Native::I128) => 128,
            _ => 64,
        },
    }
}

pub(crate) fn has_bytes(data_type: &DataType) -> bool {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary, LargeUtf8, Utf8, Utf8View};
    matches!(
        data_type,
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_)
    )
}

/// How the values of a column lie in memory.
#[derive(Clone, Copy)]
enum Native {
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
}

impl Native {
    fn of(data_type: &DataType) -> Option<Self> {
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
            _ => return None,
        })
    }
}

/// A value whose bits can be ordered as an unsigned integer.
trait Ordered: Copy + Send + Sync {
    fn ordered(self, floats: Floats) -> u128;
}

macro_rules! integers {
    ($($native:ty: $unsigned:ty),*) => {$(
        impl Ordered for $native {
            #[inline(always)]
            fn ordered(self, _: Floats) -> u128 {
                u128::from(self as $unsigned ^ <$native>::MIN as $unsigned)
            }
        }
    )*};
}
integers!(i8: u8, i16: u16, i32: u32, i64: u64, u8: u8, u16: u16, u32: u32, u64: u64);

impl Ordered for i128 {
    #[inline(always)]
    fn ordered(self, _: Floats) -> u128 {
        self as u128 ^ Self::MIN as u128
    }
}

macro_rules! floats {
    ($($float:ty: $bits:ty, $zero:expr, $nan:expr);*) => {$(
        impl Ordered for $float {
            #[inline(always)]
            fn ordered(self, floats: Floats) -> u128 {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                let value = match floats {
                    Floats::NanGreatest if self.is_nan() => $nan,
                    Floats::NanGreatest if self == $zero => $zero,
                    _ => self,
                };
                let bits = value.to_bits();
                let negative = bits & SIGN != 0;
                u128::from(if negative { !bits } else { bits | SIGN })
            }
        }
    )*};
}
floats!(f16: u16, f16::ZERO, f16::NAN; f32: u32, 0.0, Self::NAN; f64: u64, 0.0, Self::NAN);

enum Values {
    Native(Native, ArrayData),
    /// Integers made of other values.
    Words(Vec<u64>),
    /// All values are equal.
    Constant,
}

/// Calls a generic expression with the slice of values.
macro_rules! with_slice {
    ($values:expr, $slice:ident => $call:expr, $constant:expr) => {
        match $values {
            Values::Constant => $constant,
            Values::Words(words) => {
                let $slice = &words[..];
                $call
            }
            Values::Native(native, data) => match native {
                Native::I8 => with_slice!(@ data, i8, $slice => $call),
                Native::I16 => with_slice!(@ data, i16, $slice => $call),
                Native::I32 => with_slice!(@ data, i32, $slice => $call),
                Native::I64 => with_slice!(@ data, i64, $slice => $call),
                Native::I128 => with_slice!(@ data, i128, $slice => $call),
                Native::U8 => with_slice!(@ data, u8, $slice => $call),
                Native::U16 => with_slice!(@ data, u16, $slice => $call),
                Native::U32 => with_slice!(@ data, u32, $slice => $call),
                Native::U64 => with_slice!(@ data, u64, $slice => $call),
                Native::F16 => with_slice!(@ data, f16, $slice => $call),
                Native::F32 => with_slice!(@ data, f32, $slice => $call),
                Native::F64 => with_slice!(@ data, f64, $slice => $call),
            },
        }
    };
    (@ $data:expr, $native:ty, $slice:ident => $call:expr) => {{
        let $slice = &$data.buffer::<$native>(0)[..$data.len()];
        $call
    }};
}

/// A column whose values are integers in their order, without those that no value uses.
pub(crate) struct Column {
    values: Values,
    /// None if there are none.
    nulls: Option<NullBuffer>,
    nulls_first: bool,
    descending: bool,
    floats: Floats,
    /// The smallest and the greatest value that is not null.
    bounds: (u128, u128),
    /// Whether values that are equal as integers are equal.
    pub(crate) is_exact: bool,
    /// Of strings, the bytes that all begin with, and those that are part of the key.
    pub(crate) skipped: usize,
    pub(crate) held: usize,
}

impl Column {
    pub(crate) fn new<E>(column: &SortColumn, floats: Floats) -> Result<Self, Error<E>> {
        let data_type = column.values.data_type();
        if !is_supported(data_type) {
            return Err(Error::Unsupported(data_type.clone()));
        }
        let array = &without_dictionary(&column.values)?;
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let mut is_exact = true;
        let (mut skipped, mut held) = (0, 0);
        let values = match array.data_type() {
            DataType::Null => Values::Constant,
            DataType::Boolean => {
                let values = array.as_boolean();
                let word = |i| u64::from(values.value(i));
                Values::Words((0..values.len()).into_par_iter().map(word).collect())
            }
            other => match Native::of(other) {
                Some(native) => Values::Native(native, array.to_data()),
                None => {
                    let prefixes =
                        with_bytes!(array, strings => prefixes(&strings, nulls.as_ref()));
                    (skipped, held) = (prefixes.skipped, prefixes.held);
                    is_exact = prefixes.is_exact;
                    Values::Words(prefixes.words)
                }
            },
        };
        let mut column = Self {
            values,
            nulls,
            nulls_first: column.nulls_first,
            descending: column.descending,
            floats,
            bounds: (0, 0),
            is_exact,
            skipped,
            held,
        };
        column.bounds = column.bounds(array.len());
        Ok(column)
    }

    fn bounds(&self, rows: usize) -> (u128, u128) {
        let widen = |(low, high): (u128, u128), value: u128| (low.min(value), high.max(value));
        let none = (u128::MAX, 0);
        let of_block = |block: Range<usize>| {
            let mut bounds = none;
            self.for_each(block, |_, value| bounds = widen(bounds, value));
            bounds
        };
        let merge = |a: (u128, u128), b: (u128, u128)| (a.0.min(b.0), a.1.max(b.1));
        let bounds = blocks(rows).map(of_block).reduce(|| none, merge);
        if bounds == none { (0, 0) } else { bounds }
    }

    /// Calls `act` for each row that is not null.
    #[inline(always)]
    fn for_each(&self, rows: Range<usize>, mut act: impl FnMut(usize, u128)) {
        let begin = rows.start;
        with_slice!(&self.values, slice => {
            let values = slice[rows].iter().map(|value| value.ordered(self.floats)).enumerate();
            match &self.nulls {
                None => values.for_each(|(i, value)| act(i, value)),
                Some(nulls) => values
                    .filter(|&(i, _)| nulls.is_valid(begin + i))
                    .for_each(|(i, value)| act(i, value)),
            }
        }, ())
    }

    /// The bits of a value, without that of the nulls.
    fn value_bits(&self) -> u32 {
        u128::BITS - (self.bounds.1 - self.bounds.0).leading_zeros()
    }

    /// The bits of a key.
    pub(crate) fn bits(&self) -> u32 {
        self.value_bits() + u32::from(self.nulls.is_some())
    }

    /// Appends the `bits` most significant bits of the keys of these rows to `keys`.
    pub(crate) fn append(&self, rows: Range<usize>, bits: u32, keys: &mut [u128]) {
        if bits == 0 {
            return;
        }
        let dropped = self.bits() - bits;
        let (low, high) = self.bounds;
        // A shift by all bits would overflow: nothing is there before the first column.
        let make_room = |key: u128| key.checked_shl(bits).unwrap_or(0);
        let code = |value: u128| {
            let code = if self.descending {
                high - value
            } else {
                value - low
            };
            code.checked_shr(dropped).unwrap_or(0)
        };
        if self.nulls.is_none() && !matches!(self.values, Values::Constant) {
            self.for_each(rows, |i, value| keys[i] = make_room(keys[i]) | code(value));
            return;
        }
        // Values and nulls differ in the first bit, and nulls have no others.
        let first = 1_u128 << (bits - 1);
        let of_null = if self.nulls_first { 0 } else { first };
        for key in &mut *keys {
            *key = make_room(*key) | of_null;
        }
        self.for_each(rows, |i, value| keys[i] = keys[i] ^ first | code(value));
    }
}

/// The blocks of rows, in parallel.
pub(crate) fn blocks(rows: usize) -> impl IndexedParallelIterator<Item = Range<usize>> {
    let block = move |i: usize| i * BLOCK..rows.min((i + 1) * BLOCK);
    (0..rows.div_ceil(BLOCK)).into_par_iter().map(block)
}

/// Values of bytes, in any of Arrow's layouts.
pub(crate) trait Strings: Sync {
    fn len(&self) -> usize;
    fn bytes(&self, i: usize) -> &[u8];
}

macro_rules! strings {
    ($($array:ty),*) => {$(
        impl Strings for &$array {
            fn len(&self) -> usize {
                Array::len(*self)
            }
            #[inline(always)]
            fn bytes(&self, i: usize) -> &[u8] {
                self.value(i).as_ref()
            }
        }
    )*};
}
strings!(
    StringArray,
    LargeStringArray,
    StringViewArray,
    BinaryArray,
    LargeBinaryArray,
    BinaryViewArray,
    FixedSizeBinaryArray
);

/// Calls a generic expression with the [`Strings`] of an array that [`has_bytes`].
macro_rules! with_bytes {
    ($array:expr, $strings:ident => $call:expr) => {{
        use arrow_array::cast::AsArray;
        use arrow_schema::DataType;
        match $array.data_type() {
            DataType::Utf8 => with_bytes!(@ $array.as_string::<i32>(), $strings => $call),
            DataType::LargeUtf8 => with_bytes!(@ $array.as_string::<i64>(), $strings => $call),
            DataType::Utf8View => with_bytes!(@ $array.as_string_view(), $strings => $call),
            DataType::Binary => with_bytes!(@ $array.as_binary::<i32>(), $strings => $call),
            DataType::LargeBinary => with_bytes!(@ $array.as_binary::<i64>(), $strings => $call),
            DataType::BinaryView => with_bytes!(@ $array.as_binary_view(), $strings => $call),
            _ => with_bytes!(@ $array.as_fixed_size_binary(), $strings => $call),
        }
    }};
    (@ $value:expr, $strings:ident => $call:expr) => {{
        let $strings = $value;
        $call
    }};
}
pub(crate) use with_bytes;

/// The beginnings of strings as integers, without what all strings begin with.
struct Prefixes {
    words: Vec<u64>,
    /// Whether the words tell all strings apart.
    is_exact: bool,
    /// The bytes that all strings begin with, and the most bytes of a string in its word.
    skipped: usize,
    held: usize,
}

fn prefixes(array: &impl Strings, nulls: Option<&NullBuffer>) -> Prefixes {
    let is_valid = |i: usize| nulls.is_none_or(|nulls| nulls.is_valid(i));
    let Some(first) = (0..array.len()).find(|&i| is_valid(i)) else {
        return Prefixes {
            words: vec![0; array.len()],
            is_exact: true,
            skipped: 0,
            held: 0,
        };
    };
    let first = array.bytes(first);
    // How far all strings are equal, and the lengths of the shortest and the longest one.
    let look = |(common, least, most): (usize, usize, usize), i: usize| {
        let bytes = array.bytes(i);
        let equal = bytes
            .iter()
            .zip(&first[..common])
            .take_while(|(a, b)| a == b)
            .count();
        (equal, least.min(bytes.len()), most.max(bytes.len()))
    };
    let none = (first.len(), first.len(), first.len());
    let (skipped, least, most) = blocks(array.len())
        .map(|block| block.filter(|&i| is_valid(i)).fold(none, look))
        .reduce(|| none, |a, b| (a.0.min(b.0), a.1.min(b.1), a.2.max(b.2)));
    let width = (most - skipped).min(PREFIX);
    let mut words = vec![0; array.len()];
    let is_exact = words
        .par_chunks_mut(BLOCK)
        .zip(blocks(array.len()))
        .map(|(words, block)| {
            let mut is_exact = most - skipped <= PREFIX;
            for (word, i) in words.iter_mut().zip(block) {
                if !is_valid(i) {
                    continue;
                }
                let rest = &array.bytes(i)[skipped..];
                let taken = rest.len().min(width);
                let mut prefix = [0; PREFIX];
                prefix[PREFIX - width..][..taken].copy_from_slice(&rest[..taken]);
                *word = u64::from_be_bytes(prefix);
                // Of strings of different lengths, one that ends with a zero looks as if the zero
                // were not there.
                is_exact &= least == most || rest.last() != Some(&0);
            }
            is_exact
        })
        .reduce(|| true, |a, b| a && b);
    Prefixes {
        words,
        is_exact,
        skipped,
        held: width,
    }
}

/// A dictionary column as the ranks of its values. Other columns are unchanged.
fn without_dictionary(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let ranks: UInt32Array = downcast_dictionary_array!(
        array => ranks(array)?,
        _ => return Ok(array.clone())
    );
    Ok(std::sync::Arc::new(ranks))
}

fn ranks<K: ArrowDictionaryKeyType>(
    array: &arrow_array::DictionaryArray<K>,
) -> Result<UInt32Array, ArrowError> {
    let values = array.values();
    let order = sort_to_indices(values, None, None)?;
    let compare = make_comparator(values, values, SortOptions::default())?;
    let mut of_value = vec![0; values.len()];
    let mut rank = 0;
    for pair in order.values().windows(2) {
        let (before, after) = (pair[0] as usize, pair[1] as usize);
        rank += u32::from(compare(before, after).is_ne());
        of_value[after] = rank;
    }
    let keys = array.keys();
    // A null may have any key.
    let rank = |i: usize| of_value.get(keys.value(i).as_usize()).copied().unwrap_or(0);
    let ranks: Vec<u32> = (0..array.len()).into_par_iter().map(rank).collect();
    Ok(UInt32Array::new(ranks.into(), array.logical_nulls()))
}

/// The values of a column in an array that Arrow's comparators order as this crate does.
pub(crate) fn comparable(column: &SortColumn, floats: Floats) -> Result<ArrayRef, ArrowError> {
    use arrow_array::types::{Float16Type, Float32Type, Float64Type};
    let array = without_dictionary(&column.values)?;
    if floats == Floats::Total {
        return Ok(array);
    }
    macro_rules! canonical {
        ($float:ty, $native:ty, $zero:expr) => {
            std::sync::Arc::new(array.as_primitive::<$float>().unary::<_, $float>(|value| {
                if value.is_nan() {
                    <$native>::NAN
                } else if value == $zero {
                    $zero
                } else {
                    value
                }
            }))
        };
    }
    Ok(match array.data_type() {
        DataType::Float16 => canonical!(Float16Type, f16, f16::ZERO),
        DataType::Float32 => canonical!(Float32Type, f32, 0.0),
        DataType::Float64 => canonical!(Float64Type, f64, 0.0),
        _ => array,
    })
}

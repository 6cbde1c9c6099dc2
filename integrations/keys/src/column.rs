//! Order-preserving integer codes for the values of a column.

use crate::plain::{without_dictionary, without_long_decimals};
use crate::strings::{prefixes, with_bytes};
use crate::types::{Native, Ordered, Word, is_supported, with_native};
use crate::{Error, Floats, SortColumn};
use arrow_array::cast::AsArray;
use arrow_array::{Array, UInt8Array, UInt64Array};
use arrow_buffer::NullBuffer;
use arrow_data::ArrayData;
use arrow_schema::DataType;
use rayon::prelude::*;
use std::ops::Range;

/// Rows that a thread takes at a time.
pub(crate) const BLOCK: usize = 1 << 12;

/// The values of a column, read as unsigned integers of the same order. Their range determines how
/// many bits of a key the column takes.
pub(crate) struct Column {
    /// None for [`DataType::Null`]: all rows are null.
    values: Option<(Native, ArrayData)>,
    /// None if no row is null.
    nulls: Option<NullBuffer>,
    floats: Floats,
    pub(crate) code: Code,
    /// Whether equal integers always stand for equal values.
    pub(crate) is_exact: bool,
    /// The length of the prefix that all strings share, which keys leave out.
    pub(crate) skipped: usize,
    /// The most bytes of a string that a key holds.
    pub(crate) held: usize,
}

/// How the values of a column become codes, which are packed into keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code {
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
    pub(crate) has_nulls: bool,
    /// The smallest and the greatest value, or None if all are null.
    pub(crate) bounds: Option<(u128, u128)>,
}

/// The bits of a key that hold a code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    /// The number of bits below the field.
    pub(crate) shift: u32,
    pub(crate) bits: u32,
}

impl Code {
    /// The number of bits of a code: those of the range, and one more if there are nulls.
    pub(crate) fn bits(&self) -> u32 {
        let (low, high) = self.bounds.unwrap_or_default();
        u128::BITS - (high - low).leading_zeros() + u32::from(self.has_nulls)
    }

    /// Combines the codes of two batches of a column: the range covers the values of both.
    pub(crate) fn merge(self, next: Self) -> Self {
        Self {
            has_nulls: self.has_nulls || next.has_nulls,
            bounds: merged(self.bounds, next.bounds),
            ..self
        }
    }

    /// Returns the top bit of a field, which tells values from nulls: first as it is in a value,
    /// then as it is in a null.
    pub(crate) fn first_bits<W: Word>(&self, bits: u32) -> (W, W) {
        let first = W::truncate(1) << (bits - 1);
        if self.nulls_first {
            (first, W::ZERO)
        } else {
            (W::ZERO, first)
        }
    }
}

fn merged(a: Option<(u128, u128)>, b: Option<(u128, u128)>) -> Option<(u128, u128)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}

impl Column {
    pub(crate) fn new<E>(column: &SortColumn, floats: Floats) -> Result<Self, Error<E>> {
        let data_type = column.values.data_type();
        if !is_supported(data_type) {
            return Err(Error::Unsupported(data_type.clone()));
        }
        let mut array = without_dictionary(&column.values, floats)?;
        let mut is_exact = true;
        if matches!(array.data_type(), DataType::Decimal256(..)) {
            (array, is_exact) = without_long_decimals(&array);
        }
        let array = &array;
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let (mut skipped, mut held) = (0, 0);
        let values = match array.data_type() {
            DataType::Null => None,
            DataType::Boolean => {
                let flags = array.as_boolean().values();
                let byte = |i| u8::from(flags.value(i));
                let bytes: Vec<u8> = (0..flags.len()).into_par_iter().map(byte).collect();
                Some((Native::U8, UInt8Array::from(bytes).into_data()))
            }
            other => Some(match Native::of(other) {
                Some(native) => (native, array.to_data()),
                None => {
                    let prefixes =
                        with_bytes!(array, strings => prefixes(&strings, nulls.as_ref()));
                    (skipped, held) = (prefixes.skipped, prefixes.held);
                    is_exact = prefixes.is_exact;
                    (Native::U64, UInt64Array::from(prefixes.words).into_data())
                }
            }),
        };
        let mut column = Self {
            values,
            code: Code {
                descending: column.descending,
                nulls_first: column.nulls_first,
                has_nulls: nulls.is_some(),
                bounds: None,
            },
            nulls,
            floats,
            is_exact,
            skipped,
            held,
        };
        let of_block = |block| column.bounds(block);
        column.code.bounds = blocks(array.len()).map(of_block).reduce(|| None, merged);
        Ok(column)
    }

    /// The number of rows, or 0 for [`DataType::Null`], whose values are not stored.
    pub(crate) fn len(&self) -> usize {
        self.values.as_ref().map_or(0, |(_, data)| data.len())
    }

    fn bounds(&self, rows: Range<usize>) -> Option<(u128, u128)> {
        let (native, data) = self.values.as_ref()?;
        with_native!(*native, T => {
            let values = &data.buffer::<T>(0)[..data.len()];
            bounds(&values[rows.clone()], self.nulls_of(rows), self.floats)
        })
    }

    fn nulls_of(&self, rows: Range<usize>) -> Option<NullBuffer> {
        let nulls = self.nulls.as_ref()?.slice(rows.start, rows.len());
        (nulls.null_count() > 0).then_some(nulls)
    }

    /// Writes the codes of these rows to a field of their keys, which must be 0. A field shorter
    /// than the codes gets their high bits.
    pub(crate) fn set<W: Word>(&self, rows: Range<usize>, field: Field, keys: &mut [W]) {
        if field.bits == 0 {
            return;
        }
        let nulls = self.nulls_of(rows.clone());
        let Some((native, data)) = &self.values else {
            let (_, null) = self.code.first_bits::<W>(field.bits);
            keys.iter_mut().for_each(|key| *key |= null << field.shift);
            return;
        };
        with_native!(*native, T => {
            let values = &data.buffer::<T>(0)[..data.len()];
            set(&values[rows], nulls, self.floats, &self.code, field, keys);
        });
    }
}

fn bounds<T: Ordered>(
    values: &[T],
    nulls: Option<NullBuffer>,
    floats: Floats,
) -> Option<(u128, u128)> {
    let none = (T::Bits::MAX, T::Bits::ZERO);
    let widen = |(low, high): (T::Bits, T::Bits), value: &T| {
        let value = value.ordered(floats);
        (low.min(value), high.max(value))
    };
    let (low, high) = match nulls {
        None => values.iter().fold(none, widen),
        Some(nulls) => nulls.valid_indices().map(|i| &values[i]).fold(none, widen),
    };
    (low <= high).then(|| (low.into(), high.into()))
}

fn set<T: Ordered, W: Word>(
    values: &[T],
    nulls: Option<NullBuffer>,
    floats: Floats,
    code: &Code,
    field: Field,
    keys: &mut [W],
) {
    let (low, high) = code.bounds.unwrap_or_default();
    let (low, high) = (T::Bits::truncate(low), T::Bits::truncate(high));
    // Only the last field of keys of 128 bits is shorter than its code.
    let dropped = code.bits() - field.bits;
    let of_value = |value: T| {
        let value = value.ordered(floats);
        let code = if code.descending {
            high.wrapping_sub(value)
        } else {
            value.wrapping_sub(low)
        };
        if dropped == 0 {
            W::truncate(code.into())
        } else {
            W::truncate(code.checked_shr(dropped).into())
        }
    };
    let pairs = keys.iter_mut().zip(values);
    if !code.has_nulls {
        pairs.for_each(|(key, &value)| *key |= of_value(value) << field.shift);
        return;
    }
    // The first bit tells values from nulls. All other bits of a null are 0.
    let (value_bit, null) = code.first_bits::<W>(field.bits);
    match nulls {
        None => {
            pairs.for_each(|(key, &value)| *key |= (value_bit | of_value(value)) << field.shift)
        }
        Some(nulls) => pairs.zip(&nulls).for_each(|((key, &value), is_valid)| {
            let code = if is_valid {
                value_bit | of_value(value)
            } else {
                null
            };
            *key |= code << field.shift;
        }),
    }
}

/// The blocks of rows, in parallel.
pub(crate) fn blocks(rows: usize) -> impl IndexedParallelIterator<Item = Range<usize>> {
    let block = move |i: usize| i * BLOCK..rows.min((i + 1) * BLOCK);
    (0..rows.div_ceil(BLOCK)).into_par_iter().map(block)
}

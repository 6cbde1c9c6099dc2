//! Columns of structs, dictionaries and long decimals as columns of plain values.

use crate::types::Canonical;
use crate::{Floats, SortColumn};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Decimal256Type, Float16Type, Float32Type, Float64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, UInt32Array,
    downcast_dictionary_array, make_array,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, i256};
use arrow_ord::ord::make_comparator;
use arrow_ord::sort::sort_to_indices;
use arrow_schema::{ArrowError, DataType, SortOptions};
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;

/// Replaces each struct column by the columns of its fields, which sort rows the same way.
///
/// As in Arrow, each field has its nulls first or last as the struct has.
pub(crate) fn without_structs(columns: &[SortColumn]) -> Result<Cow<'_, [SortColumn]>, ArrowError> {
    let is_struct = |column: &SortColumn| matches!(column.values.data_type(), DataType::Struct(_));
    if !columns.iter().any(is_struct) {
        return Ok(Cow::Borrowed(columns));
    }
    let mut plain = Vec::new();
    for column in columns {
        push_fields(column, &mut plain)?;
    }
    Ok(Cow::Owned(plain))
}

fn push_fields(column: &SortColumn, plain: &mut Vec<SortColumn>) -> Result<(), ArrowError> {
    let Some(fields) = column.values.as_struct_opt() else {
        plain.push(column.clone());
        return Ok(());
    };
    let with = |values| SortColumn {
        values,
        ..column.clone()
    };
    let nulls = fields.nulls().filter(|nulls| nulls.null_count() > 0);
    if nulls.is_some() || fields.num_columns() == 0 {
        // A column of equal booleans, which only tells null structs from others.
        let equal = BooleanBuffer::new_unset(fields.len());
        plain.push(with(Arc::new(BooleanArray::new(equal, nulls.cloned()))));
    }
    for field in fields.columns() {
        push_fields(&with(masked(field, nulls)?), plain)?;
    }
    Ok(())
}

/// Marks a field as null in the rows where its struct is null: its values there have no meaning.
fn masked(field: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<ArrayRef, ArrowError> {
    if nulls.is_none() || *field.data_type() == DataType::Null {
        return Ok(field.clone());
    }
    let nulls = NullBuffer::union(nulls, field.nulls());
    if let Some(flags) = field.as_boolean_opt() {
        // The values of a slice of booleans begin at any bit of their buffer. The builder below
        // assumes that the nulls begin at the same bit, but these begin at the first one.
        return Ok(Arc::new(BooleanArray::new(flags.values().clone(), nulls)));
    }
    let data = field.to_data().into_builder().nulls(nulls).build()?;
    Ok(make_array(data))
}

/// Replaces the values of a dictionary column by their ranks. Other columns are unchanged.
pub(crate) fn without_dictionary(array: &ArrayRef, floats: Floats) -> Result<ArrayRef, ArrowError> {
    let ranks: UInt32Array = downcast_dictionary_array!(
        array => ranks(array, floats)?,
        _ => return Ok(array.clone())
    );
    Ok(Arc::new(ranks))
}

fn ranks<K: ArrowDictionaryKeyType>(
    array: &DictionaryArray<K>,
    floats: Floats,
) -> Result<UInt32Array, ArrowError> {
    let values = &canonical(array.values(), floats);
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
    // The key of a null may be out of range.
    let rank = |i: usize| of_value.get(keys.value(i).as_usize()).copied().unwrap_or(0);
    let ranks: Vec<u32> = (0..array.len()).into_par_iter().map(rank).collect();
    Ok(UInt32Array::new(ranks.into(), array.logical_nulls()))
}

/// The values of a column in an array that Arrow's comparators order as this crate does.
pub(crate) fn comparable(column: &SortColumn, floats: Floats) -> Result<ArrayRef, ArrowError> {
    let array = without_dictionary(&column.values, floats)?;
    Ok(canonical(&array, floats))
}

/// Replaces NaNs and -0 where needed, so that the total order of floats is the requested one.
fn canonical(array: &ArrayRef, floats: Floats) -> ArrayRef {
    macro_rules! canonical {
        ($float:ty) => {{
            let values = array.as_primitive::<$float>();
            Arc::new(values.unary::<_, $float>(Canonical::canonical))
        }};
    }
    match (floats, array.data_type()) {
        (Floats::NanGreatest, DataType::Float16) => canonical!(Float16Type),
        (Floats::NanGreatest, DataType::Float32) => canonical!(Float32Type),
        (Floats::NanGreatest, DataType::Float64) => canonical!(Float64Type),
        _ => array.clone(),
    }
}

/// Replaces 256-bit decimals by their differences from the least one, as 128-bit integers, and
/// tells whether these are exact. If the largest difference takes more than 128 bits, low bits are
/// dropped.
///
/// Few columns need more than 128 bits, since only the range of their values counts.
pub(crate) fn without_long_decimals(array: &ArrayRef) -> (ArrayRef, bool) {
    let decimals = array.as_primitive::<Decimal256Type>();
    let (values, nulls) = (decimals.values(), decimals.nulls());
    let is_valid = |&i: &usize| nulls.is_none_or(|nulls| nulls.is_valid(i));
    let valid = || (0..values.len()).into_par_iter().filter(is_valid);
    let merge = |a: (i256, i256), b: (i256, i256)| (a.0.min(b.0), a.1.max(b.1));
    let bounds = valid().map(|i| (values[i], values[i])).reduce_with(merge);
    let (least, most) = bounds.unwrap_or_default();
    // Modulo 2^256 the difference of two values is right, whatever their signs.
    let difference = |value: i256| {
        let (low, high) = value.wrapping_sub(least).to_parts();
        (high as u128, low)
    };
    let dropped = u128::BITS - difference(most).0.leading_zeros();
    let offset = |&value: &i256| {
        let (high, low) = difference(value);
        let bits = match dropped {
            0 => low,
            u128::BITS => high,
            _ => high << (u128::BITS - dropped) | low >> dropped,
        };
        // Arrow has no array of `u128`: with the top bit flipped, the order is the same in `i128`.
        (bits ^ (1 << (u128::BITS - 1))) as i128
    };
    let offsets: Vec<i128> = values.par_iter().map(offset).collect();
    let offsets = Decimal128Array::new(offsets.into(), nulls.cloned());
    (Arc::new(offsets), dropped == 0)
}

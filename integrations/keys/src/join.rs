//! Joins the parts of a column, on all cores.

use crate::types::{Native, scalars, with_native};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    BinaryType, BinaryViewType, ByteArrayType, ByteViewType, LargeBinaryType, LargeUtf8Type,
    StringViewType, Utf8Type,
};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, NullBufferBuilder, i256};
use arrow_data::{ArrayData, ArrayDataBuilder, MAX_INLINE_VIEW_LEN};
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat;
use rayon::prelude::*;

/// Joins the parts of a column into one array, as Arrow's `concat` does, but on all cores if they
/// are values of fixed width, strings or binary values. O(rows) time; the strings of views are not
/// copied.
///
/// # Errors
///
/// [`ArrowError`], as of `concat`: there is no part, their types differ, or one array of the type
/// cannot hold all values.
///
/// # Examples
///
/// ```
/// use arrow_array::{ArrayRef, StringArray};
/// use bcfsort_keys::join;
/// use std::sync::Arc;
///
/// let part = |names: Vec<&str>| -> ArrayRef { Arc::new(StringArray::from(names)) };
/// let names = join(&[part(vec!["a", "b"]), part(vec!["c"])])?;
/// assert_eq!(&names, &part(vec!["a", "b", "c"]));
/// # Ok::<(), arrow_schema::ArrowError>(())
/// ```
pub fn join(parts: &[ArrayRef]) -> Result<ArrayRef, ArrowError> {
    if let [only] = parts {
        return Ok(only.clone());
    }
    let is_same = |part: &ArrayRef| part.data_type() == parts[0].data_type();
    if !parts.is_empty() && parts.iter().all(is_same) {
        match parts[0].data_type() {
            DataType::Utf8 => return strings::<Utf8Type>(parts),
            DataType::LargeUtf8 => return strings::<LargeUtf8Type>(parts),
            DataType::Binary => return strings::<BinaryType>(parts),
            DataType::LargeBinary => return strings::<LargeBinaryType>(parts),
            DataType::Utf8View => return views::<StringViewType>(parts),
            DataType::BinaryView => return views::<BinaryViewType>(parts),
            DataType::Decimal256(..) => return fixed::<i256>(parts),
            DataType::FixedSizeBinary(_) => return fixed_bytes(parts),
            other => {
                if let Some(native) = Native::of(other) {
                    return with_native!(native, T => fixed::<T>(parts));
                }
            }
        }
    }
    concat(&parts.iter().map(AsRef::as_ref).collect::<Vec<_>>())
}

fn fixed<T: ArrowNativeType>(parts: &[ArrayRef]) -> Result<ArrayRef, ArrowError> {
    let copy = |part: &ArrayRef, out: &mut [T]| out.copy_from_slice(&scalars(part));
    let data = all(parts).add_buffer(filled(parts, |part| part.len(), copy));
    Ok(make_array(data.build()?))
}

fn fixed_bytes(parts: &[ArrayRef]) -> Result<ArrayRef, ArrowError> {
    let bytes = |part: &ArrayRef| part.len() * part.as_fixed_size_binary().value_size();
    let copy = |part: &ArrayRef, out: &mut [u8]| {
        out.copy_from_slice(part.as_fixed_size_binary().value_data());
    };
    let data = all(parts).add_buffer(filled(parts, bytes, copy));
    Ok(make_array(data.build()?))
}

fn strings<T: ByteArrayType>(parts: &[ArrayRef]) -> Result<ArrayRef, ArrowError> {
    let of_part = |part: &ArrayRef| {
        let offsets = part.as_bytes::<T>().offsets();
        offsets[0].as_usize()..offsets[part.len()].as_usize()
    };
    // The first byte of each part.
    let mut bytes = 0;
    let mut begins = Vec::with_capacity(parts.len());
    for part in parts {
        begins.push((Some(part), bytes));
        bytes += of_part(part).len();
    }
    // (The last offset is the end of all.)
    begins.push((None, bytes));
    if T::Offset::from_usize(bytes).is_none() {
        return Err(ArrowError::OffsetOverflowError(bytes));
    }
    let begin = |&(part, begin): &(Option<&ArrayRef>, usize), out: &mut [T::Offset]| {
        let Some(part) = part else {
            out.fill(T::Offset::usize_as(begin));
            return;
        };
        let first = of_part(part).start;
        for (out, offset) in out.iter_mut().zip(&**part.as_bytes::<T>().offsets()) {
            *out = T::Offset::usize_as(begin + offset.as_usize() - first);
        }
    };
    let len = |(part, _): &(Option<&ArrayRef>, usize)| part.map_or(1, |part| part.len());
    let copy = |part: &ArrayRef, out: &mut [u8]| {
        out.copy_from_slice(&part.as_bytes::<T>().values()[of_part(part)]);
    };
    let data = all(parts).buffers(vec![
        filled(&begins, len, begin),
        filled(parts, |part| of_part(part).len(), copy),
    ]);
    // SAFETY: the offsets ascend from 0 to the number of bytes, and between two of them is a whole
    // value of an array of this type: UTF-8, if the type says so.
    #[expect(unsafe_code)]
    let data = unsafe { data.build_unchecked() };
    Ok(make_array(data))
}

fn views<T: ByteViewType>(parts: &[ArrayRef]) -> Result<ArrayRef, ArrowError> {
    // The number of each part's first buffer.
    let mut buffers = Vec::new();
    let mut firsts = Vec::with_capacity(parts.len());
    for part in parts {
        firsts.push((part, buffers.len() as u128));
        buffers.extend_from_slice(part.as_byte_view::<T>().data_buffers());
    }
    if u32::try_from(buffers.len()).is_err() {
        return Err(ArrowError::OffsetOverflowError(buffers.len()));
    }
    let renumber = |&(part, first): &(&ArrayRef, u128), out: &mut [u128]| {
        let views = part.as_byte_view::<T>().views();
        let nulls = part.nulls();
        for (row, (out, &view)) in out.iter_mut().zip(views).enumerate() {
            // (The view of a null may be anything.)
            if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                let is_inline = view as u32 <= MAX_INLINE_VIEW_LEN;
                *out = view + if is_inline { 0 } else { first << 64 };
            }
        }
    };
    let joined = filled(&firsts, |(part, _)| part.len(), renumber);
    let data = all(parts).add_buffer(joined).add_buffers(buffers);
    // SAFETY: a view is 0, or one of an array of this type, which holds its value itself, or names
    // the buffer that it named there.
    #[expect(unsafe_code)]
    let data = unsafe { data.build_unchecked() };
    Ok(make_array(data))
}

/// An array of all rows, still without values.
fn all(parts: &[ArrayRef]) -> ArrayDataBuilder {
    let rows = parts.iter().map(|part| part.len()).sum();
    ArrayData::builder(parts[0].data_type().clone())
        .len(rows)
        .nulls(nulls(parts, rows))
}

fn nulls(parts: &[ArrayRef], rows: usize) -> Option<NullBuffer> {
    if parts.iter().all(|part| part.null_count() == 0) {
        return None;
    }
    let mut nulls = NullBufferBuilder::new(rows);
    for part in parts {
        match part.nulls() {
            Some(of_part) => nulls.append_buffer(of_part),
            None => nulls.append_n_non_nulls(part.len()),
        }
    }
    nulls.finish()
}

/// The values of all parts, each written by one thread.
fn filled<P: Sync, T: ArrowNativeType>(
    parts: &[P],
    len: impl Fn(&P) -> usize,
    fill: impl Fn(&P, &mut [T]) + Sync,
) -> Buffer {
    // The zeros of most types cost no pass: the operating system supplies zeroed pages when threads
    // first write.
    let mut values = vec![T::default(); parts.iter().map(&len).sum()];
    let mut rest = values.as_mut_slice();
    let mut outs = Vec::with_capacity(parts.len());
    for part in parts {
        let (out, after) = rest.split_at_mut(len(part));
        outs.push(out);
        rest = after;
    }
    (parts.par_iter().zip(outs)).for_each(|(part, out)| fill(part, out));
    Buffer::from_vec(values)
}

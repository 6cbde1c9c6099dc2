//! How the columns of each type are gathered.

use super::Place;
use crate::types::{scalars, with_native};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    BinaryType, BinaryViewType, ByteArrayType, ByteViewType, LargeBinaryType, LargeUtf8Type,
    StringViewType, Utf8Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, make_array};
use arrow_buffer::{
    ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer, i256,
};
use arrow_data::{ArrayData, ByteView, MAX_INLINE_VIEW_LEN};
use arrow_schema::{ArrowError, DataType};
use arrow_select::interleave::interleave;
use std::sync::Arc;

/// How many rows before a value is needed its memory is asked for.
const AHEAD: usize = 16;

/// A column whose rows are gathered.
pub(super) trait Gather: Send + Sync {
    /// The values at these places.
    fn gather(&self, places: &[Place]) -> Result<ArrayRef, ArrowError>;

    /// The bytes of a copy of all values, about, without their nulls. O(parts) time.
    fn bytes(&self) -> usize;
}

/// A column of these parts, all of one type.
pub(super) fn column(parts: &[&ArrayRef]) -> Box<dyn Gather> {
    own(parts).unwrap_or_else(|| {
        let parts = parts.iter().map(|&part| part.clone()).collect();
        Box::new(Others(parts))
    })
}

/// A column of a type that is gathered by code of its own, and else None.
fn own(parts: &[&ArrayRef]) -> Option<Box<dyn Gather>> {
    let data_type = parts.first()?.data_type();
    let nulls = Nulls::new(parts);
    Some(match data_type {
        DataType::Boolean => Box::new(Booleans {
            values: (parts.iter())
                .map(|part| part.as_boolean().values().clone())
                .collect(),
            nulls,
        }),
        DataType::Utf8 => Box::new(Strings::<Utf8Type>::new(parts, nulls)),
        DataType::LargeUtf8 => Box::new(Strings::<LargeUtf8Type>::new(parts, nulls)),
        DataType::Binary => Box::new(Strings::<BinaryType>::new(parts, nulls)),
        DataType::LargeBinary => Box::new(Strings::<LargeBinaryType>::new(parts, nulls)),
        DataType::Utf8View => Box::new(Views::new::<StringViewType>(parts, nulls)),
        DataType::BinaryView => Box::new(Views::new::<BinaryViewType>(parts, nulls)),
        DataType::Decimal256(..) => Box::new(Fixed::<i256>::new(parts, nulls)),
        DataType::FixedSizeBinary(_) => Box::new(FixedBytes {
            values: (parts.iter())
                .map(|part| part.as_fixed_size_binary().clone())
                .collect(),
            nulls,
        }),
        DataType::Dictionary(..) => {
            let arrays: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
            let values = common_dictionary(&arrays)?.clone();
            let keys: Vec<ArrayRef> = (parts.iter())
                .map(|part| make_array(part.as_any_dictionary().keys().to_data()))
                .collect();
            Box::new(Dictionaries {
                keys: own(&keys.iter().collect::<Vec<_>>())?,
                values,
                data_type: data_type.clone(),
            })
        }
        DataType::Struct(fields) => {
            let field = |field: usize| {
                let parts = parts.iter().map(|part| part.as_struct().column(field));
                own(&parts.collect::<Vec<_>>())
            };
            Box::new(Structs {
                fields: (0..fields.len()).map(field).collect::<Option<_>>()?,
                nulls,
                data_type: data_type.clone(),
            })
        }
        other => with_native!(Native::of(other)?, T => Box::new(Fixed::<T>::new(parts, nulls))),
    })
}

/// The longest dictionary of arrays. None unless all have dictionaries, and the others are prefixes
/// of the longest.
///
/// # Examples
///
/// ```
/// use arrow_array::types::Int8Type;
/// use arrow_array::{Array, DictionaryArray};
/// use bcfsort_keys::common_dictionary;
///
/// let short: DictionaryArray<Int8Type> = ["b", "a"].into_iter().collect();
/// let long: DictionaryArray<Int8Type> = ["b", "a", "c"].into_iter().collect();
/// let common = common_dictionary(&[&short, &long]).expect("one begins with the other");
/// assert_eq!(common.len(), 3);
/// ```
#[must_use]
pub fn common_dictionary<'a>(arrays: &[&'a dyn Array]) -> Option<&'a ArrayRef> {
    let all: Vec<&ArrayRef> = (arrays.iter())
        .map(|array| Some(array.as_any_dictionary_opt()?.values()))
        .collect::<Option<_>>()?;
    let longest = *all.iter().max_by_key(|values| values.len())?;
    let data = longest.to_data();
    let begins = |values: &&ArrayRef| {
        values.to_data().ptr_eq(&data) || ***values == *longest.slice(0, values.len())
    };
    all.iter().all(begins).then_some(longest)
}

/// The nulls of each part, or none at all.
struct Nulls(Option<Vec<Option<NullBuffer>>>);

impl Nulls {
    fn new(parts: &[&ArrayRef]) -> Self {
        let of_part =
            |part: &&ArrayRef| part.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        let nulls: Vec<_> = parts.iter().map(of_part).collect();
        Self(nulls.iter().any(Option::is_some).then_some(nulls))
    }

    fn is_valid(&self, place: Place) -> bool {
        let of_part = (self.0.as_ref()).and_then(|nulls| nulls[place.batch as usize].as_ref());
        of_part.is_none_or(|nulls| nulls.is_valid(place.row as usize))
    }

    fn gather(&self, places: &[Place]) -> Option<NullBuffer> {
        self.0.as_ref()?;
        let is_valid = |i: usize| self.is_valid(places[i]);
        let nulls = NullBuffer::new(BooleanBuffer::collect_bool(places.len(), is_valid));
        (nulls.null_count() > 0).then_some(nulls)
    }
}

/// Values of fixed width.
struct Fixed<T: ArrowNativeType> {
    values: Vec<ScalarBuffer<T>>,
    nulls: Nulls,
    data_type: DataType,
}

impl<T: ArrowNativeType> Fixed<T> {
    fn new(parts: &[&ArrayRef], nulls: Nulls) -> Self {
        Self {
            values: parts.iter().map(|part| scalars(part)).collect(),
            nulls,
            data_type: parts[0].data_type().clone(),
        }
    }
}

impl<T: ArrowNativeType> Gather for Fixed<T> {
    fn gather(&self, places: &[Place]) -> Result<ArrayRef, ArrowError> {
        let value = |(i, place): (usize, &Place)| {
            if let Some(next) = places.get(i + AHEAD) {
                prefetch(&self.values[next.batch as usize][next.row as usize..]);
            }
            self.values[place.batch as usize][place.row as usize]
        };
        let values: Vec<T> = places.iter().enumerate().map(value).collect();
        let data = ArrayData::builder(self.data_type.clone())
            .len(places.len())
            .add_buffer(Buffer::from_vec(values))
            .nulls(self.nulls.gather(places));
        Ok(make_array(data.build()?))
    }

    fn bytes(&self) -> usize {
        self.values.iter().map(|part| size_of_val(&**part)).sum()
    }
}

/// Binary values of one size.
struct FixedBytes {
    values: Vec<FixedSizeBinaryArray>,
    nulls: Nulls,
}

impl Gather for FixedBytes {
    fn gather(&self, places: &[Place]) -> Result<ArrayRef, ArrowError> {
        let size = self.values[0].value_size();
        let mut values = Vec::with_capacity(places.len() * size);
        for (i, place) in places.iter().enumerate() {
            if let Some(next) = places.get(i + AHEAD) {
                prefetch(self.values[next.batch as usize].value(next.row as usize));
            }
            values.extend_from_slice(self.values[place.batch as usize].value(place.row as usize));
        }
        let data = ArrayData::builder(self.values[0].data_type().clone())
            .len(places.len())
            .add_buffer(Buffer::from_vec(values))
            .nulls(self.nulls.gather(places));
        Ok(make_array(data.build()?))
    }

    fn bytes(&self) -> usize {
        (self.values.iter())
            .map(|part| part.len() * part.value_size())
            .sum()
    }
}

struct Booleans {
    values: Vec<BooleanBuffer>,
    nulls: Nulls,
}

impl Gather for Booleans {
    fn gather(&self, places: &[Place]) -> Result<ArrayRef, ArrowError> {
        let value = |i: usize| {
            let Place { batch, row } = places[i];
            self.values[batch as usize].value(row as usize)
        };
        let values = BooleanBuffer::collect_bool(places.len(), value);
        Ok(Arc::new(BooleanArray::new(
            values,
            self.nulls.gather(places),
        )))
    }

    fn bytes(&self) -> usize {
        self.values.iter().map(|part| part.len() / 8).sum()
    }
}

/// Strings, or binary values, with offsets.
struct Strings<T: ByteArrayType> {
    offsets: Vec<OffsetBuffer<T::Offset>>,
    bytes: Vec<Buffer>,
    nulls: Nulls,
}

impl<T: ByteArrayType> Strings<T> {
    fn new(parts: &[&ArrayRef], nulls: Nulls) -> Self {
        let part = |part: &&ArrayRef| {
            let strings = part.as_bytes::<T>();
            (strings.offsets().clone(), strings.values().clone())
        };
        let (offsets, bytes) = parts.iter().map(part).unzip();
        Self {
            offsets,
            bytes,
            nulls,
        }
    }

    /// The bytes of a value; none of a null.
    fn string(&self, place: Place) -> &[u8] {
        if !self.nulls.is_valid(place) {
            return &[];
        }
        let (batch, row) = (place.batch as usize, place.row as usize);
        let offsets = &self.offsets[batch][row..row + 2];
        &self.bytes[batch][offsets[0].as_usize()..offsets[1].as_usize()]
    }
}

impl<T: ByteArrayType> Gather for Strings<T> {
    fn gather(&self, places: &[Place]) -> Result<ArrayRef, ArrowError> {
        let mut ends = Vec::with_capacity(places.len() + 1);
        let mut bytes = 0;
        ends.push(T::Offset::default());
        for (i, &place) in places.iter().enumerate() {
            if let Some(next) = places.get(i + AHEAD) {
                prefetch(&self.offsets[next.batch as usize][next.row as usize..]);
            }
            bytes += self.string(place).len();
            let end = T::Offset::from_usize(bytes);
            ends.push(end.ok_or(ArrowError::OffsetOverflowError(bytes))?);
        }
        let strings = |i: usize| self.string(places[i]);
        let data = ArrayData::builder(T::DATA_TYPE)
            .len(places.len())
            .buffers(vec![
                Buffer::from_vec(ends),
                Buffer::from_vec(copied(places.len(), bytes, strings)),
            ])
            .nulls(self.nulls.gather(places));
        // SAFETY: the ends ascend from 0 to the number of bytes, and between two ends is a whole
        // value of an array of this type: UTF-8, if the type says so.
        #[expect(unsafe_code)]
        let data = unsafe { data.build_unchecked() };
        Ok(make_array(data))
    }

    fn bytes(&self) -> usize {
        let of_part = |offsets: &OffsetBuffer<T::Offset>| {
            let bytes = offsets[offsets.len() - 1].as_usize() - offsets[0].as_usize();
            bytes + size_of_val(&**offsets)
        };
        self.offsets.iter().map(of_part).sum()
    }
}

/// Strings, or binary values, of views.
struct Views {
    views: Vec<ScalarBuffer<u128>>,
    bytes: Vec<Vec<Buffer>>,
    nulls: Nulls,
    data_type: DataType,
}

impl Views {
    fn new<T: ByteViewType>(parts: &[&ArrayRef], nulls: Nulls) -> Self {
        let part = |part: &&ArrayRef| {
            let strings = part.as_byte_view::<T>();
            (strings.views().clone(), strings.data_buffers().to_vec())
        };
        let (views, bytes) = parts.iter().map(part).unzip();
        Self {
            views,
            bytes,
            nulls,
            data_type: T::DATA_TYPE,
        }
    }

    /// The bytes that a view does not hold itself.
    fn string(&self, view: u128, place: Place) -> &[u8] {
        let view = ByteView::from(view);
        if view.length <= MAX_INLINE_VIEW_LEN {
            return &[];
        }
        let (offset, length) = (view.offset as usize, view.length as usize);
        &self.bytes[place.batch as usize][view.buffer_index as usize][offset..offset + length]
    }
}

impl Gather for Views {
    fn gather(&self, places: &[Place]) -> Result<ArrayRef, ArrowError> {
        let view = |(i, &place): (usize, &Place)| {
            if let Some(next) = places.get(i + AHEAD) {
                prefetch(&self.views[next.batch as usize][next.row as usize..]);
            }
            // (The view of a null may be anything.)
            if self.nulls.is_valid(place) {
                self.views[place.batch as usize][place.row as usize]
            } else {
                0
            }
        };
        let mut views: Vec<u128> = places.iter().enumerate().map(view).collect();
        // (The length is in the low bits.)
        let length =
            |view: u128| (view as u32 > MAX_INLINE_VIEW_LEN).then_some(view as u32 as usize);
        let bytes = views.iter().copied().filter_map(length).sum();
        // (An offset has 31 bits by the specification.)
        if i32::try_from(bytes).is_err() {
            return Err(ArrowError::OffsetOverflowError(bytes));
        }
        let strings = |i: usize| self.string(views[i], places[i]);
        let copy = copied(places.len(), bytes, strings);
        let mut offset = 0;
        for view in &mut views {
            if let Some(length) = length(*view) {
                *view = *view & u128::from(u64::MAX) | offset << 96;
                offset += length as u128;
            }
        }
        let mut data = ArrayData::builder(self.data_type.clone())
            .len(places.len())
            .add_buffer(Buffer::from_vec(views))
            .nulls(self.nulls.gather(places));
        if bytes > 0 {
            data = data.add_buffer(Buffer::from_vec(copy));
        }
        // SAFETY: a view is 0, or one of an array of this type, which holds its value itself, or
        // says where the bytes of this very value have been copied to, one after another.
        #[expect(unsafe_code)]
        let data = unsafe { data.build_unchecked() };
        Ok(make_array(data))
    }

    fn bytes(&self) -> usize {
        let of_part = |views: &ScalarBuffer<u128>| {
            // Of some of the strings, the average.
            let some = || views.iter().step_by(views.len().div_ceil(16).max(1));
            let bytes: usize = some().map(|&view| view as u32 as usize).sum();
            views.len() * (size_of::<u128>() + bytes / some().count().max(1))
        };
        self.views.iter().map(of_part).sum()
    }
}

/// Dictionaries of one set of values.
struct Dictionaries {
    keys: Box<dyn Gather>,
    values: ArrayRef,
    data_type: DataType,
}

impl Gather for Dictionaries {
    fn gather(&self, places: &[Place]) -> Result<ArrayRef, ArrowError> {
        let keys = self.keys.gather(places)?.to_data().into_builder();
        let data = keys
            .data_type(self.data_type.clone())
            .add_child_data(self.values.to_data());
        Ok(make_array(data.build()?))
    }

    fn bytes(&self) -> usize {
        self.keys.bytes()
    }
}

struct Structs {
    fields: Vec<Box<dyn Gather>>,
    nulls: Nulls,
    data_type: DataType,
}

impl Gather for Structs {
    fn gather(&self, places: &[Place]) -> Result<ArrayRef, ArrowError> {
        let fields: Result<Vec<ArrayData>, ArrowError> = (self.fields.iter())
            .map(|field| Ok(field.gather(places)?.to_data()))
            .collect();
        let data = ArrayData::builder(self.data_type.clone())
            .len(places.len())
            .child_data(fields?)
            .nulls(self.nulls.gather(places));
        Ok(make_array(data.build()?))
    }

    fn bytes(&self) -> usize {
        self.fields.iter().map(|field| field.bytes()).sum()
    }
}

/// Values of any type, gathered by Arrow.
struct Others(Vec<ArrayRef>);

impl Gather for Others {
    fn gather(&self, places: &[Place]) -> Result<ArrayRef, ArrowError> {
        let arrays: Vec<&dyn Array> = self.0.iter().map(AsRef::as_ref).collect();
        let place = |place: &Place| (place.batch as usize, place.row as usize);
        let places: Vec<(usize, usize)> = places.iter().map(place).collect();
        interleave(&arrays, &places)
    }

    fn bytes(&self) -> usize {
        let bytes = |part: &ArrayRef| {
            let of_slice = part.to_data().get_slice_memory_size();
            of_slice.unwrap_or_else(|_| part.get_array_memory_size())
        };
        self.0.iter().map(bytes).sum()
    }
}

/// Copies `count` strings, which lie anywhere, one after another. Together they have `bytes` bytes.
/// The memory of all strings of a block is asked for before the first one is copied.
fn copied<'a>(count: usize, bytes: usize, string: impl Fn(usize) -> &'a [u8]) -> Vec<u8> {
    let mut copy = Vec::with_capacity(bytes);
    if bytes == 0 {
        return copy;
    }
    let mut block: [&[u8]; 4 * AHEAD] = [&[]; 4 * AHEAD];
    for begin in (0..count).step_by(block.len()) {
        let block = &mut block[..(count - begin).min(4 * AHEAD)];
        for (i, next) in block.iter_mut().enumerate() {
            *next = string(begin + i);
            prefetch(next);
            prefetch(&next[next.len().saturating_sub(1)..]);
        }
        for string in block {
            copy.extend_from_slice(string);
        }
    }
    copy
}

/// Asks for the memory of the first value, without waiting for it. Otherwise a gather of strings
/// takes twice as long: the copy of one keeps a processor from looking ahead to the next.
#[inline(always)]
fn prefetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which neither reads nor faults, whatever the address. Every x86-64
        // processor has the instruction.
        #[expect(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}

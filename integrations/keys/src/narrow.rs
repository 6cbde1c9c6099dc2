//! Sorts rows that have no columns but those to sort by.

use crate::column::{BLOCK, Code, Column, Field};
use crate::encode::{MOST, layout, split};
use crate::select::{bound, keys_up_to};
use crate::types::{Native, Ordered, Word, with_native};
use crate::{Encoded, Error, Floats, Keys, SortColumn, SortKeys};
use arrow_array::{ArrayRef, BooleanArray, make_array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Whether the values of a column can be decoded from keys. True for integers, floats, booleans,
/// dates, times, timestamps, durations, intervals, and decimals of up to 128 bits.
///
/// # Examples
///
/// ```
/// use arrow_schema::DataType;
/// use bcfsort_keys::is_decodable;
///
/// assert!(is_decodable(&DataType::Date32));
/// // A key holds only the first bytes of a string.
/// assert!(!is_decodable(&DataType::Utf8));
/// ```
#[must_use]
pub fn is_decodable(data_type: &DataType) -> bool {
    *data_type == DataType::Boolean || Native::of(data_type).is_some()
}

/// Rows that are sorted by all of their columns, each row encoded as one integer.
///
/// Rows with equal keys are equal, so only the keys are sorted, and the columns are decoded from
/// them. This saves the gather of the rows, which takes longer than all other steps, and for keys
/// of up to 64 bits the indices. The order is that of [`encode`](crate::encode) with
/// [`Floats::Total`].
///
/// # Examples
///
/// ```
/// use arrow_array::cast::AsArray;
/// use arrow_array::types::Int64Type;
/// use arrow_array::{ArrayRef, Int64Array};
/// use bcfsort_keys::{Cpu, NarrowRows, SortColumn};
/// use std::sync::Arc;
///
/// let batch = |ids: Vec<i64>| {
///     vec![SortColumn {
///         values: Arc::new(Int64Array::from(ids)),
///         descending: false,
///         nulls_first: true,
///     }]
/// };
/// let batches = [batch(vec![7, 5]), batch(vec![6])];
/// let mut rows = NarrowRows::encode(&batches)?.expect("keys of up to 128 bits");
/// rows.sort(&Cpu, None)?;
/// let columns: Vec<ArrayRef> = rows.decode(0..3)?;
/// assert_eq!(columns[0].as_primitive::<Int64Type>().values(), &[5, 6, 7]);
/// # Ok::<(), bcfsort_keys::Error<std::convert::Infallible>>(())
/// ```
#[derive(Debug)]
pub struct NarrowRows {
    columns: Vec<Packed>,
    keys: Encoded,
    /// The indices that sort wide keys. Shorter keys are sorted in place.
    indices: Option<Vec<u32>>,
    len: usize,
}

/// A column in the keys.
#[derive(Debug)]
struct Packed {
    data_type: DataType,
    code: Code,
    field: Field,
}

impl NarrowRows {
    /// Encodes batches of the same columns, or returns `None` if a row takes more than 128 bits.
    /// O(rows · columns) time, on all cores. The batches are not concatenated.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`], for a type that is not [decodable](is_decodable);
    /// [`Error::BatchesDiffer`], if batches differ in the number, types or orders of their columns;
    /// [`Error::NoColumns`], [`Error::LengthsDiffer`], [`Error::TooManyRows`].
    pub fn encode<E: Send>(batches: &[Vec<SortColumn>]) -> Result<Option<Self>, Error<E>> {
        let first = batches.first().filter(|columns| !columns.is_empty());
        let Some(first) = first else {
            return Err(Error::NoColumns);
        };
        let mut len = 0;
        for columns in batches {
            // All keys have one layout and one order: that of the first batch.
            let options = |column: &SortColumn| (column.descending, column.nulls_first);
            let is_same = |(column, first): (&SortColumn, &SortColumn)| {
                options(column) == options(first)
                    && column.values.data_type() == first.values.data_type()
            };
            if columns.len() != first.len() || !columns.iter().zip(first).all(is_same) {
                return Err(Error::BatchesDiffer);
            }
            let rows = columns.first().map_or(0, |column| column.values.len());
            len += rows;
            for column in columns {
                let values = &column.values;
                if values.len() != rows {
                    return Err(Error::LengthsDiffer(rows, values.len()));
                }
                if !is_decodable(values.data_type()) {
                    return Err(Error::Unsupported(values.data_type().clone()));
                }
            }
        }
        if u32::try_from(len).is_err() {
            return Err(Error::TooManyRows(len));
        }
        let columns_of = |batch: &Vec<SortColumn>| {
            let column = |column| Column::new(column, Floats::Total);
            batch.iter().map(column).collect()
        };
        let mut parts: Vec<Vec<Column>> = (batches.par_iter())
            .map(columns_of)
            .collect::<Result<_, Error<E>>>()?;
        let code_of = |i: usize| {
            let codes = parts.iter().map(|columns| columns[i].code);
            codes.reduce(Code::merge)
        };
        let codes: Vec<Code> = (0..first.len()).filter_map(code_of).collect();
        for columns in &mut parts {
            for (column, code) in columns.iter_mut().zip(&codes) {
                column.code = *code;
            }
        }
        let bits: Vec<u32> = codes.iter().map(Code::bits).collect();
        let fields = layout(&bits);
        let bits = bits.iter().sum();
        if bits > MOST {
            return Ok(None);
        }
        let blocks = blocks(&parts);
        let keys = match bits {
            0..=32 => Keys::U32(packed(&blocks, &fields, len)),
            33..=64 => Keys::U64(packed(&blocks, &fields, len)),
            _ => {
                let (mut high, mut low) = (vec![0; len], vec![0; len]);
                let outs = cut(&mut high, &blocks).zip(cut(&mut low, &blocks));
                blocks
                    .par_iter()
                    .zip(outs)
                    .for_each(|(block, (high, low))| {
                        let mut keys = [0_u128; BLOCK];
                        let keys = &mut keys[..high.len()];
                        block.set(&fields, keys);
                        split(keys, bits, high, low);
                    });
                Keys::Wide(high, low)
            }
        };
        let column = |(i, (&code, &field)): (usize, (&Code, &Field))| Packed {
            data_type: first[i].values.data_type().clone(),
            code,
            field,
        };
        Ok(Some(Self {
            columns: codes.iter().zip(&fields).enumerate().map(column).collect(),
            keys: Encoded {
                keys,
                bits,
                covered: first.len(),
                prefix: 0,
                is_whole: true,
            },
            indices: None,
            len,
        }))
    }

    /// The number of rows.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of bits that keys use.
    #[must_use]
    pub const fn bits(&self) -> u32 {
        self.keys.bits
    }

    /// Sorts the rows, and keeps the first `limit` of them (top-k). O(n log n) time.
    ///
    /// If there are at least 65,536 rows and the limit is at most a quarter of them, the candidates
    /// are selected first, and only these are sorted.
    ///
    /// # Errors
    ///
    /// [`Error::Argsort`]: the sort of integers failed. All rows are kept then, in any order.
    pub fn sort<S: SortKeys>(
        &mut self,
        sorter: &S,
        limit: Option<usize>,
    ) -> Result<(), Error<S::Error>> {
        let limit = limit.unwrap_or(usize::MAX);
        match &mut self.keys.keys {
            Keys::U32(keys) => sort(keys, limit, |keys| sorter.sort_u32(keys)),
            Keys::U64(keys) => sort(keys, limit, |keys| sorter.sort_u64(keys)),
            Keys::Wide(..) => {
                // The keys hold all columns, so none is compared.
                let indices = self.keys.first_indices(limit, &[], Floats::Total, sorter)?;
                self.indices = Some(indices);
                Ok(())
            }
        }
        .map_err(Error::Argsort)?;
        self.len = self.len.min(limit);
        Ok(())
    }

    /// Decodes the columns of a range of rows. O(rows · columns) time, on one core. To use more
    /// cores, decode several ranges in parallel.
    ///
    /// # Errors
    ///
    /// [`ArrowError`], if Arrow refuses the arrays.
    ///
    /// # Panics
    ///
    /// If the range ends after the last row.
    pub fn decode(&self, rows: Range<usize>) -> Result<Vec<ArrayRef>, ArrowError> {
        match &self.keys.keys {
            Keys::U32(keys) => self.decoded(&keys[rows]),
            Keys::U64(keys) => self.decoded(&keys[rows]),
            Keys::Wide(high, low) => {
                let others = self.keys.bits - u64::BITS;
                let key = |row: usize| u128::from(high[row]) << others | u128::from(low[row]);
                let keys: Vec<u128> = match &self.indices {
                    None => rows.map(key).collect(),
                    Some(indices) => indices[rows].iter().map(|&row| key(row as usize)).collect(),
                };
                self.decoded(&keys)
            }
        }
    }

    fn decoded<W: Word>(&self, keys: &[W]) -> Result<Vec<ArrayRef>, ArrowError> {
        let columns = self.columns.iter();
        columns.map(|column| column.decoded(keys)).collect()
    }
}

fn sort<T: Copy + Ord + Send + Sync, E>(
    keys: &mut Vec<T>,
    limit: usize,
    sort: impl FnOnce(&mut [T]) -> Result<(), E>,
) -> Result<(), E> {
    if let Some(bound) = bound(keys, limit) {
        // If the sort fails, `keys` is unchanged.
        let mut selected = keys_up_to(keys, bound);
        sort(&mut selected)?;
        *keys = selected;
    } else {
        sort(keys)?;
    }
    keys.truncate(limit);
    // Frees the memory of the keys beyond the limit for the output.
    keys.shrink_to_fit();
    Ok(())
}

/// Rows of a batch that one thread encodes.
struct Block<'a> {
    columns: &'a [Column],
    rows: Range<usize>,
}

impl Block<'_> {
    fn set<W: Word>(&self, fields: &[Field], keys: &mut [W]) {
        for (column, field) in self.columns.iter().zip(fields) {
            column.set(self.rows.clone(), *field, keys);
        }
    }
}

fn blocks(batches: &[Vec<Column>]) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    for columns in batches {
        let len = columns.first().map_or(0, Column::len);
        let block = |begin: usize| Block {
            columns,
            rows: begin..len.min(begin + BLOCK),
        };
        blocks.extend((0..len).step_by(BLOCK).map(block));
    }
    blocks
}

/// Splits the output into one slice per block.
fn cut<'a, W: Word>(
    mut rest: &'a mut [W],
    blocks: &[Block<'_>],
) -> impl IndexedParallelIterator<Item = &'a mut [W]> {
    let mut parts = Vec::with_capacity(blocks.len());
    for block in blocks {
        let (part, after) = rest.split_at_mut(block.rows.len());
        parts.push(part);
        rest = after;
    }
    parts.into_par_iter()
}

fn packed<W: Word>(blocks: &[Block<'_>], fields: &[Field], len: usize) -> Vec<W> {
    // The zeros cost no pass: the operating system supplies zeroed pages when threads first write.
    let mut keys = vec![W::ZERO; len];
    let outs = cut(&mut keys, blocks);
    blocks
        .par_iter()
        .zip(outs)
        .for_each(|(block, keys)| block.set(fields, keys));
    keys
}

impl Packed {
    fn decoded<W: Word>(&self, keys: &[W]) -> Result<ArrayRef, ArrowError> {
        let nulls = self.nulls(keys);
        let Some(native) = Native::of(&self.data_type) else {
            let is_true = |i: usize| self.value::<u8, W>(keys[i]) == 1;
            let flags = BooleanBuffer::collect_bool(keys.len(), is_true);
            return Ok(Arc::new(BooleanArray::new(flags, nulls)));
        };
        let values = with_native!(native, T => self.values::<T, W>(keys));
        let data = ArrayData::builder(self.data_type.clone())
            .len(keys.len())
            .add_buffer(values)
            .nulls(nulls);
        Ok(make_array(data.build()?))
    }

    fn values<T: Ordered + ArrowNativeType, W: Word>(&self, keys: &[W]) -> Buffer {
        let values: Vec<T> = keys.iter().map(|&key| self.value(key)).collect();
        Buffer::from_vec(values)
    }

    /// Decodes the value in a key. For a null, the result has no meaning.
    #[inline(always)]
    fn value<T: Ordered, W: Word>(&self, key: W) -> T {
        let (low, high) = self.code.bounds.unwrap_or_default();
        let bits = self.field.bits - u32::from(self.code.has_nulls);
        let mask = W::MAX.checked_shr(W::BITS - bits);
        let code = T::Bits::truncate(((key >> self.field.shift) & mask).into());
        T::from_ordered(if self.code.descending {
            T::Bits::truncate(high).wrapping_sub(code)
        } else {
            T::Bits::truncate(low).wrapping_add(code)
        })
    }

    fn nulls<W: Word>(&self, keys: &[W]) -> Option<NullBuffer> {
        if !self.code.has_nulls {
            return None;
        }
        let (valid, _) = self.code.first_bits::<W>(self.field.bits);
        let first = W::truncate(1) << (self.field.bits - 1);
        let is_valid = |i: usize| (keys[i] >> self.field.shift) & first == valid;
        let nulls = NullBuffer::new(BooleanBuffer::collect_bool(keys.len(), is_valid));
        (nulls.null_count() > 0).then_some(nulls)
    }
}

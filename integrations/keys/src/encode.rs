//! Encodes columns as keys.

use crate::column::{BLOCK, Column, Field, blocks};
use crate::plain::without_structs;
use crate::types::{Word, is_supported};
use crate::{Error, Floats, SortColumn};
use rayon::prelude::*;
use std::ops::Range;

/// The most bits that a key may have.
pub(crate) const MOST: u32 = 128;

/// One key for each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Keys of up to 32 bits.
    U32(Vec<u32>),
    /// Keys of 33 to 64 bits.
    U64(Vec<u64>),
    /// Keys of 65 to 128 bits: the high 64 bits, and the low bits that remain.
    Wide(Vec<u64>, Vec<u64>),
}

/// The keys of all rows, and how many columns they cover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The keys. A row with a smaller key precedes one with a greater key.
    pub keys: Keys,
    /// The number of bits that keys use.
    pub bits: u32,
    /// The number of leading columns that keys hold completely: rows with equal keys are equal in
    /// these. Each field of a struct counts as a column, and so do the nulls of a struct that has
    /// any. [`is_whole`](Self::is_whole) says whether all columns are covered.
    pub covered: usize,
    /// If the first column that is not covered holds strings: the number of their leading bytes
    /// that are equal in rows with equal keys. A shorter string counts as padded with zeros.
    pub prefix: usize,
    /// Whether all columns are covered.
    pub(crate) is_whole: bool,
}

impl Encoded {
    /// Whether keys hold all columns completely, so that rows with equal keys are equal. Otherwise
    /// rows with equal keys may differ in the columns after the first [`covered`](Self::covered)
    /// ones.
    ///
    /// # Examples
    ///
    /// ```
    /// use arrow_array::StringArray;
    /// use bcfsort_keys::{Floats, SortColumn, encode};
    /// use std::sync::Arc;
    ///
    /// let is_whole = |texts: Vec<&str>| {
    ///     let texts = SortColumn {
    ///         values: Arc::new(StringArray::from(texts)),
    ///         descending: false,
    ///         nulls_first: true,
    ///     };
    ///     Ok::<_, bcfsort_keys::Error<()>>(encode(&[texts], Floats::Total)?.is_whole())
    /// };
    /// assert!(is_whole(vec!["fig", "pear"])?);
    /// // Only the first 8 bytes are in the keys.
    /// assert!(!is_whole(vec!["fig", "pomegranate"])?);
    /// # Ok::<(), bcfsort_keys::Error<()>>(())
    /// ```
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.is_whole
    }
}

/// Encodes columns as keys. O(rows · columns) time.
///
/// # Errors
///
/// [`Error::Unsupported`], [`Error::LengthsDiffer`], [`Error::NoColumns`], [`Error::TooManyRows`],
/// [`Error::Arrow`].
///
/// # Examples
///
/// ```
/// use arrow_array::Int64Array;
/// use bcfsort_keys::{Floats, Keys, SortColumn, encode};
/// use std::sync::Arc;
///
/// let ids = SortColumn {
///     values: Arc::new(Int64Array::from(vec![1_000_003, 1_000_000, 1_000_001])),
///     descending: false,
///     nulls_first: true,
/// };
/// let encoded = encode::<()>(&[ids], Floats::Total)?;
/// assert_eq!(encoded.bits, 2);
/// assert_eq!(encoded.keys, Keys::U32(vec![3, 0, 1]));
/// # Ok::<(), bcfsort_keys::Error<()>>(())
/// ```
pub fn encode<E>(columns: &[SortColumn], floats: Floats) -> Result<Encoded, Error<E>> {
    let Some(first) = columns.first() else {
        return Err(Error::NoColumns);
    };
    let rows = first.values.len();
    if let Some(other) = columns.iter().find(|column| column.values.len() != rows) {
        return Err(Error::LengthsDiffer(rows, other.values.len()));
    }
    if u32::try_from(rows).is_err() {
        return Err(Error::TooManyRows(rows));
    }
    // Before structs are taken apart: Arrow's errors would not name the type.
    let mut types = columns.iter().map(|column| column.values.data_type());
    if let Some(unsupported) = types.find(|data_type| !is_supported(data_type)) {
        return Err(Error::Unsupported(unsupported.clone()));
    }
    let (mut parts, mut taken): (Vec<Column>, Vec<u32>) = Default::default();
    let (mut bits, mut covered, mut prefix) = (0, 0, 0);
    let columns = without_structs(columns)?;
    for column in columns.iter() {
        let column = Column::new(column, floats)?;
        let held = column.code.bits().min(MOST - bits);
        let is_cut = held < column.code.bits();
        bits += held;
        taken.push(held);
        let is_whole = column.is_exact && !is_cut;
        prefix = column.skipped + if is_cut { 0 } else { column.held };
        parts.push(column);
        // A later column in the key would take precedence over the rest of this one.
        if !is_whole {
            break;
        }
        prefix = 0;
        covered += 1;
    }
    let fields: Vec<(Column, Field)> = parts.into_iter().zip(layout(&taken)).collect();
    let keys = match bits {
        0..=32 => Keys::U32(packed(&fields, rows)),
        33..=64 => Keys::U64(packed(&fields, rows)),
        _ => {
            let (mut high, mut low) = (vec![0; rows], vec![0; rows]);
            let outs = high.par_chunks_mut(BLOCK).zip(low.par_chunks_mut(BLOCK));
            outs.zip(blocks(rows)).for_each(|((high, low), block)| {
                let mut keys = [0_u128; BLOCK];
                let keys = &mut keys[..block.len()];
                set_all(&fields, block, keys);
                split(keys, bits, high, low);
            });
            Keys::Wide(high, low)
        }
    };
    Ok(Encoded {
        keys,
        bits,
        covered,
        prefix,
        is_whole: covered == columns.len(),
    })
}

/// Lays out fields of these numbers of bits, the first one in the most significant bits.
pub(crate) fn layout(bits: &[u32]) -> Vec<Field> {
    let mut below: u32 = bits.iter().sum();
    let field = |&bits: &u32| {
        below -= bits;
        // An empty field may lie above the top bit of the word, where the shift would overflow.
        let shift = if bits == 0 { 0 } else { below };
        Field { shift, bits }
    };
    bits.iter().map(field).collect()
}

fn packed<W: Word>(fields: &[(Column, Field)], rows: usize) -> Vec<W> {
    // The zeros cost no pass: the operating system supplies zeroed pages when threads first write.
    let mut keys = vec![W::ZERO; rows];
    let outs = keys.par_chunks_mut(BLOCK).zip(blocks(rows));
    outs.for_each(|(keys, block)| set_all(fields, block, keys));
    keys
}

fn set_all<W: Word>(fields: &[(Column, Field)], block: Range<usize>, keys: &mut [W]) {
    for (column, field) in fields {
        column.set(block.clone(), *field, keys);
    }
}

/// Splits keys of more than 64 bits into the high 64 bits and the low bits that remain.
pub(crate) fn split(keys: &[u128], bits: u32, high: &mut [u64], low: &mut [u64]) {
    let others = bits - u64::BITS;
    let mask = u64::MAX.checked_shr(u64::BITS - others).unwrap_or(0);
    for ((key, high), low) in keys.iter().zip(high).zip(low) {
        *high = (key >> others) as u64;
        *low = *key as u64 & mask;
    }
}

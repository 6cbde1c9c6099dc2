//! Keys of columns.

use crate::column::{BLOCK, Column, blocks};
use crate::{Error, Floats, SortColumn};
use rayon::prelude::*;

/// The bits of the longest keys.
pub(crate) const MOST: u32 = 128;

/// One key for each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Keys of up to 32 bits.
    U32(Vec<u32>),
    /// Keys of 33 to 64 bits.
    U64(Vec<u64>),
    /// Keys of 65 to 128 bits: their first 64 bits, and the others.
    Wide(Vec<u64>, Vec<u64>),
}

/// Keys whose order is that of the rows, as far as they go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The keys. A row with a smaller key precedes one with a greater key.
    pub keys: Keys,
    /// The number of bits that keys use.
    pub bits: u32,
    /// The number of columns that keys hold whole. Rows with equal keys are equal in these. If it
    /// is not the number of all columns, such rows may differ in the others.
    pub covered: usize,
    /// If the next column is one of strings, the number of first bytes that such rows have in
    /// common there. A string that ends earlier counts as if zeros followed.
    pub prefix: usize,
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
    let mut parts: Vec<(Column, u32)> = Vec::new();
    let (mut bits, mut covered, mut prefix) = (0, 0, 0);
    for column in columns {
        let column = Column::new(column, floats)?;
        let taken = column.bits().min(MOST - bits);
        bits += taken;
        let is_cut = taken < column.bits();
        let is_whole = column.is_exact && !is_cut;
        prefix = column.skipped + if is_cut { 0 } else { column.held };
        parts.push((column, taken));
        // What comes after a part of a column would order rows before the rest of it does.
        if !is_whole {
            break;
        }
        prefix = 0;
        covered += 1;
    }
    let pack = |block: std::ops::Range<usize>| {
        let mut keys = [0; BLOCK];
        let keys_of_block = &mut keys[..block.len()];
        for (column, bits) in &parts {
            column.append(block.clone(), *bits, keys_of_block);
        }
        keys
    };
    macro_rules! packed {
        ($word:ty, $shift:expr) => {{
            // The operating system zeroes memory when the threads that write first touch it.
            let mut words: Vec<$word> = vec![0; rows];
            let outs = words.par_chunks_mut(BLOCK).zip(blocks(rows));
            outs.for_each(|(out, block)| {
                for (out, key) in out.iter_mut().zip(pack(block)) {
                    *out = (key >> $shift) as $word;
                }
            });
            words
        }};
    }
    let keys = match bits {
        0..=32 => Keys::U32(packed!(u32, 0)),
        33..=64 => Keys::U64(packed!(u64, 0)),
        _ => {
            let mut others = packed!(u64, 0);
            let mask = u64::MAX >> (128 - bits);
            others.par_iter_mut().for_each(|key| *key &= mask);
            Keys::Wide(packed!(u64, bits - 64), others)
        }
    };
    Ok(Encoded {
        keys,
        bits,
        covered,
        prefix,
    })
}

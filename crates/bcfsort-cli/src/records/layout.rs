//! The formats of records, as a sort sees them.

use rayon::prelude::*;
use std::ops::Range;

/// Records whose prefixes one thread computes at a time.
const BLOCK: usize = 1 << 14;

/// The format of the records, and the parts of their keys.
pub(crate) trait Layout: Sync {
    /// The bounds of the whole records at the beginning of `bytes`.
    fn bounds(&self, bytes: &[u8]) -> Bounds;

    /// The number of whole records.
    fn count(&self, bytes: &[u8]) -> usize {
        self.bounds(bytes).len()
    }

    /// The bytes of the longest prefix of whole records that has at most `limit` bytes; those of
    /// the first record if it is longer.
    fn cut(&self, bytes: &[u8], limit: usize) -> usize;

    /// The bytes of those sorted records for which `precedes` is true; it is for the first ones.
    fn partition(&self, sorted: &[u8], precedes: &dyn Fn(&[u8]) -> bool) -> usize {
        self.bounds(sorted).partition(sorted, precedes)
    }

    /// The number of parts of a key: one for each field that the records are sorted by.
    fn parts(&self) -> usize;

    /// Appends one part of a record's key. The concatenated parts compare as bytes.
    fn push_part(&self, record: &[u8], part: usize, key: &mut Vec<u8>);

    /// True if no key is the beginning of another one.
    fn is_prefix_free(&self) -> bool;

    /// Appends the key of a record.
    fn push_key(&self, record: &[u8], key: &mut Vec<u8>) {
        for part in 0..self.parts() {
            self.push_part(record, part, key);
        }
    }

    /// The first 64 bits of a record's key, or other bits in the same order. `scratch` is empty, or
    /// has the contents that an earlier call left.
    fn prefix(&self, record: &[u8], scratch: &mut Vec<u8>) -> Prefix {
        self.prefix_of_parts(record, scratch)
    }

    /// As [`prefix`](Self::prefix), from the parts of the key.
    fn prefix_of_parts(&self, record: &[u8], scratch: &mut Vec<u8>) -> Prefix {
        scratch.clear();
        let mut part = 0;
        while part < self.parts() && scratch.len() <= 8 {
            self.push_part(record, part, scratch);
            part += 1;
        }
        let prefix = Prefix::of(scratch, self.is_prefix_free());
        Prefix {
            exact: prefix.exact && part == self.parts(),
            ..prefix
        }
    }

    /// The prefixes of all records, and true if they are exact.
    fn prefixes(&self, bytes: &[u8], bounds: &Bounds) -> (Vec<u64>, bool) {
        let mut prefixes = vec![0; bounds.len()];
        let blocks = prefixes.par_chunks_mut(BLOCK).enumerate();
        let exact = blocks.map(|(block, prefixes)| {
            let mut scratch = Vec::new();
            let mut exact = true;
            for (index, bits) in prefixes.iter_mut().enumerate() {
                let record = &bytes[bounds.range(block * BLOCK + index)];
                let prefix = self.prefix(record, &mut scratch);
                *bits = prefix.bits;
                exact &= prefix.exact;
            }
            exact
        });
        let exact = exact.reduce(|| true, |a, b| a & b);
        (prefixes, exact)
    }

    /// The byte that ends a line of text, and `None` if the records are no text. Errors in text
    /// name a line.
    fn line_end(&self) -> Option<u8>;

    /// What is appended to the last record of a file if it lacks an end. `crlf` is true if the
    /// record before it ends with `\r\n`.
    fn terminator(&self, _crlf: bool) -> &'static [u8] {
        b"\n"
    }

    /// True if [`check`](Self::check) can fail.
    fn is_checked(&self) -> bool {
        false
    }

    /// Checks that a record has a key.
    fn check(&self, _record: &[u8]) -> Result<(), Wrong> {
        Ok(())
    }
}

/// The first 64 bits of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    /// Keys with smaller bits precede keys with larger bits.
    pub(crate) bits: u64,
    /// Exact prefixes are equal only if the keys are.
    pub(crate) exact: bool,
}

impl Prefix {
    /// The prefix of a key whose other bytes are zeros if it is short.
    #[inline]
    pub(crate) fn of(key: &[u8], prefix_free: bool) -> Self {
        if let Some(first) = key.first_chunk() {
            return Self {
                bits: u64::from_be_bytes(*first),
                exact: key.len() == 8 && (prefix_free || key[7] != 0),
            };
        }
        let mut first = [0; 8];
        first[..key.len()].copy_from_slice(key);
        Self {
            bits: u64::from_be_bytes(first),
            exact: prefix_free || key.last() != Some(&0),
        }
    }
}

/// What is wrong with a record, and at which of its bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) at: usize,
    pub(crate) what: String,
}

/// Where records begin and end. The first one begins at 0, and there is nothing between them.
pub(crate) enum Bounds {
    /// Records of the same size.
    Every { width: usize, count: usize },
    /// The ends of all records.
    Ends(Vec<usize>),
}

impl Bounds {
    /// The number of records.
    pub(crate) const fn len(&self) -> usize {
        match self {
            Self::Every { count, .. } => *count,
            Self::Ends(ends) => ends.len(),
        }
    }

    /// The bytes of the first `count` records.
    #[inline]
    pub(crate) fn end(&self, count: usize) -> usize {
        match self {
            Self::Every { width, .. } => width * count,
            Self::Ends(_) if count == 0 => 0,
            Self::Ends(ends) => ends[count - 1],
        }
    }

    /// The bytes of those of the sorted records for which `precedes` is true.
    pub(crate) fn partition(&self, sorted: &[u8], precedes: &dyn Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if precedes(&sorted[self.range(middle)]) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.end(low)
    }

    /// The bytes of one record.
    #[inline]
    pub(crate) fn range(&self, index: usize) -> Range<usize> {
        self.end(index)..self.end(index + 1)
    }
}

//! One sort of buffers, in numbers: which ranges hold keys and payload, and what comes out. It is
//! independent of graphics APIs: a range is of any type that knows its bytes.

use crate::error::{BufferRole, Error};
use crate::key::KeyType;
use crate::layout::{self, Column, Heads, Output, SortLayout, Structs};
use crate::order::Order;
use crate::row_function::{Comparator, Predicate};
use std::ops::Range;

/// Payload buffers that a sort may have.
const MOST_PAYLOADS: usize = 64;

/// The alignment in bytes of bindings, which every device supports.
const ALIGNMENT: u64 = 256;

/// The bytes of a range of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The offset in the buffer.
    pub offset: u64,
    /// The size, within the buffer.
    pub size: u64,
    /// The bytes from the offset to the end of the buffer.
    pub room: u64,
}

/// What is bound of a buffer: aligned, and in whole words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The offset in the buffer.
    pub offset: u64,
    /// The size.
    pub size: u64,
}

impl Span {
    /// The range of `size` bytes from `offset` on of a buffer, clamped to the buffer's end.
    #[must_use]
    pub const fn new(offset: u64, size: u64, buffer_size: u64) -> Self {
        let room = buffer_size.saturating_sub(offset);
        let size = if size < room { size } else { room };
        Self { offset, size, room }
    }

    /// Bytes from the aligned start of the binding to the first record.
    const fn unaligned(self) -> u64 {
        self.offset % ALIGNMENT
    }

    /// The index of the first record within its binding, in units of `bytes`.
    pub(crate) fn first_unit(self, role: BufferRole, bytes: u64) -> Result<u32, Error> {
        if self.offset.is_multiple_of(bytes) {
            return Ok((self.unaligned() / bytes) as u32);
        }
        Err(Error::Offset {
            buffer: role,
            offset: self.offset,
            multiple_of: bytes,
        })
    }

    /// The binding for the first `bytes` bytes. Fails if the range is shorter.
    pub(crate) fn bound(self, role: BufferRole, bytes: u64) -> Result<Bound, Error> {
        let before = self.unaligned();
        // Kernels read and write the last word of packed keys as a whole.
        let size = (before + bytes).next_multiple_of(4);
        let room = self.room.saturating_add(before);
        if self.size < bytes || room < size && bytes > 0 {
            let is_short = self.size < bytes;
            return Err(Error::BufferTooSmall {
                buffer: role,
                needed: if is_short { bytes } else { size - before },
                actual: self.size,
            });
        }
        let offset = self.offset - before;
        Ok(Bound { offset, size })
    }
}

/// Fails if a device cannot bind `needed` bytes at once.
pub(crate) fn check_bound(role: BufferRole, needed: u128, limit: u64) -> Result<(), Error> {
    // Kernels index words by 32-bit numbers.
    let limit = limit.min(u64::from(u32::MAX) * 4);
    if needed <= u128::from(limit) {
        return Ok(());
    }
    Err(Error::BindingTooLarge {
        buffer: role,
        needed,
        limit,
    })
}

/// A range of a buffer.
pub trait AsSpan {
    /// Its bytes.
    fn span(&self) -> Span;

    /// Whether two ranges are in one buffer.
    fn is_same_buffer(a: &Self, b: &Self) -> bool;
}

/// A sort of buffers: [`SortJob`](crate::SortJob) describes the fields.
#[derive(Clone, Debug)]
pub struct BufferSort<R> {
    /// The keys, or the structs that they are fields of, or that a comparator compares.
    pub keys: R,
    /// The type of the keys.
    pub key: KeyType,
    /// Where a key is in its struct.
    pub field: Option<Field>,
    /// The bits of a key that count; `None` for all.
    pub bits: Option<Range<u32>>,
    /// The fields that a key consists of, if these are several.
    pub fields: Option<Fields>,
    /// The number of records; with an indirect count, the capacity.
    pub len: u64,
    /// The direction.
    pub order: Order,
    /// What compares structs in place of a key.
    pub comparator: Option<Comparator>,
    /// What tells which rows are kept, with [`Heads::OfPredicate`] alone.
    pub predicate: Option<Predicate>,
    /// Where sorted keys or structs are written.
    pub output: Destination<R>,
    /// Where indices are written.
    pub indices: Option<R>,
    /// What moves with the keys.
    pub payload: Vec<Payload<R>>,
    /// The ranks that must be in order; `None` for all.
    pub range: Option<Range<u64>>,
    /// The number of records.
    pub count: Option<R>,
    /// The offsets of segments, and their number.
    pub segments: Option<(R, u32)>,
    /// Whether the keys are in order already, so that nothing is sorted.
    pub is_sorted: bool,
    /// Where the runs of equal keys are written.
    pub runs: Option<Runs<R>>,
    /// Where the first record of each cell is written, and the number of cells.
    pub cells: Option<(R, u32)>,
    /// Keys whose places among the sorted ones are written.
    pub search: Option<Search<R>>,
}

/// Where the runs of equal keys are written, or the records that are kept.
#[derive(Clone, Debug)]
pub struct Runs<R> {
    /// What begins a run.
    pub heads: Heads,
    /// Their number.
    pub count: R,
    /// The first record of each.
    pub starts: Option<R>,
    /// The records of each.
    pub lengths: Option<R>,
    /// The key of each.
    pub keys: Option<R>,
}

/// Keys whose places among the sorted ones are written.
#[derive(Clone, Debug)]
pub struct Search<R> {
    /// The keys.
    pub needles: R,
    /// Their number.
    pub len: u64,
    /// Their places.
    pub places: R,
    /// Whether equal records are before the place.
    pub is_upper: bool,
}

/// Where sorted keys or structs are written.
#[derive(Clone, Debug)]
pub enum Destination<R> {
    /// Over the input.
    InPlace,
    /// To another buffer.
    Buffer(R),
    /// Nowhere.
    None,
}

/// Rows that move with the keys.
#[derive(Clone, Debug)]
pub struct Payload<R> {
    /// The rows.
    pub rows: R,
    /// Bytes of a row.
    pub bytes: u32,
    /// Where the sorted rows are written, if not over the input.
    pub output: Option<R>,
    /// Whether rows of equal keys may change their order.
    pub unstable: bool,
    /// Where the row of each run's first record is written.
    pub firsts: Option<R>,
}

/// Where a field is in an array of structs, in bytes.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::Field;
///
/// #[repr(C)]
/// struct Particle {
///     position: [f32; 3],
///     depth: f32,
/// }
/// let depth = Field {
///     stride: size_of::<Particle>() as u32,
///     offset: std::mem::offset_of!(Particle, depth) as u32,
/// };
/// assert_eq!((depth.stride, depth.offset), (16, 12));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// Bytes from one struct to the next: the size of a struct. A multiple of 4, and of the key's
    /// size.
    pub stride: u32,
    /// Bytes from the beginning of a struct to the field. A multiple of the key's size.
    pub offset: u32,
}

/// A field of structs by which they are sorted, with others: [`Keys::fields`](crate::Keys::fields).
///
/// # Examples
///
/// See [`Keys::fields`](crate::Keys::fields).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyField {
    /// Bytes from the beginning of a struct to the field. A multiple of the field's size.
    pub offset: u32,
    /// The type of the field.
    pub key: KeyType,
    /// The direction, for ascending jobs. In descending order, every field has the opposite one.
    pub order: Order,
}

impl KeyField {
    /// The fields of a `u128` in memory, whose lower half comes first, and so those of structs of
    /// 16 bytes that are one.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyField, Keys, Options, SortJob, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let keys = sorter.upload(&[7_u128 << 64, u128::MAX, 9, 7 << 64 | 5])?;
    /// let job = SortJob::new(Keys::fields(&keys, 16, &KeyField::U128), 4);
    /// job.prepare(&sorter)?.run()?;
    /// assert_eq!(sorter.download::<u128>(&keys)?, [9, 7 << 64, 7 << 64 | 5, u128::MAX]);
    /// # Ok(()) }
    /// ```
    pub const U128: [Self; 2] = Self::halves(KeyType::U64);

    /// The fields of an `i128` in memory, as [`U128`](Self::U128).
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{KeyField, Options, Order, Sorter};
    /// # fn main() -> Result<(), wgpu_bcfsort::Error> {
    /// let sorter = Sorter::open(Options::default())?;
    /// let mut keys = [3_i128, i128::MIN, -1];
    /// sorter.sort_by_fields(&mut keys, &KeyField::I128, Order::Ascending)?;
    /// assert_eq!(keys, [i128::MIN, -1, 3]);
    /// # Ok(()) }
    /// ```
    pub const I128: [Self; 2] = Self::halves(KeyType::I64);

    /// The upper half, of a type of 64 bits, and the lower one.
    const fn halves(upper: KeyType) -> [Self; 2] {
        let order = Order::Ascending;
        [
            Self {
                offset: 8,
                key: upper,
                order,
            },
            Self {
                offset: 0,
                key: KeyType::U64,
                order,
            },
        ]
    }
}

/// Several fields as one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// As many as the bits of a key have room for, and their number.
    first: [KeyField; Fields::MOST],
    count: usize,
    /// The bits of all.
    bits: u64,
}

impl Fields {
    /// Fields of 8 bits in 128.
    const MOST: usize = 16;
    const MOST_BITS: u64 = 128;

    /// Those of a list.
    pub(crate) fn new(list: &[KeyField]) -> Self {
        const NONE: KeyField = KeyField {
            offset: 0,
            key: KeyType::U8,
            order: Order::Ascending,
        };
        let mut first = [NONE; Self::MOST];
        for (to, from) in first.iter_mut().zip(list) {
            *to = *from;
        }
        Self {
            first,
            count: list.len(),
            bits: list.iter().map(|field| field.key.bytes() * 8).sum(),
        }
    }

    /// The type of a key that has all of the first part.
    pub(crate) fn key(&self) -> KeyType {
        let bits = |part: &[KeyField]| part.iter().map(|field| field.key.bytes() * 8).sum::<u64>();
        match self.parts().first() {
            Some(part) if bits(part) > 32 => KeyType::U64,
            _ => KeyType::U32,
        }
    }

    /// The fields, in parts of up to 64 bits.
    fn parts(&self) -> Vec<&[KeyField]> {
        let mut rest = &self.first[..self.count.min(Self::MOST)];
        let mut parts = Vec::new();
        while !rest.is_empty() {
            let mut bits = 0;
            let fits = |field: &&KeyField| {
                bits += field.key.bytes() * 8;
                bits <= 64
            };
            let (part, others) = rest.split_at(rest.iter().take_while(fits).count());
            parts.push(part);
            rest = others;
        }
        parts
    }

    /// Fails if there are no fields, or of more bits than `most`.
    pub(crate) fn check(&self, most: u64, allowed: &'static str) -> Result<(), Error> {
        if self.bits > 0 && self.bits <= most {
            return Ok(());
        }
        Err(Error::InvalidOption {
            name: "bits of all fields of a key",
            value: self.bits,
            allowed,
        })
    }
}

impl<R> BufferSort<R> {
    /// A sort in place of all keys alone, in ascending order.
    pub const fn new(keys: R, key: KeyType, field: Option<Field>, len: u64) -> Self {
        Self {
            keys,
            key,
            field,
            bits: None,
            fields: None,
            len,
            order: Order::Ascending,
            comparator: None,
            predicate: None,
            output: Destination::InPlace,
            indices: None,
            payload: Vec::new(),
            range: None,
            count: None,
            segments: None,
            is_sorted: false,
            runs: None,
            cells: None,
            search: None,
        }
    }

    /// Fails if keys consist of several fields, where these are not composed.
    pub(crate) fn check_single_field(&self) -> Result<(), Error> {
        match &self.fields {
            None => Ok(()),
            Some(fields) => Err(Error::InvalidOption {
                name: "fields of a key",
                value: fields.count as u64,
                allowed: "none: make a key of one field by Keys::strided",
            }),
        }
    }

    /// Bytes of what is written of each run: a key, or a struct that a comparator compares.
    fn run_key_bytes(&self) -> u64 {
        match self.comparator {
            Some(_) => self.record_bytes(),
            None => self.key.bytes(),
        }
    }

    /// Bytes from one record to the next.
    fn record_bytes(&self) -> u64 {
        let key = self.key.bytes();
        self.field.map_or(key, |field| u64::from(field.stride))
    }
}

impl<R: AsSpan> BufferSort<R> {
    /// The layout of the sort, for a device that binds at most `limit` bytes of a buffer.
    pub(crate) fn layout(&self, limit: u64) -> Result<SortLayout, Error> {
        let word = |role, range: &R| range.span().first_unit(role, 4);
        let (key, range) = (self.key, &self.keys);
        // Kernels number the keys of a buffer, a field's included: a field of one byte is the first
        // of four keys in each word of a struct.
        let countable = match self.field {
            Some(_) => limit.min(u64::from(u32::MAX) * key.bytes()),
            None => limit,
        };
        self.check_records(BufferRole::Keys, range, self.record_bytes(), countable)?;
        let key_first = match self.fields {
            // Each has its own.
            Some(_) => 0,
            None => range.span().first_unit(BufferRole::Keys, key.bytes())?,
        };
        let bits = key.bytes() as u32 * 8;
        let mut layout = SortLayout {
            first: key_first,
            bits: (bits < 32).then_some(bits),
            ..SortLayout::default()
        };
        if let (Some(fields), Some(field)) = (&self.fields, self.field) {
            layout.structs = Some(Structs {
                words: field.stride / 4,
                first: word(BufferRole::Keys, range)?,
                compared: false,
            });
            fields.check(Fields::MOST_BITS, "at most 128, and at least one field")?;
            layout.parts = (fields.parts().into_iter())
                .map(|part| self.layout_of_part(field.stride, part, limit))
                .collect::<Result<_, _>>()?;
        } else if let Some(field) = self.field {
            check_field(self.key, field)?;
            if self.comparator.is_some() || self.predicate.is_some() {
                range.span().first_unit(BufferRole::Keys, ALIGNMENT)?;
            }
            let key_bytes = key.bytes() as u32;
            layout.first += field.offset / key_bytes;
            layout.stride = field.stride / key_bytes;
            layout.structs = Some(Structs {
                words: field.stride / 4,
                first: word(BufferRole::Keys, range)?,
                compared: self.comparator.is_some(),
            });
        }
        layout.selected = self.selected()?;
        if layout.selected.is_some() && layout.structs.is_none() {
            // The other bits of a key move with it.
            layout.structs = Some(Structs {
                words: 1,
                first: key_first,
                compared: false,
            });
        }
        layout.output = match &self.output {
            Destination::InPlace => Output::InPlace,
            Destination::None => Output::None,
            Destination::Buffer(range) => {
                let role = BufferRole::Output;
                self.check_records(role, range, self.record_bytes(), limit)?;
                let unit = if layout.structs.is_some() {
                    4
                } else {
                    key.bytes()
                };
                let first = range.span().first_unit(role, unit)?;
                Output::OutOfPlace { first }
            }
        };
        if let Some(range) = &self.indices {
            self.check_records(BufferRole::Indices, range, 4, limit)?;
            layout.indices = Some(word(BufferRole::Indices, range)?);
        }
        layout.columns = self.columns(limit)?;
        if let Some(range) = &self.count {
            layout.count_at = Some(word(BufferRole::Count, range)?);
        }
        if let Some((range, count)) = &self.segments {
            let role = BufferRole::Offsets;
            let bytes = u128::from(*count) * 4 + u128::from(range.span().unaligned());
            check_bound(role, bytes, limit)?;
            layout.segments = Some(*count);
            layout.offsets_first = word(role, range)?;
        }
        layout.is_sorted = self.is_sorted;
        layout.found = self.found(limit)?;
        Ok(layout)
    }

    /// Whether keys are not compared as they lie: some of their bits, or several fields.
    const fn has_parts(&self) -> bool {
        self.bits.is_some() || self.fields.is_some()
    }

    /// The bits of a key that count, if not all do.
    fn selected(&self) -> Result<Option<Range<u32>>, Error> {
        let Some(Range { start, end }) = self.bits else {
            return Ok(None);
        };
        if self.fields.is_none() && self.key != KeyType::U32 {
            return Err(Error::NoBits(self.key));
        }
        let invalid = |name, value: u32, allowed| Error::InvalidOption {
            name,
            value: value.into(),
            allowed,
        };
        if end == 0 || end > 32 {
            return Err(invalid("end of the bits of a key", end, "1 to 32"));
        }
        if start >= end {
            let allowed = "less than their end";
            return Err(invalid("start of the bits of a key", start, allowed));
        }
        Ok(Some(start..end).filter(|bits| *bits != (0..32)))
    }

    /// What is found among the sorted keys.
    fn found(&self, limit: u64) -> Result<layout::Found, Error> {
        let mut found = layout::Found::default();
        if self.runs.is_none() && self.payload.iter().any(|payload| payload.firsts.is_some()) {
            return Err(Error::NotInOrder(
                "no runs are asked for, whose first rows are",
            ));
        }
        if self.runs.is_none() && self.cells.is_none() && self.search.is_none() {
            return Ok(found);
        }
        self.check_order()?;
        let word = |role, range: &R| range.span().first_unit(role, 4);
        if let Some(runs) = &self.runs {
            let words = |role, range: &Option<R>| {
                let first = |range: &R| {
                    self.check_records(role, range, 4, limit)?;
                    word(role, range)
                };
                range.as_ref().map(first).transpose()
            };
            let key = |range: &R| {
                let (role, bytes) = (BufferRole::RunKeys, self.run_key_bytes());
                self.check_records(role, range, bytes, limit)?;
                // A key is one unit, and a struct of some words.
                range.span().first_unit(role, self.key.bytes())
            };
            found.runs = Some(layout::Runs {
                heads: runs.heads,
                count_at: word(BufferRole::RunCount, &runs.count)?,
                starts: words(BufferRole::RunStarts, &runs.starts)?,
                lengths: words(BufferRole::RunLengths, &runs.lengths)?,
                keys: runs.keys.as_ref().map(key).transpose()?,
            });
        }
        if let Some((range, cells)) = &self.cells {
            if !self.key.is_unsigned() {
                return Err(Error::NoCells(self.key));
            }
            let role = BufferRole::Cells;
            let bytes = u128::from(*cells) * 4 + 4 + u128::from(range.span().unaligned());
            check_bound(role, bytes, limit)?;
            found.cells = Some(layout::Cells {
                cells: *cells,
                first: word(role, range)?,
            });
        }
        if let Some(search) = &self.search {
            let bytes = |bytes: u64, range: &R| {
                u128::from(search.len) * u128::from(bytes) + u128::from(range.span().unaligned())
            };
            let (needles, places) = (BufferRole::Needles, BufferRole::Places);
            check_bound(places, bytes(4, &search.places), limit)?;
            let key = self.key.bytes();
            // Kernels number the needles, and those of 8 bits are four to a word.
            let countable = limit.min(u64::from(u32::MAX) * key);
            check_bound(needles, bytes(key, &search.needles), countable)?;
            found.search = Some(layout::Search {
                // Their places have been counted.
                len: search.len as u32,
                first: search.needles.span().first_unit(needles, key)?,
                places: word(places, &search.places)?,
                is_upper: search.is_upper,
            });
        }
        Ok(found)
    }

    /// Fails if the keys do not all lie in order once they are sorted.
    fn check_order(&self) -> Result<(), Error> {
        let keeps_keys = matches!(self.output, Destination::None) && !self.is_sorted;
        let why = if self.comparator.is_some() && (self.cells.is_some() || self.search.is_some()) {
            "a comparator orders structs without keys"
        } else if self.segments.is_some() && (self.cells.is_some() || self.search.is_some()) {
            "each segment is in order by itself"
        } else if keeps_keys
            && (self.comparator.is_some()
                && self.runs.as_ref().is_some_and(|runs| runs.keys.is_some()))
        {
            "the structs of runs are written from those that are sorted"
        } else if self.comparator.is_none() && self.segments.is_some() && keeps_keys {
            "runs in segments are found among sorted keys that are written"
        } else if self.range.is_some() {
            "only some ranks are sorted"
        } else if self.fields.is_some_and(|fields| fields.bits > 64) {
            "keys of more than 64 bits are not composed as a whole"
        } else if self.fields.is_some() && (!keeps_keys || self.cells.is_some()) {
            "keys of several fields are composed only for runs, of a sort that keeps the structs"
        } else if self.has_parts() && self.search.is_some() {
            "only parts of records count, and others are looked for as a whole"
        } else if self.has_parts() && self.runs.as_ref().is_some_and(|runs| runs.keys.is_some()) {
            "only parts of records count, so that those of a run differ"
        } else if keeps_keys && self.indices.is_none() && self.payload.is_empty() {
            "neither keys nor anything else is sorted"
        } else {
            return match (&self.output, self.field) {
                // Fields are numbered as keys.
                (Destination::Buffer(range), Some(_)) => {
                    range
                        .span()
                        .first_unit(BufferRole::Output, self.key.bytes())?;
                    Ok(())
                }
                _ => Ok(()),
            };
        };
        Err(Error::NotInOrder(why))
    }

    /// The columns of the layout: one for each payload buffer.
    fn columns(&self, limit: u64) -> Result<Vec<Column>, Error> {
        if self.payload.len() > MOST_PAYLOADS {
            return Err(Error::InvalidOption {
                name: "number of payloads",
                value: self.payload.len() as u64,
                allowed: "at most 64",
            });
        }
        let column = |(i, payload): (usize, &Payload<R>)| {
            let [role, to, firsts] = payload_roles(i);
            if payload.bytes == 0 || !payload.bytes.is_multiple_of(4) {
                return Err(Error::InvalidOption {
                    name: "bytes of a payload row",
                    value: payload.bytes.into(),
                    allowed: "a multiple of 4, and at least 4",
                });
            }
            let first = |role, range: &R| {
                self.check_records(role, range, payload.bytes.into(), limit)?;
                range.span().first_unit(role, 4)
            };
            Ok(Column {
                words: payload.bytes / 4,
                first: first(role, &payload.rows)?,
                output: payload
                    .output
                    .as_ref()
                    .map(|range| first(to, range))
                    .transpose()?,
                unstable: payload.unstable,
                firsts: payload
                    .firsts
                    .as_ref()
                    .map(|range| first(firsts, range))
                    .transpose()?,
            })
        };
        self.payload.iter().enumerate().map(column).collect()
    }

    /// Where the fields of a part of the keys are.
    fn layout_of_part(
        &self,
        stride: u32,
        fields: &[KeyField],
        limit: u64,
    ) -> Result<layout::Part, Error> {
        if self.bits.is_some() {
            return Err(Error::InvalidOption {
                name: "fields of keys whose bits are selected",
                value: fields.len() as u64,
                allowed: "none",
            });
        }
        let field = |field: &KeyField| {
            let (key, offset) = (field.key, field.offset);
            check_field(key, Field { stride, offset })?;
            let bytes = key.bytes() as u32;
            // As for a single field: kernels number those of the whole buffer.
            let countable = limit.min(u64::from(u32::MAX) * key.bytes());
            self.check_records(BufferRole::Keys, &self.keys, stride.into(), countable)?;
            let first = self.keys.span().first_unit(BufferRole::Keys, key.bytes())?;
            let order = match self.order {
                Order::Ascending => field.order,
                Order::Descending => field.order.reversed(),
            };
            Ok(layout::Field {
                first: first + offset / bytes,
                stride: stride / bytes,
                bits: bytes * 8,
                map: key.map(order),
            })
        };
        let fields: Result<_, Error> = fields.iter().map(field).collect();
        Ok(layout::Part { fields: fields? })
    }

    /// Fails if all records, of `bytes` each, take more than `limit` bytes of a buffer.
    fn check_records(
        &self,
        role: BufferRole,
        range: &R,
        bytes: u64,
        limit: u64,
    ) -> Result<(), Error> {
        let before = u128::from(range.span().unaligned());
        let needed = before + u128::from(self.len) * u128::from(bytes);
        check_bound(role, needed, limit)
    }

    /// The ranks that must be in order; `None` for all.
    pub(crate) fn ranks(&self) -> Result<Option<Range<u32>>, Error> {
        let Some(Range { start, end }) = self.range else {
            return Ok(None);
        };
        let invalid = |name, value, allowed| Error::InvalidOption {
            name,
            value,
            allowed,
        };
        if end > self.len {
            return Err(invalid(
                "end of the range",
                end,
                "at most the number of records",
            ));
        }
        if start > end {
            let allowed = "at most the end of the range";
            return Err(invalid("start of the range", start, allowed));
        }
        // At most `len`, which is at most `u32::MAX`.
        Ok(Some(start as u32..end as u32))
    }

    /// The range of each buffer that the sort binds.
    ///
    /// # Errors
    ///
    /// [`Error::SameBuffer`], [`Error::BufferTooSmall`].
    pub fn bindings(&self) -> Result<Vec<(BufferRole, &R, Bound)>, Error> {
        let mut bindings: Vec<(BufferRole, &R, Bound)> = Vec::new();
        let mut add = |role: BufferRole, range, bytes: u64| {
            // Where nothing is sorted, these are only read.
            let is_read =
                |role| self.is_sorted && matches!(role, BufferRole::Keys | BufferRole::Payload(_));
            let clash = bindings.iter().find(|&&(other, at, _)| {
                R::is_same_buffer(at, range) && !(is_read(role) && is_read(other))
            });
            if let Some(&(first, ..)) = clash {
                let second = role;
                return Err(Error::SameBuffer { first, second });
            }
            bindings.push((role, range, range.span().bound(role, bytes)?));
            Ok(())
        };
        let keys = self.len * self.record_bytes();
        add(BufferRole::Keys, &self.keys, keys)?;
        if let Destination::Buffer(range) = &self.output {
            add(BufferRole::Output, range, keys)?;
        }
        if let Some(range) = &self.indices {
            add(BufferRole::Indices, range, self.len * 4)?;
        }
        for (i, payload) in self.payload.iter().enumerate() {
            let [role, to, firsts] = payload_roles(i);
            let bytes = self.len * u64::from(payload.bytes);
            add(role, &payload.rows, bytes)?;
            if let Some(range) = &payload.output {
                add(to, range, bytes)?;
            }
            if let Some(range) = &payload.firsts {
                add(firsts, range, bytes)?;
            }
        }
        if let Some(range) = &self.count {
            add(BufferRole::Count, range, 4)?;
        }
        if let Some((range, count)) = &self.segments {
            // A binding is never empty, even without segments.
            add(BufferRole::Offsets, range, u64::from(*count).max(1) * 4)?;
        }
        if let Some(runs) = &self.runs {
            add(BufferRole::RunCount, &runs.count, 4)?;
            for (role, range, bytes) in [
                (BufferRole::RunStarts, &runs.starts, 4),
                (BufferRole::RunLengths, &runs.lengths, 4),
                (BufferRole::RunKeys, &runs.keys, self.run_key_bytes()),
            ] {
                if let Some(range) = range {
                    add(role, range, self.len * bytes)?;
                }
            }
        }
        if let Some((range, cells)) = &self.cells {
            add(BufferRole::Cells, range, u64::from(*cells) * 4 + 4)?;
        }
        // A binding is never empty.
        if let Some(search) = self.search.as_ref().filter(|search| search.len > 0) {
            let bytes = search.len * self.key.bytes();
            add(BufferRole::Needles, &search.needles, bytes)?;
            add(BufferRole::Places, &search.places, search.len * 4)?;
        }
        Ok(bindings)
    }
}

/// Fails if a key cannot be this field of a struct.
fn check_field(key: KeyType, field: Field) -> Result<(), Error> {
    let invalid = |name, value, allowed| Error::InvalidOption {
        name,
        value: u64::from(value),
        allowed,
    };
    let key = key.bytes() as u32;
    if field.stride == 0 || !field.stride.is_multiple_of(key.max(4)) {
        let allowed = "a multiple of 4 and of the key's bytes, and at least that";
        return Err(invalid("stride of the structs", field.stride, allowed));
    }
    if !field.offset.is_multiple_of(key) {
        let allowed = "a multiple of the key's bytes";
        return Err(invalid("offset of the key", field.offset, allowed));
    }
    if u64::from(field.offset) + u64::from(key) > field.stride.into() {
        let allowed = "such that the key ends within the struct";
        return Err(invalid("offset of the key", field.offset, allowed));
    }
    Ok(())
}

/// The roles of a payload, of its output, and of the rows of runs' first records.
const fn payload_roles(number: usize) -> [BufferRole; 3] {
    // `BufferSort::columns` has checked that there are at most 64.
    let number = number as u8;
    [
        BufferRole::Payload(number),
        BufferRole::PayloadOutput(number),
        BufferRole::RunPayload(number),
    ]
}

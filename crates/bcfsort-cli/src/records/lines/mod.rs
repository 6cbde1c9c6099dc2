//! Lines of text, with the keys and fields of GNU sort in the C locale.

pub(super) mod args;
mod general;
mod key;

use super::decimal::Decimal;
use super::key::{is_blank, leading, push_last_string, push_string};
use super::version::{push_natural, push_version};
use super::{Bounds, Layout, Prefix};
use general::General;
use key::{Comparison, LineKey, Position};
use memchr::{memchr, memchr_iter, memrchr};
use rayon::prelude::*;
use std::borrow::Cow;
use wgpu_bcfsort::Order;

/// Bytes that one thread searches for line ends at a time.
const BLOCK: usize = 1 << 20;

/// Lines, and what they are sorted by.
#[derive(Debug)]
pub(crate) struct Lines {
    keys: Vec<LineKey>,
    /// `None`: a field begins where blanks follow other bytes.
    separator: Option<u8>,
    line_end: u8,
}

impl Lines {
    /// Lines sorted by the keys in order. There is at least one.
    const fn new(keys: Vec<LineKey>, separator: Option<u8>, line_end: u8) -> Self {
        Self {
            keys,
            separator,
            line_end,
        }
    }

    /// The bytes of a key.
    #[inline]
    fn field<'a>(&self, line: &'a [u8], key: &LineKey) -> &'a [u8] {
        let line = line.strip_suffix(&[self.line_end]).unwrap_or(line);
        let start = self.start(line, key.start);
        let end = key.end.map_or(line.len(), |end| self.end(line, end));
        &line[start..end.max(start)]
    }

    #[inline]
    fn start(&self, line: &[u8], position: Position) -> usize {
        let mut at = 0;
        let mut fields = position.field;
        // A line has as many fields as bytes at most, however many are to be skipped.
        while fields > 0 && at < line.len() {
            at = match self.separator {
                Some(separator) => {
                    memchr(separator, &line[at..]).map_or(line.len(), |length| at + length + 1)
                }
                None => skip_field(line, at),
            };
            fields -= 1;
        }
        let blanks = if position.skips_blanks {
            leading(&line[at..], is_blank)
        } else {
            0
        };
        at.saturating_add(blanks)
            .saturating_add(position.byte)
            .min(line.len())
    }

    /// An end at byte 0 is that of the field, which does not include the separator.
    fn end(&self, line: &[u8], position: Position) -> usize {
        if position.byte > 0 {
            return self.start(line, position);
        }
        let last = Position {
            skips_blanks: false,
            ..position
        };
        let at = self.start(line, last);
        match self.separator {
            Some(separator) => memchr(separator, &line[at..]).map_or(line.len(), |end| at + end),
            None => skip_field(line, at),
        }
    }
}

/// The end of the field that begins at `at`, with blanks before its other bytes.
#[inline]
fn skip_field(line: &[u8], at: usize) -> usize {
    let at = at + leading(&line[at..], is_blank);
    at + leading(&line[at..], |byte| !is_blank(byte))
}

/// The place of the unit behind a number: 1 for K, 2 for M. It is negative for negative numbers,
/// and 0 without a unit or for 0.
fn unit(text: &[u8]) -> i8 {
    const UNITS: &[u8] = b"KMGTPEZYRQ";
    let text = &text[leading(text, is_blank)..];
    let (is_negative, text) = match text {
        [b'-', text @ ..] => (true, text),
        _ => (false, text),
    };
    let is_digit = |byte: u8| byte.is_ascii_digit();
    let (whole, rest) = text.split_at(leading(text, is_digit));
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => rest.split_at(leading(rest, is_digit)),
        _ => (&[][..], rest),
    };
    if whole.iter().chain(fraction).all(|&digit| digit == b'0') {
        return 0;
    }
    let letter = match rest.first() {
        Some(b'k') => b'K',
        Some(&letter) => letter,
        None => return 0,
    };
    let place = UNITS.iter().position(|&unit| unit == letter);
    let place = place.map_or(0, |place| place as i8 + 1);
    if is_negative { -place } else { place }
}

/// The month that the text begins with, from 1, in letters of either case. 0 if there is none.
fn month(text: &[u8]) -> u8 {
    const MONTHS: &[u8] = b"JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC";
    let text = &text[leading(text, is_blank)..];
    let name = &text[..text.len().min(3)];
    let mut months = MONTHS.chunks(3);
    let place = months.position(|month| month.eq_ignore_ascii_case(name));
    place.map_or(0, |place| place as u8 + 1)
}

impl Layout for Lines {
    fn bounds(&self, bytes: &[u8]) -> Bounds {
        line_bounds(bytes, self.line_end)
    }

    fn count(&self, bytes: &[u8]) -> usize {
        count_lines(bytes, self.line_end)
    }

    fn cut(&self, bytes: &[u8], limit: usize) -> usize {
        cut_lines(bytes, limit, self.line_end)
    }

    fn partition(&self, sorted: &[u8], precedes: &dyn Fn(&[u8]) -> bool) -> usize {
        partition_lines(sorted, self.line_end, precedes)
    }

    fn parts(&self) -> usize {
        self.keys.len()
    }

    fn push_part(&self, record: &[u8], part: usize, key: &mut Vec<u8>) {
        let of_line = &self.keys[part];
        let field = self.field(record, of_line);
        let order = of_line.order;
        let field = if of_line.characters.are_all() {
            Cow::Borrowed(field)
        } else {
            Cow::Owned(of_line.characters.of(field).collect())
        };
        match of_line.comparison {
            Comparison::Bytes if part + 1 == self.keys.len() => {
                push_last_string(&field, order, key);
            }
            Comparison::Bytes => push_string(&field, order, key),
            Comparison::Numeric => Decimal::parse(&field).push(order, key),
            Comparison::General => General::parse(&field).push(order, key),
            Comparison::Human => {
                push_byte(unit(&field).cast_unsigned() ^ 0x80, order, key);
                Decimal::parse(&field).push(order, key);
            }
            Comparison::Month => push_byte(month(&field), order, key),
            Comparison::Version => push_version(&field, order, key),
            Comparison::Natural => push_natural(&field, order, key),
        }
    }

    fn is_prefix_free(&self) -> bool {
        let last = self.keys.last();
        last.is_some_and(|last| {
            last.comparison != Comparison::Bytes || last.order == Order::Descending
        })
    }

    fn prefix(&self, record: &[u8], scratch: &mut Vec<u8>) -> Prefix {
        let first = &self.keys[0];
        let single = self.keys.len() == 1;
        let field = || self.field(record, first);
        let prefix = match first.comparison {
            Comparison::Numeric if first.characters.are_all() => {
                Decimal::parse(field()).prefix(first.order)
            }
            Comparison::General if first.characters.are_all() => {
                General::parse(field()).prefix(first.order)
            }
            Comparison::Bytes if single && first.order == Order::Ascending => {
                if first.characters.are_all() {
                    return Prefix::of(field(), false);
                }
                scratch.clear();
                // One more than there are in a prefix tells whether it is exact.
                scratch.extend(first.characters.of(field()).take(9));
                return Prefix::of(scratch, false);
            }
            _ => return self.prefix_of_parts(record, scratch),
        };
        Prefix {
            exact: prefix.exact && single,
            ..prefix
        }
    }

    fn line_end(&self) -> Option<u8> {
        Some(self.line_end)
    }

    fn terminator(&self, _crlf: bool) -> &'static [u8] {
        if self.line_end == 0 { b"\0" } else { b"\n" }
    }
}

fn push_byte(byte: u8, order: Order, key: &mut Vec<u8>) {
    key.push(match order {
        Order::Ascending => byte,
        Order::Descending => !byte,
    });
}

/// The bounds of lines, which end with the byte `line_end`. Found on all cores.
pub(super) fn line_bounds(bytes: &[u8], line_end: u8) -> Bounds {
    let counts: Vec<usize> = bytes
        .par_chunks(BLOCK)
        .map(|block| memchr_iter(line_end, block).count())
        .collect();
    let mut ends = vec![0; counts.iter().sum()];
    let mut rest = ends.as_mut_slice();
    let mut blocks = Vec::with_capacity(counts.len());
    for ((block, bytes), count) in bytes.chunks(BLOCK).enumerate().zip(counts) {
        let (ends, behind) = rest.split_at_mut(count);
        rest = behind;
        blocks.push((block * BLOCK, bytes, ends));
    }
    blocks.into_par_iter().for_each(|(start, bytes, ends)| {
        for (end, found) in ends.iter_mut().zip(memchr_iter(line_end, bytes)) {
            *end = start + found + 1;
        }
    });
    Bounds::Ends(ends)
}

pub(super) fn count_lines(bytes: &[u8], line_end: u8) -> usize {
    let blocks = bytes.par_chunks(BLOCK);
    blocks
        .map(|block| memchr_iter(line_end, block).count())
        .sum()
}

/// As [`Layout::cut`].
pub(super) fn cut_lines(bytes: &[u8], limit: usize, line_end: u8) -> usize {
    if limit >= bytes.len() {
        return bytes.len();
    }
    match memrchr(line_end, &bytes[..limit]) {
        Some(last) => last + 1,
        None => memchr(line_end, bytes).map_or(bytes.len(), |first| first + 1),
    }
}

/// As [`Layout::partition`], by looking at a logarithmic number of lines.
pub(super) fn partition_lines(
    sorted: &[u8],
    line_end: u8,
    precedes: &dyn Fn(&[u8]) -> bool,
) -> usize {
    // Both are where lines begin: all before `low` precede, and none from `high` on does.
    let (mut low, mut high) = (0, sorted.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        let start = memrchr(line_end, &sorted[low..middle]).map_or(low, |end| low + end + 1);
        let end = memchr(line_end, &sorted[middle..high]).map_or(high, |end| middle + end + 1);
        if precedes(&sorted[start..end]) {
            low = end;
        } else {
            high = start;
        }
    }
    low
}

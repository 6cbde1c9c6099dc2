//! Lines of text, with the keys and fields of GNU sort in the C locale.

use super::decimal::Decimal;
use super::key::{is_blank, leading, order, push_last_string, push_string};
use super::{Bounds, Layout, Prefix};
use memchr::{memchr, memchr_iter, memrchr};
use rayon::prelude::*;
use wgpu_bcfsort::Order;

/// Bytes that one thread searches for line ends at a time.
const BLOCK: usize = 1 << 20;

/// Lines, and what they are sorted by.
pub(crate) struct Lines {
    keys: Vec<LineKey>,
    /// `None`: a field begins where blanks follow other bytes.
    separator: Option<u8>,
}

/// One key of a line: from a position to another one, or to the line's end.
#[derive(Debug, PartialEq, Eq)]
struct LineKey {
    start: Position,
    end: Option<Position>,
    numeric: bool,
    order: Order,
}

/// A byte in a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Position {
    /// From 0.
    field: usize,
    /// From 0. An end is the byte behind the key.
    byte: usize,
    /// Bytes are counted from the first one that is no blank.
    skips_blanks: bool,
}

impl Lines {
    /// Lines sorted by the keys in order, each as in `sort -k`, or by the whole line. `numeric` and
    /// `direction` are for keys that have no options.
    pub(crate) fn new(
        keys: &[String],
        separator: Option<u8>,
        numeric: bool,
        direction: Order,
    ) -> Result<Self, String> {
        let mut parsed = Vec::new();
        for key in keys {
            let of_key = LineKey::parse(key, numeric, direction);
            parsed.push(of_key.map_err(|why| format!("-k {key}: {why}"))?);
        }
        if parsed.is_empty() {
            parsed.push(LineKey {
                start: Position::default(),
                end: None,
                numeric,
                order: direction,
            });
        }
        Ok(Self {
            keys: parsed,
            separator,
        })
    }

    /// The bytes of a key.
    #[inline]
    fn field<'a>(&self, line: &'a [u8], key: &LineKey) -> &'a [u8] {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let start = self.start(line, key.start);
        let end = key.end.map_or(line.len(), |end| self.end(line, end));
        &line[start..end.max(start)]
    }

    #[inline]
    fn start(&self, line: &[u8], position: Position) -> usize {
        let mut at = 0;
        for _ in 0..position.field {
            at = match self.separator {
                Some(separator) => match memchr(separator, &line[at..]) {
                    Some(length) => at + length + 1,
                    None => return line.len(),
                },
                None => skip_field(line, at),
            };
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

impl LineKey {
    /// Parses `F[.C][OPTIONS][,F[.C][OPTIONS]]`.
    fn parse(text: &str, numeric: bool, direction: Order) -> Result<Self, String> {
        let (start, end) = match text.split_once(',') {
            Some((start, end)) => (start, Some(end)),
            None => (text, None),
        };
        let mut options = Options::default();
        let mut start = Position::parse(start, &mut options)?;
        start.byte = match start.byte.checked_sub(1) {
            Some(byte) => byte,
            None => return Err("bytes are counted from 1".to_owned()),
        };
        let end = end.map(|end| {
            let starts_with_byte = end.contains('.');
            let mut end = Position::parse(end, &mut options)?;
            if !starts_with_byte {
                end.byte = 0;
            }
            Ok::<_, String>(end)
        });
        let end = end.transpose()?;
        if !options.given {
            (options.numeric, options.reverse) = (numeric, direction == Order::Descending);
        }
        Ok(Self {
            start,
            end,
            numeric: options.numeric,
            order: order(options.reverse),
        })
    }
}

/// The options of one key.
#[derive(Default)]
struct Options {
    given: bool,
    numeric: bool,
    reverse: bool,
}

impl Position {
    /// Parses `F[.C][OPTIONS]`. The byte is that of the text, and 1 without one.
    fn parse(text: &str, options: &mut Options) -> Result<Self, String> {
        let letters = text.find(|c: char| c.is_ascii_alphabetic());
        let (position, letters) = text.split_at(letters.unwrap_or(text.len()));
        let (field, byte) = match position.split_once('.') {
            Some((field, byte)) => (field, byte),
            None => (position, "1"),
        };
        let number = |text: &str| {
            let number = text.parse::<usize>();
            number.map_err(|_| format!("'{text}' is no number: F[.C][OPTIONS][,F[.C][OPTIONS]]"))
        };
        let mut parsed = Self {
            field: match number(field)?.checked_sub(1) {
                Some(field) => field,
                None => return Err("fields are counted from 1".to_owned()),
            },
            byte: number(byte)?,
            skips_blanks: false,
        };
        for letter in letters.chars() {
            options.given = true;
            match letter {
                'n' => options.numeric = true,
                'r' => options.reverse = true,
                'b' => parsed.skips_blanks = true,
                other => {
                    return Err(format!(
                        "there is no option '{other}': n, r and b there are"
                    ));
                }
            }
        }
        Ok(parsed)
    }
}

impl Layout for Lines {
    fn bounds(&self, bytes: &[u8]) -> Bounds {
        line_bounds(bytes, b'\n')
    }

    fn count(&self, bytes: &[u8]) -> usize {
        count_lines(bytes, b'\n')
    }

    fn cut(&self, bytes: &[u8], limit: usize) -> usize {
        cut_lines(bytes, limit, b'\n')
    }

    fn partition(&self, sorted: &[u8], precedes: &dyn Fn(&[u8]) -> bool) -> usize {
        partition_lines(sorted, b'\n', precedes)
    }

    fn parts(&self) -> usize {
        self.keys.len()
    }

    fn push_part(&self, record: &[u8], part: usize, key: &mut Vec<u8>) {
        let of_line = &self.keys[part];
        let field = self.field(record, of_line);
        if of_line.numeric {
            Decimal::parse(field).push(of_line.order, key);
        } else if part + 1 == self.keys.len() {
            push_last_string(field, of_line.order, key);
        } else {
            push_string(field, of_line.order, key);
        }
    }

    fn is_prefix_free(&self) -> bool {
        let last = self.keys.last();
        last.is_some_and(|last| last.numeric || last.order == Order::Descending)
    }

    fn prefix(&self, record: &[u8], scratch: &mut Vec<u8>) -> Prefix {
        let first = &self.keys[0];
        let single = self.keys.len() == 1;
        if first.numeric {
            let prefix = Decimal::parse(self.field(record, first)).prefix(first.order);
            let exact = prefix.exact && single;
            return Prefix { exact, ..prefix };
        }
        if single && first.order == Order::Ascending {
            return Prefix::of(self.field(record, first), false);
        }
        scratch.clear();
        self.push_part(record, 0, scratch);
        let prefix = Prefix::of(scratch, self.is_prefix_free());
        let exact = prefix.exact && single;
        Prefix { exact, ..prefix }
    }

    fn line_end(&self) -> Option<u8> {
        Some(b'\n')
    }
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

//! Sorts strings that tie in their first bytes, by the bytes that follow.
//!
//! An argsort of the first bytes of strings leaves ties: ranges of rows whose keys are equal.
//! [`sort`] breaks them in rounds. Each round is one argsort of keys of 64 bits, for all ties
//! together, so that a GPU can do it:
//!
//! | bits of a key | |
//! |---|---|
//! | ⌈log2(ties)⌉ | the number of the tie |
//! | 2 | whether the string is before, at, or after the bytes that the tie probably shares |
//! | 8 · b | the next b bytes after these, 4 to 7 |
//! | 5 | how many of these bytes exist, and whether others follow |
//!
//! A few rows of each tie tell which bytes it probably shares. They are skipped, so a long common
//! prefix takes no more rounds than a short one. Rows that do not share them still tie afterwards,
//! but apart from the others.
//!
//! The strings are read in the order of the rows, which is mostly that of memory: in the order of
//! the ties, nearly each would miss the caches.

use rayon::prelude::*;
use std::cmp::Ordering;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use wgpu_bcfsort::Order;

/// Ties of up to this number of rows are left to the caller: the CPU sorts them while they are in
/// its caches, which takes less time than to copy their keys to a GPU.
pub const FEW: usize = 128;

/// Fewer rows that tie are left to the caller, whatever the argsort: a round has a fixed cost.
const LEAST: usize = 1 << 14;

/// Rounds after which all rows that still tie are left to the caller. A round sorts 4 to 7 bytes
/// after the common ones. Strings that tie for longer have many different common prefixes, which
/// the caller finds in each tie alone.
const ROUNDS: usize = 8;

/// Rows of a tie that tell which bytes all probably share.
const SAMPLES: usize = 8;

/// Rows that one thread handles at a time.
const BLOCK: usize = 1 << 14;

/// The most bytes by which a string may be shorter than the depth of its tie.
const PADDING: usize = 8;

/// Bits of a key for how many bytes of a string exist.
const COUNT_BITS: usize = 5;

/// Bits of a key for the side of the shared bytes.
const SIDE_BITS: usize = 2;

/// The strings of rows.
pub trait Strings: Sync {
    /// The string of a row. It may be made in `buffer`, which has any contents.
    fn bytes<'a>(&'a self, row: u32, buffer: &'a mut Vec<u8>) -> &'a [u8];

    /// Takes two or more rows whose strings are equal, in ascending order. By default, they keep
    /// it.
    fn equal(&self, _rows: &mut [u32]) {}
}

/// Rows whose strings agree in their first bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct Tie<'a> {
    /// The rows, ascending.
    pub rows: &'a mut [u32],
    /// The number of bytes in which the strings agree. Strings that are up to 8 bytes shorter count
    /// as padded with zeros.
    pub depth: usize,
}

/// Sorts the rows of each tie by their strings, stably, and returns the ties that are left to the
/// caller.
///
/// These are ties of at most [`FEW`] rows, and all ties once fewer than 16,384 rows tie, `pays` is
/// false for their number, or eight rounds are done. Their rows are in their final ranges, in
/// ascending order.
/// Strings are compared as bytes, and `order` is that of the strings: equal ones have ascending
/// rows in both orders.
///
/// `argsort` returns the indices that sort keys ascending, stably.
///
/// A round takes O(n) time besides the argsort, and 20 bytes of memory for each row that ties:
/// while the keys are made, 12, and 4 for each row up to the last one that ties. It also has, once
/// for each tie, the bytes that the rows share.
///
/// # Errors
///
/// Those of `argsort`.
///
/// # Panics
///
/// May panic if a string is shorter than the depth of its tie by more than 8 bytes, or if the rows
/// of a tie do not ascend.
///
/// # Examples
///
/// ```
/// use bcfsort_auto::ties::{self, Strings, Tie};
/// use bcfsort_auto::{AutoSorter, Device};
/// use wgpu_bcfsort::Order;
///
/// struct Lines(Vec<String>);
/// impl Strings for Lines {
///     fn bytes<'a>(&'a self, row: u32, _: &'a mut Vec<u8>) -> &'a [u8] {
///         self.0[row as usize].as_bytes()
///     }
/// }
///
/// # fn main() -> Result<(), bcfsort_auto::Error> {
/// let lines = (0..100_000_u32).map(|i| format!("GET /users/{}", i.reverse_bits()));
/// let lines = Lines(lines.collect());
/// let mut order: Vec<u32> = (0..100_000).collect();
/// let all = Tie { rows: &mut order, depth: 0 };
/// let sorter = AutoSorter::new(Device::Auto)?;
/// let argsort = |keys: &[u64]| sorter.argsort(keys, Order::Ascending);
/// for tie in ties::sort(vec![all], &lines, Order::Ascending, |_| true, argsort)? {
///     tie.rows.sort_by_key(|&row| &lines.0[row as usize]);
/// }
/// assert!(order.is_sorted_by_key(|&row| &lines.0[row as usize]));
/// # Ok(()) }
/// ```
pub fn sort<'a, E>(
    ties: Vec<Tie<'a>>,
    strings: &impl Strings,
    order: Order,
    pays: impl Fn(usize) -> bool,
    argsort: impl Fn(&[u64]) -> Result<Vec<u32>, E>,
) -> Result<Vec<Tie<'a>>, E> {
    let (mut left, mut ties) = (Vec::new(), ties);
    for _ in 0..ROUNDS {
        left.extend(ties.extract_if(.., |tie| tie.rows.len() <= FEW));
        let rows = ties.iter().map(|tie| tie.rows.len()).sum();
        if rows < LEAST || !pays(rows) {
            break;
        }
        ties = round(ties, strings, order, &argsort)?;
    }
    left.append(&mut ties);
    Ok(left)
}

/// Sorts the rows of all ties by their next bytes, and returns those that still tie.
fn round<'a, E>(
    ties: Vec<Tie<'a>>,
    strings: &impl Strings,
    order: Order,
    argsort: impl Fn(&[u64]) -> Result<Vec<u32>, E>,
) -> Result<Vec<Tie<'a>>, E> {
    let shared = ties.par_iter().map(|tie| probably_shared(tie, strings));
    let shared: Vec<Vec<u8>> = shared.collect();
    let format = Format::new(ties.len(), order);
    let (keys, rows) = keys(&ties, &shared, &format, strings);
    let sorted = argsort(&keys)?;
    let mut end = 0;
    let parts = ties.into_iter().zip(&shared).map(|(tie, shared)| {
        let begin = end;
        end += tie.rows.len();
        (tie, shared.len(), begin..end)
    });
    let mut parts: Vec<_> = parts.collect();
    parts.par_iter_mut().for_each(|(tie, _, range)| {
        let sorted = &sorted[range.clone()];
        let out = tie.rows.par_iter_mut().with_min_len(BLOCK).zip(sorted);
        out.for_each(|(row, &i)| *row = rows[i as usize]);
    });
    drop(rows);
    let keys: Vec<u64> = sorted.par_iter().map(|&i| keys[i as usize]).collect();
    drop(sorted);

    let tied = parts.into_par_iter().flat_map_iter(|(tie, shared, range)| {
        let mut rest = tie.rows;
        let mut tied = Vec::new();
        for run in keys[range].chunk_by(|a, b| a == b) {
            let rows;
            (rows, rest) = rest.split_at_mut(run.len());
            let depth = match format.agreement(run[0]) {
                _ if rows.len() == 1 => continue,
                Agreement::Equal => {
                    strings.equal(rows);
                    continue;
                }
                Agreement::GoesOn => tie.depth + shared + format.bytes,
                Agreement::Unknown => tie.depth,
            };
            tied.push(Tie { rows, depth });
        }
        tied
    });
    Ok(tied.collect())
}

/// The bytes from the depth on that some rows of a tie share.
fn probably_shared(tie: &Tie, strings: &impl Strings) -> Vec<u8> {
    let (mut first, mut other) = (Vec::new(), Vec::new());
    let first = strings.bytes(tie.rows[0], &mut first);
    let mut shared = first.get(tie.depth..).unwrap_or_default();
    for &row in tie.rows.iter().step_by(tie.rows.len().div_ceil(SAMPLES)) {
        let other = strings.bytes(row, &mut other);
        let pairs = other.iter().skip(tie.depth).zip(shared);
        shared = &shared[..pairs.take_while(|(a, b)| a == b).count()];
    }
    shared.to_vec()
}

/// The keys of all rows that tie, and these rows, ascending.
fn keys(
    ties: &[Tie],
    shared: &[Vec<u8>],
    format: &Format,
    strings: &impl Strings,
) -> (Vec<u64>, Vec<u32>) {
    let last = ties.iter().filter_map(|tie| tie.rows.last()).max();
    let rows = last.map_or(0, |&last| last as usize + 1);
    // The number of the tie of each row, from 1 on.
    let numbers = (0..rows).into_par_iter().map(|_| AtomicU32::new(0));
    let numbers: Vec<AtomicU32> = numbers.collect();
    ties.par_iter()
        .zip(1..ties.len() as u32 + 1)
        .for_each(|(tie, number)| {
            let rows = tie.rows.par_iter().with_min_len(BLOCK);
            rows.for_each(|&row| numbers[row as usize].store(number, Relaxed));
        });

    let is_tied = |number: &&AtomicU32| number.load(Relaxed) > 0;
    let blocks = numbers.par_chunks(BLOCK);
    let counts: Vec<usize> = blocks
        .clone()
        .map(|block| block.iter().filter(is_tied).count())
        .collect();
    let tied = counts.iter().sum();
    let (mut keys, mut rows) = (vec![0; tied], vec![0; tied]);
    let (mut free_keys, mut free_rows) = (&mut keys[..], &mut rows[..]);
    let outs = counts.into_iter().map(|count| {
        let (keys, rows);
        (keys, free_keys) = std::mem::take(&mut free_keys).split_at_mut(count);
        (rows, free_rows) = std::mem::take(&mut free_rows).split_at_mut(count);
        keys.iter_mut().zip(rows)
    });
    let outs: Vec<_> = outs.collect();
    blocks
        .zip(outs)
        .enumerate()
        .for_each(|(block, (numbers, outs))| {
            let mut buffer = Vec::new();
            let tied = numbers
                .iter()
                .zip(block as u32 * BLOCK as u32..)
                .filter(|(n, _)| is_tied(n));
            for ((number, row), (out_key, out_row)) in tied.zip(outs) {
                let number = number.load(Relaxed) as usize - 1;
                let bytes = strings.bytes(row, &mut buffer);
                *out_key = format.key(number, bytes, ties[number].depth, &shared[number]);
                *out_row = row;
            }
        });
    (keys, rows)
}

/// The layout of the keys of a round.
struct Format {
    /// The number of bytes of a string in its key.
    bytes: usize,
    /// The bits below the number of the tie.
    bits: usize,
    order: Order,
}

/// What rows with equal keys are known to share.
enum Agreement {
    /// Their strings are equal.
    Equal,
    /// Their strings agree in all bytes of the key, and go on.
    GoesOn,
    /// Their strings are on the same side of the shared bytes.
    Unknown,
}

impl Format {
    fn new(ties: usize, order: Order) -> Self {
        let numbers = ties.next_power_of_two().ilog2() as usize;
        let bytes = (64 - numbers - SIDE_BITS - COUNT_BITS) / 8;
        Self {
            bytes,
            bits: SIDE_BITS + 8 * bytes + COUNT_BITS,
            order,
        }
    }

    /// The key of a string in the tie of this number and depth.
    fn key(&self, tie: usize, string: &[u8], depth: usize, shared: &[u8]) -> u64 {
        let rest = string.get(depth..).unwrap_or_default();
        let (begin, next) = rest.split_at(rest.len().min(shared.len()));
        let side = begin.cmp(shared);
        let mut key = match side {
            Ordering::Less => 0,
            Ordering::Equal => 1,
            Ordering::Greater => 2,
        };
        key <<= 8 * self.bytes + COUNT_BITS;
        if side == Ordering::Equal {
            let mut word = [0; 8];
            let taken = next.len().min(self.bytes);
            word[8 - self.bytes..][..taken].copy_from_slice(&next[..taken]);
            // Up to 8 bytes before the depth may be padding of a string that has ended. A string
            // that has ended precedes one that goes on with zeros.
            let depth = depth + shared.len();
            let count = string.len().min(depth + self.bytes + 1) + PADDING - depth;
            key |= u64::from_be_bytes(word) << COUNT_BITS | count as u64;
        }
        (tie as u64) << self.bits | self.directed(key)
    }

    /// Reverses the order of the bits that are not of the number of the tie, if strings descend.
    const fn directed(&self, key: u64) -> u64 {
        let key = match self.order {
            Order::Ascending => key,
            Order::Descending => !key,
        };
        key & ((1 << self.bits) - 1)
    }

    const fn agreement(&self, key: u64) -> Agreement {
        let key = self.directed(key);
        let is_within = key >> (8 * self.bytes + COUNT_BITS) == 1;
        let goes_on = key & ((1 << COUNT_BITS) - 1) == (PADDING + self.bytes + 1) as u64;
        match (is_within, goes_on) {
            (false, _) => Agreement::Unknown,
            (true, true) => Agreement::GoesOn,
            (true, false) => Agreement::Equal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu;
    use std::convert::Infallible;
    use std::sync::Mutex;

    /// Strings, and the rows that were said to be equal.
    struct Texts {
        strings: Vec<Vec<u8>>,
        equal: Mutex<Vec<Vec<u32>>>,
    }

    impl Strings for Texts {
        fn bytes<'a>(&'a self, row: u32, buffer: &'a mut Vec<u8>) -> &'a [u8] {
            // Made in the buffer for some rows, as of a format that has to decode them.
            let string = &self.strings[row as usize];
            if row.is_multiple_of(2) {
                return string;
            }
            buffer.clear();
            buffer.extend_from_slice(string);
            buffer
        }

        fn equal(&self, rows: &mut [u32]) {
            self.equal.lock().unwrap().push(rows.to_vec());
        }
    }

    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 16) as usize % bound
        }

        /// A string of up to `most` bytes, of an alphabet of this size that begins with zero.
        fn string(&mut self, alphabet: usize, most: usize) -> Vec<u8> {
            let len = self.below(most + 1);
            (0..len).map(|_| self.below(alphabet) as u8).collect()
        }
    }

    /// The smallest number of rows of which all ties are large enough for some rounds.
    const ROWS: usize = 3 * LEAST;

    /// Sorts ties of strings that agree in their first `depth` bytes, padded with zeros, and
    /// compares the result with a plain sort. Returns the number of keys of each round.
    fn check(strings: Vec<Vec<u8>>, depth: usize, order: Order) -> Vec<usize> {
        let prefix = |string: &[u8]| {
            let mut prefix = string[..string.len().min(depth)].to_vec();
            prefix.resize(depth, 0);
            prefix
        };
        let directed = |ordering: Ordering| match order {
            Order::Ascending => ordering,
            Order::Descending => ordering.reverse(),
        };
        let texts = Texts {
            strings,
            equal: Mutex::default(),
        };
        let strings = &texts.strings;
        let string = |row: u32| &strings[row as usize];
        let compare = |a: &u32, b: &u32| directed(string(*a).cmp(string(*b)));
        let mut wanted: Vec<u32> = (0..strings.len() as u32).collect();
        wanted.sort_by(compare);

        let mut rows: Vec<u32> = (0..strings.len() as u32).collect();
        let prefixes: Vec<Vec<u8>> = strings.iter().map(|string| prefix(string)).collect();
        let prefix = |row: u32| &prefixes[row as usize];
        rows.sort_by(|&a, &b| directed(prefix(a).cmp(prefix(b))));
        let tied = rows.chunk_by_mut(|&a, &b| prefix(a) == prefix(b));
        let ties = tied.map(|rows| Tie { rows, depth }).collect();
        let rounds = Mutex::new(Vec::new());
        let argsort = |keys: &[u64]| {
            rounds.lock().unwrap().push(keys.len());
            Ok::<_, Infallible>(cpu::argsort(keys, Order::Ascending))
        };
        let left = sort(ties, &texts, order, |_| true, argsort).unwrap();
        for tie in left {
            assert!(tie.rows.is_sorted());
            let padded = |row: u32| {
                let mut begin = string(row).clone();
                begin.resize(begin.len().max(tie.depth), 0);
                begin.truncate(tie.depth);
                begin
            };
            let first = padded(tie.rows[0]);
            assert!(tie.rows.iter().all(|&row| padded(row) == first));
            tie.rows.sort_by(compare);
        }
        assert!(rows == wanted);
        for rows in texts.equal.lock().unwrap().iter() {
            assert!(rows.len() > 1 && rows.is_sorted());
            assert!(rows.iter().all(|&row| string(row) == string(rows[0])));
        }
        rounds.into_inner().unwrap()
    }

    const ORDERS: [Order; 2] = [Order::Ascending, Order::Descending];

    #[test]
    fn strings_of_any_alphabet_are_in_the_order_of_a_plain_sort() {
        let mut random = Random(1);
        for order in ORDERS {
            for (alphabet, most) in [
                (1, 0),
                (1, 9),
                (1, 60),
                (2, 7),
                (2, 40),
                (256, 3),
                (256, 30),
            ] {
                let strings = |random: &mut Random| random.string(alphabet, most);
                let strings: Vec<Vec<u8>> = (0..ROWS).map(|_| strings(&mut random)).collect();
                for depth in [0, 1, 8] {
                    check(strings.clone(), depth, order);
                }
            }
        }
    }

    #[test]
    fn long_common_prefixes_take_no_more_rounds_than_short_ones() {
        let mut random = Random(2);
        let begins = ["a", "b", "b and some words more", ""];
        let mut rounds = Vec::new();
        for middle in [1, 3000] {
            let middle = "m".repeat(middle);
            let strings = |_| {
                let begin = begins[random.below(begins.len())];
                let mut string = format!("{begin}{middle}").into_bytes();
                string.extend(random.string(3, 4));
                string
            };
            let strings: Vec<Vec<u8>> = (0..ROWS).map(strings).collect();
            for order in ORDERS {
                rounds.push(check(strings.clone(), 0, order).len());
            }
        }
        assert!(
            rounds.iter().all(|&rounds| (1..=3).contains(&rounds)),
            "{rounds:?}"
        );
    }

    #[test]
    fn equal_strings_take_one_round_and_are_told() {
        for string in [&b""[..], b"\0", b"short", &[b'x'; 1000]] {
            for depth in [0, string.len(), string.len() + 8] {
                let strings = vec![string.to_vec(); ROWS];
                assert_eq!(check(strings, depth, Order::Descending), [ROWS]);
            }
        }
    }

    /// The samples share bytes that most other rows do not.
    #[test]
    fn rows_that_do_not_share_the_bytes_of_the_samples_are_sorted() {
        let step = ROWS.div_ceil(SAMPLES);
        let mut random = Random(3);
        let strings = |row: usize| {
            if row.is_multiple_of(step) {
                return b"shared by samples".to_vec();
            }
            let mut string = b"shared by".to_vec();
            string.truncate(4 + random.below(6));
            string.extend(random.string(256, 12));
            string
        };
        let strings: Vec<Vec<u8>> = (0..ROWS).map(strings).collect();
        for order in ORDERS {
            let rounds = check(strings.clone(), 4, order);
            assert!(rounds.len() > 1, "{rounds:?}");
        }
    }

    /// Of each length one string, so that each round ends few of them.
    #[test]
    fn rounds_are_bounded() {
        let strings: Vec<Vec<u8>> = (0..ROWS).map(|row| vec![0; row / 16]).collect();
        for order in ORDERS {
            let rounds = check(strings.clone(), 0, order);
            assert_eq!(rounds.len(), ROUNDS, "{rounds:?}");
        }
    }

    #[test]
    fn what_does_not_pay_is_left() {
        let strings = vec![vec![]; ROWS];
        let texts = Texts {
            strings,
            equal: Mutex::default(),
        };
        let all = |rows: usize| (0..rows as u32).collect::<Vec<u32>>();
        let argsort = |_: &[u64]| Err(());
        for (rows, pays, is_left) in [
            (ROWS, false, true),
            (LEAST - 1, true, true),
            (LEAST, true, false),
        ] {
            let mut rows = all(rows);
            let ties = vec![Tie {
                rows: &mut rows,
                depth: 0,
            }];
            let left = sort(ties, &texts, Order::Ascending, |_| pays, argsort);
            assert_eq!(left.is_ok_and(|left| left.len() == 1), is_left);
        }
        let mut rows = all(ROWS);
        let small = rows.chunks_mut(FEW).map(|rows| Tie { rows, depth: 0 });
        let left = sort(small.collect(), &texts, Order::Ascending, |_| true, argsort);
        assert_eq!(left.unwrap().len(), ROWS.div_ceil(FEW));
    }
}

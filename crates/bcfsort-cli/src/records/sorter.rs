//! The sort of records in memory.

use super::{Bounds, Layout, Prefix};
use bcfsort_auto::ties::{self, Tie};
use bcfsort_term::engine::Contender;
use bcfsort_term::fault::Fault;
use bcfsort_term::timings::Timings;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use wgpu_bcfsort::{KeyType, Order, RecordFormat};

/// Bytes that one thread gathers at a time: fewer if there are few records.
const PIECE: usize = 1 << 21;
const LEAST_PIECE: usize = 1 << 14;

/// Runs of more records or bytes are split by further bits of their keys; others have their keys
/// kept while they are compared.
const SMALL_RUN: usize = 1 << 12;
const SMALL_BYTES: usize = 1 << 20;

/// In place of the index of a record that is left out. No chunk has as many records.
const LEFT_OUT: u32 = u32::MAX;

/// Records in the order of their prefixes that one thread sorts at a time: those of a run, or of
/// several. The caches hold what is read of so many.
const SORTED: usize = 1 << 10;

/// How often a run is split before its keys are kept, whatever their size: keys that begin with
/// each other could be split very often.
const MAX_DEPTH: u32 = 16;

/// Records in memory, sorted by a GPU engine or the CPU.
pub(crate) struct Records<'a> {
    layout: &'a dyn Layout,
    /// Leaves out records whose key an earlier one of the same sort has.
    unique: bool,
    /// Opens what sorts, for the number of records.
    choose: &'a Choose<'a>,
    contender: OnceLock<Contender>,
    /// The time of all sorts of keys.
    sorting: Mutex<Duration>,
    /// The number of records of all sorts that were not left out.
    kept: AtomicU64,
}

/// Opens the sorter for a number of records.
pub(crate) type Choose<'a> = dyn Fn(u64) -> Result<Contender, Fault> + Sync + 'a;

impl<'a> Records<'a> {
    /// The first sort decides by its number of records what sorts all.
    pub(crate) fn new(layout: &'a dyn Layout, unique: bool, choose: &'a Choose<'a>) -> Self {
        Self {
            layout,
            unique,
            choose,
            contender: OnceLock::new(),
            sorting: Mutex::default(),
            kept: AtomicU64::new(0),
        }
    }

    /// What sorted, and how long the keys of `count` records took. Nothing is chosen for none. The
    /// number of records `written` is told if some were not.
    pub(crate) fn report(&self, count: u64, written: Option<u64>) -> String {
        let Some(contender) = self.contender.get() else {
            return String::new();
        };
        let sorting = *self.sorting.lock().unwrap_or_else(PoisonError::into_inner);
        let written = written.map_or(String::new(), |written| format!(", {written} written"));
        format!(
            "engine   {}\nadapter  {}\nrecords  {count}{written}\n{}",
            contender.explain(count, KeyType::U64),
            contender.adapter,
            Timings::of_cpu(sorting).table_of("sort by keys, transfers included", count),
        )
    }

    /// The number of records that all sorts passed on.
    pub(super) fn kept(&self) -> u64 {
        self.kept.load(Relaxed)
    }

    fn contender(&self, count: usize) -> Result<&Contender, Fault> {
        if let Some(contender) = self.contender.get() {
            return Ok(contender);
        }
        let contender = (self.choose)(count as u64)?;
        Ok(self.contender.get_or_init(|| contender))
    }

    /// The order of the records, or of those that are not left out.
    fn order(&self, bytes: &[u8], bounds: &Bounds) -> Result<Vec<u32>, Fault> {
        let (prefixes, exact) = self.layout.prefixes(bytes, bounds);
        let contender = self.contender(bounds.len())?;
        let started = Instant::now();
        let mut order = contender.argsort(&prefixes)?;
        if !exact || self.unique {
            let sorted = order.par_iter().map(|&index| prefixes[index as usize]);
            let sorted: Vec<u64> = sorted.collect();
            drop(prefixes);
            let runs = Runs {
                layout: self.layout,
                bytes,
                bounds,
                unique: self.unique,
            };
            let on_gpu = !exact && contender.pays_on_gpu(sorted.len());
            if on_gpu {
                runs.sort_on_gpu(&mut order, &sorted, contender)?;
            }
            let most = if on_gpu { ties::FEW } else { usize::MAX };
            let kept = runs.sort_all(&mut order, &sorted, exact, most);
            if self.unique {
                order = kept.concat();
            }
        }
        *self.sorting.lock().unwrap_or_else(PoisonError::into_inner) += started.elapsed();
        Ok(order)
    }
}

/// The end of the first group of whole runs of these sorted prefixes.
fn whole_runs(prefixes: &[u64]) -> usize {
    let mut pairs = prefixes.get(SORTED - 1..).unwrap_or_default().windows(2);
    let more = pairs.position(|pair| pair[0] != pair[1]);
    more.map_or(prefixes.len(), |more| SORTED + more)
}

/// Where sorted prefixes are equal, two or more.
fn runs(prefixes: &[u64]) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    let runs = prefixes.chunk_by(|a, b| a == b).map(move |run| {
        end += run.len();
        end - run.len()..end
    });
    runs.filter(|run| run.len() > 1)
}

/// Moves the records that are not left out to the front.
fn kept(order: &mut [u32]) -> &[u32] {
    let mut count = 0;
    // Without a branch, which would be predicted wrongly half of the time.
    for at in 0..order.len() {
        let index = order[at];
        order[count] = index;
        count += usize::from(index != LEFT_OUT);
    }
    &order[..count]
}

/// Leaves out all records of a run but the first one.
fn leave_out_all_but_first(run: &mut [u32]) {
    if let [_, others @ ..] = run {
        others.fill(LEFT_OUT);
    }
}

/// Runs of records whose prefixes are equal.
struct Runs<'a> {
    layout: &'a dyn Layout,
    bytes: &'a [u8],
    bounds: &'a Bounds,
    /// Leaves out all but the first of equal keys.
    unique: bool,
}

/// The keys of a run, one after the other.
#[derive(Default)]
struct Keys {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

/// A key in [`Keys::bytes`].
struct Entry {
    /// The 64 bits behind what all keys begin with.
    word: u64,
    start: usize,
    end: usize,
    /// The index of the record.
    index: u32,
}

impl Runs<'_> {
    fn record(&self, index: u32) -> &[u8] {
        &self.bytes[self.bounds.range(index as usize)]
    }

    /// Sorts the runs of more than [`ties::FEW`] records by argsorts of their next bytes.
    fn sort_on_gpu(
        &self,
        order: &mut [u32],
        prefixes: &[u64],
        contender: &Contender,
    ) -> Result<(), Fault> {
        let (mut rest, mut end) = (order, 0);
        let mut long = Vec::new();
        for run in runs(prefixes).filter(|run| run.len() > ties::FEW) {
            let (before, behind) = rest.split_at_mut(run.end - end);
            let rows = &mut before[run.start - end..];
            // Prefixes may have other bits than the keys.
            long.push(Tie { rows, depth: 0 });
            (rest, end) = (behind, run.end);
        }
        let pays = |len| contender.pays_on_gpu(len);
        let argsort = |keys: &[u64]| contender.argsort(keys);
        let left = ties::sort(long, self, Order::Ascending, pays, argsort)?;
        left.into_par_iter()
            .for_each_init(Keys::default, |keys, tie| self.sort(tie.rows, keys, 0));
        Ok(())
    }

    /// Sorts the records whose prefixes are equal, unless these are exact or those of more than
    /// `most` records. Returns the order, without those that are left out, in parts.
    fn sort_all<'o>(
        &self,
        mut order: &'o mut [u32],
        mut prefixes: &[u64],
        exact: bool,
        most: usize,
    ) -> Vec<&'o [u32]> {
        let mut groups = Vec::with_capacity(order.len() / SORTED + 1);
        while !order.is_empty() {
            let end = whole_runs(prefixes);
            let (group, others) = order.split_at_mut(end);
            let (own, behind) = prefixes.split_at(end);
            groups.push((group, own));
            (order, prefixes) = (others, behind);
        }
        let groups = groups.into_par_iter();
        let sorted = groups.map_init(Keys::default, |keys, (group, prefixes)| {
            if !exact {
                let runs = || runs(prefixes).filter(|run| run.len() <= most);
                // The records lie anywhere: so many loads are under way at once.
                let records = runs().flat_map(|run| &group[run]);
                let touched = records.fold(0, |bytes, &index| bytes ^ self.touched(index));
                std::hint::black_box(touched);
                runs().for_each(|run| self.sort(&mut group[run], keys, 0));
            } else if self.unique {
                runs(prefixes).for_each(|run| leave_out_all_but_first(&mut group[run]));
            }
            if self.unique { kept(group) } else { group }
        });
        sorted.collect()
    }

    /// Reads a record's first and last byte.
    fn touched(&self, index: u32) -> u8 {
        match self.record(index) {
            [first, .., last] => first ^ last,
            _ => 0,
        }
    }

    /// Makes the key of a record in `key`.
    fn key<'k>(&self, index: u32, key: &'k mut Vec<u8>) -> &'k [u8] {
        key.clear();
        self.layout.push_key(self.record(index), key);
        key
    }

    /// Sorts a run, in which equal keys have ascending indices, stably.
    fn sort(&self, run: &mut [u32], keys: &mut Keys, depth: u32) {
        let is_small = run.len() <= SMALL_RUN
            && run
                .iter()
                .map(|&index| self.record(index).len())
                .sum::<usize>()
                <= SMALL_BYTES;
        if is_small || depth == MAX_DEPTH {
            self.sort_by_kept_keys(run, keys);
        } else {
            self.split(run, depth);
        }
    }

    fn sort_by_kept_keys(&self, run: &mut [u32], keys: &mut Keys) {
        let Keys { bytes, entries } = keys;
        bytes.clear();
        entries.clear();
        for &index in &*run {
            let start = bytes.len();
            self.layout.push_key(self.record(index), bytes);
            entries.push(Entry {
                word: 0,
                start,
                end: bytes.len(),
                index,
            });
        }
        let first = &bytes[..entries.first().map_or(0, |entry| entry.end)];
        let common = entries.iter().fold(first.len(), |length, entry| {
            common(&first[..length], &bytes[entry.start..entry.end])
        });
        for entry in entries.iter_mut() {
            entry.word = word(&bytes[entry.start + common..entry.end]);
        }
        let compare = |a: &Entry, b: &Entry| {
            let key = |entry: &Entry| (&bytes[entry.start..entry.end], entry.index);
            a.word.cmp(&b.word).then_with(|| key(a).cmp(&key(b)))
        };
        if run.len() <= SMALL_RUN {
            entries.sort_unstable_by(compare);
        } else {
            entries.par_sort_unstable_by(compare);
        }
        let mut before = None;
        for (index, entry) in run.iter_mut().zip(entries) {
            let key = (entry.word, &bytes[entry.start..entry.end]);
            let is_left_out = self.unique && before == Some(key);
            *index = if is_left_out { LEFT_OUT } else { entry.index };
            before = Some(key);
        }
    }

    /// Sorts a run by the 64 bits behind what all keys begin with, then what is equal in these.
    fn split(&self, run: &mut [u32], depth: u32) {
        let Some(common) = self.common(run) else {
            if self.unique {
                leave_out_all_but_first(run);
            }
            return;
        };
        let mut words: Vec<(u64, u8, u32)> = run
            .par_iter()
            .map_init(Vec::new, |key, &index| {
                let rest = &self.key(index, key)[common..];
                // Of equal bits, those of a key that ends are first.
                (word(rest), rest.len().min(9) as u8, index)
            })
            .collect();
        words.par_sort_unstable();
        let mut equal = Vec::new();
        let mut rest = run;
        for words in words.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (run, behind) = rest.split_at_mut(words.len());
            rest = behind;
            for (index, word) in run.iter_mut().zip(words) {
                *index = word.2;
            }
            if words.len() > 1 && words[0].1 == 9 {
                equal.push(run);
            } else if self.unique {
                leave_out_all_but_first(run);
            }
        }
        drop(words);
        equal
            .into_par_iter()
            .for_each_init(Keys::default, |keys, run| self.sort(run, keys, depth + 1));
    }

    /// The number of bytes that all keys begin with, or `None` if all are equal.
    fn common(&self, run: &[u32]) -> Option<usize> {
        let mut first = Vec::new();
        let first = self.key(run[0], &mut first);
        let keys = run.par_iter().map_init(Vec::new, |key, &index| {
            let key = self.key(index, key);
            let common = common(first, key);
            (common, key.len() == first.len() && common == key.len())
        });
        let all = keys.reduce(|| (first.len(), true), |a, b| (a.0.min(b.0), a.1 && b.1));
        (!all.1).then_some(all.0)
    }
}

impl ties::Strings for Runs<'_> {
    fn bytes<'a>(&'a self, row: u32, buffer: &'a mut Vec<u8>) -> &'a [u8] {
        self.key(row, buffer)
    }

    fn equal(&self, rows: &mut [u32]) {
        if self.unique {
            leave_out_all_but_first(rows);
        }
    }
}

/// The number of bytes that both begin with.
fn common(a: &[u8], b: &[u8]) -> usize {
    let differs = a.iter().zip(b).position(|(a, b)| a != b);
    differs.unwrap_or(a.len().min(b.len()))
}

/// The first 64 bits, with zeros behind the end.
fn word(bytes: &[u8]) -> u64 {
    Prefix::of(bytes, true).bits
}

impl RecordFormat for Records<'_> {
    type Unit = u8;
    type Key = Vec<u8>;
    type Error = Fault;

    /// A prefix, an end and an index of each record, and 20 bytes in the sort: a copy of prefix and
    /// index, or what the sort of ties takes.
    const OVERHEAD: usize = 40;

    fn sort(
        &self,
        records: &mut [u8],
        take: &mut dyn FnMut(&[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let bounds = self.layout.bounds(records);
        let order = self.order(records, &bounds)?;
        self.kept.fetch_add(order.len() as u64, Relaxed);
        gather(records, &bounds, &order, take)
    }

    fn key(&self, records: &[u8]) -> Vec<u8> {
        let mut key = Vec::new();
        let first = self.layout.cut(records, 1);
        self.layout.push_key(&records[..first], &mut key);
        key
    }

    fn key_bytes(&self, key: &Vec<u8>) -> usize {
        key.capacity()
    }

    fn count(&self, records: &[u8]) -> usize {
        self.layout.count(records)
    }

    fn cut(&self, records: &[u8], units: usize) -> usize {
        self.layout.cut(records, units)
    }

    fn split(&self, sorted: &[u8], key: &Vec<u8>, or_equal: bool) -> usize {
        self.layout.partition(sorted, &|record| {
            let mut other = Vec::new();
            self.layout.push_key(record, &mut other);
            other < *key || or_equal && other == *key
        })
    }
}

/// Passes the records to `take` in this order. Some are copied while others are taken.
fn gather(
    bytes: &[u8],
    bounds: &Bounds,
    order: &[u32],
    take: &mut dyn FnMut(&[u8]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let threads = rayon::current_num_threads();
    // Each thread has two pieces in each of two groups: a sixteenth of all bytes at most.
    let piece = (bytes.len() / (64 * threads)).clamp(LEAST_PIECE, PIECE);
    let mean = (bytes.len() / order.len().max(1)).max(1);
    let pieces: Vec<&[u32]> = order.chunks((piece / mean).max(1)).collect();
    let copy = |pieces: &[&[u32]], copies: &mut Vec<Vec<u8>>| {
        copies.resize_with(pieces.len(), Vec::new);
        let both = copies.par_iter_mut().zip(pieces);
        both.for_each(|(copy, piece)| {
            copy.clear();
            for &index in *piece {
                copy.extend_from_slice(&bytes[bounds.range(index as usize)]);
            }
        });
    };
    let mut groups = pieces.chunks(2 * threads);
    let (mut ready, mut next) = (Vec::new(), Vec::new());
    copy(groups.next().unwrap_or_default(), &mut ready);
    while !ready.is_empty() {
        let group = groups.next().unwrap_or_default();
        rayon::in_place_scope(|scope| {
            scope.spawn(|_| copy(group, &mut next));
            ready.iter().try_for_each(|block| take(block))
        })?;
        std::mem::swap(&mut ready, &mut next);
    }
    Ok(())
}

//! What only the inside shows: each byte is read once, the memory is bounded, files that fail.

use super::*;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Lines `key serial\n`, sorted on the CPU by the text before the first space.
#[derive(Default)]
struct Lines {
    /// The cost of the largest slice that was sorted.
    largest: AtomicU64,
    sorts: AtomicUsize,
    /// The sort that fails, from 1.
    failing: usize,
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|&byte| byte == b'\n')
}

fn key(line: &[u8]) -> &[u8] {
    line.split(|&byte| byte == b' ').next().unwrap()
}

impl RecordFormat for Lines {
    type Unit = u8;
    type Key = Vec<u8>;
    type Error = &'static str;
    const OVERHEAD: usize = 24;

    fn sort(
        &self,
        records: &mut [u8],
        take: &mut dyn FnMut(&[u8]) -> Result<(), &'static str>,
    ) -> Result<(), &'static str> {
        let cost = runs::cost::<Self>(records.len(), self.count(records));
        self.largest.fetch_max(cost, Ordering::Relaxed);
        assert!(!records.is_empty() && records.ends_with(b"\n"));
        if self.sorts.fetch_add(1, Ordering::Relaxed) + 1 == self.failing {
            return Err("the sort failed");
        }
        let mut sorted: Vec<&[u8]> = lines(records).collect();
        sorted.sort_by_key(|line| key(line));
        // Parts of all sizes: 1, 2, 3, ... lines.
        let mut rest = &sorted[..];
        let mut len = 1;
        while !rest.is_empty() {
            let (part, others) = rest.split_at(len.min(rest.len()));
            take(&part.concat())?;
            (rest, len) = (others, len + 1);
        }
        Ok(())
    }

    fn key(&self, records: &[u8]) -> Vec<u8> {
        key(records).to_vec()
    }

    fn key_bytes(&self, key: &Vec<u8>) -> usize {
        key.capacity()
    }

    fn count(&self, records: &[u8]) -> usize {
        lines(records).count()
    }

    fn cut(&self, records: &[u8], units: usize) -> usize {
        assert!(!records.is_empty() && units > 0);
        let mut end = 0;
        for line in lines(records) {
            if end > 0 && end + line.len() > units {
                break;
            }
            end += line.len();
        }
        end
    }

    fn split(&self, sorted: &[u8], bound: &Vec<u8>, or_equal: bool) -> usize {
        let precedes = |line: &&[u8]| key(line) < &bound[..] || (or_equal && key(line) == bound);
        lines(sorted).take_while(precedes).map(<[u8]>::len).sum()
    }
}

/// `count` lines with keys and padding from `line(serial)`.
fn text(count: usize, line: impl Fn(usize) -> (String, usize)) -> Vec<u8> {
    let lines = (0..count).map(|serial| {
        let (key, padding) = line(serial);
        format!("{key} {serial}{}\n", ".".repeat(padding))
    });
    lines.collect::<String>().into_bytes()
}

fn sorted(text: &[u8]) -> Vec<u8> {
    let mut sorted: Vec<&[u8]> = lines(text).collect();
    sorted.sort_by_key(|line| key(line));
    sorted.concat()
}

/// Pushes `text` in vectors of `chunk` lines.
fn pushed(format: Lines, memory: u64, text: &[u8], chunk: usize) -> ExternalSorter<Lines> {
    let mut sorter = ExternalSorter::new(format, memory, &std::env::temp_dir());
    let all: Vec<&[u8]> = lines(text).collect();
    for lines in all.chunks(chunk) {
        sorter.push(lines.concat()).unwrap();
    }
    sorter
}

fn scattered(serial: usize) -> usize {
    serial.wrapping_mul(0x9e37_79b9) >> 4
}

fn eight_digits(serial: usize) -> String {
    format!("{:08}", scattered(serial) % 100_000_000)
}

/// Texts that merges treat differently.
fn texts(count: usize) -> Vec<(&'static str, Vec<u8>)> {
    let ascending = |serial| (format!("{serial:08}"), 0);
    let descending = |serial| (format!("{:08}", count - serial), 0);
    let random = |serial| (eight_digits(serial), serial % 50);
    // Nine tenths of the records have one key.
    let skewed = |serial| match serial % 10 {
        3 => (format!("{:08}", scattered(serial) % 1000), 5),
        _ => ("00000500".to_owned(), 5),
    };
    // Each hundredth record is longer than many blocks.
    let long = |serial| {
        let padding = if serial % 100 == 7 { 5000 } else { 3 };
        (format!("{}", scattered(serial) % 500), padding)
    };
    vec![
        ("ascending", text(count, ascending)),
        ("descending", text(count, descending)),
        ("random", text(count, random)),
        (
            "one key",
            text(count, |serial| ("k".to_owned(), serial % 7)),
        ),
        (
            "two keys",
            text(count, |serial| (format!("{}", scattered(serial) % 2), 0)),
        ),
        (
            "empty keys",
            text(count, |serial| (String::new(), serial % 3)),
        ),
        ("skewed", text(count, skewed)),
        ("long records", text(count, long)),
    ]
}

#[test]
fn batches_are_disjoint_and_within_memory_and_each_byte_is_read_once() {
    const MEMORY: u64 = 600_000;
    for (name, text) in texts(20_000) {
        let sorter = pushed(Lines::default(), MEMORY, &text, 1000);
        assert_eq!(sorter.runs.len(), 20);
        let [file] = &sorter.files[..] else {
            panic!("{name}: {} files", sorter.files.len());
        };
        assert_eq!(file.written(), text.len() as u64, "{name}");

        let needs = sorter.needs();
        let mut merge = sorter.last_merge();
        let (mut result, mut batches) = (Vec::new(), 0);
        let mut buffer = Vec::new();
        while !merge.is_complete() {
            merge.next_batch(&mut buffer).unwrap();
            let batch = sorted(&buffer);
            let cost = runs::cost::<Lines>(batch.len(), lines(&batch).count());
            assert!(cost <= sorter.batch_bytes(), "{name}");
            assert!(
                merge.is_complete() || 2 * cost >= sorter.batch_bytes(),
                "{name}: {cost}"
            );
            assert!(merge.kept_bytes() <= needs.kept, "{name}");
            let held = needs.index + needs.kept + cost + buffer.capacity() as u64;
            assert!(held <= MEMORY, "{name}: {held}");
            result.extend_from_slice(&batch);
            batches += 1;
        }
        // Batches in order, and sorted alone, are the sorted whole.
        assert!(result == sorted(&text), "{name}");
        assert_eq!(file.read(), text.len() as u64, "{name}");
        assert!(batches > 1, "{name}");
    }
}

#[test]
fn sorts_take_at_most_a_batch() {
    for (name, text) in texts(20_000) {
        let mut sorter = pushed(Lines::default(), 600_000, &text, 1000);
        let batch_bytes = sorter.batch_bytes();
        *sorter.format.largest.get_mut() = 0;
        let mut result = Vec::new();
        let mut take = |part: &[u8]| {
            result.extend_from_slice(part);
            Ok(())
        };
        let format = &sorter.format;
        (sorter.last_merge())
            .run(|batch| {
                format
                    .sort(batch, &mut take)
                    .map_err(ExternalError::Records)
            })
            .unwrap();
        assert!(result == sorted(&text), "{name}");
        assert!(sorter.format.largest.into_inner() <= batch_bytes, "{name}");
    }
}

#[test]
fn blocks_are_filled_from_parts_of_any_size() {
    let text = text(10_000, |serial| (eight_digits(serial), serial % 20));
    let sorter = pushed(Lines::default(), 1 << 20, &text, 5000);
    for run in &sorter.runs {
        let block = block_bytes(run.size.cost, 40 + 8);
        let full = run.size.cost.div_ceil(block) as usize;
        let blocks = run.blocks.len();
        // (The second run also counts the share of the first run's entry, so it has fewer.)
        assert!(
            (full * 9 / 10..=full * 11 / 10 + 2).contains(&blocks),
            "{blocks} blocks, {full} full"
        );
        assert!(run.needs.kept <= block * 3 / 2);
        // The least sum of both parts of what is needed has equal parts.
        let ratio = (3 * run.needs.index) as f64 / (5 * run.needs.kept) as f64;
        assert!((0.6..1.6).contains(&ratio), "{ratio}");
    }
}

/// Pushes `chunks` full vectors of records of at most 20 bytes, until there is an error.
///
/// An entry of the index takes 48 bytes, so memory / 960 vectors are the most.
fn push_full(sorter: &mut ExternalSorter<Lines>, chunks: usize) -> Result<Vec<u8>, String> {
    let records = (sorter.chunk_bytes() / (20 + Lines::OVERHEAD as u64)) as usize;
    let mut all = Vec::new();
    for chunk in 0..chunks {
        let line = |serial| (eight_digits(chunk * records + serial), 4);
        let chunk = text(records, line);
        all.extend_from_slice(&chunk);
        sorter.push(chunk).map_err(|error| error.to_string())?;
        assert!(sorter.needs().memory() <= sorter.memory);
    }
    Ok(all)
}

#[test]
fn more_runs_than_fit_in_memory_are_merged_in_passes() {
    // One pass, several, and one run of all records from time to time.
    for (memory, chunks, passes) in [(1 << 20, 20, 0), (200_000, 150, 1), (50_000, 40, 2)] {
        let directory = tempfile::tempdir().unwrap();
        let mut sorter = ExternalSorter::new(Lines::default(), memory, directory.path());
        let all = push_full(&mut sorter, chunks).unwrap();
        assert_eq!(sorter.vectors, chunks);
        let merged = sorter.rewritten / all.len() as u64;
        assert!(
            merged >= passes && (passes > 0 || sorter.rewritten == 0),
            "{memory}: {merged}"
        );
        // Files of merged runs are gone.
        let written: u64 = sorter.files.iter().map(TemporaryFile::written).sum();
        assert_eq!(written, all.len() as u64);
        let mut result = Vec::new();
        sorter
            .finish(&mut |part| {
                result.extend_from_slice(part);
                Ok(())
            })
            .unwrap();
        assert!(result == sorted(&all), "{memory}");
    }
}

#[test]
fn vectors_of_unequal_sizes_are_merged_in_passes() {
    // Long vectors between short ones: some merges are of the newest file alone.
    let mut sorter = ExternalSorter::new(Lines::default(), 50_000, &std::env::temp_dir());
    let (mut all, mut merges) = (Vec::new(), 0);
    for number in 0..120 {
        let count = [1, 350, 20, 3, 90][number % 5];
        let vector = text(count, |serial| {
            (eight_digits(serial * 131 % 50), number % 9)
        });
        all.extend_from_slice(&vector);
        let before = sorter.runs.len();
        sorter.push(vector).unwrap();
        merges += usize::from(sorter.runs.len() < before);
    }
    assert!(merges > 3, "{merges}");
    let mut result = Vec::new();
    sorter
        .finish(&mut |part| {
            result.extend_from_slice(part);
            Ok(())
        })
        .unwrap();
    assert!(result == sorted(&all));
}

#[test]
fn merges_in_passes_stay_within_memory() {
    let mut sorter = ExternalSorter::new(Lines::default(), 200_000, &std::env::temp_dir());
    push_full(&mut sorter, 150).unwrap();
    // A vector of the caller, two batches (of which one is sorted), and the index.
    let largest = *sorter.format.largest.get_mut();
    assert!(largest <= sorter.chunk_bytes(), "{largest}");
}

#[test]
fn the_number_of_passes_grows_slowly() {
    // How often a record is written to a file again.
    let mean = |chunks| {
        let mut sorter = ExternalSorter::new(Lines::default(), 500_000, &std::env::temp_dir());
        let all = push_full(&mut sorter, chunks).unwrap();
        sorter.rewritten as f64 / all.len() as f64
    };
    let (few, many) = (mean(60), mean(240));
    assert!((0.5..=1.0).contains(&few) && many <= 6.0, "{few} {many}");
}

#[test]
fn memory_limits_the_index_of_one_run() {
    let memory = 10_000;
    let mut sorter = ExternalSorter::new(Lines::default(), memory, &std::env::temp_dir());
    let error = push_full(&mut sorter, 1000).unwrap_err();
    let told = "10000 bytes of memory are too few to merge ";
    assert!(error.starts_with(told), "{error}");
    assert_eq!(sorter.runs.len(), 1);
    assert!(sorter.vectors > 1);
    assert!(matches!(
        sorter.push(vec![b'\n']),
        Err(ExternalError::AfterError)
    ));
    assert!(matches!(
        sorter.finish(&mut |_| Ok(())),
        Err(ExternalError::AfterError)
    ));
}

#[test]
fn larger_vectors_than_the_memory_allows_are_sorted() {
    let text = text(20_000, |serial| {
        (format!("{}", scattered(serial)), serial % 50)
    });
    let sorter = pushed(Lines::default(), 1 << 19, &text, 10_000);
    assert!(text.len() as u64 / 2 > sorter.chunk_bytes());
    let mut result = Vec::new();
    sorter
        .finish(&mut |part| {
            result.extend_from_slice(part);
            Ok(())
        })
        .unwrap();
    assert!(result == sorted(&text));
}

#[test]
fn an_error_of_take_ends_the_sort() {
    let (_, text) = texts(20_000).swap_remove(2);
    // In the first batch, in a later one, and without a file.
    for (chunk, good) in [(1000, 0), (1000, 300), (20_000, 5)] {
        let sorter = pushed(Lines::default(), 600_000, &text, chunk);
        let mut calls = 0;
        let outcome = sorter.finish(&mut |_| {
            calls += 1;
            if calls > good {
                Err("the pipe is closed")
            } else {
                Ok(())
            }
        });
        assert_eq!(outcome.unwrap_err().to_string(), "the pipe is closed");
        assert_eq!(calls, good + 1);
    }
}

#[test]
fn an_error_of_a_sort_ends_it() {
    let (_, text) = texts(20_000).swap_remove(2);
    // Of the first, second and third run; then of the first and of a later batch.
    for failing in [1, 2, 3, 21, 23] {
        let format = Lines {
            failing,
            ..Lines::default()
        };
        let mut sorter = ExternalSorter::new(format, 600_000, &std::env::temp_dir());
        let all: Vec<&[u8]> = lines(&text).collect();
        let mut chunks = all.chunks(1000).map(<[&[u8]]>::concat);
        let outcome = chunks.try_for_each(|chunk| sorter.push(chunk));
        assert_eq!(outcome.is_err(), failing <= 20);
        let outcome = outcome.and_then(|()| sorter.finish(&mut |_| Ok(())));
        assert!(matches!(
            outcome,
            Err(ExternalError::Records("the sort failed"))
        ));
    }
}

#[test]
fn a_missing_directory_is_an_error_of_the_second_push() {
    let directory = Path::new("/nonexistent/directory");
    let mut sorter = ExternalSorter::new(Lines::default(), 1 << 20, directory);
    sorter.push(b"b 0\n".to_vec()).unwrap();
    let error = sorter.push(b"a 1\n".to_vec()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("cannot create the temporary file in /nonexistent/directory: ")
            && text.ends_with(": choose another directory"),
        "{text}"
    );
}

/// Linux has a device that is always full.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_that_says_what_to_do() {
    let mut sorter = pushed(Lines::default(), 1 << 20, b"b 0\na 1\n", 1);
    sorter.files[0].file = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let error = sorter.push(b"c 2\n".to_vec()).unwrap_err();
    let ExternalError::TemporaryFile { doing, source, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(
        (*doing, source.kind()),
        ("write", io::ErrorKind::StorageFull)
    );
    let text = error.to_string();
    assert!(
        text.ends_with(": free space there, or choose another directory"),
        "{text}"
    );
    assert!(!text.contains('\n'), "{text}");
    assert!(matches!(
        sorter.finish(&mut |_| Ok(())),
        Err(ExternalError::AfterError)
    ));
}

#[test]
fn a_file_that_became_shorter_is_an_error() {
    let (_, text) = texts(20_000).swap_remove(2);
    for left in [0, text.len() as u64 - 1] {
        let sorter = pushed(Lines::default(), 600_000, &text, 1000);
        sorter.files[0].file.set_len(left).unwrap();
        let error = sorter.finish(&mut |_| Ok(())).unwrap_err();
        let ExternalError::TemporaryFile { doing, source, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(
            (*doing, source.kind()),
            ("read", io::ErrorKind::UnexpectedEof)
        );
    }
}

#[test]
fn texts_of_errors_are_one_line_each() {
    let all = u64::MAX;
    for error in [
        ExternalError::Records("why"),
        ExternalError::TooManyRuns {
            runs: usize::MAX,
            bytes: all,
            memory: all,
        },
        ExternalError::OutOfHostMemory { bytes: all },
        ExternalError::Thread(io::ErrorKind::OutOfMemory.into()),
        ExternalError::AfterError,
    ] {
        let text = error.to_string();
        assert!(!text.contains(['\n', '\r', '\t']), "{text}");
        assert!(!text.contains("  ") && !text.ends_with('.'), "{text}");
    }
}

//! Sorts through a temporary file, with formats that sort on the CPU.

use proptest::prelude::*;
use std::convert::Infallible;
use std::path::Path;
use wgpu_bcfsort::{ExternalError, ExternalSorter, RecordFormat};

/// Records of any length: the number of payload bytes (16 bits, little endian), a key byte, and the
/// payload.
struct Records;

fn records(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let len = 3 + usize::from(u16::from_le_bytes([*rest.first()?, rest[1]]));
        let (record, others) = rest.split_at(len);
        rest = others;
        Some(record)
    })
}

impl RecordFormat for Records {
    type Unit = u8;
    type Key = u8;
    type Error = Infallible;
    const OVERHEAD: usize = 16;

    fn sort(
        &self,
        bytes: &mut [u8],
        take: &mut dyn FnMut(&[u8]) -> Result<(), Infallible>,
    ) -> Result<(), Infallible> {
        assert!(!bytes.is_empty(), "a sort of nothing");
        take(&sorted(bytes))
    }

    fn key(&self, bytes: &[u8]) -> u8 {
        bytes[2]
    }

    fn count(&self, bytes: &[u8]) -> usize {
        records(bytes).count()
    }

    fn cut(&self, bytes: &[u8], units: usize) -> usize {
        let ends = records(bytes).scan(0, |end, record| {
            *end += record.len();
            Some(*end)
        });
        ends.enumerate()
            .take_while(|&(i, end)| i == 0 || end <= units)
            .last()
            .map_or(0, |(_, end)| end)
    }

    fn split(&self, bytes: &[u8], key: &u8, or_equal: bool) -> usize {
        let precedes = |record: &&[u8]| record[2] < *key || (or_equal && record[2] == *key);
        records(bytes).take_while(precedes).map(<[u8]>::len).sum()
    }
}

/// By a stable sort of all records.
fn sorted(bytes: &[u8]) -> Vec<u8> {
    let mut sorted: Vec<&[u8]> = records(bytes).collect();
    sorted.sort_by_key(|record| record[2]);
    sorted.concat()
}

/// One vector of records with these keys and lengths. The payload tells equal keys apart.
fn vector(number: usize, shapes: &[(u8, u16)]) -> Vec<u8> {
    let records = shapes.iter().enumerate().map(|(i, &(key, len))| {
        let mut record = vec![0; 3 + usize::from(len)];
        record[..2].copy_from_slice(&len.to_le_bytes());
        record[2] = key;
        for (byte, serial) in record[3..].iter_mut().zip([i, number]) {
            *byte = serial as u8;
        }
        record
    });
    records.collect::<Vec<_>>().concat()
}

fn sort<F: RecordFormat>(
    format: F,
    memory: u64,
    directory: &Path,
    vectors: &[Vec<F::Unit>],
) -> Result<Vec<F::Unit>, ExternalError<F::Error>> {
    let mut sorter = ExternalSorter::new(format, memory, directory);
    for vector in vectors {
        sorter.push(vector.clone())?;
    }
    let mut result = Vec::new();
    sorter.finish(&mut |part| {
        result.extend_from_slice(part);
        Ok(())
    })?;
    Ok(result)
}

fn shapes() -> impl Strategy<Value = Vec<(u8, u16)>> {
    let key = prop_oneof![0..3_u8, any::<u8>()];
    // Blocks are of 2 * sqrt(memory) = 20 to 2000 bytes.
    let len = prop_oneof![20 => 0..5_u16, 10 => 0..100_u16, 1 => 0..5000_u16];
    prop::collection::vec((key, len), 0..300)
}

proptest! {
    #![proptest_config(
        ProptestConfig { cases: 500, failure_persistence: None, ..Default::default() }
    )]

    /// Too little memory for the index is an error, and never a wrong result.
    #[test]
    fn any_records_are_sorted_stably_in_any_memory(
        all in prop::collection::vec(shapes(), 0..12),
        memory in prop_oneof![0..1000_u64, 1000..100_000_u64, 100_000..1_000_000_u64],
    ) {
        let vectors: Vec<_> = all.iter().enumerate().map(|(i, v)| vector(i, v)).collect();
        let bytes: usize = vectors.iter().map(Vec::len).sum();
        match sort(Records, memory, &std::env::temp_dir(), &vectors) {
            Ok(result) => prop_assert!(result == sorted(&vectors.concat())),
            Err(error) => {
                prop_assert!(matches!(error, ExternalError::TooManyRuns { .. }), "{}", error);
                prop_assert!((bytes as u64) * 30 > memory, "{} bytes: {}", bytes, error);
            }
        }
    }
}

/// Keys alone, by a sort on the CPU.
struct Numbers;

impl RecordFormat for Numbers {
    type Unit = u64;
    type Key = u64;
    type Error = Infallible;
    const OVERHEAD: usize = 0;

    fn sort(
        &self,
        keys: &mut [u64],
        take: &mut dyn FnMut(&[u64]) -> Result<(), Infallible>,
    ) -> Result<(), Infallible> {
        keys.sort_unstable();
        take(keys)
    }

    fn key(&self, keys: &[u64]) -> u64 {
        keys[0]
    }

    fn count(&self, keys: &[u64]) -> usize {
        keys.len()
    }

    fn cut(&self, keys: &[u64], units: usize) -> usize {
        units.clamp(1, keys.len())
    }

    fn split(&self, keys: &[u64], key: &u64, or_equal: bool) -> usize {
        keys.partition_point(|k| k < key || (or_equal && k == key))
    }
}

fn random(serial: u64) -> u64 {
    serial
        .wrapping_add(1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(23)
}

#[test]
fn few_records_in_few_vectors_are_sorted() {
    let directory = tempfile::tempdir().unwrap();
    for lens in [
        &[][..],
        &[0],
        &[1],
        &[2],
        &[0, 0],
        &[0, 1],
        &[1, 0],
        &[1, 1],
        &[1, 1, 1],
        &[2, 0, 3],
        &[1000],
        &[1000, 1],
        &[1, 1000],
        &[500, 500, 500],
    ] {
        let vectors: Vec<Vec<u64>> = (lens.iter().enumerate())
            .map(|(i, &len)| (0..len).map(|j| random(i as u64 * 1000 + j)).collect())
            .collect();
        let mut expected = vectors.concat();
        expected.sort_unstable();
        let result = sort(Numbers, 1 << 20, directory.path(), &vectors).unwrap();
        assert!(result == expected, "{lens:?}");
    }
}

/// The bound of the documentation: sqrt(memory) / 70 times the memory.
#[test]
fn keys_of_fourteen_times_the_memory_are_sorted() {
    const MEMORY: u64 = 1 << 20;
    let chunk = ExternalSorter::new(Numbers, MEMORY, Path::new(".")).chunk_bytes() / 8;
    let all: Vec<u64> = (0..14 * MEMORY / 8).map(random).collect();
    let few: Vec<u64> = all.iter().map(|key| key % 3).collect();
    for keys in [all, few] {
        let vectors: Vec<_> = keys.chunks(chunk as usize).map(<[u64]>::to_vec).collect();
        let result = sort(Numbers, MEMORY, &std::env::temp_dir(), &vectors).unwrap();
        let mut expected = keys;
        expected.sort_unstable();
        assert!(result == expected);
    }
}

#[test]
fn one_vector_needs_no_directory() {
    let missing = Path::new("/nonexistent/directory");
    let result = sort(Numbers, 0, missing, &[vec![], vec![2, 1], vec![]]).unwrap();
    assert_eq!(result, [1, 2]);
}

#[test]
fn no_file_is_left_in_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let is_empty = || std::fs::read_dir(&directory).unwrap().next().is_none();
    let started = || {
        let mut sorter = ExternalSorter::new(Numbers, 1 << 20, directory.path());
        sorter.push(vec![1, 2]).unwrap();
        sorter.push(vec![0, 3]).unwrap();
        sorter
    };
    // On Unix there is no name even while the file is open.
    let sorter = started();
    assert!(is_empty() || cfg!(windows));
    drop(sorter);
    assert!(is_empty());
    started().finish(&mut |_| Ok(())).unwrap();
    assert!(is_empty());
    // A panic of the program's closure.
    let panics = || started().finish(&mut |_| panic!("on purpose"));
    std::panic::catch_unwind(panics).unwrap_err();
    assert!(is_empty());
}

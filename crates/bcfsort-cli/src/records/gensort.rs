//! Checks files of the sort benchmark: records of 100 bytes with a key of 10.

use bcfsort_data::read_full;
use bcfsort_term::fault::Fault;
use rayon::prelude::*;
use std::fmt::Write as _;
use std::io::Read;
use wgpu_bcfsort::Order;

const RECORD: usize = 100;
const KEY: usize = 10;

/// Records that one thread checks at a time.
const BLOCK: usize = 1 << 13;

/// Records read at a time.
const CHUNK: usize = 1 << 17;

/// What a file of the sort benchmark holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) records: u64,
    /// The sum of the CRC-32 of all records. It does not depend on their order.
    pub(crate) checksum: u128,
    /// The number of records whose key is that of the record before.
    pub(crate) duplicates: u64,
    /// The number of records that are out of order with the record before.
    pub(crate) unordered: u64,
    /// The index of the first of these.
    pub(crate) first_unordered: Option<u64>,
}

impl Summary {
    /// Reads all records.
    pub(crate) fn read(name: &str, input: &mut dyn Read, order: Order) -> Result<Self, Fault> {
        let mut summary = Self::default();
        // Before the records of each chunk is the last one of the chunk before.
        let mut buffer = vec![0; RECORD * (1 + CHUNK)];
        loop {
            let read = read_full(input, &mut buffer[RECORD..])
                .map_err(|error| Fault::io(name, "cannot read", &error))?;
            if read % RECORD != 0 {
                let byte = summary.records * RECORD as u64 + (read - read % RECORD) as u64;
                return Err(Fault::Usage(format!(
                    "{name}: byte {byte}: the last record has {} of {RECORD} bytes: the file was \
                     cut short, or is in another format",
                    read % RECORD
                )));
            }
            if read == 0 {
                return Ok(summary);
            }
            summary = summary.and(Self::of(&buffer[..RECORD + read], summary.records, order));
            buffer.copy_within(read..read + RECORD, 0);
        }
    }

    /// All records but the first, which they are compared with. `index` is that of the second.
    fn of(records: &[u8], index: u64, order: Order) -> Self {
        let count = records.len() / RECORD - 1;
        (0..count)
            .into_par_iter()
            .step_by(BLOCK)
            .map(|start| {
                let end = count.min(start + BLOCK) + 1;
                let records = &records[start * RECORD..end * RECORD];
                Self::of_block(records, index + start as u64, order)
            })
            .reduce(Self::default, Self::and)
    }

    fn of_block(records: &[u8], index: u64, order: Order) -> Self {
        let mut block = Self::default();
        let behind = records[RECORD..].chunks_exact(RECORD);
        for (before, record) in records.chunks_exact(RECORD).zip(behind) {
            block.checksum += u128::from(crc32fast::hash(record));
            let index = index + block.records;
            block.records += 1;
            if index == 0 {
                continue;
            }
            let (before, key) = (&before[..KEY], &record[..KEY]);
            block.duplicates += u64::from(before == key);
            let in_order = match order {
                Order::Ascending => before <= key,
                Order::Descending => before >= key,
            };
            if !in_order {
                block.unordered += 1;
                block.first_unordered.get_or_insert(index);
            }
        }
        block
    }

    /// The summary of two parts, of which `self` is the first or has other records in front.
    fn and(self, other: Self) -> Self {
        let firsts = [self.first_unordered, other.first_unordered];
        Self {
            records: self.records + other.records,
            checksum: self.checksum + other.checksum,
            duplicates: self.duplicates + other.duplicates,
            unordered: self.unordered + other.unordered,
            first_unordered: firsts.into_iter().flatten().min(),
        }
    }

    /// The lines to print.
    pub(crate) fn report(&self, name: &str) -> String {
        let mut report = String::new();
        if let Some(first) = self.first_unordered {
            let _ = writeln!(
                report,
                "{name}: not sorted: record {first} is the first of {} out of order",
                self.unordered
            );
        }
        let _ = writeln!(report, "records         {}", self.records);
        let _ = writeln!(report, "checksum        {:x}", self.checksum);
        let _ = writeln!(report, "duplicate keys  {}", self.duplicates);
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(keys: &[&[u8; KEY]]) -> Vec<u8> {
        let records = keys
            .iter()
            .map(|key| [&key[..], &[b'x'; RECORD - KEY]].concat());
        records.collect::<Vec<_>>().concat()
    }

    fn read(mut file: &[u8], order: Order) -> Summary {
        Summary::read("file", &mut file, order).expect("whole records")
    }

    #[test]
    fn a_summary_has_the_checksum_the_duplicates_and_the_first_record_out_of_order() {
        let (a, b, c) = (b"aaaaaaaaaa", b"aaaaaaaaab", b"b\0\0\0\0\0\0\0\0\0");
        let checksum = |keys: &[&[u8; KEY]]| {
            let records = keys.iter().map(|key| crc32fast::hash(&file(&[*key])));
            records.map(u128::from).sum()
        };
        let sorted = Summary {
            records: 4,
            checksum: checksum(&[a, a, b, c]),
            duplicates: 1,
            ..Summary::default()
        };
        assert!(sorted.checksum > u128::from(u32::MAX));
        assert_eq!(read(&file(&[a, a, b, c]), Order::Ascending), sorted);
        assert_eq!(read(&file(&[c, b, a, a]), Order::Descending), sorted);
        let wrong = Summary {
            duplicates: 0,
            unordered: 2,
            first_unordered: Some(2),
            ..sorted
        };
        assert_eq!(read(&file(&[a, c, b, a]), Order::Ascending), wrong);
        assert_eq!(read(&[], Order::Ascending), Summary::default());
    }

    #[test]
    fn no_border_of_chunks_hides_disorder() {
        for at in [1, BLOCK - 1, BLOCK, BLOCK + 1, CHUNK - 1, CHUNK, CHUNK + 1] {
            let mut keys = vec![b"aaaaaaaaaa"; CHUNK + 10];
            keys[..at].fill(b"bbbbbbbbbb");
            let summary = read(&file(&keys), Order::Ascending);
            assert_eq!(summary.records, keys.len() as u64);
            assert_eq!(summary.duplicates, keys.len() as u64 - 2);
            assert_eq!(
                (summary.unordered, summary.first_unordered),
                (1, Some(at as u64))
            );
        }
    }

    #[test]
    fn a_partial_record_is_an_error() {
        let file = file(&[b"aaaaaaaaaa", b"aaaaaaaaaa"]);
        let failed = Summary::read("file", &mut &file[..130], Order::Ascending);
        assert_eq!(
            failed.expect_err("30 bytes too many").message(),
            Some(
                "file: byte 100: the last record has 30 of 100 bytes: the file was cut short, or \
                 is in another format"
            )
        );
    }
}

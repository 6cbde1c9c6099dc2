//! Checks that the output is the input, sorted.

use super::Layout;
use bcfsort_term::fault::Fault;
use rayon::prelude::*;
use std::hash::{DefaultHasher, Hasher};

/// The least number of records that one thread checks at a time.
const BLOCK: usize = 1 << 12;

/// Checks that the records written are the records read, sorted.
pub(super) struct Verifier<'a> {
    layout: &'a dyn Layout,
    read: Fingerprint,
    written: Fingerprint,
    /// The key of the last record written.
    last: Option<Vec<u8>>,
}

/// A sum over a multiset of records, whatever their order. Two different multisets have the same
/// sum with probability 2^-64.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Fingerprint {
    count: u64,
    sum: u64,
}

impl Fingerprint {
    fn of(record: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(record);
        Self {
            count: 1,
            sum: hasher.finish(),
        }
    }

    const fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            sum: self.sum.wrapping_add(other.sum),
        }
    }
}

impl<'a> Verifier<'a> {
    pub(super) fn new(layout: &'a dyn Layout) -> Self {
        Self {
            layout,
            read: Fingerprint::default(),
            written: Fingerprint::default(),
            last: None,
        }
    }

    pub(super) const fn count(&self) -> u64 {
        self.written.count
    }

    pub(super) fn read(&mut self, records: &[u8]) {
        let bounds = self.layout.bounds(records);
        let sum = (0..bounds.len())
            .into_par_iter()
            .map(|index| Fingerprint::of(&records[bounds.range(index)]))
            .reduce(Fingerprint::default, Fingerprint::and);
        self.read = self.read.and(sum);
    }

    pub(super) fn write(&mut self, records: &[u8]) -> Result<(), Fault> {
        let bounds = self.layout.bounds(records);
        let Some(last) = bounds.len().checked_sub(1) else {
            return Ok(());
        };
        let key = |index: usize| {
            let mut key = Vec::new();
            self.layout
                .push_key(&records[bounds.range(index)], &mut key);
            key
        };
        let blocks = (0..bounds.len())
            .into_par_iter()
            .step_by(BLOCK)
            .map(|start| {
                let mut sum = Fingerprint::default();
                let mut before = match start {
                    0 => self.last.clone(),
                    _ => Some(key(start - 1)),
                };
                for index in start..bounds.len().min(start + BLOCK) {
                    sum = sum.and(Fingerprint::of(&records[bounds.range(index)]));
                    let this = key(index);
                    if before.is_some_and(|before| before > this) {
                        return Err(index);
                    }
                    before = Some(this);
                }
                Ok(sum)
            });
        let sum = blocks.try_reduce(Fingerprint::default, |a, b| Ok(a.and(b)));
        let sum = sum.map_err(|index| {
            Fault::Device(format!(
                "--verify: record {} of the result is out of order. Please report this with the \
                 device's name",
                self.written.count + index as u64 + 1
            ))
        })?;
        self.written = self.written.and(sum);
        self.last = Some(key(last));
        Ok(())
    }

    pub(super) fn finish(&self) -> Result<(), Fault> {
        if self.read == self.written {
            return Ok(());
        }
        Err(Fault::Device(format!(
            "--verify: the {} records of the result are not the {} records of the input. Please \
             report this with the device's name",
            self.written.count, self.read.count
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::args::LineArgs;
    use super::*;

    fn verify(read: &[u8], written: &[u8]) -> Result<(), Fault> {
        let lines = LineArgs::default().plan(&[], None, false).expect("lines");
        let mut verifier = Verifier::new(&lines);
        verifier.read(read);
        for record in written.split_inclusive(|&byte| byte == b'\n') {
            verifier.write(record)?;
        }
        verifier.finish()
    }

    #[test]
    fn only_the_sorted_input_passes() {
        assert!(verify(b"b\na\nc\na\n", b"a\na\nb\nc\n").is_ok());
        assert!(verify(b"", b"").is_ok());
        assert!(verify(b"b\na\n", b"b\na\n").is_err());
        assert!(verify(b"b\na\nc\n", b"a\nb\nb\n").is_err());
        assert!(verify(b"b\na\nc\n", b"a\nb\n").is_err());
    }
}

//! Checks that the output is the input, sorted.

use super::neighbours::Neighbours;
use super::{Bounds, Layout};
use bcfsort_term::fault::Fault;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hasher};

/// Checks that the records written are the records read, sorted.
pub(super) struct Verifier<'a> {
    layout: &'a dyn Layout,
    read: Fingerprint,
    written: Fingerprint,
    neighbours: Neighbours<'a>,
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

    fn of_all(records: &[u8], bounds: &Bounds) -> Self {
        let indices = (0..bounds.len()).into_par_iter();
        let each = indices.map(|index| Self::of(&records[bounds.range(index)]));
        each.reduce(Self::default, Self::and)
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
            neighbours: Neighbours::new(layout),
        }
    }

    pub(super) const fn count(&self) -> u64 {
        self.written.count
    }

    pub(super) fn read(&mut self, records: &[u8]) {
        let bounds = self.layout.bounds(records);
        self.read = self.read.and(Fingerprint::of_all(records, &bounds));
    }

    pub(super) fn write(&mut self, records: &[u8]) -> Result<(), Fault> {
        let bounds = self.layout.bounds(records);
        let orders = self.neighbours.compare(records, &bounds);
        if let Some(index) = orders.iter().position(|&order| order == Ordering::Greater) {
            return Err(Fault::Device(format!(
                "--verify: record {} of the result is out of order. Please report this with the \
                 device's name",
                self.written.count + index as u64 + 1
            )));
        }
        self.written = self.written.and(Fingerprint::of_all(records, &bounds));
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

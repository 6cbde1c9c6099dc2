//! Sorts of rows by a comparator, a WGSL function of the caller: their indices are sorted, and the
//! rows are gathered by these.

use super::encode::Composer;
use super::{Carried, Job};
use crate::Comparator;
use crate::phases::sample_sort::{ComparisonSort, record_comparison_sort};
use crate::plan::Tuning;
use crate::recording::{Buffer, Recording};

/// Records a sort of rows by a comparator.
#[must_use]
pub fn record_compared(job: &Job<'_>, comparator: &Comparator, tuning: &Tuning) -> Recording {
    let mut composer = Composer::new(job);
    composer.recording.comparator = Some(comparator.clone());
    composer.recording.workgroup_bytes = job.limits.workgroup_bytes;
    if job.len > 0 {
        composer.compared(tuning);
    }
    job.arrangement.counted(composer.recording)
}

impl Composer<'_> {
    fn compared(&mut self, tuning: &Tuning) {
        let arrangement = self.job.arrangement;
        let indices = if arrangement.carried == Carried::Indices {
            Buffer::Values
        } else {
            self.reserve(Buffer::EncodedValues, 1)
        };
        self.iota(indices);
        let sort = ComparisonSort {
            indices,
            scratch: Buffer::Scratch,
            rows: Buffer::Keys,
            ranks: self.job.ranks.clone().unwrap_or(0..self.job.len),
        };
        record_comparison_sort(&mut self.recording, &sort, tuning, self.job.limits);
        self.columns(indices);
        if let (Some(words), Some(to)) = (arrangement.compared, arrangement.end_of_keys()) {
            self.column((Buffer::Keys, words, to), indices);
        }
    }
}

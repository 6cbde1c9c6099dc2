//! Sorts of rows by a custom comparator, a WGSL function: the indices of the rows are sorted, those
//! of segments then stably by segment, and the rows are gathered by index.

use super::encode::Composer;
use super::{LayoutSort, counted};
use crate::order::Order;
use crate::recording::{Buffer, Recording};
use crate::row_function::Comparator;
use crate::samplesort::Tuning;
use crate::samplesort::{AS_THEY_ARE, Records, Shape, WordSort, record};

/// Records a sort of rows by a comparator.
#[must_use]
pub fn record_compared(
    job: &LayoutSort<'_>,
    comparator: &Comparator,
    tuning: &Tuning,
) -> Recording {
    let mut composer = Composer::new(job);
    composer.recording.custom = Some(comparator.function().clone());
    if job.len > 0 {
        composer.compared(comparator.row_words(), tuning);
    }
    composer.found();
    counted(composer.recording, job.layout.count_at)
}

impl Composer<'_> {
    fn compared(&mut self, row_words: u32, tuning: &Tuning) {
        let indices = self.whole_index_buffer();
        self.iota(indices);
        let records = |keys| Records { keys, values: None };
        let sort = WordSort {
            len: self.job.len,
            shape: Shape::row(row_words, self.job.order == Order::Descending),
            source: records(indices),
            target: records(indices),
            scratch: records(Buffer::Scratch),
            map: AS_THEY_ARE,
            ranks: self.ranks_of_all(),
        };
        let limits = self.job.limits;
        record(&mut self.recording, &sort, tuning, limits);
        let of_words = |recording: &mut Recording, sort: &WordSort| {
            record(recording, sort, tuning, limits);
        };
        let indices = self.by_segment(&of_words, indices);
        self.row_heads(indices);
        self.payload(indices);
    }
}

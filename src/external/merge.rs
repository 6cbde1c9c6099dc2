//! The merge of sorted runs, in batches that the format sorts.
//!
//! The result is in order of (key, run, position in the run): sorted and stable. The blocks of all
//! runs are loaded in order of (key of the first record, run, position). A batch loads the next
//! blocks in this order. The *bound* is (key, run) of the first block that is not loaded. All
//! loaded records up to the bound go out, compared by (key, run); the others are kept for later
//! batches.
//!
//! **This is correct.** Let x go out, and y be a record that is not loaded. The block of y follows
//! in the order of blocks, so (key, run) of y is at least that of its block, at least the bound,
//! and at least (key, run) of x. If all are equal, x and y are of one run, whose blocks are loaded
//! in the order of their positions, so x precedes y. Kept records are above the bound, and so
//! above x. Hence each batch precedes all later ones. Within a batch, a stable sort by key of
//! records in order of (run, position) is the order of the result.
//!
//! **Little is kept.** Let a block be followed by another loaded block of its run. Its records are
//! at most the first key of that block, which is at most the bound, so they go out. So does the
//! first record of each loaded block. Of each run, a part of one block is kept, and only that block
//! has to be searched for the bound. This holds for all inputs: equal keys or skew make no
//! difference. Each block is read once.

use super::file::TemporaryFile;
use super::runs::{Block, Run};
use super::{ExternalError, RecordFormat};
use crate::at_once::{for_each_at_once, lock};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Mutex, mpsc};

/// Bytes of one read. More than one thread reads the blocks of a run.
const PIECE: usize = 4 << 20;

/// A run, and how far it is merged.
struct Source<'a, F: RecordFormat> {
    run: &'a Run<F::Key>,
    file: &'a TemporaryFile,
    /// The number of blocks that are loaded.
    next: usize,
    /// The byte offset of the next block.
    offset: u64,
    /// The units of the blocks that the present batch loads.
    loading: usize,
    /// Records that are loaded and did not go out: a part of the last loaded block.
    kept: Vec<F::Unit>,
}

impl<F: RecordFormat> Source<'_, F> {
    fn last_loaded(&self) -> Option<&Block<F::Key>> {
        self.run.blocks[..self.next].last()
    }

    /// At most the cost of its block.
    fn kept_cost(&self) -> u64 {
        match self.last_loaded() {
            Some(block) if !self.kept.is_empty() => block.cost::<F>(),
            _ => 0,
        }
    }
}

/// A merge of runs, batch by batch.
pub(super) struct Merge<'a, F: RecordFormat> {
    format: &'a F,
    sources: Vec<Source<'a, F>>,
    /// The next block of each run: its key, and the run.
    blocks: BinaryHeap<Reverse<(&'a F::Key, usize)>>,
    /// The cost of a batch, if no block alone is above it.
    budget: u64,
}

impl<'a, F: RecordFormat> Merge<'a, F> {
    pub(super) fn new(
        format: &'a F,
        files: &'a [TemporaryFile],
        runs: &'a [Run<F::Key>],
        budget: u64,
    ) -> Self {
        let sources = runs.iter().map(|run| Source {
            run,
            file: &files[run.file],
            next: 0,
            offset: run.offset,
            loading: 0,
            kept: Vec::new(),
        });
        let firsts = (runs.iter().enumerate())
            .filter_map(|(number, run)| Some(Reverse((&run.blocks.first()?.key, number))));
        Self {
            format,
            sources: sources.collect(),
            blocks: firsts.collect(),
            // A vector has at most this many bytes, also where memory may have more.
            budget: budget.min(isize::MAX as u64),
        }
    }

    /// Loads the next batch into `buffer`, not sorted yet.
    pub(super) fn next_batch(
        &mut self,
        buffer: &mut Vec<F::Unit>,
    ) -> Result<(), ExternalError<F::Error>> {
        self.choose_blocks();
        let lengths = self.sources.iter().map(|s| s.kept.len() + s.loading);
        resize(buffer, lengths.sum())?;
        self.load(buffer)?;
        self.keep_above_bound(buffer);
        Ok(())
    }

    /// Whether all records went out: there is no bound if all blocks are loaded.
    pub(super) fn is_complete(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Chooses the next blocks, up to the budget and at least one.
    fn choose_blocks(&mut self) {
        let mut cost: u64 = self.sources.iter().map(Source::kept_cost).sum();
        let mut is_first = true;
        while let Some(mut top) = self.blocks.peek_mut() {
            let Reverse((_, number)) = *top;
            let source = &mut self.sources[number];
            let run: &'a Run<F::Key> = source.run;
            let block = &run.blocks[source.next];
            cost = cost.saturating_add(block.cost::<F>());
            if cost > self.budget && !is_first {
                break;
            }
            is_first = false;
            source.loading += block.units;
            source.next += 1;
            match run.blocks.get(source.next) {
                Some(next) => *top = Reverse((&next.key, number)),
                None => drop(std::collections::binary_heap::PeekMut::pop(top)),
            }
        }
    }

    /// Fills the buffer: for each run its kept records, and after them the chosen blocks, which are
    /// contiguous in the file.
    fn load(&mut self, buffer: &mut [F::Unit]) -> Result<(), ExternalError<F::Error>> {
        let mut pieces = Vec::new();
        let mut space = buffer;
        for source in &mut self.sources {
            let (kept, others) = space.split_at_mut(source.kept.len());
            kept.copy_from_slice(&source.kept);
            let (loading, others) = others.split_at_mut(source.loading);
            space = others;
            for piece in bytemuck::cast_slice_mut(loading).chunks_mut(PIECE) {
                let offset = source.offset;
                source.offset += piece.len() as u64;
                pieces.push(Mutex::new((source.file, piece, offset)));
            }
        }
        for_each_at_once(&pieces, |piece| {
            let (file, bytes, offset) = &mut *lock(piece);
            (file.read_at(bytes, *offset)).map_err(|error| file.error("read", error))
        })
    }

    /// Moves the records above the bound from the buffer to their sources.
    fn keep_above_bound(&mut self, buffer: &mut Vec<F::Unit>) {
        let bound = self.blocks.peek();
        let (mut from, mut to) = (0, 0);
        for (number, source) in self.sources.iter_mut().enumerate() {
            let end = from + source.kept.len() + source.loading;
            let searched = match source.last_loaded() {
                Some(block) if source.loading > 0 => block.units,
                _ => source.kept.len(),
            };
            let mut out = end;
            if let (Some(&Reverse((key, of))), 1..) = (bound, searched) {
                let last = &buffer[end - searched..end];
                out = end - searched + self.format.split(last, key, number <= of);
            }
            source.kept = buffer[out..end].to_vec();
            source.loading = 0;
            buffer.copy_within(from..out, to);
            to += out - from;
            from = end;
        }
        buffer.truncate(to);
    }

    /// The bytes of memory that the kept records take.
    #[cfg(test)]
    pub(super) fn kept_bytes(&self) -> u64 {
        let units: usize = self.sources.iter().map(|s| s.kept.capacity()).sum();
        (units * size_of::<F::Unit>()) as u64
    }

    /// Passes all batches to `sort` in order. A thread loads the next batch meanwhile: two batches
    /// are in memory.
    pub(super) fn run(
        mut self,
        mut sort: impl FnMut(&mut [F::Unit]) -> Result<(), ExternalError<F::Error>>,
    ) -> Result<(), ExternalError<F::Error>> {
        let (batches, loaded) = mpsc::sync_channel(0);
        let (used, free) = mpsc::channel();
        let load = move || {
            loop {
                let mut buffer: Vec<F::Unit> = free.try_recv().unwrap_or_default();
                let outcome = self.next_batch(&mut buffer);
                let is_last = outcome.is_err() || self.is_complete();
                // Nobody receives if a sort has failed.
                if batches.send(outcome.map(|()| buffer)).is_err() || is_last {
                    break;
                }
            }
        };
        std::thread::scope(|scope| {
            let loader = std::thread::Builder::new().name("bcfsort.loader".into());
            (loader.spawn_scoped(scope, load)).map_err(ExternalError::Thread)?;
            // An early return drops the receiver, which ends the loader.
            for batch in loaded {
                let mut batch = batch?;
                if !batch.is_empty() {
                    sort(&mut batch)?;
                    // The loader may have ended.
                    let _ = used.send(batch);
                }
            }
            Ok(())
        })
    }
}

/// Changes the length of a vector whose contents are not needed.
fn resize<T: bytemuck::Pod, E>(buffer: &mut Vec<T>, len: usize) -> Result<(), ExternalError<E>> {
    if buffer.capacity() < len {
        // First freed, so that both are never in memory.
        *buffer = Vec::new();
        (buffer.try_reserve_exact(len)).map_err(|_| ExternalError::OutOfHostMemory {
            bytes: (len as u64).saturating_mul(size_of::<T>() as u64),
        })?;
    }
    buffer.resize(len, T::zeroed());
    Ok(())
}

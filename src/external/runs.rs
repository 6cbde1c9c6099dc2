//! Sorted runs in temporary files, and the blocks that index them.

use super::file::TemporaryFile;
use super::{ExternalError, RecordFormat};
use std::io;
use std::iter::Sum;

/// Whole records of a run, contiguous in the file: about [`block_bytes`], or one longer record.
pub(super) struct Block<K> {
    /// The key of the first record.
    pub(super) key: K,
    pub(super) units: usize,
    records: usize,
}

impl<K> Block<K> {
    /// The bytes of memory that a sort of the block takes.
    pub(super) fn cost<F: RecordFormat>(&self) -> u64 {
        cost::<F>(self.units, self.records)
    }
}

/// A sorted run: a contiguous range of a temporary file, cut into blocks.
pub(super) struct Run<K> {
    /// The index of its file.
    pub(super) file: usize,
    /// The byte offset of its first block. The others follow it.
    pub(super) offset: u64,
    /// Whether it was merged from others.
    pub(super) is_merged: bool,
    pub(super) blocks: Vec<Block<K>>,
    pub(super) size: Size,
    pub(super) needs: Needs,
}

/// The size of the records of a run.
#[derive(Clone, Copy, Default)]
pub(super) struct Size {
    pub(super) units: u64,
    /// The bytes of memory that a sort of all of them would take.
    pub(super) cost: u64,
}

/// What runs take of the memory while they are merged.
#[derive(Clone, Copy, Default)]
pub(super) struct Needs {
    /// The bytes of the index: the keys of the blocks.
    pub(super) index: u64,
    /// The cost of the records that the merge may have to keep: for each run, of the costliest
    /// block that has more than one record. (The merge never keeps the first record of a block.)
    pub(super) kept: u64,
}

impl Needs {
    /// The bytes of memory with which a merge is possible.
    ///
    /// In a merge: the index, what is kept, and two batches of at least twice what is kept, so that
    /// at least half of each batch is new. While runs are written: the index, and two vectors of a
    /// third of the memory each.
    pub(super) fn memory(self) -> u64 {
        (self.index.saturating_mul(3)).saturating_add(self.kept.saturating_mul(5))
    }
}

impl Sum for Size {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::default(), |sum, size| Self {
            units: sum.units.saturating_add(size.units),
            cost: sum.cost.saturating_add(size.cost),
        })
    }
}

impl Sum for Needs {
    fn sum<I: Iterator<Item = Self>>(needs: I) -> Self {
        needs.fold(Self::default(), |sum, needs| Self {
            index: sum.index.saturating_add(needs.index),
            kept: sum.kept.saturating_add(needs.kept),
        })
    }
}

/// The bytes of memory that a sort of `records` records with `units` units takes.
pub(super) fn cost<F: RecordFormat>(units: usize, records: usize) -> u64 {
    (units as u64 * size_of::<F::Unit>() as u64)
        .saturating_add((records as u64).saturating_mul(F::OVERHEAD as u64))
}

/// The cost of the blocks of a run of the cost `run`, if the index takes `entry` bytes for each.
///
/// A run of the cost C in blocks of the cost B needs C / B * e bytes for the index, and keeps B.
/// The sum that [`Needs::memory`] limits, 3 C e / B + 5 B, is least for B = sqrt(3 C e / 5). It is
/// then 10 B, so it grows with the root of C: one long run needs less than the short runs that were
/// merged to it.
pub(super) fn block_bytes(run: u64, entry: u64) -> u64 {
    let square = u128::from(run) * u128::from(entry) * 3 / 5;
    // Above 2^64, blocks are limited by other things.
    u64::try_from(square).unwrap_or(u64::MAX).isqrt().max(1)
}

/// What [`Needs::memory`] is for a run of the cost `run` in such blocks.
pub(super) fn least_memory(run: u64, entry: u64) -> u64 {
    block_bytes(run, entry).saturating_mul(10)
}

/// The bytes of the index that the block of a record takes.
pub(super) fn entry_bytes<F: RecordFormat>(format: &F, record: &[F::Unit]) -> u64 {
    let key = format.key(record);
    (size_of::<Block<F::Key>>() + format.key_bytes(&key)) as u64
}

/// Writes one run to the end of a file.
pub(super) struct RunWriter<'a, F: RecordFormat> {
    format: &'a F,
    file: &'a mut TemporaryFile,
    block_units: usize,
    offset: u64,
    blocks: Vec<Block<F::Key>>,
}

impl<'a, F: RecordFormat> RunWriter<'a, F> {
    /// `size` is that of all records of the run, and `entry` the bytes of the index for a block.
    pub(super) fn new(format: &'a F, file: &'a mut TemporaryFile, size: Size, entry: u64) -> Self {
        // Blocks of equal cost, if records are of about the same length.
        let block_bytes = block_bytes(size.cost, entry);
        let units = u128::from(size.units) * u128::from(block_bytes) / u128::from(size.cost.max(1));
        Self {
            format,
            block_units: usize::try_from(units).unwrap_or(usize::MAX).max(1),
            offset: file.written(),
            file,
            blocks: Vec::new(),
        }
    }

    /// Sorts records that follow those of earlier calls, and appends them to the file.
    pub(super) fn sort(&mut self, records: &mut [F::Unit]) -> Result<(), ExternalError<F::Error>> {
        // A format has no way to pass on an error of the file: the rest is dropped.
        let mut written: io::Result<()> = Ok(());
        let sorted = self.format.sort(records, &mut |part| {
            if written.is_ok() {
                written = self.file.append(bytemuck::cast_slice(part));
                extend_blocks(self.format, &mut self.blocks, part, self.block_units);
            }
            Ok(())
        });
        written.map_err(|error| self.file.error("write", error))?;
        sorted.map_err(ExternalError::Records)
    }

    /// The run. Its file will have the index `file`.
    pub(super) fn finish(mut self, file: usize, is_merged: bool) -> Run<F::Key> {
        self.blocks.shrink_to_fit();
        let blocks = self.blocks;
        let keys = (blocks.iter()).map(|block| self.format.key_bytes(&block.key) as u64);
        let index =
            keys.sum::<u64>() + (size_of::<Run<F::Key>>() + size_of_val(blocks.as_slice())) as u64;
        let several = blocks.iter().filter(|block| block.records > 1);
        let kept = several.map(Block::cost::<F>).max().unwrap_or(0);
        let sizes = blocks.iter().map(|block| Size {
            units: block.units as u64,
            cost: block.cost::<F>(),
        });
        Run {
            file,
            offset: self.offset,
            is_merged,
            size: sizes.sum(),
            blocks,
            needs: Needs { index, kept },
        }
    }
}

/// Appends sorted records to the blocks of a run. The last block is filled first: formats may pass
/// their records in parts of any size.
fn extend_blocks<F: RecordFormat>(
    format: &F,
    blocks: &mut Vec<Block<F::Key>>,
    mut part: &[F::Unit],
    block_units: usize,
) {
    while !part.is_empty() {
        let room = (blocks.last()).map_or(0, |block| block_units.saturating_sub(block.units));
        let fitting = if room == 0 { 0 } else { format.cut(part, room) };
        // A record that does not fit is returned whole.
        let fills = (1..=room).contains(&fitting);
        // At least one unit, so that a wrong `cut` cannot make this loop endless.
        let units = if fills {
            fitting
        } else {
            format.cut(part, block_units).max(1)
        };
        let (records, others) = part.split_at(units);
        let count = format.count(records);
        match blocks.last_mut() {
            Some(block) if fills => {
                block.units += units;
                block.records += count;
            }
            _ => blocks.push(Block {
                key: format.key(records),
                units,
                records: count,
            }),
        }
        part = others;
    }
}

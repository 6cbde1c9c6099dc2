//! Sorted runs in the temporary file, and the blocks that index them.

use super::file::TemporaryFile;
use super::{ExternalError, RecordFormat};
use std::io;

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

/// A sorted run: a contiguous range of the file, cut into blocks.
pub(super) struct Run<K> {
    /// The byte offset of its first block. The others follow it.
    pub(super) offset: u64,
    pub(super) blocks: Vec<Block<K>>,
    /// Bytes of memory that this index takes.
    pub(super) index: u64,
    /// The cost of the records that the merge may have to keep: of the costliest block that has
    /// more than one record. (The merge never keeps the first record of a block.)
    pub(super) kept: u64,
}

/// The bytes of memory that a sort of `records` records with `units` units takes.
pub(super) fn cost<F: RecordFormat>(units: usize, records: usize) -> u64 {
    (units as u64 * size_of::<F::Unit>() as u64)
        .saturating_add((records as u64).saturating_mul(F::OVERHEAD as u64))
}

/// The cost of a block if `memory` bytes may be used.
///
/// With runs of a third of the memory M, D bytes of records have 3 D / M runs. The bytes kept by
/// the merge grow with the blocks' size B as 3 D / M * B, and the index with e bytes for each block
/// shrinks as D / B * e. The sum that [`needed`] limits, 3 D B^-1 e + 15 D B / M, is least for
/// B = sqrt(M e / 5). Here e is about 24 bytes for a key of 8 bytes.
pub(super) fn block_bytes(memory: u64) -> u64 {
    2 * memory.isqrt()
}

/// The bytes of memory with which a merge of these runs is possible, from the sizes of the index
/// and of what is kept of all runs.
///
/// In a merge: the index, what is kept, and two batches of at least twice what is kept, so that at
/// least half of each batch is new. While runs are written: the index, and two vectors of a third
/// of the memory each.
pub(super) fn needed(index: u64, kept: u64) -> u64 {
    index
        .saturating_mul(3)
        .saturating_add(kept.saturating_mul(5))
}

/// Sorts `records`, and appends them to the file as one run.
pub(super) fn write_run<F: RecordFormat>(
    format: &F,
    mut records: Vec<F::Unit>,
    block_bytes: u64,
    file: &mut TemporaryFile,
) -> Result<Run<F::Key>, ExternalError<F::Error>> {
    // Blocks of equal cost, if records are of about the same length.
    let units = records.len() as u128;
    let cost = cost::<F>(records.len(), format.count(&records)).max(1);
    let block_units = (units * u128::from(block_bytes) / u128::from(cost)).max(1);
    let mut run = Run {
        offset: file.written(),
        blocks: Vec::new(),
        index: 0,
        kept: 0,
    };
    // A format has no way to pass on an error of the file: the rest of the run is dropped.
    let mut written: io::Result<()> = Ok(());
    let sorted = format.sort(&mut records, &mut |part| {
        if written.is_ok() {
            written = file.append(bytemuck::cast_slice(part));
            extend_blocks(format, &mut run.blocks, part, block_units as usize);
        }
        Ok(())
    });
    written.map_err(|error| file.error("write", error))?;
    sorted.map_err(ExternalError::Records)?;

    run.blocks.shrink_to_fit();
    let keys = (run.blocks.iter()).map(|block| format.key_bytes(&block.key) as u64);
    run.index =
        keys.sum::<u64>() + (size_of::<Run<F::Key>>() + size_of_val(run.blocks.as_slice())) as u64;
    let several = run.blocks.iter().filter(|block| block.records > 1);
    run.kept = several.map(Block::cost::<F>).max().unwrap_or(0);
    Ok(run)
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
        // (A record that does not fit is returned whole.)
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

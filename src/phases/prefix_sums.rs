//! Colored prefix sums on one screen (paper, introduction and Appendix A).
//!
//! ```text
//! tile sums       P workgroups    d sums of each tile
//! tile offsets    1 workgroup     prefix sums of the d x P matrix of tile sums
//! prefix sums     P workgroups    prefix sums of each tile, plus its offsets, in place
//! ```

use super::{grid, parts};
use crate::algorithm::Scan;
use crate::kernel::{Kernel, PrefixSumsParams};
use crate::options::PrefixSumsOptions;
use crate::plan::{DeviceLimits, Tiling};
use crate::recording::{Buffer, Phase, Recording, Step};
use crate::{KeyType, Order};

/// Records the prefix sums of `len` values in [`Buffer::Keys`], with their colors in
/// [`Buffer::Colors`].
///
/// `len` must be at most [`DeviceLimits::max_len`], and `key` a type that [prefix sums
/// support](Kernel::takes).
#[must_use]
pub fn record_prefix_sums(
    len: u32,
    key: KeyType,
    options: &PrefixSumsOptions,
    limits: &DeviceLimits,
) -> Recording {
    let mut recording = Recording::new(len, key, Order::Ascending);
    if len == 0 {
        return recording;
    }
    let (method, colors) = (options.method, options.colors);
    let tiling = Tiling::new(len, options.tiles);
    let rounds = tiling.rounds();
    let sums = recording.reserve(Buffer::Sums, tiling.sum_words(colors) * 4);
    let parameters = PrefixSumsParams {
        len,
        tile: tiling.tile,
        tiles: tiling.tiles,
        first: 0,
        end: tiling.tiles,
        colors,
        rounds,
        exclusive: u32::from(options.scan == Scan::Exclusive),
    };

    let all_tiles = |recording: &mut Recording, phase, kernel| {
        for (first, end) in parts(tiling.tiles, tiling.tile, limits) {
            let parameters = PrefixSumsParams {
                first,
                end,
                ..parameters
            };
            recording.steps.push(Step {
                phase,
                round: 0,
                kernel,
                workgroups: grid(end - first, limits),
                bindings: vec![
                    ("values", Buffer::Keys),
                    ("colors", Buffer::Colors),
                    ("tile_sums", sums),
                ],
                parameters: parameters.into(),
                keys: u64::from(end - first) * u64::from(tiling.tile),
            });
        }
    };
    all_tiles(&mut recording, Phase::TileSums, Kernel::TileSums { method });
    recording.steps.push(Step {
        phase: Phase::TileOffsets,
        round: 0,
        kernel: Kernel::TileOffsets,
        workgroups: [1, 1],
        bindings: vec![("tile_sums", sums)],
        parameters: parameters.into(),
        keys: tiling.sum_words(colors),
    });
    all_tiles(
        &mut recording,
        Phase::PrefixSums,
        Kernel::PrefixSums { method },
    );
    recording
}

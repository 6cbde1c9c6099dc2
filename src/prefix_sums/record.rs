//! Colored prefix sums on one screen (paper, introduction and Appendix A).
//!
//! ```text
//! tile sums       P workgroups    d sums of each tile
//! tile offsets    1 workgroup     prefix sums of the d x P matrix of tile sums
//! prefix sums     P workgroups    prefix sums of each tile, plus its offsets, in place
//! ```

use super::kernels::{self, PrefixSumsParams};
use super::method::Scan;
use super::options::PrefixSumsOptions;
use super::tiling::Tiling;
use crate::device::{DeviceLimits, grid, parts};
use crate::key::KeyType;
use crate::order::Order;
use crate::recording::{Buffer, Phase, Recording, Step};
use crate::shader::Kernel;

/// Records the prefix sums of `len` values in [`Buffer::Keys`], with their colors in
/// [`Buffer::Colors`].
///
/// `len` must be at most [`DeviceLimits::max_len`], and `key` a type that [prefix sums
/// support](kernels::adds).
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

    let all_tiles = |recording: &mut Recording, phase, kernel: &Kernel| {
        for (first, end) in parts(tiling.tiles, tiling.tile, limits) {
            let parameters = PrefixSumsParams {
                first,
                end,
                ..parameters
            };
            recording.steps.push(Step {
                phase,
                round: 0,
                kernel: kernel.clone(),
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
    let kernel = kernels::tile_sums(method, key);
    all_tiles(&mut recording, Phase::TileSums, &kernel);
    recording.steps.push(Step {
        phase: Phase::TileOffsets,
        round: 0,
        kernel: kernels::tile_offsets(key),
        workgroups: [1, 1],
        bindings: vec![("tile_sums", sums)],
        parameters: parameters.into(),
        keys: tiling.sum_words(colors),
    });
    let kernel = kernels::prefix_sums(method, key);
    all_tiles(&mut recording, Phase::PrefixSums, &kernel);
    recording
}

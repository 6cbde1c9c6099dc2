//! The dispatches of a scan.

use super::kernels::{self, ScanParams, TILE};
use crate::device::{DeviceLimits, grid, parts};
use crate::key::KeyType;
use crate::layout::counted;
use crate::order::Order;
use crate::recording::{Buffer, Phase, Recording, Step};

/// Where the values of a scan are, and their sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanLayout {
    /// The index of the first value in [`Buffer::Keys`].
    pub first: u32,
    /// The index of the first sum in [`Buffer::Output`]; `None` if the sums replace the values.
    pub output: Option<u32>,
    /// Whether a sum is that of the values before its own.
    pub is_exclusive: bool,
    /// The word of [`Buffer::Count`] that holds the number of values.
    pub count_at: Option<u32>,
}

/// Records the prefix sums of `len` values, or of at most as many, of a type that scans
/// [add](kernels::adds).
#[must_use]
pub fn record_scan(len: u32, of: KeyType, layout: &ScanLayout, limits: &DeviceLimits) -> Recording {
    let mut recording = Recording::new(len, of, Order::Ascending);
    if len == 0 {
        return recording;
    }
    let tiles = len.div_ceil(TILE);
    let bytes = u64::from(tiles) * of.bytes();
    let sums = recording.reserve(Buffer::Sums, bytes);
    let parameters = ScanParams {
        len,
        first: 0,
        end: tiles,
        value_first: layout.first,
        output_first: layout.output.unwrap_or(0),
        exclusive: layout.is_exclusive.into(),
    };
    let all = [
        ("values", Buffer::Keys),
        ("sums", sums),
        ("output", Buffer::Output),
    ];
    let is_in_place = layout.output.is_none();
    let phases = [
        (Phase::TileSums, kernels::tile_sums(of), &all[..2]),
        (Phase::TileOffsets, kernels::tile_offsets(of), &all[1..2]),
        (
            Phase::PrefixSums,
            kernels::prefix_sums(of, is_in_place),
            &all[..if is_in_place { 2 } else { 3 }],
        ),
    ];
    for (phase, kernel, bindings) in phases {
        let of_dispatches = match phase {
            Phase::TileOffsets => vec![(0, 1)],
            _ => parts(tiles, TILE, limits).collect(),
        };
        for (first, end) in of_dispatches {
            recording.steps.push(Step {
                phase,
                round: 0,
                kernel: kernel.clone(),
                workgroups: grid(end - first, limits),
                bindings: bindings.to_vec(),
                parameters: ScanParams {
                    first,
                    end,
                    ..parameters
                }
                .into(),
                keys: u64::from(end - first) * u64::from(TILE),
            });
        }
    }
    counted(recording, layout.count_at)
}

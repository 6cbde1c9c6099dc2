//! The kernels of prefix sums: `shaders/prefix_sums`.

use super::method::{MOST_COLORS, PrefixSumsMethod};
use crate::key::KeyType;
use crate::shader::{Conflicts, Definition, Kernel, Piece, Source, W, parameters, wgsl};

parameters! {
    /// `prefix_sums/values.wgsl`.
    PrefixSumsParams { len, tile, tiles, first, end, colors, rounds, exclusive }
}

/// Every kernel.
#[must_use]
pub fn all() -> Vec<Kernel> {
    let types = [KeyType::U32, KeyType::F32];
    let methods = PrefixSumsMethod::ALL;
    let of = |kernel: fn(PrefixSumsMethod, KeyType) -> Kernel| {
        methods
            .into_iter()
            .flat_map(move |method| types.map(|of| kernel(method, of)))
    };
    let tile_offsets = types.map(tile_offsets);
    of(tile_sums)
        .chain(tile_offsets)
        .chain(of(prefix_sums))
        .collect()
}

/// Returns true if there are prefix sums of this type: `u32`, `i32` and `f32`.
#[must_use]
pub const fn adds(of: KeyType) -> bool {
    of.words() == 1
}

/// Phase 1: the sums of each tile.
#[must_use]
pub fn tile_sums(method: PrefixSumsMethod, of: KeyType) -> Kernel {
    let (cells, lane_sums) = lane_sums(method);
    let name = match method {
        PrefixSumsMethod::Naive => "prefix_sums.tile_sums.naive",
        PrefixSumsMethod::ConflictFree => "prefix_sums.tile_sums",
    };
    let constants = vec![("MOST_COLORS", MOST_COLORS), ("SUM_CELLS", cells)];
    let texts = vec![lane_sums, wgsl!("prefix_sums/tile_sums.wgsl")];
    kernel(name, of, constants, texts, conflicts(method))
}

/// Phase 2: the offsets of the tiles.
#[must_use]
pub fn tile_offsets(of: KeyType) -> Kernel {
    let constants = vec![("SUM_CELLS", MOST_COLORS * (W + 1))];
    let texts = vec![wgsl!("prefix_sums/tile_offsets.wgsl")];
    let name = "prefix_sums.tile_offsets";
    kernel(name, of, constants, texts, Conflicts::None)
}

/// Phase 3: the prefix sums of each tile.
#[must_use]
pub fn prefix_sums(method: PrefixSumsMethod, of: KeyType) -> Kernel {
    let (cells, lane_sums) = lane_sums(method);
    let name = match method {
        PrefixSumsMethod::Naive => "prefix_sums.prefix_sums.naive",
        PrefixSumsMethod::ConflictFree => "prefix_sums.prefix_sums",
    };
    let constants = vec![
        ("MOST_COLORS", MOST_COLORS),
        ("SUM_CELLS", cells),
        ("TILE_CELLS", W * (W + 1)),
    ];
    let texts = vec![lane_sums, wgsl!("prefix_sums/prefix_sums.wgsl")];
    kernel(name, of, constants, texts, conflicts(method))
}

/// A kernel for values of a type that it [adds]. Integers share a kernel.
fn kernel(
    name: &'static str,
    of: KeyType,
    of_kernel: Vec<(&'static str, u32)>,
    texts: Vec<Source>,
    conflicts: Conflicts,
) -> Kernel {
    debug_assert!(adds(of), "{of} has no prefix sums");
    let (key, variant, number) = match of {
        KeyType::F32 => (
            KeyType::F32,
            ".f32",
            wgsl!("prefix_sums/values.wgsl", "floats"),
        ),
        _ => (
            KeyType::U32,
            ".u32",
            wgsl!("prefix_sums/values.wgsl", "integers"),
        ),
    };
    let mut constants = vec![("W", W)];
    constants.extend(of_kernel);
    let shared = [
        number,
        wgsl!("lib/bank_matrix.wgsl", "matrix"),
        wgsl!("lib/workgroup.wgsl"),
        wgsl!("prefix_sums/values.wgsl", "params"),
        wgsl!("prefix_sums/values.wgsl", "tile_matrix"),
    ];
    let is_cells = |name: &str| ["TILE_CELLS", "SUM_CELLS"].contains(&name);
    let cells = constants.iter().filter(|constant| is_cells(constant.0));
    let cells: u32 = cells.map(|cells| cells.1).sum();
    Definition {
        name: name.into(),
        variant,
        key,
        constants,
        pieces: shared.into_iter().chain(texts).map(Piece::File).collect(),
        parameters: PrefixSumsParams::default().into(),
        workgroup_bytes: cells * 4,
        conflicts,
    }
    .into()
}

const fn conflicts(method: PrefixSumsMethod) -> Conflicts {
    match method {
        PrefixSumsMethod::Naive => Conflicts::OfBaseline,
        PrefixSumsMethod::ConflictFree => Conflicts::None,
    }
}

/// Cells of workgroup memory for the lanes' sums, and the text that defines their layout.
const fn lane_sums(method: PrefixSumsMethod) -> (u32, Source) {
    match method {
        PrefixSumsMethod::Naive => (
            W * MOST_COLORS,
            wgsl!("prefix_sums/lane_sums.wgsl", "naive"),
        ),
        // The original matrix and the padded transposed one.
        PrefixSumsMethod::ConflictFree => (
            (W + W + 1) * MOST_COLORS,
            wgsl!("prefix_sums/lane_sums.wgsl", "conflict_free"),
        ),
    }
}

//! The kernels of scans: `shaders/scan`.

use crate::key::KeyType;
use crate::shader::{Conflicts, Definition, Kernel, Piece, Source, parameters, wgsl};

parameters! {
    /// `scan/values.wgsl`.
    ScanParams { len, first, end, value_first, output_first, exclusive }
}

/// Lanes of a workgroup.
const LANES: u32 = 256;

/// Values of a tile, which a workgroup adds up.
pub(super) const TILE: u32 = 32 * LANES;

const SCAN: Source = wgsl!("lib/scan.wgsl", "sum");
const WORKGROUP: Source = wgsl!("lib/workgroup.wgsl");

/// Every kernel.
#[must_use]
pub fn all() -> Vec<Kernel> {
    let of = |key| {
        [
            tile_sums(key),
            tile_offsets(key),
            prefix_sums(key, false),
            prefix_sums(key, true),
        ]
    };
    let types = [KeyType::U32, KeyType::F32, KeyType::U64];
    types.into_iter().flat_map(of).collect()
}

/// Returns true if there are scans of this type: of 32 and 64 bits, but for `f64`.
#[must_use]
pub const fn adds(of: KeyType) -> bool {
    use KeyType::{F32, I32, I64, U32, U64};
    matches!(of, U32 | I32 | F32 | U64 | I64)
}

/// First phase: the sum of each tile.
#[must_use]
pub fn tile_sums(of: KeyType) -> Kernel {
    let texts = [WORKGROUP, wgsl!("scan/tile_sums.wgsl")];
    kernel("scan.tile_sums", of, &[], &texts, LANES)
}

/// Second phase: the offset of each tile.
#[must_use]
pub fn tile_offsets(of: KeyType) -> Kernel {
    let memory = wgsl!("lib/scan.wgsl", "memory");
    let texts = [memory, SCAN, wgsl!("scan/tile_offsets.wgsl")];
    let cells = LANES + LANES / line(of) + 32 + 1;
    kernel("scan.tile_offsets", of, &[], &texts, cells)
}

/// Third phase: the prefix sums of each tile, over the values or in another buffer.
#[must_use]
pub fn prefix_sums(of: KeyType, is_in_place: bool) -> Kernel {
    let (name, buffers) = if is_in_place {
        let buffers = wgsl!("scan/values.wgsl", "in_place");
        ("scan.prefix_sums.in_place", buffers)
    } else {
        let buffers = wgsl!("scan/values.wgsl", "out_of_place");
        ("scan.prefix_sums", buffers)
    };
    // As many bytes for each type.
    let each = 8 / of.words();
    let part = each * LANES;
    let texts = [WORKGROUP, buffers, SCAN, wgsl!("scan/prefix_sums.wgsl")];
    let cells = part + part / line(of) + 1;
    kernel(name, of, &[("EACH", each)], &texts, cells)
}

/// Values that all banks of workgroup memory hold at once.
const fn line(of: KeyType) -> u32 {
    32 / of.words()
}

/// A kernel for values of a type that it [adds], with so many of them in workgroup memory. Signed
/// and unsigned integers share a kernel.
fn kernel(
    name: &'static str,
    of: KeyType,
    own_constants: &[(&'static str, u32)],
    texts: &[Source],
    cells: u32,
) -> Kernel {
    debug_assert!(adds(of), "{of} values are not added");
    let (key, variant, value) = match of {
        KeyType::F32 => (of, ".f32", wgsl!("scan/values.wgsl", "floats")),
        _ if of.words() == 2 => (KeyType::U64, ".u64", wgsl!("scan/values.wgsl", "wide")),
        _ => (KeyType::U32, ".u32", wgsl!("scan/values.wgsl", "words")),
    };
    let mut constants = vec![("LANES", LANES), ("VALUES", LANES), ("TILE", TILE)];
    constants.extend(own_constants);
    let shared = [value, wgsl!("scan/values.wgsl", "params")];
    let texts = shared.iter().chain(texts);
    Definition {
        name: name.into(),
        variant,
        key,
        constants,
        pieces: texts.copied().map(Piece::File).collect(),
        parameters: ScanParams::default().into(),
        // A sum by itself takes 16 bytes.
        workgroup_bytes: cells * of.words() * 4 + 16,
        conflicts: Conflicts::None,
    }
    .into()
}

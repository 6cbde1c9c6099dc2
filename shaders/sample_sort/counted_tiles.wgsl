// COUNTING SORT of keys of 8 or 16 bits, first phase: sorts each tile of TILE keys, and adds how many of each it has to how many
// there are.
//
// `counts`: tables of how many there are of each key that there can be, by its bits; nothing before. Tiles take turns with them.
//
// A sorted tile has all copies of a key side by side. Where they begin and where they end is added to one word, so that a tile
// of one key adds to it twice, and not TILE times: additions to one word wait for each other. (In what order keys are does not matter
// here, so this is one kernel for all types.)
//
// A workgroup of LANES = TILE / 32 lanes a tile; of the sorted tile, each lane has 32 consecutive keys.
//
// No bank conflict: see sort_tile.wgsl. Lines of 32 keys lie 33 cells apart.

struct Params {
    // Records.
    len: u32,
    // The first tile of this dispatch, and one past the last that there can be.
    first: u32,
    end: u32,
    // Where the keys are: see io/source_in_rows.wgsl.
    key_first: u32,
    key_stride: u32,
    key_shift: u32,
    // Tables.
    tables: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if number >= params.end || number * TILE >= params.len {
        return;
    }
    let base = number * TILE;
    let count = min(params.len - base, TILE);
    var r: array<Record, 32>;
    load_tile(&r, lane, base, count);
    sort_tile(&r, lane, count);

    for (var j = 0u; j < 32u; j++) {
        r[j] = record_load(lane * 33u + j);
    }
    // (Of the tile's ends, some cell in a bank that is free.)
    let bits = 32u >> params.key_shift;
    let table = (number % params.tables) << bits;
    var before = record_load(select(lane * 33u - 2u, 30u, lane == 0u));
    let behind = record_load(select(lane * 33u + 33u, 0u, lane == LANES - 1u));
    for (var j = 0u; j < 32u; j++) {
        let key = r[j];
        let next = select(r[min(j + 1u, 31u)], behind, j == 31u);
        let at = lane * 32u + j;
        let begin = select(0u, at, key != before);
        let end = select(0u, at + 1u, key != next || at + 1u == count);
        if at < count && begin != end {
            atomicAdd(&counts[table + (key >> (32u - bits))], end - begin);
        }
        before = key;
    }
}

// SAMPLE SORT, first phase where keys are distributed twice: sorts each tile of TILE records, and ranks
// the splitters in it while it is in workgroup memory.
//
// `splitters`, `ties`: the splitters, which are known beforehand; child s begins with splitter s. `prefixes`: for each splitter a row
// of a word a tile: how many records of the tile are left of it.
//
// A workgroup of LANES = TILE / 32 lanes a tile; a lane searches every LANES-th splitter.
//
// No bank conflict in the sort (see sort_tile.wgsl). The searches' probes depend on the keys and meet in
// banks: log2(TILE) + 1 of them a splitter, an exception by name.

@group(0) @binding(5) var<storage, read> splitters: array<Key>;
@group(0) @binding(6) var<storage, read> ties: array<u32>;
@group(0) @binding(7) var<storage, read_write> prefixes: array<u32>;

fn rank_in_tile(count: u32, splitter: Key, tie: u32, equal: bool) -> u32 {
    var rank = 0u;
    for (var step = TILE; step > 0u; step /= 2u) {
        let next = rank + step;
        // (The cell before it is one of the tile, whatever `count` is.)
        let probe = min(next, TILE) - 1u;
        if next <= count && is_left(record_load(probe + probe / 32u), splitter, tie, equal) {
            rank = next;
        }
    }
    return rank;
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if number >= params.end {
        return;
    }
    let base = number * TILE;
    let count = min(params.len - base, TILE);
    var r: array<Record, 32>;
    load_tile(&r, lane, base, count);
    sort_tile(&r, lane, count);
    store_tile(lane, base, count);

    for (var s = 1u + lane; s < params.children; s += LANES) {
        let splitter = splitters[s];
        let tie = ties[s];
        var rank = rank_in_tile(count, splitter, tie, false);
        if INDEXED == 0u && tie != 0u {
            let equal = rank_in_tile(count, splitter, tie, true) - rank;
            rank += (equal * tie) >> 16u;
        }
        prefixes[(s - 1u) * params.tiles + number] = rank;
    }
}

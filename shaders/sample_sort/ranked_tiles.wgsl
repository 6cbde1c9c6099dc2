// SAMPLE SORT, first phase where keys are distributed twice: sorts each tile of TILE records, and ranks
// the splitters in it while it is in workgroup memory.
//
// `splitters`, `ties`: the splitters, which are known beforehand; child s begins with splitter s. `prefixes`: for each
// splitter a row of a word a tile: how many records of the tile are left of it.
//
// A workgroup of LANES = TILE / 32 lanes a tile; a lane searches every LANES-th splitter.
//
// No bank conflict in the sort (see sort_tile.wgsl). The searches' probes depend on the keys and meet in
// banks: log2(TILE) + 1 of them a splitter, an exception by name.

@group(0) @binding(5) var<storage, read> splitters: array<Key>;
@group(0) @binding(6) var<storage, read> ties: array<u32>;
@group(0) @binding(7) var<storage, read_write> prefixes: array<u32>;

// (A cell of the tile, whatever is asked for.)
fn probe(base: u32, i: u32) -> Record {
    let cell = base + min(i, TILE - 1u);
    return record_probe(cell + cell / 32u);
}

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
    store_tile(lane, base, count);

    let tiles = (params.len - 1u) / TILE + 1u;
    for (var s = 1u + lane; s < params.children; s += LANES) {
        let rank = rank_of(0u, count, TILE, splitters[s], ties[s]);
        prefixes[(s - 1u) * tiles + number] = rank;
    }
}

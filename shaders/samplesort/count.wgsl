// SAMPLE SORT, count: how many records of a segment each of its children has.
//
// A tile's records are searched among the splitters, all of a lane's side by side, and counted in
// workgroup memory; a tile adds what it has of each child to `counts`.
//
// Bank conflicts where the data leads: nodes of a level share banks from the sixth level on, and
// lanes whose records are of one child share its counter.

@group(0) @binding(7) var<storage, read_write> counts: array<atomic<u32>>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = workgroup_number(group, groups);
    if number >= params.end || number >= tiles() {
        return;
    }
    let tile = tile_at(number);
    plant(tile.segment, lane);
    var r: array<Record, EACH>;
    var node: array<u32, EACH>;
    let full = is_full(tile);
    if full {
        for (var j = 0u; j < EACH; j++) {
            r[j] = load_source(tile.first + j * LANES + lane);
        }
    } else {
        for (var j = 0u; j < EACH; j++) {
            r[j] = load_source(clamp(tile.first + j * LANES + lane, tile.start, tile.end - 1u));
        }
    }
    if maps_source() {
        for (var j = 0u; j < EACH; j++) {
            r[j] = encode_source(r[j]);
        }
    }
    workgroupBarrier();
    let top = top_of_tree();
    for (var j = 0u; j < EACH; j++) {
        node[j] = below_top(top, r[j]);
    }
    for (var level = 8u; level < NODES; level *= 2u) {
        for (var j = 0u; j < EACH; j++) {
            node[j] = below(node[j], r[j]);
        }
    }
    for (var j = 0u; j < EACH; j++) {
        let place = tile.first + j * LANES + lane;
        if full || (place >= tile.start && place < tile.end) {
            atomicAdd(&histogram[node[j] - NODES], 1u);
        }
    }
    workgroupBarrier();
    for (var i = lane; i < NODES; i += LANES) {
        let count = atomicLoad(&histogram[i]);
        if count > 0u {
            atomicAdd(&counts[tile.segment * NODES + i], count);
        }
    }
}

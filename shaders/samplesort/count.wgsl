// Uses lib/key_map, lib/workgroup, samplesort/io, samplesort/maps, samplesort/params,
// samplesort/segments, samplesort/shape, samplesort/tile.
//
// SAMPLE SORT, count: the histogram of each segment's records by child.
//
// A lane searches its records among the splitters, all of them together, and counts them in
// workgroup memory. A workgroup adds its histogram to `counts`.
//
// Bank conflicts depend on the data: nodes of a level share banks from the sixth level on, and
// records of the same child share its counter.

@group(0) @binding(7) var<storage, read_write> counts: array<atomic<u32>>;

fn search_and_count(tile: Tile, lane: u32) {
    load_records(tile, lane);
    search_records();
    let full = is_full(tile);
    for (var j = 0u; j < EACH; j++) {
        let position = tile.first + j * LANES + lane;
        if full || (position >= tile.start && position < tile.end) {
            atomicAdd(&histogram[node[j] - NODES], 1u);
        }
    }
}

// Adds the histogram to the counts of a segment's children.
fn add_counts(segment: u32, lane: u32) {
    workgroupBarrier();
    for (var i = lane; i < NODES; i += LANES) {
        let count = atomicLoad(&histogram[i]);
        if count > 0u {
            atomicAdd(&counts[segment * NODES + i], count);
        }
    }
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = (params.first + workgroup_number(group, groups)) * params.group_tiles;
    let end = min(params.end * params.group_tiles, tiles());
    var segment = 0xffffffffu;
    for (var number = first; number < min(end, first + params.group_tiles); number++) {
        let tile = tile_at(number);
        if tile.segment != segment {
            if segment != 0xffffffffu {
                add_counts(segment, lane);
                workgroupBarrier();
            }
            segment = tile.segment;
            build_tree(segment, lane);
            workgroupBarrier();
        }
        search_and_count(tile, lane);
    }
    if segment != 0xffffffffu {
        add_counts(segment, lane);
    }
}

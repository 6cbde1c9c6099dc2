// Uses lib/key_map, lib/workgroup, samplesort/bins, samplesort/io, samplesort/params,
// samplesort/segments, samplesort/shape, samplesort/tile.
//
// SAMPLE SORT, count: the histogram of each segment's records by child.
//
// A lane finds the children of its records, by their bins or in the tree of the splitters, and
// counts them in workgroup memory. A workgroup adds its histogram to `counts`.
//
// Where children get room by an estimate, only one record of each 2^`interval_log2` is counted, at
// a hashed position: positions in a tile are then numbers of intervals.
//
// Bank conflicts depend on the data: bins share banks, as nodes of a level do from the sixth level
// on, and records of the same child share its counter.

// ---- all

// The position of record `j` of a lane; outside of the segment, that of some record of it.
fn counted_at(tile: Tile, j: u32, lane: u32) -> u32 {
    return clamp(tile.first + j * LANES + lane, tile.start, tile.last);
}

fn load_counted(tile: Tile, lane: u32) {
    load_records(tile, lane);
}

// ---- sampled

// The position of the record that is counted for interval `j` of a lane.
fn counted_at(tile: Tile, j: u32, lane: u32) -> u32 {
    let interval = clamp(tile.first + j * LANES + lane, tile.start, tile.last);
    let part = hash(interval ^ params.seed) & ((1u << params.interval_log2) - 1u);
    return min((interval << params.interval_log2) + part, params.len - 1u);
}

fn load_counted(tile: Tile, lane: u32) {
    for (var j = 0u; j < EACH; j++) {
        r[j] = load_source(counted_at(tile, j, lane));
    }
    map_records();
}

// ---- find_by_records

// Finds the children of a lane's records.
fn find_children(tile: Tile, bins: Bins, lane: u32) {
    load_counted(tile, lane);
    if !find_bins(bins) {
        search_records();
    }
}

// ---- find_by_keys

// Finds the children of a lane's records. Where bins are ranges of keys, reads the values only if a
// bin is crowded.
fn find_children(tile: Tile, bins: Bins, lane: u32) {
    let are_keys = bins.shift >= 32u && bins.shift != NO_BINS;
    var is_found = false;
    if are_keys {
        for (var j = 0u; j < EACH; j++) {
            r[j] = record_of(source_keys[counted_at(tile, j, lane)], 0u);
        }
        map_records();
        is_found = find_bins(bins);
    }
    if !is_found {
        load_counted(tile, lane);
        if are_keys || !find_bins(bins) {
            search_records();
        }
    }
}

// ---- count

@group(0) @binding(7) var<storage, read_write> counts: array<atomic<u32>>;

fn search_and_count(tile: Tile, bins: Bins, lane: u32) {
    find_children(tile, bins, lane);
    let full = is_full(tile);
    for (var j = 0u; j < EACH; j++) {
        let position = tile.first + j * LANES + lane;
        if full || (position >= tile.start && position < tile.end) {
            atomicAdd(&histogram[node[j]], 1u);
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
    var bins: Bins;
    for (var number = first; number < min(end, first + params.group_tiles); number++) {
        let tile = tile_at(number);
        if tile.segment != segment {
            if segment != 0xffffffffu {
                add_counts(segment, lane);
                workgroupBarrier();
            }
            segment = tile.segment;
            bins = load_splitters(segment, lane);
            workgroupBarrier();
        }
        search_and_count(tile, bins, lane);
    }
    if segment != 0xffffffffu {
        add_counts(segment, lane);
    }
}

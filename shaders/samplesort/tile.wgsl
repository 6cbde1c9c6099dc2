// A tile of a segment to split, processed by one workgroup: a lane has every LANES-th record.
//
// Clamped as in `segments.wgsl`: a tile is within its segment, and may then be empty.

@group(0) @binding(6) var<storage, read> splitters: array<u32>;
@group(0) @binding(8) var<storage, read> tile_segments: array<u32>;

// Records per lane.
const EACH: u32 = TILE / LANES;

var<workgroup> histogram: array<atomic<u32>, NODES + 1u>;

struct Tile {
    segment: u32,
    // The position of its first row of memory, and its records: [start, end).
    first: u32,
    start: u32,
    end: u32,
    // The last record of the segment; 0 if the segment has no record.
    last: u32,
}

fn tile_at(number: u32) -> Tile {
    var owner = 0u;
    if params.whole == 0u {
        owner = min(tile_segments[number], params.segments - 1u);
    }
    let segment = segment_at(owner);
    let end = segment.start + segment.count;
    let row = segment.start / 32u * 32u;
    let first = min(row + (number - segment.first_tile) * TILE, end);
    let tile_end = first + min(TILE, end - first);
    return Tile(owner, first, max(first, segment.start), tile_end, max(end, 1u) - 1u);
}

// True if all positions of the tile hold records of its segment.
fn is_full(tile: Tile) -> bool {
    return tile.start == tile.first && tile.end == tile.first + TILE;
}

fn tiles() -> u32 {
    var all = (records() + TILE - 1u) / TILE;
    if params.whole == 0u {
        all = min(segments[0], params.tiles);
    }
    return all;
}

// Loads the splitters and the table of bins into workgroup memory, and clears the histogram.
fn load_splitters(segment: u32, lane: u32) -> Bins {
    for (var i = lane; i < NODES; i += LANES) {
        cells_store(0u, NODES, i, splitter_at(segment * params.stride + i * WORDS));
        atomicStore(&histogram[i], 0u);
    }
    if lane == 0u {
        atomicStore(&histogram[NODES], 0u);
    }
    return load_bins(segment, lane);
}

// The upper three levels of the tree, in registers, as all lanes read them.
struct Top {
    n1: Record,
    n2: Record,
    n3: Record,
    n4: Record,
    n5: Record,
    n6: Record,
    n7: Record,
}

fn top_of_tree() -> Top {
    return Top(
        cells_load(0u, NODES, 1u),
        cells_load(0u, NODES, 2u),
        cells_load(0u, NODES, 3u),
        cells_load(0u, NODES, 4u),
        cells_load(0u, NODES, 5u),
        cells_load(0u, NODES, 6u),
        cells_load(0u, NODES, 7u),
    );
}

// The node of the fourth level where the search for a record continues.
fn below_top(top: Top, r: Record) -> u32 {
    let a = is_greater(r, top.n1);
    let b = is_greater(r, pick(top.n2, top.n3, a));
    let low = pick(top.n4, top.n5, b);
    let high = pick(top.n6, top.n7, b);
    let c = is_greater(r, pick(low, high, a));
    return 8u + select(0u, 4u, a) + select(0u, 2u, b) + select(0u, 1u, c);
}

// The node of the next level where the search continues.
fn below(node: u32, r: Record) -> u32 {
    return 2u * node + select(0u, 1u, is_greater(r, cells_load(0u, NODES, node)));
}

// A lane's records, and the child of each; while a tree is searched, the node that is reached.
var<private> r: array<Record, EACH>;
var<private> node: array<u32, EACH>;

// Loads a lane's records. At positions outside of the segment, loads some record of the segment.
fn load_records(tile: Tile, lane: u32) {
    if is_full(tile) {
        for (var j = 0u; j < EACH; j++) {
            r[j] = load_source(tile.first + j * LANES + lane);
        }
    } else {
        for (var j = 0u; j < EACH; j++) {
            r[j] = load_source(clamp(tile.first + j * LANES + lane, tile.start, tile.last));
        }
    }
    map_records();
}

fn map_records() {
    if maps_source() {
        for (var j = 0u; j < EACH; j++) {
            r[j] = encode_source(r[j]);
        }
    }
}

// Searches a lane's records in the tree, all of them together, level by level.
fn search_records() {
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
        node[j] -= NODES;
    }
}

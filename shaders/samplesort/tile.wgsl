// A tile of a segment that is to be split: a workgroup each, a lane every LANES-th record.

@group(0) @binding(6) var<storage, read> splitters: array<u32>;
@group(0) @binding(8) var<storage, read> tile_segments: array<u32>;

// Records of a lane.
const EACH: u32 = TILE / LANES;

var<workgroup> histogram: array<atomic<u32>, NODES + 1u>;

struct Tile {
    // Its segment.
    segment: u32,
    // The place of its first row of memory; and its records, [start, end).
    first: u32,
    start: u32,
    end: u32,
}

fn tile_at(number: u32) -> Tile {
    var owner = 0u;
    if params.whole == 0u {
        owner = tile_segments[number];
    }
    let segment = segment_at(owner);
    let first = segment.start / 32u * 32u + (number - segment.first_tile) * TILE;
    let end = segment.start + segment.count;
    return Tile(owner, first, max(first, segment.start), min(first + min(TILE, end - first), end));
}

fn tiles() -> u32 {
    var all = (params.len + TILE - 1u) / TILE;
    if params.whole == 0u {
        all = segments[0];
    }
    return all;
}

// Brings the splitters to workgroup memory, and clears the histogram.
fn plant(segment: u32, lane: u32) {
    for (var i = lane; i < NODES; i += LANES) {
        cells_store(0u, NODES, i, splitter_at(segment * NODES + i));
        atomicStore(&histogram[i], 0u);
    }
    if lane == 0u {
        atomicStore(&histogram[NODES], 0u);
    }
}

// The upper three levels of the tree, which all lanes read: in registers.
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

// The node below them where the search for a record goes on.
fn below_top(top: Top, r: Record) -> u32 {
    let a = is_greater(r, top.n1);
    let b = is_greater(r, select(top.n2, top.n3, a));
    let low = select(top.n4, top.n5, b);
    let high = select(top.n6, top.n7, b);
    let c = is_greater(r, select(low, high, a));
    return 8u + select(0u, 4u, a) + select(0u, 2u, b) + select(0u, 1u, c);
}

// Where it goes on from a node.
fn below(node: u32, r: Record) -> u32 {
    return 2u * node + select(0u, 1u, is_greater(r, cells_load(0u, NODES, node)));
}

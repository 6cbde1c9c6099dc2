// Uses lib/key_map, lib/scan, lib/workgroup, samplesort/bins, samplesort/io, samplesort/params,
// samplesort/segments, samplesort/shape, samplesort/tile.
//
// SAMPLE SORT, partition: moves the records of a segment to its children.
//
//   child       of each record, as in `count`
//   rank        each record among the tile's records of its child: an atomic in workgroup memory
//   room        for the tile's records of each child: an atomic in `counts` per tile and child
//   order       the records by child in workgroup memory, a part of the tile at a time; keys and
//               values of one word one after the other
//   move        them to the target: consecutive records go to consecutive positions
//
// The atomics are executed in any order, so the records of a child are in any order. The final sort
// gives the same bytes in any case.
//
// The child of position p in the ordered tile is found in `marks`, with a word for 16 positions.
// Its lower half marks the positions where a child begins, its upper half counts the children
// before: a search in the starts of the children, since a second sum would take more barriers.
//
// Bank conflicts as in `count`, and where records are stored by child in workgroup memory.

@group(0) @binding(7) var<storage, read_write> counts: array<atomic<u32>>;

const MARKS: u32 = TILE / 16u;

var<workgroup> marks: array<atomic<u32>, MARKS>;
// Position in the target minus position in the tile, for each nonempty child of the tile.
var<workgroup> offsets: array<u32, NODES>;

// Sums in place of what is searched, which is not needed any more.

fn scan_load(i: u32) -> u32 {
    return cells[i];
}

fn scan_store(i: u32, value: u32) {
    cells[i] = value;
}

// More than any position, as are the TILE - 1 numbers after it.
const NOWHERE: u32 = 0xffffffffu - (TILE - 1u);

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if number >= params.end || number >= tiles() {
        return;
    }
    let tile = tile_at(number);
    if tile.start >= tile.end {
        return;
    }
    let bins = load_splitters(tile.segment, lane);
    for (var i = lane; i < MARKS; i += LANES) {
        atomicStore(&marks[i], 0u);
    }
    var rank: array<u32, EACH>;
    let full = is_full(tile);
    load_records(tile, lane);
    // The end of the room for a child, loaded while records are. `segments` is the table of the
    // children here.
    var room_end = 0xffffffffu;
    if params.target_room > 0u {
        let at = 1u + 4u * min(lane, params.slots - 1u);
        room_end = segments[at] + segments[at + 1u];
    }
    workgroupBarrier();
    if !find_bins(bins) {
        search_records();
    }
    for (var j = 0u; j < EACH; j++) {
        let position = tile.first + j * LANES + lane;
        let is_valid = full | ((position >= tile.start) & (position < tile.end));
        node[j] = select(NODES, node[j], is_valid);
        rank[j] = atomicAdd(&histogram[node[j]], 1u);
    }
    workgroupBarrier();
    var count = 0u;
    var room = 0u;
    if lane < NODES {
        count = atomicLoad(&histogram[lane]);
        if count > 0u {
            room = atomicAdd(&counts[tile.segment * NODES + lane], count);
        }
    }
    // Lower half: records before. Upper half: nonempty children before.
    let before = exclusive_sum(lane, count | select(0u, 1u << 16u, count > 0u));
    let begin = before & 0xffffu;
    if lane < NODES {
        // From here on the counters are these sums.
        atomicStore(&histogram[lane], before);
        if count > 0u {
            atomicOr(&marks[begin / 16u], 1u << (begin % 16u));
        }
    }
    if lane == NODES - 1u {
        atomicStore(&histogram[NODES], begin + count);
    }
    workgroupBarrier();
    let all = tile.end - tile.start;
    if lane < MARKS {
        let mark = atomicLoad(&marks[lane]);
        // The last child that begins before the mark's positions, or before the end of the records:
        // it is not empty.
        let position = min(16u * lane, all);
        var child = 0u;
        var last = 0u;
        for (var step = NODES / 2u; step > 0u; step /= 2u) {
            let start = atomicLoad(&histogram[child + step]);
            let is_before = (start & 0xffffu) < position;
            child += select(0u, step, is_before);
            last = select(last, start, is_before);
        }
        let children = select((last >> 16u) + 1u, 0u, lane == 0u);
        atomicStore(&marks[lane], mark | (children << 16u));
    }
    if lane < NODES && count > 0u {
        // Records for which there is no room are not stored: they are moved again. (This is as late
        // as it may be, since it waits for the atomic.)
        let has_room = room + count <= room_end;
        offsets[before >> 16u] = select(NOWHERE, room, has_room) - begin;
    }
    workgroupBarrier();
    let end = max(params.len, params.target_room);
    for (var j = 0u; j < EACH; j++) {
        rank[j] += atomicLoad(&histogram[node[j]]) & 0xffffu;
    }
    for (var part = 0u; part < TILE; part += PART) {
        var to: array<u32, PART / LANES>;
        for (var j = 0u; j < PART / LANES; j++) {
            let position = part + j * LANES + lane;
            let word = atomicLoad(&marks[position / 16u]);
            let marked = countOneBits(word & (0xffffu >> (15u - position % 16u)));
            to[j] = offsets[(word >> 16u) + marked - 1u] + position;
        }
        for (var word = 0u; word < WORDS; word += ORDERED_WORDS) {
            if part + word > 0u {
                workgroupBarrier();
            }
            for (var j = 0u; j < EACH; j++) {
                // Unsigned, so ranks of earlier parts are large.
                if PART == TILE || rank[j] - part < PART {
                    for (var i = 0u; i < ORDERED_WORDS; i++) {
                        cells[i * PART + rank[j] - part] = word_of(r[j], word + i);
                    }
                }
            }
            workgroupBarrier();
            for (var j = 0u; j < PART / LANES; j++) {
                let position = j * LANES + lane;
                // If keys or counts are overwritten meanwhile, a child has other records than
                // `count` found.
                if (part + position < all) & (to[j] < end) {
                    store_ordered(to[j], word, position);
                }
            }
        }
    }
}

// Uses lib/key_map, lib/scan, lib/workgroup, samplesort/io, samplesort/maps, samplesort/params,
// samplesort/segments, samplesort/shape, samplesort/tile.
//
// SAMPLE SORT, partition: moves the records of a segment to its children.
//
//   search      each record among the splitters, as in `count`
//   rank        each record among the tile's records of its child: an atomic in workgroup memory
//   room        for the tile's records of each child: an atomic in `counts` per tile and child
//   order       the records by child in workgroup memory, one word of each at a time
//   move        them to the target: consecutive records go to consecutive positions
//
// The atomics are executed in any order, so the records of a child are in any order. The final sort
// gives the same bytes in any case.
//
// The child of position p in the ordered tile is found in `marks`, with a word for 16 positions.
// Its lower half marks the positions where a child begins, its upper half counts the children
// before.
//
// Bank conflicts as in `count`, and where records are stored by child in workgroup memory.

@group(0) @binding(7) var<storage, read_write> counts: array<atomic<u32>>;

const MARKS: u32 = TILE / 16u;

var<workgroup> marks: array<atomic<u32>, MARKS>;
// Position in the target minus position in the tile, for each nonempty child of the tile.
var<workgroup> offsets: array<u32, NODES>;
var<workgroup> begins: array<u32, NODES + 1u>;

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
    build_tree(tile.segment, lane);
    for (var i = lane; i < MARKS; i += LANES) {
        atomicStore(&marks[i], 0u);
    }
    var rank: array<u32, EACH>;
    let full = is_full(tile);
    load_records(tile, lane);
    workgroupBarrier();
    search_records();
    for (var j = 0u; j < EACH; j++) {
        let position = tile.first + j * LANES + lane;
        let is_valid = full | ((position >= tile.start) & (position < tile.end));
        node[j] = select(NODES, node[j] - NODES, is_valid);
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
        begins[lane] = begin;
        if count > 0u {
            offsets[before >> 16u] = room - begin;
            atomicOr(&marks[begin / 16u], 1u << (begin % 16u));
        }
    }
    if lane == NODES - 1u {
        begins[NODES] = begin + count;
    }
    workgroupBarrier();
    var mark = 0u;
    if lane < MARKS {
        mark = atomicLoad(&marks[lane]);
    }
    let children = exclusive_sum(lane, countOneBits(mark));
    if lane < MARKS {
        atomicStore(&marks[lane], mark | (children << 16u));
    }
    workgroupBarrier();
    let all = tile.end - tile.start;
    var to: array<u32, EACH>;
    for (var j = 0u; j < EACH; j++) {
        rank[j] += begins[node[j]];
        let position = j * LANES + lane;
        let word = atomicLoad(&marks[position / 16u]);
        let child = (word >> 16u) + countOneBits(word & (0xffffu >> (15u - position % 16u))) - 1u;
        // Clamped: if keys or counts are overwritten meanwhile, a child has other records than
        // `count` found.
        to[j] = min(offsets[child] + position, tile.last);
    }
    for (var word = 0u; word < WORDS; word++) {
        if word > 0u {
            workgroupBarrier();
        }
        for (var j = 0u; j < EACH; j++) {
            cells[rank[j]] = word_of(r[j], word);
        }
        workgroupBarrier();
        for (var j = 0u; j < EACH; j++) {
            let position = j * LANES + lane;
            if position < all {
                store_word(to[j], word, cells[position]);
            }
        }
    }
}

// SAMPLE SORT, partition: moves the records of a segment to its children.
//
//   search      each record among the splitters, as `count` does
//   rank        a record's number among its tile's of the child: an atomic in workgroup memory
//   room        where the tile's records of a child go: an atomic in `counts`, a tile and child
//   order       records by children in workgroup memory, a word of each at a time
//   move        from there to the target: neighbours go to neighbouring positions
//
// The atomics come in any order, and so do the records of a child; the sort that ends it all makes
// of them the same bytes in any case.
//
// To find the child of position p in the ordered tile: `marks` has a word for 16 positions, whose
// lower half marks those where a child begins, and whose upper half counts the children before.
//
// Bank conflicts as in `count`, and where records go to their positions in workgroup memory.

@group(0) @binding(7) var<storage, read_write> counts: array<atomic<u32>>;

const MARKS: u32 = TILE / 16u;

var<workgroup> marks: array<atomic<u32>, MARKS>;
// What to add to a position in the tile for the target's, by the number of the child among those
// that the tile has records of.
var<workgroup> offsets: array<u32, NODES>;
var<workgroup> begins: array<u32, NODES + 1u>;

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
        let there = full | ((position >= tile.start) & (position < tile.end));
        node[j] = select(NODES, node[j] - NODES, there);
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
    // Records before, and children that have any.
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
        // (Of keys that are overwritten meanwhile a child has more than were counted.)
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

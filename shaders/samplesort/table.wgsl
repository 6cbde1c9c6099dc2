// Uses lib/scan, lib/workgroup, samplesort/params, samplesort/segments.
//
// SAMPLE SORT, table: computes the start of each child from the children's counts, and lists the
// next level's segments or the items to sort.
//
// One workgroup per segment, one lane per child. `counts`: the number of records of each child,
// replaced by its start. If there is a further level, `children` is its table of segments (see
// `segments.wgsl`), with `slots` for the children of each segment.
//
// At the first level of a large sort, not all records are counted before they are moved. A child
// gets room by the number of its counted records (ROOMS): a start and a size in `children`. Once
// all are moved, `counts` has where the records of each child end, and so their number (MOVED).
// `again` is a table of one segment, all records. It has no tiles, unless a child had too little
// room: then the starts of all children are computed anew, and all records are moved again.
//
// After the last level, children are packed greedily, from the first on, into items that fit a
// tile. Lanes find the starts of items by pointer jumping. `children`: the number of items, then
// for each item its first record, its number of records, and its state. It is DONE if it is
// part of a uniform child, or outside of the output range.
//
// Workgroups allocate items, or tiles of the next level, in any order.
//
// Clamped: the counter in `children` may hold anything, as `segments.wgsl` says, and so may the
// counts. No item is stored beyond the list.
//
// Bank conflicts in the search for an item's child.

@group(0) @binding(6) var<storage, read> splitters: array<u32>;
@group(0) @binding(7) var<storage, read_write> counts: array<u32>;
@group(0) @binding(8) var<storage, read_write> again: array<u32>;
@group(0) @binding(9) var<storage, read_write> children: array<atomic<u32>>;
@group(0) @binding(10) var<storage, read> offsets: array<u32>;

// The start of each child in the segment.
var<workgroup> begins: array<u32, NODES + 1u>;
// The first child after an item that begins at this child; then the one 2, 4, 8, ... items ahead.
var<workgroup> jumps: array<u32, NODES + 1u>;
var<workgroup> is_cut: array<atomic<u32>, NODES + 1u>;
// Number of items of the children before.
var<workgroup> items: array<u32, NODES + 1u>;
var<workgroup> first_item: u32;

// True if all records of a child are equal, because its upper splitter is its lower splitter plus
// 1, as numbers of `splitter_words` words. The lower splitter of the first child is the largest
// number, and that plus 1 is 0.
fn is_uniform(segment: u32, child: u32) -> bool {
    let words = params.splitter_words;
    let at = segment * params.stride;
    let lower = at + words * node_of(max(child, 1u), NODES);
    let upper = at + words * node_of(min(child + 1u, NODES - 1u), NODES);
    var is_next = words > 0u;
    var carry = 1u;
    for (var word = 0u; word < words; word++) {
        let low = select(splitters[lower + word], 0xffffffffu, child == 0u) + carry;
        let high = select(splitters[upper + word], 0xffffffffu, child == NODES - 1u);
        is_next &= low == high;
        carry = select(0u, carry, low == 0u);
    }
    return is_next;
}

// True if records are outside of the output range, and of one segment of the user's, if there are
// any. Before the first offset is a segment, too.
fn is_unwanted(start: u32, count: u32) -> bool {
    var number = 0u;
    var step = 1u << (31u - min(countLeadingZeros(params.rank_segments), 31u));
    for (; step > 0u; step /= 2u) {
        let next = number + step;
        if next <= params.rank_segments {
            let is_after = offsets[params.offsets_first + next - 1u] <= start;
            number = select(number, next, is_after);
        }
    }
    var begin = 0u;
    var end = params.len;
    if number > 0u {
        begin = min(offsets[params.offsets_first + number - 1u], start);
    }
    if number < params.rank_segments {
        end = offsets[params.offsets_first + number];
    }
    let first = start - begin;
    let is_outside = (first + count <= params.rank_begin) | (first >= params.rank_end);
    return is_outside & (start + count <= end);
}

// The stages of a level whose records are not counted before they are moved.
const ROOMS: u32 = 1u;
const MOVED: u32 = 2u;

// The room of a child of which `sampled` records were counted, in whole rows of memory.
fn room_of(sampled: u32) -> u32 {
    // The square root, bit by bit: floats may be rounded otherwise on another device.
    var root = 0u;
    for (var bit = 1u << 15u; bit > 0u; bit /= 2u) {
        let more = root + bit;
        root = select(root, more, more * more <= sampled);
    }
    let room = (sampled + params.deviations * (root + 5u)) << params.interval_log2;
    return (room + 31u) / 32u * 32u;
}

fn rooms_of_children(lane: u32) {
    let sampled = counts[lane];
    let room = select(0u, room_of(sampled), lane < params.slots);
    let begin = exclusive_sum(lane, room);
    counts[lane] = begin;
    if lane < params.slots {
        atomicStore(&children[1u + 4u * lane], begin);
        atomicStore(&children[2u + 4u * lane], room);
    }
}

fn children_with_rooms(lane: u32) {
    var start = 0u;
    var count = 0u;
    var is_over = false;
    if lane < params.slots {
        start = atomicLoad(&children[1u + 4u * lane]);
        count = counts[lane] - start;
        is_over = count > atomicLoad(&children[2u + 4u * lane]);
    }
    let over_before = exclusive_sum(lane, select(0u, 1u, is_over));
    if lane == LANES - 1u {
        items[0] = over_before + select(0u, 1u, is_over);
    }
    let begin = exclusive_sum(lane, count);
    let moves_again = items[0] > 0u;
    counts[lane] = begin;
    if lane < 5u {
        let tiles = select(0u, 0xffffffffu, moves_again);
        again[lane] = select(select(0u, tiles, lane == 0u), params.len, lane == 2u);
    }
    segments_of_next_level(0u, lane, select(start, begin, moves_again), count, begin);
}

fn segments_of_next_level(number: u32, lane: u32, start: u32, count: u32, target_start: u32) {
    let own = select(0u, tiles_between(start, count), lane < params.slots);
    let before = exclusive_sum(lane, own);
    if lane == LANES - 1u {
        first_item = atomicAdd(&children[0], before + own);
    }
    workgroupBarrier();
    if lane < params.slots {
        let at = 1u + 4u * (number * params.slots + lane);
        atomicStore(&children[at], start);
        atomicStore(&children[at + 1u], count);
        atomicStore(&children[at + 2u], first_item + before);
        atomicStore(&children[at + 3u], target_start);
    }
}

fn items_of_segment(number: u32, segment: Segment, lane: u32, begin: u32) {
    begins[lane] = begin;
    jumps[lane] = NODES;
    atomicStore(&is_cut[lane], select(0u, 1u, lane == 0u));
    if lane == 0u {
        begins[NODES] = segment.count;
        jumps[NODES] = NODES;
        atomicStore(&is_cut[NODES], 0u);
    }
    workgroupBarrier();
    var next = lane + 1u;
    for (var step = NODES / 2u; step > 0u; step /= 2u) {
        let further = min(next + step, NODES);
        next = select(next, further, begins[further] - begin <= params.capacity);
    }
    jumps[lane] = next;
    for (var distance = 1u; distance < NODES; distance *= 2u) {
        workgroupBarrier();
        let at = jumps[lane];
        let next_jump = jumps[at];
        let cut = atomicLoad(&is_cut[lane]);
        workgroupBarrier();
        if cut == 1u {
            atomicStore(&is_cut[at], 1u);
        }
        jumps[lane] = next_jump;
    }
    workgroupBarrier();
    let count = select(0u, begins[next] - begin, atomicLoad(&is_cut[lane]) == 1u);
    let start = segment.target_start + begin;
    let is_alone = count > 0u && next == lane + 1u;
    let done = is_unwanted(start, count) || (is_alone && is_uniform(number, lane));
    var own = min(count, 1u);
    if done && count > 0u {
        own = select((count - 1u) / params.capacity + 1u, 0u, params.skips_done == 1u);
    }
    let before = exclusive_sum(lane, own);
    items[lane] = before;
    jumps[lane] = 2u * next + select(0u, 1u, done);
    if lane == LANES - 1u {
        items[NODES] = before + own;
        first_item = atomicAdd(&children[0], before + own);
    }
    workgroupBarrier();
    let room = params.items - min(first_item, params.items);
    var state = UNEVEN;
    if params.is_spread == 1u {
        state = select(UNEVEN, EVEN, splitters[number * params.stride] == EVEN);
    }
    for (var item = lane; item < min(items[NODES], room); item += LANES) {
        var child = 0u;
        for (var step = NODES / 2u; step > 0u; step /= 2u) {
            child = select(child, child + step, items[child + step] <= item);
        }
        let is_done = jumps[child] % 2u;
        let part = (item - items[child]) * params.capacity;
        let first = begins[child] + part;
        let left = begins[jumps[child] / 2u] - first;
        let at = 1u + 3u * (first_item + item);
        atomicStore(&children[at], segment.target_start + first);
        atomicStore(&children[at + 1u], select(left, min(left, params.capacity), is_done == 1u));
        atomicStore(&children[at + 2u], select(state, DONE, is_done == 1u));
    }
}

fn children_of(number: u32, lane: u32) {
    let segment = segment_at(number);
    let count = counts[number * NODES + lane];
    let begin = exclusive_sum(lane, count);
    let start = segment.target_start + begin;
    counts[number * NODES + lane] = start;
    if params.slots > 0u {
        segments_of_next_level(number, lane, start, count, start);
    } else {
        items_of_segment(number, segment, lane, begin);
    }
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if number >= params.segments {
        return;
    }
    if params.stage == ROOMS {
        rooms_of_children(lane);
    } else if params.stage == MOVED {
        children_with_rooms(lane);
    } else {
        children_of(number, lane);
    }
}

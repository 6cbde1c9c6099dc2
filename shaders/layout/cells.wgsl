// Uses layout/load, layout/params, layout/search, lib/key_map, lib/workgroup.
//
// CELLS: the place of each cell among sorted records whose keys are cells: of its first record, or
// where that would be.
//
// `source`: see load.wgsl. `bounds`: the places of the first cell of each workgroup, and of the
// last one of all. `places`: see search.wgsl; a needle is a cell.
//
// A workgroup of LANES lanes has 8 consecutive cells per lane. Their records are between two
// bounds. If these are few, it reads them all, and marks the first one of each cell; a cell without
// records has the place of the next one in the order of the sort. If they are many, it searches.
//
// Bank conflicts where records are marked, which depend on the keys. Others have none: one unused
// word follows every 32 cells.

const NONE: u32 = 0xffffffffu;

// Records per lane that are read together: so many that cells of one record each are read at once.
const AT_ONCE: u32 = 9u;

@group(0) @binding(3) var<storage, read> bounds: array<u32>;

// The first record of each cell of the workgroup, in the order of the sort; later, the first one of
// each lane's cells, and then the place of each cell.
var<workgroup> marks: array<atomic<u32>, CELLS + CELLS / 32u>;

fn mark_at(i: u32) -> u32 {
    return i + i / 32u;
}

// The number of a cell among those of the workgroup, in the order of the sort.
fn slot_of(cell: u32, first: u32) -> u32 {
    return select(first + CELLS - 1u - cell, cell - first, params.user_flip_low == 0u);
}

// The least of the lanes after this one, and `end`. All lanes must call it.
fn least_after(lane: u32, own: u32, end: u32) -> u32 {
    workgroupBarrier();
    atomicStore(&marks[mark_at(lane)], own);
    workgroupBarrier();
    // Of every 8 lanes, the least.
    if lane < 32u {
        var least = end;
        for (var i = 0u; i < 8u; i++) {
            least = min(least, atomicLoad(&marks[mark_at(lane * 8u + i)]));
        }
        atomicStore(&marks[mark_at(LANES + lane)], least);
    }
    workgroupBarrier();
    if lane < 32u {
        var least = end;
        for (var i = 1u; i < 32u; i++) {
            let of_others = atomicLoad(&marks[mark_at(LANES + i)]);
            least = select(least, min(least, of_others), i > lane);
        }
        for (var i = 0u; i < 8u; i++) {
            let at = mark_at(lane * 8u + 7u - i);
            let of_lane = atomicLoad(&marks[at]);
            atomicStore(&marks[at], least);
            least = min(least, of_lane);
        }
    }
    workgroupBarrier();
    return atomicLoad(&marks[mark_at(lane)]);
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if number >= params.end {
        return;
    }
    let first = number * CELLS;
    let ends = min(vec2<u32>(bounds[number], bounds[number + 1u]), vec2<u32>(params.len));
    let begin = min(ends.x, ends.y);
    let end = max(ends.x, ends.y);
    if end - begin >= params.searched_from {
        for (var j = 0u; j < 8u; j++) {
            let i = first + j * LANES + lane;
            search(i, needle_or_last(i), vec2<u32>(begin, end));
        }
        return;
    }
    for (var j = 0u; j < 8u; j++) {
        atomicStore(&marks[mark_at(j * LANES + lane)], NONE);
    }
    workgroupBarrier();
    for (var i = begin + lane; i < end; i += AT_ONCE * LANES) {
        // The loads of several records are under way together.
        var slots: array<u32, AT_ONCE>;
        var differs: array<bool, AT_ONCE>;
        for (var j = 0u; j < AT_ONCE; j++) {
            let at = min(i + j * LANES, end - 1u);
            slots[j] = slot_of(cell_with(load_key(at)), first);
            differs[j] = differs_from_last(at);
        }
        for (var j = 0u; j < AT_ONCE; j++) {
            let at = i + j * LANES;
            let slot = slots[j];
            let is_first = (at == begin) | differs[j];
            if (at < end) & (slot < CELLS) & is_first {
                atomicMin(&marks[mark_at(slot)], at);
            }
        }
    }
    workgroupBarrier();
    // Of each cell, the least mark from there on: first among the lane's own.
    var own: array<u32, 8>;
    var least = end;
    for (var j = 0u; j < 8u; j++) {
        least = min(least, atomicLoad(&marks[mark_at(lane * 8u + 7u - j)]));
        own[7u - j] = least;
    }
    let after = least_after(lane, least, end);
    workgroupBarrier();
    for (var j = 0u; j < 8u; j++) {
        atomicStore(&marks[mark_at(lane * 8u + j)], min(own[j], after));
    }
    workgroupBarrier();
    for (var j = 0u; j < 8u; j++) {
        let cell = first + j * LANES + lane;
        if cell < params.needles {
            let place = atomicLoad(&marks[mark_at(slot_of(cell, first))]);
            places[params.destination_first + cell] = place;
        }
    }
}

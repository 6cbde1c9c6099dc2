// RUNS: maximal ranges of equal keys, among sorted ones. A run begins at its head: the first
// record, or one whose key differs from that of the record before it.
//
// `tiles`: two words for each tile of RUN_TILE records, its heads, and the position of the last
// one plus 1, or 0 if it has none. After SCAN_RUNS: the same of all tiles before it. If the keys
// are not in order, the runs are those of the records as they lie.
//
// A kernel takes the sections that it needs.

// ---- head

// Without branches, so that the loads of several records can be under way together.
fn is_head(i: u32) -> bool {
    let at = min(i, max(params.len, 1u) - 1u);
    return (i < params.len) & ((i == 0u) | differs_from_last(at));
}

// The heads among every LANES-th record of a tile, from number `lane` on: a bit for each.
fn heads_of_lane(tile: u32, lane: u32) -> u32 {
    var heads = 0u;
    for (var j = 0u; j < RUN_TILE / LANES; j++) {
        heads |= u32(is_head(tile * RUN_TILE + j * LANES + lane)) << j;
    }
    return heads;
}

// ---- sum

// The sum of all lanes' `heads`, and the maximum of their `latest`. All lanes must call it, and the
// first one gets the result.

var<workgroup> sum_cells: array<u32, LANES>;
var<workgroup> maximum_cells: array<u32, LANES>;

fn sum_of_lanes(lane: u32, heads: u32, latest: u32) -> vec2<u32> {
    var all = vec2<u32>(heads, latest);
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        sum_cells[lane] = all.x;
        maximum_cells[lane] = all.y;
        workgroupBarrier();
        if lane < half {
            all = vec2<u32>(
                all.x + sum_cells[lane + half],
                max(all.y, maximum_cells[lane + half]),
            );
        }
        workgroupBarrier();
    }
    return all;
}

// ---- latest

// The maximum of `latest` among the lanes before this one. All lanes must call it. Until the next
// call, the last of `latest_cells` is the maximum of all.

var<workgroup> latest_cells: array<u32, LANES>;

fn latest_before(lane: u32, latest: u32) -> u32 {
    workgroupBarrier();
    latest_cells[lane] = latest;
    workgroupBarrier();
    for (var step = 1u; step < LANES; step *= 2u) {
        // The first lanes have no other: they read their own.
        let both = max(latest_cells[lane], latest_cells[select(lane, lane - step, lane >= step)]);
        workgroupBarrier();
        latest_cells[lane] = both;
        workgroupBarrier();
    }
    return select(0u, latest_cells[max(lane, 1u) - 1u], lane > 0u);
}

// ---- heads

// The heads among 8 LANES records in workgroup memory: their places among these, in order.
//
// Of each part a lane has read 8 records, LANES apart, and then has 8 consecutive ones. One unused
// word follows every 32 cells, so that lanes access 8 cells each without conflict. The places of
// heads are stored without conflict if all records are heads; if not, the keys determine it.

const PART: u32 = 8u * LANES;

var<workgroup> head_cells: array<u32, PART + PART / 32u>;
var<workgroup> heads_of_part: u32;

fn scan_load(i: u32) -> u32 {
    return head_cells[i];
}

fn scan_store(i: u32, value: u32) {
    head_cells[i] = value;
}

fn head_cell(i: u32) -> u32 {
    return i + i / 32u;
}

// `heads_read`: among the records that the lane has read. All lanes must call it.
fn find_heads(heads_read: u32, lane: u32) {
    workgroupBarrier();
    for (var j = 0u; j < 8u; j++) {
        head_cells[head_cell(j * LANES + lane)] = (heads_read >> j) & 1u;
    }
    workgroupBarrier();
    var heads = 0u;
    for (var j = 0u; j < 8u; j++) {
        heads |= head_cells[head_cell(lane * 8u + j)] << j;
    }
    var slot = exclusive_sum(lane, countOneBits(heads));
    if lane == LANES - 1u {
        heads_of_part = slot + countOneBits(heads);
    }
    workgroupBarrier();
    for (var j = 0u; j < 8u; j++) {
        if ((heads >> j) & 1u) != 0u {
            head_cells[head_cell(slot)] = lane * 8u + j;
            slot++;
        }
    }
    workgroupBarrier();
}

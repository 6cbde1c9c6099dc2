// Uses layout/load, lib/key_map, lib/workgroup, radixsort/records.
//
// RADIX SORT, third phase of a pass: moves the records of a tile to the places of their digits. It
// is stable: records with equal digits keep their order.
//
// `counts`, `totals`: see digits.wgsl.
//
// A tile is put in order in workgroup memory first, so that records of a digit are written one
// after the other. What is put in order are entries, see records.wgsl. They are split by the lower
// four bits of their digits, and then by the upper four.
//
// In a split, a lane has EACH consecutive entries. It counts them by digit in four registers, of
// four counts each: the count so far is an entry's rank. Prefix sums of all lanes' counts, by digit
// and then by lane, are the places of the first ones.
//
// Bank conflicts where entries are stored at their places, and where records are read in the order
// of the entries, which the digits determine. None elsewhere: each lane has a column of counts; the
// columns of a warp are one line, rotated by the warp's number, so lanes that add up 8 neighbouring
// columns are in different banks; and one unused word follows every 32 entries.

@group(0) @binding(5) var<storage, read> counts: array<u32>;
@group(0) @binding(6) var<storage, read> totals: array<u32>;

const EACH: u32 = TILE / LANES;

// The entries; later, a word of each record.
var<workgroup> cells: array<u32, TILE + TILE / 32u>;
// The counts of 16 digits: those of digits 0 to 7, and above them those of 8 to 15.
var<workgroup> columns: array<u32, 8u * LANES>;
// The entries of the lower 8 digits.
var<workgroup> of_lower: u32;
// For each digit, the place of its first record in the tile; later, its place in the target minus
// this one.
var<workgroup> places: array<u32, DIGITS>;
var<workgroup> lane_sums: array<u32, LANES>;
var<workgroup> group_sums: array<u32, LANES / 16u>;

// Of the positions of a lane, which are LANES apart: the keys there, later the entries at these
// places, and the index in the target of the record of each.
var<private> keys: array<u32, EACH>;
var<private> entries: array<u32, EACH>;
var<private> targets: array<u32, EACH>;

fn cell(i: u32) -> u32 {
    return i + i / 32u;
}

// The word that has a lane's count of a digit below 8.
fn column(digit: u32, lane: u32) -> u32 {
    let warp = lane / 32u;
    return digit * LANES + warp * 32u + ((lane + warp) % 32u);
}

// The sum of the values of the lanes before this one. All lanes must call it. In three steps, since
// a tile takes three of these sums: lib/scan.wgsl takes twice the time.
fn sum_before(lane: u32, value: u32) -> u32 {
    workgroupBarrier();
    lane_sums[lane] = value;
    workgroupBarrier();
    let group = lane / 16u;
    var before = 0u;
    for (var i = 0u; i < 15u; i++) {
        before += select(0u, lane_sums[group * 16u + i], i < lane % 16u);
    }
    if lane % 16u == 15u {
        group_sums[group] = before + value;
    }
    workgroupBarrier();
    for (var i = 0u; i < LANES / 16u - 1u; i++) {
        before += select(0u, group_sums[i], i < group);
    }
    return before;
}

// Prefix sums of all counts in place, by digit and then by lane.
fn sum_columns(lane: u32) {
    workgroupBarrier();
    let digit = lane / (LANES / 8u);
    let first = (lane % (LANES / 8u)) * 8u;
    var sum = 0u;
    for (var i = 0u; i < 8u; i++) {
        sum += columns[column(digit, first + i)];
    }
    var before = sum_before(lane, sum);
    if lane == LANES - 1u {
        of_lower = (before + sum) & 0xffffu;
    }
    for (var i = 0u; i < 8u; i++) {
        let at = column(digit, first + i);
        let own = columns[at];
        columns[at] = before;
        before += own;
    }
    workgroupBarrier();
}

// Puts the entries of the tile in the order of four of their bits, stably.
fn split(lane: u32, shift: u32) {
    workgroupBarrier();
    let row = cell(lane * EACH);
    var of_digits = vec4<u32>();
    var ranks: array<u32, EACH>;
    for (var j = 0u; j < EACH; j++) {
        entries[j] = cells[row + j];
        let digit = (entries[j] >> shift) & 15u;
        let at = (digit % 4u) * 8u;
        let number = digit / 4u;
        let low = select(of_digits.x, of_digits.y, number == 1u);
        let high = select(of_digits.z, of_digits.w, number == 3u);
        ranks[j] = (select(low, high, number >= 2u) >> at) & 0xffu;
        let is_its = vec4<u32>(number) == vec4<u32>(0u, 1u, 2u, 3u);
        of_digits += select(vec4<u32>(), vec4<u32>(1u << at), is_its);
    }
    for (var i = 0u; i < 8u; i++) {
        let at = (i % 4u) * 8u;
        let low = (of_digits[i / 4u] >> at) & 0xffu;
        let high = (of_digits[i / 4u + 2u] >> at) & 0xffu;
        columns[column(i, lane)] = low | (high << 16u);
    }
    sum_columns(lane);
    let lower = of_lower;
    let own = column(0u, lane);
    for (var j = 0u; j < EACH; j++) {
        let digit = (entries[j] >> shift) & 15u;
        let word = columns[digit % 8u * LANES + own];
        let first = select(word & 0xffffu, (word >> 16u) + lower, digit >= 8u);
        cells[cell(first + ranks[j])] = entries[j];
    }
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let tile = params.first + workgroup_number(group, groups);
    let start = tile * TILE;
    if tile >= params.end || start >= params.len {
        return;
    }
    let count = min(TILE, params.len - start);
    for (var j = 0u; j < EACH; j++) {
        keys[j] = key_at(min(start + j * LANES + lane, params.len - 1u));
    }
    // A lane for each digit. Some do not occur.
    places[lane] = 0u;
    let offset = sum_before(lane, totals[lane]) + counts[lane * params.tiles + tile];
    for (var j = 0u; j < EACH; j++) {
        let position = j * LANES + lane;
        // After all records.
        let last = select(DIGITS - 1u, 0u, position < count);
        cells[cell(position)] = entry_of(keys[j], position) | last;
    }
    split(lane, 0u);
    split(lane, 4u);
    workgroupBarrier();
    for (var j = 0u; j < EACH; j++) {
        let place = j * LANES + lane;
        entries[j] = cells[cell(place)];
        let before = cells[cell(max(place, 1u) - 1u)];
        let digit = entries[j] % DIGITS;
        if (place == 0u) | (before % DIGITS != digit) {
            places[digit] = place;
        }
    }
    workgroupBarrier();
    places[lane] = offset - places[lane];
    workgroupBarrier();
    for (var j = 0u; j < EACH; j++) {
        let index = places[entries[j] % DIGITS] + j * LANES + lane;
        // Clamped: keys may be overwritten after they were counted.
        targets[j] = min(index, params.len - 1u);
    }
    store_entries(lane, start, count);
}

// Uses layout/load, lib/key_map, lib/workgroup.
//
// HISTOGRAM: the keys of each bin. A kernel takes the sections for the width of its keys, and one
// for where a workgroup counts.

// ---- params

// Parameters of a histogram.

struct Params {
    // Keys. It comes first, as SET_COUNT writes the first word.
    len: u32,
    // The first tile of this dispatch, and one past the last.
    first: u32,
    end: u32,
    // The positions of keys: see layout/load.wgsl.
    key_first: u32,
    key_stride: u32,
    key_shift: u32,
    key_low: u32,
    key_up: u32,
    // The map of keys: see lib/key_map.wgsl.
    sign_low: u32,
    sign_high: u32,
    flip_low: u32,
    flip_high: u32,
    // Bins; bounds, at least one; and the largest power of two up to their number.
    bins: u32,
    bounds: u32,
    power: u32,
    // The index of the first bound, and the first word of the counts.
    bounds_first: u32,
    counts_first: u32,
    // Counts in workgroup memory: how many copies, a power of two, and the distance of two copies.
    copies: u32,
    copy_stride: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

fn key_sign() -> vec2<u32> {
    return vec2<u32>(params.sign_low, params.sign_high);
}

fn key_flip() -> vec2<u32> {
    return vec2<u32>(params.flip_low, params.flip_high);
}

// ---- bounds

// BOUNDS of 8, 16 or 32 bits, contiguous and packed as keys are.
//
// `bounds`: from key number bounds_first on, params.bounds keys.

@group(0) @binding(3) var<storage, read> bounds: array<u32>;

fn bound_at(i: u32) -> vec2<u32> {
    let at = params.bounds_first + i;
    let bits = 32u >> params.key_shift;
    let shift = (at & ((1u << params.key_shift) - 1u)) * bits;
    let raw = (bounds[at >> params.key_shift] >> shift) << params.key_up;
    return vec2<u32>(encode_key(raw, key_sign(), key_flip()), 0u);
}

// ---- wide_bounds

// BOUNDS of 64 bits.
//
// `bounds`: from key number bounds_first on, params.bounds keys.

@group(0) @binding(3) var<storage, read> bounds: array<u32>;

fn bound_at(i: u32) -> vec2<u32> {
    let at = 2u * (params.bounds_first + i);
    return encode_key(vec2<u32>(bounds[at], bounds[at + 1u]), key_sign(), key_flip());
}

// ---- kept

var<workgroup> kept_low: array<u32, BOUNDS>;

fn keep_bound(i: u32, bound: vec2<u32>) {
    kept_low[i] = bound.x;
}

fn bound(i: u32) -> vec2<u32> {
    return vec2<u32>(kept_low[i], 0u);
}

// ---- wide_kept

var<workgroup> kept_low: array<u32, BOUNDS>;
var<workgroup> kept_high: array<u32, BOUNDS>;

fn keep_bound(i: u32, bound: vec2<u32>) {
    kept_low[i] = bound.x;
    kept_high[i] = bound.y;
}

fn bound(i: u32) -> vec2<u32> {
    return vec2<u32>(kept_low[i], kept_high[i]);
}

// ---- near

// In workgroup memory, where the bounds are, too; at the end it adds what it counted to `counts`.
// Additions to one word are serialized. So there are several copies of few bins, in different
// banks, and consecutive lanes use different copies.

var<workgroup> slots: array<atomic<u32>, SLOTS>;

fn begin(lane: u32) {
    for (var slot = lane; slot < SLOTS; slot += LANES) {
        atomicStore(&slots[slot], 0u);
    }
    for (var i = lane; i < min(params.bounds, BOUNDS); i += LANES) {
        keep_bound(i, bound_at(i));
    }
    workgroupBarrier();
}

// The first of the slots that a lane adds to.
fn own_slots(lane: u32) -> u32 {
    return (lane % params.copies) * params.copy_stride;
}

fn count_one(bin: u32, own: u32) {
    atomicAdd(&slots[own + bin], 1u);
}

fn end(lane: u32) {
    workgroupBarrier();
    for (var bin = lane; bin < params.bins; bin += LANES) {
        var sum = 0u;
        for (var copy = 0u; copy < params.copies; copy++) {
            sum += atomicLoad(&slots[copy * params.copy_stride + bin]);
        }
        if sum > 0u {
            atomicAdd(&counts[params.counts_first + bin], sum);
        }
    }
}

// ---- far

// In `counts`: there are too many bins for workgroup memory, or there is too little of that.

fn begin(lane: u32) {}

fn bound(i: u32) -> vec2<u32> {
    return bound_at(i);
}

fn own_slots(lane: u32) -> u32 {
    return params.counts_first;
}

fn count_one(bin: u32, own: u32) {
    atomicAdd(&counts[own + bin], 1u);
}

fn end(lane: u32) {}

// ---- count

// HISTOGRAM: counts keys in bins.
//
// `source`: see load.wgsl. `bounds`: see above. `counts`: from word counts_first on, a count
// for each of params.bins bins, to which this adds. Bin i has the keys from bound i to before bound
// i + 1, if there is one.
//
// A workgroup counts a tile of TILE keys. A lane reads 8 keys at a time, LANES apart, and searches
// the bounds for all of them at once. A search ends whatever the order of the bounds is, and its
// result is the number of a bound.
//
// Bank conflicts where bounds are compared and keys are counted: the keys determine it. All other
// accesses have none.

@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let tile = params.first + workgroup_number(group, groups);
    // With a count from a buffer, the last tiles may have no keys.
    if tile >= params.end || tile * TILE >= params.len {
        return;
    }
    begin(lane);
    let own = own_slots(lane);
    for (var part = tile * TILE; part < (tile + 1u) * TILE; part += 8u * LANES) {
        // All keys are read first, so that their loads are under way together.
        var keys: array<vec2<u32>, 8>;
        for (var j = 0u; j < 8u; j++) {
            keys[j] = load_key(min(part + j * LANES + lane, params.len - 1u));
        }
        // The number of bounds up to each key.
        var begun: array<u32, 8>;
        for (var j = 0u; j < 8u; j++) {
            begun[j] = 0u;
        }
        for (var step = params.power; step > 0u; step /= 2u) {
            for (var j = 0u; j < 8u; j++) {
                let next = begun[j] + step;
                let is_begun = !precedes(keys[j], bound(min(next, params.bounds) - 1u));
                begun[j] = select(begun[j], next, is_begun & (next <= params.bounds));
            }
        }
        for (var j = 0u; j < 8u; j++) {
            let is_key = part + j * LANES + lane < params.len;
            if is_key & (begun[j] > 0u) & (begun[j] <= params.bins) {
                count_one(begun[j] - 1u, own);
            }
        }
    }
    end(lane);
}

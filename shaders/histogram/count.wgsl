// Uses histogram/bins, histogram/bounds, histogram/kept, histogram/params, layout/load,
// lib/key_map, lib/workgroup.
//
// HISTOGRAM: counts keys in bins.
//
// `source`: see load.wgsl. `bounds`: see bounds.wgsl. `counts`: from word counts_first on, a count
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

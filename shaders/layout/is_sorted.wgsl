// Uses layout/load, layout/params, lib/key_map, lib/workgroup.
//
// IS_SORTED: finds the first of the user's keys that is out of order.
//
// `source`: see load.wgsl. `found`: its word destination_first is 0
// before the dispatch, and stays 0 if the keys are in order. Otherwise it becomes the number of
// keys from the first key that precedes its predecessor to the end.
//
// A lane compares 8 pairs of keys, LANES apart.
//
// No workgroup memory.

@group(0) @binding(2) var<storage, read_write> found: array<atomic<u32>>;

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
    var left = 0u;
    for (var j = 0u; j < 8u; j++) {
        let i = (number * 8u + j) * LANES + lane + 1u;
        if i < params.len && precedes(load_key(i), load_key(i - 1u)) {
            left = max(left, params.len - i);
        }
    }
    // All lanes share one word: only lanes with a larger number write to it.
    if left > atomicLoad(&found[params.destination_first]) {
        atomicMax(&found[params.destination_first], left);
    }
}

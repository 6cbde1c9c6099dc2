// Uses layout/load, layout/needles, layout/params, layout/places, lib/key_map, lib/workgroup.
//
// SEARCH: the place of each needle among sorted records.
//
// `source`: see load.wgsl. `places`: see places.wgsl.
//
// A lane searches for one needle.
//
// No workgroup memory.

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
    let i = number * LANES + lane;
    search(i, needle_or_last(i), vec2<u32>(0u, params.len));
}

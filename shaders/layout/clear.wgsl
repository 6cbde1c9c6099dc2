// CLEAR: writes zeros.
//
// `destination`: params.words words.
//
// A lane writes 8 words, LANES apart.
//
// No workgroup memory.

@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

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
    for (var j = 0u; j < 8u; j++) {
        let i = (number * 8u + j) * LANES + lane;
        if i < params.words {
            destination[i] = 0u;
        }
    }
}

// ENTRY POINT of kernels that process items independently: calls `item` for each of them.
// params.first and params.end count workgroups, of 8 LANES items each.
//
// A lane has 8 items, LANES apart.

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
        item((number * 8u + j) * LANES + lane);
    }
}

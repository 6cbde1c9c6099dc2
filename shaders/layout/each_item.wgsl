// ENTRY POINT of kernels that process items independently. params.first and params.end count parts,
// of 8 LANES items each. A workgroup processes one of them, or every n-th if there are n workgroups
// and more parts. A kernel takes one section.

// ---- one

// Calls `item` for each item. A lane has 8 of a part, LANES apart.

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = params.first + workgroup_number(group, groups);
    for (var part = first; part < params.end; part += groups.x * groups.y) {
        for (var j = 0u; j < 8u; j++) {
            item((part * 8u + j) * LANES + lane);
        }
    }
}

// ---- eight

// Calls `items` for 8 items, LANES apart, from the lane's first one of a part on.

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = params.first + workgroup_number(group, groups);
    for (var part = first; part < params.end; part += groups.x * groups.y) {
        items(part * 8u * LANES + lane);
    }
}

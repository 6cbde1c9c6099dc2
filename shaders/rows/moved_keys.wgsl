// Moves keys between where the caller has them and where they are sorted: fields of rows and a column, say.
//
// `source`, `destination`: keys, the first at one place of each, the others at a distance of each.
//
// A lane moves 8 keys, LANES places apart.
//
// No workgroup memory.

struct Params {
    // Records.
    len: u32,
    // The first workgroup of this dispatch, and one past the last.
    first: u32,
    end: u32,
    // The first key's place, and the distance of the others.
    source_first: u32,
    source_stride: u32,
    destination_first: u32,
    destination_stride: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> source: array<Key>;
@group(0) @binding(2) var<storage, read_write> destination: array<Key>;

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
        if i < params.len {
            let to = params.destination_first + i * params.destination_stride;
            destination[to] = source[params.source_first + i * params.source_stride];
        }
    }
}

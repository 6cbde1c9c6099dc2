// Keys of two words that put records, which are in the order of their own keys, in that of their arrays: the number of a
// record's array for the upper word, and its place for the lower one. They are keys of the type and the order that was
// sorted, so that the same kernels sort them.
//
// `order`: which record is in each place. `destination`: such keys.
//
// A lane makes 8 keys, LANES places apart.
//
// No workgroup memory.

struct Params {
    // Records.
    len: u32,
    // The first workgroup of this dispatch, and one past the last.
    first: u32,
    end: u32,
    // Arrays, and the power of two that is this or less: see segments.wgsl.
    segments: u32,
    segments_power: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read_write> destination: array<Key>;
@group(0) @binding(3) var<storage, read> order: array<u32>;

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
            destination[i] = decode(vec2<u32>(i, array_of(order[i])));
        }
    }
}

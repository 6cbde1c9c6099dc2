// ENCODE, second pass of a segmented argsort of 64-bit keys: the segment of each record, in the
// order that the first pass found.
//
// `source`: that order. `destination`: the segment of each of these records. `values`: ranks in
// that order, from 0 on. Sorted by (segment, rank), they are the records of each segment by key.
//
// A lane encodes 8 records, LANES apart.
//
// No workgroup memory.

@group(0) @binding(1) var<storage, read> source: array<u32>;
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
        if i < params.len {
            destination[i] = segment_of(source[i]);
            store_value(i, i);
        }
    }
}

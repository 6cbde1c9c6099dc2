// ENCODE: composes the records of a sort of words from the keys of the caller.
//
// `source`: see load_keys.wgsl, load_wide_keys.wgsl. `destination`, `values`: the composed records,
// compared as unsigned words, the value last if there is any:
//
//     keys of    segments  destination               values
//     8 to 32    no        key                       index
//     64         no        key (low, high word)      index
//     8 to 32    yes       (key, segment)            index
//     64         yes       (high word, segment)      low word
//
// A lane encodes 8 keys, LANES apart.
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
        if i < params.len {
            store(i, load_key(i));
        }
    }
}

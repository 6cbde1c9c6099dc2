// DECODE: keys of 64 bits from sorted words.
//
// `source`, `values`: see low_words.wgsl, low_words_of_values.wgsl. `destination`: the words of the
// key buffer, from key number key_first on.
//
// A lane decodes 8 keys, LANES apart.
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
            let key = from_ordered(key_at(i));
            let at = 2u * (params.key_first + i);
            destination[at] = key.x;
            destination[at + 1u] = key.y;
        }
    }
}

// Makes words of keys of 8, 16 or 32 bits, the upper bits of which they are, so that the types of 32 bits say in what order they
// are: u32, i32, and f32, of which f16 and bf16 have the order.
//
// `source`: keys, as many to a word as it has bits for. `destination`: words.
//
// A lane makes 8 words, LANES places apart.
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
    // Bits of a key.
    bits: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
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
    let per_word = 32u / params.bits;
    for (var j = 0u; j < 8u; j++) {
        let i = (number * 8u + j) * LANES + lane;
        if i < params.len {
            let at = params.source_first + row_at(i) * params.source_stride;
            let word = source[at / per_word] >> (at % per_word * params.bits);
            destination[i] = word << (32u - params.bits);
        }
    }
}

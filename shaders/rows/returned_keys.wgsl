// Makes keys of 8, 16 or 32 bits of words again (see narrow_keys.wgsl), or of where their copies end.
//
// `destination`: keys, as many to a word as it has bits for. Keys of a
// word that are none of the records' are left as they are, and so are those beyond the last record.
//
// A lane makes 8 words, LANES words apart.
//
// No workgroup memory.

struct Params {
    // Records.
    len: u32,
    // The first workgroup of this dispatch, and one past the last.
    first: u32,
    end: u32,
    // The first key's place.
    destination_first: u32,
    // Bits of a key.
    bits: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
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
    let mask = 0xffffffffu >> (32u - params.bits);
    let key_end = params.destination_first + params.len;
    for (var j = 0u; j < 8u; j++) {
        let word = params.destination_first / per_word + (number * 8u + j) * LANES + lane;
        let begin = max(word * per_word, params.destination_first);
        let end = min(word * per_word + per_word, key_end);
        if begin < end {
            var bits = destination[word];
            var known = 0u;
            for (var at = begin; at < end; at++) {
                let key = key_at(at - params.destination_first, &known);
                let shift = at % per_word * params.bits;
                bits = (bits & ~(mask << shift)) | ((key >> (32u - params.bits)) << shift);
            }
            destination[word] = bits;
        }
    }
}

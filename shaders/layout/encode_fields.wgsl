// Uses layout/each_item, layout/load, layout/params, layout/records, layout/segments, lib/key_map,
// lib/workgroup.
//
// ENCODE, keys of several fields: composes records from the first two, the second one as the lowest
// bits. See encode_keys.wgsl; append_field.wgsl adds other fields.
//
// `source`: see load.wgsl, for the first field. `destination`, `values`: the composed records.
//
// A lane encodes 8 keys, LANES apart.
//
// No workgroup memory.

// The second field of a record, mapped, as the lowest bits of a word.
fn load_second(i: u32) -> u32 {
    let at = params.second_first + i * params.second_stride;
    let bits = 32u >> params.second_shift;
    let shift = (at & ((1u << params.second_shift) - 1u)) * bits;
    let raw = (source[at >> params.second_shift] >> shift) << params.second_unused;
    let sign = vec2<u32>(params.second_sign, 0u);
    return encode_key(raw, sign, vec2<u32>(params.second_flip, 0u)) >> params.second_unused;
}

fn item(i: u32) {
    if i < params.len {
        let first = load_key(i).x >> params.unused;
        let second = load_second(i);
        // A shift by 32 bits would shift by none.
        let is_word = params.second_unused == 0u;
        let low = select((first << (32u - params.second_unused)) | second, second, is_word);
        store(i, vec2<u32>(low, first >> params.second_unused));
    }
}

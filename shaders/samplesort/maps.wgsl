// Maps of keys, at the first read and at the last write: see lib/key_map.wgsl.

// Maps a record that was read to the record to compare.
fn encode_source(r: Record) -> Record {
    let sign = vec2<u32>(params.source_sign_low, params.source_sign_high);
    let flip = vec2<u32>(params.source_flip_low, params.source_flip_high);
    return record_of(encode_key(key_of(r), sign, flip), value_of(r));
}

// Maps a sorted record to the record to write.
fn decode_target(r: Record) -> Record {
    let sign = vec2<u32>(params.target_sign_low, params.target_sign_high);
    let flip = vec2<u32>(params.target_flip_low, params.target_flip_high);
    return record_of(decode_key(key_of(r), sign, flip), value_of(r));
}

// True if the source, or the target, has a map that changes keys. A test for many records at once
// costs nothing.
fn maps_source() -> bool {
    let sign = params.source_sign_low | params.source_sign_high;
    return (sign | params.source_flip_low | params.source_flip_high) != 0u;
}

fn maps_target() -> bool {
    let sign = params.target_sign_low | params.target_sign_high;
    return (sign | params.target_flip_low | params.target_flip_high) != 0u;
}

// Keys are mapped when they are read and when they are written: see src/key.rs.

// A record as it is read, to be compared.
fn encode_source(r: Record) -> Record {
    let sign = vec2<u32>(params.source_sign_low, params.source_sign_high);
    let flip = vec2<u32>(params.source_flip_low, params.source_flip_high);
    return record_of(encode_key(key_of(r), sign, flip), value_of(r));
}

// A record as it is written.
fn decode_target(r: Record) -> Record {
    let sign = vec2<u32>(params.target_sign_low, params.target_sign_high);
    let flip = vec2<u32>(params.target_flip_low, params.target_flip_high);
    return record_of(decode_key(key_of(r), sign, flip), value_of(r));
}

// Whether records are other words where they are read, or written, than where they are compared.
// (Tested once for many records, it costs nothing.)
fn maps_source() -> bool {
    let sign = params.source_sign_low | params.source_sign_high;
    return (sign | params.source_flip_low | params.source_flip_high) != 0u;
}

fn maps_target() -> bool {
    let sign = params.target_sign_low | params.target_sign_high;
    return (sign | params.target_flip_low | params.target_flip_high) != 0u;
}

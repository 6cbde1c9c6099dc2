// Records are read and written without a map.

fn encode_source(r: Record) -> Record {
    return r;
}

fn decode_target(r: Record) -> Record {
    return r;
}

fn maps_source() -> bool {
    return false;
}

fn maps_target() -> bool {
    return false;
}

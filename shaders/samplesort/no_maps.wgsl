// Records are read and written without a map.

fn encode_source(r: Record) -> Record {
    return r;
}

fn decode_target(r: Record) -> Record {
    return r;
}

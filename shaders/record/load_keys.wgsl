// A record's bits, still to be encoded, where it is a key.
fn load_record(index: u32) -> Record {
    return load_bits(index);
}

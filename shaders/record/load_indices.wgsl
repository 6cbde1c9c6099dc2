// A record's bits, still to be encoded: its key, and where it stands in the input.
fn load_record(index: u32) -> Record {
    return Record(load_bits(index), index);
}

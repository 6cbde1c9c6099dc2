// A record's bits, still to be encoded: its key, and its value of another buffer.
fn load_record(index: u32) -> Record {
    return Record(load_bits(index), values[index]);
}

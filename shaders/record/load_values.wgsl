@group(0) @binding(3) var<storage, read> source_values: array<u32>;

// A record's bits, still to be encoded: its key, and its value of another buffer.
fn load_record(index: u32) -> Record {
    return Record(load_bits(index), source_values[index]);
}

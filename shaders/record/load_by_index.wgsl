@group(0) @binding(3) var<storage, read> source_values: array<u32>;

// A record's bits, still to be encoded: an index, and the key that it is of.
fn load_record(index: u32) -> Record {
    // (The caller may write to its indices in the middle of a sort.)
    let value = min(source_values[index], params.len - 1u);
    return Record(load_bits(value), value);
}

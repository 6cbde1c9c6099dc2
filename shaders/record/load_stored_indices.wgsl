// The bits of a record of which the index was written before.
fn load_stored(index: u32) -> Record {
    // (The caller may write to its indices in the middle of a sort.)
    let value = min(destination_values[index], params.len - 1u);
    return Record(load_bits(value), value);
}

@group(0) @binding(2) var<storage, read> kept_keys: array<Key>;

// The bits of a record of which the index was written before.
fn load_stored(index: u32) -> Record {
    // (The caller may write to its indices in the middle of a sort.)
    let value = min(destination_values[index], params.len - 1u);
    let at = params.key_first + value * params.key_stride;
    return Record(unpack(kept_keys[at >> params.key_shift], at, params.key_shift), value);
}

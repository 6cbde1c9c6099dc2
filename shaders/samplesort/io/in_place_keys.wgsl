// Records are sorted where they are.

@group(0) @binding(3) var<storage, read_write> target_keys: array<Key>;

fn load_source(i: u32) -> Record {
    return record_of(target_keys[i], 0u);
}

fn store_source(i: u32, r: Record) {
    target_keys[i] = key_of(r);
}

fn store_target(i: u32, r: Record) {
    store_source(i, r);
}

// Records are sorted in the target buffer.

fn load_source(i: u32) -> Record {
    return record_of(target_keys[i], 0u);
}

fn store_source(i: u32, r: Record) {
    store_target(i, r);
}

// Records are sorted in the target buffers.

fn load_source(i: u32) -> Record {
    return record_of(target_keys[i], target_values[i]);
}

fn store_source(i: u32, r: Record) {
    store_target(i, r);
}

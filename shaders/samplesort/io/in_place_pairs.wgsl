// Records are sorted where they are.

@group(0) @binding(3) var<storage, read_write> target_keys: array<Key>;
@group(0) @binding(4) var<storage, read_write> target_values: array<u32>;

fn load_source(i: u32) -> Record {
    return record_of(target_keys[i], target_values[i]);
}

fn store_source(i: u32, r: Record) {
    target_keys[i] = key_of(r);
    target_values[i] = value_of(r);
}

fn store_target(i: u32, r: Record) {
    store_source(i, r);
}

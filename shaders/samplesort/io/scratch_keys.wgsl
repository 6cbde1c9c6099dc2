// Records are read from `source_keys`. It is scratch memory, so it may be written.

@group(0) @binding(1) var<storage, read_write> source_keys: array<Key>;

fn load_source(i: u32) -> Record {
    return record_of(source_keys[i], 0u);
}

fn store_source(i: u32, r: Record) {
    source_keys[i] = key_of(r);
}

// Records are read from `source_keys`.

@group(0) @binding(1) var<storage, read> source_keys: array<Key>;

fn load_source(i: u32) -> Record {
    return record_of(source_keys[i], 0u);
}

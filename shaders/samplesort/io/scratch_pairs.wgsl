// Records are read from `source_keys` and `source_values`. These are scratch memory, so they may be
// written.

@group(0) @binding(1) var<storage, read_write> source_keys: array<Key>;
@group(0) @binding(2) var<storage, read_write> source_values: array<u32>;

fn load_source(i: u32) -> Record {
    return record_of(source_keys[i], source_values[i]);
}

fn store_source(i: u32, r: Record) {
    source_keys[i] = key_of(r);
    source_values[i] = value_of(r);
}

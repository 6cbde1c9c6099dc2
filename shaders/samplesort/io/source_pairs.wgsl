// Records are read from `source_keys` and `source_values`.

@group(0) @binding(1) var<storage, read> source_keys: array<Key>;
@group(0) @binding(2) var<storage, read> source_values: array<u32>;

fn load_source(i: u32) -> Record {
    return record_of(source_keys[i], source_values[i]);
}

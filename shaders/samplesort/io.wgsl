// The buffers of records: keys, and values if there are any. A kernel takes the sections that it
// needs.

// ---- source_keys

// Records are read from `source_keys`.

@group(0) @binding(1) var<storage, read> source_keys: array<Key>;

fn load_source(i: u32) -> Record {
    return record_of(source_keys[i], 0u);
}

// ---- source_pairs

// Records are read from `source_keys` and `source_values`.

@group(0) @binding(1) var<storage, read> source_keys: array<Key>;
@group(0) @binding(2) var<storage, read> source_values: array<u32>;

fn load_source(i: u32) -> Record {
    return record_of(source_keys[i], source_values[i]);
}

// ---- scratch_keys

// Records are read from `source_keys`. It is scratch memory, so it may be written.

@group(0) @binding(1) var<storage, read_write> source_keys: array<Key>;

fn load_source(i: u32) -> Record {
    return record_of(source_keys[i], 0u);
}

fn store_source(i: u32, r: Record) {
    source_keys[i] = key_of(r);
}

// ---- scratch_pairs

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

// ---- in_place_keys

// Records are sorted in the target buffer.

fn load_source(i: u32) -> Record {
    return record_of(target_keys[i], 0u);
}

fn store_source(i: u32, r: Record) {
    store_target(i, r);
}

// ---- in_place_pairs

// Records are sorted in the target buffers.

fn load_source(i: u32) -> Record {
    return record_of(target_keys[i], target_values[i]);
}

fn store_source(i: u32, r: Record) {
    store_target(i, r);
}

// ---- target_keys

// Records are written to `target_keys`.

@group(0) @binding(3) var<storage, read_write> target_keys: array<Key>;

fn store_target(i: u32, r: Record) {
    target_keys[i] = key_of(r);
}

// ---- target_pairs

// Records are written to `target_keys` and `target_values`.

@group(0) @binding(3) var<storage, read_write> target_keys: array<Key>;
@group(0) @binding(4) var<storage, read_write> target_values: array<u32>;

fn store_target(i: u32, r: Record) {
    target_keys[i] = key_of(r);
    target_values[i] = value_of(r);
}

// How encode_keys.wgsl composes the records of a sort of words. It takes one section of values, and
// one of keys, which also has their `destination`.

// ---- values

// `values`: the value of each composed record.

@group(0) @binding(3) var<storage, read_write> values: array<u32>;

fn store_value(i: u32, value: u32) {
    values[i] = value;
}

// ---- no_values

// Composed records without a value.

fn store_value(i: u32, value: u32) {}

// ---- keys

// COMPOSED RECORDS: a key of one word, with the index as value.

@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

fn store(i: u32, key: vec2<u32>) {
    destination[i] = key.x;
    store_value(i, i);
}

// ---- wide_keys

// COMPOSED RECORDS: a key of two words, low word first, with the index as value.

@group(0) @binding(2) var<storage, read_write> destination: array<vec2<u32>>;

fn store(i: u32, key: vec2<u32>) {
    destination[i] = key;
    store_value(i, i);
}

// ---- segment_keys

// COMPOSED RECORDS: (segment, key of one word), with the index as value.

@group(0) @binding(2) var<storage, read_write> destination: array<vec2<u32>>;

fn store(i: u32, key: vec2<u32>) {
    destination[i] = vec2<u32>(key.x, segment_of(i));
    store_value(i, i);
}

// ---- segment_wide_keys

// COMPOSED RECORDS: (segment, high word of a key), with its low word as value.

@group(0) @binding(2) var<storage, read_write> destination: array<vec2<u32>>;

fn store(i: u32, key: vec2<u32>) {
    destination[i] = vec2<u32>(key.y, segment_of(i));
    store_value(i, key.x);
}

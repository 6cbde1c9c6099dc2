// What is written of a record: its key, its index among all records, or both. A kernel takes a
// section for each: what it writes, or what it does not.

// ---- no_keys

fn store_key(at: u32, r: Record) {}

// ---- keys

// `output`: keys of one word, from number output_first on.

@group(0) @binding(2) var<storage, read_write> output: array<u32>;

fn store_key(at: u32, r: Record) {
    output[params.output_first + at] = decode_key(key_of(r), key_sign(), key_flip());
}

// ---- wide_keys

// `output`: keys of two words, from number output_first on.

@group(0) @binding(2) var<storage, read_write> output: array<u32>;

fn store_key(at: u32, r: Record) {
    let key = decode_key(key_of(r), key_sign(), key_flip());
    output[2u * (params.output_first + at)] = key.x;
    output[2u * (params.output_first + at) + 1u] = key.y;
}

// ---- no_indices

fn store_index(at: u32, index: u32) {}

// ---- indices

// `indices`: from number indices_first on.

@group(0) @binding(3) var<storage, read_write> indices: array<u32>;

fn store_index(at: u32, index: u32) {
    indices[params.indices_first + at] = index;
}

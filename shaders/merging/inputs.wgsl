// What both kernels of a merge read: parameters, and keys. A kernel takes the section for the width
// of its keys; `merge` also takes one for what moves with them.

// ---- one_word

alias Key = u32;

fn precedes(a: Key, b: Key) -> bool {
    return a < b;
}

// ---- two_words

// The low word and the high word.

alias Key = vec2<u32>;

fn precedes(a: Key, b: Key) -> bool {
    return (a.y < b.y) | ((a.y == b.y) & (a.x < b.x));
}

// ---- params

// Parameters of both kernels of merges; each kernel reads the ones it needs.

struct Params {
    // Records of A and of B; with counts in buffers, the most.
    len_a: u32,
    len_b: u32,
    // The first workgroup of this dispatch, and one past the last.
    first: u32,
    end: u32,
    // Tiles of the output, and records of a tile.
    tiles: u32,
    tile: u32,
    // The indices of the first keys, and of the first values.
    first_a: u32,
    first_b: u32,
    first_output: u32,
    values_a: u32,
    values_b: u32,
    values_output: u32,
    // 1 if the numbers of records are in buffers, and the words that hold them.
    is_counted: u32,
    count_a: u32,
    count_b: u32,
    // The map of keys: see lib/key_map.wgsl.
    sign_low: u32,
    sign_high: u32,
    flip_low: u32,
    flip_high: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

fn key_sign() -> vec2<u32> {
    return vec2<u32>(params.sign_low, params.sign_high);
}

fn key_flip() -> vec2<u32> {
    return vec2<u32>(params.flip_low, params.flip_high);
}

// ---- inputs

// The keys of both inputs, A and B: from number first_a and first_b on.

@group(0) @binding(1) var<storage, read> keys_a: array<Key>;
@group(0) @binding(2) var<storage, read> keys_b: array<Key>;

// ---- no_values

alias Value = u32;

fn load_value(is_of_a: bool, at: u32) -> Value {
    return 0u;
}

fn store_value(i: u32, value: Value) {}

// ---- values

// `source_a`, `source_b`: the values of A and of B, from number values_a and values_b on.
// `output_values`: those of the merged records, from number values_output on.

alias Value = u32;

@group(0) @binding(5) var<storage, read> source_a: array<Value>;
@group(0) @binding(6) var<storage, read> source_b: array<Value>;
@group(0) @binding(7) var<storage, read_write> output_values: array<Value>;

fn load_value(is_of_a: bool, at: u32) -> Value {
    if is_of_a {
        return source_a[at];
    }
    return source_b[at];
}

fn store_value(i: u32, value: Value) {
    output_values[params.values_output + i] = value;
}

// What moves with the keys. A kernel takes one section.

// ---- none

alias Value = u32;

fn load_value(is_of_a: bool, at: u32) -> Value {
    return 0u;
}

fn store_value(i: u32, value: Value) {}

// ---- words

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

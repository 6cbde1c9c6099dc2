// `values`: the value of each composed record.

@group(0) @binding(3) var<storage, read_write> values: array<u32>;

fn store_value(i: u32, value: u32) {
    values[i] = value;
}

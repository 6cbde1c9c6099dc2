// Records with a value.

@group(0) @binding(2) var<storage, read_write> values: array<u32>;

fn value_of(i: u32) -> u32 {
    return values[i];
}

fn exchange_values(i: u32, j: u32) {
    let value = values[i];
    values[i] = values[j];
    values[j] = value;
}

@group(0) @binding(3) var<storage, read> source_values: array<u32>;
@group(0) @binding(4) var<storage, read_write> destination_values: array<u32>;

// A value goes with its key from one place to another.
fn carry(from_index: u32, to_index: u32) {
    destination_values[to_index] = source_values[from_index];
}

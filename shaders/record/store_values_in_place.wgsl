@group(0) @binding(3) var<storage, read_write> values: array<u32>;

// Writes a record: its key, and its value to another buffer.
fn store_record(index: u32, record: Record) {
    store_key(index, record.key);
    values[index] = record.value;
}

// Writes a record that is a key.
fn store_record(index: u32, record: Record) {
    store_key(index, record);
}

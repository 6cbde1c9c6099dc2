// The bits of a record that was written before.
fn load_stored(index: u32) -> Record {
    return Record(of_memory(destination[index]), destination_values[index]);
}

// The bits of a record that was written before.
fn load_stored(index: u32) -> Record {
    return of_memory(destination[index]);
}

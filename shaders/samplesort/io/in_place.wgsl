// Records are sorted where they are.

fn load_source(i: u32) -> Record {
    return load_target(i);
}

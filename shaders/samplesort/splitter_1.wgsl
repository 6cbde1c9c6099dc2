// Loads splitter number `at`.

fn splitter_at(at: u32) -> Record {
    return splitters[at];
}

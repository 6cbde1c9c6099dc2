// Loads splitter number `at`.

fn splitter_at(at: u32) -> Record {
    return record_of(splitters[at], 0u);
}

// Loads splitter number `at`.

fn splitter_at(at: u32) -> Record {
    return vec2<u32>(splitters[2u * at], splitters[2u * at + 1u]);
}

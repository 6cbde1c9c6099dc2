// Loads splitter number `at`.

fn splitter_at(at: u32) -> Record {
    return vec3<u32>(splitters[3u * at], splitters[3u * at + 1u], splitters[3u * at + 2u]);
}

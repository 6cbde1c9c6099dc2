// A sample's bits, still to be encoded: its key.
fn load_sample(index: u32) -> Record {
    return load_bits(index);
}

// What tells sample `at` of the sorted ones from keys that equal it: which part of the samples that do is
// before it, in 65536ths. No tie costs half the time to rank: so, of up to `few`, none is before it.
fn tie_of(at: u32, samples: u32, few: u32) -> u32 {
    let sample = record_probe(at + at / 32u);
    var first = 0u;
    var end = 0u;
    for (var step = TILE; step > 0u; step /= 2u) {
        let cell = min(first + step, samples) - 1u;
        if first + step <= samples && precedes(record_probe(cell + cell / 32u), sample) {
            first += step;
        }
        let end_cell = min(end + step, samples) - 1u;
        if end + step <= samples && !precedes(sample, record_probe(end_cell + end_cell / 32u)) {
            end += step;
        }
    }
    if end - first <= few {
        return 0u;
    }
    return ((at - first) << 16u) / (end - first);
}

fn key_of(record: Record) -> Key {
    return record;
}

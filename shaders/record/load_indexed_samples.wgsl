@group(0) @binding(3) var<storage, read> source_values: array<u32>;

// A sample's bits, still to be encoded: its key, and where it stands in the input.
fn load_sample(index: u32) -> Record {
    if params.raw == 1u {
        return Record(load_bits(index), index);
    }
    return Record(load_bits(index), source_values[index]);
}

// What tells sample `at` of the sorted ones from keys that equal it: its index.
fn tie_of(at: u32, samples: u32, few: u32) -> u32 {
    return record_probe(at + at / 32u).value;
}

fn key_of(record: Record) -> Key {
    return record.key;
}

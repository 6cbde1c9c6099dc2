// INDEX of sorted keys, for searches: the mapped key of every INDEXED-th record, one after the
// other. A kernel takes the section for the width of its keys, to read or to write.

// ---- read_one_word

@group(0) @binding(4) var<storage, read> index: array<u32>;

fn index_key(i: u32) -> vec2<u32> {
    return vec2<u32>(index[i], 0u);
}

// ---- read_two_words

@group(0) @binding(4) var<storage, read> index: array<u32>;

fn index_key(i: u32) -> vec2<u32> {
    return vec2<u32>(index[2u * i], index[2u * i + 1u]);
}

// ---- write_one_word

@group(0) @binding(2) var<storage, read_write> index: array<u32>;

fn store_index(i: u32, key: vec2<u32>) {
    index[i] = key.x;
}

// ---- write_two_words

@group(0) @binding(2) var<storage, read_write> index: array<u32>;

fn store_index(i: u32, key: vec2<u32>) {
    index[2u * i] = key.x;
    index[2u * i + 1u] = key.y;
}

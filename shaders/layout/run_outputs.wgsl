// What WRITE_RUNS writes of each run. A kernel takes one section.

// ---- starts

// `starts`: from word destination_first on, the first record of each run.

@group(0) @binding(4) var<storage, read_write> starts: array<u32>;

fn key_of_run(start: u32) -> vec2<u32> {
    return vec2<u32>();
}

fn store_run(rank: u32, start: u32, before: u32, key: vec2<u32>) {
    starts[params.destination_first + rank] = start;
}

fn store_last(runs: u32, before: u32) {}

// ---- starts_and_lengths

// `starts`: from word destination_first on, the first record of each run. `lengths`: from word
// source_first on, its records.

@group(0) @binding(4) var<storage, read_write> starts: array<u32>;
@group(0) @binding(5) var<storage, read_write> lengths: array<u32>;

fn key_of_run(start: u32) -> vec2<u32> {
    return vec2<u32>();
}

// The run before ends where this one starts.
fn store_run(rank: u32, start: u32, before: u32, key: vec2<u32>) {
    starts[params.destination_first + rank] = start;
    if rank > 0u {
        lengths[params.source_first + rank - 1u] = start - before;
    }
}

// The last run ends with the last record.
fn store_last(runs: u32, before: u32) {
    lengths[params.source_first + runs - 1u] = params.len - before;
}

// ---- keys

// `source`: see load.wgsl. `unique`: from key number destination_first on, the key of each run.

@group(0) @binding(4) var<storage, read_write> unique: array<u32>;

fn key_of_run(start: u32) -> vec2<u32> {
    return vec2<u32>(decode_key(load_key(start).x, user_sign(), user_flip()), 0u);
}

fn store_run(rank: u32, start: u32, before: u32, key: vec2<u32>) {
    unique[params.destination_first + rank] = key.x;
}

fn store_last(runs: u32, before: u32) {}

// ---- wide_keys

// `source`: see load.wgsl. `unique`: from key number destination_first on, the key of each run.

@group(0) @binding(4) var<storage, read_write> unique: array<u32>;

fn key_of_run(start: u32) -> vec2<u32> {
    return decode_key(load_key(start), user_sign(), user_flip());
}

fn store_run(rank: u32, start: u32, before: u32, key: vec2<u32>) {
    unique[2u * (params.destination_first + rank)] = key.x;
    unique[2u * (params.destination_first + rank) + 1u] = key.y;
}

fn store_last(runs: u32, before: u32) {}

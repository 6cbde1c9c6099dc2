// The buffers of records: keys, and values if there are any. A kernel takes the sections that it
// needs.

// ---- source_keys

// Records are read from `source_keys`.

@group(0) @binding(1) var<storage, read> source_keys: array<Key>;

fn load_source(i: u32) -> Record {
    return record_of(source_keys[i], 0u);
}

// ---- source_pairs

// Records are read from `source_keys` and `source_values`.

@group(0) @binding(1) var<storage, read> source_keys: array<Key>;
@group(0) @binding(2) var<storage, read> source_values: array<u32>;

fn load_source(i: u32) -> Record {
    return record_of(source_keys[i], source_values[i]);
}

// ---- scratch_keys

// Records are read from `source_keys`. It is scratch memory, so it may be written.

@group(0) @binding(1) var<storage, read_write> source_keys: array<Key>;

fn load_source(i: u32) -> Record {
    return record_of(source_keys[i], 0u);
}

fn store_source(i: u32, r: Record) {
    source_keys[i] = key_of(r);
}

// Stores a record of a sorted tile: of a large item, in the source.
fn store_sorted(i: u32, r: Record, is_large: bool) {
    if is_large {
        store_source(i, r);
    } else {
        store_target(i, r);
    }
}

// ---- scratch_pairs

// Records are read from `source_keys` and `source_values`. These are scratch memory, so they may be
// written.

@group(0) @binding(1) var<storage, read_write> source_keys: array<Key>;
@group(0) @binding(2) var<storage, read_write> source_values: array<u32>;

fn load_source(i: u32) -> Record {
    return record_of(source_keys[i], source_values[i]);
}

fn store_source(i: u32, r: Record) {
    source_keys[i] = key_of(r);
    source_values[i] = value_of(r);
}

// Stores a record of a sorted tile: of a large item, in the source.
fn store_sorted(i: u32, r: Record, is_large: bool) {
    if is_large {
        store_source(i, r);
    } else {
        store_target(i, r);
    }
}

// ---- in_place_keys

// Records are sorted in the target buffer.

fn load_source(i: u32) -> Record {
    return record_of(target_keys[i], 0u);
}

fn store_source(i: u32, r: Record) {
    store_target(i, r);
}

fn store_sorted(i: u32, r: Record, is_large: bool) {
    store_target(i, r);
}

// ---- in_place_pairs

// Records are sorted in the target buffers.

fn load_source(i: u32) -> Record {
    return record_of(target_keys[i], target_values[i]);
}

fn store_source(i: u32, r: Record) {
    store_target(i, r);
}

fn store_sorted(i: u32, r: Record, is_large: bool) {
    store_target(i, r);
}

// ---- target_keys

// Records are written to `target_keys`.

@group(0) @binding(3) var<storage, read_write> target_keys: array<Key>;

fn store_target(i: u32, r: Record) {
    target_keys[i] = key_of(r);
}

// ---- target_pairs

// Records are written to `target_keys` and `target_values`.

@group(0) @binding(3) var<storage, read_write> target_keys: array<Key>;
@group(0) @binding(4) var<storage, read_write> target_values: array<u32>;

fn store_target(i: u32, r: Record) {
    target_keys[i] = key_of(r);
    target_values[i] = value_of(r);
}

// ---- from_any_lane

// Lanes fetch records from positions to which other lanes store.

fn fetch(blocks: Blocks, lane: u32, position: u32) -> Record {
    return load_source(clamp(position, blocks.start, blocks.end - 1u));
}

fn end_fetches(blocks: Blocks) {
    storageBarrier();
}

// ---- from_own_lane

// A lane fetches from the positions to which it stores: lane l from those of the tile that are l
// more than a multiple of LANES. So an item that fits a tile, and has a record for each lane, needs
// no barrier between reads and writes of storage.

fn is_apart(blocks: Blocks) -> bool {
    return !blocks.is_large && blocks.end - blocks.start >= LANES;
}

// Positions outside the item are replaced by the lane's nearest in it, or by any.
fn fetch(blocks: Blocks, lane: u32, position: u32) -> Record {
    let own = blocks.low + lane;
    let last = blocks.end - 1u;
    let own_first = blocks.start + (own - blocks.start) % LANES;
    let own_last = last - (last - own) % LANES;
    let least = select(blocks.start, own_first, is_apart(blocks));
    let most = select(last, own_last, is_apart(blocks));
    return load_source(clamp(position, least, most));
}

fn end_fetches(blocks: Blocks) {
    if !is_apart(blocks) {
        storageBarrier();
    }
}

// The records of a pass: a key, and a value. A kernel takes the section of the keys that it reads,
// of their values, and of what it writes, which also says what an entry is: a word for each record
// of a tile, whose lowest bits are its digit.

// ---- params

// Parameters of all radix sort kernels; each kernel reads the ones it needs.

struct Params {
    // Records. It comes first, as SET_COUNT writes the first word.
    len: u32,
    // The first workgroup of this dispatch, and one past the last.
    first: u32,
    end: u32,
    // The most tiles: the distance of two digits in `counts`; and the records of a tile.
    tiles: u32,
    tile: u32,
    // The digit of a key: of its bits, those that `flip` has are flipped.
    flip: u32,
    shift: u32,
    mask: u32,
    // The digit of the second pass, where a record is one word between the passes.
    next_shift: u32,
    next_mask: u32,
    // The positions and the map of the user's keys: see layout/load.wgsl.
    key_first: u32,
    key_stride: u32,
    key_shift: u32,
    key_low: u32,
    key_up: u32,
    sign_low: u32,
    flip_low: u32,
}

@group(0) @binding(0) var<uniform> params: Params;

fn key_sign() -> vec2<u32> {
    return vec2<u32>(params.sign_low, 0u);
}

fn key_flip() -> vec2<u32> {
    return vec2<u32>(params.flip_low, 0u);
}

// The possible digits, and the lanes of a workgroup.
const DIGITS: u32 = LANES;

fn digit_of(key: u32) -> u32 {
    return ((key ^ params.flip) >> params.shift) & params.mask & (DIGITS - 1u);
}

// ---- user_keys

// Keys of the user's, mapped: see layout/load.wgsl.

fn key_at(i: u32) -> u32 {
    return load_key(i).x;
}

// ---- words

// Keys as they lie.

@group(0) @binding(1) var<storage, read> source: array<u32>;

fn key_at(i: u32) -> u32 {
    return source[i];
}

// ---- indices

// The value of a key is its index.

fn load_value(i: u32) -> u32 {
    return i;
}

// ---- values

@group(0) @binding(2) var<storage, read> source_values: array<u32>;

fn load_value(i: u32) -> u32 {
    return source_values[i];
}

// ---- to_pairs

// An entry has the position of its record in the tile.

@group(0) @binding(3) var<storage, read_write> target_keys: array<u32>;
@group(0) @binding(4) var<storage, read_write> target_values: array<u32>;

fn entry_of(key: u32, position: u32) -> u32 {
    return digit_of(key) | (position << 8u);
}

// Stores the records of a lane's entries, each at its place: their keys by way of workgroup memory,
// and then their values.
fn store_entries(lane: u32, start: u32, count: u32) {
    for (var word = 0u; word < 2u; word++) {
        workgroupBarrier();
        for (var j = 0u; j < EACH; j++) {
            let position = j * LANES + lane;
            if word == 0u {
                cells[position] = keys[j];
            } else {
                cells[position] = load_value(min(start + position, params.len - 1u));
            }
        }
        workgroupBarrier();
        for (var j = 0u; j < EACH; j++) {
            let record = cells[entries[j] >> 8u];
            if j * LANES + lane < count {
                if word == 0u {
                    target_keys[targets[j]] = record;
                } else {
                    target_values[targets[j]] = record;
                }
            }
        }
    }
}

// ---- to_words

// One word for each record: the digit of the second pass, above an index of 24 bits. An entry has
// the position of its record in the tile, of 13 bits, and the digit of the second pass.

@group(0) @binding(3) var<storage, read_write> target_keys: array<u32>;

fn entry_of(key: u32, position: u32) -> u32 {
    let next = ((key ^ params.flip) >> params.next_shift) & params.next_mask;
    return digit_of(key) | (position << 8u) | (next << 21u);
}

fn store_entries(lane: u32, start: u32, count: u32) {
    for (var j = 0u; j < EACH; j++) {
        if j * LANES + lane < count {
            let index = load_value(start + ((entries[j] >> 8u) & 0x1fffu));
            target_keys[targets[j]] = ((entries[j] >> 21u) << 24u) | index;
        }
    }
}

// ---- to_indices

// The indices of words that `to_words` wrote. An entry is such a word, rotated.

@group(0) @binding(4) var<storage, read_write> target_values: array<u32>;

fn entry_of(key: u32, position: u32) -> u32 {
    return (key << 8u) | (key >> 24u);
}

fn store_entries(lane: u32, start: u32, count: u32) {
    for (var j = 0u; j < EACH; j++) {
        if j * LANES + lane < count {
            target_values[targets[j]] = entries[j] >> 8u;
        }
    }
}

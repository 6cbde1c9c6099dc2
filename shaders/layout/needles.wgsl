// What a search looks for. A kernel takes one section.

// ---- cells

// Needle i: the key i * params.cell_step, but at most params.cells, one more than the last cell.

fn cell_of(i: u32) -> u32 {
    return min(i * params.cell_step, params.cells);
}

// Keys of 8 and 16 bits may have fewer values than there are cells.
fn is_beyond(i: u32) -> bool {
    return (cell_of(i) << params.unused) >> params.unused != cell_of(i);
}

fn needle(i: u32) -> vec2<u32> {
    return vec2<u32>(encode_key(cell_of(i) << params.unused, user_sign(), user_flip()), 0u);
}

// The cell of a key as it is read.
fn cell_with(key: vec2<u32>) -> u32 {
    return decode_key(key.x, user_sign(), user_flip()) >> params.unused;
}

// ---- wide_cells

// Needle i: the key i * params.cell_step, but at most params.cells, one more than the last cell.

fn is_beyond(i: u32) -> bool {
    return false;
}

fn needle(i: u32) -> vec2<u32> {
    let cell = min(i * params.cell_step, params.cells);
    return encode_key(vec2<u32>(cell, 0u), user_sign(), user_flip());
}

// The cell of a key as it is read; of one that is larger than cells can be, the largest number.
fn cell_with(key: vec2<u32>) -> u32 {
    let bits = decode_key(key, user_sign(), user_flip());
    return select(0xffffffffu, bits.x, bits.y == 0u);
}

// ---- keys

// Needle i: key number source_first + i of `needles`, with as many in each word as in that of the
// user's keys.

@group(0) @binding(3) var<storage, read> needles: array<u32>;

fn is_beyond(i: u32) -> bool {
    return false;
}

fn needle(i: u32) -> vec2<u32> {
    let at = params.source_first + i;
    let bits = 32u - params.unused;
    let in_word = 32u / bits;
    let word = needles[at / in_word] >> (at % in_word * bits);
    return vec2<u32>(encode_key(word << params.unused, user_sign(), user_flip()), 0u);
}

// ---- wide_keys

// Needle i: key number source_first + i of `needles`.

@group(0) @binding(3) var<storage, read> needles: array<u32>;

fn is_beyond(i: u32) -> bool {
    return false;
}

fn needle(i: u32) -> vec2<u32> {
    let at = 2u * (params.source_first + i);
    return encode_key(vec2<u32>(needles[at], needles[at + 1u]), user_sign(), user_flip());
}

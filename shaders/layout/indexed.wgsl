// Uses layout/each_item, layout/params, lib/workgroup.
//
// INDEXED KEYS: mapped keys of 64 bits, of which the upper ones count that are not common to all,
// with their index in the lowest bits. So keys alone are sorted, and not keys with indices. A
// kernel takes one section.
//
// A lane processes 8 keys, LANES apart.
//
// No workgroup memory.

// ---- pack

// `keys`: gets indexed keys in place of whole ones. params.room: a mask of the bits of an index.
// `differing`: see common_bits.wgsl.

@group(0) @binding(1) var<storage, read> differing: array<u32>;
@group(0) @binding(2) var<storage, read_write> keys: array<vec2<u32>>;

// A key without the first bits. A shift by 32 bits would shift by none.
fn without(key: vec2<u32>, bits: u32) -> vec2<u32> {
    let words = select(key, vec2<u32>(0u, key.x), bits >= 32u);
    let shift = bits % 32u;
    let carried = select(words.x >> (32u - shift), 0u, shift == 0u);
    let rest = vec2<u32>(words.x << shift, (words.y << shift) | carried);
    return select(rest, vec2<u32>(), bits >= 64u);
}

fn item(i: u32) {
    if i < params.len {
        let is_low = differing[1] == 0u;
        let leading = countLeadingZeros(select(differing[1], differing[0], is_low));
        let key = without(keys[i], leading + select(0u, 32u, is_low));
        keys[i] = vec2<u32>((key.x & ~params.room) | i, key.y);
    }
}

// ---- unpack

// `source`: indexed keys. `destination`: their indices.

@group(0) @binding(1) var<storage, read> source: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

fn item(i: u32) {
    if i < params.len {
        destination[i] = source[i].x & params.room;
    }
}

// Uses layout/each_item, layout/params, lib/workgroup.
//
// INDEXED KEYS: mapped keys of 64 bits, of which the upper ones count that are not common to all,
// with their index in the lowest bits. So keys alone are sorted, and not keys with indices. A
// kernel takes one section.

// ---- common_bits

// COMMON BITS: those in which any two of some mapped keys of 64 bits differ.
//
// `source`: the keys. `differing`: two words, 0 before, of which the bits are set in which some key
// differs from the first one.
//
// params.first and params.end count parts of 8 LANES keys. A workgroup reads every n-th part if
// there are n workgroups. A lane writes nothing if its bits are set already, as most are: so few
// lanes wait for each other.
//
// No workgroup memory.

@group(0) @binding(1) var<storage, read> source: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> differing: array<atomic<u32>>;

fn add_bits(word: u32, bits: u32) {
    if (bits & ~atomicLoad(&differing[word])) != 0u {
        atomicOr(&differing[word], bits);
    }
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let step = groups.x * groups.y;
    let first = params.first + workgroup_number(group, groups);
    let reference = source[0];
    var found = vec2<u32>();
    for (var part = first; part < params.end; part += step) {
        // All keys are read first, so that their loads are under way together.
        var keys: array<vec2<u32>, 8>;
        for (var j = 0u; j < 8u; j++) {
            let i = (part * 8u + j) * LANES + lane;
            keys[j] = source[select(0u, i, i < params.len)];
        }
        for (var j = 0u; j < 8u; j++) {
            found |= keys[j] ^ reference;
        }
    }
    add_bits(0u, found.x);
    add_bits(1u, found.y);
}

// ---- pack

// `keys`: gets indexed keys in place of whole ones. params.room: a mask of the bits of an index.
// `differing`: see `common_bits`.

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

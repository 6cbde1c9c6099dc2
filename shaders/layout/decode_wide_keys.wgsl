// Uses layout/each_item, layout/params, layout/sorted, lib/key_map, lib/workgroup.
//
// DECODE: keys of 64 bits from sorted words.
//
// `source`, `values`: see sorted.wgsl. `destination`: the words of the
// key buffer, from key number key_first on.
//
// A lane decodes 8 keys, LANES apart.
//
// No workgroup memory.

@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

fn item(i: u32) {
    if i < params.len {
        let key = decode_key(key_at(i), key_sign(), key_flip());
        let at = 2u * (params.key_first + i);
        destination[at] = key.x;
        destination[at + 1u] = key.y;
    }
}

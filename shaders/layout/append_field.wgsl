// Uses layout/each_item, layout/load, layout/params, lib/key_map, lib/workgroup.
//
// ENCODE, keys of several fields: appends one more field to composed records, as the lowest bits of
// their keys.
//
// `source`: see load.wgsl, for the field. `destination`: the composed records, of params.words
// words. Of these, params.source_stride words are the key, low word first; above a key of one word
// there may be a segment. The bits that the key has move up.
//
// A lane encodes 8 keys, LANES apart.
//
// No workgroup memory.

@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

fn item(i: u32) {
    if i < params.len {
        let field = load_key(i).x >> params.unused;
        // A field of 32 bits fills a word, and a shift by 32 bits would shift by none.
        let is_word = params.unused == 0u;
        let bits = 32u - params.unused;
        let at = i * params.words;
        let low = destination[at];
        destination[at] = select((low << bits) | field, field, is_word);
        if params.source_stride == 2u {
            let carried = (destination[at + 1u] << bits) | (low >> params.unused);
            destination[at + 1u] = select(carried, low, is_word);
        }
    }
}

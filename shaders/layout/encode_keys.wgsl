// Uses layout/each_item, layout/load, layout/params, layout/records, layout/segments, lib/key_map,
// lib/workgroup.
//
// ENCODE: composes the records of a sort of words from the user's keys.
//
// `source`: see load.wgsl. `destination`, `values`: the composed records,
// compared as unsigned words, with the value, if any, as the least significant one:
//
//     keys of    segments  destination               values
//     8 to 32    no        key                       index
//     64         no        key (low, high word)      index
//     8 to 32    yes       (key, segment)            index
//     64         yes       (high word, segment)      low word
//
// A lane encodes 8 keys, LANES apart.
//
// No workgroup memory.

fn item(i: u32) {
    if i < params.len {
        store(i, load_key(i));
    }
}

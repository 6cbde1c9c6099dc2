// Uses layout/each_item, layout/index, layout/load, layout/params, lib/key_map, lib/workgroup.
//
// INDEX_KEYS: the index of sorted keys, see index.wgsl.
//
// `source`: see load.wgsl.
//
// A lane reads 8 keys, and writes them.
//
// No workgroup memory.

fn item(i: u32) {
    if i < params.len / INDEXED + u32(params.len % INDEXED > 0u) {
        store_index(i, load_key(i * INDEXED));
    }
}

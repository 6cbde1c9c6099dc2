// Uses layout/each_item, layout/params, layout/records, layout/segments, lib/workgroup.
//
// ENCODE, second pass of a segmented argsort of 64-bit keys: the segment of each record, in the
// order of the first pass.
//
// `source`: the indices in that order. `destination`: their segments. `values`: 0, 1, 2, ..., the
// ranks in that order. A sort by (segment, rank) gives the records of each segment by key.
//
// A lane encodes 8 records, LANES apart.
//
// No workgroup memory.

@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

fn item(i: u32) {
    if i < params.len {
        destination[i] = segment_of(source[i]);
        store_value(i, i);
    }
}

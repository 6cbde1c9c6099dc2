// Uses layout/each_item, layout/params, lib/workgroup.
//
// SCATTER: moves words to places that are no neighbours. See parts.rs.
//
// `source`: a word for each place. `places`: where in `destination` it goes. No place is there
// twice.
//
// A lane moves 8 words, LANES apart.
//
// No workgroup memory.

@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> destination: array<u32>;
@group(0) @binding(3) var<storage, read> places: array<u32>;

fn item(i: u32) {
    if i < params.len {
        let place = places[i];
        if place < params.room {
            destination[place] = source[i];
        }
    }
}

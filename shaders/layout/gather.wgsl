// GATHER: moves payload rows to the order of the sort, or copies them.
//
// `source`, `destination`: rows of `words` words, from a word of each on. What is behind the last
// row keeps its bits.
//
// A lane moves 8 words, LANES apart.
//
// No workgroup memory.

@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> destination: array<u32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if number >= params.end {
        return;
    }
    let words = params.len * params.words;
    for (var j = 0u; j < 8u; j++) {
        let i = (number * 8u + j) * LANES + lane;
        if i < words {
            let row = i / params.words;
            let taken = row_at(row) * params.words + (i - row * params.words);
            destination[params.destination_first + i] = source[params.source_first + taken];
        }
    }
}

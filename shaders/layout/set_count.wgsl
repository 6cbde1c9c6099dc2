// SET_COUNT: brings the number of records, which is in a buffer of the caller, to all other
// dispatches: into the first of their parameters.
//
// `counts`: the buffer of the caller. `parameters`: a block of BLOCK words for each dispatch; its
// first word is written, with at most the number of records that there is room for.
//
// One workgroup; a lane has every LANES-th block.
//
// No workgroup memory.

struct Params {
    // Blocks.
    blocks: u32,
    // The word of `counts` to read, and how many records there is room for.
    count_at: u32,
    room: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> counts: array<u32>;
@group(0) @binding(2) var<storage, read_write> parameters: array<u32>;

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32) {
    let count = min(counts[params.count_at], params.room);
    for (var block = lane; block < params.blocks; block += LANES) {
        parameters[block * BLOCK] = count;
    }
}

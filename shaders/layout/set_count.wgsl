// Uses lib/workgroup.
//
// SET_COUNT: copies the number of records from a user buffer to the parameters of all other
// dispatches (indirect count).
//
// `counts`: the user buffer. `parameters`: a block of BLOCK words for each dispatch. The first word
// of some blocks becomes the number of records, at most the capacity `room`.
//
// One workgroup; a lane has every LANES-th block.
//
// No workgroup memory.

struct Params {
    // The first block, and how many there are.
    first_block: u32,
    blocks: u32,
    // The word of `counts` to read, and the capacity of the buffers in records.
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
        parameters[(params.first_block + block) * BLOCK] = count;
    }
}

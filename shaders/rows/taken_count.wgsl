// Brings the number of records, which a word of the caller's says, to the kernels that are to know it: into their
// parameters, the first of which it is, as they read it.
//
// `counts`: the caller's words. `parameters`: of each kernel a block of BLOCK words, whose first one is written: never more than
// there is room for.
//
// One workgroup; a lane has every LANES-th block.
//
// No workgroup memory.

struct Params {
    // Blocks.
    blocks: u32,
    // The word that says how many records there are, and how many there is room for.
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

// What the kernels of the sample sort share: TILE records sorted in workgroup memory, by LANES lanes
// with 32 records each in registers.
//
// Batcher's bitonic sort in passes over registers, as in base_case/bitonic_matrix.wgsl, for matrices of
// more than 32 lines. Record i of the tile is in line i / 32. A pass takes, of all bits of i, a window
// of five: a lane holds the 32 records that differ in these bits, and does all stages of these bits.
//
//   sort the lines                                           bits 4..0
//   for k = 1 .. 5, merging blocks of 2^k lines:
//       cross pass: merge what differs in bits k+4 .. 5      window 9..5
//       line pass:  merge the lines                          window 4..0
//   for k = 6 .. log2(TILE / 32):
//       wide pass:  bits k+4 .. log2(LANES)                  the window at the top
//       middle pass: the bits from there down to 5           window 9..5
//       line pass
//
// The second half of a block must be backwards before it is merged. The lane reads those of its
// records that are in second halves from the mirrored place, and puts them back there: two base addresses
// instead of one, and no record moves for it. All comparators put the lesser record first.
//
// No bank conflict: a line takes 33 cells, so lanes at one position of consecutive lines, and lanes at
// consecutive positions of one line, mirrored or not, are in different banks. All addresses are a
// base and a constant. A record of more words has a plane of cells for each.
//
// Padding is behind the records. Warps whose 1024 places hold nothing else leave out what cannot move it.

// The places of a line pass: line `lane`.
fn load_line(r: ptr<function, array<Record, 32>>, lane: u32) {
    for (var j = 0u; j < 32u; j++) {
        (*r)[j] = record_load(lane * 33u + j);
    }
}

fn store_line(r: ptr<function, array<Record, 32>>, lane: u32) {
    for (var j = 0u; j < 32u; j++) {
        record_store(lane * 33u + j, (*r)[j]);
    }
}

// Places `stride` cells apart, those with a bit of `half` in their number from `mirrored` on.
fn load_window(r: ptr<function, array<Record, 32>>, base: u32, mirrored: u32, stride: u32, half: u32) {
    for (var j = 0u; j < 32u; j++) {
        (*r)[j] = record_load(select(base, mirrored, (j & half) != 0u) + j * stride);
    }
}

fn store_window(r: ptr<function, array<Record, 32>>, base: u32, mirrored: u32, stride: u32, half: u32) {
    for (var j = 0u; j < 32u; j++) {
        record_store(select(base, mirrored, (j & half) != 0u) + j * stride, (*r)[j]);
    }
}

// Sorts the records that the lanes hold, of which the first `count` places are real, into workgroup
// memory, where `place_cell` finds them. Workgroup memory must not be in use any more.
fn sort_tile(r: ptr<function, array<Record, 32>>, lane: u32, count: u32) {
    let live = (lane / 32u) * 1024u < count;
    if TIES_STAY == 1u && count < TILE {
        // A comparator leaves equal keys where they are, so padding that is behind all records stays there.
        for (var j = 0u; j < 32u; j++) {
            record_store(place_cell(lane, j), (*r)[j]);
        }
        workgroupBarrier();
        load_line(r, lane);
    }
    if live {
        sort_registers(r);
    }
    store_line(r, lane);
    merge_blocks(lane, live);
}

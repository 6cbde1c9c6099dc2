// SAMPLE SORT, last distribution: gathers each child of a bucket from the sorted tiles of the bucket, sorts
// it, and writes it where it belongs, however many records it has. Where keys are distributed twice, that is
// only for those that sorted_buckets.wgsl left, and those from `params.rest` on, which it was not given.
//
// `prefixes`, `child_table`: see splitter_ranks.wgsl. `bucket_table`: see splitters.wgsl.
//
// `overflows`: how many children sorted_buckets.wgsl left, and their numbers.
//
// A workgroup of LANES = TILE / 32 lanes takes a child after the other. Samples are so many that it is very unlikely to have more than
// TILE records, on any input. Should one have more all the same, its workgroup sorts it in pieces of TILE records,
// and then blocks of half as many by Batcher's merge exchange (Knuth, The Art of Computer Programming, volume 3,
// algorithm 5.2.2M), whose comparators on blocks sort two of them: right on every input, if slower, and by a
// number of rounds that only the number of records decides.
//
// No bank conflict in the sort (see sort_tile.wgsl); marking the segments has some (see gather.wgsl).

@group(0) @binding(8) var<storage, read> overflows: array<u32>;

// The place of a record of two blocks of half a tile, in the child.
fn block_place(lane: u32, j: u32, low: u32, high: u32) -> u32 {
    let at = place(lane, j);
    return select(low + at, high + at - TILE / 2u, at >= TILE / 2u);
}

// Loads two blocks of half a tile, the second from `high` on; what is past the end is padded.
fn load_blocks(r: ptr<function, array<Record, 32>>, lane: u32, start: u32, len: u32, low: u32, high: u32) {
    var arrays: array<u32, 32>;
    for (var j = 0u; j < 32u; j++) {
        arrays[j] = start + min(block_place(lane, j, low, high), len - 1u);
    }
    arrays_of(&arrays, start, start + len - 1u);
    for (var j = 0u; j < 32u; j++) {
        let source_at = block_place(lane, j, low, high);
        (*r)[j] = LAST_RECORD;
        if source_at < len {
            (*r)[j] = encode_record(arrays[j], load_stored(start + source_at));
        }
    }
}

fn sort_child(number: u32, lane: u32) {
    let child = child_of(number);
    let count = child.count;
    if count == 0u {
        return;
    }
    let pieces = (count - 1u) / TILE + 1u;

    // The piece, or of the merge exchange p, q, r, d and i.
    var piece = 0u;
    let blocks = (count - 1u) / (TILE / 2u) + 1u;
    var top = 1u;
    while 2u * top < blocks {
        top *= 2u;
    }
    var p = top;
    var q = top;
    var bits = 0u;
    var distance = top;
    var block = 0u;
    var r: array<Record, 32>;
    loop {
        var low = piece * TILE;
        var high = low + TILE / 2u;
        var real = TILE;
        if piece < pieces {
            real = min(count - low, TILE);
            gather_child(&r, lane, child, low, real);
        } else {
            low = block * (TILE / 2u);
            high = (block + distance) * (TILE / 2u);
            real = TILE / 2u + min(count - high, TILE / 2u);
            load_blocks(&r, lane, child.start, count, low, high);
            workgroupBarrier();
        }
        if child.done {
            store_gathered(&r, lane, child.start + low, real);
        } else {
            sort_tile(&r, lane, real);
            for (var j = 0u; j < 32u; j++) {
                let to = block_place(lane, j, low, high);
                if to < count {
                    store_record(child.start + to, record_load(place_cell(lane, j)));
                }
            }
        }
        // (Storing what was gathered reads no workgroup memory that the next child would write.)
        if pieces == 1u || (child.done && piece + 1u == pieces) {
            break;
        }
        storageBarrier();
        workgroupBarrier();

        // The next piece, or the next comparator of blocks.
        if piece < pieces {
            piece++;
            if piece < pieces {
                continue;
            }
        } else {
            block++;
        }
        while p > 0u && !(block + distance < blocks && (block & p) == bits) {
            if block + distance < blocks {
                block++;
            } else {
                block = 0u;
                if q != p {
                    distance = q - p;
                    q /= 2u;
                    bits = p;
                } else {
                    p /= 2u;
                    q = top;
                    bits = 0u;
                    distance = p;
                }
            }
        }
        if p == 0u {
            break;
        }
    }
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let left = overflows[0];
    let all = left + max(child_table[0], params.rest) - params.rest;
    for (var i = workgroup_number(group, groups); i < all; i += groups.x * groups.y) {
        var child = params.rest + i - left;
        if i < left {
            child = overflows[i + 1u];
        }
        sort_child(child, lane);
        workgroupBarrier();
    }
}

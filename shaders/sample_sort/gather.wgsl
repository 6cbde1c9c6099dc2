// Gathers consecutive records of a child into the lanes' registers: they lie in sorted tiles, a segment in
// each.
//
// `prefixes` says how many records of a tile and all before it are left of a splitter. Those of the
// child's two splitters, one less the other, are where each tile's segment begins in the child. Every
// segment is marked at its first place in this tile, in one bit of `starts`, with what its places must be
// moved by to be those in `source`; and where it goes on over the border of 32 places, there in `moves`.
//
// A lane marks a segment. Its place depends on the keys, and so do the banks: an exception by name. When they
// are read, the lanes of a warp are at 32 consecutive places, without conflict.

struct Part {
    // The parent's first record and number of records.
    start: u32,
    len: u32,
    // The rows of the child's splitters in `prefixes`.
    row: u32,
    next_row: u32,
    // The first tile that has records of it, and one past the last.
    first_tile: u32,
    end_tile: u32,
    // The first of the records to be gathered, in the child, and their number.
    first: u32,
    count: u32,
    // Where they are gathered to.
    base: u32,
}

// For rows: left of the first child is nothing, left of the end is everything.
const NOTHING: u32 = 0xffffffffu;
const EVERYTHING: u32 = 0xfffffffeu;

var<workgroup> starts: array<atomic<u32>, LANES>;

// Records of all tiles before this one that are left of a splitter.
fn left_of(row: u32, tile: u32, parent: u32) -> u32 {
    if row == NOTHING || tile == 0u {
        return 0u;
    }
    if row == EVERYTHING {
        return min(tile * params.tile, parent);
    }
    return prefixes[row + tile - 1u];
}

fn gather(r: ptr<function, array<Record, 32>>, lane: u32, part: Part) {
    workgroupBarrier();
    atomicStore(&starts[lane], 0u);
    word_store(TILE + lane, 0u);
    workgroupBarrier();
    let end = part.first + part.count;
    for (var chunk = part.first_tile; chunk < part.end_tile; chunk += LANES) {
        let tile = chunk + lane;
        if tile < part.end_tile {
            let left = left_of(part.row, tile, part.len);
            let left_next = left_of(part.row, tile + 1u, part.len);
            let segment = left_of(part.next_row, tile, part.len) - left;
            let segment_end = left_of(part.next_row, tile + 1u, part.len) - left_next;
            let first = max(segment, part.first);
            let last_end = min(segment_end, end);
            if first < last_end {
                // The segment begins behind what its tile has on the left.
                let at = part.start + tile * params.tile + (left_next - left) + (first - segment);
                let begin = first - part.first;
                let move_by = at - begin;
                atomicOr(&starts[begin / 32u], 1u << (begin % 32u));
                word_mark(begin, move_by);
                for (var line = begin / 32u + 1u; line * 32u < last_end - part.first; line++) {
                    word_mark(TILE + line, move_by);
                }
            }
        }
    }
    workgroupBarrier();
    let first_line = (lane / 32u) * 32u;
    if first_line * 32u >= part.count {
        for (var j = 0u; j < 32u; j++) {
            (*r)[j] = LAST_RECORD;
        }
    } else {
        for (var j = 0u; j < 32u; j++) {
            // The last segment that begins in this line, and not behind this place, or the one before.
            let line = first_line + j;
            let begun = atomicLoad(&starts[line]) & (0xffffffffu >> (31u - lane % 32u));
            let mark = select(TILE + line, line * 32u + firstLeadingBit(begun), begun != 0u);
            // Some record, where there is none: a load in a branch of its own waits for the one before.
            (*r)[j] = load_record(min(place(lane, j) + word_probe(mark), params.len - 1u));
        }
        var arrays: array<u32, 32>;
        arrays_of_tile(&arrays, lane, part.base, part.count);
        for (var j = 0u; j < 32u; j++) {
            if place(lane, j) < part.count {
                (*r)[j] = encode_record(arrays[j], (*r)[j]);
            } else {
                (*r)[j] = LAST_RECORD;
            }
        }
    }
    workgroupBarrier();
}

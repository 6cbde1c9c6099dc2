// Uses layout/load, lib/key_map, lib/scan, lib/workgroup, top_k/records.
//
// TOP K of segments: the first k records of each in order, by key and then by index.
//
// `source`: keys, see load.wgsl. `output`, `indices`: a row of k for each segment. If a segment has
// fewer records, the rest of its row keeps its bits.
//
// A workgroup has a segment, of any length. It looks for a record up to which there are k to
// params.room records, sorts these in workgroup memory, and writes the first k:
//
// 1. At first, all records are candidates. Each round finds the range of the candidates in the most
//    significant word in which they differ, divides it into a bin for each lane, and counts the
//    candidates of each bin. Those of the bin that has the k-th record are the next candidates.
//    Rounds end when the records up to the last candidate fit into params.room. Since no two
//    records are equal, that is after 4 rounds for each word at the latest; mostly, after one.
//    If IDLE_ROUNDS is 1, the others follow without effect: FXC takes no barrier in a loop that
//    workgroup memory ends.
// 2. The records up to the last candidate go to workgroup memory, in an order that depends on
//    nothing but the input.
// 3. A bitonic sort of as many cells as a power of two, at least those.
//
// Each lane keeps its EACH records in registers. The keys of a segment with more than PART records
// are read again whenever they are needed: two times in a round, and two times at the end.
//
// Another program may change keys and offsets while it runs. Then rounds may end without a result,
// and any records are kept; but no more than there are cells.
//
// Bank conflicts where records are counted, and where they get their places: the addresses depend
// on the data. None in the sort: a lane compares the cells a and b. Lanes of a warp have 32
// different a, in a block of 32 cells, or in two. If in two, with a bit that is 0, the lanes of the
// second block access b first, which has that bit: all lanes are in different banks. See scan.wgsl,
// too.

const PART: u32 = EACH * LANES;
const ROUNDS: u32 = 4u * WORDS;
const MOST: u32 = 0xffffffffu;

// The mapped keys of a lane's records in a part, LANES apart.
var<private> own: array<vec2<u32>, EACH>;

// The candidates in each bin.
var<workgroup> histogram: array<atomic<u32>, LANES>;
// The least word of the candidates, and the greatest: 8 copies of each.
var<workgroup> bounds: array<atomic<u32>, 16>;
// The bin that has the k-th record; the number of records before it, and of those up to its end.
var<workgroup> chosen: vec4<u32>;

// Reads the keys of a part of a segment. Those beyond its end are as high as any.
fn fetch(lane: u32, segment: vec2<u32>, part: u32) {
    for (var j = 0u; j < EACH; j++) {
        let i = part + j * LANES + lane;
        let key = load_key(segment.x + min(i, segment.y - 1u));
        own[j] = select(vec2<u32>(MOST, MOST), key, i < segment.y);
    }
}

// Compares and exchanges cells whose numbers differ in the bits of a mask, of which `bit` is the
// highest. All lanes must call it.
fn exchange(lane: u32, size: u32, bit: u32, mask: u32) {
    for (var first = 0u; first < size / 2u; first += LANES) {
        let pair = first + lane;
        if pair < size / 2u {
            let a = 2u * pair - (pair & (bit - 1u));
            let is_late = (a & 32u) != 0u;
            let x = select(a, a ^ mask, is_late);
            let y = x ^ mask;
            let at_x = kept_load(x);
            let at_y = kept_load(y);
            let swaps = precedes(at_y, at_x) != is_late;
            kept_store(x, select(at_x, at_y, swaps));
            kept_store(y, select(at_y, at_x, swaps));
        }
    }
    workgroupBarrier();
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = params.first + workgroup_number(group, groups);
    if row >= params.end {
        return;
    }
    let segment = segment_at(row);
    let len = segment.y;
    if len == 0u {
        return;
    }
    let wanted = min(params.k, len);
    // Candidates are from `low` to `high`. There are `before` records before them, and `up_to` up
    // to the last of them.
    var low = FIRST;
    var high = LAST;
    var before = 0u;
    var up_to = len;
    fetch(lane, segment, 0u);
    for (var round = 0u; round < ROUNDS; round++) {
        let is_done = up_to <= params.room;
        if is_done & (IDLE_ROUNDS == 0u) {
            break;
        }
        let end = select(len, 0u, is_done);
        atomicStore(&histogram[lane], 0u);
        if lane < 16u {
            atomicStore(&bounds[lane], select(0u, MOST, lane < 8u));
        }
        if lane == 0u {
            chosen = vec4<u32>(0u);
        }
        workgroupBarrier();
        let level = level_of(low, high);
        var least = MOST;
        var greatest = 0u;
        for (var part = 0u; part < end; part += PART) {
            if len > PART {
                fetch(lane, segment, part);
            }
            for (var j = 0u; j < EACH; j++) {
                let i = part + j * LANES + lane;
                let r = record_of(own[j], i);
                let is_other = precedes(r, low) | precedes(high, r) | (i >= len);
                least = min(least, select(word_of(r, level), MOST, is_other));
                greatest = max(greatest, select(word_of(r, level), 0u, is_other));
            }
        }
        atomicMin(&bounds[lane % 8u], least);
        atomicMax(&bounds[lane % 8u + 8u], greatest);
        workgroupBarrier();
        for (var i = 0u; i < 8u; i++) {
            least = min(least, atomicLoad(&bounds[i]));
            greatest = max(greatest, atomicLoad(&bounds[i + 8u]));
        }
        let range = max(greatest, least) - least;
        // A bin has 2^shift words.
        let shift = max(32u - countLeadingZeros(range), BIN_BITS) - BIN_BITS;
        for (var part = 0u; part < end; part += PART) {
            if len > PART {
                fetch(lane, segment, part);
            }
            for (var j = 0u; j < EACH; j++) {
                let i = part + j * LANES + lane;
                let r = record_of(own[j], i);
                let is_other = precedes(r, low) | precedes(high, r) | (i >= len);
                // If all have the same word, their number is known.
                if !is_other & (range > 0u) {
                    let bin = (word_of(r, level) - least) >> shift;
                    atomicAdd(&histogram[min(bin, LANES - 1u)], 1u);
                }
            }
        }
        workgroupBarrier();
        let of_one = select(0u, up_to - before, lane == 0u);
        let count = select(atomicLoad(&histogram[lane]), of_one, range == 0u);
        let begin = before + exclusive_sum(lane, count);
        if (begin < wanted) & (wanted <= begin + count) {
            chosen = vec4<u32>(lane, begin, begin + count, 0u);
        }
        let choice = workgroupUniformLoad(&chosen);
        if !is_done {
            let offset = choice.x << shift;
            low = with_word(low, level, least + offset);
            let last = min(offset + ((1u << shift) - 1u), range);
            high = with_word(high, level, least + last);
            before = choice.y;
            up_to = choice.z;
        }
    }

    // By the parameters and the segment alone: see 1.
    let size = 1u << (32u - countLeadingZeros(min(params.room, len) - 1u));
    for (var first = 0u; first < size; first += LANES) {
        if first + lane < size {
            kept_store(first + lane, LAST);
        }
    }
    var count = 0u;
    for (var part = 0u; part < len; part += PART) {
        if len > PART {
            fetch(lane, segment, part);
        }
        for (var j = 0u; j < EACH; j++) {
            let i = part + j * LANES + lane;
            let is_kept = !precedes(high, record_of(own[j], i)) & (i < len);
            count += u32(is_kept);
        }
    }
    var place = exclusive_sum(lane, count);
    for (var part = 0u; part < len; part += PART) {
        if len > PART {
            fetch(lane, segment, part);
        }
        for (var j = 0u; j < EACH; j++) {
            let i = part + j * LANES + lane;
            let r = record_of(own[j], i);
            if !precedes(high, r) & (i < len) {
                if place < size {
                    keep(place, r);
                }
                place++;
            }
        }
    }
    workgroupBarrier();
    for (var sorted = 2u; sorted <= size; sorted *= 2u) {
        exchange(lane, size, sorted / 2u, sorted - 1u);
        for (var bit = sorted / 4u; bit > 0u; bit /= 2u) {
            exchange(lane, size, bit, bit);
        }
    }
    for (var first = 0u; first < wanted; first += LANES) {
        let i = first + lane;
        if (i < wanted) & (i < size) {
            let r = kept_load(i);
            store_key(row * params.k + i, r);
            store_index(row * params.k + i, segment.x + r.x);
        }
    }
}

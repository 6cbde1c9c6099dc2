// Sorts an item by one more partition, in workgroup memory: records of one or two words. It is in
// place of the section `sort` of tile_sort.wgsl, whose passes it falls back on.
//
// The buckets of a tile, half as many as its records, divide the range of the item's records
// evenly. Each lane counts the records that it fetched, and gets their ranks in their buckets; sums
// of the counts are the starts of the buckets; so each record has a place in the tile, after all
// records of lesser buckets. Then each lane sorts a line, and merges the second half of its line
// with the first half of the next: a window.
//
// Why this sorts: the buckets are in order, and no pass moves a record out of its bucket's places.
// A bucket within a line is sorted with it. One that is in two lines is sorted if it is within a
// window, and a window leaves in order what was in order. A bucket of at most 9 records is within a
// line or within a window. Buckets whose records are equal need no sort.
//
// With more than 9 records in a bucket, an item is crowded. With at most 129, each bucket is within
// a block of 16 lines, or within the second half of one and the first half of the next: so the
// blocks are sorted, and then those halves are merged. With more, the whole tile is sorted as any
// other. So are, at once, all items of a segment whose samples are uneven: most of these would
// be crowded.
//
// Padding is before and after all buckets.
//
// Bank conflicts where lanes count records, read the starts of their buckets, and store records at
// their places: the addresses depend on the data; and where 16 lanes add to one total. None
// elsewhere: the counters of 8 buckets are 9 words apart, and so in different banks for the lanes
// of a warp.
//
// A kernel takes the section of its records, and `spread`.

// ---- one_word

// How an item's records are spread: as numbers of up to 16 bits, the differences from the least
// record without their lowest bits.
struct Spread {
    least: u32,
    shift: u32,
    // See `factor_of`.
    factor: u32,
    // True if the records of each bucket are equal.
    is_exact: bool,
}

// Lanes write the bounds of their records to 8 copies, so that few of them share one.
fn share_bounds(lane: u32, least: Record, greatest: Record) {
    let at = BOUNDS + lane % 8u;
    atomicMin(&tile_atoms[at], least);
    atomicMax(&tile_atoms[at + 8u], greatest);
}

// Spreads the records between the least and the greatest.
fn spread_of_item(lane: u32, cells: Cells) -> Spread {
    share_bounds(lane, least_of(cells), greatest_of(cells));
    workgroupBarrier();
    let least = least_bound(BOUNDS);
    let range = greatest_bound(BOUNDS) - least;
    let shift = bits_beyond(range, 16u);
    let last = range >> shift;
    return Spread(least, shift, factor_of(last), shift == 0u && last < BUCKETS);
}

fn bucket_of(spread: Spread, r: Record) -> u32 {
    return (((r - spread.least) >> spread.shift) * spread.factor) >> BUCKET_SHIFT;
}

// Stores a record at its place in the tile.
fn scatter(at: u32, r: Record) {
    atomicStore(&tile_atoms[at], r);
}

// ---- two_words

// How an item's records are spread: as numbers of up to 16 bits, each of two digits. The upper
// digit is the difference of the upper words without its lowest bits, the lower digit that of the
// lower words, with as many bits as fit. So records with few upper words are spread by their lower
// words, too.
struct Spread {
    least: vec2<u32>,
    shift: vec2<u32>,
    // The greatest lower digit.
    most: u32,
    // See `factor_of`.
    factor: u32,
    // True if the records of each bucket are equal.
    is_exact: bool,
}

// Lanes write the bounds of their records' words to 8 copies, so that few of them share one.
fn share_bounds(lane: u32, least: Record, greatest: Record) {
    let at = BOUNDS + lane % 8u;
    atomicMin(&tile_atoms[at], least.x);
    atomicMax(&tile_atoms[at + 8u], greatest.x);
    atomicMin(&tile_atoms[at + 16u], least.y);
    atomicMax(&tile_atoms[at + 24u], greatest.y);
}

// Spreads the records between the least and the greatest of their words: lower words may be few
// values, or small ones.
fn spread_of_item(lane: u32, cells: Cells) -> Spread {
    share_bounds(lane, least_of(cells), greatest_of(cells));
    workgroupBarrier();
    let least = vec2<u32>(least_bound(BOUNDS), least_bound(BOUNDS + 16u));
    let range = vec2<u32>(greatest_bound(BOUNDS), greatest_bound(BOUNDS + 16u)) - least;
    let upper_shift = bits_beyond(range.y, 16u);
    let upper = range.y >> upper_shift;
    // So many lower digits fit: with them, the greatest number is below 2^16.
    let room = 0x10000u / (upper + 1u);
    let lower_shift = min(bits_beyond(range.x, firstLeadingBit(room)), 31u);
    let most = min(range.x >> lower_shift, room - 1u);
    let last = upper * (most + 1u) + most;
    let shift = vec2<u32>(lower_shift, upper_shift);
    let is_whole = (upper_shift | lower_shift) == 0u && range.x < room;
    return Spread(least, shift, most, factor_of(last), is_whole && last < BUCKETS);
}

fn bucket_of(spread: Spread, r: Record) -> u32 {
    let digits = (r - spread.least) >> spread.shift;
    let number = digits.y * (spread.most + 1u) + min(digits.x, spread.most);
    return (number * spread.factor) >> BUCKET_SHIFT;
}

// Stores a record at its place in the tile.
fn scatter(at: u32, r: Record) {
    tile_words[at] = r.x;
    atomicStore(&tile_atoms[at], r.y);
}

// ---- spread

// The factor for numbers up to `last`, which is below 2^16: the upper bits of its product with a
// number are the number's bucket. It is 2^32 / (`last` + 1), rounded up, so that each of at most
// BUCKETS numbers has its own bucket. No product of these numbers is 2^32 or more; that of any
// other number is a bucket, too.
fn factor_of(last: u32) -> u32 {
    return 0xffffffffu / (last + 1u) + 1u;
}

// The bits of a number but for `bits`.
fn bits_beyond(number: u32, bits: u32) -> u32 {
    return max(32u - countLeadingZeros(number), bits) - bits;
}

fn least_bound(at: u32) -> u32 {
    var least = 0xffffffffu;
    for (var i = 0u; i < 8u; i++) {
        least = min(least, atomicLoad(&tile_atoms[at + i]));
    }
    return least;
}

fn greatest_bound(at: u32) -> u32 {
    var greatest = 0u;
    for (var i = 8u; i < 16u; i++) {
        greatest = max(greatest, atomicLoad(&tile_atoms[at + i]));
    }
    return greatest;
}

const BUCKETS: u32 = SORT_TILE / 2u;
const BUCKET_SHIFT: u32 = 32u - countTrailingZeros(BUCKETS);

// Words of `tile_atoms`, before the records are there: the counters of the buckets; 8 copies of the
// bounds of the records' words, the least and the greatest; how crowded the item is, 0 to 2; a
// counter that stays 0; the sums of each lane's counters, and those of 16 lanes.
const BOUNDS: u32 = BUCKETS / 8u * 9u;
const CROWDED: u32 = BOUNDS + 32u;
const EMPTY: u32 = BOUNDS + 33u;
const SUMS: u32 = BOUNDS + 64u;
const TOTALS: u32 = SUMS + LINES;

fn clear_counters(lane: u32) {
    for (var i = 0u; i < 9u; i++) {
        atomicStore(&tile_atoms[9u * lane + i], 0u);
    }
    if lane < 64u {
        let is_least = (lane < 32u) & ((lane & 8u) == 0u);
        atomicStore(&tile_atoms[BOUNDS + lane], select(0u, 0xffffffffu, is_least));
    }
    if lane < LINES / 16u {
        atomicStore(&tile_atoms[TOTALS + lane], 0u);
    }
}

// The place of the counter of a record's bucket; of padding, the counter that stays 0. Only the
// tile's first 32 records may be before the item.
fn counter_of(blocks: Blocks, lane: u32, spread: Spread, i: u32, r: Record) -> u32 {
    let position = position_of(blocks, lane, i);
    let bucket = bucket_of(spread, r);
    let is_after = (i * LINES >= 32u) | (position >= blocks.start);
    let is_own = is_after & (position < blocks.end);
    return select(EMPTY, bucket + bucket / 8u, is_own);
}

// Counts a record in its bucket. Returns its rank there.
fn count_in(counter: u32) -> u32 {
    var rank = 0u;
    if counter != EMPTY {
        rank = atomicAdd(&tile_atoms[counter], 1u);
    }
    return rank;
}

fn count_four(counters: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(
        count_in(counters.x),
        count_in(counters.y),
        count_in(counters.z),
        count_in(counters.w),
    );
}

// The places of four records.
fn places_of(counters: vec4<u32>, ranks: vec4<u32>) -> vec4<u32> {
    let starts = vec4<u32>(
        atomicLoad(&tile_atoms[counters.x]),
        atomicLoad(&tile_atoms[counters.y]),
        atomicLoad(&tile_atoms[counters.z]),
        atomicLoad(&tile_atoms[counters.w]),
    );
    return word_places(starts + ranks);
}

fn largest_of(numbers: vec4<u32>) -> u32 {
    return max(max(numbers.x, numbers.y), max(numbers.z, numbers.w));
}

fn counters_from(at: u32) -> vec4<u32> {
    return vec4<u32>(
        atomicLoad(&tile_atoms[at]),
        atomicLoad(&tile_atoms[at + 1u]),
        atomicLoad(&tile_atoms[at + 2u]),
        atomicLoad(&tile_atoms[at + 3u]),
    );
}

fn set_counters_from(at: u32, starts: vec4<u32>) {
    atomicStore(&tile_atoms[at], starts.x);
    atomicStore(&tile_atoms[at + 1u], starts.y);
    atomicStore(&tile_atoms[at + 2u], starts.z);
    atomicStore(&tile_atoms[at + 3u], starts.w);
}

// The sums of the counts up to each one.
fn sums_to(counts: vec4<u32>) -> vec4<u32> {
    let pairs = counts + vec4<u32>(0u, counts.xyz);
    return pairs + vec4<u32>(0u, 0u, pairs.xy);
}

// Replaces the counters of a lane's 8 buckets by their starts, from `first` on, and finds how
// crowded the item is. `exact`: not at all, however large its buckets.
fn start_buckets(lane: u32, first: u32, exact: bool) {
    let own = 9u * lane;
    let low = counters_from(own);
    let high = counters_from(own + 4u);
    let low_sums = sums_to(low);
    let high_sums = sums_to(high) + low_sums.w;
    // Summed in one word: the records, and from bits 16 and 25 on the lanes with a bucket of more
    // than 9 records, or of more than 129.
    let largest = max(largest_of(low), largest_of(high));
    let is_large = select(0u, 1u << 16u, largest > 9u) + select(0u, 1u << 25u, largest > 129u);
    atomicStore(&tile_atoms[SUMS + lane], high_sums.w);
    atomicAdd(&tile_atoms[TOTALS + lane / 16u], high_sums.w + is_large);
    workgroupBarrier();
    var start = first;
    for (var i = 0u; i < 16u; i++) {
        let other = atomicLoad(&tile_atoms[SUMS + lane / 16u * 16u + i]);
        start += select(0u, other, i < lane % 16u);
    }
    var total = 0u;
    for (var i = 0u; i < LINES / 16u; i++) {
        let other = atomicLoad(&tile_atoms[TOTALS + i]);
        start += select(0u, other & 0xffffu, i < lane / 16u);
        total += other;
    }
    set_counters_from(own, low_sums - low + start);
    set_counters_from(own + 4u, high_sums - high + start);
    if lane == 0u {
        let crowded = select(select(0u, 1u, total >= 1u << 16u), 2u, total >= 1u << 25u);
        atomicStore(&tile_atoms[CROWDED], select(crowded, 0u, exact));
    }
}

// Stores a record at its place in the tile, unless it is padding.
fn scatter_own(counter: u32, place: u32, r: Record) {
    if counter != EMPTY {
        scatter(place, r);
    }
}

// Pads the tile before and after the records.
fn pad_tile(first: u32, end: u32, lane: u32) {
    for (var i = lane; i < first; i += LANES) {
        scatter(word_place(i / 16u, i % 16u), FIRST);
    }
    for (var i = end + lane; i < SORT_TILE; i += LANES) {
        scatter(word_place(i / 16u, i % 16u), LAST);
    }
}

// Compares the lines of the second half of each block of 16 lines with those of the first half of
// the next, to merge them.
fn merge_between_blocks(lane: u32) {
    workgroupBarrier();
    if lane + 16u < LINES {
        let own = column_at(lane, 1u, 0u);
        // As in any merge, a lane has the opposite column in the upper half.
        let next = column_at((lane ^ 15u) + 16u, 1u, 0u);
        let at = Places(own.c, own.d, next.a, next.b);
        store_cells(at, cross_4(load_cells(at)));
    }
}

// Merges the second half of a lane's line with the first half of the next.
fn merge_window(lane: u32) {
    workgroupBarrier();
    if lane + 1u < LINES {
        let line = line_at(lane);
        let next = line_at(lane + 1u);
        let merged = merge_line(load_cells(Places(line.c, line.d, next.b.wzyx, next.a.wzyx)));
        store_cells(Places(line.c, line.d, next.a, next.b), merged);
    }
}

// Fetches a tile and sorts it.
fn sort_tile(blocks: Blocks, lane: u32, count: u32) {
    let fetched = fetch_cells(blocks, lane);
    let line = line_at(lane);
    let first = blocks.start - blocks.low;
    var crowded = 2u;
    if blocks.is_even {
        clear_counters(lane);
        workgroupBarrier();
        let spread = spread_of_item(lane, fetched);
        let counters = counters_of(blocks, lane, spread, fetched);
        let ranks = Places(
            count_four(counters.a),
            count_four(counters.b),
            count_four(counters.c),
            count_four(counters.d),
        );
        workgroupBarrier();
        start_buckets(lane, first, spread.is_exact);
        crowded = workgroupUniformLoad(&tile_atoms[CROWDED]);
        if crowded < 2u {
            let places = Places(
                places_of(counters.a, ranks.a),
                places_of(counters.b, ranks.b),
                places_of(counters.c, ranks.c),
                places_of(counters.d, ranks.d),
            );
            workgroupBarrier();
            scatter_cells(counters, places, fetched);
            pad_tile(first, blocks.end - blocks.low, lane);
            workgroupBarrier();
        }
    }
    var cells: Cells;
    if crowded < 2u {
        cells = load_cells(line);
    } else {
        cells = pad_cells(blocks, lane, fetched);
    }
    store_cells(line, sort_line(cells));
    if crowded == 0u {
        merge_window(lane);
    } else {
        for (var k = 1u; k <= select(5u, firstLeadingBit(LINES), crowded == 2u); k++) {
            if k == 5u && crowded == 1u {
                merge_between_blocks(lane);
            } else {
                merge_columns(k, lane);
            }
            workgroupBarrier();
            store_cells(line, merge_line(load_cells(line)));
        }
    }
    workgroupBarrier();
}

// Uses lib/key_map, lib/workgroup, samplesort/bins, samplesort/cells, samplesort/io,
// samplesort/params, samplesort/segments, samplesort/shape, samplesort/tile_sort.
//
// The SPLITTERS of a segment, and whether its samples are even, so that records are spread evenly
// over the buckets of an item: see `spread.wgsl`. A kernel takes the section `splitters`, and
// before it those for its records.
//
// 16 consecutive samples, those of a line, span about as many records as an item has. Of the
// distances between even samples, 3 % are below a 32nd of their mean. Where many records are equal,
// or in tight groups, most are. A segment is uneven if a tenth of the distances are.
//
// The sums of all lanes take the place of the samples, which are not needed any more.
//
// No bank conflict in these sums: lanes load their lines, and then consecutive words.

// ---- even_words

fn lower_words(cells: Cells, lane: u32) -> f32 {
    return 1.0;
}

fn distance(a: Record, b: Record, lower_words: f32) -> f32 {
    return f32(b - a);
}

// ---- even_pairs

// The number of different lower words that the samples' bounds allow: as in `spread.wgsl`, lower
// words are digits, so that values of a few bits are even between the keys 1, 2, 3.
fn lower_words(cells: Cells, lane: u32) -> f32 {
    workgroupBarrier();
    store(lane, vec2<u32>(least_of(cells).x, greatest_of(cells).x));
    workgroupBarrier();
    var bounds = vec2<u32>(0xffffffffu, 0u);
    for (var i = lane % 16u; i < LANES; i += 16u) {
        let other = load(i);
        bounds = vec2<u32>(min(bounds.x, other.x), max(bounds.y, other.y));
    }
    workgroupBarrier();
    if lane < 16u {
        store(lane, bounds);
    }
    workgroupBarrier();
    for (var i = 0u; i < 16u; i++) {
        let other = load(i);
        bounds = vec2<u32>(min(bounds.x, other.x), max(bounds.y, other.y));
    }
    return f32(bounds.y - bounds.x) + 1.0;
}

fn distance(a: Record, b: Record, lower_words: f32) -> f32 {
    return f32(b.y - a.y) * lower_words + (f32(b.x) - f32(a.x));
}

// ---- examined

// 1 if the second record is near the first: below a 32nd of the mean of 15 distances, whose sum is
// `span`.
fn near(a: Record, b: Record, lower_words: f32, span: f32) -> u32 {
    return select(0u, 1u, distance(a, b, lower_words) * 480.0 <= span);
}

// Writes the state of the segment's items to word `at` of the splitters. `count`: the number of
// samples, of which those after the last whole line are not examined.
fn examine(at: u32, lane: u32, count: u32) {
    let lines = count / 16u;
    // Lanes without a line examine the first.
    let is_own = lane < lines;
    let cells = load_cells(line_at(select(0u, lane, is_own)));
    let own = near_cells(cells, lower_words(cells, lane));
    let all = sum_of_lanes(0u, lane, select(0u, own, is_own));
    if lane == 0u {
        splitters[at] = select(UNEVEN, EVEN, 10u * all <= 15u * lines);
    }
}

// ---- not_examined

// Records that are not spread.
fn examine(at: u32, lane: u32, count: u32) {}

// ---- splitters

// SAMPLE SORT, splitters: chooses the splitters of each segment, whose number of children depends
// on its number of records.
//
//   samples:   one record of each of `samples` equal intervals, at a hashed position, so that no
//              period of the input matches a period of the samples
//   sort them: as a tile
//   splitters: evenly spaced samples. A child has the records above one splitter, up to and with
//              the next.
//
// A record that is the sample of several splitters is frequent. The first of these splitters is
// replaced by the record's predecessor. So all copies of the record, and nothing else, are between
// two splitters, and need no sort whatever their number. Records are integers, so the predecessor
// exists.
//
// One workgroup per segment. `splitters`: for each segment `nodes` records in breadth-first order.
// Those after the last splitter are LAST. The first is no splitter: where items are spread, it
// holds their state. Then come the segment's bins, see `bins.wgsl`. `counts`: cleared for the next
// kernel. `tile_segments`: the segment of each tile. `children`: the table of the next level, or
// the list of items; its counter is cleared.
//
// No bank conflict in the sort. Loads of evenly spaced samples may conflict.

@group(0) @binding(6) var<storage, read_write> splitters: array<u32>;
@group(0) @binding(7) var<storage, read_write> counts: array<u32>;
@group(0) @binding(8) var<storage, read_write> tile_segments: array<u32>;
@group(0) @binding(9) var<storage, read_write> children: array<u32>;

// The position of sample `i` of `samples` = 2^log2 among `count` records.
fn sample_position(i: u32, count: u32, log2: u32, salt: u32) -> u32 {
    let begin = i * (count >> log2) + ((i * (count & (params.samples - 1u))) >> log2);
    let each = count >> log2;
    let part = hash(i ^ salt) >> 16u;
    // The product each * part may have 48 bits.
    return begin + (each >> 16u) * part + (((each & 0xffffu) * part) >> 16u);
}

// The segment with the samples to sort, as the only block of a tile.
struct Blocks {
    low: u32,
    high: u32,
    are_sorted: bool,
    start: u32,
    count: u32,
    // Log2 of the number of samples, and the salt of their hash.
    log2: u32,
    salt: u32,
}

fn fetch(blocks: Blocks, lane: u32, i: u32) -> Record {
    let all = (blocks.count >> blocks.log2) > 0u;
    let is_sample = i < select(blocks.count, params.samples, all);
    let position = select(i, sample_position(i, blocks.count, blocks.log2, blocks.salt), all);
    // In a branch, this load would wait for the one before.
    let r = load_source(blocks.start + min(position, blocks.count - 1u));
    return pick(LAST, encode_source(r), is_sample);
}

fn padded(blocks: Blocks, i: u32, r: Record) -> Record {
    return r;
}

fn padded_first(blocks: Blocks, i: u32, r: Record) -> Record {
    return r;
}

// The last sample of the children before child `c`; the first sample for child 0.
fn sample_before(c: u32, children: u32, samples: u32) -> Record {
    return tile_load(max(c * samples / children, 1u) - 1u);
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if number >= params.segments {
        return;
    }
    let segment = segment_at(number);
    if number == 0u && lane == 0u {
        children[0] = 0u;
    }
    let nodes = params.nodes;
    for (var i = lane; i < nodes; i += LANES) {
        counts[number * nodes + i] = 0u;
    }
    if segment.count == 0u {
        return;
    }
    if params.whole == 0u {
        let room = params.tiles - min(segment.first_tile, params.tiles);
        let own = min(tiles_between(segment.start, segment.count), room);
        for (var i = lane; i < own; i += LANES) {
            tile_segments[segment.first_tile + i] = number;
        }
    }
    let samples = params.samples;
    let salt = params.seed ^ hash(number);
    let log2 = countTrailingZeros(samples);
    sort_tile(Blocks(0u, 0u, false, segment.start, segment.count, log2, salt), lane, samples);
    let sample_count = min(segment.count, samples);
    let max_children = min(select(nodes, params.slots, params.slots > 0u), sample_count);
    let children = min((segment.count - 1u) / params.child + 1u, max_children);
    let bins = bins_of_samples(sample_count);
    let at = number * params.stride;
    var repeated = 0u;
    for (var k = 0u; 1u + lane + k * LANES < nodes; k++) {
        let c = 1u + lane + k * LANES;
        var splitter = LAST;
        if c < children {
            splitter = sample_before(c, children, sample_count);
            let before = sample_before(c - 1u, children, sample_count);
            let after = sample_before(c + 1u, children, sample_count);
            let is_repeated = c > 1u && is_equal(before, splitter);
            repeated |= select(0u, 1u << k, is_repeated);
            if !is_repeated && c + 1u < children && is_equal(after, splitter) {
                splitter = predecessor(splitter);
            }
        }
        for (var word = 0u; word < WORDS; word++) {
            splitters[at + node_of(c, nodes) * WORDS + word] = word_of(splitter, word);
        }
    }
    if params.is_spread == 1u {
        examine(at, lane, sample_count);
    }
    make_bins(at, bins, repeated, lane, children);
}

// Whether the sorted samples of a segment are even, so that records are spread evenly over the
// buckets of an item: see `spread.wgsl`.
//
// 16 consecutive samples, those of a line, span about as many records as an item has. Of the
// distances between even samples, 3 % are below a 32nd of their mean. Where many records are equal,
// or in tight groups, most are. A segment is uneven if a tenth of the distances are.
//
// The sums of all lanes take the place of the samples, which are not needed any more.
//
// No bank conflict: lanes load their lines, and then consecutive words.

// ---- one_word

fn lower_words(cells: Cells, lane: u32) -> f32 {
    return 1.0;
}

fn distance(a: Record, b: Record, lower_words: f32) -> f32 {
    return f32(b - a);
}

// ---- two_words

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

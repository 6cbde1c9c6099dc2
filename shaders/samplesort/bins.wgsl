// The bins of a segment: `params.bins` ranges of equal width, from the least sample on. Where at
// most one child begins in each bin, a table tells the child of a record by one load; a tree takes
// a load for each of its levels.
//
// Records below the first bin count as the first bin's, those above the last bin as the last one's.
//
// A splitter that is alone in its bin is rounded up to the bin's last record, so all records of the
// bin have one child, which has at most the samples of two: the next splitter is in another bin.
// Bins with several splitters are crowded: their records are searched in the tree. So are those of
// a bin whose splitter is a frequent sample, which keeps a child of its own. The tree has the
// rounded splitters, too, so it finds the same child for any record. Bins of one value need no
// rounding, and are never crowded.
//
// In `splitters`, after the splitters of a segment: log2 of the records of a bin, three words for
// the first record, and the table, the children of two bins in a word.
//
// A kernel takes the sections that it needs.

// ---- bins

struct Bins {
    // The first record of the first bin, and log2 of the records of a bin; or NO_BINS.
    low: Record,
    shift: u32,
}

const NO_BINS: u32 = 0xffffffffu;

// ---- one_word

// The bins of samples from `least` to `greatest`: as narrow as they may be.
fn bins_between(least: Record, greatest: Record) -> Bins {
    let low = predecessor(least);
    let log2 = countTrailingZeros(params.bins);
    let range = greatest - low;
    let shift = max(32u - countLeadingZeros(range), log2) - log2;
    // No bin of a single value has other records, too.
    let is_last = shift == 0u && range == params.bins - 1u;
    return Bins(low, shift + select(0u, 1u, is_last));
}

fn bin_of(bins: Bins, r: Record) -> u32 {
    return min((max(r, bins.low) - bins.low) >> bins.shift, params.bins - 1u);
}

fn in_first_word(word: u32) -> Record {
    return word;
}

// The last record of a bin.
fn last_of_bin(bins: Bins, bin: u32) -> Record {
    let first = bins.low + (bin << bins.shift);
    let last = first + ((1u << bins.shift) - 1u);
    return select(last, LAST, bin == params.bins - 1u || last < first);
}

// ---- two_words

fn minus(a: Record, b: Record) -> Record {
    return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

fn plus(a: Record, b: Record) -> Record {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

// `r` / 2^`shift` for a shift below 32; the largest word if the quotient has two words.
fn shifted_right(r: Record, shift: u32) -> u32 {
    // A shift of 32 is one of 0. Then the upper word is 0, or the quotient has two words.
    let word = (r.x >> shift) | (r.y << ((32u - shift) % 32u));
    return select(word, 0xffffffffu, (r.y >> shift) > 0u);
}

// `word` * 2^`shift`.
fn shifted_left(word: u32, shift: u32) -> Record {
    let part = shift % 32u;
    let carry = select(word >> ((32u - part) % 32u), 0u, part == 0u);
    return select(vec2<u32>(word << part, carry), vec2<u32>(0u, word << part), shift >= 32u);
}

// The bins of samples from `least` to `greatest`: as narrow as they may be. Wide ones are ranges of
// the upper word alone.
fn bins_between(least: Record, greatest: Record) -> Bins {
    var low = predecessor(least);
    let log2 = countTrailingZeros(params.bins);
    var range = minus(greatest, low);
    var bits = 32u - countLeadingZeros(range.x);
    if range.y > 0u {
        bits = 64u - countLeadingZeros(range.y);
    }
    var shift = max(bits, log2) - log2;
    if shift >= 32u {
        low.x = 0u;
        // The bins begin earlier now.
        shift = max(64u - countLeadingZeros(greatest.y - low.y), log2 + 32u) - log2;
    }
    // No bin of a single value has other records, too.
    let is_last = shift == 0u && range.x == params.bins - 1u;
    return Bins(low, shift + select(0u, 1u, is_last));
}

// The bin of a record where bins are ranges of the upper word alone.
fn wide_bin_of(bins: Bins, r: Record) -> u32 {
    return min((max(r.y, bins.low.y) - bins.low.y) >> (bins.shift - 32u), params.bins - 1u);
}

fn bin_of(bins: Bins, r: Record) -> u32 {
    var bin = 0u;
    if bins.shift >= 32u {
        bin = (max(r.y, bins.low.y) - bins.low.y) >> (bins.shift - 32u);
    } else {
        let above = pick(r, bins.low, is_greater(bins.low, r));
        bin = shifted_right(minus(above, bins.low), bins.shift);
    }
    return min(bin, params.bins - 1u);
}

fn in_first_word(word: u32) -> Record {
    return vec2<u32>(word, 0u);
}

// The last record of a bin.
fn last_of_bin(bins: Bins, bin: u32) -> Record {
    let first = plus(bins.low, shifted_left(bin, bins.shift));
    let last = plus(first, minus(shifted_left(1u, bins.shift), vec2<u32>(1u, 0u)));
    return pick(last, LAST, (bin == params.bins - 1u) | is_greater(first, last));
}

// ---- made

// The sum of all lanes' values. Takes the place of the records from place `at` of the tile on.
fn sum_of_lanes(at: u32, lane: u32, own: u32) -> u32 {
    workgroupBarrier();
    store(at + lane, in_first_word(own));
    workgroupBarrier();
    var sum = 0u;
    for (var i = lane % 16u; i < LANES; i += 16u) {
        sum += word_of(load(at + i), 0u);
    }
    workgroupBarrier();
    if lane < 16u {
        store(at + lane, in_first_word(sum));
    }
    workgroupBarrier();
    var all = 0u;
    for (var i = 0u; i < 16u; i++) {
        all += word_of(load(at + i), 0u);
    }
    return all;
}

// In place of a child: records of the bin are searched in the tree.
const CROWDED_BIN: u32 = 0xffffu;

// The bins of the segment's sorted samples.
fn bins_of_samples(samples: u32) -> Bins {
    var bins = Bins(FIRST, NO_BINS);
    if params.bins > 0u {
        bins = bins_between(tile_load(0u), tile_load(samples - 1u));
    }
    return bins;
}

// The bin of the splitter before child `c`, times 2, plus 1 if the splitter is a frequent sample.
// There is none after the last splitter.
fn entry_at(c: u32, children: u32) -> u32 {
    return select(first_word(min(c, children - 1u)), 0xffffffffu, c >= children);
}

// Rounds the splitters, whose first word is word `at`, and writes the table. The splitters' bins
// take the place of the samples, of which there are at least twice as many. A lane wrote splitters
// 1 + `lane` + k * LANES; bit k of `repeated` is set if the sample is that of the splitter before,
// too.
fn make_bins(at: u32, all: Bins, repeated: u32, lane: u32, children: u32) {
    if params.bins > 0u {
        workgroupBarrier();
        var repeats = repeated;
        for (var c = 1u + lane; c < children; c += LANES) {
            let bin = bin_of(all, splitter_at(at + node_of(c, params.nodes) * WORDS));
            store(c, in_first_word(2u * bin + (repeats & 1u)));
            repeats >>= 1u;
        }
        workgroupBarrier();
        let bins = unless_crowded(all, lane, children);
        let header = at + params.nodes * WORDS;
        if lane == 0u {
            splitters[header] = bins.shift;
            for (var word = 0u; word < WORDS; word++) {
                splitters[header + 1u + word] = word_of(bins.low, word);
            }
        }
        if bins.shift != NO_BINS {
            if bins.shift > 0u {
                round_splitters(at, bins, lane, children);
            }
            store_table(header + 4u, bins, lane, children);
        }
    }
}

// No bins if more than one in 128 splitters are in crowded bins: then of the lanes that search
// together, most often one has such a record.
fn unless_crowded(bins: Bins, lane: u32, children: u32) -> Bins {
    var crowded = 0u;
    for (var c = 1u + lane; c + 1u < children; c += LANES) {
        let is_crowded = entry_at(c, children) / 2u == entry_at(c + 1u, children) / 2u;
        crowded += select(0u, 1u, is_crowded && bins.shift > 0u);
    }
    let is_refused = 128u * sum_of_lanes(SORT_TILE / 2u, lane, crowded) > children;
    return Bins(bins.low, select(bins.shift, NO_BINS, is_refused));
}

fn round_splitters(at: u32, bins: Bins, lane: u32, children: u32) {
    for (var c = 1u + lane; c < children; c += LANES) {
        let entry = entry_at(c, children);
        let is_first = c == 1u || entry_at(c - 1u, children) / 2u != entry / 2u;
        let is_last = entry_at(c + 1u, children) / 2u != entry / 2u;
        if is_first && is_last && entry % 2u == 0u {
            let last = last_of_bin(bins, entry / 2u);
            for (var word = 0u; word < WORDS; word++) {
                splitters[at + node_of(c, params.nodes) * WORDS + word] = word_of(last, word);
            }
        }
    }
}

// Writes the table from word `at` on. A lane writes consecutive bins.
fn store_table(at: u32, bins: Bins, lane: u32, children: u32) {
    let each = max(params.bins / LANES, 2u);
    let first = min(lane * each, params.bins);
    // The first splitter in this bin or after it: one more than the splitters before.
    var next = 1u;
    for (var step = params.nodes / 2u; step > 0u; step /= 2u) {
        let is_before = entry_at(next + step - 1u, children) / 2u < first;
        next += select(0u, step, is_before);
    }
    var entry = entry_at(next, children);
    var after = entry_at(next + 1u, children);
    for (var bin = first; bin < min(first + each, params.bins); bin += 2u) {
        var word = 0u;
        for (var half = 0u; half < 2u; half++) {
            while entry / 2u < bin + half {
                next++;
                entry = after;
                after = entry_at(next + 1u, children);
            }
            let is_own = entry / 2u == bin + half;
            let is_crowded = is_own && (entry % 2u == 1u || after / 2u == entry / 2u);
            let child = select(next - 1u, CROWDED_BIN, is_crowded && bins.shift > 0u);
            word |= child << (16u * half);
        }
        splitters[at + bin / 2u] = word;
    }
}

// ---- searched

// Loads the table of a segment's bins into workgroup memory, after the tree.
fn load_bins(segment: u32, lane: u32) -> Bins {
    var bins = Bins(FIRST, NO_BINS);
    if params.bins > 0u {
        let at = segment * params.stride + NODES * WORDS;
        bins = Bins(splitter_at(at + 1u), splitters[at]);
        if bins.shift != NO_BINS {
            for (var i = lane; i < params.bins / 2u; i += LANES) {
                cells[NODES * WORDS + i] = splitters[at + 4u + i];
            }
        }
    }
    return bins;
}

// The child of a bin's records; NODES or more, but less than 2 * NODES whatever the table holds, if
// the bin is crowded.
fn child_of(bin: u32) -> u32 {
    return (cells[NODES * WORDS + bin / 2u] >> (16u * (bin % 2u))) & (2u * NODES - 1u);
}

// ---- find_words

// Finds the children of a lane's records by their bins. False if one of these is crowded.
fn find_bins(bins: Bins) -> bool {
    var is_found = bins.shift != NO_BINS;
    if is_found {
        for (var j = 0u; j < EACH; j++) {
            node[j] = child_of(bin_of(bins, r[j]));
            is_found &= node[j] < NODES;
        }
    }
    return is_found;
}

// ---- find_pairs

// Finds the children of a lane's records by their bins. False if one of these is crowded.
//
// Of many records bins are most often ranges of the upper word. One test is for all records then.
fn find_bins(bins: Bins) -> bool {
    var is_found = bins.shift != NO_BINS;
    if is_found && bins.shift >= 32u {
        for (var j = 0u; j < EACH; j++) {
            node[j] = child_of(wide_bin_of(bins, r[j]));
            is_found &= node[j] < NODES;
        }
    } else if is_found {
        for (var j = 0u; j < EACH; j++) {
            node[j] = child_of(bin_of(bins, r[j]));
            is_found &= node[j] < NODES;
        }
    }
    return is_found;
}

// ---- not_made

// Records whose segments have no bins.
fn bins_of_samples(samples: u32) -> Bins {
    return Bins(FIRST, NO_BINS);
}

fn make_bins(at: u32, all: Bins, repeated: u32, lane: u32, children: u32) {}

// ---- not_searched

// Records whose segments have no bins.
fn load_bins(segment: u32, lane: u32) -> Bins {
    return Bins(FIRST, NO_BINS);
}

fn find_bins(bins: Bins) -> bool {
    return false;
}

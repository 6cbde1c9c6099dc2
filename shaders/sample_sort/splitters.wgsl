// SAMPLE SORT: the splitters of each bucket, from TILE samples of it at the most.
//
// The sorted or unsorted records of a bucket are cut into as many intervals of equal length as there may
// be samples, and each gives one: at a place in its interval that goes round with the golden ratio.
// Of sorted tiles these are regular samples, in which a key is as often on either side of its tiles'
// samples: what tile after tile leaves over or misses averages out, even if all tiles are alike. Of
// the unsorted input, they are as good as random.
//
// `source`: the records. `bucket_table`: of each bucket its first record, first tile and first child; of one
// bucket, nothing, it is all. `splitters`, `ties`: child c of a bucket begins with the splitter at the
// child's number, encoded; the first child has none. A tie tells the splitter from keys that equal it:
// see rank.wgsl.
//
// A workgroup of LANES = TILE / 32 lanes a bucket. A sample is a key, with its index where there are any.
//
// No bank conflict in the sort: see sort_tile.wgsl. Looking for samples of equal keys has some: an exception by
// name.

struct Params {
    // Records.
    len: u32,
    // Buckets, and children of the only one.
    buckets: u32,
    children: u32,
    // Whether a record's index is its place, since it is in the input.
    raw: u32,
    // The places that are to be in order: see selected.wgsl.
    rank_begin: u32,
    rank_end: u32,
    // The first key's place, the distance of the others, and how many share a word, where the caller has them: see
    // io/source_in_rows.wgsl.
    key_first: u32,
    key_stride: u32,
    key_shift: u32,
    // Arrays, and the power of two that is this or less: see rows/segments.wgsl.
    segments: u32,
    segments_power: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(5) var<storage, read> bucket_table: array<u32>;
@group(0) @binding(6) var<storage, read_write> splitters: array<Key>;
@group(0) @binding(7) var<storage, read_write> ties: array<u32>;

// 2^32 times the golden ratio's fractional part: Weyl's sequence of the smallest discrepancy.
const GOLDEN: u32 = 0x9e3779b9u;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = workgroup_number(group, groups);
    if number >= params.buckets {
        return;
    }
    let bucket = bucket_of(number);
    // (Of the input, splitters are chosen whatever part of it is wanted.)
    if bucket.children < 2u || (params.buckets > 1u && !is_selected(bucket.start, bucket.len)) {
        return;
    }
    let interval = (bucket.len - 1u) / TILE + 1u;
    let samples = bucket.len / interval;
    var r: array<Record, 32>;
    var at: array<u32, 32>;
    // All are loaded before any is looked at: in branches they would wait for each other.
    for (var j = 0u; j < 32u; j++) {
        let i = min(place(lane, j), samples - 1u);
        // The fractional part of i times the golden ratio, in 65536ths, of the interval.
        let part = (i * GOLDEN) >> 16u;
        let jitter = part * (interval >> 16u) + ((part * (interval & 0xffffu)) >> 16u);
        at[j] = bucket.start + i * interval + jitter;
        r[j] = load_sample(at[j]);
    }
    arrays_of(&at, bucket.start, bucket.start + bucket.len - 1u);
    for (var j = 0u; j < 32u; j++) {
        if place(lane, j) < samples {
            r[j] = encode_record(at[j], r[j]);
        } else {
            r[j] = LAST_RECORD;
        }
    }
    sort_tile(&r, lane, samples);
    // Children that are distributed again may differ by a quarter; others must fit their tiles.
    let few = select(0u, samples / bucket.children / 4u, params.raw == 1u);
    for (var c = 1u + lane; c < bucket.children; c += LANES) {
        // (At most 512 children and 2^13 samples: the product is small. Of fewer samples than children some are splitters
        // more than once.)
        let at = c * samples / bucket.children;
        splitters[bucket.first_child + c] = key_of(record_probe(at + at / 32u));
        ties[bucket.first_child + c] = tie_of(at, samples, few);
    }
}

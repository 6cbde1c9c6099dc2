// SAMPLE SORT, records of several words: partitions each tile of TILE records, which comes to lie in the order of
// its bucket's children, and ranks the splitters in it.
//
// A record's child is found by a binary search among the splitters. What is sorted then is a word a record, its
// label (see record/labels.wgsl), and the records are moved once, to where their labels have come. A tile sort
// of records of two words takes three times as long as one of words, and a search less than that.
//
// `splitters`, `ties`: see splitters.wgsl. `prefixes`: for each splitter of a bucket a row of a word a tile: how many records of the tile
// are left of it. The rows of a bucket lie behind those of the buckets before.
//
// A workgroup of LANES = TILE / 32 lanes a tile; each lane labels 32 records.
//
// No bank conflict in the sort (see sort_tile.wgsl). What the searches probe depends on the keys, and meets
// in banks: an exception by name. The splitters are a binary tree in breadth-first order: the probes of its first
// levels, and of records that are alike, are the same word.

struct Params {
    // Records.
    len: u32,
    // The first tile of this dispatch, and one past the last that there can be.
    first: u32,
    end: u32,
    // Buckets, and children of the only one.
    buckets: u32,
    children: u32,
    // The most children of a bucket.
    most_children: u32,
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
@group(0) @binding(4) var<storage, read> splitters: array<Key>;
@group(0) @binding(5) var<storage, read> ties: array<u32>;
@group(0) @binding(8) var<storage, read_write> prefixes: array<u32>;

// Lays out the splitters: node n's children are 2n and 2n + 1. A node that is past the last has everything on its left.
fn plant(bucket: Bucket, lane: u32) {
    for (var node = 1u + lane; node < CHILDREN; node += LANES) {
        let level = firstLeadingBit(node);
        let splitter = (2u * (node - (1u << level)) + 1u) << (LOG2_CHILDREN - 1u - level);
        var key = LAST;
        var tie = 0xffffffffu;
        if splitter < bucket.children {
            key = splitters[bucket.first_child + splitter];
            tie = ties[bucket.first_child + splitter];
        }
        plant_node(node, key, tie);
    }
}

// Labels in the sorted tile before those of a child.
fn labels_before(child: u32) -> u32 {
    var rank = 0u;
    for (var step = TILE; step > 0u; step /= 2u) {
        let at = min(rank + step, TILE) - 1u;
        if rank + step <= TILE && record_probe(at + at / 32u) < (child << LABEL_SHIFT) {
            rank += step;
        }
    }
    return rank;
}

// Labels the tile's records. Loops over the lane's records stand inside those over levels, and not around
// them: then they are unrolled, and what they index stays in registers.
fn label_records(r: ptr<function, array<Record, 32>>, lane: u32, base: u32, count: u32, children: u32) {
    var k: array<Key, 32>;
    var t: array<u32, 32>;
    for (var j = 0u; j < 32u; j++) {
        k[j] = load_bits(base + min(place(lane, j), count - 1u));
    }
    for (var j = 0u; j < 32u; j++) {
        t[j] = tie_at(base + min(place(lane, j), count - 1u));
    }
    var arrays: array<u32, 32>;
    arrays_of_tile(&arrays, lane, base, count);
    var s: array<Sought, 32>;
    for (var j = 0u; j < 32u; j++) {
        s[j] = sought(encode_in(arrays[j], k[j]));
        (*r)[j] = 1u;
    }
    workgroupBarrier();
    for (var level = 0u; level < LOG2_CHILDREN; level++) {
        for (var j = 0u; j < 32u; j++) {
            let node = (*r)[j];
            let left = is_left_of(s[j], t[j], node);
            (*r)[j] = 2u * node + select(1u, 0u, left);
        }
    }
    for (var j = 0u; j < 32u; j++) {
        // (That of the greatest key and tie there is may be past the last.)
        let child = min((*r)[j] - CHILDREN, children - 1u);
        (*r)[j] = select(LAST_RECORD, (child << LABEL_SHIFT) | place(lane, j), place(lane, j) < count);
    }
}

fn move_keys(places: ptr<function, array<Record, 32>>, lane: u32, base: u32, count: u32) {
    var k: array<Key, 32>;
    for (var j = 0u; j < 32u; j++) {
        k[j] = load_bits((*places)[j]);
    }
    storageBarrier();
    for (var j = 0u; j < 32u; j++) {
        if place(lane, j) < count {
            store_bits(base + place(lane, j), k[j]);
        }
    }
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if number >= min(params.end, all_tiles()) {
        return;
    }
    let bucket = bucket_of_tile(number);
    let tile = number - bucket.first_tile;
    let base = bucket.start + tile * TILE;
    let count = min(bucket.len - tile * TILE, TILE);
    let tiles = (bucket.len - 1u) / TILE + 1u;
    let rows = (params.most_children - 1u) * bucket.first_tile;
    if is_left_out(bucket) {
        for (var child = 1u + lane; child < bucket.children; child += LANES) {
            prefixes[rows + (child - 1u) * tiles + tile] = before_part(child, bucket.children, bucket.len, tile * TILE, count);
        }
        return;
    }

    plant(bucket, lane);
    var r: array<Record, 32>;
    label_records(&r, lane, base, count, bucket.children);
    sort_tile(&r, lane, count);

    for (var child = 1u + lane; child < bucket.children; child += LANES) {
        prefixes[rows + (child - 1u) * tiles + tile] = labels_before(child);
    }
    for (var j = 0u; j < 32u; j++) {
        let label = record_load(place_cell(lane, j));
        r[j] = base + min(label & ((1u << LABEL_SHIFT) - 1u), count - 1u);
    }
    move_keys(&r, lane, base, count);
    move_values(&r, lane, base, count);
}

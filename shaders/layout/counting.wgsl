// Uses layout/params, lib/key_map, lib/scan, lib/workgroup.
//
// COUNTING SORT of keys of 8 or 16 bits: a histogram, and its prefix sums. A kernel takes the
// section of its name.

// ---- count_keys

// COUNTING SORT of keys of 8 or 16 bits, first phase: the histogram of the keys, by their bits.
//
// `source`: keys, packed as in load.wgsl. `counts`: cleared tables with a bin for each possible
// key; consecutive workgroups add to different tables.
//
// A workgroup counts in SLOTS slots of workgroup memory, and adds each slot's count to a table at
// the end, since additions to one word of a table are serialized. Many keys share a slot. It counts
// the key that was last written to `owners`; other keys are added to the table at once. A few
// distinct keys have slots of their own; many distinct keys are rarely added to one word at the
// same time. The owners of slots vary between runs, the counts do not.
//
// A lane counts EACH keys, LANES apart.
//
// Bank conflicts depend on the keys, which select the slots.

@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;

const EACH: u32 = COUNTED / LANES;

var<workgroup> owners: array<atomic<u32>, SLOTS>;
var<workgroup> own_counts: array<atomic<u32>, SLOTS>;

// The bits of key number i.
fn key_at(i: u32) -> u32 {
    let at = params.key_first + i * params.key_stride;
    let bits = 32u >> params.key_shift;
    let shift = (at & ((1u << params.key_shift) - 1u)) * bits;
    return (source[at >> params.key_shift] >> shift) & ((1u << bits) - 1u);
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    let base = number * COUNTED;
    if number >= params.end || base >= params.len {
        return;
    }
    for (var slot = lane; slot < SLOTS; slot += LANES) {
        atomicStore(&own_counts[slot], 0u);
    }
    var keys: array<u32, EACH>;
    for (var j = 0u; j < EACH; j++) {
        let i = min(base + j * LANES + lane, params.len - 1u);
        keys[j] = key_at(i);
        atomicStore(&owners[keys[j] % SLOTS], keys[j]);
    }
    workgroupBarrier();
    let table = (number % params.tables) << (32u >> params.key_shift);
    for (var j = 0u; j < EACH; j++) {
        if base + j * LANES + lane < params.len {
            let slot = keys[j] % SLOTS;
            if atomicLoad(&owners[slot]) == keys[j] {
                atomicAdd(&own_counts[slot], 1u);
            } else {
                atomicAdd(&counts[table + keys[j]], 1u);
            }
        }
    }
    workgroupBarrier();
    for (var slot = lane; slot < SLOTS; slot += LANES) {
        let count = atomicLoad(&own_counts[slot]);
        if count > 0u {
            atomicAdd(&counts[table + atomicLoad(&owners[slot])], count);
        }
    }
}

// ---- scan_counts

// COUNTING SORT of keys of 8 or 16 bits, second phase: prefix sums within each workgroup's bins.
//
// `counts`: histograms of all possible keys, by their bits, in several tables. `sums`: the
// inclusive prefix sums of one workgroup's bins, in the order of the sort.
//
// A workgroup of LANES lanes has 8 consecutive bins per lane.
//
// No bank conflict: see scan.wgsl.

@group(0) @binding(1) var<storage, read> counts: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let bins = 1u << (32u - params.unused);
    let group_first = workgroup_number(group, groups) * LANES * 8u;
    if group_first >= bins {
        return;
    }
    let first = group_first + lane * 8u;
    var count: array<u32, 8>;
    var sum = 0u;
    for (var j = 0u; j < 8u; j++) {
        count[j] = 0u;
        if first + j < bins {
            let ordered = (first + j) << params.unused;
            let key = decode_key(ordered, key_sign(), key_flip()) >> params.unused;
            for (var table = 0u; table < params.tables; table++) {
                count[j] += counts[table * bins + key];
            }
        }
        sum += count[j];
    }
    var before = exclusive_sum(lane, sum);
    for (var j = 0u; j < 8u; j++) {
        before += count[j];
        if first + j < bins {
            sums[first + j] = before;
        }
    }
}

// ---- add_group_sums

// COUNTING SORT of keys of 16 bits, third phase: the end of each key's copies.
//
// `sums`: see `scan_counts`. `ends`: the inclusive prefix sums of all bins.
//
// A workgroup of LANES lanes has 8 bins per lane, LANES apart. It adds up the totals of the
// workgroups before it, one per lane.
//
// No bank conflict: see scan.wgsl.

@group(0) @binding(1) var<storage, read> sums: array<u32>;
@group(0) @binding(2) var<storage, read_write> ends: array<u32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = workgroup_number(group, groups) * LANES * 8u;
    if first >= params.bins {
        return;
    }
    var sum = 0u;
    // There are fewer workgroups than lanes, so all are before the last lane.
    let end = (lane + 1u) * LANES * 8u;
    if end <= first {
        sum = sums[end - 1u];
    }
    _ = exclusive_sum(lane, sum);
    let before = scan_load(scan_cell(LANES - 1u));
    for (var j = 0u; j < 8u; j++) {
        let i = first + j * LANES + lane;
        if i < params.bins {
            ends[i] = before + sums[i];
        }
    }
}

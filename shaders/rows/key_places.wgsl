// COUNTING SORT of keys of 8 or 16 bits, second phase: where the copies of each key end, counted from those of the first of the
// keys of its workgroup.
//
// `counts`: tables of how many there are of each key that there can be, by its bits. `places`: of each, in the order of the sort, how
// many of it and of those before it.
//
// A workgroup of LANES lanes for as many keys.
//
// No bank conflict: see scan.wgsl.

struct Params {
    // Records.
    len: u32,
    // Bits of a key, at least those of LANES.
    bits: u32,
    // Tables.
    tables: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> counts: array<u32>;
@group(0) @binding(2) var<storage, read_write> places: array<u32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = workgroup_number(group, groups) * LANES + lane;
    if number - lane >= (1u << params.bits) {
        return;
    }
    let unused = 32u - params.bits;
    let key = decode(number << unused) >> unused;
    var count = 0u;
    for (var table = 0u; table < params.tables; table++) {
        count += counts[(table << params.bits) + key];
    }
    places[number] = inclusive_sum(lane, count);
}

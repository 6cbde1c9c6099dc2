// COUNTING SORT of keys of 8 or 16 bits, second phase: where the copies of each key end, counted from those of the first of the
// keys of its workgroup.
//
// `counts`: tables of how many there are of each key that there can be, by its bits. `places`: of each, in the order of the sort, how
// many of it and of those before it.
//
// A workgroup of LANES lanes for 8 keys each, one behind the other.
//
// No bank conflict: see scan.wgsl.

struct Params {
    // Records.
    len: u32,
    // Bits of a key.
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
    let kinds = 1u << params.bits;
    let group_first = workgroup_number(group, groups) * LANES * 8u;
    if group_first >= kinds {
        return;
    }
    let first = group_first + lane * 8u;
    let unused = 32u - params.bits;
    var count: array<u32, 8>;
    var sum = 0u;
    for (var j = 0u; j < 8u; j++) {
        count[j] = 0u;
        if first + j < kinds {
            let key = decode((first + j) << unused) >> unused;
            for (var table = 0u; table < params.tables; table++) {
                count[j] += counts[(table << params.bits) + key];
            }
        }
        sum += count[j];
    }
    var before = inclusive_sum(lane, sum) - sum;
    for (var j = 0u; j < 8u; j++) {
        before += count[j];
        if first + j < kinds {
            places[first + j] = before;
        }
    }
}

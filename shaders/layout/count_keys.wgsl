// Uses layout/params, lib/workgroup.
//
// COUNTING SORT of keys of 8 or 16 bits, first phase: the histogram of the keys, by their bits.
//
// `source`: keys, packed as in load.wgsl. `counts`: cleared tables with a bin for each
// possible key; consecutive workgroups add to different tables.
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

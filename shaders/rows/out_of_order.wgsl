// Looks whether keys are in order.
//
// `source`: keys, wherever the caller has them. `found`: 0 at first, and so it stays if they are in order; or how many keys there are from the first on
// that precedes the one before it.
//
// A lane looks at 8 pairs of keys, LANES places apart.
//
// No workgroup memory.

struct Params {
    // Keys.
    len: u32,
    // The first workgroup of this dispatch, and one past the last.
    first: u32,
    end: u32,
    // The first key's place, the distance of the others, and how many share a word: see io/source_in_rows.wgsl.
    key_first: u32,
    key_stride: u32,
    key_shift: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read_write> found: array<atomic<u32>>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = params.first + workgroup_number(group, groups);
    if number >= params.end {
        return;
    }
    var left = 0u;
    for (var j = 0u; j < 8u; j++) {
        let i = (number * 8u + j) * LANES + lane + 1u;
        if i < params.len && precedes(encode(load_bits(i)), encode(load_bits(i - 1u))) {
            left = max(left, params.len - i);
        }
    }
    // (One word for all lanes: only those that know more write to it.)
    if left > atomicLoad(&found[0]) {
        atomicMax(&found[0], left);
    }
}

// STAND-IN for the sample sort: one stage of a bitonic sort in global memory, of records of any
// shape. To be replaced.
//
// No workgroup memory.

struct Params {
    // Records.
    len: u32,
    // The first workgroup of this dispatch, and one past the last.
    first: u32,
    end: u32,
    // The distance of the records that are compared, and the size of the blocks that are merged if
    // this is the first stage of a merge, else 0.
    distance: u32,
    block: u32,
    sign_low: u32,
    sign_high: u32,
    flip_low: u32,
    flip_high: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> keys: array<u32>;

fn load(i: u32) -> vec2<u32> {
    if KEY_WORDS == 2u {
        return vec2<u32>(keys[2u * i], keys[2u * i + 1u]);
    }
    return vec2<u32>(keys[i], 0u);
}

fn store(i: u32, key: vec2<u32>) {
    if KEY_WORDS == 2u {
        keys[2u * i] = key.x;
        keys[2u * i + 1u] = key.y;
    } else {
        keys[i] = key.x;
    }
}

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
    let pair = number * LANES + lane;
    var i = pair / params.distance * 2u * params.distance + pair % params.distance;
    var j = i + params.distance;
    if params.block > 0u {
        let half = params.block / 2u;
        i = pair / half * params.block + pair % half;
        j = pair / half * params.block + params.block - 1u - pair % half;
    }
    if j >= params.len {
        return;
    }
    let a = load(i);
    let b = load(j);
    let x = to_ordered(a);
    let y = to_ordered(b);
    let later = (x.y > y.y) | ((x.y == y.y) & (x.x > y.x));
    if later || (all(x == y) && value_of(i) > value_of(j)) {
        store(i, b);
        store(j, a);
        exchange_values(i, j);
    }
}

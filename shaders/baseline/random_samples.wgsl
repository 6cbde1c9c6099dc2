// Uses lib/bank_matrix, lib/key, lib/workgroup.
//
// warpsort, step 3: samples of the input at random positions, from which splitters are chosen (Ye,
// Fan, Lin, Yuan and Ienne, IPDPS 2010, section III).
//
// One lane per sample: sampled[number] = source[floor(r * len / 2^32)] for a random word r.
// Positions may repeat. The keys are already sorted in runs, which makes a sample no less random:
// all keys are equally likely, as far as 2^32 words can be divided among them.
//
// Departure: the paper leaves open where random numbers come from. Here r is the first word of
// Threefry-2x32 (Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC
// 2011), 20 rounds, of the sample's number and the level of the sort, with the seed as its key. So
// a seed gives the same splitters on every device.
//
// No workgroup memory.

struct Params {
    // Keys in `source`, and samples.
    len: u32,
    total: u32,
    seed_low: u32,
    seed_high: u32,
    // 0 for the user's keys, 1 for their samples, and so on.
    level: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> source: array<Key>;
@group(0) @binding(2) var<storage, read_write> sampled: array<Key>;

fn mix(x: vec2<u32>, by: u32) -> vec2<u32> {
    let sum = x.x + x.y;
    return vec2<u32>(sum, ((x.y << by) | (x.y >> (32u - by))) ^ sum);
}

fn random(number: u32) -> u32 {
    let parity = 0x1bd11bdau ^ params.seed_low ^ params.seed_high;
    var key = vec3<u32>(params.seed_low, params.seed_high, parity);
    var x = vec2<u32>(number, params.level) + key.xy;
    for (var block = 1u; block <= 5u; block++) {
        if block % 2u == 1u {
            x = mix(mix(mix(mix(x, 13u), 15u), 26u), 6u);
        } else {
            x = mix(mix(mix(mix(x, 17u), 29u), 16u), 24u);
        }
        key = key.yzx;
        x += vec2<u32>(key.x, key.y + block);
    }
    return x.x;
}

// floor(a * b / 2^32), from products of halves.
fn multiply_high(a: u32, b: u32) -> u32 {
    let a_low = a & 0xffffu;
    let a_high = a >> 16u;
    let b_low = b & 0xffffu;
    let b_high = b >> 16u;
    // Neither sum exceeds 32 bits.
    let middle = a_high * b_low + ((a_low * b_low) >> 16u);
    let other = a_low * b_high + (middle & 0xffffu);
    return a_high * b_high + (middle >> 16u) + (other >> 16u);
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = workgroup_number(group, groups) * 64u + lane;
    if number >= params.total {
        return;
    }
    sampled[number] = source[multiply_high(random(number), params.len)];
}

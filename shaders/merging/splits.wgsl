// Uses lib/key_map, lib/workgroup, merging/inputs.
//
// Merge, first phase: how many records of A are before each tile of the output (merge path: Green,
// McColl and Bader, "GPU Merge Path").
//
// `splits`: the numbers of records of A and of B, and then one number for each tile and for the
// end. `counts_a`, `counts_b`: if params.is_counted, their words count_a and count_b are the
// numbers; a larger one than there is room for counts as the room.
//
// A lane searches for one number. It compares 7 pairs of keys at once, so that these are read at
// the same time: that leaves an eighth of all places.
//
// No workgroup memory.

@group(0) @binding(3) var<storage, read_write> splits: array<u32>;
@group(0) @binding(4) var<storage, read> counts_a: array<u32>;
@group(0) @binding(5) var<storage, read> counts_b: array<u32>;

fn lengths() -> vec2<u32> {
    var lengths = vec2<u32>(params.len_a, params.len_b);
    if params.is_counted != 0u {
        let given = vec2<u32>(counts_a[params.count_a], counts_b[params.count_b]);
        lengths = min(given, lengths);
    }
    return lengths;
}

fn load_a(i: u32) -> Key {
    return encode_key(keys_a[params.first_a + i], key_sign(), key_flip());
}

fn load_b(i: u32) -> Key {
    return encode_key(keys_b[params.first_b + i], key_sign(), key_flip());
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = workgroup_number(group, groups) * LANES + lane;
    if number > params.tiles {
        return;
    }
    let len = lengths();
    if number == 0u {
        splits[0] = len.x;
        splits[1] = len.y;
    }
    // Tiles beyond the last record begin at the end.
    let all = len.x + len.y;
    let place = select(all, number * params.tile, number <= all / params.tile);
    // Of the records before this place, `taken` or more are of A, and `most` or fewer. Another one
    // is, if it does not come after the record of B that would be there without it.
    var taken = place - min(place, len.y);
    let most = min(place, len.x);
    var left = most - taken;
    while left > 0u {
        let step = left / 8u + 1u;
        var steps = 0u;
        for (var j = 1u; j < 8u; j++) {
            let at = taken + j * step - 1u;
            // No branch, so that the loads overlap.
            let compared = min(at, most - 1u);
            let is_taken = !precedes(load_b(place - 1u - compared), load_a(compared));
            steps += u32((at < most) & is_taken);
        }
        taken += steps * step;
        left = min(step - 1u, most - taken);
    }
    splits[2u + number] = taken;
}

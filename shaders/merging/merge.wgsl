// Uses lib/key_map, lib/workgroup, merging/inputs.
//
// Merge, second phase: merges the records of each tile of TILE records.
//
// `splits`: see splits.wgsl. `output_keys`: the merged keys, from number first_output on.
//
// 1. The tile's keys of A, and then those of B, come to workgroup memory.
// 2. A lane merges the keys of EACH consecutive places. It searches for the number of keys of A
//    before its first one, and then notes the origin of each: a bit, which is set if it is of A.
// 3. For places LANES apart, each lane counts the bits before a place. That gives the key there,
//    and the record's value. So both are written in order, and no merged key waits in workgroup
//    memory.
//
// If an input is not in order, the search may end anywhere. Each key that is written is still one
// of the tile's.
//
// Bank conflicts: none where keys come to workgroup memory, as consecutive lanes access consecutive
// cells. In 2. the keys say which cells lanes read, and so how many of them meet in a bank: none
// if all keys are of one input, since EACH is odd. In 3. the keys of consecutive places are
// consecutive ones of A and of B, so that at most two lanes meet. Keys of two words are accessed by
// half a warp at a time.

@group(0) @binding(3) var<storage, read> splits: array<u32>;
@group(0) @binding(4) var<storage, read_write> output_keys: array<Key>;

var<workgroup> cells: array<Key, TILE>;

// The number of keys of A before a lane's own ones, in the upper half, and the origins of these.
var<workgroup> origins: array<u32, LANES>;

fn load_key(is_of_a: bool, at: u32) -> Key {
    if is_of_a {
        return keys_a[at];
    }
    return keys_b[at];
}

// The part of a tile that a lane merges, of `own_a` keys of A and `own` in all.
fn merged(lane: u32, own_a: u32, own: u32) -> u32 {
    let place = min(lane * EACH, own);
    var a = place - min(place, own - own_a);
    let most = min(place, own_a);
    for (var step = FIRST_STEP; step > 0u; step >>= 1u) {
        let at = a + step - 1u;
        let key_a = cells[min(at, TILE - 1u)];
        let key_b = cells[min(own_a + place - 1u - at, TILE - 1u)];
        a += select(0u, step, (at < most) & !precedes(key_b, key_a));
    }
    var b = own_a + place - a;
    var origin = a << 16u;
    var key_a = cells[min(a, TILE - 1u)];
    var key_b = cells[min(b, TILE - 1u)];
    for (var j = 0u; j < EACH; j++) {
        let is_of_a = (a < own_a) & ((b >= own) | !precedes(key_b, key_a));
        origin |= select(0u, 1u << j, is_of_a);
        a += u32(is_of_a);
        b += u32(!is_of_a);
        let next = cells[min(select(b, a, is_of_a), TILE - 1u)];
        key_a = select(key_a, next, is_of_a);
        key_b = select(next, key_b, is_of_a);
    }
    return origin;
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let tile = params.first + workgroup_number(group, groups);
    if tile >= params.end {
        return;
    }
    // Whatever the buffer holds, the tile's parts of A and of B are within these.
    let len_a = min(splits[0], params.len_a);
    let len_b = min(splits[1], params.len_b);
    let all = len_a + len_b;
    let begin = select(all, tile * TILE, tile <= all / TILE);
    let own = min(all - begin, TILE);
    let end = begin + own;
    let first_a = clamp(splits[2u + tile], begin - min(begin, len_b), min(begin, len_a));
    let least = max(end - min(end, len_b), first_a);
    let end_a = clamp(splits[3u + tile], least, min(min(end, len_a), first_a + own));
    let own_a = end_a - first_a;
    let first_b = begin - first_a;

    // All loads come before any other step, so that they overlap. A lane beyond the last record
    // loads that again: fewer branches.
    var keys: array<Key, EACH>;
    if own > 0u {
        let begin_a = params.first_a + first_a;
        let begin_b = params.first_b + first_b - own_a;
        for (var j = 0u; j < EACH; j++) {
            let i = min(j * LANES + lane, own - 1u);
            keys[j] = load_key(i < own_a, select(begin_b, begin_a, i < own_a) + i);
        }
        for (var j = 0u; j < EACH; j++) {
            cells[j * LANES + lane] = encode_key(keys[j], key_sign(), key_flip());
        }
    }
    workgroupBarrier();
    if lane * EACH < own {
        origins[lane] = merged(lane, own_a, own);
    }
    workgroupBarrier();
    if own == 0u {
        return;
    }
    let begin_a = params.values_a + first_a;
    let begin_b = params.values_b + first_b;
    var values: array<Value, EACH>;
    for (var j = 0u; j < EACH; j++) {
        let i = min(j * LANES + lane, own - 1u);
        let origin = origins[i / EACH];
        let bit = i % EACH;
        let before = (origin >> 16u) + countOneBits(origin & ((1u << bit) - 1u));
        let is_of_a = ((origin >> bit) & 1u) == 1u;
        keys[j] = cells[select(own_a + i - before, before, is_of_a)];
        values[j] = load_value(is_of_a, select(begin_b + i - before, begin_a + before, is_of_a));
    }
    for (var j = 0u; j < EACH; j++) {
        let i = j * LANES + lane;
        if i < own {
            let key = decode_key(keys[j], key_sign(), key_flip());
            output_keys[params.first_output + begin + i] = key;
            store_value(begin + i, values[j]);
        }
    }
}

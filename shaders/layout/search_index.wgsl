// Uses layout/index, layout/load, layout/needles, layout/params, layout/places, lib/key_map,
// lib/workgroup.
//
// SEARCH_INDEX: the place of each needle among sorted records that have an index.
//
// `source`: see load.wgsl. `index`: see index.wgsl. `places`: see places.wgsl.
//
// A lane searches for EACH needles, LANES apart: first among SAMPLES entries of the index, at equal
// distances, which the workgroup has read; then among the entries between two of these; then among
// the records between two entries. So only the last loads are far apart: all steps of a search in
// the records would be.
//
// Bank conflicts where samples are searched, which depend on the needles.

var<workgroup> samples: array<vec2<u32>, SAMPLES>;

// One more than the last of some records (or entries) before a place, and where the next one is.
fn between(before: u32, distance: u32, end: u32) -> vec2<u32> {
    let begin = select((before - 1u) * distance + 1u, 0u, before == 0u);
    return min(vec2<u32>(begin, before * distance), vec2<u32>(end));
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
    let entries = params.len / INDEXED + u32(params.len % INDEXED > 0u);
    let distance = max(entries / SAMPLES + u32(entries % SAMPLES > 0u), 1u);
    for (var j = lane; j < SAMPLES; j += LANES) {
        samples[j] = index_key(min(j * distance, max(entries, 1u) - 1u));
    }
    workgroupBarrier();
    for (var j = 0u; j < EACH; j++) {
        let i = (number * EACH + j) * LANES + lane;
        let wanted = needle_or_last(i);
        var before = 0u;
        for (var step = SAMPLES / 2u; step > 0u; step /= 2u) {
            before += select(0u, step, is_key_before(samples[before + step - 1u], wanted));
        }
        before += select(0u, 1u, is_key_before(samples[before], wanted));
        let range = between(before, distance, entries);
        var entry = range.x;
        let size = max(range.y - range.x, 1u);
        for (var step = 1u << firstLeadingBit(size); step > 0u; step /= 2u) {
            let is_within = step <= range.y - entry;
            let next = select(entry, entry + step, is_within);
            let is_next = is_within & is_key_before(index_key(max(next, 1u) - 1u), wanted);
            entry = select(entry, next, is_next);
        }
        search(i, wanted, between(entry, INDEXED, params.len));
    }
}

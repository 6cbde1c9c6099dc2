// Ranks a splitter in sorted records; `probe` says which is the i-th of those from `base` on.
//
// A record that equals the splitter is left of it or right: as many as the samples that equalled it, in 65536ths,
// which its tie is. So the copies of one key are dealt out evenly, however many splitters they make. Where
// records have indices, these order equal keys, and the tie is the splitter's.

// How many of `count` records, at most `power`, a power of two, precede the splitter.
fn left_in(base: u32, count: u32, power: u32, splitter: Key, tie: u32) -> u32 {
    var rank = 0u;
    for (var step = power; step > 0u; step /= 2u) {
        let next = rank + step;
        if next <= count && is_left(probe(base, next - 1u), splitter, tie, false) {
            rank = next;
        }
    }
    return rank;
}

fn rank_of(base: u32, count: u32, power: u32, splitter: Key, tie: u32) -> u32 {
    if INDEXED == 1u || tie == 0u {
        return left_in(base, count, power, splitter, tie);
    }
    // Both searches at once: one waits for the other's probes.
    var rank = 0u;
    var end = 0u;
    for (var step = power; step > 0u; step /= 2u) {
        let next = rank + step;
        let next_end = end + step;
        let record = probe(base, min(next, count) - 1u);
        let record_end = probe(base, min(next_end, count) - 1u);
        if next <= count && is_left(record, splitter, tie, false) {
            rank = next;
        }
        if next_end <= count && is_left(record_end, splitter, tie, true) {
            end = next_end;
        }
    }
    return rank + (((end - rank) * tie) >> 16u);
}

// Ranks a splitter in sorted records; `probe` says which is the i-th of those from `base` on.
//
// A record that equals the splitter is left of it or right: as many as the samples that equalled it, in 65536ths,
// which its tie is. So the copies of one key are dealt out evenly, however many splitters they make. Where
// records have indices, these order equal keys, and the tie is the splitter's.

// How many of `count` records, at most `power`, a power of two, are on the left; of those that equal the
// splitter none or all.
fn left_in(base: u32, count: u32, power: u32, splitter: Key, tie: u32, equal: bool) -> u32 {
    var rank = 0u;
    for (var step = power; step > 0u; step /= 2u) {
        let next = rank + step;
        if next <= count && is_left(probe(base, next - 1u), splitter, tie, equal) {
            rank = next;
        }
    }
    return rank;
}

fn rank_of(base: u32, count: u32, power: u32, splitter: Key, tie: u32) -> u32 {
    var rank = left_in(base, count, power, splitter, tie, false);
    if INDEXED == 0u && tie != 0u {
        let equal = left_in(base, count, power, splitter, tie, true) - rank;
        rank += (equal * tie) >> 16u;
    }
    return rank;
}

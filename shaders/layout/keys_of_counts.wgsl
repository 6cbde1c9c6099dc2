// DECODE from a counting sort: `ends` has the end of each key's copies, see add_group_sums.wgsl.

@group(0) @binding(1) var<storage, read> ends: array<u32>;

// The mapped key of a rank, in the upper bits of a word: the first key whose copies end after the
// rank. `known`: the bin of the previous rank's key, which is mostly the same key; or 0.
fn key_at(rank: u32, known: ptr<function, u32>) -> u32 {
    let bits = 32u >> params.key_shift;
    if ends[*known] <= rank {
        *known = 0u;
        for (var step = 1u << (bits - 1u); step > 0u; step /= 2u) {
            if ends[*known + step - 1u] <= rank {
                *known += step;
            }
        }
    }
    return *known << (32u - bits);
}

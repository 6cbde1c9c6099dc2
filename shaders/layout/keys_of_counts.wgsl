// DECODE from a counting sort: `ends` says where the copies of each key end, see
// add_group_sums.wgsl.

@group(0) @binding(1) var<storage, read> ends: array<u32>;

// The key of this rank, mapped, in the upper bits of a word: the first that ends behind it.
// `known`: the number, in order, of the key of the rank before, which it is mostly; or 0.
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

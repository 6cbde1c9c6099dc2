// Keys of which is known where the copies of each end: see key_ends.wgsl.

@group(0) @binding(1) var<storage, read> ends: array<u32>;

// The key in a place, the upper bits of a word: the first that ends behind it. `known`: the number, in order, of the key in the place
// before, which it is mostly; or 0.
fn key_at(place: u32, known: ptr<function, u32>) -> u32 {
    if ends[*known] <= place {
        *known = 0u;
        for (var step = 1u << (params.bits - 1u); step > 0u; step /= 2u) {
            if ends[*known + step - 1u] <= place {
                *known += step;
            }
        }
    }
    return decode(*known << (32u - params.bits));
}

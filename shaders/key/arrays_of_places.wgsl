// The arrays of many records at once.

// Puts the number of its array in the place of each of 32 records, none of which is before the first or behind the last. As long as those
// two take the same steps, all take them: few are left where arrays are longer than tiles. The others are made side by side, for one
// search would wait for each of its probes.
fn arrays_of(places: ptr<function, array<u32, 32>>, first: u32, last: u32) {
    var of_both = 0u;
    var step = params.segments_power;
    for (; step > 0u; step /= 2u) {
        let next = arrays_begun(of_both, step, first);
        if next != arrays_begun(of_both, step, last) {
            break;
        }
        of_both = next;
    }
    var begun: array<u32, 32>;
    for (var j = 0u; j < 32u; j++) {
        begun[j] = of_both;
    }
    for (; step > 0u; step /= 2u) {
        for (var j = 0u; j < 32u; j++) {
            let next = min(begun[j] + step, params.segments);
            let is_begun = (next == begun[j] + step) & (offsets[next - 1u] <= (*places)[j]);
            begun[j] = select(begun[j], next, is_begun);
        }
    }
    *places = begun;
}

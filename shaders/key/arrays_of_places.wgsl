// The arrays of many records at once, or of one after the other.

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

// A record's array, and the places that it has. Of offsets that are in no order, those that it should have: then they are not `certain`.
struct Span {
    number: u32,
    begin: u32,
    end: u32,
    certain: bool,
}

fn span_of(place: u32) -> Span {
    let number = array_of(place);
    var span = Span(number, 0u, params.len, true);
    if number > 0u {
        span.begin = offsets[number - 1u];
        span.certain = array_of(span.begin) == number && (span.begin == 0u || array_of(span.begin - 1u) < number);
    }
    if number < params.segments {
        span.end = min(offsets[number], params.len);
        span.certain &= array_of(span.end - 1u) == number && (span.end == params.len || array_of(span.end) > number);
    }
    return span;
}

// The array of another record, or any on the same side of the span.
fn array_beside(span: Span, place: u32) -> u32 {
    if !span.certain {
        return array_of(place);
    }
    let behind = select(span.number, span.number + 1u, place >= span.end);
    return select(behind, span.number - 1u, place < span.begin);
}

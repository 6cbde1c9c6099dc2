// All keys are of one array, where in_arrays.wgsl has many.

fn array_of(place: u32) -> u32 {
    return 0u;
}

alias Span = u32;

fn span_of(place: u32) -> Span {
    return 0u;
}

fn array_beside(span: Span, place: u32) -> u32 {
    return 0u;
}

fn arrays_of(places: ptr<function, array<u32, 32>>, first: u32, last: u32) {}

fn encode_in(of_array: u32, bits: Key) -> Key {
    return encode(bits);
}

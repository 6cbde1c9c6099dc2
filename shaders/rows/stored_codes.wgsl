// Words of one key each, or codes of two, the lower word first, which are encoded: see taken_codes.wgsl.

@group(0) @binding(1) var<storage, read> source: array<u32>;

// The key in a place, the upper bits of a word.
fn key_at(place: u32, known: ptr<function, u32>) -> u32 {
    let code = source[place * params.code_words];
    return select(code, decode(code), params.code_words == 2u);
}

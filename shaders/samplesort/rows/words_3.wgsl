// Rows of 3 words, in their buffer.

@group(0) @binding(10) var<storage, read> compared_rows: array<u32>;

// The words of a row.
fn words_at(i: u32) -> vec4<u32> {
    let at = 3u * i;
    return vec4<u32>(compared_rows[at], compared_rows[at + 1u], compared_rows[at + 2u], 0u);
}

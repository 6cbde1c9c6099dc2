// Rows of 4 words, in their buffer.

@group(0) @binding(10) var<storage, read> compared_rows: array<vec4<u32>>;

// The words of a row.
fn words_at(i: u32) -> vec4<u32> {
    return compared_rows[i];
}

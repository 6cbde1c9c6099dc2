// Rows of 1 word, in their buffer.

@group(0) @binding(10) var<storage, read> compared_rows: array<u32>;

// The words of a row.
fn words_at(i: u32) -> vec4<u32> {
    return vec4<u32>(compared_rows[i], 0u, 0u, 0u);
}

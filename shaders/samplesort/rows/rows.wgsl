// Rows of any size, in their buffer.

@group(0) @binding(10) var<storage, read> compared_rows: array<user_row>;

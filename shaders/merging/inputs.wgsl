// The keys of both inputs, A and B: from number first_a and first_b on.

@group(0) @binding(1) var<storage, read> keys_a: array<Key>;
@group(0) @binding(2) var<storage, read> keys_b: array<Key>;

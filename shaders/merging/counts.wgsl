// The numbers of records of both inputs. A kernel takes one section.

// ---- known

fn lengths() -> vec2<u32> {
    return vec2<u32>(params.len_a, params.len_b);
}

// ---- in_buffers

// `counts_a`, `counts_b`: their words count_a and count_b are the numbers. A larger number than
// there is room for counts as the room.

@group(0) @binding(4) var<storage, read> counts_a: array<u32>;
@group(0) @binding(5) var<storage, read> counts_b: array<u32>;

fn lengths() -> vec2<u32> {
    let given = vec2<u32>(counts_a[params.count_a], counts_b[params.count_b]);
    return min(given, vec2<u32>(params.len_a, params.len_b));
}

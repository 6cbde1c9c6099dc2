// As many records as a word of the caller's says, which the GPU may have written; never more than there is room for.

@group(0) @binding(4) var<storage, read> counts: array<u32>;

fn record_count() -> u32 {
    return min(counts[params.count_at], params.len);
}

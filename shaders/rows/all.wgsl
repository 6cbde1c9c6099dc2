// As many records as there is room for.
fn record_count() -> u32 {
    return params.len;
}

// Records are written to `target_keys`.

@group(0) @binding(3) var<storage, read_write> target_keys: array<Key>;

fn store_target(i: u32, r: Record) {
    target_keys[i] = key_of(r);
}

// Records are written to `target_keys` and `target_values`.

@group(0) @binding(3) var<storage, read_write> target_keys: array<Key>;
@group(0) @binding(4) var<storage, read_write> target_values: array<u32>;

fn store_target(i: u32, r: Record) {
    target_keys[i] = key_of(r);
    target_values[i] = value_of(r);
}

// Keys stay where the caller has them, and only their indices are written.

fn store_bits(index: u32, bits: Key) {}

fn store_key(index: u32, key: Key) {}

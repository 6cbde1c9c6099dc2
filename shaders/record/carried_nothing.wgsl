// Nothing goes with a key from one place to another.
fn carry(from_index: u32, to_index: u32) {}

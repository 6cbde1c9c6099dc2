// Composed records without a value.

fn store_value(i: u32, value: u32) {}

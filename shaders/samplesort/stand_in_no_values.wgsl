// Records without a value.

fn value_of(i: u32) -> u32 {
    return 0u;
}

fn exchange_values(i: u32, j: u32) {}

// Records that are moved by their labels, and are keys.

// What tells a record from those of equal keys, for the splitters' ties: places, scattered evenly.
fn tie_at(index: u32) -> u32 {
    return (index * 0x9e3779b9u) >> 16u;
}

fn move_values(places: ptr<function, array<Record, 32>>, lane: u32, base: u32, count: u32) {}

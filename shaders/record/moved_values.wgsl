// Records that are moved by their labels, and are keys and values.

@group(0) @binding(3) var<storage, read_write> values: array<u32>;

// Indices are yet to be made where UNNUMBERED is 1.
fn value_at(index: u32) -> u32 {
    if INDEXED == 1u && UNNUMBERED == 1u {
        return index;
    }
    return values[index];
}

// What tells a record from those of equal keys, for the splitters' ties: its index, or places, scattered evenly.
fn tie_at(index: u32) -> u32 {
    if INDEXED == 1u {
        return value_at(index);
    }
    return (index * 0x9e3779b9u) >> 16u;
}

fn move_values(places: ptr<function, array<Record, 32>>, lane: u32, base: u32, count: u32) {
    var v: array<u32, 32>;
    for (var j = 0u; j < 32u; j++) {
        v[j] = value_at((*places)[j]);
    }
    storageBarrier();
    for (var j = 0u; j < 32u; j++) {
        if place(lane, j) < count {
            values[base + place(lane, j)] = v[j];
        }
    }
}

// A sample's bits, still to be encoded: its key, and the tile it is of.
fn load_sample(index: u32, tile: u32) -> Record {
    return Record(load_bits(index), tile);
}

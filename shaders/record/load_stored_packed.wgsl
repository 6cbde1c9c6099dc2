// The bits of a record that was written before, of fewer than 32.
fn load_stored(index: u32) -> Record {
    let at = params.key_first + index;
    return unpack(atomicLoad(&destination[at >> params.key_shift]), at, params.key_shift);
}

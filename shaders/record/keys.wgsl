// A record that is a key and nothing else.

alias Record = Key;
alias OrderedRecords = Ordered;

// Pads a tile behind. A real record may equal it: the bits are the same.
const LAST_RECORD: Record = LAST;

fn compare_exchange_records(a: Record, b: Record) -> OrderedRecords {
    return compare_exchange(a, b);
}

fn record_load(cell: u32) -> Record {
    return tile_load(cell);
}

// The same, of a cell that the keys lead to: see tile_probe.
fn record_probe(cell: u32) -> Record {
    return tile_probe(cell);
}

fn record_store(cell: u32, record: Record) {
    tile_store(cell, record);
}

fn encode_record(of_array: u32, bits: Record) -> Record {
    return encode_in(of_array, bits);
}

// Whether a record is on the left of a splitter; of those that equal it, none or all are.
fn is_left(record: Record, splitter: Key, tie: u32, equal: bool) -> bool {
    return precedes(record, splitter) | (equal & equals(record, splitter));
}

// A record of a key and a 32-bit value: the caller's, or the key's index in the input. Equal keys are
// ordered by their values. With indices that makes a sort stable; with the caller's values it makes
// every record but its own copies differ from what pads a tile.

struct Record {
    key: Key,
    value: u32,
}

struct OrderedRecords {
    low: Record,
    high: Record,
}

// Pads a tile behind. A real record may equal it: the bits are the same.
const LAST_RECORD: Record = Record(LAST, 0xffffffffu);

fn compare_exchange_records(a: Record, b: Record) -> OrderedRecords {
    let swap = precedes(b.key, a.key) | (equals(a.key, b.key) & (b.value < a.value));
    return OrderedRecords(
        Record(select(a.key, b.key, swap), select(a.value, b.value, swap)),
        Record(select(b.key, a.key, swap), select(b.value, a.value, swap)),
    );
}

var<workgroup> tile_values: array<u32, TILE_CELLS>;

fn record_load(cell: u32) -> Record {
    return Record(tile_load(cell), tile_values[cell]);
}

fn record_store(cell: u32, record: Record) {
    tile_store(cell, record.key);
    tile_values[cell] = record.value;
}

fn encode_record(bits: Record) -> Record {
    return Record(encode(bits.key), bits.value);
}

// Whether a record of a tile is on the left of a splitter: equal keys are told apart by their indices,
// or by their tiles.
fn is_left(record: Record, tile: u32, splitter: Key, tie: u32) -> bool {
    let own = select(tile, record.value, INDEXED == 1u);
    return precedes(record.key, splitter) | (equals(record.key, splitter) & (own < tie));
}

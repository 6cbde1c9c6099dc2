// A record of a key and a 32-bit value: the caller's, or the key's index in the input. By indices equal keys
// are ordered, which makes a sort stable.

struct Record {
    key: Key,
    value: u32,
}

struct OrderedRecords {
    low: Record,
    high: Record,
}

// Pads a tile behind. A real record's key may equal its key: see sort_tile.wgsl.
const LAST_RECORD: Record = Record(LAST, 0xffffffffu);

fn compare_exchange_records(a: Record, b: Record) -> OrderedRecords {
    var swap = precedes(b.key, a.key);
    if INDEXED == 1u {
        swap = precedes_in_turn(b.key, b.value, a.key, a.value);
    }
    return OrderedRecords(
        Record(select(a.key, b.key, swap), select(a.value, b.value, swap)),
        Record(select(b.key, a.key, swap), select(b.value, a.value, swap)),
    );
}

var<workgroup> tile_values: array<u32, TILE_CELLS>;

fn record_load(cell: u32) -> Record {
    return Record(tile_load(cell), tile_values[cell]);
}

// The same, of a cell that the keys lead to: see tile_probe.
fn record_probe(cell: u32) -> Record {
    return Record(tile_probe(cell), tile_values[cell]);
}

fn record_store(cell: u32, record: Record) {
    tile_store(cell, record.key);
    tile_values[cell] = record.value;
}

fn encode_record(of_array: u32, bits: Record) -> Record {
    return Record(encode_in(of_array, bits.key), bits.value);
}

// Whether a record is on the left of a splitter; of those that equal it, none or all are. Indices leave
// none that do.
fn is_left(record: Record, splitter: Key, tie: u32, equal: bool) -> bool {
    let before = select(equal, record.value < tie, INDEXED == 1u);
    return precedes(record.key, splitter) | (before & equals(record.key, splitter));
}

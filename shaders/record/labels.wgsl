// A word that stands for a record while its tile is partitioned: the part that the record belongs to, and below
// it, in LABEL_SHIFT bits, where the record lies in the tile. No two are equal, so sorting them keeps the
// records of a part in order, and a record of any size costs no more than a word.

alias Record = u32;

struct OrderedRecords {
    low: u32,
    high: u32,
}

// Behind all others.
const LAST_RECORD: Record = 0xffffffffu;

var<workgroup> tile: array<u32, TILE_CELLS>;

fn compare_exchange_records(a: Record, b: Record) -> OrderedRecords {
    return OrderedRecords(min(a, b), max(a, b));
}

fn record_load(cell: u32) -> Record {
    return tile[cell];
}

// The same, of a cell that the labels lead to: what searches meets in banks.
fn record_probe(cell: u32) -> Record {
    return tile[cell];
}

fn record_store(cell: u32, record: Record) {
    tile[cell] = record;
}

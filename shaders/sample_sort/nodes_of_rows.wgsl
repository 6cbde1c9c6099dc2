// The same where keys are numbers of rows, with the rows beside them: a search reads a record's row once, and those of splitters from
// workgroup memory.

var<workgroup> node_keys: array<Key, CHILDREN>;
var<workgroup> node_ties: array<u32, CHILDREN>;
var<workgroup> node_rows: array<user_row, CHILDREN>;

// (What is no row's number has some row, which is not looked at.)
fn row_of(number: Key) -> user_row {
    return compared_rows[select(number, 0u, number == LAST)];
}

fn plant_node(node: u32, key: Key, tie: u32) {
    node_keys[node] = key;
    node_ties[node] = tie;
    node_rows[node] = row_of(key);
}

// What is searched for: a number, and its row.
struct Sought {
    number: Key,
    row: user_row,
}

fn sought(number: Key) -> Sought {
    return Sought(number, row_of(number));
}

fn is_left_of(record: Sought, tie: u32, node: u32) -> bool {
    let splitter = node_keys[node];
    let before = precedes_by_rows(record.number, record.row, splitter, node_rows[node]);
    return before | ((record.number == splitter) & (tie < node_ties[node]));
}

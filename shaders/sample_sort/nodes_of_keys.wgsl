// The splitters that partitioned_tiles.wgsl searches, as nodes of a tree in workgroup memory.

var<workgroup> node_keys: array<Key, CHILDREN>;
var<workgroup> node_ties: array<u32, CHILDREN>;

fn plant_node(node: u32, key: Key, tie: u32) {
    node_keys[node] = key;
    node_ties[node] = tie;
}

// What is searched for: a key.
alias Sought = Key;

fn sought(key: Key) -> Sought {
    return key;
}

fn is_left_of(key: Sought, tie: u32, node: u32) -> bool {
    let splitter = node_keys[node];
    return precedes(key, splitter) | (equals(key, splitter) & (tie < node_ties[node]));
}

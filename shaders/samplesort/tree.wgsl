// A segment's splitters as a binary search tree in breadth-first order: node 1 is the root, the
// children of node k are 2k and 2k + 1.

// The node of splitter number `c` in ascending order, counted from 1, in a tree of `nodes` nodes.
fn node_of(c: u32, nodes: u32) -> u32 {
    let level = countTrailingZeros(c);
    return (nodes >> (level + 1u)) + (c >> (level + 1u));
}

// A segment's splitters as a binary search tree in breadth-first order: node 1 is the root, those
// below node k are 2k and 2k + 1.

// The node of splitter `c`, from 1 on, in ascending order, in a tree of so many nodes.
fn node_of(c: u32, nodes: u32) -> u32 {
    let level = countTrailingZeros(c);
    return (nodes >> (level + 1u)) + (c >> (level + 1u));
}

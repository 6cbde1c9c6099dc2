// The keys that merges compare. A kernel takes the section for their width.

// ---- one_word

alias Key = u32;

fn precedes(a: Key, b: Key) -> bool {
    return a < b;
}

// ---- two_words

// The low word and the high word.

alias Key = vec2<u32>;

fn precedes(a: Key, b: Key) -> bool {
    return (a.y < b.y) | ((a.y == b.y) & (a.x < b.x));
}

// Workgroup memory as an array of words: the records from word `base` on, in planes of `plane`
// words, one plane for the indices and one for each word of a row. Consecutive records are in
// different banks.

var<workgroup> cells: array<u32, CELLS>;

fn cells_load(base: u32, plane: u32, i: u32) -> Record {
    let at = base + i;
    var words = vec4<u32>();
    words.x = cells[at + plane];
    if ROW_WORDS > 1u {
        words.y = cells[at + 2u * plane];
    }
    if ROW_WORDS > 2u {
        words.z = cells[at + 3u * plane];
    }
    if ROW_WORDS > 3u {
        words.w = cells[at + 4u * plane];
    }
    return Record(cells[at], words);
}

fn cells_store(base: u32, plane: u32, i: u32, r: Record) {
    let at = base + i;
    cells[at] = r.index;
    cells[at + plane] = r.words.x;
    if ROW_WORDS > 1u {
        cells[at + 2u * plane] = r.words.y;
    }
    if ROW_WORDS > 2u {
        cells[at + 3u * plane] = r.words.z;
    }
    if ROW_WORDS > 3u {
        cells[at + 4u * plane] = r.words.w;
    }
}

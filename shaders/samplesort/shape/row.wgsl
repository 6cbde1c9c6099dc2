// Records that are the indices of rows, which a custom comparator compares. Rows of one to four
// words stand beside their index, in `beside`; larger ones stay in their buffer, in `index`. A
// kernel takes the sections that it needs.

// ---- beside

// Records for the custom comparator `user_precedes`. In memory a record is the index of a row; here
// it also has the words of the row, at most four.
//
// Rows that the comparator does not order, or orders both ways, are in the order of their indices.
// So no two records are equal. With an inconsistent comparator records are still only compared and
// moved.

struct Record {
    index: u32,
    words: vec4<u32>,
}

// Sentinels before and after all records; they are never passed to the comparator.
const FIRST: Record = Record(0xffffffffu, vec4<u32>());
const LAST: Record = Record(0xfffffffeu, vec4<u32>());

fn is_row(r: Record) -> bool {
    return r.index < LAST.index;
}

fn is_greater(a: Record, b: Record) -> bool {
    // Plus 1, FIRST is the smallest number and LAST the largest.
    var greater = a.index + 1u > b.index + 1u;
    if is_row(a) & is_row(b) {
        let first = user_row_of(a.words);
        let second = user_row_of(b.words);
        let ascending = user_precedes(second, first);
        let descending = user_precedes(first, second);
        greater = select(greater, ascending != BACKWARDS, ascending != descending);
    }
    return greater;
}

fn is_equal(a: Record, b: Record) -> bool {
    return a.index == b.index;
}

// No two records are equal, so no splitter is frequent.
fn predecessor(r: Record) -> Record {
    return r;
}

fn word_of(r: Record, word: u32) -> u32 {
    return r.index;
}

// `b` where the condition holds, else `a`.
fn pick(a: Record, b: Record, condition: bool) -> Record {
    return Record(select(a.index, b.index, condition), select(a.words, b.words, condition));
}

alias Key = u32;

fn record_of(key: Key, value: u32) -> Record {
    if key >= LAST.index {
        return Record(key, vec4<u32>());
    }
    return Record(key, words_at(key));
}

fn key_of(r: Record) -> Key {
    return r.index;
}

// ---- index

// Records are the indices of rows.

alias Record = u32;
alias Key = u32;

// Sentinels before and after all records; they are never passed to the comparator.
const FIRST: Record = 0xffffffffu;
const LAST: Record = 0xfffffffeu;

fn is_equal(a: Record, b: Record) -> bool {
    return a == b;
}

// No two records are equal, so no splitter is frequent.
fn predecessor(r: Record) -> Record {
    return r;
}

fn word_of(r: Record, word: u32) -> u32 {
    return r;
}

// `b` where the condition holds, else `a`.
fn pick(a: Record, b: Record, condition: bool) -> Record {
    return select(a, b, condition);
}

fn record_of(key: Key, value: u32) -> Record {
    return key;
}

fn key_of(r: Record) -> Key {
    return r;
}

// ---- rows

// Rows of any size, in their buffer.

@group(0) @binding(10) var<storage, read> compared_rows: array<user_row>;

// ---- compared_index

// The custom comparator `user_precedes` compares the rows of two indices in their buffer. See
// `beside` for the order.

fn is_greater(a: Record, b: Record) -> bool {
    // Plus 1, FIRST is the smallest number and LAST the largest.
    var greater = a + 1u > b + 1u;
    if max(a, b) < LAST {
        let ascending = user_precedes(compared_rows[b], compared_rows[a]);
        let descending = user_precedes(compared_rows[a], compared_rows[b]);
        greater = select(greater, ascending != BACKWARDS, ascending != descending);
    }
    return greater;
}

// ---- words_1

// Rows of 1 word, in their buffer.

@group(0) @binding(10) var<storage, read> compared_rows: array<u32>;

// The words of a row.
fn words_at(i: u32) -> vec4<u32> {
    return vec4<u32>(compared_rows[i], 0u, 0u, 0u);
}

// ---- words_2

// Rows of 2 words, in their buffer.

@group(0) @binding(10) var<storage, read> compared_rows: array<vec2<u32>>;

// The words of a row.
fn words_at(i: u32) -> vec4<u32> {
    return vec4<u32>(compared_rows[i], 0u, 0u);
}

// ---- words_3

// Rows of 3 words, in their buffer.

@group(0) @binding(10) var<storage, read> compared_rows: array<u32>;

// The words of a row.
fn words_at(i: u32) -> vec4<u32> {
    let at = 3u * i;
    return vec4<u32>(compared_rows[at], compared_rows[at + 1u], compared_rows[at + 2u], 0u);
}

// ---- words_4

// Rows of 4 words, in their buffer.

@group(0) @binding(10) var<storage, read> compared_rows: array<vec4<u32>>;

// The words of a row.
fn words_at(i: u32) -> vec4<u32> {
    return compared_rows[i];
}

// ---- no_maps

// Records are read and written without a map.

fn encode_source(r: Record) -> Record {
    return r;
}

fn decode_target(r: Record) -> Record {
    return r;
}

fn maps_source() -> bool {
    return false;
}

fn maps_target() -> bool {
    return false;
}

// ---- cells

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

// ---- splitter

// Loads the splitter whose words begin at `at`.

fn splitter_at(at: u32) -> Record {
    return record_of(splitters[at], 0u);
}

// ---- sort_tile

// The tile sort for records that are expensive to compare: Batcher's bitonic sort in workgroup
// memory. The user's comparator is inlined in one place only.
//
// If two blocks are already sorted, the upper one is fetched in reverse, so that one merge sorts
// them. This saves loop iterations: lavapipe ends all loops of a shader, even unfinished ones,
// after 65,535 iterations in total, and a large item has many.
//
// No bank conflict: at distances below 32 the second 16 lanes of a warp access the two records of
// their pairs in reverse order. Rows that stay in their buffer are not in workgroup memory.

fn position_of(blocks: Blocks, i: u32) -> u32 {
    return select(blocks.low, blocks.high, i >= SORT_TILE / 2u) + i;
}

fn sort_tile(blocks: Blocks, lane: u32, count: u32) {
    for (var i = lane; i < SORT_TILE; i += LANES) {
        let is_backwards = blocks.are_sorted & (i >= SORT_TILE / 2u);
        let mirrored = SORT_TILE / 2u + SORT_TILE - 1u - i;
        let position = position_of(blocks, select(i, mirrored, is_backwards));
        let r = fetch(blocks, lane, position);
        cells_store(0u, SORT_TILE, i, padded_first(blocks, position, r));
    }
    for (var size = select(2u, count, blocks.are_sorted); size <= count; size *= 2u) {
        for (var distance = size / 2u; distance > 0u; distance /= 2u) {
            workgroupBarrier();
            for (var pair = lane; pair < count / 2u; pair += LANES) {
                let i = 2u * pair - (pair & (distance - 1u));
                let swapped = (distance < 32u) & ((pair & 16u) != 0u);
                let a = i + select(0u, distance, swapped);
                let b = i + select(distance, 0u, swapped);
                let x = cells_load(0u, SORT_TILE, a);
                let y = cells_load(0u, SORT_TILE, b);
                // True if a's record must become the smaller one.
                let ascending = ((i & size) == 0u) != swapped;
                if is_greater(x, y) == ascending {
                    cells_store(0u, SORT_TILE, a, y);
                    cells_store(0u, SORT_TILE, b, x);
                }
            }
        }
    }
    workgroupBarrier();
}

fn tile_load(i: u32) -> Record {
    return cells_load(0u, SORT_TILE, i);
}

// ---- put_tile

// Stores the sorted records of a tile.

fn put_tile(blocks: Blocks, lane: u32) {
    for (var i = lane; i < SORT_TILE; i += LANES) {
        put_first(blocks, position_of(blocks, i), tile_load(i));
    }
}

//! The kernels before and after a sort of 32-bit words. Neither the key type nor the order changes
//! a kernel: both are parameters.

use crate::key::KeyType;
use crate::shader::{
    Conflicts, Definition, Kernel, PARAMETER_BLOCK, Piece, Source, parameters, wgsl,
};

parameters! {
    /// `layout/params.wgsl`.
    LayoutParams {
        len, first, end,
        key_first, key_stride, key_shift, key_low, key_up,
        sign_low, sign_high, flip_low, flip_high,
        segments, segments_power, offsets_first,
        source_stride,
        words, source_first, destination_first, rows, order_first,
        bins, unused, tables,
        tiles, room, needles, is_upper, cells, cell_step, searched_from,
        second_first, second_stride, second_shift, second_unused, second_sign, second_flip,
        user_sign_low, user_sign_high, user_flip_low, user_flip_high,
    }

    /// `layout/set_count.wgsl`.
    SetCountParams { first_block, blocks, count_at, room }
}

/// Lanes of a workgroup.
const LANES: u32 = 256;

/// Keys, or words of rows, per workgroup that encodes, decodes or moves.
pub(crate) const MOVED: u32 = 8 * LANES;

/// Bins of a counting sort per workgroup that scans.
pub(crate) const BINS: u32 = 8 * LANES;

/// Keys per workgroup of a histogram, and the slots of workgroup memory that count them.
pub(crate) const COUNTED: u32 = 32 * LANES;
const SLOTS: u32 = 1024;

const KEY_ORDER: Source = wgsl!("lib/key_map.wgsl", "order");
const SEGMENTS: Source = wgsl!("layout/load.wgsl", "segment");
const STORE_VALUES: Source = wgsl!("layout/encode.wgsl", "values");
const SCAN: Source = wgsl!("lib/scan.wgsl", "sum");
const SCAN_WORDS: Source = wgsl!("lib/scan.wgsl", "words");
const SCAN_MEMORY: Source = wgsl!("lib/scan.wgsl", "memory");
const EACH_ITEM: Source = wgsl!("layout/each_item.wgsl", "one");
const EIGHT_ITEMS: Source = wgsl!("layout/each_item.wgsl", "eight");
const PARAMS: Source = wgsl!("layout/params.wgsl");

/// Values of a scan: one for each lane.
const VALUES: (&str, u32) = ("VALUES", LANES);
const SCAN_BYTES: u32 = 4 * (LANES + LANES / 32 + 32);

/// Every kernel.
#[must_use]
pub fn all() -> Vec<Kernel> {
    [
        set_count(),
        encode_keys(1, false, false),
        encode_keys(1, false, true),
        encode_keys(1, true, false),
        encode_keys(1, true, true),
        encode_keys(2, false, false),
        encode_keys(2, false, true),
        encode_keys(2, true, true),
        encode_segments(),
        encode_fields(1, false),
        encode_fields(2, false),
        encode_fields(1, true),
        append_field(),
        decode_keys(),
        decode_counts(),
        decode_wide_keys(false),
        decode_wide_keys(true),
        gather(),
        copy(),
        scatter(),
        common_bits(),
        pack_indices(),
        unpack_indices(),
        iota(),
        clear(),
        count_keys(),
        scan_counts(),
        add_group_sums(),
        is_sorted(1),
        is_sorted(2),
    ]
    .into_iter()
    .chain([1, 2].into_iter().flat_map(found))
    .chain([8, 32, 64].map(|bits| count_runs(bits, Heads::OfKeys)))
    .chain([8, 64].map(|bits| count_runs(bits, Heads::OfFlags)))
    .chain([32, 64].map(|bits| count_runs(bits, Heads::OfTies)))
    .chain([
        count_row_runs(),
        count_kept_rows(),
        scan_runs(),
        write_runs(RunOutput::Starts),
        write_runs(RunOutput::StartsAndLengths),
    ])
    .collect()
}

/// A kernel of this name. Its file has the last text.
fn kernel(name: &'static str, constants: &[(&'static str, u32)], texts: &[Source]) -> Definition {
    let mut all = vec![("LANES", LANES)];
    all.extend(constants);
    let (shared, own) = texts.split_at(texts.len().saturating_sub(1));
    let pieces = [wgsl!("lib/workgroup.wgsl")];
    Definition {
        name: name.into(),
        variant: "",
        key: KeyType::U32,
        constants: all,
        pieces: [&pieces, shared, &[PARAMS], own]
            .concat()
            .into_iter()
            .map(Piece::File)
            .collect(),
        parameters: LayoutParams::default().into(),
        workgroup_bytes: 0,
        conflicts: Conflicts::None,
    }
}

/// Copies the number of records from a GPU buffer to the parameters of all dispatches.
#[must_use]
pub fn set_count() -> Kernel {
    let block = [("BLOCK", PARAMETER_BLOCK / 4)];
    let text = [wgsl!("layout/set_count.wgsl")];
    let mut of = kernel("layout.set_count", &block, &text);
    // It has parameters of its own.
    of.pieces.remove(1);
    of.parameters = SetCountParams::default().into();
    of.into()
}

/// Composes the records of a sort of words, from keys of `words` words. If `segmented`, the upper
/// word of a record is its segment. If `valued`, a record has a value: the index, or the low word
/// of a 64-bit key in a segment.
#[must_use]
pub fn encode_keys(words: u32, segmented: bool, valued: bool) -> Kernel {
    let mut texts = vec![EACH_ITEM, key_map(words), load_keys(words)];
    if segmented {
        texts.push(SEGMENTS);
    }
    texts.push(if valued {
        STORE_VALUES
    } else {
        wgsl!("layout/encode.wgsl", "no_values")
    });
    texts.push(match (words, segmented) {
        (1, false) => wgsl!("layout/encode.wgsl", "keys"),
        (1, true) => wgsl!("layout/encode.wgsl", "segment_keys"),
        (_, false) => wgsl!("layout/encode.wgsl", "wide_keys"),
        (_, true) => wgsl!("layout/encode.wgsl", "segment_wide_keys"),
    });
    texts.push(wgsl!("layout/encode.wgsl", "encode_keys"));
    let segment = if segmented { ".segment" } else { "" };
    let value = match (words, segmented, valued) {
        (_, _, false) | (2, true, _) => "",
        _ => ".index",
    };
    Definition {
        name: format!("layout.encode_keys{segment}.{words}w{value}").into(),
        ..kernel("", &[], &texts)
    }
    .into()
}

/// Composes records, with their indices, from the first two fields of keys of `words` words. If
/// `segmented`, the upper word of a record is its segment.
#[must_use]
pub fn encode_fields(words: u32, segmented: bool) -> Kernel {
    let mut texts = vec![EACH_ITEM, key_map(1), load_keys(1), STORE_VALUES];
    let (name, store) = match (words, segmented) {
        (1, false) => ("1w", wgsl!("layout/encode.wgsl", "keys")),
        (1, true) => ("segment", wgsl!("layout/encode.wgsl", "segment_keys")),
        _ => ("2w", wgsl!("layout/encode.wgsl", "wide_keys")),
    };
    if segmented {
        texts.push(SEGMENTS);
    }
    texts.extend([store, wgsl!("layout/encode.wgsl", "encode_fields")]);
    Definition {
        name: format!("layout.encode_fields.{name}").into(),
        ..kernel("", &[], &texts)
    }
    .into()
}

/// Appends a field to the keys of composed records.
#[must_use]
pub fn append_field() -> Kernel {
    let text = wgsl!("layout/encode.wgsl", "append_field");
    let texts = [EACH_ITEM, key_map(1), load_keys(1), text];
    kernel("layout.append_field", &[], &texts).into()
}

/// Composes the records of the second pass of a segmented argsort of 64-bit keys.
#[must_use]
pub fn encode_segments() -> Kernel {
    let texts = [
        EACH_ITEM,
        SEGMENTS,
        STORE_VALUES,
        wgsl!("layout/encode.wgsl", "encode_segments"),
    ];
    kernel("layout.encode_segments", &[], &texts).into()
}

/// Decodes keys of 8, 16 or 32 bits from sorted words.
#[must_use]
pub fn decode_keys() -> Kernel {
    decode("layout.decode_keys", wgsl!("layout/decode.wgsl", "words"))
}

/// Decodes keys of 8 or 16 bits from the result of a counting sort.
#[must_use]
pub fn decode_counts() -> Kernel {
    let keys = wgsl!("layout/decode.wgsl", "counts");
    decode("layout.decode_keys.counts", keys)
}

fn decode(name: &'static str, keys: Source) -> Kernel {
    let text = wgsl!("layout/decode.wgsl", "decode_keys");
    kernel(name, &[], &[EACH_ITEM, key_map(1), keys, text]).into()
}

/// Decodes keys of 64 bits from sorted words. If `segmented`, the low words are the values of the
/// records.
#[must_use]
pub fn decode_wide_keys(segmented: bool) -> Kernel {
    let (name, low_words) = if segmented {
        (
            "layout.decode_wide_keys.segment",
            wgsl!("layout/decode.wgsl", "segment_words"),
        )
    } else {
        (
            "layout.decode_wide_keys",
            wgsl!("layout/decode.wgsl", "wide_words"),
        )
    };
    let text = wgsl!("layout/decode.wgsl", "decode_wide_keys");
    kernel(name, &[], &[EACH_ITEM, key_map(2), low_words, text]).into()
}

/// Gathers payload rows in sorted order.
#[must_use]
pub fn gather() -> Kernel {
    moves("layout.gather", wgsl!("layout/move.wgsl", "by_index"))
}

/// Copies words.
#[must_use]
pub fn copy() -> Kernel {
    moves("layout.copy", wgsl!("layout/move.wgsl", "in_place"))
}

fn moves(name: &'static str, row: Source) -> Kernel {
    let texts = [EIGHT_ITEMS, row, wgsl!("layout/move.wgsl", "gather")];
    kernel(name, &[], &texts).into()
}

/// Finds the bits in which some keys of 64 bits differ.
#[must_use]
pub fn common_bits() -> Kernel {
    let text = wgsl!("layout/indexed.wgsl", "common_bits");
    kernel("layout.common_bits", &[], &[text]).into()
}

/// Puts the indices of keys of 64 bits into their lowest bits.
#[must_use]
pub fn pack_indices() -> Kernel {
    let text = wgsl!("layout/indexed.wgsl", "pack");
    kernel("layout.pack_indices", &[], &[EACH_ITEM, text]).into()
}

/// Reads the indices from there.
#[must_use]
pub fn unpack_indices() -> Kernel {
    let text = wgsl!("layout/indexed.wgsl", "unpack");
    kernel("layout.unpack_indices", &[], &[EACH_ITEM, text]).into()
}

/// Moves words to places.
#[must_use]
pub fn scatter() -> Kernel {
    let text = wgsl!("layout/move.wgsl", "scatter");
    kernel("layout.scatter", &[], &[EACH_ITEM, text]).into()
}

/// Writes 0, 1, 2 and so on.
#[must_use]
pub fn iota() -> Kernel {
    kernel(
        "layout.iota",
        &[],
        &[EACH_ITEM, wgsl!("layout/move.wgsl", "iota")],
    )
    .into()
}

/// Writes zeros.
#[must_use]
pub fn clear() -> Kernel {
    kernel(
        "layout.clear",
        &[],
        &[EACH_ITEM, wgsl!("layout/move.wgsl", "clear")],
    )
    .into()
}

/// Counting sort: the histogram of the keys.
#[must_use]
pub fn count_keys() -> Kernel {
    let constants = [("COUNTED", COUNTED), ("SLOTS", SLOTS)];
    let text = [wgsl!("layout/counting.wgsl", "count_keys")];
    Definition {
        workgroup_bytes: 4 * 2 * SLOTS,
        // The keys determine which cells of workgroup memory the lanes access.
        conflicts: Conflicts::WhereItSearches,
        ..kernel("layout.count_keys", &constants, &text)
    }
    .into()
}

/// Counting sort: inclusive prefix sums of each workgroup's bins.
#[must_use]
pub fn scan_counts() -> Kernel {
    let texts = [
        key_map(1),
        SCAN_WORDS,
        SCAN_MEMORY,
        SCAN,
        wgsl!("layout/counting.wgsl", "scan_counts"),
    ];
    Definition {
        workgroup_bytes: SCAN_BYTES,
        ..kernel("layout.scan_counts", &[VALUES], &texts)
    }
    .into()
}

/// Counting sort: inclusive prefix sums of all bins.
#[must_use]
pub fn add_group_sums() -> Kernel {
    let texts = [
        SCAN_WORDS,
        SCAN_MEMORY,
        SCAN,
        wgsl!("layout/counting.wgsl", "add_group_sums"),
    ];
    Definition {
        workgroup_bytes: SCAN_BYTES,
        ..kernel("layout.add_group_sums", &[VALUES], &texts)
    }
    .into()
}

/// `is_sorted`: finds the first key of `words` words that is out of order.
#[must_use]
pub fn is_sorted(words: u32) -> Kernel {
    let name = match words {
        1 => "layout.is_sorted.1w",
        _ => "layout.is_sorted.2w",
    };
    let text = wgsl!("layout/is_sorted.wgsl");
    let texts = [key_map(words), KEY_ORDER, load_keys(words), text];
    kernel(name, &[], &texts).into()
}

/// What is found in sorted keys of `words` words.
fn found(words: u32) -> Vec<Kernel> {
    let mut all = vec![write_runs(RunOutput::Keys(words))];
    all.extend([Needles::Cells, Needles::Keys].map(|of| search(words, of)));
    all.extend([cells(words), index_keys(words), search_index(words)]);
    all
}

/// Records per workgroup that finds runs, in parts of 8 per lane.
pub(crate) const RUN_TILE: u32 = 4 * RUN_PART;
const RUN_PART: u32 = 8 * LANES;

/// Needles per workgroup that searches, without an index and with one.
pub(crate) const SEARCHED: u32 = LANES;
pub(crate) const NEEDLES: u32 = 8 * LANES;

/// Entries of an index that a workgroup reads before it searches among the others.
const SAMPLES: u32 = 1024;

/// Cells per workgroup, and the number of their records from which on it searches among these. It
/// reads fewer.
pub(crate) const CELLS: u32 = 8 * LANES;
pub(crate) const SEARCHED_FROM: u32 = 8 * CELLS;

/// What begins a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heads {
    /// Records whose key differs from the one before, and the first one of each segment, if there
    /// are any: runs of equal keys.
    #[default]
    OfKeys,
    /// Records whose key, a flag, is not 0.
    OfFlags,
    /// Records whose key equals that of a neighbour.
    OfTies,
    /// Rows that a predicate keeps.
    OfPredicate,
}

/// Runs of keys of `bits` bits, or rows that are kept: the heads of each tile.
#[must_use]
pub fn count_runs(bits: u32, heads: Heads) -> Kernel {
    let (of, text) = match heads {
        Heads::OfPredicate => return count_kept_rows(),
        Heads::OfKeys => ("", wgsl!("layout/heads.wgsl", "of_keys")),
        Heads::OfFlags => (".flags", wgsl!("layout/heads.wgsl", "of_flags")),
        Heads::OfTies => (".ties", wgsl!("layout/heads.wgsl", "of_ties")),
    };
    let (words, load) = match (bits, heads) {
        (64, _) => ("2w", wgsl!("layout/load.wgsl", "wide_keys")),
        (32, Heads::OfKeys | Heads::OfTies) => ("1w", wgsl!("layout/load.wgsl", "words")),
        // These may be of 32 bits, too.
        _ => ("packed", wgsl!("layout/load.wgsl", "keys")),
    };
    let mut texts = vec![key_map(bits.div_ceil(32)), load];
    if heads == Heads::OfKeys {
        texts.extend([SEGMENTS, wgsl!("layout/heads.wgsl", "in_segments")]);
    }
    texts.extend([text, wgsl!("layout/runs.wgsl", "count_runs")]);
    Definition {
        name: format!("layout.count_runs.{words}{of}").into(),
        workgroup_bytes: 8 * LANES,
        ..kernel("", &[("RUN_TILE", RUN_TILE)], &texts)
    }
    .into()
}

fn count_kept_rows() -> Kernel {
    let texts = [
        wgsl!("layout/heads.wgsl", "of_predicate"),
        wgsl!("layout/runs.wgsl", "count_runs"),
    ];
    count_rows("layout.count_runs.kept", &texts, Piece::Predicate)
}

/// Runs of rows by a comparator: the heads of each tile.
#[must_use]
pub fn count_row_runs() -> Kernel {
    let texts = [
        SEGMENTS,
        wgsl!("layout/heads.wgsl", "in_segments"),
        wgsl!("layout/heads.wgsl", "of_rows"),
        wgsl!("layout/runs.wgsl", "count_runs"),
    ];
    // It asks in both directions.
    let name = "layout.count_runs.rows";
    count_rows(name, &texts, Piece::Comparator(0, false))
}

fn count_rows(name: &'static str, texts: &[Source], custom: Piece) -> Kernel {
    let mut of = Definition {
        workgroup_bytes: 8 * LANES,
        ..kernel(name, &[("RUN_TILE", RUN_TILE)], texts)
    };
    of.pieces.insert(0, custom);
    of.into()
}

/// Runs: the heads before each tile.
#[must_use]
pub fn scan_runs() -> Kernel {
    let texts = [
        SCAN_WORDS,
        SCAN_MEMORY,
        SCAN,
        wgsl!("layout/runs.wgsl", "scan_runs"),
    ];
    Definition {
        // The sum of all lanes takes 16 bytes.
        workgroup_bytes: SCAN_BYTES + 4 * LANES + 16,
        ..kernel("layout.scan_runs", &[VALUES], &texts)
    }
    .into()
}

/// What is written of each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutput {
    /// Its first record.
    Starts,
    /// Its first record, and how many it has.
    StartsAndLengths,
    /// Its key, of so many words.
    Keys(u32),
}

/// Runs: writes them.
#[must_use]
pub fn write_runs(output: RunOutput) -> Kernel {
    let (name, section, words) = match output {
        RunOutput::Starts => ("starts", wgsl!("layout/runs.wgsl", "starts"), None),
        RunOutput::StartsAndLengths => (
            "starts_and_lengths",
            wgsl!("layout/runs.wgsl", "starts_and_lengths"),
            None,
        ),
        RunOutput::Keys(1) => ("keys.1w", wgsl!("layout/runs.wgsl", "keys"), Some(1)),
        RunOutput::Keys(_) => ("keys.2w", wgsl!("layout/runs.wgsl", "wide_keys"), Some(2)),
    };
    let mut texts = vec![SCAN_WORDS, SCAN];
    texts.extend(words.map(key_map));
    texts.extend(words.map(load_keys));
    texts.extend([section, wgsl!("layout/runs.wgsl", "write_runs")]);
    Definition {
        name: format!("layout.write_runs.{name}").into(),
        // The heads of lanes and of a part, a 32nd more, and two numbers, which take 16 bytes.
        workgroup_bytes: 4 * (RUN_PART + LANES) / 32 * 33 + 16,
        // The keys determine where the heads are.
        conflicts: Conflicts::WhereItSearches,
        ..kernel("", &[VALUES, ("RUN_TILE", RUN_TILE)], &texts)
    }
    .into()
}

/// What a search looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needles {
    /// Numbers of cells.
    Cells,
    /// Keys of the user's.
    Keys,
}

impl Needles {
    const fn source(self, words: u32) -> Source {
        match (self, words) {
            (Self::Cells, 1) => wgsl!("layout/search.wgsl", "cells"),
            (Self::Cells, _) => wgsl!("layout/search.wgsl", "wide_cells"),
            (Self::Keys, 1) => wgsl!("layout/search.wgsl", "keys"),
            (Self::Keys, _) => wgsl!("layout/search.wgsl", "wide_keys"),
        }
    }
}

/// Searches sorted keys of `words` words.
#[must_use]
pub fn search(words: u32, needles: Needles) -> Kernel {
    let name = match needles {
        Needles::Cells => "cells",
        Needles::Keys => "keys",
    };
    let texts = [
        key_map(words),
        KEY_ORDER,
        load_keys(words),
        needles.source(words),
        wgsl!("layout/search.wgsl", "places"),
        wgsl!("layout/search.wgsl", "search"),
    ];
    Definition {
        name: format!("layout.search.{words}w.{name}").into(),
        ..kernel("", &[], &texts)
    }
    .into()
}

/// The distance of two records of an index.
pub(crate) const INDEXED: u32 = 32;

/// Writes the index of sorted keys of `words` words, for searches.
#[must_use]
pub fn index_keys(words: u32) -> Kernel {
    let constants = [("INDEXED", INDEXED)];
    let index = match words {
        1 => wgsl!("layout/search.wgsl", "write_one_word"),
        _ => wgsl!("layout/search.wgsl", "write_two_words"),
    };
    let texts = [
        EACH_ITEM,
        key_map(words),
        load_keys(words),
        index,
        wgsl!("layout/search.wgsl", "index_keys"),
    ];
    Definition {
        name: format!("layout.index_keys.{words}w").into(),
        ..kernel("", &constants, &texts)
    }
    .into()
}

/// Searches sorted keys of `words` words that have an index.
#[must_use]
pub fn search_index(words: u32) -> Kernel {
    let constants = [
        ("INDEXED", INDEXED),
        ("SAMPLES", SAMPLES),
        ("EACH", NEEDLES / LANES),
    ];
    let index = match words {
        1 => wgsl!("layout/search.wgsl", "read_one_word"),
        _ => wgsl!("layout/search.wgsl", "read_two_words"),
    };
    let texts = [
        key_map(words),
        KEY_ORDER,
        load_keys(words),
        Needles::Keys.source(words),
        wgsl!("layout/search.wgsl", "places"),
        index,
        wgsl!("layout/search.wgsl", "search_index"),
    ];
    Definition {
        name: format!("layout.search_index.{words}w").into(),
        workgroup_bytes: 8 * SAMPLES,
        // The needles determine which samples are compared.
        conflicts: Conflicts::WhereItSearches,
        ..kernel("", &constants, &texts)
    }
    .into()
}

/// The first record of each cell, for sorted keys of `words` words.
#[must_use]
pub fn cells(words: u32) -> Kernel {
    let texts = [
        key_map(words),
        KEY_ORDER,
        load_keys(words),
        Needles::Cells.source(words),
        wgsl!("layout/search.wgsl", "places"),
        wgsl!("layout/cells.wgsl"),
    ];
    Definition {
        name: format!("layout.cells.{words}w").into(),
        workgroup_bytes: 4 * (CELLS + CELLS / 32),
        // The keys determine which cells have records.
        conflicts: Conflicts::WhereItSearches,
        ..kernel("", &[("CELLS", CELLS)], &texts)
    }
    .into()
}

const fn key_map(words: u32) -> Source {
    match words {
        1 => wgsl!("lib/key_map.wgsl", "one_word"),
        _ => wgsl!("lib/key_map.wgsl", "two_words"),
    }
}

const fn load_keys(words: u32) -> Source {
    match words {
        1 => wgsl!("layout/load.wgsl", "keys"),
        _ => wgsl!("layout/load.wgsl", "wide_keys"),
    }
}

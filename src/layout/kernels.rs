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
        key_first, key_stride, key_shift,
        sign_low, sign_high, flip_low, flip_high,
        segments, segments_power, offsets_first,
        source_stride,
        words, source_first, destination_first,
        bins, unused, tables,
    }

    /// `layout/set_count.wgsl`.
    SetCountParams { blocks, count_at, room }
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

const SEGMENTS: Source = wgsl!("layout/segments.wgsl");
const STORE_VALUES: Source = wgsl!("layout/records.wgsl", "values");
const SCAN: Source = wgsl!("lib/scan.wgsl", "sum");
const SCAN_MEMORY: Source = wgsl!("lib/scan.wgsl", "memory");
const EACH_ITEM: Source = wgsl!("layout/each_item.wgsl");
const PARAMS: Source = wgsl!("layout/params.wgsl");

/// Values of a scan: one for each lane.
const VALUES: (&str, u32) = ("VALUES", LANES);
const SCAN_BYTES: u32 = 4 * (LANES + LANES / 32 + 32);

/// Every kernel.
#[must_use]
pub fn all() -> Vec<Kernel> {
    vec![
        set_count(),
        encode_keys(1, false, false),
        encode_keys(1, false, true),
        encode_keys(1, true, false),
        encode_keys(1, true, true),
        encode_keys(2, false, false),
        encode_keys(2, false, true),
        encode_keys(2, true, true),
        encode_segments(),
        decode_keys(),
        decode_counts(),
        decode_wide_keys(false),
        decode_wide_keys(true),
        gather(),
        copy(),
        iota(),
        clear(),
        count_keys(),
        scan_counts(),
        add_group_sums(),
        is_sorted(1),
        is_sorted(2),
    ]
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
        wgsl!("layout/records.wgsl", "no_values")
    });
    texts.push(match (words, segmented) {
        (1, false) => wgsl!("layout/records.wgsl", "keys"),
        (1, true) => wgsl!("layout/records.wgsl", "segment_keys"),
        (_, false) => wgsl!("layout/records.wgsl", "wide_keys"),
        (_, true) => wgsl!("layout/records.wgsl", "segment_wide_keys"),
    });
    texts.push(wgsl!("layout/encode_keys.wgsl"));
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

/// Composes the records of the second pass of a segmented argsort of 64-bit keys.
#[must_use]
pub fn encode_segments() -> Kernel {
    let texts = [
        EACH_ITEM,
        SEGMENTS,
        STORE_VALUES,
        wgsl!("layout/encode_segments.wgsl"),
    ];
    kernel("layout.encode_segments", &[], &texts).into()
}

/// Decodes keys of 8, 16 or 32 bits from sorted words.
#[must_use]
pub fn decode_keys() -> Kernel {
    decode("layout.decode_keys", wgsl!("layout/sorted.wgsl", "words"))
}

/// Decodes keys of 8 or 16 bits from the result of a counting sort.
#[must_use]
pub fn decode_counts() -> Kernel {
    let keys = wgsl!("layout/sorted.wgsl", "counts");
    decode("layout.decode_keys.counts", keys)
}

fn decode(name: &'static str, keys: Source) -> Kernel {
    let text = wgsl!("layout/decode_keys.wgsl");
    kernel(name, &[], &[EACH_ITEM, key_map(1), keys, text]).into()
}

/// Decodes keys of 64 bits from sorted words. If `segmented`, the low words are the values of the
/// records.
#[must_use]
pub fn decode_wide_keys(segmented: bool) -> Kernel {
    let (name, low_words) = if segmented {
        (
            "layout.decode_wide_keys.segment",
            wgsl!("layout/sorted.wgsl", "segment_words"),
        )
    } else {
        (
            "layout.decode_wide_keys",
            wgsl!("layout/sorted.wgsl", "wide_words"),
        )
    };
    let text = wgsl!("layout/decode_wide_keys.wgsl");
    kernel(name, &[], &[EACH_ITEM, key_map(2), low_words, text]).into()
}

/// Gathers payload rows in sorted order.
#[must_use]
pub fn gather() -> Kernel {
    moves("layout.gather", wgsl!("layout/row.wgsl", "by_index"))
}

/// Copies words.
#[must_use]
pub fn copy() -> Kernel {
    moves("layout.copy", wgsl!("layout/row.wgsl", "in_place"))
}

fn moves(name: &'static str, row: Source) -> Kernel {
    kernel(name, &[], &[EACH_ITEM, row, wgsl!("layout/gather.wgsl")]).into()
}

/// Writes 0, 1, 2 and so on.
#[must_use]
pub fn iota() -> Kernel {
    kernel("layout.iota", &[], &[EACH_ITEM, wgsl!("layout/iota.wgsl")]).into()
}

/// Writes zeros.
#[must_use]
pub fn clear() -> Kernel {
    kernel(
        "layout.clear",
        &[],
        &[EACH_ITEM, wgsl!("layout/clear.wgsl")],
    )
    .into()
}

/// Counting sort: the histogram of the keys.
#[must_use]
pub fn count_keys() -> Kernel {
    let constants = [("COUNTED", COUNTED), ("SLOTS", SLOTS)];
    let text = [wgsl!("layout/count_keys.wgsl")];
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
        SCAN_MEMORY,
        SCAN,
        wgsl!("layout/scan_counts.wgsl"),
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
    let texts = [SCAN_MEMORY, SCAN, wgsl!("layout/add_group_sums.wgsl")];
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
    kernel(name, &[], &[key_map(words), load_keys(words), text]).into()
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

//! The steps that a sort is composed of.

use super::{Output, SortLayout};

/// The composition of a sort of a [`SortLayout`]: steps before, a sort of words, steps after.
///
/// | strategy | before | records of the sort | after |
/// |---|---|---|---|
/// | `Nothing` | | | |
/// | `Direct` | iota, if indices are wanted | the user's own | |
/// | `Counting` | | counting sort, no records | |
/// | `Keys` | encode | key, or (segment, key) | decode |
/// | `Digits` | | (key, index), by a radix sort | decode keys, gather rows |
/// | `Argsort` | encode | (key, index), or (segment, key, index) | decode keys, gather rows |
/// | `TwoPassArgsort` | encode | (key, index), then (segment, rank) | gather |
/// | `Parts` | encode | (first part of the key, index), then (part, rank) of ties | gather |
/// | `Compared` | iota | indices, by a comparator | gather |
///
/// With segments, the last two sort by (segment, rank) at the end, as `TwoPassArgsort` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// No output is requested.
    Nothing,
    /// The sort of words reads and writes the user's buffers.
    Direct,
    /// Packed keys without payload, by a histogram.
    Counting,
    /// Keys without payload, in scratch memory.
    Keys,
    /// Keys of few bits with their indices, by a radix sort; payload is gathered once by index.
    Digits,
    /// Keys with their indices; payload is gathered once by index.
    Argsort,
    /// A segmented argsort of 64-bit keys: by (key, index), then by (segment, rank in that order).
    TwoPassArgsort,
    /// An argsort by keys of more than 64 bits: by the first part of them, and then those records
    /// by all others that are equal in it.
    Parts,
    /// Rows by a custom comparator: their indices are sorted.
    Compared,
}

impl Strategy {
    /// The strategy for keys of `key_words` words. `maps`: true if the sort of words can read the
    /// keys without an encode step. `counts`: true if a counting sort, or with payload a radix
    /// sort, is faster than a sort of words.
    #[must_use]
    pub fn new(layout: &SortLayout, key_words: u32, maps: bool, counts: bool) -> Self {
        let segmented = layout.segments.is_some();
        let direct = maps && layout.is_plain();
        if layout.is_sorted {
            return Self::Nothing;
        }
        if layout.structs.is_some_and(|structs| structs.compared) {
            return Self::Compared;
        }
        if !layout.has_payload() {
            return if !layout.writes_keys() {
                Self::Nothing
            } else if direct {
                Self::Direct
            } else if counts && layout.bits.is_some() && !segmented {
                Self::Counting
            } else {
                Self::Keys
            };
        }
        if layout.parts.len() > 1 {
            return Self::Parts;
        }
        let in_place = layout.output == Output::InPlace;
        // Values or indices that the sort of words could write itself.
        let word = match layout.columns[..] {
            [] => layout.indices,
            [column] if layout.has_values() => Some(column.first),
            _ => None,
        };
        if direct && in_place && word == Some(0) {
            Self::Direct
        } else if counts && !segmented {
            Self::Digits
        } else if segmented && key_words == 2 {
            Self::TwoPassArgsort
        } else {
            Self::Argsort
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Column, Part, Structs};
    use super::*;

    const OUT: Output = Output::OutOfPlace { first: 0 };

    const fn structs(compared: bool) -> Structs {
        Structs {
            words: 4,
            first: 0,
            compared,
        }
    }

    #[test]
    fn each_layout_has_its_strategy() {
        use Output::{InPlace, None as No};
        use Strategy::{
            Argsort, Compared, Counting, Digits, Direct, Keys, Nothing, Parts, TwoPassArgsort,
        };
        let column = |words, unstable| Column {
            words,
            unstable,
            ..Column::default()
        };
        let payloads = [
            (None, vec![]),
            (None, vec![column(1, true)]),
            (Some(0), vec![]),
            (None, vec![column(2, false)]),
        ];
        let plain = SortLayout::default();
        let part = SortLayout {
            first: 3,
            ..plain.clone()
        };
        let field = SortLayout {
            stride: 4,
            structs: Some(structs(false)),
            ..plain.clone()
        };
        let packed = SortLayout {
            bits: Some(8),
            ..plain.clone()
        };
        let segments = SortLayout {
            segments: Some(0),
            ..plain.clone()
        };
        let packed_segments = SortLayout {
            segments: Some(9),
            ..packed.clone()
        };
        let wide = SortLayout {
            parts: vec![Part { fields: vec![] }; 2],
            ..field.clone()
        };
        let compared = SortLayout {
            structs: Some(structs(true)),
            ..plain.clone()
        };
        // For each layout: without payload, with values, with indices, with rows.
        for (layout, output, key_words, expected) in [
            (&plain, InPlace, 1, [Direct, Direct, Direct, Argsort]),
            (&plain, InPlace, 2, [Direct, Direct, Direct, Argsort]),
            (&plain, OUT, 1, [Direct, Argsort, Argsort, Argsort]),
            (&plain, No, 1, [Nothing, Argsort, Argsort, Argsort]),
            (&part, InPlace, 1, [Keys, Argsort, Argsort, Argsort]),
            (&part, OUT, 2, [Keys, Argsort, Argsort, Argsort]),
            (&field, No, 1, [Nothing, Argsort, Argsort, Argsort]),
            (&field, InPlace, 2, [Argsort; 4]),
            (&packed, InPlace, 1, [Counting, Digits, Digits, Digits]),
            (&packed, OUT, 1, [Counting, Digits, Digits, Digits]),
            (&segments, InPlace, 1, [Keys, Argsort, Argsort, Argsort]),
            (
                &segments,
                InPlace,
                2,
                [Keys, TwoPassArgsort, TwoPassArgsort, TwoPassArgsort],
            ),
            (
                &packed_segments,
                InPlace,
                1,
                [Keys, Argsort, Argsort, Argsort],
            ),
            (&wide, InPlace, 2, [Parts; 4]),
            (&wide, No, 1, [Nothing, Parts, Parts, Parts]),
            (&compared, InPlace, 1, [Compared; 4]),
            (&compared, No, 1, [Compared; 4]),
        ] {
            for ((indices, columns), expected) in payloads.iter().zip(expected) {
                let layout = SortLayout {
                    output,
                    indices: *indices,
                    columns: columns.clone(),
                    ..layout.clone()
                };
                let strategy = |counts| Strategy::new(&layout, key_words, true, counts);
                let counts = layout.bits.is_some();
                assert_eq!(strategy(counts), expected, "{layout:?}");
                let sorted = match expected {
                    Counting => Keys,
                    Digits => Argsort,
                    other => other,
                };
                assert_eq!(strategy(false), sorted, "{layout:?}");
                let encoded = match (expected, layout.has_payload()) {
                    (Direct, false) => Keys,
                    (Direct, true) => Argsort,
                    (other, _) => other,
                };
                let strategy = Strategy::new(&layout, key_words, false, counts);
                assert_eq!(strategy, encoded, "{layout:?}");
            }
        }
    }

    /// Combined payloads are gathered, and so are payloads that do not begin at a multiple of 256
    /// bytes.
    #[test]
    fn combined_payload_is_gathered() {
        let value = Column {
            words: 1,
            unstable: true,
            ..Column::default()
        };
        let with = |indices, columns: &[Column]| SortLayout {
            indices,
            columns: columns.to_vec(),
            ..SortLayout::default()
        };
        for (layout, expected) in [
            (with(None, &[value]), Strategy::Direct),
            (with(Some(0), &[value]), Strategy::Argsort),
            (with(None, &[value, value]), Strategy::Argsort),
            (with(Some(1), &[]), Strategy::Argsort),
            (
                with(None, &[Column { first: 1, ..value }]),
                Strategy::Argsort,
            ),
            (
                with(
                    None,
                    &[Column {
                        output: Some(0),
                        ..value
                    }],
                ),
                Strategy::Argsort,
            ),
        ] {
            assert_eq!(
                Strategy::new(&layout, 1, true, false),
                expected,
                "{layout:?}"
            );
        }
    }
}

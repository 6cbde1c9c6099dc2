//! Which steps a sort is composed of.

use super::{Output, SortLayout};

/// How a sort of a [`SortLayout`] is composed: steps before, a sort of words, steps after.
///
/// | strategy | before | records of the sort | after |
/// |---|---|---|---|
/// | `Nothing` | | | |
/// | `Direct` | iota, if indices are wanted | the caller's own | |
/// | `Counting` | | counting sort, no records | |
/// | `Keys` | encode | key, or (segment, key) | decode |
/// | `Argsort` | encode | (key, index), or (segment, key, index) | decode keys, gather rows |
/// | `TwoPassArgsort` | encode | (key, index), then (segment, rank) | gather |
/// | `Compared` | iota | indices, by a comparator | gather |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Nothing is written.
    Nothing,
    /// The sort of words reads and writes the caller's buffers.
    Direct,
    /// Packed keys alone, by a histogram.
    Counting,
    /// Keys alone, in scratch memory.
    Keys,
    /// Keys with their indices, by which payload moves once.
    Argsort,
    /// An argsort of segments of 64-bit keys: by (key, index), then by (segment, rank in that
    /// order).
    TwoPassArgsort,
    /// Rows by a comparator: their indices are sorted.
    Compared,
}

impl Strategy {
    /// That of keys of `key_words` words. `maps`: whether the sort of words takes them as they
    /// are. `counts`: whether packed keys alone are counted.
    #[must_use]
    pub fn new(layout: &SortLayout, key_words: u32, maps: bool, counts: bool) -> Self {
        let segmented = layout.segments.is_some();
        let direct = maps && layout.is_plain();
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
        let in_place = layout.output == Output::InPlace;
        // (Values or indices, where the sort of words may write them.)
        let word = match layout.columns[..] {
            [] => layout.indices,
            [column] if layout.has_values() => Some(column.first),
            _ => None,
        };
        if direct && in_place && word == Some(0) {
            Self::Direct
        } else if segmented && key_words == 2 {
            Self::TwoPassArgsort
        } else {
            Self::Argsort
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Column, Structs};
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
        use Strategy::{Argsort, Compared, Counting, Direct, Keys, Nothing, TwoPassArgsort};
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
        let compared = SortLayout {
            structs: Some(structs(true)),
            ..plain.clone()
        };
        // Of each, with nothing, values, indices and rows.
        for (layout, output, key_words, expected) in [
            (&plain, InPlace, 1, [Direct, Direct, Direct, Argsort]),
            (&plain, InPlace, 2, [Direct, Direct, Direct, Argsort]),
            (&plain, OUT, 1, [Direct, Argsort, Argsort, Argsort]),
            (&plain, No, 1, [Nothing, Argsort, Argsort, Argsort]),
            (&part, InPlace, 1, [Keys, Argsort, Argsort, Argsort]),
            (&part, OUT, 2, [Keys, Argsort, Argsort, Argsort]),
            (&field, No, 1, [Nothing, Argsort, Argsort, Argsort]),
            (&field, InPlace, 2, [Argsort; 4]),
            (&packed, InPlace, 1, [Counting, Argsort, Argsort, Argsort]),
            (&packed, OUT, 1, [Counting, Argsort, Argsort, Argsort]),
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
                assert_eq!(strategy(true), expected, "{layout:?}");
                let sorted = match expected {
                    Counting => Keys,
                    other => other,
                };
                assert_eq!(strategy(false), sorted, "{layout:?}");
                let encoded = match (expected, layout.has_payload()) {
                    (Direct, false) => Keys,
                    (Direct, true) => Argsort,
                    (other, _) => other,
                };
                let strategy = Strategy::new(&layout, key_words, false, true);
                assert_eq!(strategy, encoded, "{layout:?}");
            }
        }
    }

    /// What is combined takes the general way, and what begins within a word's 256 bytes does.
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
                Strategy::new(&layout, 1, true, true),
                expected,
                "{layout:?}"
            );
        }
    }
}

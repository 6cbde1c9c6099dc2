//! Which steps a sort is composed of.

use super::{Arrangement, Carried, Sorted};

/// How a sort of an [`Arrangement`] is composed: steps before, a sort of words, steps after.
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
    /// That of keys of so many words. `maps`: whether the sort of words takes them as they are.
    /// `counts`: whether packed keys alone are counted.
    #[must_use]
    pub fn new(arrangement: &Arrangement, key_words: u32, maps: bool, counts: bool) -> Self {
        let carries = arrangement.carried != Carried::Nothing;
        let writes_keys = arrangement.sorted != Sorted::Nowhere && arrangement.field.is_none();
        let segmented = arrangement.segments.is_some();
        let direct = maps && arrangement.is_whole();
        if arrangement.compared.is_some() {
            return Self::Compared;
        }
        if !carries {
            return if !writes_keys {
                Self::Nothing
            } else if direct {
                Self::Direct
            } else if counts && arrangement.bits.is_some() && !segmented {
                Self::Counting
            } else {
                Self::Keys
            };
        }
        let has_values = matches!(arrangement.carried, Carried::Values | Carried::Indices);
        if direct && has_values && arrangement.sorted == Sorted::Here {
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
    use super::super::Column;
    use super::*;

    #[test]
    fn each_arrangement_has_its_strategy() {
        use Sorted::{Elsewhere, Here, Nowhere};
        use Strategy::{Argsort, Compared, Counting, Direct, Keys, Nothing, TwoPassArgsort};
        let column = Column {
            words: 2,
            elsewhere: false,
        };
        let carried = [
            Carried::Nothing,
            Carried::Values,
            Carried::Indices,
            Carried::Columns(vec![column]),
        ];
        let plain = Arrangement::default();
        let part = Arrangement {
            first: 3,
            ..plain.clone()
        };
        let field = Arrangement {
            field: Some((4, 1)),
            ..plain.clone()
        };
        let packed = Arrangement {
            bits: Some(8),
            ..plain.clone()
        };
        let segments = Arrangement {
            segments: Some(0),
            ..plain.clone()
        };
        let packed_segments = Arrangement {
            segments: Some(9),
            ..packed.clone()
        };
        let compared = Arrangement {
            compared: Some(1),
            ..plain.clone()
        };
        // Of each, with nothing, values, indices and rows.
        for (arrangement, sorted, key_words, expected) in [
            (&plain, Here, 1, [Direct, Direct, Direct, Argsort]),
            (&plain, Here, 2, [Direct, Direct, Direct, Argsort]),
            (&plain, Elsewhere, 1, [Direct, Argsort, Argsort, Argsort]),
            (&plain, Nowhere, 1, [Nothing, Argsort, Argsort, Argsort]),
            (&part, Here, 1, [Keys, Argsort, Argsort, Argsort]),
            (&part, Elsewhere, 2, [Keys, Argsort, Argsort, Argsort]),
            (&field, Nowhere, 1, [Nothing, Argsort, Argsort, Argsort]),
            (&field, Here, 2, [Nothing, Argsort, Argsort, Argsort]),
            (&packed, Here, 1, [Counting, Argsort, Argsort, Argsort]),
            (&packed, Elsewhere, 1, [Counting, Argsort, Argsort, Argsort]),
            (&segments, Here, 1, [Keys, Argsort, Argsort, Argsort]),
            (
                &segments,
                Here,
                2,
                [Keys, TwoPassArgsort, TwoPassArgsort, TwoPassArgsort],
            ),
            (&packed_segments, Here, 1, [Keys, Argsort, Argsort, Argsort]),
            (&compared, Here, 1, [Compared; 4]),
            (&compared, Nowhere, 1, [Compared; 4]),
        ] {
            for (carried, expected) in carried.iter().zip(expected) {
                let arrangement = Arrangement {
                    sorted,
                    carried: carried.clone(),
                    ..arrangement.clone()
                };
                let strategy = |counts| Strategy::new(&arrangement, key_words, true, counts);
                assert_eq!(strategy(true), expected, "{arrangement:?}");
                let sorted = match expected {
                    Counting => Keys,
                    other => other,
                };
                assert_eq!(strategy(false), sorted, "{arrangement:?}");
                let encoded = match (expected, &arrangement.carried) {
                    (Direct, Carried::Nothing) => Keys,
                    (Direct, _) => Argsort,
                    (other, _) => other,
                };
                let strategy = Strategy::new(&arrangement, key_words, false, true);
                assert_eq!(strategy, encoded, "{arrangement:?}");
            }
        }
    }
}

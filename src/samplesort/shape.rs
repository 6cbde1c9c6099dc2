//! The type of a record.

use crate::row_function::RowFunction;

/// The type of a record: a key of one or two words, with or without a value of one word; or the
/// index of a row, for a custom comparator.
///
/// Keys and values are compared as unsigned words, the most significant word first. The second word
/// of a two-word key is its most significant one; the value is the least significant word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shape {
    /// A key of one word.
    Word,
    /// A key of two words.
    TwoWords,
    /// A key of one word, and a value.
    Pair,
    /// A key of two words, and a value.
    WidePair,
    /// The index of a row.
    Row {
        /// Words of the row that are kept next to its index in registers and in workgroup memory.
        /// With 0, each comparison reads the rows from their buffer.
        words: u32,
        /// True if the comparator's order is reversed.
        backwards: bool,
    },
}

impl Shape {
    /// Every shape with a key.
    pub const ALL: [Self; 4] = [Self::Word, Self::TwoWords, Self::Pair, Self::WidePair];

    /// The shape of records with keys of `key_words` words.
    #[must_use]
    pub const fn new(key_words: u32, has_value: bool) -> Self {
        match (key_words, has_value) {
            (1, false) => Self::Word,
            (1, true) => Self::Pair,
            (_, false) => Self::TwoWords,
            (_, true) => Self::WidePair,
        }
    }

    /// The shape of indices of rows of `words` words.
    #[must_use]
    pub const fn row(words: u32, backwards: bool) -> Self {
        let words = if words <= RowFunction::MOST_WORDS_BESIDE {
            words
        } else {
            0
        };
        Self::Row { words, backwards }
    }

    /// Words of a key.
    #[must_use]
    pub const fn key_words(self) -> u32 {
        match self {
            Self::Word | Self::Pair | Self::Row { .. } => 1,
            Self::TwoWords | Self::WidePair => 2,
        }
    }

    /// Returns true if there is a value.
    #[must_use]
    pub const fn has_value(self) -> bool {
        matches!(self, Self::Pair | Self::WidePair)
    }

    /// Returns true if it is the index of a row.
    #[must_use]
    pub const fn is_row(self) -> bool {
        matches!(self, Self::Row { .. })
    }

    /// Returns true if records are searched by bins: numbers of one or two words.
    #[must_use]
    pub const fn has_bins(self) -> bool {
        !self.is_row() && self.words() <= 2
    }

    /// Words of a record in a buffer.
    #[must_use]
    pub const fn stored_words(self) -> u32 {
        self.key_words() + self.has_value() as u32
    }

    /// Words of a record that a partition orders at once. With more of them the parts of a tile are
    /// smaller, but the words of a key are written together. Keys and values of one word are in
    /// different buffers in any case.
    pub(super) const fn ordered_words(self) -> u32 {
        match self {
            Self::Pair => 1,
            _ => self.stored_words(),
        }
    }

    /// Words of a record in registers and in workgroup memory.
    #[must_use]
    pub const fn words(self) -> u32 {
        match self {
            Self::Row { words, .. } => 1 + words,
            _ => self.stored_words(),
        }
    }

    /// The name in labels.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Word => "u32",
            Self::TwoWords => "u64",
            Self::Pair => "u32_pair",
            Self::WidePair => "u64_pair",
            Self::Row { words, backwards } => match (words, backwards) {
                (0, false) => "rows.ascending",
                (0, true) => "rows.descending",
                (1, false) => "rows_1.ascending",
                (1, true) => "rows_1.descending",
                (2, false) => "rows_2.ascending",
                (2, true) => "rows_2.descending",
                (3, false) => "rows_3.ascending",
                (3, true) => "rows_3.descending",
                (_, false) => "rows_4.ascending",
                (_, true) => "rows_4.descending",
            },
        }
    }
}

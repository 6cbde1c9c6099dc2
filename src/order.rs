//! The direction of a sort.

/// Whether the smallest or the largest key comes first.
///
/// Descending order is the exact reverse of the ascending total order of the key type: `+NaN`
/// comes first and `-NaN` last for floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Smallest key first.
    #[default]
    Ascending,
    /// Largest key first.
    Descending,
}

impl Order {
    /// The name used in labels, logs and JSON: `ascending` or `descending`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ascending => "ascending",
            Self::Descending => "descending",
        }
    }
}

//! What goes with a key.

/// What goes with each key of a sort, in a buffer of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Payload {
    /// Nothing.
    #[default]
    None,
    /// A 32-bit value of the caller's. Equal keys come in no order to rely on: in the same one in every run, but not
    /// with every tuning.
    Values,
    /// The key's index in the input, which the sort writes: an argsort. Equal keys come in the order of
    /// their indices, which makes it stable.
    Indices,
}

impl Payload {
    /// Every payload.
    pub const ALL: [Self; 3] = [Self::None, Self::Values, Self::Indices];

    /// 32-bit words a key.
    #[must_use]
    pub const fn words(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Values | Self::Indices => 1,
        }
    }

    /// The name in labels.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "keys",
            Self::Values => "values",
            Self::Indices => "indices",
        }
    }
}

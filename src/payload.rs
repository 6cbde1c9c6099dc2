//! The payload of a key.

/// The payload of each key of a sort, in a buffer of its own: [`words`](Self::words) 32-bit words.
/// It moves as often as the keys do. (Rows of any size are sorted as indices, and moved once:
/// [`BufferSort::rows`](crate::BufferSort::rows).)
///
/// A sort takes scratch memory of at most 1.15 times the bytes of keys and payload, and 16 MiB.
///
/// # Examples
///
/// What an argsort of a million keys takes, above a sort of the keys:
///
/// ```
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// use wgpu_bcfsort::{KeyType, Options, Payload, Sorter};
/// let sorter = Sorter::open(Options::default())?;
/// let keys = sorter.scratch_size(1_000_000, KeyType::F32)?;
/// let both = sorter.scratch_size_carrying(1_000_000, KeyType::F32, Payload::Indices)?;
/// assert!(keys < both && both <= 9_200_000 + (16 << 20));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Payload {
    /// Nothing.
    #[default]
    None,
    /// A 32-bit value of the caller's. Equal keys come in no order to rely on, but in the same one
    /// in every run, on every device.
    Values,
    /// The key's index in the input, which the sort writes: an argsort. Equal keys come in the
    /// order of their indices, which makes it stable.
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

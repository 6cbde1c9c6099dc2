//! The direction of a sort.

/// Ascending or descending order.
///
/// Descending order is the exact reverse of the ascending total order of the key type: for floats
/// `+NaN` comes first and `-NaN` last. Both take the same time and memory.
///
/// Stable sorts are stable in both directions: records of equal keys keep the order of the input
/// and are not reversed.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// use wgpu_bcfsort::{Options, Order, Sorter};
/// let sorter = Sorter::open(Options::default())?;
/// let mut keys = [0.5_f32, -1.0, f32::NAN, 2.0];
/// sorter.sort(&mut keys, Order::Descending)?;
/// assert!(keys[0].is_nan());
/// assert_eq!(keys[1..], [2.0, 0.5, -1.0]);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Smallest key first.
    #[default]
    Ascending,
    /// Largest key first.
    Descending,
}

impl Order {
    /// Returns the name used in labels, logs and JSON: `ascending` or `descending`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ascending => "ascending",
            Self::Descending => "descending",
        }
    }

    /// The opposite order.
    pub(crate) const fn reversed(self) -> Self {
        match self {
            Self::Ascending => Self::Descending,
            Self::Descending => Self::Ascending,
        }
    }
}

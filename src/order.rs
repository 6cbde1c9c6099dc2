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
/// use wgpu_bcfsort::{Order, internals::host::sort_on_cpu};
/// let mut keys = [0.5_f32, -1.0, f32::NAN, 2.0];
/// sort_on_cpu(&mut keys, Order::Descending);
/// assert!(keys[0].is_nan());
/// assert_eq!(keys[1..], [2.0, 0.5, -1.0]);
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
}

//! The direction of a sort.

/// Whether the smallest or the largest key comes first.
///
/// Descending order is the exact reverse of the ascending total order of the key type: `+NaN`
/// comes first and `-NaN` last for floats. Neither takes longer than the other, nor more memory.
///
/// What is stable is stable in both: records of equal keys stay in the order of the input, and are
/// not reversed.
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
    /// The name used in labels, logs and JSON: `ascending` or `descending`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ascending => "ascending",
            Self::Descending => "descending",
        }
    }
}

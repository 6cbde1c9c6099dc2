//! The variants of prefix sums by name.

use crate::names::named;

/// The largest number of colors in prefix sums: the paper's limit on d, due to the size of
/// workgroup memory.
pub const MOST_COLORS: u32 = 16;

/// The layout of the lanes' sums in workgroup memory. The result is the same, bit for bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PrefixSumsMethod {
    /// Each lane's sums are in one bank. The scan accesses one bank at a time, a d-way bank
    /// conflict. A baseline: the paper's introduction measures the cost of bank conflicts with it.
    Naive,
    /// The sums are transposed before the scan and back after it, without bank conflicts (paper,
    /// Appendix A).
    #[default]
    ConflictFree,
}
named!(PrefixSumsMethod, "method", Naive => "naive", ConflictFree => "conflict-free");

/// Whether an element's prefix sum includes its own value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scan {
    /// The sum of all elements of its color up to and including this one.
    #[default]
    Inclusive,
    /// The sum of all elements of its color before this one; 0 for the first.
    Exclusive,
}
named!(Scan, "scan", Inclusive => "inclusive", Exclusive => "exclusive");

//! A sort of more records than fit in memory, through one temporary file.

/// How an [`ExternalSorter`](super) sees the records that it sorts.
///
/// Records are stored one after the other in slices of units: `u8` for records of any number of
/// bytes, the key type itself for keys alone.
pub trait RecordFormat: Sync {
    /// What records consist of.
    type Unit: bytemuck::Pod + Send + Sync;

    /// The key of a record. Its order is the order of the result.
    type Key: Ord + Send + Sync;

    /// Why a sort failed.
    type Error: Send;

    /// Bytes of memory that a sort takes for each record, besides the record itself.
    const OVERHEAD: usize;

    /// Sorts whole records, and passes the result to `take`, in order, in blocks of whole records.
    /// Stable: records with equal keys keep their order. The contents of `records` are unspecified
    /// afterwards.
    ///
    /// # Errors
    ///
    /// Those of the sort, and any error of `take`, which ends the sort.
    fn sort(
        &self,
        records: &mut [Self::Unit],
        take: &mut dyn FnMut(&[Self::Unit]) -> Result<(), Self::Error>,
    ) -> Result<(), Self::Error>;

    /// The key of the first record.
    fn key(&self, records: &[Self::Unit]) -> Self::Key;

    /// The number of records.
    fn count(&self, records: &[Self::Unit]) -> usize;

    /// The number of units in the longest prefix of whole records that has at most `units` units;
    /// that of the first record if it is longer.
    fn cut(&self, records: &[Self::Unit], units: usize) -> usize;

    /// The number of units of sorted records that precede `key`, and with `or_equal` those that
    /// equal it.
    fn split(&self, sorted: &[Self::Unit], key: &Self::Key, or_equal: bool) -> usize;
}

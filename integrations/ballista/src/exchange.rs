//! An exchange by ranges, made of Ballista's exchange by hashes.
//!
//! Ballista sends a row to the partition `hash(label) % partitions`. So the labels are chosen among
//! the integers: that of range p is one whose hash sends it to partition p. Then each range has a
//! partition of its own.

use datafusion::arrow::array::{ArrayRef, Int32Array};
use datafusion::common::hash_utils::create_hashes;
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::{Expr, SortExpr, lit, when};
use datafusion::physical_plan::repartition::REPARTITION_RANDOM_STATE;
use std::sync::Arc;

/// Integers to hash at a time.
const CANDIDATES: i32 = 1 << 13;

/// Chooses the label of each range, such that range `p` goes to partition `p`.
///
/// Takes about `partitions * ln(ranges)` hashes.
pub(crate) fn choose_labels(ranges: usize, partitions: usize) -> Result<Vec<i32>> {
    let mut labels: Vec<Option<i32>> = vec![None; ranges];
    let mut missing = ranges;
    let mut first = 0;
    while missing > 0 {
        let Some(end) = i32::checked_add(first, CANDIDATES) else {
            return exec_err!("no labels for {ranges} ranges in {partitions} partitions");
        };
        let candidates: ArrayRef = Arc::new(Int32Array::from_iter_values(first..end));
        let mut hashes = vec![0; candidates.len()];
        let state = REPARTITION_RANDOM_STATE.random_state();
        create_hashes([&candidates], state, &mut hashes)?;
        for (label, hash) in (first..end).zip(hashes) {
            let partition = (hash % partitions as u64) as usize;
            if let Some(chosen @ None) = labels.get_mut(partition) {
                *chosen = Some(label);
                missing -= 1;
            }
        }
        first = end;
    }
    Ok(labels.into_iter().flatten().collect())
}

/// The expression that gives the label of a row: a binary search among the splitters, which are the
/// first keys of all ranges but the first one.
pub(crate) fn label(key: &SortExpr, splitters: &[ScalarValue], labels: &[i32]) -> Result<Expr> {
    if let [label] = labels {
        return Ok(lit(*label));
    }
    let middle = labels.len() / 2;
    let left = label(key, &splitters[..middle - 1], &labels[..middle])?;
    let right = label(key, &splitters[middle..], &labels[middle..])?;
    when(is_before(key, &splitters[middle - 1]), left).otherwise(right)
}

/// The condition of keys before a splitter, in the order of the sort.
pub(crate) fn is_before(key: &SortExpr, splitter: &ScalarValue) -> Expr {
    let (column, value) = (key.expr.clone(), lit(splitter.clone()));
    if key.asc {
        // Nulls are last: the comparison with a null is no true one.
        column.lt(value)
    } else {
        column.clone().gt(value).or(column.is_null())
    }
}

#[cfg(test)]
mod tests {
    use super::{choose_labels, label};
    use datafusion::arrow::array::{AsArray, Int32Array, RecordBatch};
    use datafusion::arrow::datatypes::{DataType, Field, Int32Type, Schema};
    use datafusion::common::ScalarValue;
    use datafusion::logical_expr::col;
    use datafusion::physical_plan::Partitioning;
    use datafusion::physical_plan::expressions::Column;
    use datafusion::physical_plan::metrics::Time;
    use datafusion::physical_plan::repartition::BatchPartitioner;
    use datafusion::prelude::SessionContext;
    use std::sync::Arc;

    fn batch(name: &str, values: Int32Array) -> RecordBatch {
        let schema = Schema::new(vec![Field::new(name, DataType::Int32, true)]);
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(values)]).expect("a batch")
    }

    /// DataFusion's own partitioner, whose hashes are those of Ballista, is the judge.
    #[test]
    fn each_range_has_a_partition() {
        for (ranges, partitions) in [(1, 1), (2, 2), (7, 7), (5, 64), (300, 300)] {
            let labels = choose_labels(ranges, partitions).expect("labels");
            let by = Arc::new(Column::new("label", 0)) as _;
            let hash = Partitioning::Hash(vec![by], partitions);
            let mut partitioner = BatchPartitioner::try_new(hash, Time::new(), 0, 1).expect("one");
            let batch = batch("label", Int32Array::from(labels.clone()));
            let mut found = 0;
            let check = |partition: usize, rows: RecordBatch| {
                let rows = rows.column(0).as_primitive::<Int32Type>();
                assert_eq!(rows.values().as_ref(), &labels[partition..=partition]);
                found += 1;
                Ok(())
            };
            partitioner.partition(batch, check).expect("partitions");
            assert_eq!(found, ranges);
        }
    }

    #[tokio::test]
    async fn labels_are_those_of_the_ranges() {
        let keys = [None, Some(-9), Some(0), Some(4), Some(5), Some(9), Some(10)];
        let session = SessionContext::new();
        for count in 0..5 {
            for asc in [true, false] {
                let mut splitters: Vec<i32> = (0..count).map(|i| i * 5).collect();
                if !asc {
                    splitters.reverse();
                }
                let labels: Vec<i32> = (0..=count).collect();
                let values: Vec<ScalarValue> = splitters.iter().map(|&s| s.into()).collect();
                let by = col("k").sort(asc, !asc);
                let label = label(&by, &values, &labels).expect("an expression");
                let table = session.read_batch(batch("k", Int32Array::from(keys.to_vec())));
                let labeled = table.expect("a table").select(vec![label]);
                let rows = labeled.expect("labels").collect().await.expect("rows");
                let rows = rows[0].column(0).as_primitive::<Int32Type>();
                for (key, label) in keys.iter().zip(rows.values()) {
                    let is_from = |splitter: &&i32| match key {
                        None => asc,
                        Some(key) if asc => key >= splitter,
                        Some(key) => key <= splitter,
                    };
                    let expected = splitters.iter().filter(is_from).count() as i32;
                    assert_eq!(*label, expected, "{key:?} {splitters:?} {asc}");
                }
            }
        }
    }
}

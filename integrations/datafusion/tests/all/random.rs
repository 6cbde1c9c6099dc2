//! Random tables and random orders.

use crate::{always, metric, run, session, stock};
use bcfsort_datafusion::{BcfsortOptions, Switch};
use datafusion::arrow::array::{
    ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    FixedSizeBinaryArray, Float16Array, Float32Array, Float64Array, Int8Array, Int16Array,
    Int32Array, Int64Array, LargeStringArray, ListArray, NullArray, RecordBatch, StringArray,
    StringViewArray, TimestampNanosecondArray, UInt16Array, UInt64Array,
};
use datafusion::arrow::compute::{cast, concat_batches, take_record_batch};
use datafusion::arrow::datatypes::{DataType, Field, Int8Type, Int32Type, Schema};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionConfig;
use half::f16;
use proptest::prelude::*;
use std::sync::Arc;

/// How many kinds of columns there are.
const KINDS: usize = 19;

/// A column of a kind from small random numbers: few values, so that rows are equal in some columns.
fn column(kind: usize, values: &[Option<i64>]) -> ArrayRef {
    let ints = || values.iter().copied();
    let text = |value: i64| match value.rem_euclid(5) {
        0 => String::new(),
        1 => format!("a long common beginning, and then {value}"),
        2 => format!("{value}"),
        3 => format!("{value}\0"),
        _ => format!("a long common beginning, and then {}", value / 7),
    };
    let texts = || values.iter().map(|value| value.map(text));
    let float = |value: i64| match value.rem_euclid(7) {
        0 => f64::NAN,
        1 => -f64::NAN,
        2 => f64::INFINITY,
        3 => -0.0,
        4 => 0.0,
        _ => value as f64 / 8.0,
    };
    let floats = || values.iter().map(|value| value.map(float));
    match kind {
        0 => Arc::new(Int64Array::from_iter(ints())),
        1 => Arc::new(Int8Array::from_iter(ints().map(|v| v.map(|v| v as i8)))),
        2 => Arc::new(Int16Array::from_iter(ints().map(|v| v.map(|v| v as i16)))),
        3 => Arc::new(Int32Array::from_iter(ints().map(|v| v.map(|v| v as i32)))),
        4 => Arc::new(UInt16Array::from_iter(ints().map(|v| v.map(|v| v as u16)))),
        5 => Arc::new(UInt64Array::from_iter(ints().map(|v| v.map(|v| v as u64)))),
        6 => Arc::new(Float64Array::from_iter(floats())),
        7 => Arc::new(Float32Array::from_iter(
            floats().map(|v| v.map(|v| v as f32)),
        )),
        8 => Arc::new(Float16Array::from_iter(
            floats().map(|v| v.map(f16::from_f64)),
        )),
        9 => Arc::new(BooleanArray::from_iter(
            ints().map(|v| v.map(|v| v % 2 == 0)),
        )),
        10 => Arc::new(Date32Array::from_iter(ints().map(|v| v.map(|v| v as i32)))),
        11 => Arc::new(TimestampNanosecondArray::from_iter(
            ints().map(|v| v.map(|v| v.wrapping_mul(1_000_000_007))),
        )),
        12 => Arc::new(
            Decimal128Array::from_iter(ints().map(|v| v.map(|v| i128::from(v) << 40)))
                .with_precision_and_scale(38, 3)
                .expect("a decimal"),
        ),
        13 => Arc::new(StringArray::from_iter(texts())),
        14 => Arc::new(LargeStringArray::from_iter(texts())),
        15 => Arc::new(StringViewArray::from_iter(texts())),
        16 => Arc::new(BinaryArray::from_iter(
            texts().map(|v| v.map(String::into_bytes)),
        )),
        17 => {
            let texts: Vec<Option<String>> = texts().collect();
            let texts = texts.iter().map(Option::as_deref);
            Arc::new(texts.collect::<DictionaryArray<Int32Type>>())
        }
        18 => Arc::new(
            FixedSizeBinaryArray::try_from_sparse_iter_with_size(
                ints().map(|v| v.map(|v| [v.to_be_bytes(), [7; 8]].concat())),
                16,
            )
            .expect("binary values"),
        ),
        _ => Arc::new(NullArray::new(values.len())),
    }
}

#[derive(Debug, Clone)]
struct Case {
    /// For each partition, the batches' numbers of rows.
    partitions: Vec<Vec<usize>>,
    kinds: Vec<usize>,
    seed: u64,
    range: i64,
    has_nulls: bool,
    /// Column, descending, nulls first, and whether an expression of it.
    order: Vec<(usize, bool, bool, bool)>,
    limit: Option<usize>,
    single_run: bool,
    max_run_rows: usize,
    batch_size: usize,
}

fn cases() -> impl Strategy<Value = Case> {
    let columns = 1_usize..5;
    let partitions = prop::collection::vec(prop::collection::vec(0_usize..300, 0..5), 1..4);
    columns.prop_flat_map(move |columns| {
        let kinds = prop::collection::vec(0..KINDS, columns);
        let key = (
            0..columns,
            any::<bool>(),
            any::<bool>(),
            prop::bool::weighted(0.2),
        );
        (
            (partitions.clone(), kinds, any::<u64>()),
            (
                prop_oneof![Just(3_i64), Just(100), Just(i64::MAX)],
                any::<bool>(),
            ),
            prop::collection::vec(key, 1..4),
            prop::option::weighted(0.3, 0_usize..700),
            any::<bool>(),
            prop_oneof![Just(usize::MAX), 1_usize..500],
            1_usize..200,
        )
            .prop_map(
                |(table, values, order, limit, single_run, max_run_rows, batch_size)| Case {
                    partitions: table.0,
                    kinds: table.1,
                    seed: table.2,
                    range: values.0,
                    has_nulls: values.1,
                    order,
                    limit,
                    single_run,
                    max_run_rows,
                    batch_size,
                },
            )
    })
}

impl Case {
    fn table(&self) -> (Arc<Schema>, Vec<Vec<RecordBatch>>) {
        let mut state = self.seed;
        let mut random = move || {
            // splitmix64
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        let empty = self.kinds.iter().map(|&kind| column(kind, &[]));
        let mut fields: Vec<Field> = (empty.enumerate())
            .map(|(i, array)| Field::new(format!("c{i}"), array.data_type().clone(), true))
            .collect();
        fields.push(Field::new("row", column(0, &[]).data_type().clone(), false));
        let schema = Arc::new(Schema::new(fields));
        let mut row = 0;
        let mut partitions = Vec::new();
        for rows in &self.partitions {
            let mut batches = Vec::new();
            for &rows in rows {
                let mut value = || {
                    let is_null = self.has_nulls && random() % 5 == 0;
                    (!is_null).then(|| random() as i64 % self.range)
                };
                let mut arrays: Vec<ArrayRef> = (self.kinds.iter())
                    .map(|&kind| column(kind, &(0..rows).map(|_| value()).collect::<Vec<_>>()))
                    .collect();
                arrays.push(Arc::new(Int64Array::from_iter_values(
                    row..row + rows as i64,
                )));
                row += rows as i64;
                batches.push(RecordBatch::try_new(schema.clone(), arrays).expect("a batch"));
            }
            partitions.push(batches);
        }
        (schema, partitions)
    }

    fn sql(&self) -> String {
        let key =
            |&(column, descending, nulls_first, is_expression): &(usize, bool, bool, bool)| {
                let name = if is_expression {
                    format!("coalesce(c{column}, c{column})")
                } else {
                    format!("c{column}")
                };
                let order = if descending { "DESC" } else { "ASC" };
                let nulls = if nulls_first { "FIRST" } else { "LAST" };
                format!("{name} {order} NULLS {nulls}")
            };
        let keys: Vec<String> = self.order.iter().map(key).collect();
        let limit = self
            .limit
            .map_or(String::new(), |rows| format!(" LIMIT {rows}"));
        format!("SELECT * FROM t ORDER BY {}{limit}", keys.join(", "))
    }

    fn options(&self) -> BcfsortOptions {
        let mut options = always();
        options.topk_min_fetch = 0;
        options.single_run = if self.single_run {
            Switch::Always
        } else {
            Switch::Never
        };
        options.max_run_rows = self.max_run_rows;
        options
    }
}

/// Rows as bytes, so that they can be compared whatever their types.
fn rows(batch: &RecordBatch, columns: &[usize]) -> Vec<Vec<u8>> {
    let arrays: Vec<ArrayRef> = columns.iter().map(|&i| batch.column(i).clone()).collect();
    let fields = arrays
        .iter()
        .map(|array| SortField::new(array.data_type().clone()));
    let converter = RowConverter::new(fields.collect()).expect("types with rows");
    let rows = converter.convert_columns(&arrays).expect("rows");
    rows.iter().map(|row| row.as_ref().to_vec()).collect()
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let config = SessionConfig::new()
            .with_batch_size(case.batch_size)
            .with_target_partitions(3);
        let (schema, partitions) = case.table();
        let all = concat_batches(&schema, partitions.iter().flatten()).expect("the table");
        let ours = session(config.clone(), case.options());
        let theirs = stock(config);
        for session in [&ours, &theirs] {
            let table = MemTable::try_new(schema.clone(), partitions.clone()).expect("a table");
            session
                .register_table("t", Arc::new(table))
                .expect("a name");
        }
        let (got, plan) = run(&ours, &case.sql()).await.expect("our result");
        let (wanted, _) = run(&theirs, &case.sql()).await.expect("their result");
        let got = concat_batches(&schema, &got).expect("one batch");
        let wanted = concat_batches(&schema, &wanted).expect("one batch");
        // Rows with equal keys may be in any order, so only keys are compared ...
        let keys: Vec<usize> = case.order.iter().map(|key| key.0).collect();
        prop_assert_eq!(rows(&got, &keys), rows(&wanted, &keys));
        // ... and each row must be one of the table, once.
        let numbers = got.column(schema.fields().len() - 1);
        let taken = take_record_batch(&all, numbers).expect("rows of the table");
        let columns: Vec<usize> = (0..schema.fields().len()).collect();
        prop_assert_eq!(rows(&taken, &columns), rows(&got, &columns));
        let mut numbers = rows(&got, &[schema.fields().len() - 1]);
        numbers.sort();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), got.num_rows());
        if all.num_rows() > 0 && case.limit != Some(0) {
            prop_assert_eq!(metric(&plan, "fallbacks"), 0);
        }
        Ok(())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn equals_the_stock_sort(case in cases()) {
        check(&case)?;
    }
}

/// A sort that the GPU does is stable, also over partitions that are read one after another.
#[tokio::test]
async fn is_stable() {
    let config = SessionConfig::new().with_target_partitions(1);
    let session = session(config, always());
    let sql = "SELECT value % 10 AS k, value FROM range(100000) ORDER BY k DESC";
    let (batches, plan) = run(&session, sql).await.expect("a result");
    let sorted = concat_batches(&batches[0].schema(), &batches).expect("one batch");
    assert_eq!(metric(&plan, "gpu_keys"), 100_000);
    let order = "SELECT value % 10 AS k, value FROM range(100000) ORDER BY k DESC, value";
    let (wanted, _) = run(&stock(SessionConfig::new()), order)
        .await
        .expect("a result");
    assert_eq!(
        sorted,
        concat_batches(&sorted.schema(), &wanted).expect("one batch")
    );
}

/// Dictionaries of several batches whose values together are more than their keys can number.
#[tokio::test]
async fn dictionaries_overflow() {
    let batch = |from: usize| {
        let words = (from..from + 100).map(|i| format!("word {:03}", (i * 7) % 400));
        let words: Vec<String> = words.collect();
        let words: DictionaryArray<Int8Type> = words.iter().map(String::as_str).collect();
        RecordBatch::try_from_iter([("w", Arc::new(words) as ArrayRef)]).expect("a batch")
    };
    let batches: Vec<RecordBatch> = (0..4).map(|i| batch(i * 100)).collect();
    let session = session(SessionConfig::new().with_batch_size(50), always());
    let table = MemTable::try_new(batches[0].schema(), vec![batches]).expect("a table");
    session
        .register_table("t", Arc::new(table))
        .expect("a name");
    let (sorted, plan) = run(&session, "SELECT w FROM t ORDER BY w")
        .await
        .expect("a result");
    assert_eq!(metric(&plan, "gpu_keys"), 400);
    let words: Vec<String> = (sorted.iter())
        .flat_map(|batch| {
            let words = cast(batch.column(0), &DataType::Utf8).expect("text");
            let words = words.as_string::<i32>().clone();
            words
                .iter()
                .flatten()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    let wanted: Vec<String> = (0..400).map(|i| format!("word {i:03}")).collect();
    assert_eq!(words, wanted);
}

/// Columns that are no keys may be of any type.
#[tokio::test]
async fn nested_payload() {
    let lists = (0..1000).map(|i| Some(vec![Some(i), None]));
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(lists);
    let keys = Int32Array::from_iter_values((0..1000).map(|i| (i * 37) % 1000));
    let columns = [
        ("k", Arc::new(keys) as ArrayRef),
        ("l", Arc::new(lists) as ArrayRef),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("a batch");
    let session = session(SessionConfig::new(), always());
    session.register_batch("t", batch).expect("a name");
    let (sorted, plan) = run(&session, "SELECT * FROM t ORDER BY k")
        .await
        .expect("a result");
    assert_eq!(metric(&plan, "gpu_keys"), 1000);
    let sorted = concat_batches(&sorted[0].schema(), &sorted).expect("one batch");
    let wanted = (0..1000).map(|k| Some(vec![Some((k * 973) % 1000), None]));
    let wanted = ListArray::from_iter_primitive::<Int32Type, _, _>(wanted);
    assert_eq!(sorted.column(1).as_ref(), &wanted);
}

//! Random tables and random orders.

use crate::{always, gpu_sorts, metric, run, session, stock};
use bcfsort_datafusion::{BcfsortOptions, Switch};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, Decimal128Array,
    Decimal256Array, DictionaryArray, FixedSizeBinaryArray, Float16Array, Float32Array,
    Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, IntervalDayTimeArray,
    IntervalMonthDayNanoArray, IntervalYearMonthArray, LargeStringArray, ListArray, NullArray,
    RecordBatch, StringArray, StringViewArray, StructArray, TimestampNanosecondArray, UInt16Array,
    UInt64Array,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::{cast, concat_batches, take_record_batch};
use datafusion::arrow::datatypes::{
    DataType, Field, Int8Type, Int32Type, IntervalDayTime, IntervalMonthDayNano, Schema, i256,
};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::datasource::MemTable;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use half::f16;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many kinds of columns there are.
const KINDS: usize = 26;

/// The kinds that are decoded from keys, if a row has no others.
const DECODABLE: [usize; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 19, 20, 21];

/// A column of a kind from small random numbers: few values, so that rows tie in some columns.
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
        19 => Arc::new(IntervalYearMonthArray::from_iter(
            ints().map(|v| v.map(|v| v as i32)),
        )),
        20 => Arc::new(IntervalDayTimeArray::from_iter(ints().map(|v| {
            v.map(|v| IntervalDayTime::new(v as i32 % 5, (v >> 3) as i32))
        }))),
        21 => Arc::new(IntervalMonthDayNanoArray::from_iter(ints().map(|v| {
            v.map(|v| IntervalMonthDayNano::new(v as i32 % 3, (v >> 2) as i32 % 3, v))
        }))),
        // Decimals whose range takes more than 128 bits, if the numbers are large.
        22 => Arc::new(
            Decimal256Array::from_iter(
                ints()
                    .map(|v| v.map(|v| i256::from_i128(v.into()) << (v.rem_euclid(3) * 90) as u8)),
            )
            .with_precision_and_scale(76, 3)
            .expect("a decimal"),
        ),
        23 => {
            let keys = Int32Array::from_iter(ints().map(|v| v.map(|v| v.rem_euclid(9) as i32)));
            let values = column(6, &[0, 1, 2, 3, 4, 5, 6, 7, 8].map(Some));
            Arc::new(DictionaryArray::new(keys, values))
        }
        // A nested struct. Each struct may be null where its fields are not.
        24 => {
            let halves: Vec<Option<i64>> = ints().map(|v| v.map(|v| v / 2)).collect();
            let thirds: Vec<Option<i64>> = ints().map(|v| v.map(|v| v % 3)).collect();
            let inner = structs(&[column(15, &halves), column(7, values)], &thirds);
            structs(&[column(3, &thirds), inner, column(9, values)], &halves)
        }
        25 => structs(&[column(22, values), column(17, values)], values),
        _ => Arc::new(NullArray::new(values.len())),
    }
}

/// Makes structs of these fields. If some numbers are null, so are some structs, in other rows.
fn structs(fields: &[ArrayRef], values: &[Option<i64>]) -> ArrayRef {
    let nulls = values.iter().any(Option::is_none).then(|| {
        let valid = values.iter().map(|value| value.is_none_or(|v| v % 4 != 0));
        NullBuffer::from(valid.collect::<Vec<bool>>())
    });
    let field = |(i, array): (usize, &ArrayRef)| {
        Field::new(format!("f{i}"), array.data_type().clone(), true)
    };
    let types: Vec<Field> = fields.iter().enumerate().map(field).collect();
    Arc::new(StructArray::new(types.into(), fields.to_vec(), nulls))
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
    /// Whether only columns are selected that are sorted by and can be decoded from keys.
    narrow: bool,
}

fn cases(narrow: bool) -> impl Strategy<Value = Case> {
    let columns = 1_usize..5;
    let partitions = prop::collection::vec(prop::collection::vec(0_usize..300, 0..5), 1..4);
    columns.prop_flat_map(move |columns| {
        let kind = if narrow {
            prop::sample::select(DECODABLE.to_vec()).boxed()
        } else {
            (0..KINDS).boxed()
        };
        let kinds = prop::collection::vec(kind, columns);
        let key = (
            0..columns,
            any::<bool>(),
            any::<bool>(),
            prop::bool::weighted(if narrow { 0.0 } else { 0.2 }),
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
                move |(table, values, order, limit, single_run, max_run_rows, batch_size)| Case {
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
                    narrow,
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
        let columns = if self.narrow {
            let columns: Vec<String> = self.columns().iter().map(|c| format!("c{c}")).collect();
            columns.join(", ")
        } else {
            "*".to_owned()
        };
        format!(
            "SELECT {columns} FROM t ORDER BY {}{limit}",
            keys.join(", ")
        )
    }

    /// The columns that are sorted by, each once, the last one first.
    fn columns(&self) -> Vec<usize> {
        let columns: BTreeSet<usize> = self.order.iter().map(|key| key.0).collect();
        columns.into_iter().rev().collect()
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
        if case.narrow {
            return same_rows(&got, &wanted);
        }
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

/// Batches of the same rows in the same order.
fn same_rows(got: &[RecordBatch], wanted: &[RecordBatch]) -> Result<(), TestCaseError> {
    let all = |batches: &[RecordBatch]| {
        let schema = batches.first()?.schema();
        let batch = concat_batches(&schema, batches).expect("one batch");
        let columns: Vec<usize> = (0..schema.fields().len()).collect();
        (batch.num_rows() > 0).then(|| (schema, rows(&batch, &columns)))
    };
    prop_assert_eq!(all(got), all(wanted));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn equals_the_stock_sort(case in cases(false)) {
        check(&case)?;
    }

    #[test]
    fn rows_that_are_keys_equal_those_of_the_stock_sort(case in cases(true)) {
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

/// Columns that are not sorted by may be of any type.
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

/// Rows that consist of their keys are decoded, if these have at most 128 bits.
#[tokio::test]
async fn rows_that_are_keys_are_decoded() {
    let session = session(SessionConfig::new(), always());
    let rows = "(SELECT value % 7 AS a, (value * 31) % 1009 AS b, value * 7919 AS c, \
                value * 104729 AS d, value * 1299709 AS e, 'text' AS t FROM range(50000))";
    for (sql, decoded) in [
        ("SELECT a FROM {} ORDER BY a", 50_000),
        ("SELECT b, a FROM {} ORDER BY a DESC, b", 50_000),
        ("SELECT d, c, b FROM {} ORDER BY b, d, c", 50_000),
        ("SELECT a FROM {} ORDER BY a LIMIT 1234", 1234),
        ("SELECT a, b FROM {} ORDER BY a", 0),
        ("SELECT t FROM {} ORDER BY t", 0),
        ("SELECT a FROM {} ORDER BY a % 3, a", 0),
    ] {
        run(&session, "SET bcfsort.topk_min_fetch = 0")
            .await
            .expect("an option");
        let sql = sql.replace("{}", rows);
        let (got, plan) = run(&session, &sql).await.expect(&sql);
        assert_eq!(metric(&plan, "decoded_rows"), decoded, "{sql}");
        if decoded > 0 {
            let (wanted, _) = run(&stock(SessionConfig::new()), &sql).await.expect(&sql);
            same_rows(&got, &wanted).expect(&sql);
        }
    }
}

/// A limit that is a small part of the rows, and one that is most of them.
#[tokio::test]
async fn limits_of_any_size() {
    let session = session(SessionConfig::new(), always());
    run(&session, "SET bcfsort.topk_min_fetch = 0")
        .await
        .expect("an option");
    let rows = "(SELECT (value * 7919) % 300007 AS a, value % 5 AS b, chr(65 + value % 26) AS t, \
                value AS c FROM range(300000))";
    for order in ["a", "a DESC, c", "b, a", "t, c", "c DESC"] {
        for limit in [0, 1, 5000, 70_000, 250_000, 300_001] {
            for (from, rows) in [(0, rows.to_owned()), (2500, format!("{rows} WHERE b < 3"))] {
                let columns = "a, b, c, t";
                let sql = format!(
                    "SELECT {columns} FROM {rows} ORDER BY {order}, c LIMIT {limit} OFFSET {from}"
                );
                let (got, _) = run(&session, &sql).await.expect(&sql);
                let (wanted, _) = run(&stock(SessionConfig::new()), &sql).await.expect(&sql);
                same_rows(&got, &wanted).expect(&sql);
            }
        }
    }
}

/// The sorts of window functions, in partitions that are sorted by themselves and in one.
#[tokio::test]
async fn windows() {
    let rows = "(SELECT value % 101 AS a, (value * 7919) % 1009 AS b, value AS c \
                FROM range(40000))";
    let over = "PARTITION BY a ORDER BY b DESC NULLS LAST, c";
    let sql = format!(
        "SELECT a, b, c, row_number() OVER ({over}) AS n, sum(c) OVER ({over}) AS s, \
         lag(c) OVER (PARTITION BY b ORDER BY a, c) AS l FROM {rows}"
    );
    let ordered = format!("SELECT * FROM ({sql}) ORDER BY a, n");
    for partitions in [1, 4] {
        let config = SessionConfig::new().with_target_partitions(partitions);
        let ours = session(config.clone(), always());
        let (got, plan) = run(&ours, &ordered).await.expect("our result");
        // At least the sorts of both windows: the result may need no sort of its own.
        assert!(
            metric(&plan, "gpu_keys") >= 80_000,
            "{partitions} partitions"
        );
        let windows = gpu_sorts(&plan);
        let is_on_gpu = |sort: &Arc<dyn ExecutionPlan>| sort.name() == "GpuSortExec";
        assert!(windows.len() >= 2 && windows.iter().all(is_on_gpu));
        let (wanted, _) = run(&stock(config), &ordered).await.expect("their result");
        same_rows(&got, &wanted).expect("the same rows");
    }
}

/// Strings that tie in far more than their first bytes, and repeat.
#[tokio::test]
async fn strings_that_tie_are_sorted_on_the_gpu() {
    let rows = 60_000;
    let text = |i: usize| match i % 5 {
        0 => None,
        1 => Some("a long beginning".to_owned()),
        2 => Some(format!("a long beginning{}", "\0".repeat(i * 7 % 30))),
        3 => Some(format!("a long beginning, and then {:04}", i * 7919 % 3001)),
        _ => Some("a long beginning, and more".repeat(i * 31 % 20)),
    };
    let texts: ArrayRef = Arc::new(StringArray::from_iter((0..rows).map(text)));
    let others: ArrayRef = Arc::new(Int32Array::from_iter_values(
        (0..rows).map(|i| (i * 104_729 % rows) as i32),
    ));
    let batch =
        RecordBatch::try_from_iter_with_nullable([("text", texts, true), ("other", others, false)]);
    let batch = batch.expect("a batch");
    for order in ["text, other", "text DESC NULLS LAST, other DESC"] {
        let mut results = Vec::new();
        let config = || SessionConfig::new().with_target_partitions(1);
        for session in [stock(config()), session(config(), always())] {
            let table = MemTable::try_new(batch.schema(), vec![vec![batch.clone()]]);
            let table = Arc::new(table.expect("a table"));
            session.register_table("t", table).expect("no other table");
            let sql = format!("SELECT * FROM t ORDER BY {order}");
            let (batches, plan) = run(&session, &sql).await.expect(order);
            results.push((concat_batches(&batch.schema(), &batches), plan));
        }
        let [(wanted, _), (sorted, plan)] = &results[..] else {
            unreachable!("two sessions")
        };
        assert!(sorted.as_ref().expect(order) == wanted.as_ref().expect(order));
        // Those of all rows, and those of rows that tie.
        assert!(metric(plan, "gpu_keys") > rows * 3 / 2, "{order}");
    }
}

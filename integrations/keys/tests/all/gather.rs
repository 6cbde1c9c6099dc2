//! Rows that are gathered from batches, compared with Arrow's copies of the same ranges.

use crate::columns::{KINDS, column, structs, word};
use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, Int64Array, ListViewArray, RecordBatch,
    RecordBatchOptions, RunArray, StringViewArray, make_array,
};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, Field, Schema};
use bcfsort_keys::{Rows, join};
use proptest::prelude::*;
use std::sync::Arc;

/// With those that Arrow gathers.
const ALL: usize = KINDS + 5;

/// Columns that Arrow gathers: lists, maps, structs with a list, views of lists, and runs.
fn nested(kind: usize, words: &[Option<u64>]) -> ArrayRef {
    let text = |word: u64| format!("{word:x}");
    if kind == KINDS {
        let mut lists = ListBuilder::new(StringBuilder::new());
        for word in words {
            for i in 0..word.unwrap_or(0) % 4 {
                lists.values().append_option((i != 1).then(|| text(i)));
            }
            lists.append(word.is_some());
        }
        return Arc::new(lists.finish());
    }
    if kind > KINDS + 1 {
        let lists = nested(KINDS, words);
        return match kind - KINDS {
            2 => structs(words, &[lists, column(24, words)]),
            3 => cast_to_views(&lists),
            _ => {
                let values: Int64Array = words.iter().map(|word| word.map(|w| w as i64)).collect();
                let ends = Int32Array::from_iter_values(1..=words.len() as i32);
                Arc::new(RunArray::<Int32Type>::try_new(&ends, &values).unwrap())
            }
        };
    }
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for word in words {
        for i in 0..word.unwrap_or(0) % 3 {
            maps.keys().append_value(text(i));
            maps.values().append_option((i != 1).then_some(7));
        }
        maps.append(word.is_some()).unwrap();
    }
    Arc::new(maps.finish())
}

fn cast_to_views(lists: &ArrayRef) -> ArrayRef {
    let lists = lists.as_list::<i32>().clone();
    Arc::new(ListViewArray::from(lists))
}

/// A column of any type, cut from a longer one.
fn cut(kind: usize, words: &[Option<u64>]) -> ArrayRef {
    let padded = [&[Some(5), None], words, &[Some(1)]].concat();
    let whole = if kind < KINDS {
        column(kind, &padded)
    } else {
        nested(kind, &padded)
    };
    whole.slice(2, words.len())
}

/// Batches of two columns.
fn batches(kinds: [usize; 2], words: &[Vec<Option<u64>>]) -> Vec<RecordBatch> {
    let batch = |words: &Vec<Option<u64>>| {
        let columns = kinds.map(|kind| cut(kind, words)).to_vec();
        let field = |(i, column): (usize, &ArrayRef)| {
            Field::new(format!("c{i}"), column.data_type().clone(), true)
        };
        let fields: Vec<Field> = columns.iter().enumerate().map(field).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
    };
    words.iter().map(batch).collect()
}

/// These rows of a column, by Arrow's copies of ranges.
fn expected(batches: &[RecordBatch], column: usize, rows: &[u32]) -> ArrayRef {
    let parts: Vec<_> = (batches.iter())
        .map(|batch| batch.column(column).to_data())
        .collect();
    let mut values = MutableArrayData::new(parts.iter().collect(), true, rows.len());
    for &row in rows {
        let mut row = row as usize;
        let mut batch = 0;
        while row >= parts[batch].len() {
            row -= parts[batch].len();
            batch += 1;
        }
        values.try_extend(batch, row, row + 1).unwrap();
    }
    make_array(values.freeze())
}

/// Gathers rows, and compares each column.
fn check(batches: &[RecordBatch], rows: &[u32], batch_size: usize) {
    let schema = batches[0].schema();
    let gathered = Rows::new(schema.clone(), batches)
        .unwrap()
        .gather(rows, batch_size)
        .unwrap();
    let lens: Vec<usize> = gathered.iter().map(RecordBatch::num_rows).collect();
    let wanted: Vec<usize> = rows.chunks(batch_size).map(<[u32]>::len).collect();
    assert_eq!(lens, wanted);
    for (batch, rows) in gathered.iter().zip(rows.chunks(batch_size)) {
        assert_eq!(batch.schema(), schema);
        for (i, column) in batch.columns().iter().enumerate() {
            column.to_data().validate_full().unwrap();
            assert_eq!(column.to_data(), expected(batches, i, rows).to_data());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn rows_of_all_types_are_gathered(
        first in 0..ALL,
        second in 0..ALL,
        words in prop::collection::vec(prop::collection::vec(word(), 0..40), 1..6),
        picked in prop::collection::vec(any::<prop::sample::Index>(), 0..100),
        batch_size in 1_usize..60,
    ) {
        let batches = batches([first, second], &words);
        let all: usize = words.iter().map(Vec::len).sum();
        let picked = if all == 0 { Vec::new() } else { picked };
        let rows: Vec<u32> = picked.iter().map(|row| row.index(all) as u32).collect();
        check(&batches, &rows, batch_size);
    }

    /// All rows, from the first to the last.
    #[test]
    fn parts_of_all_types_are_joined(
        kind in 0..ALL,
        words in prop::collection::vec(prop::collection::vec(word(), 0..40), 1..6),
    ) {
        let parts: Vec<ArrayRef> = words.iter().map(|words| cut(kind, words)).collect();
        let all: usize = words.iter().map(Vec::len).sum();
        let joined = join(&parts).unwrap();
        joined.to_data().validate_full().unwrap();
        let batches = batches([kind, kind], &words);
        let rows: Vec<u32> = (0..all as u32).collect();
        prop_assert_eq!(joined.to_data(), expected(&batches, 0, &rows).to_data());
    }
}

/// Rows of thousands of small batches, some of which are empty.
#[test]
fn batches_may_be_many_and_small() {
    let words = |i: u64| vec![Some(i); i as usize % 3];
    let words: Vec<Vec<Option<u64>>> = (0..2000).map(words).collect();
    let all: usize = words.iter().map(Vec::len).sum();
    let rows: Vec<u32> = (0..all as u32).rev().collect();
    check(&batches([KINDS, 3], &words), &rows, 100);
    let batches = batches([3, 24], &words);
    let rows = Rows::new(batches[0].schema(), &batches).unwrap();
    let bytes = rows.bytes_per_row();
    assert!((24..100).contains(&bytes), "{bytes}");
}

/// A batch of 100,000 rows lies among thousands of one row.
#[test]
fn batches_of_very_different_sizes_are_numbered() {
    let sizes = (0..5000_u64).map(|i| if i == 2500 { 100_000 } else { 1 });
    let mut next = 0;
    let batches: Vec<RecordBatch> = sizes
        .map(|rows| {
            let values: ArrayRef = Arc::new(Int64Array::from_iter_values(next..next + rows as i64));
            next += rows as i64;
            RecordBatch::try_from_iter([("v", values)]).unwrap()
        })
        .collect();
    let rows: Vec<u32> = (0..next as u32).rev().collect();
    let gathered = Rows::new(batches[0].schema(), &batches)
        .unwrap()
        .gather(&rows, rows.len())
        .unwrap();
    let wanted: ArrayRef = Arc::new(Int64Array::from_iter_values((0..next).rev()));
    assert_eq!(gathered[0].column(0), &wanted);
}

/// Views of rows that are kept do not keep the strings of the others.
#[test]
fn strings_are_copied() {
    let long = |i: usize| format!("a string of more than twelve bytes, {i}");
    let views: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..1000).map(long)));
    let batch = RecordBatch::try_from_iter([("s", views)]).unwrap();
    let rows = Rows::new(batch.schema(), std::slice::from_ref(&batch)).unwrap();
    let gathered = rows.gather(&[7], 10).unwrap();
    assert!(gathered[0].get_array_memory_size() < 1000);
}

/// The dictionaries of two batches have more values than the type of their keys can number: fewer
/// rows have fewer values.
#[test]
fn batches_that_overflow_have_fewer_rows() {
    let batch = |values: std::ops::Range<usize>| {
        let texts: Vec<String> = values.map(|i| format!("{i:03}")).collect();
        let texts: DictionaryArray<Int8Type> = texts.iter().map(String::as_str).collect();
        let texts: ArrayRef = Arc::new(texts);
        RecordBatch::try_from_iter([("t", texts)]).unwrap()
    };
    let batches = [batch(0..100), batch(100..200)];
    let rows = Rows::new(batches[0].schema(), &batches).unwrap();
    let gathered = rows.gather(&(0..200).collect::<Vec<_>>(), 1000).unwrap();
    let lens: Vec<usize> = gathered.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(lens, [100, 100]);
}

/// 130 times a string of 16 MiB are more than an array of views can address.
#[test]
fn batches_of_long_strings_have_fewer_rows() {
    let long = "x".repeat(16 << 20);
    let views: ArrayRef = Arc::new(StringViewArray::from_iter_values([&long]));
    let batch = RecordBatch::try_from_iter([("s", views)]).unwrap();
    let rows = Rows::new(batch.schema(), &[batch]).unwrap();
    let gathered = rows.gather(&[0; 130], 1000).unwrap();
    let lens: Vec<usize> = gathered.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(lens, [65, 65]);
    assert_eq!(gathered[1].column(0).as_string_view().value(64), long);
}

/// A dictionary that the others are prefixes of is kept as it is.
#[test]
fn dictionaries_that_grow_are_kept() {
    let batch = |texts: &[&str]| {
        let texts: ArrayRef =
            Arc::new(texts.iter().copied().collect::<DictionaryArray<Int8Type>>());
        RecordBatch::try_from_iter([("t", texts)]).unwrap()
    };
    let batches = [batch(&["b", "a"]), batch(&["b", "a", "c"])];
    let rows = Rows::new(batches[0].schema(), &batches).unwrap();
    let gathered = rows.gather(&[4, 0], 10).unwrap();
    let texts = gathered[0].column(0).as_dictionary::<Int8Type>();
    assert_eq!(texts.keys().values(), &[2, 0]);
    let longest = batches[1].column(0).as_dictionary::<Int8Type>();
    assert_eq!(texts.values(), longest.values());
}

/// The bits of one type are not taken for those of another.
#[test]
fn batches_of_different_types_are_refused() {
    let batch = |values: ArrayRef| RecordBatch::try_from_iter([("v", values)]).unwrap();
    let batches = [batch(cut(3, &[Some(1)])), batch(cut(10, &[Some(1)]))];
    let error = Rows::new(batches[0].schema(), &batches).unwrap_err();
    let wanted =
        "Invalid argument error: column \"v\" is Int64 in one batch and Float64 in another";
    assert_eq!(error.to_string(), wanted);
}

#[test]
fn what_cannot_be_joined_is_an_error() {
    assert!(join(&[]).is_err());
    assert!(join(&[cut(3, &[Some(1)]), cut(4, &[Some(1)])]).is_err());
}

#[test]
fn rows_without_columns_are_counted() -> Result<(), ArrowError> {
    let schema = Arc::new(Schema::empty());
    let options = RecordBatchOptions::new().with_row_count(Some(5));
    let batch = RecordBatch::try_new_with_options(schema.clone(), Vec::new(), &options)?;
    let rows = Rows::new(schema.clone(), &[batch])?;
    let lens: Vec<usize> = (rows.gather(&[4, 0, 1], 2)?.iter())
        .map(RecordBatch::num_rows)
        .collect();
    assert_eq!(lens, [2, 1]);
    assert!(Rows::new(schema, &[])?.gather(&[], 2)?.is_empty());
    Ok(())
}

//! Times two ways to collect the rows of a wide table in order, of whose small batches each value
//! lies anywhere: by Arrow's `concat`, `interleave` and copies of views, and by [`Rows`]. Prints
//! seconds.
//!
//! ```sh
//! cargo run --release --example gather -- 6000000
//! ```

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Int64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, StringViewArray};
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use arrow_select::interleave::interleave;
use bcfsort_keys::Rows;
use rayon::prelude::*;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

const BATCH: usize = 8192;
/// More parts make `interleave` slower than their copy costs.
const PARTS: usize = 256;
const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let rows = std::env::args().nth(1).map_or(Ok(1 << 20), |n| n.parse())?;
    if rows == 0 {
        return Err("the number of rows must be at least 1".into());
    }
    let batches: Vec<RecordBatch> = (0..rows)
        .step_by(BATCH)
        .map(|begin| lineitem(begin..rows.min(begin + BATCH)))
        .collect::<Result<_, _>>()?;
    let mut indices: Vec<u32> = (0..rows as u32).collect();
    indices.par_sort_by_key(|&row| day(u64::from(row)));
    let window = 4 * rayon::current_num_threads() * BATCH;
    println!("copy,interleave,Rows");
    for _ in 0..RUNS {
        let begin = Instant::now();
        let parts = joined(&batches)?;
        let copied = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        for window in indices.chunks(window) {
            interleaved(&parts, window)?;
        }
        let by_arrow = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        let rows = Rows::new(batches[0].schema(), &batches)?;
        for window in indices.chunks(window) {
            rows.gather(window, BATCH)?;
        }
        let own = begin.elapsed().as_secs_f64();
        println!("{copied:.3},{by_arrow:.3},{own:.3}");
        let first = &indices[..window.min(indices.len())];
        assert_eq!(rows.gather(first, BATCH)?, interleaved(&parts, first)?);
    }
    Ok(())
}

/// A hash of a row's number.
fn random(row: u64) -> u64 {
    row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

fn day(row: u64) -> i32 {
    8036 + (random(row) % 2526) as i32
}

/// Rows of 16 columns of the types of TPC-H's lineitem, as Parquet files are read.
fn lineitem(rows: std::ops::Range<usize>) -> Result<RecordBatch, Box<dyn Error>> {
    let rows = || rows.clone().map(|row| row as u64);
    let ids = |of: u64| -> ArrayRef {
        let ids = rows().map(|row| (row / of) as i64);
        Arc::new(PrimitiveArray::<Int64Type>::from_iter_values(ids))
    };
    let decimals = |of: u64| -> ArrayRef {
        let decimals = rows().map(|row| i128::from(random(row) % of));
        Arc::new(PrimitiveArray::<Decimal128Type>::from_iter_values(decimals))
    };
    let days = |after: i32| -> ArrayRef {
        let days = rows().map(|row| day(row) + after);
        Arc::new(PrimitiveArray::<Date32Type>::from_iter_values(days))
    };
    let strings = |some: &[&str]| -> ArrayRef {
        let strings = rows().map(|row| some[random(row) as usize % some.len()]);
        Arc::new(StringViewArray::from_iter_values(strings))
    };
    let comment = |row| {
        let text = format!("{:016x} sleeps quickly after the furious one", random(row));
        text[..10 + random(row) as usize % 34].to_owned()
    };
    let comments = Arc::new(StringViewArray::from_iter_values(rows().map(comment)).gc());
    let instructions = [
        "DELIVER IN PERSON",
        "COLLECT COD",
        "NONE",
        "TAKE BACK RETURN",
    ];
    let columns = [
        ids(4),
        ids(7),
        ids(11),
        ids(13),
        decimals(50),
        decimals(100_000),
        decimals(10),
        decimals(8),
        strings(&["A", "N", "R"]),
        strings(&["F", "O"]),
        days(0),
        days(7),
        days(30),
        strings(&instructions),
        strings(&["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]),
        comments,
    ];
    let named = columns.into_iter().enumerate();
    let named = named.map(|(i, column)| (format!("c{i}"), column));
    Ok(RecordBatch::try_from_iter(named)?)
}

/// Batches of many rows, whose views have strings of their own.
fn joined(batches: &[RecordBatch]) -> Result<Vec<RecordBatch>, Box<dyn Error>> {
    let together = batches.len().div_ceil(PARTS);
    let join = |group: &[RecordBatch]| {
        let one = concat_batches(&group[0].schema(), group)?;
        RecordBatch::try_new(one.schema(), one.columns().iter().map(own).collect())
    };
    let joined: Result<_, _> = batches.par_chunks(together).map(join).collect();
    Ok(joined?)
}

/// An array whose views have strings of their own.
fn own(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().gc()),
        _ => array.clone(),
    }
}

fn interleaved(parts: &[RecordBatch], rows: &[u32]) -> Result<Vec<RecordBatch>, Box<dyn Error>> {
    let mut starts = vec![0];
    for part in parts {
        starts.push(starts[starts.len() - 1] + part.num_rows());
    }
    let place = |&row: &u32| {
        let part = starts.partition_point(|&start| start <= row as usize) - 1;
        (part, row as usize - starts[part])
    };
    let places: Vec<(usize, usize)> = rows.par_iter().map(place).collect();
    let columns = parts[0].num_columns();
    let batches: Vec<&[(usize, usize)]> = places.chunks(BATCH).collect();
    let gather = |task: usize| {
        let column = |part| RecordBatch::column(part, task % columns).as_ref();
        let arrays: Vec<&dyn Array> = parts.iter().map(column).collect();
        Ok(own(&interleave(&arrays, batches[task / columns])?))
    };
    let arrays: Result<Vec<ArrayRef>, arrow_schema::ArrowError> = (0..batches.len() * columns)
        .into_par_iter()
        .map(gather)
        .collect();
    let schema = parts[0].schema();
    let gathered = arrays?;
    let batch = |arrays: &[ArrayRef]| RecordBatch::try_new(schema.clone(), arrays.to_vec());
    let batches: Result<_, _> = gathered.chunks(columns).map(batch).collect();
    Ok(batches?)
}

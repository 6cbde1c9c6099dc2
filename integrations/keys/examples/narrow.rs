//! Times two sorts of rows that have no columns but those to sort by, on the CPU: by indices and a
//! gather, and by decoding the sorted keys. Prints seconds.
//!
//! ```sh
//! cargo run --release --example narrow -- 6000000
//! ```

use arrow_array::types::{Date32Type, Int64Type};
use arrow_array::{ArrayRef, PrimitiveArray, cast::AsArray};
use arrow_schema::DataType;
use bcfsort_keys::{Cpu, Floats, NarrowRows, SortColumn, encode};
use rayon::prelude::*;
use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

const BATCH: usize = 8192;
const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let rows = std::env::args().nth(1).map_or(Ok(1 << 20), |n| n.parse())?;
    if rows == 0 {
        return Err("the number of rows must be at least 1".into());
    }
    println!("columns,limit,by indices,decoded");
    for columns in [1, 2] {
        for limit in [None, Some(rows / 50)] {
            let batches = lineitem(rows, columns);
            let mut times = [Vec::new(), Vec::new()];
            for _ in 0..RUNS {
                let begin = Instant::now();
                let wanted = by_indices(&batches, limit)?;
                times[0].push(begin.elapsed().as_secs_f64());
                let begin = Instant::now();
                let got = decoded(&batches, limit)?;
                times[1].push(begin.elapsed().as_secs_f64());
                assert!(got.iter().flatten().eq(wanted.iter().flatten()));
            }
            let median = |mut times: Vec<f64>| {
                times.sort_by(f64::total_cmp);
                times[RUNS / 2]
            };
            let [indices, decoded] = times.map(median);
            let limit = limit.map_or(String::new(), |limit| limit.to_string());
            println!("{columns},{limit},{indices:.3},{decoded:.3}");
        }
    }
    Ok(())
}

/// Dates from seven years, and ascending order numbers, as in TPC-H's lineitem.
fn lineitem(rows: usize, columns: usize) -> Vec<Vec<SortColumn>> {
    let column = |values| SortColumn {
        values,
        descending: false,
        nulls_first: false,
    };
    let batch = |begin: usize| {
        let rows = begin as u64..rows.min(begin + BATCH) as u64;
        let day = |i: u64| 8036 + ((i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % 2526) as i32;
        let days = PrimitiveArray::<Date32Type>::from_iter_values(rows.clone().map(day));
        let order = |i: u64| (i / 4 * 4 + 1) as i64;
        let orders = PrimitiveArray::<Int64Type>::from_iter_values(rows.map(order));
        let all = [Arc::new(days) as ArrayRef, Arc::new(orders) as ArrayRef];
        all.into_iter().take(columns).map(column).collect()
    };
    (0..rows).step_by(BATCH).map(batch).collect()
}

/// Sorts as for columns of any types: concatenates the batches, sorts indices, and gathers the
/// values.
fn by_indices(
    batches: &[Vec<SortColumn>],
    limit: Option<usize>,
) -> Result<Vec<Vec<ArrayRef>>, Box<dyn Error>> {
    let joined = |i: usize| SortColumn {
        values: match batches[0][i].values.data_type() {
            DataType::Date32 => joined::<Date32Type>(batches, i),
            _ => joined::<Int64Type>(batches, i),
        },
        ..batches[0][i].clone()
    };
    let columns: Vec<SortColumn> = (0..batches[0].len()).map(joined).collect();
    let encoded = encode::<Infallible>(&columns, Floats::Total)?;
    let limit = limit.unwrap_or(usize::MAX);
    let mut indices = encoded.sort_indices(&columns, Floats::Total, &Cpu)?;
    indices.truncate(limit);
    let take = |part: &[u32]| {
        let take = |column: &SortColumn| match column.values.data_type() {
            DataType::Date32 => taken::<Date32Type>(&column.values, part),
            _ => taken::<Int64Type>(&column.values, part),
        };
        columns.iter().map(take).collect()
    };
    Ok(indices.par_chunks(BATCH).map(take).collect())
}

fn joined<T: arrow_array::ArrowPrimitiveType>(batches: &[Vec<SortColumn>], i: usize) -> ArrayRef {
    let values = batches
        .iter()
        .map(|batch| batch[i].values.as_primitive::<T>().values());
    let values: Vec<T::Native> = values.flat_map(|values| values.iter().copied()).collect();
    Arc::new(PrimitiveArray::<T>::new(values.into(), None))
}

fn taken<T: arrow_array::ArrowPrimitiveType>(values: &ArrayRef, rows: &[u32]) -> ArrayRef {
    let values = values.as_primitive::<T>().values();
    let taken = rows.iter().map(|&row| values[row as usize]);
    Arc::new(PrimitiveArray::<T>::from_iter_values(taken))
}

fn decoded(
    batches: &[Vec<SortColumn>],
    limit: Option<usize>,
) -> Result<Vec<Vec<ArrayRef>>, Box<dyn Error>> {
    let mut rows = NarrowRows::encode::<Infallible>(batches)?.ok_or("keys are too wide")?;
    rows.sort(&Cpu, limit)?;
    let decode = |i: usize| rows.decode(i * BATCH..rows.len().min((i + 1) * BATCH));
    let decoded: Result<_, _> = (0..rows.len().div_ceil(BATCH))
        .into_par_iter()
        .map(decode)
        .collect();
    Ok(decoded?)
}

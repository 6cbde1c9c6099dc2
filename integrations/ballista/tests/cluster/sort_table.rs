//! `sort-table`: files whose concatenation is in order.

use crate::{Cluster, FILES, pairs, read, sorted, success, wait, write};
use bcfsort_datafusion::commands::parquet_footer;
use datafusion::arrow::array::{
    ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringArray,
};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema};
use datafusion::parquet::basic::Compression;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

#[test]
fn sorts_a_table_into_parts() {
    let cluster = Cluster::start();
    let table = cluster.table(20_000);
    for (by, out) in [("k:desc,v", "desc"), ("v", "asc")] {
        let arguments = ["sort-table", "t", "--by", by, "--parts", "5", "-o", out];
        success(&cluster.client(&arguments).output().expect("sort-table"));
        let parts: Vec<RecordBatch> = (0..5)
            .map(|i| read(&cluster.path(&format!("{out}/part-{i:05}.parquet"))))
            .collect();
        let all = concat_batches(&parts[0].schema(), &parts).expect("one batch");
        let (rows, is_whole) = pairs(&all);
        assert!(is_whole);
        if by == "v" {
            assert!(rows.is_sorted_by_key(|row| row.1) && rows.len() == table.num_rows());
        } else {
            assert!(rows == sorted(&table));
        }
        // Balanced, except for equal keys.
        let largest = parts.iter().map(RecordBatch::num_rows).max().unwrap_or(0);
        assert!(
            largest < table.num_rows() / 5 * 13 / 10,
            "{largest} rows in one part"
        );
    }
    for executor in ["e0", "e1"] {
        assert!(
            cluster.has_sorted(executor),
            "{executor}: {}",
            cluster.log(executor)
        );
    }
    let again = ["sort-table", "t", "--by", "v", "--parts", "5", "-o", "asc"];
    let again = cluster.client(&again).output().expect("sort-table");
    assert!(String::from_utf8_lossy(&again.stderr).contains("is not empty"));
}

/// No character of a name is taken for a pattern, and types and metadata are kept.
#[test]
fn names_types_and_metadata_stay() {
    let cluster = Cluster::start();
    let note = |text: &str| HashMap::from([("note".to_owned(), text.to_owned())]);
    let field = Field::new("k", DataType::Utf8, false).with_metadata(note("of the field"));
    let schema = Schema::new(vec![field]).with_metadata(note("of the table"));
    let schema = Arc::new(schema);
    let rows = |keys: &[&str]| {
        let keys = Arc::new(StringArray::from(keys.to_vec()));
        RecordBatch::try_new(schema.clone(), vec![keys]).expect("a batch")
    };
    write(&cluster.path("[ab]*.parquet"), &rows(&["c", "b"]));
    write(&cluster.path("a.parquet"), &rows(&["other"]));
    let arguments = [
        "sort-table",
        "[ab]*.parquet",
        "--by",
        "k",
        "--parts",
        "1",
        "-o",
        "out",
    ];
    success(&cluster.client(&arguments).output().expect("sort-table"));
    let sorted = read(&cluster.path("out/part-00000.parquet"));
    assert_eq!(sorted.columns(), rows(&["b", "c"]).columns());
    assert_eq!(sorted.schema().field(0), schema.field(0));
    assert_eq!(
        sorted.schema().metadata().get("note"),
        schema.metadata().get("note")
    );
    let wrong = ["sql", "--table", "t=no\u{1b}[31m.parquet", "SELECT 1"];
    let wrong = cluster.client(&wrong).output().expect("sql");
    let message = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(message.contains("no\\u{1b}[31m.parquet"), "{message}");
    assert!(!wrong.stderr.contains(&0x1b));
}

/// No character of an output's name is taken for a pattern. If the files have different metadata,
/// that of the first one is kept.
#[test]
fn metadata_and_compression_stay_in_every_part() {
    let cluster = Cluster::start();
    let write_keys = |name: &str, note: &str, keys: Vec<i64>| {
        let notes = HashMap::from([("note".to_owned(), note.to_owned())]);
        let field = Field::new("k", DataType::Int64, false).with_metadata(notes.clone());
        let schema = Arc::new(Schema::new(vec![field]).with_metadata(notes));
        let keys = Arc::new(Int64Array::from(keys));
        let batch = RecordBatch::try_new(schema, vec![keys]).expect("a batch");
        write(&cluster.path(name), &batch);
    };
    fs::create_dir(cluster.path("t")).expect("a directory");
    write_keys("t/b.parquet", "second", (0..100).collect());
    write_keys("t/a.parquet", "first", (100..200).rev().collect());
    for (out, exchange) in [("o[1]", "never"), ("o?1*", "always")] {
        let exchange = format!("--exchange={exchange}");
        let arguments = [
            "sort-table",
            "t",
            "--by",
            "k",
            "--parts",
            "2",
            "-o",
            out,
            &exchange,
        ];
        success(&cluster.client(&arguments).output().expect("sort-table"));
        let mut sorted = Vec::new();
        for part in 0..2 {
            let path = cluster.path(&format!("{out}/part-{part:05}.parquet"));
            let footer = parquet_footer(&path).expect("a footer");
            let column = footer.metadata().row_group(0).column(0).compression();
            assert!(matches!(column, Compression::GZIP(_)), "{column}");
            let part = read(&path);
            let schema = part.schema();
            assert_eq!(schema.metadata()["note"], "first");
            assert_eq!(schema.field(0).metadata()["note"], "first");
            sorted.extend_from_slice(part.column(0).as_primitive::<Int64Type>().values());
        }
        assert_eq!(sorted, (0..200).collect::<Vec<i64>>());
        // Nothing is written elsewhere.
        let beside = fs::read_dir(cluster.path("")).expect("a directory");
        let mut names = beside.map(|entry| entry.expect("an entry").file_name());
        assert!(!names.any(|name| name.to_string_lossy().ends_with(".parquet")));
    }
    let query = ["sql", "--table", "t=t", "SELECT count(*) AS n FROM t"];
    let counted = cluster.client(&query).output().expect("sql");
    success(&counted);
    assert!(String::from_utf8_lossy(&counted.stdout).contains("| 200 |"));
}

/// NaN and nulls have their places, whatever Parquet's statistics say.
#[test]
fn sorts_floats_into_parts() {
    let cluster = Cluster::start();
    fs::create_dir(cluster.path("f")).expect("a directory");
    let schema = Arc::new(Schema::new(vec![Field::new("k", DataType::Float64, true)]));
    for (i, special) in [f64::NAN, -f64::NAN, f64::INFINITY, -0.0]
        .into_iter()
        .enumerate()
    {
        let key = |j: u32| match j % 1000 {
            0 => Some(special),
            1 => None,
            _ => Some(f64::from(j % 997) + i as f64 * 1000.0),
        };
        let keys = Arc::new(Float64Array::from_iter((0..10_000).map(key)));
        let batch = RecordBatch::try_new(schema.clone(), vec![keys]).expect("a batch");
        write(&cluster.path(&format!("f/{i}.parquet")), &batch);
    }
    let ways = ["k", "k:desc"].map(|by| [(by, "always"), (by, "never")]);
    for (by, exchange) in ways.concat() {
        let mut keys = Vec::new();
        let parts = sort(&cluster, "f", by, "4", exchange);
        assert_eq!(parts.len(), 4);
        for part in parts {
            keys.extend(part.column(0).as_primitive::<Float64Type>().iter());
        }
        // Nulls are last in ascending order, and first in descending order.
        assert_eq!(keys.len(), 40_000);
        if by == "k:desc" {
            keys.reverse();
        }
        let in_order = |a: &Option<f64>, b: &Option<f64>| match (a, b) {
            (Some(a), Some(b)) => a.total_cmp(b).is_le(),
            (None, Some(_)) => false,
            _ => true,
        };
        assert!(keys.is_sorted_by(in_order), "{by} {exchange}");
    }
}

/// Sorts with the command, and returns the rows of its files, which are numbered without gaps.
fn sort(cluster: &Cluster, input: &str, by: &str, parts: &str, way: &str) -> Vec<RecordBatch> {
    let out = format!("{input} {by} {way}");
    let way = format!("--exchange={way}");
    let parts = format!("--parts={parts}");
    let arguments = ["sort-table", input, "--by", by, &parts, &way, "-o", &out];
    success(&cluster.client(&arguments).output().expect("sort-table"));
    let files = fs::read_dir(cluster.path(&out)).expect("a directory");
    let path = |part| cluster.path(&format!("{out}/part-{part:05}.parquet"));
    (0..files.count()).map(|part| read(&path(part))).collect()
}

/// The rows that the killed executor had for others are read and sent again.
#[test]
fn an_executor_is_killed_after_the_exchange() {
    let mut cluster = Cluster::start();
    let table = cluster.table(50_000);
    let arguments = ["sort-table", "t", "--by", "k:desc,v", "-o", "out"];
    let mut sort = cluster.client(&arguments).spawn().expect("sort-table");
    // The sorts of the sample have fewer rows than a part.
    let is_part = |rows: &usize| *rows > 20_000;
    wait("an executor sorts a part", || {
        cluster.sorts("e1").iter().any(is_part)
    });
    cluster.processes[2].kill().expect("the executor runs");
    assert!(sort.try_wait().expect("a process").is_none(), "too late");
    wait("the sort ends", || {
        sort.try_wait().expect("a process").is_some()
    });
    assert!(sort.wait().expect("a process").success());
    let parts = (0..8).map(|i| read(&cluster.path(&format!("out/part-{i:05}.parquet"))));
    let parts: Vec<RecordBatch> = parts.collect();
    let all = concat_batches(&parts[0].schema(), &parts).expect("one batch");
    let (rows, is_whole) = pairs(&all);
    assert!(is_whole && rows == sorted(&table));
}

/// Executors read each row once, whatever the number of parts.
#[test]
fn reads_the_table_once() {
    let cluster = Cluster::start_with_log("info,ballista_executor::metrics=debug,wgpu=warn");
    let table = cluster.table(100);
    let parts = sort(&cluster, "t", "k,v", "7", "always");
    assert_eq!(parts.len(), 7);
    let (mut rows, mut ranges) = (0, Vec::new());
    for log in ["e0", "e1"].map(|executor| cluster.log(executor)) {
        // The tasks that read all columns: the sample has the first one only.
        for task in log
            .lines()
            .filter(|line| line.contains("projection=[k, v, w"))
        {
            assert!(task.contains("SortShuffleWriterExec"), "{task}");
            let (_, files) = task.split_once("file_groups={").expect("files");
            ranges.push(files.split('}').next().expect("files").to_owned());
            let counts = task.split("input_rows{partition=0}=").skip(1);
            let counts = counts.map(|rest| rest.split([',', ')']).next().expect("a number"));
            rows += counts
                .map(|n| n.parse::<usize>().expect("a number"))
                .sum::<usize>();
        }
    }
    assert_eq!(rows, table.num_rows());
    let tasks = ranges.len();
    ranges.sort();
    ranges.dedup();
    assert_eq!((tasks, ranges.len()), (FILES, FILES));
}

/// 90 % of the rows have the same key, and others have none. The table is in one file or in many.
#[test]
fn sorts_skewed_strings_into_parts() {
    let cluster = Cluster::start();
    let text = |v: i64| match v % 20 {
        0 => None,
        1 => Some(format!("{:03}", (v * 7919) % 997)),
        _ => Some("same".to_owned()),
    };
    let fields = vec![
        Field::new("v", DataType::Int64, false),
        Field::new("s", DataType::Utf8, true),
        Field::new("one", DataType::Int64, false),
        Field::new("none", DataType::Int64, true),
    ];
    let schema = Arc::new(Schema::new(fields));
    let write_rows = |name: &str, rows: std::ops::Range<i64>| {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(rows.clone())),
            Arc::new(StringArray::from_iter(rows.clone().map(text))),
            Arc::new(Int64Array::from_iter_values(rows.clone().map(|_| 1))),
            Arc::new(Int64Array::from_iter(rows.map(|_| None::<i64>))),
        ];
        let batch = RecordBatch::try_new(schema.clone(), columns).expect("a batch");
        write(&cluster.path(name), &batch);
    };
    fs::create_dir(cluster.path("many")).expect("a directory");
    for file in 0..4 {
        write_rows(
            &format!("many/{file}.parquet"),
            file * 3000..(file + 1) * 3000,
        );
    }
    write_rows("one.parquet", 0..500);
    write_rows("empty.parquet", 0..0);
    let inputs = [("many", 12_000), ("one.parquet", 500), ("empty.parquet", 0)];
    for (input, rows) in inputs {
        let columns = ["s,v", "s:desc,v", "s,v:desc", "one,v", "none:desc,v:desc"];
        let ways = columns.map(|by| [(by, "always"), (by, "never")]);
        for (by, way) in ways.concat() {
            let out = format!("{input} by {by}, exchange={way}");
            let parts = sort(&cluster, input, by, "6", way);
            let mut expected: Vec<i64> = (0..rows).collect();
            match by {
                "s,v" => expected.sort_by_key(|&v| (text(v).is_none(), text(v))),
                "s:desc,v" => {
                    expected.sort_by_key(|&v| (text(v).is_some(), Reverse(text(v)), v));
                }
                "s,v:desc" => {
                    expected.sort_by_key(|&v| (text(v).is_none(), text(v), Reverse(v)));
                }
                "one,v" => {}
                _ => expected.reverse(),
            }
            // Where all keys are equal or null, there is one part.
            let is_one = rows == 0 || !by.starts_with('s');
            assert_eq!(parts.len() == 1, is_one, "{out}: {} parts", parts.len());
            let all = concat_batches(&parts[0].schema(), &parts).expect("one batch");
            assert_eq!(all.schema().fields(), schema.fields());
            let values = all.column(0).as_primitive::<Int64Type>().values();
            assert!(values.as_ref() == expected, "{out}: not in order");
            let texts = all.column(1).as_string::<i32>().iter();
            for (v, found) in expected.iter().zip(texts) {
                assert_eq!(found, text(*v).as_deref(), "{out}: of row {v}");
            }
        }
    }
}

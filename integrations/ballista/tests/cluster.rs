//! A scheduler and two executors on this machine, as their users start them.

use bcfsort_datafusion::commands::parquet_footer;
use datafusion::arrow::array::{AsArray, Float64Array, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, GzipLevel};
use datafusion::parquet::file::properties::WriterProperties;
use std::collections::HashMap;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const FILES: usize = 8;

/// A scheduler and executors, which end with it.
struct Cluster {
    directory: TempDir,
    scheduler: String,
    processes: Vec<Child>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Ports that nobody uses.
fn ports<const N: usize>() -> [u16; N] {
    let listeners: [TcpListener; N] =
        std::array::from_fn(|_| TcpListener::bind("127.0.0.1:0").expect("a port"));
    listeners.map(|listener| listener.local_addr().expect("an address").port())
}

fn wait(what: &str, mut is_done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_done() {
        assert!(begin.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Cluster {
    /// Starts two executors, which sort on the adapter, even on a software one.
    fn start() -> Self {
        let [scheduler, ports @ ..] = ports::<5>();
        let mut cluster = Self {
            directory: tempfile::tempdir().expect("a directory"),
            scheduler: format!("127.0.0.1:{scheduler}"),
            processes: Vec::new(),
        };
        let address = cluster.scheduler.clone();
        cluster.spawn(
            "scheduler",
            &["scheduler", "--bind", &address, "--executor-timeout", "10"],
        );
        wait("the scheduler listens", || {
            std::net::TcpStream::connect(&address).is_ok()
        });
        for (i, pair) in ports.chunks(2).enumerate() {
            let (name, [port, grpc_port]) =
                (format!("e{i}"), [pair[0], pair[1]].map(|p| p.to_string()));
            let work = cluster.path(&format!("work-{name}"));
            let arguments = [
                "executor",
                "--scheduler",
                &address,
                "--port",
                &port,
                "--grpc-port",
                &grpc_port,
                "--work-dir",
                work.to_str().expect("text"),
                "--vcores",
                "2",
                "--device",
                "gpu",
            ];
            cluster.spawn(&name, &arguments);
        }
        for (i, _) in ports.chunks(2).enumerate() {
            wait("an executor is ready", || {
                cluster
                    .log(&format!("e{i}"))
                    .contains("Connected to scheduler")
            });
        }
        cluster
    }

    fn spawn(&mut self, name: &str, arguments: &[&str]) {
        let log = File::create(self.path(&format!("{name}.log"))).expect("a log");
        let process = Command::new(env!("CARGO_BIN_EXE_bcfsort-ballista"))
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the command");
        self.processes.push(process);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.path(&format!("{name}.log"))).unwrap_or_default()
    }

    fn client(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bcfsort-ballista"));
        command
            .args(arguments)
            .args(["--scheduler", &self.scheduler])
            .current_dir(self.directory.path());
        command
    }

    /// Whether an executor has sorted on the adapter.
    fn has_sorted(&self, name: &str) -> bool {
        let log = self.log(name);
        let mut lines = log.lines();
        lines.any(|line| line.contains("sorted ") && !line.contains("on the CPU"))
    }

    /// Writes a table of eight files, and returns its rows.
    fn table(&self, rows: i64) -> RecordBatch {
        let folder = self.path("t");
        fs::create_dir(&folder).expect("a directory");
        let schema = Arc::new(Schema::new(vec![
            Field::new("k", DataType::Int64, true),
            Field::new("v", DataType::Int64, false),
            Field::new("w", DataType::Utf8, false),
        ]));
        let mut batches = Vec::new();
        for file in 0..FILES as i64 {
            let rows = file * rows..(file + 1) * rows;
            let key = |v: i64| (v % 17 != 0).then_some((v * 7919) % 10_007);
            let columns: Vec<Arc<dyn datafusion::arrow::array::Array>> = vec![
                Arc::new(Int64Array::from_iter(rows.clone().map(key))),
                Arc::new(Int64Array::from_iter_values(rows.clone())),
                Arc::new(StringArray::from_iter_values(
                    rows.map(|v| format!("text {v}")),
                )),
            ];
            let batch = RecordBatch::try_new(schema.clone(), columns).expect("a batch");
            write(&folder.join(format!("{file}.parquet")), &batch);
            batches.push(batch);
        }
        concat_batches(&schema, &batches).expect("one batch")
    }
}

fn success(output: &Output) {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Compressed by another codec than the default one.
fn write(path: &Path, batch: &RecordBatch) {
    let file = File::create(path).expect("a file");
    let gzip = Compression::GZIP(GzipLevel::default());
    let properties = WriterProperties::builder().set_compression(gzip).build();
    let writer = ArrowWriter::try_new(file, batch.schema(), Some(properties));
    let mut writer = writer.expect("a writer");
    writer.write(batch).expect("rows");
    writer.close().expect("a footer");
}

fn read(path: &Path) -> RecordBatch {
    let file = parquet_footer(path).expect("a footer");
    let schema = file.schema().clone();
    let batches: Vec<RecordBatch> = file
        .build()
        .expect("a reader")
        .collect::<Result<_, _>>()
        .expect("rows");
    concat_batches(&schema, &batches).expect("one batch")
}

/// (k, v) of all rows, and whether the third column belongs to the second.
fn pairs(rows: &RecordBatch) -> (Vec<(Option<i64>, i64)>, bool) {
    let keys = rows.column(0).as_primitive::<Int64Type>();
    let values = rows.column(1).as_primitive::<Int64Type>();
    let texts = datafusion::arrow::compute::cast(rows.column(2), &DataType::Utf8).expect("text");
    let texts = texts.as_string::<i32>();
    let is_whole =
        (0..rows.num_rows()).all(|i| texts.value(i) == format!("text {}", values.value(i)));
    (
        keys.iter().zip(values.values().iter().copied()).collect(),
        is_whole,
    )
}

/// The order of `ORDER BY k DESC NULLS FIRST, v`.
fn sorted(rows: &RecordBatch) -> Vec<(Option<i64>, i64)> {
    let mut pairs = pairs(rows).0;
    pairs.sort_by_key(|&(k, v)| (k.is_some(), std::cmp::Reverse(k), v));
    pairs
}

const SQL: &str = "SELECT * FROM t ORDER BY k DESC NULLS FIRST, v";

#[test]
fn both_executors_sort() {
    let cluster = Cluster::start();
    let table = cluster.table(20_000);
    success(
        &cluster
            .client(&["sql", "--table", "t=t", SQL, "-o", "out.parquet"])
            .output()
            .expect("sql"),
    );
    let (rows, is_whole) = pairs(&read(&cluster.path("out.parquet")));
    assert!(is_whole);
    assert!(rows == sorted(&table), "not the order of one process");
    for executor in ["e0", "e1"] {
        assert!(
            cluster.has_sorted(executor),
            "{executor}: {}",
            cluster.log(executor)
        );
    }
    let printed = cluster
        .client(&[
            "sql",
            "--table",
            "t=t/0.parquet",
            "SELECT v FROM t ORDER BY v DESC LIMIT 1",
        ])
        .output()
        .expect("sql");
    success(&printed);
    assert!(String::from_utf8_lossy(&printed.stdout).contains("| 19999 |"));
    // A closed pipe, as by `| head`, is not an error.
    let mut unread = cluster
        .client(&["sql", "--table", "t=t/0.parquet", "SELECT v FROM t"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("sql");
    drop(unread.stdout.take());
    success(&unread.wait_with_output().expect("sql"));
    // A query that fails leaves the old file.
    let written = std::fs::read(cluster.path("out.parquet")).expect("the file");
    let divided = "SELECT 1 / (v - 5) FROM t";
    let failed = cluster
        .client(&["sql", "--table", "t=t", divided, "-o", "out.parquet"])
        .output()
        .expect("sql");
    assert!(!failed.status.success());
    let left = std::fs::read(cluster.path("out.parquet")).expect("the file");
    assert!(left == written, "the old file has changed");
    let wrong = cluster
        .client(&["sql", "--table", "t=t", "SELECT nope FROM t"])
        .output()
        .expect("sql");
    assert!(!wrong.status.success());
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("nope"));
}

#[test]
fn an_executor_is_killed() {
    let mut cluster = Cluster::start();
    let table = cluster.table(100_000);
    let mut query = cluster
        .client(&["sql", "--table", "t=t", SQL, "-o", "out.parquet"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("sql");
    // It has sorted a part, which the others have not fetched yet.
    wait("an executor sorts", || cluster.has_sorted("e1"));
    cluster.processes[2].kill().expect("the executor runs");
    assert!(query.try_wait().expect("a process").is_none(), "too late");
    success(&query.wait_with_output().expect("the query ends"));
    let (rows, is_whole) = pairs(&read(&cluster.path("out.parquet")));
    assert!(is_whole);
    assert!(
        rows == sorted(&table),
        "rows were lost, or are out of order"
    );
    // The other one has sorted its part again.
    let log = cluster.log("e0");
    let counts = log.lines().filter_map(|line| {
        let (_, rest) = line.split_once("sorted ")?;
        rest.split(' ').next()?.parse::<usize>().ok()
    });
    assert!(counts.sum::<usize>() >= table.num_rows(), "{log}");
}

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
    for out in ["o[1]", "o?1*"] {
        let arguments = ["sort-table", "t", "--by", "k", "--parts", "2", "-o", out];
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
    for by in ["k", "k:desc"] {
        let arguments = ["sort-table", "f", "--by", by, "--parts", "4", "-o", by];
        success(&cluster.client(&arguments).output().expect("sort-table"));
        let mut keys = Vec::new();
        for i in 0..4 {
            let part = read(&cluster.path(&format!("{by}/part-{i:05}.parquet")));
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
        assert!(keys.is_sorted_by(in_order), "{by}");
    }
}

#[test]
fn an_executor_refuses_an_unknown_device() {
    let output = Command::new(env!("CARGO_BIN_EXE_bcfsort-ballista"))
        .args(["executor", "--device", "no such adapter"])
        .output()
        .expect("the command");
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let listed = "error: no adapter matches 'no such adapter': there are 0: ";
    assert!(error.starts_with(listed), "{error}");
}

#[test]
fn without_a_scheduler() {
    let [port] = ports::<1>();
    let output = Command::new(env!("CARGO_BIN_EXE_bcfsort-ballista"))
        .args([
            "sql",
            "SELECT 1",
            "--scheduler",
            &format!("127.0.0.1:{port}"),
        ])
        .output()
        .expect("the command");
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        error.starts_with("error: ") && !error.contains("panicked"),
        "{error}"
    );
}

/// Characters that a terminal would obey are escaped in messages of every kind.
#[test]
fn messages_are_escaped() {
    let hidden = "a\u{1b}[2J\u{202e}";
    for arguments in [
        vec!["sql", hidden, hidden],
        vec!["sort-table", "t", "--by", "k", "--parts", hidden, "-o", "o"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_bcfsort-ballista"))
            .args(&arguments)
            .current_dir(tempfile::tempdir().expect("a directory").path())
            .output()
            .expect("the command");
        assert!(!output.status.success());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.starts_with("error: "), "{error}");
        assert!(!error.contains(['\u{1b}', '\u{202e}']), "{error}");
    }
}

//! A scheduler and two executors on this machine, as their users start them.

use bcfsort_datafusion::commands::parquet_footer;
use datafusion::arrow::array::{AsArray, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, GzipLevel};
use datafusion::parquet::file::properties::WriterProperties;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

mod queries;
mod sort_table;

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
        Self::start_with_log("info,bcfsort_datafusion=debug,wgpu=warn")
    }

    fn start_with_log(filter: &str) -> Self {
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
            filter,
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
            cluster.spawn(&name, &arguments, filter);
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

    fn spawn(&mut self, name: &str, arguments: &[&str], filter: &str) {
        let log = File::create(self.path(&format!("{name}.log"))).expect("a log");
        let process = Command::new(env!("CARGO_BIN_EXE_bcfsort-ballista"))
            .args(arguments)
            .env("RUST_LOG", filter)
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

    /// The numbers of rows that an executor has sorted.
    fn sorts(&self, name: &str) -> Vec<usize> {
        let rows = |line: &str| {
            let (_, rest) = line.split_once("sorted ")?;
            rest.split(' ').next()?.parse().ok()
        };
        self.log(name).lines().filter_map(rows).collect()
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

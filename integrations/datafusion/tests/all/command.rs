//! The command `bcfsort-sql`, as its users call it.

use datafusion::arrow::array::{AsArray, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::compute::{cast, concat_batches};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use tempfile::TempDir;

const ROWS: i64 = 300_000;

fn rows() -> RecordBatch {
    let keys = (0..ROWS).map(|i| ((i % 11) != 0).then_some((i * 7919) % 1009));
    let words = (0..ROWS).map(|i| format!("word {}", (i * 31) % 977));
    RecordBatch::try_from_iter([
        ("k", Arc::new(Int64Array::from_iter(keys)) as _),
        ("w", Arc::new(StringArray::from_iter_values(words)) as _),
        ("a:b", Arc::new(Int64Array::from_iter_values(0..ROWS)) as _),
    ])
    .expect("a batch")
}

/// A directory with `rows.parquet`.
fn directory() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    write(&directory.path().join("rows.parquet"));
    directory
}

fn write(path: &Path) {
    let rows = rows();
    let file = File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, rows.schema(), None).expect("a writer");
    writer.write(&rows).expect("rows");
    writer.close().expect("a footer");
}

fn read(path: &Path) -> RecordBatch {
    let file = ParquetRecordBatchReaderBuilder::try_new(File::open(path).expect("a file"));
    let batches = file.expect("a footer").build().expect("a reader");
    let batches: Vec<RecordBatch> = batches.collect::<Result<_, _>>().expect("rows");
    concat_batches(&batches[0].schema(), &batches).expect("one batch")
}

fn command(directory: &TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bcfsort-sql"))
        .args(arguments)
        .current_dir(directory.path())
        .output()
        .expect("the command")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Whether rows are in order by k, nulls last, and then by w descending.
fn is_sorted(rows: &RecordBatch) -> bool {
    let keys = rows.column(0).as_primitive::<Int64Type>();
    let words = cast(rows.column(1), &DataType::Utf8).expect("text");
    let words = words.as_string::<i32>();
    let keys = keys.iter().enumerate();
    let keys = keys.map(|(i, k)| (k.is_none(), k, std::cmp::Reverse(words.value(i))));
    keys.is_sorted()
}

#[test]
fn sorts_parquet() {
    let directory = directory();
    let by = [
        "sort",
        "rows.parquet",
        "--gpu",
        "always",
        "--by",
        "k,w:desc",
        "-o",
        "out.parquet",
    ];
    let output = command(&directory, &by);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("300000 rows sorted (on the GPU)"),
        "{}",
        stderr(&output)
    );
    let path = directory.path().join("out.parquet");
    let sorted = read(&path);
    assert_eq!(sorted.num_rows(), ROWS as usize);
    assert!(is_sorted(&sorted));
    let file = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).expect("a file"));
    let metadata = file.expect("a footer").metadata().clone();
    let columns = metadata
        .row_group(0)
        .sorting_columns()
        .expect("sorting columns")
        .clone();
    let columns: Vec<_> = columns
        .iter()
        .map(|c| (c.column_idx, c.descending, c.nulls_first))
        .collect();
    assert_eq!(columns, [(0, false, false), (1, true, true)]);
    // Nothing else is left.
    assert_eq!(
        std::fs::read_dir(directory.path())
            .expect("a directory")
            .count(),
        2
    );
}

#[test]
fn converts_and_sorts_with_little_memory() {
    let directory = directory();
    let to_csv = [
        "sort",
        "rows.parquet",
        "--by",
        "a:b:desc",
        "-o",
        "rows.csv",
        "-q",
    ];
    let output = command(&directory, &to_csv);
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        stderr(&output)
    );
    let text = std::fs::read_to_string(directory.path().join("rows.csv")).expect("text");
    assert!(text.starts_with("k,w,a:b\n"), "{}", &text[..20]);
    assert_eq!(text.lines().count(), ROWS as usize + 1);
    let back = [
        "sort",
        "rows.csv",
        "--gpu",
        "always",
        "--by",
        "k:nulls-last,w:desc",
        "-o",
        "rows.arrow",
        "--memory-limit",
        "14M",
    ];
    let output = command(&directory, &back);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("runs on disk"),
        "{}",
        stderr(&output)
    );
    let again = [
        "sort",
        "rows.arrow",
        "--by",
        "k,w:desc",
        "-o",
        "again.parquet",
        "--limit",
        "1000",
    ];
    let output = command(&directory, &again);
    assert!(output.status.success(), "{}", stderr(&output));
    let sorted = read(&directory.path().join("again.parquet"));
    assert_eq!(sorted.num_rows(), 1000);
    assert!(
        sorted
            .column(0)
            .as_primitive::<Int64Type>()
            .iter()
            .flatten()
            .is_sorted()
    );
}

#[test]
fn reads_what_the_extension_says() {
    let directory = directory();
    let folder = directory.path().join("in");
    std::fs::create_dir(&folder).expect("a directory");
    std::fs::rename(
        directory.path().join("rows.parquet"),
        folder.join("rows.pq"),
    )
    .expect("a file");
    let sort = |input, output| {
        let arguments = ["sort", input, "--gpu", "never", "--by", "k", "-o", output];
        command(&directory, &arguments)
    };
    for (input, output) in [("in", "a.ARROW"), ("a.ARROW", "b.tsv"), ("b.tsv", "c.pq")] {
        let sorted = sort(input, output);
        let text = stderr(&sorted);
        assert!(text.contains("300000 rows sorted (on the CPU)"), "{text}");
    }
    assert_eq!(
        read(&directory.path().join("c.pq")).num_rows(),
        ROWS as usize
    );
    write(&folder.join("rows.parquet"));
    let sorted = sort("in", "d.parquet");
    assert!(!sorted.status.success());
    let text = stderr(&sorted);
    assert!(text.contains("several extensions"), "{text}");
}

#[test]
fn wrong_usage_says_why() {
    let directory = directory();
    std::fs::write(directory.path().join("bad.parquet"), "no Parquet").expect("a file");
    let bytes = std::fs::read(directory.path().join("rows.parquet")).expect("a file");
    let half = &bytes[bytes.len() / 2..];
    std::fs::write(directory.path().join("cut.parquet"), half).expect("a file");
    std::fs::write(directory.path().join("rows.txt"), "1\n").expect("a file");
    let cases: [(&[&str], &str); 9] = [
        (
            &["rows.parquet", "--by", "nope", "-o", "o.parquet"],
            "no column \"nope\": there are k, w, a:b",
        ),
        (
            &["rows.parquet", "--by", "k:desc:asc", "-o", "o.parquet"],
            "contradicts",
        ),
        (
            &["bad.parquet", "--by", "k", "-o", "o.parquet"],
            "cannot read bad.parquet",
        ),
        (
            &["cut.parquet", "--by", "k", "-o", "o.parquet"],
            "cut.parquet",
        ),
        (
            &["none.parquet", "--by", "k", "-o", "o.parquet"],
            "no such file",
        ),
        (
            &["rows.txt", "--by", "k", "-o", "o.parquet"],
            "the extension is none of",
        ),
        (
            &["rows.parquet", "--by", "k", "-o", "o.txt"],
            "the extension is none of",
        ),
        (
            &["rows.parquet", "--by", "k", "-o", "no/o.parquet"],
            "cannot write to no",
        ),
        (
            &["rows.parquet", "--by", "k", "-o", "o.parquet", "-m", "1"],
            "such as 4G",
        ),
    ];
    for (arguments, message) in cases {
        let output = command(&directory, &[&["sort"], arguments].concat());
        assert!(!output.status.success(), "{arguments:?}");
        let error = stderr(&output);
        assert!(error.contains(message), "{arguments:?}: {error}");
        assert!(!error.contains("panicked"), "{error}");
        assert!(!directory.path().join("o.parquet").exists());
    }
    let output = command(
        &directory,
        &[
            "sort",
            "rows.parquet",
            "--gpu",
            "always",
            "--by",
            "k",
            "-o",
            "o.parquet",
            "-m",
            "14M",
            "-d",
            "1M",
        ],
    );
    assert!(!output.status.success(), "a full disk");
    assert!(!directory.path().join("o.parquet").exists());
    let left = std::fs::read_dir(directory.path())
        .expect("a directory")
        .count();
    assert_eq!(left, 4, "temporary files were left");
}

#[test]
fn shell() {
    let directory = directory();
    let sql = "SELECT k, w FROM 'rows.parquet' ORDER BY k DESC NULLS LAST, w LIMIT 2";
    let output = command(&directory, &["-c", sql, "--format", "csv", "-q"]);
    assert_eq!(
        stdout(&output),
        "k,w\n1008,word 10\n1008,word 100\n",
        "{}",
        stderr(&output)
    );
    let explain = "EXPLAIN SELECT * FROM 'rows.parquet' ORDER BY k";
    let output = command(&directory, &["--gpu", "always", "-c", explain]);
    assert!(
        stdout(&output).contains("GpuSortExec"),
        "{}",
        stdout(&output)
    );
    let output = command(
        &directory,
        &["-c", "SET bcfsort.min_rows = 71; SHOW bcfsort.min_rows"],
    );
    assert!(stdout(&output).contains("71"), "{}", stdout(&output));
    let output = command(&directory, &["-c", "SELECT nope FROM 'rows.parquet'"]);
    assert!(!output.status.success());
    assert!(
        stderr(&output).starts_with("error: "),
        "{}",
        stderr(&output)
    );
    for help in [&["--help"][..], &["sort", "--help"]] {
        assert!(stdout(&command(&directory, help)).contains("Examples:"));
    }
}

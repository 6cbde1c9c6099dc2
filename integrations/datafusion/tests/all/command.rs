//! The command `bcfsort-sql`, as its users call it.

use bcfsort_datafusion::commands::parquet_footer;
use datafusion::arrow::array::{AsArray, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::compute::{cast, concat_batches};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};
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
    let batches = parquet_footer(path)
        .expect("a footer")
        .build()
        .expect("a reader");
    let batches: Vec<RecordBatch> = batches.collect::<Result<_, _>>().expect("rows");
    concat_batches(&batches[0].schema(), &batches).expect("one batch")
}

pub(crate) fn command(directory: &TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bcfsort-sql"))
        .args(arguments)
        .current_dir(directory.path())
        .output()
        .expect("the command")
}

pub(crate) fn stderr(output: &Output) -> String {
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
fn results_that_nobody_reads_are_no_error() {
    let directory = tempfile::tempdir().expect("a directory");
    for format in ["table", "csv", "json", "nd-json", "tsv"] {
        let sql = "SELECT * FROM generate_series(1, 100000)";
        let mut shell = Command::new(env!("CARGO_BIN_EXE_bcfsort-sql"))
            .args(["--maxrows", "inf", "--format", format, "-c", sql])
            .current_dir(directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command");
        drop(shell.stdout.take());
        let ended = shell.wait_with_output().expect("the command");
        let told = stderr(&ended);
        assert!(ended.status.success(), "{format}: {told}");
        assert!(!told.contains("error: "), "{format}: {told}");
    }
}

#[test]
fn sorts_parquet() {
    let directory = directory();
    let by = [
        "sort",
        "rows.parquet",
        "--device",
        "gpu",
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
    let file = parquet_footer(&path);
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
        "--device",
        "gpu",
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
        let arguments = ["sort", input, "--device", "cpu", "--by", "k", "-o", output];
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
            "no column \"nope\": there are \"k\", \"w\", \"a:b\"",
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
            "unknown extension: use .parquet",
        ),
        (
            &["rows.parquet", "--by", "k", "-o", "o.txt"],
            "unknown extension: use .parquet",
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
            "--device",
            "gpu",
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

/// Characters that a terminal would obey are escaped in messages of every kind.
#[test]
fn messages_are_escaped() {
    let hidden = "a\u{1b}[2J\u{202e}";
    let directory = directory();
    for arguments in [
        vec![
            "sort",
            "rows.parquet",
            "--by",
            "k",
            "-o",
            hidden,
            "-m",
            hidden,
        ],
        vec!["sort", "rows.parquet", "--by", hidden, "-o", "o.parquet"],
        vec!["sort", hidden, "--by", "a", "-o", "o.parquet"],
        vec![hidden],
    ] {
        let output = command(&directory, &arguments);
        assert!(!output.status.success());
        let error = stderr(&output);
        assert!(error.contains("\\u{202e}"), "{error}");
        assert!(!error.contains(['\u{1b}', '\u{202e}']), "{error}");
    }
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
    let output = command(&directory, &["--device", "gpu", "-c", explain]);
    assert!(
        stdout(&output).contains("GpuSortExec"),
        "{}",
        stdout(&output)
    );
    let output = command(
        &directory,
        &[
            "-c",
            "SET bcfsort.max_run_rows = 71; SHOW bcfsort.max_run_rows",
        ],
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

#[test]
fn parquet_keeps_types_metadata_and_compression() {
    use datafusion::arrow::array::{BinaryArray, Date64Array, LargeStringArray};
    use datafusion::arrow::datatypes::{Field, Schema};
    use datafusion::parquet::basic::Compression;
    use datafusion::parquet::file::properties::WriterProperties;
    use std::collections::HashMap;

    let directory = tempfile::tempdir().expect("a directory");
    let metadata = |name: &str| HashMap::from([(name.to_owned(), "{}".to_owned())]);
    let schema = Arc::new(Schema::new_with_metadata(
        vec![
            Field::new("k", DataType::Int64, false).with_metadata(metadata("unit")),
            Field::new("s", DataType::Utf8, true),
            Field::new("l", DataType::LargeUtf8, true),
            Field::new("b", DataType::Binary, true),
            Field::new("d", DataType::Date64, true),
        ],
        metadata("geo"),
    ));
    let rows = RecordBatch::try_new(
        schema.clone(),
        vec![
            Arc::new(Int64Array::from(vec![2, 1])),
            Arc::new(StringArray::from(vec!["b", "a"])),
            Arc::new(LargeStringArray::from(vec!["b", "a"])),
            Arc::new(BinaryArray::from(vec![&b"b"[..], b"a"])),
            Arc::new(Date64Array::from(vec![86_400_000, 0])),
        ],
    )
    .expect("a batch");
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let file = File::create(directory.path().join("in.parquet")).expect("a file");
    let mut writer =
        ArrowWriter::try_new(file, schema.clone(), Some(properties.build())).expect("a writer");
    writer.write(&rows).expect("rows");
    writer.close().expect("a footer");
    let sort = ["sort", "in.parquet", "--by", "k", "-o", "out.parquet"];
    let output = command(&directory, &sort);
    assert!(output.status.success(), "{}", stderr(&output));
    let file = File::open(directory.path().join("out.parquet")).expect("a file");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("a footer");
    assert_eq!(reader.schema(), &schema);
    let written = reader.metadata();
    assert_eq!(
        written.row_group(0).column(1).compression(),
        Compression::SNAPPY
    );
    let pairs = written
        .file_metadata()
        .key_value_metadata()
        .expect("metadata");
    assert!(pairs.iter().any(|pair| pair.key == "geo"));
    let typed = ["sort", "in.parquet", "--by", "k:num", "-o", "o.parquet"];
    let error = stderr(&command(&directory, &typed));
    assert!(error.contains(":num is for CSV and TSV files"), "{error}");
}

#[test]
fn scripts_end_at_the_first_error() {
    use std::io::Write;
    use std::process::Stdio;

    let directory = tempfile::tempdir().expect("a directory");
    let script = "SELECT 1 AS a, ';' AS b;\nSELECT * FROM none;\nSELECT 2 AS c;\n";
    std::fs::write(directory.path().join("x.sql"), script).expect("a file");
    let output = command(&directory, &["-q", "--format", "csv", "-f", "x.sql"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output), "a,b\n1,;\n");
    assert!(
        stderr(&output).contains("x.sql: line 2"),
        "{}",
        stderr(&output)
    );
    let pipe = |script: &str| {
        let mut shell = Command::new(env!("CARGO_BIN_EXE_bcfsort-sql"))
            .args(["-q", "--format", "csv"])
            .env("HOME", directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command");
        let mut stdin = shell.stdin.take().expect("a pipe");
        stdin.write_all(script.as_bytes()).expect("statements");
        drop(stdin);
        shell.wait_with_output().expect("the command")
    };
    let output = pipe(script);
    assert_eq!(
        (output.status.code(), stdout(&output)),
        (Some(1), "a,b\n1,;\n".to_owned())
    );
    let output = pipe("SELECT 1 AS a\n;\n\\q\nSELECT 2 AS b;\n");
    assert_eq!(
        (output.status.code(), stdout(&output)),
        (Some(0), "a\n1\n".to_owned())
    );
    // The last statement needs no semicolon.
    assert_eq!(stdout(&pipe("SELECT 3 AS a -- the end")), "a\n3\n");
}

#[cfg(unix)]
#[test]
fn an_output_keeps_the_rights_of_the_file_before() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("x.csv"), "k\n2\n1\n").expect("a file");
    for output in ["o.csv", "o.parquet"] {
        let path = directory.path().join(output);
        std::fs::write(&path, "").expect("a file");
        let rights = std::fs::Permissions::from_mode(0o4640);
        std::fs::set_permissions(&path, rights).expect("rights");
        let done = command(&directory, &["sort", "x.csv", "--by", "k", "-o", output]);
        assert!(done.status.success(), "{}", stderr(&done));
        let mode = std::fs::metadata(&path)
            .expect("the output")
            .permissions()
            .mode();
        assert_eq!(mode & 0o7777, 0o640, "{output}");
    }
    // Nothing else is left.
    let left = std::fs::read_dir(directory.path()).expect("a directory");
    assert_eq!(left.count(), 3);
}

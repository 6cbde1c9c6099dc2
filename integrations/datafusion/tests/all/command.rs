//! The command `bcfsort-sql`, as its users call it.

use bcfsort_datafusion::commands::parquet_footer;
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
    let batches = parquet_footer(path)
        .expect("a footer")
        .build()
        .expect("a reader");
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

/// What a terminal would obey is escaped, in messages of every kind.
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

/// Writes files, sorts them with these arguments to a file, and returns that one, or the error.
fn sort_files(
    files: &[(&str, &[u8])],
    arguments: &[&str],
    output: &str,
) -> Result<(Vec<u8>, String), String> {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, bytes) in files {
        std::fs::write(directory.path().join(name), bytes).expect("a file");
    }
    let all = [&["sort"], arguments, &["-o", output]].concat();
    let done = command(&directory, &all);
    let path = directory.path().join(output);
    if done.status.success() {
        Ok((std::fs::read(path).expect("the output"), stderr(&done)))
    } else {
        assert!(!path.exists(), "{arguments:?}");
        Err(stderr(&done))
    }
}

/// The output of a sort of one file to another one of its format.
fn sorted(name: &str, text: &str, arguments: &[&str]) -> String {
    let all = [&[name], arguments].concat();
    let output = format!("sorted-{name}");
    let (bytes, _) = sort_files(&[(name, text.as_bytes())], &all, &output).expect(text);
    String::from_utf8(bytes).expect(text)
}

#[test]
fn rows_of_text_are_moved_and_not_rewritten() {
    let cases = [
        (
            "zip,city\n02134,B\n00501,H\n",
            "zip",
            "zip,city\n00501,H\n02134,B\n",
        ),
        ("k,v\n2,1.10\n1,2.500\n", "k", "k,v\n1,2.500\n2,1.10\n"),
        ("k,v\n2,-0\n1,1e400\n", "k", "k,v\n1,1e400\n2,-0\n"),
        ("k,v\r\n2,\"q\"\r\n1,x", "k", "k,v\r\n1,x\r\n2,\"q\"\r\n"),
        ("k\r2\r1\r", "k", "k\r1\r2\r"),
        (
            "\u{feff}\"a\nb\",k\n\"x\ny\",2\nz,1\n",
            "k",
            "\u{feff}\"a\nb\",k\nz,1\n\"x\ny\",2\n",
        ),
        // Numbers of any size and with a sign, by value.
        (
            "k\n+10\n9\n99999999999999999999\n-1e-3\n",
            "k",
            "k\n-1e-3\n9\n+10\n99999999999999999999\n",
        ),
        (
            "k\n9007199254740993.0\n9007199254740992\n",
            "k",
            "k\n9007199254740992\n9007199254740993.0\n",
        ),
        ("k\n10\n9\n", "k:str", "k\n10\n9\n"),
        (
            "k\n1\nNA\n\n2\n",
            "k:num:desc:nulls-last",
            "k\n2\n1\nNA\n\n",
        ),
        (
            "t\n2024-01-01T01:00:00+02:00\n2024-01-01\n2023-12-31 22:59:59Z\n",
            "t",
            "t\n2023-12-31 22:59:59Z\n2024-01-01T01:00:00+02:00\n2024-01-01\n",
        ),
        // Equal keys keep their order.
        (
            "k,v\n1,b\n1.0,a\n0,c\n01,b\n",
            "k",
            "k,v\n0,c\n1,b\n1.0,a\n01,b\n",
        ),
        // A name that ends like a type.
        ("k:num,k\n2,1\n1,2\n", "k:num", "k:num,k\n1,2\n2,1\n"),
    ];
    for (text, by, expected) in cases {
        for gpu in ["never", "always"] {
            let arguments = ["--by", by, "--gpu", gpu];
            assert_eq!(sorted("x.csv", text, &arguments), expected, "{by} {gpu}");
        }
    }
    // In TSV, a quote is a byte as any other, unless it is asked for.
    let text = "n\tk\n\"5 inch\t2\nx\t1\n";
    let expected = "n\tk\nx\t1\n\"5 inch\t2\n";
    assert_eq!(sorted("x.tsv", text, &["--by", "k"]), expected);
    let quoted = "n\tk\n'a\nb'\t2\nx\t1\n";
    let expected = "n\tk\nx\t1\n'a\nb'\t2\n";
    assert_eq!(
        sorted("x.tsv", quoted, &["--by", "k", "--quote", "'"]),
        expected
    );
    // A file may have the name of a pattern.
    assert_eq!(
        sorted("[x] 1.csv", "k\n2\n1\n", &["--by", "k"]),
        "k\n1\n2\n"
    );
}

#[test]
fn a_million_columns_take_linear_time() {
    let mut text: String = (0..1_000_000).map(|column| format!("c{column},")).collect();
    text += "k\n";
    let row = |key: &str| format!("{}{key}\n", ",".repeat(1_000_000));
    let (first, second) = (row("1"), row("2"));
    let unsorted = format!("{text}{second}{first}");
    let expected = format!("{text}{first}{second}");
    assert!(sorted("x.csv", &unsorted, &["--by", "k"]) == expected);
}

#[test]
fn inputs_are_matched_by_name() {
    let files: [(&str, &[u8]); 3] = [
        ("1.csv", b"a,b\n2,\"1,00\"\n"),
        ("2.csv", b"b,a\r\n2.00,1\r\n"),
        ("3.csv", b"a,c\n1,1\n"),
    ];
    let (bytes, _) = sort_files(&files, &["1.csv", "2.csv", "--by", "a"], "o.csv").expect("rows");
    assert_eq!(bytes, b"a,b\n1,2.00\r\n2,\"1,00\"\n");
    let (bytes, _) = sort_files(&files, &["1.csv", "2.csv", "--by", "a"], "o.tsv").expect("rows");
    assert_eq!(bytes, b"a\tb\n1\t2.00\r\n2\t1,00\n");
    let files: [(&str, &[u8]); 2] = [("1.csv", b"a,b\n2,20\n"), ("2.csv", b"b,a\n10,1\n")];
    let arguments = ["1.csv", "2.csv", "--by", "a"];
    let (bytes, _) = sort_files(&files, &arguments, "o.arrow").expect("rows");
    let reader =
        datafusion::arrow::ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None);
    let batches: Vec<RecordBatch> = reader
        .expect("a file")
        .collect::<Result<_, _>>()
        .expect("rows");
    let rows = concat_batches(&batches[0].schema(), &batches).expect("one batch");
    let values = |column: usize| {
        rows.column(column)
            .as_primitive::<Int64Type>()
            .values()
            .to_vec()
    };
    assert_eq!((values(0), values(1)), (vec![1, 2], vec![10, 20]));
    for output in ["o.csv", "o.parquet"] {
        let files: [(&str, &[u8]); 2] = [("1.csv", b"a,b\n1,2\n"), ("2.csv", b"a,c\n1,2\n")];
        let error = sort_files(&files, &["1.csv", "2.csv", "--by", "a"], output).expect_err("c");
        assert!(
            error.contains("2.csv lacks b, and has c besides"),
            "{error}"
        );
    }
}

#[test]
fn wrong_cells_are_refused_in_one_line() {
    let cases: [(&str, &[u8], &str, &str); 6] = [
        (
            "o.csv",
            b"k\n1\nx\n",
            "k:num",
            "x.csv, row 3: 'x' in column \"k\"",
        ),
        ("o.csv", b"k\n1\n", "k:date", "is no date"),
        ("o.csv", b"k\n\"1\n", "k", "a quoted cell has no end"),
        ("o.csv", b"", "k", "no header"),
        ("o.csv", b"a\x1b[31m\x07\n1\n", "k", "u{1b}"),
        ("o.tsv", b"k\n\"a\tb\"\n", "k", "the output no quotes"),
    ];
    for (output, bytes, by, message) in cases {
        let error =
            sort_files(&[("x.csv", bytes)], &["x.csv", "--by", by], output).expect_err(message);
        assert!(error.contains(message), "{error}");
        assert!(!error.contains(['\x1b', '\x07']), "{error}");
    }
    let note = sort_files(&[("x.csv", b"k\n1\nx\n")], &["x.csv", "--by", "k"], "o.csv");
    let (_, note) = note.expect("rows");
    assert!(
        note.contains("note: column \"k\" is compared as text: 'x'"),
        "{note}"
    );
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

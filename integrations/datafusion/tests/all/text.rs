//! The command `bcfsort-sql sort` on CSV and TSV, as its users call it.

use crate::command::{command, stderr};
use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::Int64Type;

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
        for device in ["cpu", "gpu"] {
            let arguments = ["--by", by, "--device", device];
            assert_eq!(sorted("x.csv", text, &arguments), expected, "{by} {device}");
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
            error.contains("2.csv lacks \"b\", and also has \"c\""),
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
        ("o.csv", b"k\n1\n", "k:date", "is not a date"),
        (
            "o.csv",
            b"k\n\"1\n",
            "k",
            "a quoted cell has no closing quote",
        ),
        ("o.csv", b"", "k", "no header"),
        ("o.csv", b"a\x1b[31m\x07\n1\n", "k", "u{1b}"),
        (
            "o.tsv",
            b"k\n\"a\tb\"\n",
            "k",
            "but the output has no quotes",
        ),
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

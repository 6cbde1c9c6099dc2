//! Sorts of records whose input is wrong, or whose options do not fit the format.

use crate::records::{Folder, cli, sort};
use predicates::str::contains;
use std::fs;

/// The fault of an input: exit code 2, one line that names the file, and the old output.
fn refused(args: &str, input: impl AsRef<[u8]>, told: &str) {
    let input = input.as_ref();
    let folder = Folder::new();
    let file = folder.write("records", input);
    let old = folder.write("old", "precious");
    let told = |name: &str| format!("wgpu-bcfsort: {}\n", told.replace("FILE", name));
    let mut from_file = sort(args);
    from_file.args([&file, "-o", &old]);
    from_file.assert().code(2).stdout("").stderr(told(&file));
    let mut from_stdin = sort(args);
    from_stdin.args(["-o", &old]).write_stdin(input);
    from_stdin.assert().code(2).stdout("").stderr(told("stdin"));
    let mut onto_itself = sort(args);
    onto_itself.args([&file, "-o", &file]);
    onto_itself.assert().code(2).stderr(told(&file));
    assert_eq!(fs::read_to_string(&old).unwrap(), "precious");
    assert_eq!(fs::read(&file).unwrap(), input);
    assert_eq!(folder.list(), ["old", "records"]);
}

#[test]
fn cells_are_named_by_line_and_byte() {
    let csv = |by: &str| format!("-f csv --by {by}");
    let told = "FILE: line 3, byte 10: column 'n': 'x' is not a valid u32";
    refused(&csv("n:u32"), "a,n\nb,1\nc,x\n", told);
    // A line is not a row: the cells before have line ends.
    let told = "FILE: line 5, byte 20: column 'n': '' is not a number";
    refused(
        &csv("n:num:missing=error"),
        "a,n\n\"b\n\n\",1\nccccccc,\n",
        told,
    );
    let told = "FILE: line 2, byte 4: the row has 0 cells, but column 'n' is number 2";
    refused(&csv("n:missing=error"), "a,n\n\nb,1\n", told);
    let told = "FILE: line 2, byte 4: a quoted cell of this record has no end";
    refused(&csv("n"), "a,n\n\"b,1\nc,2\n", told);
    let told = "FILE: line 1, byte 2: column '2': '-1' is not a valid u64";
    refused("-f csv --no-header --by 2:u64", "a,-1\n", told);
    let long = format!("n\n{}\n", "9".repeat(100));
    let told = format!(
        "FILE: line 2, byte 2: column 'n': '{}...' is not a valid u32",
        "9".repeat(40)
    );
    refused(&csv("n:u32"), long, &told);
    let told = "FILE: line 2, byte 2: column 'n': '\\u{1b}[31m' is not a valid i32";
    refused(&csv("n:i32"), "n\n\u{1b}[31m\n", told);
}

#[test]
fn columns_are_those_of_the_header() {
    let told = "FILE: --by m:u32: there is no such column: the header has 'a', 'n'";
    refused("-f csv --by m:u32", "a,n\n", told);
    let told = "FILE: --by a: several columns have this name: give the column's number";
    refused("-f csv --by a", "a,a\n", told);
    let told = "--by a: without a header, columns have numbers, from 1";
    refused("-f csv --no-header --by a", "a,a\n", told);
}

#[test]
fn a_fault_in_a_later_part_is_named_too() {
    let mut table = "n,text\n".to_owned();
    for row in 0..100_000 {
        table += &format!("{row},\"of\n{row}\"\n");
    }
    let (lines, byte) = (table.lines().count(), table.len());
    table += "ten,\n1,\n";
    let told = format!(
        "FILE: line {}, byte {byte}: column 'n': 'ten' is not a valid i32",
        lines + 1
    );
    refused("-f csv --by n:i32 --memory 1M", table, &told);
}

#[test]
fn records_that_are_cut_short_or_too_long_are_named() {
    let cut = "the file was cut short, or its records have another size";
    let told = format!("FILE: byte 10: the last record has 3 of 5 bytes: {cut}");
    refused("-f fixed --record 5 -k 0:u8", "ddddDccccCbbb", &told);
    let told = format!("FILE: byte 1000000: the last record has 99 of 100 bytes: {cut}");
    refused("-f gensort -S 1M", vec![b'x'; 1_000_099], &told);
    cli()
        .args(["check", "-f", "gensort"])
        .write_stdin(vec![b'x'; 1_000_099])
        .assert()
        .code(2)
        .stdout("")
        .stderr(contains(
            "stdin: byte 1000000: the last record has 99 of 100",
        ));
    let long = format!("a\nb\n{}\n", "c".repeat(400_000));
    let told = "FILE: line 3, byte 4: a record takes more than the 333333 bytes of memory for \
                a chunk: allow more --memory";
    refused("-f lines --memory 1M", long, told);
}

#[test]
fn options_fit_the_format() {
    for (args, told) in [
        ("-f csv", "-f csv needs --by COLUMN"),
        (
            "-f fixed -k 0:u8",
            "-f fixed needs --record BYTES, at least 1",
        ),
        (
            "-f fixed --record 0 -k 0:u8",
            "-f fixed needs --record BYTES",
        ),
        ("-f fixed --record 4", "-f fixed needs --key OFFSET:TYPE"),
        (
            "-f fixed --record 4 -k 1:u32",
            "--key 1:u32: it ends at byte 5, and a record has",
        ),
        (
            "-f fixed --record 4 -k 0:u24",
            "--key 0:u24: 'u24' is no type: ",
        ),
        ("-f fixed --record 4 -k 0:bytes2:be", "'be' is for numbers"),
        ("-f lines -k 0", "-k 0: fields are counted from 1"),
        (
            "-f lines -k 1x",
            "-k 1x: there is no option 'x': b, d, f, g, h, i, M, n, N, r, V there are",
        ),
        (
            "-f lines --by a",
            "--by is for -f csv, tsv, npy, not for -f lines",
        ),
        ("-f text -n", "--numeric is for -f lines, not for -f text"),
        ("-k 2", "--key is for -f lines, fixed, not for -f raw"),
        (
            "-t ,",
            "-t is the type of the numbers in -f raw: separators are for -f lines",
        ),
        (
            "-f csv --by a -t, --separator ;",
            "-t and --separator are the same: give one",
        ),
        ("-f csv --by a -t u32", "-t 'u32' is no separator of -f csv"),
        (
            "-f gensort -t ,",
            "-t is for other formats: -f gensort has no separators",
        ),
    ] {
        let mut run = sort(args);
        let failed = run.write_stdin("").assert().code(2).stdout("");
        let stderr = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
        assert!(stderr.starts_with("wgpu-bcfsort: "), "{stderr}");
        assert!(stderr.contains(told), "{args}: {stderr}");
    }
}

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

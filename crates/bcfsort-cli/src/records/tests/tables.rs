//! Rows with quotes, line ends and cells of any form.

use super::super::table::{Dialect, TableArgs};
use super::*;
use RecordKind::{Csv, Tsv};

#[test]
fn tabs_separate_cells_that_have_no_quotes() {
    sorts(
        Tsv,
        "--by n:num",
        "name\tn\n\"5 inch disc\t2\nx\t1\n",
        "name\tn\nx\t1\n\"5 inch disc\t2\n",
    );
    sorts(
        Tsv,
        "--by 1",
        "\"a\"\nb\n\"\nc\n\"\n",
        "\"a\"\n\"\n\"\nb\nc\n",
    );
    // With quotes, as they were written by a program for CSV.
    sorts(
        Tsv,
        "--quote \" --by a",
        "a\tb\n\"z\n\t\"\t1\nb\t2\n",
        "a\tb\nb\t2\n\"z\n\t\"\t1\n",
    );
    sorts(
        Csv,
        "--quote none --by 2",
        "a,b\n\"x,2\ny,1\n",
        "a,b\ny,1\n\"x,2\n",
    );
    sorts(
        Csv,
        "--quote ' --by a",
        "a\n'z\n''y'\nb\n",
        "a\nb\n'z\n''y'\n",
    );
    sorts(
        Csv,
        "--quote none --no-header --by 2:u32 -t\"",
        "a\"2\nb\"1\n",
        "b\"1\na\"2\n",
    );
    for quote in ["ab", "", "\u{e9}"] {
        let told = format!("--quote '{quote}' is no quote: give one byte, or none");
        let args = TableArgs {
            by: Some("1".to_owned()),
            quote: Some(quote.into()),
            ..TableArgs::default()
        };
        let error = args.plan(Csv, None, false).err().expect(&told);
        assert_eq!(error.message(), Some(told.as_str()));
    }
}

#[test]
fn rows_may_end_with_carriage_returns() {
    sorts(
        Csv,
        "--by 1",
        "name,age\rbob,30\ralice,4\r",
        "name,age\ralice,4\rbob,30\r",
    );
    sorts(Tsv, "--by b:u32", "a\tb\rx\t2\ry\t1", "a\tb\ry\t1\rx\t2\r");
    sorts(Csv, "--no-header --by 2:num", "b,2\ra,1\r", "a,1\rb,2\r");
    // A line feed in quotes belongs to its cell.
    sorts(
        Csv,
        "--by 1",
        "\"a\n\"\r\"z\n\"\rb\r",
        "\"a\n\"\rb\r\"z\n\"\r",
    );
    // In a file with line feeds, carriage returns belong to cells, but for one before a line feed.
    sorts(
        Csv,
        "--by 1",
        "a\rx,b\nz,\r\nb\r,\n",
        "a\rx,b\nb\r,\nz,\r\n",
    );
    sorts(
        Csv,
        "--by b",
        "a,b\r\ny\rz,2\r\nx,1",
        "a,b\r\nx,1\r\ny\rz,2\r\n",
    );
    let told = "file: line 4, byte 6: column 'a': 'x' is not a valid u32";
    fails(Csv, "--by a:u32", "a\r1\r0\rx\r", told);
}

#[test]
fn the_line_ends_of_a_file_are_those_of_its_first_row() {
    let dialect = Dialect {
        separator: b',',
        quote: Some(b'"'),
        line_end: b'\n',
    };
    let found = |text: &str, are_all| {
        let (dialect, row) = dialect.of_file(text.as_bytes(), are_all)?;
        Some((dialect.line_end, row.len()))
    };
    let feed = |row| Some((b'\n', row));
    let returns = |row| Some((b'\r', row));
    for (text, of_part, of_all) in [
        ("", None, feed(0)),
        ("a,b", None, feed(3)),
        ("a\nb", feed(2), feed(2)),
        ("a\r\nb", feed(3), feed(3)),
        ("a\r", None, returns(2)),
        ("a\rb", None, returns(2)),
        ("a\rb\rc\n", feed(6), feed(6)),
        ("\"a\n", None, feed(3)),
        ("\"a\n\"\rb\r", None, returns(5)),
        ("\"a\r\"\nb\r", feed(5), feed(5)),
        ("a\r\"b\n\"\rc\r", None, returns(2)),
    ] {
        assert_eq!(found(text, false), of_part, "{text:?}");
        assert_eq!(found(text, true), of_all, "{text:?}");
    }
    let long = "a,b\r".repeat(1 << 18);
    assert_eq!(found(&long[..long.len() - 4], false), None);
    assert_eq!(found(&long, false), returns(4));
}

#[test]
fn rows_without_a_value_are_at_an_end_in_both_orders() {
    let table = "k,n\n1,5\n2,\n3,-7\n4\n\n5,na\n6,1e3\n";
    let last = "k,n\n3,-7\n1,5\n6,1e3\n2,\n4\n\n5,na\n";
    let last_descending = "k,n\n6,1e3\n1,5\n3,-7\n2,\n4\n\n5,na\n";
    let first = "k,n\n2,\n4\n\n5,na\n3,-7\n1,5\n6,1e3\n";
    let first_descending = "k,n\n2,\n4\n\n5,na\n6,1e3\n1,5\n3,-7\n";
    for kind in ["num", "f32", "f64"] {
        sorts(Csv, &format!("--by n:{kind}"), table, last);
        sorts(Csv, &format!("--by n:{kind}:desc"), table, last_descending);
        sorts(Csv, &format!("--by n:{kind}:missing=last"), table, last);
        sorts(Csv, &format!("--by n:{kind}:missing=first"), table, first);
        sorts(
            Csv,
            &format!("--by n:desc:{kind}:missing=first"),
            table,
            first_descending,
        );
    }
    let whole = "k,n\n1,5\n2, \n3,-7\n4,N/A\n\"5\",\"\"\n";
    for kind in ["i32", "i64", "num"] {
        let sorted = "k,n\n3,-7\n1,5\n2, \n4,N/A\n\"5\",\"\"\n";
        sorts(Csv, &format!("--by n:{kind},k"), whole, sorted);
    }
    // In a column of strings, only a cell that is not there has no value.
    let strings = b"k,s\n1,b\n2\n3,\n\n4,\xff\n5,\xff\xff\n6,\0\n7,NA\n";
    for (by, order) in [
        ("s", "3671452B"),
        ("s:desc", "5417632B"),
        ("s:missing=first", "2B367145"),
        ("s:desc:missing=first", "2B541763"),
        ("s,1", "3671452B"),
        ("s:desc,1", "5417632B"),
    ] {
        let result = sorted(Csv, &format!("--by {by}"), false, strings).expect(by);
        let rows = result.split(|&byte| byte == b'\n').skip(1);
        let names = rows.map(|row| row.first().map_or('B', |&name| char::from(name)));
        assert_eq!(names.collect::<String>(), format!("{order}B"), "{by}");
    }
}

#[test]
fn columns_that_do_not_exist_are_errors() {
    let cases = [
        ("--by 0", "columns are counted from 1"),
        (
            "--by a:int",
            "'int' is no type or option of a column: str, natural, version, num, \
             date, u32, i32, f32, u64, i64, f64, desc, nocase, missing=first, missing=last, \
             missing=error",
        ),
        (
            "--by a:missing=up",
            "'missing=up' is not first, last or error",
        ),
        (
            "--by a:num:num",
            "'num' is no type or option of a column: str, natural, version, num, \
             date, u32, i32, f32, u64, i64, f64, desc, nocase, missing=first, missing=last, \
             missing=error",
        ),
        (
            "--by a:nocase:u32",
            "nocase is for the types str, natural and version",
        ),
        (
            "--by 18446744073709551616",
            "there is no such column: the header has 'a', '\\u{1b}b'",
        ),
        (
            "--by 3:num",
            "there is no such column: the header has 'a', '\\u{1b}b'",
        ),
    ];
    for (line, told) in cases {
        let by = line.strip_prefix("--by ").expect(line);
        fails(
            Csv,
            line,
            "a,\u{1b}b\n1,2\n",
            &format!("file: --by {by}: {told}"),
        );
    }
    fails(
        Csv,
        "--by a",
        "\na\n",
        "file: --by a: there is no such column: the header is a blank line",
    );
    // The first row may be short.
    let rows = "a\nc,1\nb,2\n";
    sorts(Csv, "--no-header --by 2:missing=first", rows, rows);
    let told = "file: --by x:desc: ':desc' is an option here: give the column's number";
    fails(Csv, "--by x:desc", "x:desc,y\n", told);
    let told = "--by 18446744073709551616: no row has so many columns";
    fails(Csv, "--no-header --by 18446744073709551616", "1\n", told);
    let told = "file: --by 3: there is no such column: the longest row has 2 cells";
    fails(Csv, "--no-header --by 1,3", "1,2\n", told);
    fails(
        Csv,
        "--no-header --by 18446744073709551615",
        "1\n2,3\n",
        "file: --by \
          18446744073709551615: there is no such column: the longest row has 2 cells",
    );
}

/// Quadratic time would take minutes here.
#[test]
fn many_columns_take_linear_time() {
    let count = 200_000;
    let names: Vec<String> = (0..count).map(|column| format!("c{column}")).collect();
    let row = |cell: usize| {
        (0..count)
            .map(|column| (cell + column).to_string() + ",")
            .collect::<String>()
    };
    let header = names.join(",") + ",\n";
    let (first, second) = (row(0), row(1));
    let table = format!("{header}{second}\n{first}\n");
    let sorted_table = format!("{header}{first}\n{second}\n");
    sorts(
        Csv,
        &format!("--by c{}:num", count - 1),
        &table,
        &sorted_table,
    );
    // From the last column to the first one.
    let all: Vec<String> = names
        .iter()
        .rev()
        .step_by(10)
        .map(|name| format!("{name}:u32"))
        .collect();
    sorts(
        Csv,
        &format!("--by {}", all.join(",")),
        &table,
        &sorted_table,
    );
    let more = count + 1 - 20;
    let listed: Vec<String> = names[..20].iter().map(|name| format!("'{name}'")).collect();
    let listed = listed.join(", ");
    let told =
        format!("file: --by x: there is no such column: the header has {listed} and {more} more");
    fails(Csv, "--by x", &table, &told);
    let told = format!(
        "the row has 1 cell, but column 'c{}' is number {count}",
        count - 1
    );
    let line = format!("--by c{}:missing=error", count - 1);
    let at = header.len();
    fails(
        Csv,
        &line,
        format!("{header}1\n{second}\n"),
        &format!("file: line 2, byte {at}: {told}"),
    );
}

#[test]
fn text_is_sorted_by_its_numbers_and_whatever_the_case_is() {
    let files = "f,k\nx10.txt,a\n,b\nX9.txt,c\nx9.txt,d\n\nx010.txt,e\n";
    let natural = "f,k\n,b\nX9.txt,c\nx9.txt,d\nx10.txt,a\nx010.txt,e\n\n";
    sorts(Csv, "--by f:natural", files, natural);
    sorts(Csv, "--by f:natural,k", files, natural);
    sorts(Csv, "--by f:nocase:natural:missing=last", files, natural);
    sorts(
        Csv,
        "--by f:natural:nocase:desc",
        files,
        "f,k\nx10.txt,a\nx010.txt,e\nX9.txt,c\nx9.txt,d\n,b\n\n",
    );
    sorts(
        Csv,
        "--by f:natural:missing=first",
        files,
        "f,k\n\n,b\nX9.txt,c\nx9.txt,d\nx10.txt,a\nx010.txt,e\n",
    );
    let versions = "v\n1.10\n1.9\n1.10~rc1\n\"\"\n";
    sorts(
        Csv,
        "--by v:version",
        versions,
        "v\n\"\"\n1.9\n1.10~rc1\n1.10\n",
    );
    sorts(
        Csv,
        "--by v:version:desc",
        versions,
        "v\n1.10\n1.10~rc1\n1.9\n\"\"\n",
    );
    let letters = "l\nb\nA\na\nB\n\n_\n";
    sorts(Csv, "--by l:nocase", letters, "l\nA\na\nb\nB\n_\n\n");
    sorts(Csv, "--by l:desc:nocase", letters, "l\n_\nb\nB\nA\na\n\n");
    sorts(Csv, "--by l", letters, "l\nA\nB\n_\na\nb\n\n");
}

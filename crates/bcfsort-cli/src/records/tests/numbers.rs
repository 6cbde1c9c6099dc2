//! Numbers in the cells of a table.

use super::*;
use RecordKind::Csv;

#[test]
fn decimal_numbers_are_compared_exactly() {
    sorts(
        Csv,
        "--by id:num",
        "id\n9007199254740993\n9007199254740992\n",
        "id\n9007199254740992\n9007199254740993\n",
    );
    sorts(
        Csv,
        "--by 1:num:desc",
        "n,\n1e400,\n+10,\n1e-400,\n-1e99999999999,\n0.1e2,\n1e401,\n",
        "n,\n1e401,\n1e400,\n+10,\n0.1e2,\n1e-400,\n-1e99999999999,\n",
    );
    // The exponent costs no memory, and one that 64 bits cannot count is an error.
    let told = "file: line 2, byte 2: column 'n': '1e1000000000000000000' is not a number";
    fails(Csv, "--by n:num", "n\n1e1000000000000000000\n", told);
}

#[test]
fn numbers_may_have_a_decimal_comma() {
    let table = "n;k\n1.234,5;a\n-0,5;b\n12;c\n1.000.000;d\n;e\n1,5e1;f\n";
    let ordered = "n;k\n-0,5;b\n12;c\n1,5e1;f\n1.234,5;a\n1.000.000;d\n;e\n";
    for kind in ["num", "f32", "f64"] {
        let line = format!("--decimal-comma --by n:{kind} -t;");
        sorts(Csv, &line, table, ordered);
    }
    let integers = "n\n1.000\n999\n";
    sorts(
        Csv,
        "--decimal-comma --by n:u32",
        integers,
        "n\n999\n1.000\n",
    );
    let blanks = "n\n 3.000 \n2.000,5\t\n\t1.000 \n";
    let ordered = "n\n\t1.000 \n2.000,5\t\n 3.000 \n";
    for kind in ["num", "f32", "f64"] {
        let line = format!("--decimal-comma --by n:{kind} -t;");
        sorts(Csv, &line, blanks, ordered);
    }
    let blanks = "n\n 3.000 \n1.000\t\n";
    let ordered = "n\n1.000\t\n 3.000 \n";
    for kind in ["u32", "i64"] {
        let line = format!("--decimal-comma --by n:{kind}");
        sorts(Csv, &line, blanks, ordered);
    }
    for (cell, kind) in [
        ("1.000 2", "num"),
        ("1.5", "num"),
        ("1,234.5", "f64"),
        ("1,5", "i32"),
        ("10.00", "u64"),
    ] {
        let wanted = if kind == "num" {
            "a number".into()
        } else {
            format!("a valid {kind}")
        };
        let told = format!("file: line 2, byte 2: column 'n': '{cell}' is not {wanted}");
        let table = format!("n\n\"{cell}\"\n");
        fails(Csv, &format!("--decimal-comma --by n:{kind}"), table, &told);
    }
    // Without the option, a comma is none of a number.
    let told = "file: line 2, byte 2: column 'n': '1.234,5' is not a number: --decimal-comma reads \
                1.234,5";
    fails(Csv, "--by n:num -t;", "n\n1.234,5\n", told);
    let told = "file: line 2, byte 2: column 'n': '1,234.5' is not a number";
    fails(Csv, "--by n:num -t;", "n\n1,234.5\n", told);
    sorts(Csv, "--decimal-comma --by n", "n\n2\n1.5\n", "n\n1.5\n2\n");
}

#[test]
fn dates_are_sorted_by_their_instants() {
    let table = "at,k\n2024-03-01T00:30:00+01:00,a\n,b\n2024-02-29,c\n2024-02-29 23:29:59.9,d\n\
                 NaT,e\n20240229T233000Z,f\n";
    let ascending = "at,k\n2024-02-29,c\n2024-02-29 23:29:59.9,d\n2024-03-01T00:30:00+01:00,a\n\
                     20240229T233000Z,f\n,b\nNaT,e\n";
    let descending = "at,k\n2024-03-01T00:30:00+01:00,a\n20240229T233000Z,f\n\
                      2024-02-29 23:29:59.9,d\n2024-02-29,c\n,b\nNaT,e\n";
    sorts(Csv, "--by at:date", table, ascending);
    sorts(Csv, "--by at:date,k", table, ascending);
    sorts(Csv, "--by at:date:desc", table, descending);
    let told = "file: line 2, byte 3: column 'at': '2023-02-29' is not a date: write it as \
                2024-12-31 or 2024-12-31T23:59:59Z";
    fails(Csv, "--by at:date", "at\n2023-02-29\n", told);
}

#[test]
fn numbers_are_in_the_range_of_their_type() {
    sorts(
        Csv,
        "--by n:u64",
        "n\n18446744073709551615\n+18446744073709551614\n0\n",
        "n\n0\n+18446744073709551614\n18446744073709551615\n",
    );
    sorts(
        Csv,
        "--by n:i64:desc",
        "n\n-9223372036854775808\n 9223372036854775807 \n-9223372036854775807\n",
        "n\n 9223372036854775807 \n-9223372036854775807\n-9223372036854775808\n",
    );
    sorts(
        Csv,
        "--by n:f32",
        "n\ninf\nNaN\n-Infinity\n1e38\n-nan\n1e-400\n",
        "n\n-nan\n-Infinity\n1e-400\n1e38\ninf\nNaN\n",
    );
    for (cell, kind) in [
        ("18446744073709551616", "u64"),
        ("-1", "u64"),
        ("9223372036854775808", "i64"),
        ("4294967296", "u32"),
        ("-2147483649", "i32"),
        ("1.0", "i64"),
        ("1e3", "u32"),
        ("1e39", "f32"),
        ("-1e400", "f64"),
    ] {
        let told = format!("file: line 2, byte 2: column 'n': '{cell}' is not a valid {kind}");
        fails(
            Csv,
            &format!("--by n:{kind}"),
            format!("n\n{cell}\n"),
            &told,
        );
    }
}

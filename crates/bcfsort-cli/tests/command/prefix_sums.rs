//! `prefix-sums`: colored prefix sums, as scripts see them.
//!
//! On the adapter where there is one, else on the CPU: the result is the same.

use crate::cli::{Folder, bytes, cli, run, words};
use predicates::prelude::*;
use predicates::str::{contains, starts_with};
use std::fs;

fn sums(args: &[&str]) -> assert_cmd::assert::Assert {
    run(&[&["prefix-sums", "--quiet"], args].concat())
}

#[test]
fn sums_are_by_color_in_either_format_and_from_stdin() {
    let folder = Folder::new();
    let values = folder.write("values", bytes(&[1, 10, 2, 20, u32::MAX]));
    let colors = folder.write("colors", bytes(&[0, 1, 0, 1, 0]));
    let expected = bytes(&[1, 10, 3, 30, 2]);
    sums(&[&values, &colors, "--verify"])
        .code(0)
        .stdout(expected.clone())
        .stderr("");
    for method in ["naive", "conflict-free"] {
        sums(&[
            &values,
            &colors,
            "-d",
            "16",
            "--method",
            method,
            "--exclusive",
        ])
        .code(0)
        .stdout(bytes(&[0, 0, 1, 10, 3]));
    }
    // Onto one of the inputs.
    sums(&[&values, &colors, "-o", &values]).code(0).stdout("");
    assert_eq!(fs::read(folder.path("values")).unwrap(), expected);
    assert_eq!(folder.list(), ["colors", "values"]);

    let text = folder.write("text", "0.5\n-1\nNaN\n0.25\n");
    let args = [
        "prefix-sums",
        "-q",
        "-f",
        "text",
        "--type",
        "f32",
        &text,
        "-",
        "--verify",
    ];
    cli()
        .args(args)
        .write_stdin("3\n3\n0\n3")
        .assert()
        .code(0)
        .stdout("0.5\n-0.5\nNaN\n-0.25\n");
    let args = [
        "prefix-sums",
        "-q",
        "-f",
        "text",
        "--type",
        "i32",
        "-",
        &colors,
    ];
    let colors = folder.write("colors", "0\n0\n");
    assert_eq!(args[7], colors);
    cli()
        .args(args)
        .write_stdin("-7\n3\n")
        .assert()
        .code(0)
        .stdout("-7\n-4\n");
    let empty = folder.write("empty", "");
    sums(&[&empty, &empty, "--verify"]).code(0).stdout("");
}

#[test]
fn many_values_are_verified_and_timed() {
    let folder = Folder::new();
    let (values, colors) = (folder.name("values"), folder.name("colors"));
    let count = ["-n", "50001"];
    run(&[&["gen", "full", "-o", &values], &count[..]].concat()).code(0);
    let range = ["gen", "random", "--range", "0..6", "-o", &colors];
    run(&[&range, &count[..]].concat()).code(0);
    for (method, key) in [("naive", "i32"), ("conflict-free", "u32")] {
        sums(&[
            &values,
            &colors,
            "--type",
            key,
            "--method",
            method,
            "--verify",
            "--timings",
            "-o",
            &folder.name("sums"),
        ])
        .code(0)
        .stderr(
            contains(format!("method   {method}\n")).and(contains(format!(
                "values   50001 {key}, 7 colors, inclusive"
            ))),
        );
    }
    assert_eq!(words(&folder.path("sums")).len(), 50_001);
}

#[test]
fn what_does_not_fit_together_is_told_with_its_place() {
    let folder = Folder::new();
    let values = folder.write("values", bytes(&[1, 2, 3]));
    let colors = folder.write("colors", bytes(&[0, 1, 16]));
    let few = folder.write("few", bytes(&[0, 1]));
    let lines = folder.write("lines", "0\n16\n");
    let output = folder.name("output");
    let fails = |args: &[&str], message: &str| {
        let failed = sums(&[args, &["-o", &output]].concat());
        failed
            .code(2)
            .stdout("")
            .stderr(starts_with("wgpu-bcfsort: ").and(contains(message)));
    };
    fails(&[&values, &few], "3 values and");
    fails(&[&values, &few], "few 2 colors: each value needs a color");
    fails(
        &[&values, &colors],
        "index 2: color 16: there are at most 16 colors, 0 to 15",
    );
    fails(&[&values, &few, "-d", "17"], "17 is not in 1..=16");
    fails(
        &["-f", "text", &lines, &lines, "-d", "2"],
        "line 2: color 16: with -d 2 the largest is 1",
    );
    fails(&["-", "-"], "cannot both come from stdin");
    fails(
        &["--type", "u64", &values, &few],
        "possible values: u32, i32, f32",
    );
    fails(
        &[&values, &folder.name("missing")],
        "missing: cannot read: No such file",
    );
    fails(
        &[&folder.write("odd", "abc"), &few],
        "3 bytes, not a multiple of the 4 bytes",
    );
    fails(&[&values], "COLORS");
    assert!(!folder.path("output").exists());
}

#[test]
fn help_teaches() {
    run(&["prefix-sums", "--help"])
        .code(0)
        .stdout(contains("Examples:").and(contains("seq 5")));
}

//! `uniq`, and `sort -u`: one of equal keys.

use crate::cli::{Folder, bytes, cli, one_line};
use predicates::prelude::*;
use predicates::str::contains;
use std::fs;

fn command(args: &str, input: impl AsRef<[u8]>) -> assert_cmd::assert::Assert {
    let mut command = cli();
    command.args(args.split_whitespace());
    command.write_stdin(input.as_ref()).assert()
}

#[track_caller]
fn gives(args: &str, input: impl AsRef<[u8]>, expected: impl AsRef<[u8]>) {
    let done = command(args, input).code(0).stderr("");
    let output = &done.get_output().stdout;
    let text = String::from_utf8_lossy(output);
    assert!(output == expected.as_ref(), "{args}: {text}");
}

#[track_caller]
fn fails(args: &str, input: &str, told: &str) {
    command(args, input)
        .code(2)
        .stderr(one_line().and(contains(told)));
}

fn floats(keys: &[f64]) -> Vec<u8> {
    keys.iter().flat_map(|key| key.to_le_bytes()).collect()
}

mod sort {
    use super::*;

    #[test]
    fn one_of_equal_numbers_is_kept() {
        for engine in ["cpu", "bcf-pb"] {
            let sort = |args: &str| format!("sort --engine {engine} -u {args}");
            gives(&sort(""), bytes(&[3, 1, 3, 2, 1]), bytes(&[1, 2, 3]));
            gives(&sort("-r"), bytes(&[3, 1, 3, 2, 1]), bytes(&[3, 2, 1]));
            gives(&sort(""), bytes(&[7; 1000]), bytes(&[7]));
            gives(&sort(""), bytes(&[5]), bytes(&[5]));
            gives(&sort("-f text"), "", "");
            gives(&sort("-f text"), "10\n9\n010\n9", "9\n10\n");
        }
    }

    #[test]
    fn floats_are_equal_in_the_total_order() {
        let (nan, other) = (f64::NAN, f64::from_bits(0x7ff8_0000_0000_0001));
        let keys = [other, nan, 0.0, -nan, -0.0, nan, 1.0, -0.0, 0.0, 1.0, -nan];
        let each = [-nan, -0.0, 0.0, 1.0, nan, other];
        gives(
            "sort --engine cpu -u --type f64",
            floats(&keys),
            floats(&each),
        );
        gives(
            "sort --engine cpu -u --type f64 -S 1M",
            floats(&keys),
            floats(&each),
        );
        let text = "-NaN\n-0\n0\n1\nNaN\n";
        gives(
            "sort --engine cpu -u -f text --type f64",
            "1.0\nNaN\n0\n-NaN\n-0\n1\nNaN",
            text,
        );
    }

    #[test]
    fn parts_are_merged_before_equal_numbers_are_dropped() {
        let keys: Vec<u32> = (0..600_000_u32)
            .map(|i| i.wrapping_mul(0x9e37_79b9) % 9_000)
            .collect();
        let each: Vec<u32> = (0..9_000).collect();
        let args = "sort -u --engine cpu -S 1M --verify --timings";
        let done = command(args, bytes(&keys)).code(0).stdout(bytes(&each));
        let told =
            contains("verified: 600000 keys, ascending, the same as in the input; 9000 written");
        done.stderr(told.and(contains("parts, 9000 written\n")));
        gives(
            "sort -u -q --engine cpu -S 1M",
            bytes(&vec![4; 500_000]),
            bytes(&[4]),
        );
    }

    #[test]
    fn the_numbers_of_records_are_told() {
        let done = command(
            "sort --engine cpu -f lines -u --verify --timings",
            "b\na\nb",
        )
        .code(0);
        let told = contains("verified: 3 records, sorted, the same as in the input; 2 written");
        done.stdout("a\nb\n")
            .stderr(told.and(contains("records  3, 2 written\n")));
    }

    #[test]
    fn equal_numbers_are_out_of_order_for_a_check() {
        command("check -u", bytes(&[1, 2, 3])).code(0).stdout("");
        let told = "stdin: not sorted: index 2: 2 after 2\n";
        command("check -u", bytes(&[1, 2, 2])).code(1).stdout(told);
        let told = "stdin: not sorted: line 2: 1 after 1\n";
        command("check -u -r -f text", "1\n1\n0\n")
            .code(1)
            .stdout(told);
        command("check -f text", "1\n1\n").code(0);
        let told = "wgpu-bcfsort: -:1: disorder: 5\n";
        command("sort -c -u", bytes(&[5, 5])).code(1).stderr(told);
    }

    #[cfg(unix)]
    #[test]
    fn lines_are_those_of_gnu_sort() {
        let folder = Folder::new();
        let words = ["a", "B", "10", "9", "-1", "", "b c", "10.0", "A"];
        let line = |i: usize| format!("{} {}", words[i * 31 % 9], words[i / 3 * 7 % 9]);
        let lines: Vec<String> = (0..60_000).map(line).collect();
        let file = folder.write("lines", lines.join("\n"));
        for args in [
            "",
            "-r",
            "-n",
            "-k1,1",
            "-k2n -r",
            "-k1,1 -k2nr",
            "-t. -k2",
            "-M",
            "-d",
        ] {
            let mut gnu = std::process::Command::new("sort");
            gnu.args(["-s", "-u", &file]).args(args.split_whitespace());
            let gnu = gnu.env("LC_ALL", "C").output().unwrap();
            for memory in ["1M", "64M"] {
                let sort = format!("sort --engine cpu -f lines -u -S {memory} {args} {file}");
                gives(&sort, "", &gnu.stdout);
            }
        }
    }
}

#[test]
fn neighbours_become_one() {
    gives("uniq", bytes(&[2, 2, 1, 2]), bytes(&[2, 1, 2]));
    gives("uniq -d", bytes(&[2, 2, 1, 2, 3, 3, 3]), bytes(&[2, 3]));
    gives("uniq -u", bytes(&[2, 2, 1, 2]), bytes(&[1, 2]));
    gives("uniq", bytes(&vec![7; 300_000]), bytes(&[7]));
    gives("uniq", "", "");
    let (nan, zero) = (f64::NAN, 0.0);
    let keys = floats(&[-nan, -nan, -zero, zero, zero, nan]);
    gives("uniq --type f64", keys, floats(&[-nan, -zero, zero, nan]));
    gives("uniq -f text", "1\n01\n2", "1\n2\n");
    gives("uniq -f lines", "a\na\nb\na", "a\nb\na\n");
    gives("uniq -f lines -n -k2", "x 1\ny 01\nz 2\n", "x 1\nz 2\n");
    gives("uniq -f lines --ignore-case -d", "a\nA\nb", "a\n");
    gives("uniq -f lines --dictionary-order", "a.\na\n", "a.\n");
    gives(
        "uniq -f csv --by k",
        "k,v\na,1\na,2\nb,3\n",
        "k,v\na,1\nb,3\n",
    );
    gives("uniq -f csv --by k -u", "k,v\na,1\na,2", "k,v\n");
    gives("uniq -f fixed --record 2 --key 0:u8 -o -", "a1a2b1", "a1b1");
    fails("uniq -f lines --by x", "", "--by is for -f csv, tsv, npy");
    command("uniq -d -u", "").code(2);
}

#[test]
fn counts_stand_in_front_of_lines() {
    gives("uniq -c -f lines", "a\na\nb", "      2 a\n      1 b\n");
    gives("uniq -c -f lines -z", "a\0a\0", "      2 a\0");
    gives("uniq -c -f lines", "", "");
    gives(
        "uniq -c -f text --type f32",
        "1.50\n1.5\n-0",
        "      2 1.5\n      1 -0\n",
    );
    gives("uniq -c -f text", "5\n".repeat(700_000), " 700000 5\n");
    let told = "--count is for -f text, lines: --counts FILE has the counts";
    fails("uniq -c", "", told);
    fails("uniq -c -f csv --by a", "", told);
}

#[test]
fn counts_are_written_to_a_file() {
    let folder = Folder::new();
    let run = |args: &str, input: &[u8]| {
        let mut uniq = cli();
        uniq.current_dir(folder.0.path())
            .args(args.split_whitespace());
        uniq.write_stdin(input).assert()
    };
    let counts = |name: &str| -> Vec<u64> {
        let bytes = fs::read(folder.path(name)).unwrap();
        let counts = bytes.chunks_exact(8);
        counts
            .map(|count| u64::from_le_bytes(count.try_into().unwrap()))
            .collect()
    };
    let keys = bytes(&[1, 1, 1, 2, 3, 3]);
    run("uniq -o keys --counts counts", &keys)
        .code(0)
        .stdout("");
    assert_eq!(fs::read(folder.path("keys")).unwrap(), bytes(&[1, 2, 3]));
    assert_eq!(counts("counts"), [3, 1, 2]);
    run("uniq -d --counts counts", &keys)
        .code(0)
        .stdout(bytes(&[1, 3]));
    assert_eq!(counts("counts"), [3, 2]);
    let rows = run("uniq -f csv --by a --counts counts", b"a,b\n1,2\n1,3\n");
    rows.code(0).stdout("a,b\n1,2\n");
    assert_eq!(counts("counts"), [2]);
    // Neither file is changed by an error, and nothing else is left.
    let failed = run("uniq -f text -o keys --counts counts", b"1\nx\n");
    failed.code(2).stderr(one_line().and(contains("line 2")));
    assert_eq!(counts("counts"), [2]);
    assert_eq!(fs::read(folder.path("keys")).unwrap(), bytes(&[1, 2, 3]));
    for args in ["uniq --counts -", "uniq -o keys --counts keys"] {
        let told = contains("--counts and --output need two files");
        run(args, &keys).code(2).stderr(one_line().and(told));
    }
    assert_eq!(folder.list(), ["counts", "keys"]);
}

#[test]
fn arrays_have_the_number_of_elements_that_are_left() {
    let array = |keys: &[u8]| {
        let text = format!(
            "{{'descr': '|u1', 'fortran_order': False, 'shape': ({},), }}",
            keys.len()
        );
        let header = format!("{text:117}\n");
        [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes(), keys].concat()
    };
    gives("uniq -f npy -o -", array(&[1, 1, 2]), array(&[1, 2]));
}

#[cfg(unix)]
#[test]
fn lines_are_those_of_gnu_uniq() {
    let folder = Folder::new();
    let line = |i: usize| format!("{}", i * i / 50 % 13);
    let lines: Vec<String> = (0..3000).map(line).collect();
    let file = folder.write("lines", lines.join("\n"));
    for args in ["", "-c", "-d", "-u", "-c -d", "-c -u"] {
        let mut gnu = std::process::Command::new("uniq");
        let gnu = gnu
            .args(args.split_whitespace())
            .arg(&file)
            .env("LC_ALL", "C");
        let gnu = gnu.output().unwrap();
        gives(&format!("uniq -f lines {args} {file}"), "", &gnu.stdout);
    }
}

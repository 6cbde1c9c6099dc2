//! `merge`: sorted files become one, and files that are not sorted are errors.

use crate::cli::{Folder, bytes, cli, one_line};
use predicates::prelude::*;
use predicates::str::contains;
use std::fs;

fn merge(folder: &Folder, args: &str) -> assert_cmd::Command {
    let mut command = cli();
    command.current_dir(folder.0.path()).arg("merge");
    command.args(args.split_whitespace());
    command
}

/// Merges to stdout, and to a file that is one of the inputs.
#[track_caller]
fn merges(folder: &Folder, args: &str, expected: impl AsRef<[u8]>) {
    let done = merge(folder, args).assert().code(0).stderr("");
    assert!(done.get_output().stdout == expected.as_ref(), "{args}");
    let last = args.split_whitespace().next_back().unwrap();
    let old = fs::read(folder.path(last)).unwrap();
    let files = folder.list();
    let to_file = merge(folder, &format!("-o {last} {args}")).assert();
    to_file.code(0).stdout("").stderr("");
    assert!(
        fs::read(folder.path(last)).unwrap() == expected.as_ref(),
        "{args}"
    );
    assert_eq!(folder.list(), files, "{args}");
    fs::write(folder.path(last), old).unwrap();
}

#[track_caller]
fn fails(folder: &Folder, args: &str, told: &str) {
    let files = folder.list();
    let failed = merge(folder, args).assert().code(2);
    failed.stderr(one_line().and(contains(told)));
    assert_eq!(folder.list(), files, "{args}");
}

#[test]
fn numbers_of_every_encoding_are_merged() {
    let folder = Folder::new();
    folder.write("a", bytes(&[1, 2, 2, 9]));
    folder.write("b", bytes(&[0, 2, 3]));
    folder.write("none", "");
    merges(&folder, "a none b", bytes(&[0, 1, 2, 2, 2, 3, 9]));
    merges(&folder, "-u a b none a", bytes(&[0, 1, 2, 3, 9]));
    merges(&folder, "none none", "");
    merges(&folder, "b", bytes(&[0, 2, 3]));
    folder.write("down", bytes(&[7, 4, 4]));
    folder.write("down-too", bytes(&[5, 4]));
    merges(&folder, "-r down down-too", bytes(&[7, 5, 4, 4, 4]));
    folder.write("text", "01\n 10\r\n11");
    folder.write("more", "\u{feff}2\n10\n");
    merges(&folder, "-f text text more", "1\n2\n10\n10\n11\n");
    merges(&folder, "-f text -u --type i64 text more", "1\n2\n10\n11\n");
}

#[test]
fn floats_are_merged_in_total_order() {
    let folder = Folder::new();
    let floats =
        |keys: &[f32]| -> Vec<u8> { keys.iter().flat_map(|key| key.to_le_bytes()).collect() };
    let (nan, other) = (f32::NAN, f32::from_bits(0x7fc0_0001));
    folder.write("a", floats(&[-nan, -0.0, 0.0, nan]));
    folder.write(
        "b",
        floats(&[f32::NEG_INFINITY, -0.0, f32::INFINITY, nan, other]),
    );
    let all = [
        -nan,
        f32::NEG_INFINITY,
        -0.0,
        -0.0,
        0.0,
        f32::INFINITY,
        nan,
        nan,
        other,
    ];
    merges(&folder, "--type f32 a b", floats(&all));
    let each = [
        -nan,
        f32::NEG_INFINITY,
        -0.0,
        0.0,
        f32::INFINITY,
        nan,
        other,
    ];
    merges(&folder, "--type f32 -u a b", floats(&each));
    folder.write("wrong", floats(&[0.0, -0.0]));
    fails(
        &folder,
        "--type f32 a wrong",
        "wrong: not sorted: index 1: -0 after 0",
    );
}

#[test]
fn records_of_earlier_files_are_first() {
    let folder = Folder::new();
    folder.write("a", "1 a\n2 a\n2 b");
    folder.write("b", "1 b\n3 b\n");
    merges(&folder, "-f lines -k1,1n b a", "1 b\n1 a\n2 a\n2 b\n3 b\n");
    merges(&folder, "-f lines -k1,1n -u b a", "1 b\n2 a\n3 b\n");
    folder.write("zero", "a\0b");
    folder.write("zeros", "a\0");
    merges(&folder, "-f lines -z zero zeros", "a\0a\0b\0");
    folder.write("structs", "a1c1");
    folder.write("more", "a2b2c2");
    let structs = "-f fixed --record 2 --key 0:u8";
    merges(&folder, &format!("{structs} structs more"), "a1a2b2c1c2");
    merges(&folder, &format!("{structs} -u more structs"), "a2b2c2");
}

#[test]
fn tables_are_merged_with_one_header() {
    let folder = Folder::new();
    folder.write("empty", "");
    folder.write("a", "n,m\n1,a\n10,\"x\ny\"");
    folder.write("b", "m,n\r\nb,1\r\nc,3\r\n");
    folder.write("c", "n,o\n1,2\n");
    let merged = "n,m\n1,a\n1,b\r\n3,c\r\n10,\"x\ny\"\n";
    merges(&folder, "-f csv --by n:num empty a empty b", merged);
    fails(
        &folder,
        "-f csv --by n:num a c",
        "c: its columns are not those of a",
    );
    fails(
        &folder,
        "-f csv --by n -r a b",
        "a: not sorted: line 3: 10,",
    );
}

#[test]
fn arrays_are_merged_with_the_count_of_all() {
    let folder = Folder::new();
    let array = |keys: &[u8]| {
        let text = format!(
            "{{'descr': '|u1', 'fortran_order': False, 'shape': ({},), }}",
            keys.len()
        );
        let header = format!("{text:117}\n");
        [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes(), keys].concat()
    };
    folder.write("a", array(&[1, 3, 3]));
    folder.write("b", array(&[2, 3]));
    merges(&folder, "-f npy a b", array(&[1, 2, 3, 3, 3]));
    merges(&folder, "-f npy -u a b", array(&[1, 2, 3]));
}

#[test]
fn an_input_that_is_not_sorted_is_an_error_that_names_the_place() {
    let folder = Folder::new();
    folder.write("good", "a\nb\n");
    folder.write("bad", "a\nc\nb\n");
    let told = "wgpu-bcfsort: bad: not sorted: line 3: b after c";
    fails(&folder, "-f lines -o good good bad", told);
    assert_eq!(fs::read(folder.path("good")).unwrap(), b"a\nb\n");
    fails(
        &folder,
        "-f lines -r good",
        "good: not sorted: line 2: b after a",
    );
    folder.write("keys", bytes(&[3, 2, 1]));
    fails(
        &folder,
        "keys",
        "keys: not sorted: index 1: 2 after 3 (descending? -r)",
    );
    folder.write("two", bytes(&[1, 2]));
    fails(&folder, "two good", "good looks like text");
    fails(&folder, "good missing", "missing: cannot read");
    fails(&folder, "-f text - -", "- is given twice");
    fails(
        &folder,
        "--by n good",
        "--by is for -f csv, tsv, npy, not for -f raw",
    );
    fails(
        &folder,
        "-f lines --type f32 good",
        "--type is for -f raw, text",
    );
}

#[test]
fn stdin_and_lists_of_names_are_merged() {
    let folder = Folder::new();
    folder.write("a", "1\n3\n");
    folder.write("list", "a\0-\0");
    for args in ["-f text a -", "-f text --files0-from list"] {
        let done = merge(&folder, args).write_stdin("2\n4").assert().code(0);
        done.stdout("1\n2\n3\n4\n");
    }
    let alone = merge(&folder, "-f lines").write_stdin("a\nb").assert();
    alone.code(0).stdout("a\nb\n");
}

/// More than are open at once, and more than the memory has room for: in passes.
#[test]
fn any_number_of_files_is_merged_in_any_memory() {
    let folder = Folder::new();
    let mut all = Vec::new();
    let mut names = Vec::new();
    for file in 0..150_u32 {
        let mut lines: Vec<String> = (0..(file * 7) % 60)
            .map(|line| format!("{} {file}.{line}\n", (line * 31 + file * 17) % 97))
            .collect();
        lines.sort_by_key(|line| line.split(' ').next().map(str::to_owned));
        names.push(format!("{file:03}"));
        folder.write(&names[file as usize], lines.concat());
        all.extend(lines);
    }
    all.sort_by_key(|line| line.split(' ').next().map(str::to_owned));
    let names = names.join(" ");
    merges(&folder, &format!("-f lines -k1,1 {names}"), all.concat());
    merges(
        &folder,
        &format!("-f lines -k1,1 -S 1M {names}"),
        all.concat(),
    );
    all.dedup_by_key(|line| line.split(' ').next().map(str::to_owned));
    merges(
        &folder,
        &format!("-f lines -k1,1 -S 2M -u {names}"),
        all.concat(),
    );
}

/// Files that are longer than the memory, and one that is before all others.
#[test]
fn long_files_are_merged_in_little_memory() {
    let folder = Folder::new();
    let keys =
        |start: u32, step: u32| -> Vec<u32> { (0..400_000).map(|i| start + i * step).collect() };
    let inputs = [keys(5_000_000, 3), keys(0, 1), keys(5_000_001, 2)];
    for (name, keys) in ["a", "b", "c"].iter().zip(&inputs) {
        folder.write(name, bytes(keys));
    }
    let mut all = inputs.concat();
    all.sort_unstable();
    merges(&folder, "-S 1M a b c", bytes(&all));
    all.dedup();
    merges(&folder, "-S 1M -u a b c", bytes(&all));
}

#[cfg(unix)]
#[test]
fn lines_are_those_of_gnu_sort() {
    let folder = Folder::new();
    let words = ["a", "B", "10", "9", "-1", "", "b c", "10.0"];
    let gnu = |args: &str| {
        let mut gnu = std::process::Command::new("sort");
        gnu.args(args.split_whitespace())
            .current_dir(folder.0.path());
        let done = gnu.env("LC_ALL", "C").output().unwrap();
        assert!(done.status.success(), "{args}");
        done.stdout
    };
    for args in ["", "-r", "-n", "-k2n", "-k1,1 -k2nr", "-t. -k2n", "-V"] {
        for file in 0..5_usize {
            let line = |i: usize| format!("{} {}", words[i % 7 % 8], words[i * (file + 3) % 8]);
            let lines: Vec<String> = (0..40 * file).map(line).collect();
            folder.write("lines", lines.join("\n"));
            folder.write(&file.to_string(), gnu(&format!("-s {args} lines")));
        }
        for unique in ["", "-u"] {
            let args = format!("{args} {unique} 0 1 2 3 4");
            merges(
                &folder,
                &format!("-f lines {args}"),
                gnu(&format!("-m -s {args}")),
            );
        }
    }
}

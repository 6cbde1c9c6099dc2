//! Sorts of small files of every format, from the options to the output.

mod arrays;
mod keys;
mod marks;
mod numbers;
mod tables;
mod tables_model;

use super::args::{RecordArgs, RecordKind};
use super::reader::ChunkReader;
use super::sorter::{Choose, Records};
use super::{Job, sort};
use crate::input::FileArgs;
use bcfsort_term::args::Checks;
use bcfsort_term::engine::Contender;
use bcfsort_term::fault::Fault;
use bcfsort_term::memory::Memory;
use std::fs;
use std::io::Cursor;
use std::path::Path;
use wgpu_bcfsort::{Options, RecordFormat, Sorter, adapters};

/// A sequence of numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % bound
    }

    fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len() as u64) as usize]
    }

    /// Some of these pieces, one after the other.
    fn text(&mut self, most: u64, pieces: &[&str]) -> String {
        (0..self.below(most + 1))
            .map(|_| self.pick(pieces))
            .collect()
    }
}

/// The options of a command line such as `-k1n --by a`.
fn options<T: clap::Args>(line: &str) -> T {
    let command = T::augment_args(clap::Command::new("sort").no_binary_name(true));
    let words = line.split_whitespace();
    let matches = command.try_get_matches_from(words).expect(line);
    T::from_arg_matches(&matches).expect(line)
}

/// A header and the sorted chunks of at most `budget` bytes; with `unique`, the first of equal
/// records in each.
fn sorted_chunks(
    (kind, unique): (RecordKind, bool),
    line: &str,
    reverse: bool,
    input: &[u8],
    budget: u64,
) -> Result<(Vec<u8>, Vec<Vec<u8>>), String> {
    let choose = &|_| Ok(Contender::cpu());
    sorted_chunks_by((kind, unique), line, reverse, input, budget, choose)
}

/// As [`sorted_chunks`], sorted by any contender.
fn sorted_chunks_by(
    (kind, unique): (RecordKind, bool),
    line: &str,
    reverse: bool,
    input: &[u8],
    budget: u64,
    choose: &Choose,
) -> Result<(Vec<u8>, Vec<Vec<u8>>), String> {
    let message = |fault: Fault| fault.message().unwrap_or_default().to_owned();
    let options = options::<RecordArgs>(line);
    let plan = options.plan(kind, reverse).map_err(message)?;
    let mut reader = ChunkReader::of_stream("file", Cursor::new(input.to_vec()));
    let (layout, header) = plan.open(&mut reader, budget).map_err(message)?;
    let records = Records::new(&*layout, unique, choose);
    let mut chunks = Vec::new();
    while let Some(mut chunk) = reader.next(&*layout, budget).map_err(message)? {
        let taken = chunk.len() + layout.count(&chunk) * Records::OVERHEAD;
        assert!(taken as u64 <= budget, "a chunk takes {taken} bytes");
        let mut sorted = Vec::new();
        let mut take = |block: &[u8]| {
            sorted.extend_from_slice(block);
            Ok(())
        };
        records.sort(&mut chunk, &mut take).map_err(message)?;
        chunks.push(sorted);
    }
    Ok((header, chunks))
}

fn sorted(kind: RecordKind, line: &str, reverse: bool, input: &[u8]) -> Result<Vec<u8>, String> {
    let (mut all, chunks) = sorted_chunks((kind, false), line, reverse, input, 1 << 30)?;
    all.extend(chunks.concat());
    Ok(all)
}

/// Checks that sorting `input` results in `expected`.
#[track_caller]
fn sorts(kind: RecordKind, line: &str, input: &str, expected: &str) {
    let result = sorted(kind, line, false, input.as_bytes()).expect(line);
    assert_eq!(String::from_utf8_lossy(&result), expected, "{line}");
}

/// Checks that sorting fails with this message.
#[track_caller]
fn fails(kind: RecordKind, line: &str, input: impl AsRef<[u8]>, expected: &str) {
    let result = sorted(kind, line, false, input.as_ref());
    assert_eq!(result.err().as_deref(), Some(expected), "{line}");
}

#[cfg(target_os = "linux")]
mod gnu {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    /// What GNU sort makes of the input.
    fn sort(line: &str, input: &[u8]) -> Vec<u8> {
        let mut process = Command::new("sort")
            .env("LC_ALL", "C")
            .arg("-s")
            .args(line.split(' ').filter(|word| !word.is_empty()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("GNU sort");
        let mut stdin = process.stdin.take().expect("its input");
        stdin.write_all(input).expect("its input");
        drop(stdin);
        let output = process.wait_with_output().expect("its output");
        assert!(output.status.success(), "{line}");
        output.stdout
    }

    /// Compares with GNU sort, which has the same options.
    fn compare(line: &str, input: &str) {
        let reverse = line.ends_with(" -r");
        let ours = line.strip_suffix(" -r").unwrap_or(line);
        for unique in [false, true] {
            let kind = (RecordKind::Lines, unique);
            let (_, chunks) =
                sorted_chunks(kind, ours, reverse, input.as_bytes(), 1 << 30).expect(line);
            let options = if unique {
                format!("{line} -u")
            } else {
                line.to_owned()
            };
            let expected = sort(&options, input.as_bytes());
            assert_eq!(
                String::from_utf8_lossy(&chunks.concat()),
                String::from_utf8_lossy(&expected),
                "{options} of {input:?}"
            );
        }
    }

    /// More than are sorted with their keys beside them.
    #[test]
    fn many_lines_that_begin_alike_are_in_the_order_of_gnu_sort() {
        let begin = "the same beginning ".repeat(3);
        for different in [1, 3000, u32::MAX] {
            let line = |i: u32| format!("{begin}{}\n", i.wrapping_mul(0x9e37_79b9) % different);
            let input: String = (0..20_000).map(line).collect();
            for options in ["", " -r", "-k2,2 -k4n"] {
                compare(options, &input);
            }
        }
    }

    #[test]
    fn lines_are_in_the_order_of_gnu_sort() {
        let keys = [
            "",
            "-n",
            " -r",
            "-n -r",
            "-k1",
            "-k2",
            "-k2,2",
            "-k1,1",
            "-k3,3 -k1,1",
            "-k1,2",
            "-k2n",
            "-k2,2n",
            "-k2nr",
            "-k2,2nr -k1,1r",
            "-k1,1 -k2,2n",
            "-k1b",
            "-k2b,2",
            "-k2,2b",
            "-k2.2",
            "-k2.2,2.3",
            "-k2.2b,2.3b",
            "-k1.3,1.2",
            "-k2.1,2.0",
            "-k2,2.1b",
            "-k9",
            "-k1.99",
            "-k1r -k2",
            "-k1,1n -r",
            "-k1,1 -k2,2n -r",
            "-n -k2",
            "-n -k2b",
            "-k3,1",
            "-k1.2,3.1r",
            "-k2,3n -k1r",
            "-k1.1",
            "-k1,1r -k2,2r",
            "-k2r,2",
        ];
        let pieces = [
            " ", "  ", "\t", "a", "b", "B", "1", "0", "-", ".", "12", ",", "\0", "é", "é\u{1}",
        ];
        let mut random = Random(1);
        for key in keys {
            for separator in ["", " -t,", " -t1"] {
                let line = match key.strip_suffix(" -r") {
                    Some(key) => format!("{key}{separator} -r"),
                    None => format!("{key}{separator}"),
                };
                let lines = random.below(60);
                let mut input: String =
                    (0..lines).map(|_| random.text(9, &pieces) + "\n").collect();
                input += &random.text(3, &pieces);
                compare(&line, &input);
            }
        }
    }

    #[test]
    fn numbers_of_any_length_are_in_the_order_of_gnu_sort() {
        let pieces = [
            "0", "1", "9", "10", "000", "5", ".", "-", " ", "12345678", "99999999", "x",
        ];
        let mut random = Random(2);
        for _ in 0..40 {
            let mut input = String::new();
            for _ in 0..200 {
                let most = [2, 4, 12, 40][random.below(4) as usize];
                input += random.pick(&["", "-", " ", "0", "\t-"]);
                input += &random.text(most, &pieces);
                input += "\n";
            }
            for line in ["-n", "-n -r", "-k1n", "-k1nr", "-k1,1n -k2,2nr"] {
                compare(line, &input);
            }
        }
    }

    #[test]
    fn many_equal_prefixes_are_in_the_order_of_gnu_sort() {
        let mut random = Random(3);
        let mut input = String::new();
        for index in 0..30_000_u64 {
            let path = ["a", "aa", "b/", "index.html"];
            input += "https://example.org/";
            if index % 3 > 0 {
                input += "a/much/longer/path/";
            }
            input += &random.text(if index % 2 == 0 { 2 } else { 30 }, &path);
            input += "\n";
        }
        for line in ["", " -r", "-k1,1 -k1r", "-k1.12 -k1,1"] {
            compare(line, &input);
        }
        // Keys that begin with each other, and one key only.
        let begins: String = (0..9000).map(|n| "a".repeat(n % 600) + "\n").collect();
        compare("", &begins);
        compare(" -r", &begins);
        let one: Vec<String> = (0..9000).map(|n| format!("the same key,{n}\n")).collect();
        compare("-k1,1 -t,", &one.concat());
    }
}

/// Records of which most tie in the first 64 bits of their keys.
#[test]
fn a_gpu_sorts_ties_as_the_cpu_does() {
    if adapters().is_empty() {
        return;
    }
    let gpu = |_| Ok(Contender::of(Sorter::open(Options::default())?));
    assert!(gpu(1).is_ok_and(|gpu| gpu.pays_on_gpu(1 << 14)));
    let mut random = Random(6);
    let words = [
        "GET ", "/index", "/images", "\"\"", "\0", "\u{ff}", "?user=", "a",
    ];
    let mut lines = String::new();
    let mut rows = String::new();
    for index in 0..40_000_u64 {
        let text = match index % 8 {
            0 => "the same text in many".to_owned(),
            1 => "a".repeat(index as usize % 600),
            _ => random.text(12, &words),
        };
        let user = random.below(30);
        lines += &format!("192.168.0.{user} {text}\n");
        rows += &format!("\"{text}\",{user}\n");
    }
    for (kind, line, input) in [
        (RecordKind::Lines, "", &lines),
        (RecordKind::Lines, "-k2,2r -k1,1", &lines),
        (RecordKind::Csv, "--no-header --by 1,2:u32", &rows),
        (RecordKind::Csv, "--no-header --by 1:desc", &rows),
    ] {
        for unique in [false, true] {
            let kind = (kind, unique);
            let (input, all) = (input.as_bytes(), 1 << 30);
            let on_cpu = sorted_chunks(kind, line, false, input, all);
            let on_gpu = sorted_chunks_by(kind, line, false, input, all, &gpu);
            assert!(
                on_cpu.expect(line) == on_gpu.expect(line),
                "{line} {unique}"
            );
        }
    }
}

#[test]
fn lines_end_with_a_newline() {
    sorts(RecordKind::Lines, "", "b\na", "a\nb\n");
    sorts(RecordKind::Lines, "", "", "");
    sorts(RecordKind::Lines, "", "\n\nb\r\na\r\n", "\n\na\r\nb\r\n");
}

#[test]
fn chunks_hold_whole_records_within_their_budget() {
    let mut random = Random(4);
    let lines: String = (0..2000)
        .map(|_| random.text(20, &["a", "b"]) + "\n")
        .collect();
    let rows: Vec<String> = (0..2000)
        .map(|_| {
            let cell = random.text(9, &["a", "\n", "\"\"", ","]);
            format!("\"{cell}\",{}\r\n", random.below(50))
        })
        .collect();
    let rows = rows.concat();
    let structs: Vec<u8> = (0..7 * 3000).map(|_| random.below(256) as u8).collect();
    let cases = [
        (RecordKind::Lines, "", lines.as_bytes()),
        (RecordKind::Csv, "--no-header --by 1", rows.as_bytes()),
        (RecordKind::Fixed, "--record 7 --key 1:u32", &structs),
    ];
    for (kind, line, input) in cases {
        let whole = sorted(kind, line, false, input).expect(line);
        for budget in [100, 1000, 5000, 100_000] {
            let (_, chunks) = sorted_chunks((kind, false), line, false, input, budget).expect(line);
            assert!(chunks.len() > 1 || budget == 100_000, "{line} {budget}");
            let again = sorted(kind, line, false, &chunks.concat()).expect(line);
            assert_eq!(again.len(), input.len(), "{line} {budget}");
            // Equal records keep their order within each chunk, so sorting twice is the same.
            assert_eq!(again, whole, "{line} {budget}");
        }
    }
}

#[test]
fn a_record_that_no_chunk_can_hold_is_an_error() {
    let input = format!("short\n{}\n", "x".repeat(300));
    let result = sorted_chunks((RecordKind::Lines, false), "", false, input.as_bytes(), 200);
    assert_eq!(
        result.err().as_deref(),
        Some(
            "file: line 2, byte 6: a record takes more than the 200 bytes of memory for a chunk: \
             allow more --memory"
        )
    );
}

#[test]
fn a_format_finds_counts_and_splits_its_records() {
    let mut random = Random(5);
    let lines: String = (0..300)
        .map(|_| random.text(6, &["a", "b", " "]) + "\n")
        .collect();
    let rows: Vec<String> = (0..300)
        .map(|_| {
            format!(
                "{},\"{}\"\n",
                random.below(9),
                random.text(4, &["a", "\n", "\"\""])
            )
        })
        .collect();
    let rows = rows.concat();
    let structs: Vec<u8> = (0..3 * 300).map(|_| random.below(4) as u8).collect();
    let cases = [
        (RecordKind::Lines, "-k2,2 -k1r", lines.as_bytes()),
        (RecordKind::Csv, "--no-header --by 2:desc", rows.as_bytes()),
        (RecordKind::Csv, "--no-header --by 1:u32", rows.as_bytes()),
        (RecordKind::Fixed, "--record 3 --key 1:bytes2", &structs),
    ];
    for (kind, line, input) in cases {
        let bytes = sorted(kind, line, false, input).expect(line);
        let mut reader = ChunkReader::of_stream("file", Cursor::new(Vec::new()));
        let plan = options::<RecordArgs>(line).plan(kind, false).expect(line);
        let (layout, _) = plan.open(&mut reader, 1000).expect(line);
        let records = Records::new(&*layout, false, &|_| Ok(Contender::cpu()));
        let bounds = layout.bounds(&bytes);
        let count = bounds.len();
        assert_eq!((count, bounds.end(count)), (300, bytes.len()), "{line}");
        let keys: Vec<Vec<u8>> = (0..count)
            .map(|index| records.key(&bytes[bounds.end(index)..]))
            .collect();
        assert!(keys.is_sorted(), "{line}");
        for index in 0..=count {
            let end = bounds.end(index);
            assert_eq!(records.count(&bytes[..end]), index, "{line}");
            let next = bounds.end((index + 1).min(count));
            for units in end.max(1)..next.max(end + 1) {
                let expected = if index == 0 { next } else { end };
                assert_eq!(
                    records.cut(&bytes, units),
                    expected,
                    "{line}: {units} units"
                );
            }
        }
        for key in &keys {
            let before = keys.iter().filter(|other| *other < key).count();
            let up_to = keys.iter().filter(|other| *other <= key).count();
            assert_eq!(
                records.split(&bytes, key, false),
                bounds.end(before),
                "{line}"
            );
            assert_eq!(
                records.split(&bytes, key, true),
                bounds.end(up_to),
                "{line}"
            );
        }
        assert_eq!(records.split(&[], &keys[0], true), 0, "{line}");
    }
}

#[test]
fn rows_are_sorted_by_columns_and_move_unchanged() {
    use RecordKind::{Csv, Tsv};
    let people = "name,age\r\n\"b, \"\"x\"\"\",30\r\na,4\r\n\"a\nb\",30\r\nc,-1.5e1";
    let by_age = "name,age\r\nc,-1.5e1\r\na,4\r\n\"b, \"\"x\"\"\",30\r\n\"a\nb\",30\r\n";
    sorts(Csv, "--by age:num", people, by_age);
    sorts(Csv, "--by 2:f64", people, by_age);
    sorts(
        Csv,
        "--by age:num:desc,name",
        people,
        "name,age\r\n\"a\nb\",30\r\n\"b, \"\"x\"\"\",30\r\na,4\r\nc,-1.5e1\r\n",
    );
    sorts(
        Csv,
        "--by name:desc",
        people,
        "name,age\r\nc,-1.5e1\r\n\"b, \"\"x\"\"\",30\r\n\"a\nb\",30\r\na,4\r\n",
    );
    sorts(Tsv, "--by b", "a\tb\n1\ty\n2\tx\n", "a\tb\n2\tx\n1\ty\n");
    sorts(Csv, "--by b -t;", "a;b\n1;y,\n2;x\n", "a;b\n2;x\n1;y,\n");
    sorts(Csv, "--no-header --by 1", "b,1\na,2\n", "a,2\nb,1\n");
    // A name that is a number, a name with a colon, and the mark of UTF-8 files.
    sorts(Csv, "--by 2", "2,1\nb,1\na,2\n", "2,1\na,2\nb,1\n");
    sorts(
        Csv,
        "--by a:b",
        "\u{feff}a:b,c\ny,1\nx,2\n",
        "\u{feff}a:b,c\nx,2\ny,1\n",
    );
    sorts(
        Csv,
        "--by \"a\"",
        "\"\"\"a\"\"\",c\ny,1\nx,2\n",
        "\"\"\"a\"\"\",c\nx,2\ny,1\n",
    );
    // Quotes within a cell have no meaning, and 0 equals -0.
    sorts(
        Csv,
        "--by b:num",
        "a,b\n5\",-0\ny\"z,0\n",
        "a,b\n5\",-0\ny\"z,0\n",
    );
    sorts(
        Csv,
        "--by a",
        "a,b\nb\",2\nb,1\n\"b\",3\n",
        "a,b\nb,1\n\"b\",3\nb\",2\n",
    );
    // Nothing to sort.
    sorts(Csv, "--by a", "", "");
    sorts(Csv, "--by a", "a,b", "a,b\n");
    sorts(Csv, "--by a", "a,b\r\n", "a,b\r\n");
    sorts(Csv, "--no-header --by 1", "", "");
}

#[test]
fn the_direction_of_the_command_reverses_every_column() {
    let result = sorted(
        RecordKind::Csv,
        "--by a,b:desc",
        true,
        b"a,b\n1,1\n1,2\n2,3\n",
    );
    assert_eq!(result.as_deref(), Ok(&b"a,b\n2,3\n1,1\n1,2\n"[..]));
    let fields = "--record 2 --key 0:u8,1:u8:desc";
    let result = sorted(RecordKind::Fixed, fields, true, &[1, 2, 1, 1, 2, 3]);
    assert_eq!(result.as_deref(), Ok(&[2, 3, 1, 1, 1, 2][..]));
}

#[test]
fn rows_that_cannot_be_sorted_are_errors() {
    use RecordKind::Csv;
    let cases = [
        (
            "--by b:u32",
            "a,b\nx,1\n\"y\n\",-2\nz,3\n",
            "file: line 4, byte 13: column 'b': '-2' is not a valid u32",
        ),
        (
            "--by b:num",
            "a,b\nx,inf\n",
            "file: line 2, byte 6: column 'b': 'inf' is not a number",
        ),
        (
            "--by 2:i64:missing=error",
            "a,b\nx,1\ny,\"\"\n",
            "file: line 3, byte 10: column '2': '' is not a valid i64",
        ),
        (
            "--by c:missing=error",
            "a,b,c\n1,2,3\n1,2\n",
            "file: line 3, byte 12: the row has 2 cells, but column 'c' is number 3",
        ),
        (
            "--by b:missing=error",
            "a,b\n1,2\n3\n",
            "file: line 3, byte 8: the row has 1 cell, but column 'b' is number 2",
        ),
        (
            "--by d",
            "a,\"b c\"\n1,2\n",
            "file: --by d: there is no such column: the header has 'a', 'b c'",
        ),
        (
            "--by 3",
            "a,b\n1,2\n",
            "file: --by 3: there is no such column: the header has 'a', 'b'",
        ),
        (
            "--by a",
            "a,b,a\n1,2,3\n",
            "file: --by a: several columns have this name: give the column's number",
        ),
        (
            "--by a --no-header",
            "1,2\n",
            "--by a: without a header, columns have numbers, from 1",
        ),
        (
            "--by a",
            "a,b\n1,2\n\"3,4\n5,6\n",
            "file: line 3, byte 8: a quoted cell of this record has no end",
        ),
        ("", "a,b\n", "-f csv needs --by COLUMN"),
        (
            "--by a -t\"",
            "a\n",
            "cells are quoted with '\\\"', so it cannot separate them: --quote none, or another \
             separator",
        ),
    ];
    for (line, input, expected) in cases {
        fails(Csv, line, input, expected);
    }
}

#[test]
fn structs_are_sorted_by_fields() {
    /// Records of a field and their number, sorted by the field.
    fn by<const N: usize>(key: &str, values: &[[u8; N]]) -> Vec<u8> {
        let input: Vec<u8> = values
            .iter()
            .zip(0..)
            .flat_map(|(value, index)| [&[index], &value[..]].concat())
            .collect();
        let line = format!("--record {} --key 1:{key}", N + 1);
        let result = sorted(RecordKind::Fixed, &line, false, &input).expect(key);
        result.chunks(N + 1).map(|record| record[0]).collect()
    }
    assert_eq!(by("u8", &[[200], [3], [200], [0]]), [3, 1, 0, 2]);
    assert_eq!(by("i8", &[[200], [3], [200], [0]]), [0, 2, 3, 1]);
    assert_eq!(by("u8:desc", &[[200], [3], [200], [0]]), [0, 2, 1, 3]);
    assert_eq!(by("u16", &[[0, 1], [1, 0], [2, 0]]), [1, 2, 0]);
    assert_eq!(by("u16:be", &[[0, 2], [1, 0], [0, 1]]), [2, 0, 1]);
    assert_eq!(by("i16:be:desc", &[[0xff, 2], [1, 0], [0, 1]]), [1, 2, 0]);
    let floats = [1.5_f32, -0.0, f32::NEG_INFINITY, 0.0, f32::NAN, -3.0];
    assert_eq!(by("f32", &floats.map(f32::to_le_bytes)), [2, 5, 1, 3, 0, 4]);
    assert_eq!(
        by("f32:be", &floats.map(f32::to_be_bytes)),
        [2, 5, 1, 3, 0, 4]
    );
    let integers = [5_i64, -1, i64::MAX, i64::MIN];
    assert_eq!(by("i64", &integers.map(i64::to_le_bytes)), [3, 1, 0, 2]);
    assert_eq!(by("u64", &integers.map(i64::to_le_bytes)), [0, 2, 3, 1]);
    assert_eq!(
        by("f64:desc", &[-1.0_f64, 2.0].map(f64::to_le_bytes)),
        [1, 0]
    );
    let strings = [*b"abcdefghij", *b"abcdefghia", *b"abcdefgh\0z"];
    assert_eq!(by("bytes10", &strings), [2, 1, 0]);
    assert_eq!(by("bytes10:desc", &strings), [0, 1, 2]);
    assert_eq!(by("bytes8,10:u8", &strings), [1, 0, 2]);
}

#[test]
fn records_of_the_sort_benchmark_are_sorted_by_ten_bytes() {
    let mut random = Random(6);
    let mut records: Vec<Vec<u8>> = (0..500_u32)
        .map(|index| {
            let mut record: Vec<u8> = (0..10).map(|_| random.below(2) as u8).collect();
            record.extend_from_slice(&index.to_be_bytes());
            record.resize(100, b'x');
            record
        })
        .collect();
    let input = records.concat();
    let result = sorted(RecordKind::Gensort, "", false, &input);
    records.sort_by(|a, b| a[..10].cmp(&b[..10]));
    assert_eq!(result, Ok(records.concat()));
    let result = sorted(RecordKind::Gensort, "", true, &input);
    records.sort_by(|a, b| b[..10].cmp(&a[..10]).then(a.cmp(b)));
    assert_eq!(result, Ok(records.concat()));
}

#[test]
fn wrong_options_are_errors() {
    use RecordKind::{Fixed, Gensort, Lines};
    let cases = [
        (
            Lines,
            "--by a",
            "--by is for -f csv, tsv, npy, not for -f lines",
        ),
        (
            Lines,
            "--record 4",
            "--record is for -f fixed, not for -f lines",
        ),
        (
            Gensort,
            "-n",
            "--numeric is for -f lines, not for -f gensort",
        ),
        (
            Gensort,
            "-k1",
            "--key is for -f lines, fixed, not for -f gensort",
        ),
        (
            Gensort,
            "-t,",
            "--field-separator is for -f lines, csv, tsv, not for -f gensort",
        ),
        (Fixed, "", "-f fixed needs --record BYTES, at least 1"),
        (
            Fixed,
            "--record 0",
            "-f fixed needs --record BYTES, at least 1",
        ),
        (Fixed, "--record 4", "-f fixed needs --key OFFSET:TYPE"),
        (
            Fixed,
            "--record 4 --key 1:u32",
            "--key 1:u32: it ends at byte 5, and a record has 4 bytes",
        ),
        (
            Fixed,
            "--record 4 --key 0:u24",
            "--key 0:u24: 'u24' is no type: u8, i8, u16, i16, f16, bf16, u32, i32, f32, u64, i64, \
             f64 or bytesN",
        ),
        (
            Fixed,
            "--record 4 --key u32",
            "--key u32: 'u32' is not a number of bytes: OFFSET:TYPE[:desc][:be] is needed",
        ),
        (
            Fixed,
            "--record 4 --key 0:bytes4:be",
            "--key 0:bytes4:be: 'be' is for numbers",
        ),
        (
            Fixed,
            "--record 4 --key 0:u32:asc",
            "--key 0:u32:asc: unknown option 'asc': use desc or be",
        ),
    ];
    for (kind, line, expected) in cases {
        fails(kind, line, "", expected);
    }
    fails(
        Fixed,
        "--record 4 --key 0:u32",
        "123456",
        "file: byte 4: the last record has 2 of 4 bytes: the file was cut short, or its records \
         have another size",
    );
}

/// Sorts a file into another one with this memory.
fn sort_file(
    kind: RecordKind,
    line: &str,
    [input, output]: [&Path; 2],
    memory: &str,
    verify: bool,
) -> Result<(), String> {
    sort_files(kind, line, (&[input], output), memory, verify)
}

/// Sorts files into another one with this memory.
fn sort_files(
    kind: RecordKind,
    line: &str,
    (inputs, output): (&[&Path], &Path),
    memory: &str,
    verify: bool,
) -> Result<(), String> {
    let plan = options::<RecordArgs>(line).plan(kind, false);
    let files = FileArgs::of(inputs);
    let sorted = sort(Job {
        inputs: files.inputs(kind.tells_codec()).expect("files"),
        files: &files,
        output,
        plan: plan.expect(line),
        unique: false,
        choose: &|_| Ok(Contender::cpu()),
        memory: &options::<Memory>(&format!("--memory {memory}")),
        checks: &options::<Checks>(if verify { "--verify" } else { "" }),
        quiet: true,
    });
    sorted.map_err(|fault| fault.message().unwrap_or_default().to_owned())
}

#[test]
fn the_command_sorts_files_of_any_size() {
    let directory = tempfile::tempdir().expect("a directory");
    let (input, output) = (directory.path().join("in"), directory.path().join("out"));
    let files = [input.as_path(), output.as_path()];
    // More than one thread reads and gathers at a time. The rows that equal in the column are equal
    // at a border of chunks, too, and some span lines.
    let rows: Vec<String> = (0..400_000_u64)
        .map(|row| format!("{},\"{row}\n\"\n", row.wrapping_mul(0x9e37_79b9) % 1000))
        .collect();
    let mut sorted = rows.clone();
    sorted.sort_by_key(|row| {
        row.split(',')
            .next()
            .and_then(|number| number.parse::<u32>().ok())
    });
    let header = "number,row\n".to_owned();
    fs::write(&input, header.clone() + rows.concat().trim_end()).expect("the input");
    for (line, memory, verify) in [
        ("--by number:u32", "1G", true),
        ("--by 1:num", "1G", false),
        ("--by 1:num", "6M", true),
        ("--by number:u32", "3M", false),
    ] {
        sort_file(RecordKind::Csv, line, files, memory, verify).expect(line);
        let result = fs::read_to_string(&output).expect("the output");
        assert!(
            result == header.clone() + &sorted.concat(),
            "{line} {memory}"
        );
    }
    // Strings without a number sort the same in one part and in many.
    sort_file(RecordKind::Lines, "-k1.2 -t,", files, "1G", true).expect("lines");
    let whole = fs::read(&output).expect("the output");
    sort_file(RecordKind::Lines, "-k1.2 -t,", files, "12M", true).expect("lines");
    assert!(fs::read(&output).expect("the output") == whole);
}

#[test]
fn a_partial_record_is_seen_before_any_work() {
    let directory = tempfile::tempdir().expect("a directory");
    let (input, output) = (directory.path().join("in"), directory.path().join("out"));
    fs::write(&input, [0; 130]).expect("the input");
    let fields = "--record 7 --key 0:u8";
    let result = sort_file(RecordKind::Fixed, fields, [&input, &output], "1M", false);
    assert_eq!(
        result,
        Err(format!(
            "{}: byte 126: the last record has 4 of 7 bytes: the file was cut short, or its \
             records have another size",
            input.display()
        ))
    );
    assert!(!output.exists());
}

/// A .npy file of version 1, as `numpy.save` writes it.
fn npy(dtype: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let dict = format!("{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}");
    npy_of([1, 0], &dict, data)
}

/// A .npy file of a version with this text in its header.
fn npy_of(version: [u8; 2], dict: &str, data: &[u8]) -> Vec<u8> {
    let start = if version[0] == 1 { 10 } else { 12 };
    let end = (start + dict.len() + 1).next_multiple_of(64);
    let text = format!("{dict}{}\n", " ".repeat(end - start - 1 - dict.len()));
    let mut file = b"\x93NUMPY".to_vec();
    file.extend(version);
    file.extend(&(text.len() as u32).to_le_bytes()[..start - 8]);
    file.extend(text.as_bytes());
    assert_eq!(file.len(), end);
    file.extend(data);
    file
}

#[test]
fn arrays_of_every_type_are_sorted() {
    /// Checks that the values, which are in order, come out in order from every other one.
    fn check<const N: usize>(code: &str, ordered: &[[u8; N]]) {
        let count = ordered.len();
        for big_endian in [false, true] {
            let element = |value: &[u8; N]| {
                let mut bytes = *value;
                if big_endian {
                    bytes.reverse();
                }
                bytes
            };
            let mark = match (N, big_endian) {
                (1, _) => '|',
                (_, true) => '>',
                (_, false) => '<',
            };
            let file = |values: &[[u8; N]]| {
                let data = values.iter().map(element).collect::<Vec<_>>().concat();
                npy(&format!("'{mark}{code}'"), &format!("({count},)"), &data)
            };
            let mut shuffled = ordered.to_vec();
            shuffled.reverse();
            shuffled.rotate_left(count / 3);
            let result = sorted(RecordKind::Npy, "", false, &file(&shuffled));
            assert_eq!(result.as_ref(), Ok(&file(ordered)), "{mark}{code}");
            let mut descending = ordered.to_vec();
            descending.reverse();
            let result = sorted(RecordKind::Npy, "", true, &file(&shuffled));
            assert_eq!(result, Ok(file(&descending)), "{mark}{code}, descending");
        }
    }
    check("u1", &[0_u8, 1, 127, 128, 255].map(u8::to_le_bytes));
    check("i1", &[-128_i8, -1, 0, 1, 127].map(i8::to_le_bytes));
    check("b1", &[[0], [0], [1], [1]]);
    check("u2", &[0_u16, 255, 256, 0x8000].map(u16::to_le_bytes));
    check("i2", &[i16::MIN, -256, -1, 0, 300].map(i16::to_le_bytes));
    check("u4", &[0_u32, 255, 1 << 8, 1 << 31].map(u32::to_le_bytes));
    check("i4", &[i32::MIN, -1, 0, 1 << 8].map(i32::to_le_bytes));
    check("u8", &[0_u64, 255, 1 << 8, 1 << 63].map(u64::to_le_bytes));
    check("i8", &[i64::MIN, -1, 0, 1 << 8].map(i64::to_le_bytes));
    check(
        "M8[ns]",
        &[i64::MIN + 1, -1, 0, 1 << 8].map(i64::to_le_bytes),
    );
    check(
        "m8[D]",
        &[i64::MIN + 1, -1, 0, 1 << 8].map(i64::to_le_bytes),
    );
    // -NaN, -inf, -1.5, -0, 0, the least positive number, 1, inf, NaN.
    let halves = [
        0xfe00_u16, 0xfc00, 0xbe00, 0x8000, 0, 1, 0x3c00, 0x7c00, 0x7e00,
    ];
    check("f2", &halves.map(u16::to_le_bytes));
    let (inf, nan) = (f32::INFINITY, f32::from_bits(0x7fc0_0000));
    let floats = [-nan, -inf, -1.5, -0.0, 0.0, 1e-45, 1.0, inf, nan];
    check("f4", &floats.map(f32::to_le_bytes));
    check("f8", &floats.map(f64::from).map(f64::to_le_bytes));
}

#[test]
fn structured_arrays_are_sorted_by_fields() {
    let dtype = "[('id', '<u2'), ('', '|V1'), ('at', [('x', '<f4'), ('y', '<f4')]), \
                 ('name', '|S3'), ('score', '>i4'), ('rgb', '|u1', (3,)), ('half', '<f2')]";
    let record = |id: u16, score: i32, half: u16| {
        [
            &id.to_le_bytes()[..],
            &[0xaa; 1 + 8 + 3],
            &score.to_be_bytes(),
            &[0xbb; 3],
            &half.to_le_bytes(),
        ]
        .concat()
    };
    let records = [
        record(300, -5, 0x3c00),
        record(2, 7, 0xbc00),
        record(1, -5, 0x3c00),
        record(299, 70_000, 0),
    ];
    let file = |order: [usize; 4]| npy(dtype, "(4,)", &order.map(|i| &records[i][..]).concat());
    for (by, order) in [
        ("id", [2, 1, 3, 0]),
        ("id:desc", [0, 3, 1, 2]),
        ("score", [0, 2, 1, 3]),
        ("score:desc,id", [3, 1, 2, 0]),
        ("half", [1, 3, 0, 2]),
        ("half:desc,score,id", [2, 0, 3, 1]),
    ] {
        let line = format!("--by {by}");
        let result = sorted(RecordKind::Npy, &line, false, &file([0, 1, 2, 3]));
        assert_eq!(result, Ok(file(order)), "{by}");
    }
    let result = sorted(
        RecordKind::Npy,
        "--by score,id:desc",
        true,
        &file([0, 1, 2, 3]),
    );
    assert_eq!(result, Ok(file([3, 1, 2, 0])));
    let failures = [
        (
            "",
            "a structured array needs --by FIELD: it has 'id', 'at', 'name', 'score', 'rgb', 'half'",
        ),
        (
            "--by x",
            "--by x: there is no such field: the array has 'id', 'at', 'name', 'score', 'rgb', 'half'",
        ),
        (
            "--by id,",
            "--by : there is no such field: the array has 'id', 'at', 'name', 'score', 'rgb', 'half'",
        ),
        ("--by at", "--by at: the field is a struct, not a number"),
        ("--by rgb", "--by rgb: the field is an array, not a number"),
        (
            "--by name",
            "--by name: '|S3' cannot be sorted: these are strings",
        ),
    ];
    for (line, expected) in failures {
        let expected = format!("file: {expected}");
        fails(RecordKind::Npy, line, file([0, 1, 2, 3]), &expected);
    }
}

#[test]
fn headers_of_every_version_pass_unchanged() {
    let dict = "{'descr': '<u4', 'fortran_order': True, 'shape': (3,), }";
    for version in [[1, 0], [2, 0], [3, 0]] {
        let file = |values: [u32; 3]| npy_of(version, dict, &values.map(u32::to_le_bytes).concat());
        let result = sorted(RecordKind::Npy, "", false, &file([3, 1 << 20, 2]));
        assert_eq!(result, Ok(file([2, 3, 1 << 20])), "{version:?}");
    }
    let none = npy("'<f8'", "(0,)", &[]);
    assert_eq!(sorted(RecordKind::Npy, "", false, &none), Ok(none));
    let named = "{'descr': [('größe', '|u1')], 'fortran_order': False, 'shape': (2,), }";
    let result = sorted(
        RecordKind::Npy,
        "--by größe",
        false,
        &npy_of([3, 0], named, &[2, 1]),
    );
    assert_eq!(result, Ok(npy_of([3, 0], named, &[1, 2])));
}

#[test]
fn arrays_that_cannot_be_sorted_are_errors() {
    let fails = |file: Vec<u8>, expected: &str| {
        fails(RecordKind::Npy, "", file, &format!("file: {expected}"));
    };
    let not = "this is no .npy file: it does not begin with \\x93NUMPY";
    fails(Vec::new(), not);
    fails(b"1\n2\n3\n".to_vec(), not);
    fails(b"PK\x03\x04 and the rest of an archive".to_vec(), not);
    let good = npy("'<u4'", "(2,)", &[0; 8]);
    for length in [6, 7, 11, 12, 127] {
        fails(good[..length].to_vec(), "the file ends in its header");
    }
    fails(
        npy_of([4, 0], "{}", &[]),
        "version 4.0 of .npy files is not supported",
    );
    fails(
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(),
        "the header is longer than 64 KiB",
    );
    let nested = "[('a', ".repeat(9);
    fails(
        npy(&nested, "(2,)", &[]),
        "the header is wrong: it is nested more than 8 deep",
    );
    fails(
        npy_of([1, 0], "{'descr': '<u4', 'shape': (2,), }", &[0; 8]),
        "the header is wrong: the key 'fortran_order' is missing",
    );
    for shape in ["()", "(3, 4)", "(1, 2, 0)"] {
        let told = format!("the array has the shape {shape}: -f npy sorts arrays of one dimension");
        fails(npy("'<u4'", shape, &[0; 48]), &told);
    }
    fails(
        npy("'<u8'", "(4611686018427387904,)", &[]),
        "no file has room for the shape (4611686018427387904,)",
    );
    for (dtype, what) in [
        ("<c8", "complex numbers, which have no order"),
        ("|O", "Python objects"),
        ("|S5", "strings"),
        ("<U5", "strings"),
        ("|V5", "bytes without a meaning"),
        ("<f16", "floats of more than 64 bits"),
    ] {
        let told = format!("'{dtype}' cannot be sorted: these are {what}");
        fails(npy(&format!("'{dtype}'"), "(2,)", &[0; 80]), &told);
    }
    // 128 bytes of header.
    fails(
        npy("'<u4'", "(3,)", &[0; 11]),
        "the file has 139 bytes, but should have 140 by the shape (3,) in its header",
    );
    fails(
        npy("'<u4'", "(0,)", &[0; 1]),
        "the file has 129 bytes or more, but should have 128 by the shape (0,) in its header",
    );
    let long = npy("'|u1'", "(300000,)", &vec![0; 300_001]);
    fails(
        long,
        "the file has 300129 bytes or more, but should have 300128 by the shape (300000,) in its \
         header",
    );
}

#[test]
fn options_of_arrays_are_checked() {
    use RecordKind::{Fixed, Npy};
    let plain = npy("'<u4'", "(2,)", &[0; 8]);
    let cases = [
        (
            Npy,
            "--by a",
            "file: --by is for structured arrays: the elements of this one are '<u4'",
        ),
        (Npy, "-k1", "--key is for -f lines, fixed, not for -f npy"),
        (
            Npy,
            "-t,",
            "--field-separator is for -f lines, csv, tsv, not for -f npy",
        ),
        (
            Fixed,
            "--by a",
            "--by is for -f csv, tsv, npy, not for -f fixed",
        ),
    ];
    for (kind, line, expected) in cases {
        fails(kind, line, &plain, expected);
    }
    let objects = npy("[('a', '<u4'), ('b', '|O')]", "(2,)", &[0; 8]);
    let told = "file: field 'b' holds objects, which stand elsewhere";
    fails(Npy, "--by a", objects, told);
}

#[test]
fn arrays_of_any_size_are_sorted_from_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let (input, output) = (directory.path().join("in"), directory.path().join("out"));
    let files = [input.as_path(), output.as_path()];
    // 6 bytes are no divisor of the 128 bytes of the header.
    let dtype = "[('key', '>u2'), ('row', '<u4')]";
    let mut rows: Vec<(u16, u32)> = (0..100_000_u32)
        .map(|row| ((row.wrapping_mul(0x9e37_79b9) >> 20) as u16, row))
        .collect();
    let file = |rows: &[(u16, u32)]| {
        let data = rows.iter().flat_map(|(key, row)| {
            let (key, row) = (key.to_be_bytes(), row.to_le_bytes());
            [key[0], key[1], row[0], row[1], row[2], row[3]]
        });
        npy(dtype, "(100000,)", &data.collect::<Vec<u8>>())
    };
    let unsorted = file(&rows);
    fs::write(&input, &unsorted).expect("the input");
    rows.sort_unstable();
    for memory in ["1G", "1M"] {
        sort_file(RecordKind::Npy, "--by key", files, memory, true).expect(memory);
        assert!(
            fs::read(&output).expect("the output") == file(&rows),
            "{memory}"
        );
    }
    fs::remove_file(&output).expect("the output");
    let end = unsorted.len();
    for (bytes, size) in [
        (&unsorted[..end - 6], end - 6),
        (&[&unsorted[..], &[0; 6]].concat(), end + 6),
    ] {
        fs::write(&input, bytes).expect("the input");
        let result = sort_file(RecordKind::Npy, "--by key", files, "1G", false);
        assert_eq!(
            result,
            Err(format!(
                "{}: the file has {size} bytes, but should have {end} by the shape (100000,) in \
                 its header",
                input.display()
            ))
        );
        assert!(!output.exists());
    }
}

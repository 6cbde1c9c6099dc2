//! Sorts of records: formats, engines, and large inputs in little memory.

use assert_cmd::Command;
use predicates::str::contains;
use std::fs;
use tempfile::TempDir;

pub(super) fn cli() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"));
    command.env_remove("RUST_LOG");
    command.env("WGPU_BCFSORT_CACHE_DIR", "");
    command
}

/// `sort` on the CPU, with arguments as in a shell, but without quotes.
pub(super) fn sort(args: &str) -> Command {
    let mut command = cli();
    command.args(["sort", "--engine", "cpu"]);
    command.args(args.split_whitespace());
    command
}

/// The output of a sort that succeeds.
fn sorted(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    output.stdout
}

/// A directory of its own for each test.
pub(super) struct Folder(pub(super) TempDir);

impl Folder {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn name(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    pub(super) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.name(name), content).unwrap();
        self.name(name)
    }

    /// The names of all files, hidden ones too.
    pub(super) fn list(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// Random numbers: a linear congruential generator, of which the upper bits are taken.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, end: usize) -> usize {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    pub(super) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }

    fn letters(&mut self, count: usize) -> String {
        (0..count)
            .map(|_| char::from(b'a' + self.below(26) as u8))
            .collect()
    }
}

mod formats {
    use super::*;

    /// Sorts from stdin, from a file, and a file onto itself, each with `--verify`. `count` is the
    /// number of records, without a header.
    fn check(args: &str, input: impl AsRef<[u8]>, expected: impl AsRef<[u8]>, count: usize) {
        let (input, expected) = (input.as_ref(), expected.as_ref());
        let told =
            format!("wgpu-bcfsort: verified: {count} records, sorted, the same as in the input\n");
        let folder = Folder::new();
        let file = folder.write("records", input);
        let mut runs = [
            sort(&format!("{args} --verify")),
            sort(&format!("{args} --verify")),
            sort(&format!("{args} --verify")),
        ];
        runs[0].write_stdin(input);
        runs[1].arg(&file);
        runs[2].args([&file, "-o", &file]);
        for (index, run) in runs.iter_mut().enumerate() {
            let done = run.assert().code(0).stderr(told.clone());
            let stdout = &done.get_output().stdout;
            let wanted = if index < 2 { expected } else { &[] };
            let text = String::from_utf8_lossy(stdout);
            assert_eq!(text, String::from_utf8_lossy(wanted), "{args}");
        }
        assert_eq!(fs::read(&file).unwrap(), expected, "{args}");
        assert_eq!(folder.list(), ["records"]);
    }

    #[test]
    fn lines_may_have_any_bytes() {
        check(
            "-f lines",
            "b\0x\nb\n\u{e9}\na\n",
            "a\nb\nb\0x\n\u{e9}\n",
            4,
        );
        // A carriage return is a byte of the line, and a last line gets a newline alone.
        check("-f lines", "b\r\na\r\nab\r\na", "a\na\r\nab\r\nb\r\n", 4);
    }

    #[test]
    fn cells_may_have_line_ends_and_quotes() {
        let table = "name,price\n\"b\nc\",2.50\na,10\n\"a\"\"q\",1e1\nd,-3";
        let by_price = "name,price\nd,-3\n\"b\nc\",2.50\na,10\n\"a\"\"q\",1e1\n";
        for kind in ["num", "f32", "f64"] {
            check(&format!("-f csv --by price:{kind}"), table, by_price, 4);
        }
    }

    #[cfg(unix)]
    #[test]
    fn lines_are_in_the_order_of_gnu_sort() {
        let mut random = Random(1);
        let mut lines = String::new();
        for _ in 0..3000 {
            let (name, number) = (random.below(4), random.below(2000));
            let name = random.letters(name);
            let blanks = " ".repeat(random.below(3));
            let (sign, point) = (["", "-"][random.below(2)], random.below(100));
            lines += &format!("{name}{blanks} {sign}{number}.{point} {name}\n");
        }
        let folder = Folder::new();
        let file = folder.write("lines", lines);
        for args in [
            "",
            "-r",
            "-k2n",
            "-k1,1 -k2nr",
            "-k3b,3",
            "-t. -k2n",
            "-k2.2,2.3",
        ] {
            let mut gnu = std::process::Command::new("sort");
            gnu.args(["-s", &file]).args(args.split_whitespace());
            let gnu = gnu.env("LC_ALL", "C").output().unwrap();
            assert!(gnu.status.success(), "{args}");
            let ours = sorted(sort(&format!("-f lines {args}")).arg(&file));
            assert!(ours == gnu.stdout, "{args}");
        }
    }

    #[test]
    fn rows_keep_their_line_ends() {
        // The end that the last row lacks is that of the row before.
        let crlf = "n\r\n\"2\r\n\"\r\n10\r\n1";
        check("-f csv --by n", crlf, "n\r\n1\r\n10\r\n\"2\r\n\"\r\n", 3);
        let mixed = "n,m\r\n2,a\n1,b\r\n3,c";
        check("-f csv --by n:u32", mixed, "n,m\r\n1,b\r\n2,a\n3,c\r\n", 3);
        // A byte order mark belongs to the header, but not to the column's name.
        let marked = "\u{feff}n\n2\n1\n";
        check("-f csv --by n:u32", marked, "\u{feff}n\n1\n2\n", 2);
    }

    #[test]
    fn structs_are_sorted_by_fields() {
        let records = b"\x02\x01\xffab\x01\x02\x01ab\xff\xff\x00aa";
        let of = |order: &[usize]| -> Vec<u8> {
            let records = order
                .iter()
                .map(|&index| &records[5 * index..5 * index + 5]);
            records.collect::<Vec<_>>().concat()
        };
        for (by, order) in [
            ("--key 0:u8", [1, 0, 2]),
            ("--key 0:i8", [2, 1, 0]),
            ("--key 0:u8:desc", [2, 0, 1]),
            ("-r --key 0:u8", [2, 0, 1]),
            ("--key 0:u16", [0, 1, 2]),
            ("--key 0:u16:be", [1, 0, 2]),
            ("--key 0:i16:be:desc", [0, 1, 2]),
            ("--key 2:u8", [2, 1, 0]),
            ("--key 3:bytes2", [2, 0, 1]),
            ("--key 3:bytes2:desc", [0, 1, 2]),
            ("--key 3:bytes2,0:u8", [2, 1, 0]),
            ("--key 3:bytes2:desc --key 0:u8", [1, 0, 2]),
        ] {
            check(&format!("-f fixed --record 5 {by}"), records, of(&order), 3);
        }
        let floats: Vec<u8> = [0.5_f64, f64::NAN, -0.0, 0.0, f64::NEG_INFINITY]
            .into_iter()
            .flat_map(f64::to_be_bytes)
            .collect();
        let order = [4, 2, 3, 0, 1].map(|index| &floats[8 * index..8 * index + 8]);
        check(
            "-f fixed --record 8 -k 0:f64:be",
            &floats,
            order.concat(),
            5,
        );
    }

    #[test]
    fn records_of_the_sort_benchmark_are_sorted_by_ten_bytes() {
        let record = |key: &[u8; 10], rest: u8| [&key[..], &[rest; 90]].concat();
        let (a, b) = (record(b"aaaaaaaaaz", b'1'), record(b"aaaaaaaaab", b'3'));
        let (c, d) = (
            record(b"aaaaaaaaab", b'2'),
            record(b"\xff\0\0\0\0\0\0\0\0\0", 0),
        );
        let input = [&*d, &a, &b, &c].concat();
        check("-f gensort", &input, [&*b, &c, &a, &d].concat(), 4);
        check("-f gensort -r", &input, [&*d, &a, &b, &c].concat(), 4);
    }

    #[test]
    fn empty_inputs_are_empty_outputs() {
        for args in [
            "-f lines",
            "-f lines -k2n",
            "-f csv --by a",
            "-f csv --no-header --by 3",
            "-f tsv --by 1",
            "-f fixed --record 3 --key 0:u8",
            "-f gensort",
        ] {
            check(args, "", "", 0);
        }
        check("-f csv --by b:u32", "a,b\n", "a,b\n", 0);
        check("-f csv --by b", "a,b", "a,b\n", 0);
        check("-f lines", "\n", "\n", 1);
    }
}

/// Inputs of some megabytes, and what they are sorted.
pub(super) mod large {
    use super::*;

    pub(crate) struct Case {
        pub(crate) args: &'static str,
        pub(crate) input: Vec<u8>,
        pub(crate) expected: Vec<u8>,
    }

    /// Sorts with the standard library's stable sort. `key` is the key of a record.
    fn case<K: Ord>(
        args: &'static str,
        header: &str,
        mut records: Vec<Vec<u8>>,
        key: impl Fn(&[u8]) -> K,
    ) -> Case {
        let all = |records: &[Vec<u8>]| [header.as_bytes(), &records.concat()].concat();
        let input = all(&records);
        records.sort_by_cached_key(|record| key(record));
        Case {
            args,
            input,
            expected: all(&records),
        }
    }

    pub(crate) fn lines() -> Case {
        let mut random = Random(2);
        let line = |_| {
            // Many lines begin with the same bytes, some are equal, and few are long.
            let start = "common/".repeat(random.below(4));
            let more = if random.below(1000) == 0 { 5000 } else { 60 };
            let length = random.below(more);
            let rest = random.letters(length);
            format!("{start}{rest}\n").into_bytes()
        };
        let lines = (0..50_000).map(line).collect();
        case("-f lines", "", lines, <[u8]>::to_vec)
    }

    pub(crate) fn rows() -> Case {
        let mut random = Random(3);
        let row = |_| {
            let (number, length) = (random.below(20_000), random.below(50));
            let text = random.letters(length);
            let row = match random.below(3) {
                0 => format!("{number},\"{text}\n\"\"{text}\"\n"),
                1 => format!("\"{number}\",{text}\r\n"),
                _ => format!("{number},{text}\n"),
            };
            row.into_bytes()
        };
        let rows = (0..50_000).map(row).collect();
        let number = |row: &[u8]| {
            let digits = row.iter().skip_while(|byte| **byte == b'"');
            let digits = digits.take_while(|byte| byte.is_ascii_digit());
            digits.fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
        };
        case("-f csv --by n:u32", "n,\"te\nxt\"\n", rows, number)
    }

    pub(crate) fn structs() -> Case {
        let mut random = Random(4);
        // 13 bytes do not divide any block or part. The first field has many equal values.
        let structs = (0..130_000).map(|_| random.bytes(13)).collect();
        let key = |record: &[u8]| {
            let number = i16::from_be_bytes([record[7], record[8]]);
            (record[2], std::cmp::Reverse(number))
        };
        let args = "-f fixed --record 13 --key 2:u8 --key 7:i16:desc:be";
        case(args, "", structs, key)
    }

    pub(crate) fn gensort() -> Case {
        let mut random = Random(5);
        // Keys that differ only behind the first 8 bytes, and equal ones.
        let record = |_| {
            let mut record = random.bytes(100);
            record[1..9].fill(7);
            record
        };
        let records = (0..30_000).map(record).collect();
        case("-f gensort", "", records, |record| record[..10].to_vec())
    }

    fn cases() -> [Case; 4] {
        [lines(), rows(), structs(), gensort()]
    }

    #[test]
    fn the_memory_changes_no_byte() {
        for case in cases() {
            assert!(case.input.len() > 1_500_000 && case.input != case.expected);
            let folder = Folder::new();
            let file = folder.write("records", &case.input);
            // All in memory; many parts; a few.
            for memory in ["1G", "2M", "5M"] {
                let args = format!("{} --verify --memory {memory}", case.args);
                let from_file = sorted(sort(&args).arg(&file));
                assert!(from_file == case.expected, "{args}");
                let from_stdin = sorted(sort(&args).write_stdin(case.input.clone()));
                assert!(from_stdin == case.expected, "{args}, from stdin");
            }
            // Onto itself, by way of a temporary file in another directory.
            let other = Folder::new();
            let place = ["--temp-dir", &other.name(""), &file, "-o", &file];
            sorted(sort(case.args).args(["-S", "2M"]).args(place));
            assert!(fs::read(&file).unwrap() == case.expected, "{}", case.args);
            assert_eq!((folder.list().len(), other.list().len()), (1, 0));
        }
    }

    #[test]
    fn more_parts_than_the_memory_can_merge_at_once_are_merged_in_passes() {
        let folder = Folder::new();
        let mut lines = String::new();
        for line in 0..600_000 {
            lines += &line.to_string();
            lines.push('\n');
        }
        let file = folder.write("records", &lines);
        // Lines of seven bytes take 43 of memory each: 26 MB, in about 80 parts.
        sort("-f lines -S 1M")
            .args([&file, "-o", &file])
            .assert()
            .success();
        let mut expected: Vec<&str> = lines.split_inclusive('\n').collect();
        expected.sort_unstable();
        assert!(fs::read_to_string(&file).unwrap() == expected.concat());
        assert_eq!(folder.list(), ["records"]);
    }

    #[test]
    fn auto_sorts_as_the_cpu_does() {
        let case = rows();
        let mut auto = cli();
        auto.env_remove("WGPU_BCFSORT_REQUIRE_ADAPTER").arg("sort");
        auto.args(case.args.split(' ')).write_stdin(case.input);
        assert!(sorted(&mut auto) == case.expected);
    }

    /// Needs an adapter; a software one will do.
    #[test]
    fn the_gpu_sorts_as_the_cpu_does() {
        let devices = cli().args(["devices", "--json"]).output().unwrap();
        if !devices.status.success() {
            let required = std::env::var("WGPU_BCFSORT_REQUIRE_ADAPTER");
            assert_ne!(required.as_deref(), Ok("1"), "no adapter");
            return;
        }
        for (case, memory) in cases().into_iter().zip(["1G", "3M", "1M", "1G"]) {
            let mut gpu = cli();
            gpu.args(["sort", "--engine", "sample-sort", "--verify"]);
            gpu.args(case.args.split(' ')).args(["--memory", memory]);
            let sorted = sorted(gpu.write_stdin(case.input));
            assert!(sorted == case.expected, "{} in {memory}", case.args);
        }
    }
}

#[test]
fn the_results_of_the_sort_benchmark_are_those_of_the_records() {
    let case = large::gensort();
    let records = || case.expected.chunks_exact(100);
    let checksum: u64 = records()
        .map(|record| u64::from(crc32fast::hash(record)))
        .sum();
    let neighbours = records().zip(records().skip(1));
    let duplicates = neighbours.filter(|(a, b)| a[..10] == b[..10]).count();
    assert!(duplicates > 0);
    let results = |duplicates: usize| {
        format!(
            "records         30000\nchecksum        {checksum:x}\nduplicate keys  {duplicates}\n"
        )
    };
    let output = sorted(sort("-f gensort -S 1M").write_stdin(case.input.clone()));
    let check = |records: Vec<u8>| {
        cli()
            .args(["check", "-f", "gensort"])
            .write_stdin(records)
            .assert()
    };
    check(output.clone()).code(0).stdout(results(duplicates));
    let unordered = case
        .input
        .chunks_exact(100)
        .zip(case.input[100..].chunks_exact(100));
    let is_wrong: Vec<bool> = unordered.map(|(a, b)| a[..10] > b[..10]).collect();
    let first = 1 + is_wrong.iter().position(|&is_wrong| is_wrong).unwrap();
    let count = is_wrong.iter().filter(|&&is_wrong| is_wrong).count();
    check(case.input.clone()).code(1).stdout(contains(format!(
        "stdin: not sorted: record {first} is the first of {count} out of order\n"
    )));
    // Another bit in a payload changes the checksum alone.
    let mut damaged = output;
    damaged[99] ^= 1;
    let told = check(damaged).code(0).get_output().stdout.clone();
    let told = String::from_utf8(told).unwrap();
    assert!(told.starts_with("records         30000\n"));
    assert!(!told.contains(&format!("{checksum:x}\n")));
}

//! The command line, as scripts see it: messages, exit codes, files.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::{contains, starts_with};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn cli() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"));
    command.env_remove("RUST_LOG");
    // Tests leave nothing in the user's directories.
    command.env("WGPU_BCFSORT_CACHE_DIR", "");
    command
}

fn run(args: &[&str]) -> assert_cmd::assert::Assert {
    cli().args(args).assert()
}

/// A directory of its own for each test.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), content).unwrap();
        self.name(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// The names of all files, hidden ones too.
    fn list(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn bytes(keys: &[u32]) -> Vec<u8> {
    keys.iter().flat_map(|key| key.to_le_bytes()).collect()
}

fn words(path: &Path) -> Vec<u32> {
    let bytes = fs::read(path).unwrap();
    assert_eq!(bytes.len() % 4, 0);
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

/// One line on stderr that begins with the program's name, and nothing of the drivers'.
fn one_line() -> impl Predicate<str> {
    predicate::function(|text: &str| {
        text.lines().count() == 1 && text.starts_with("wgpu-bcfsort: ") && text.ends_with('\n')
    })
}

/// An error of the command line, as clap lays it out over several lines.
fn usage() -> impl Predicate<str> {
    predicate::function(|text: &str| {
        text.starts_with("wgpu-bcfsort: ") && text.contains("\n\n") && text.ends_with("'--help'.\n")
    })
}

mod general {
    use super::*;

    const COMMANDS: [&str; 12] = [
        "sort",
        "argsort",
        "check",
        "gen",
        "devices",
        "bench",
        "tune",
        "audit",
        "experiment",
        "prefix-sums",
        "completions",
        "man",
    ];

    fn help(args: &[&str]) -> String {
        let output = run(args).code(0).stderr("").get_output().clone();
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn help_and_version_succeed() {
        run(&["--help"])
            .code(0)
            .stdout(contains("Exit codes:").and(contains("Examples:")));
        run(&["--version"])
            .code(0)
            .stdout(contains(env!("CARGO_PKG_VERSION")));
        run(&["gen", "--help"])
            .code(0)
            .stdout(contains("organ-pipe").and(contains("1 up to n/2 and down again")));
        run(&["--help"]).stdout(contains("WGPU_BCFSORT_CACHE_DIR"));
        for command in ["sort", "argsort", "prefix-sums"] {
            run(&[command, "--help-all"]).stdout(contains("--no-cache"));
        }
    }

    #[test]
    fn every_command_has_the_common_options_and_help_of_one_width() {
        for command in COMMANDS {
            let short = help(&[command, "--help"]);
            assert_eq!(short, help(&[command, "-h"]));
            assert_eq!(short, help(&[command, "--quiet", "-h"]));
            let all = help(&[command, "-q", "--help-all"]);
            for text in [&short, &all] {
                assert!(text.lines().all(|line| line.len() <= 100), "{command}");
                for part in ["Usage:", "-q, --quiet", "-h, --help", "--help-all"] {
                    assert!(text.contains(part), "{command}: {part}");
                }
            }
            assert!(short.contains("Example"), "{command}");
        }
        let listed = help(&["--help"]);
        let position = |command: &&str| listed.find(&format!("\n  {command} "));
        assert!(COMMANDS.iter().map(position).is_sorted());
        assert!(COMMANDS.iter().all(|command| position(command).is_some()));
    }

    #[test]
    fn the_help_of_sort_fits_a_screen_and_leaves_the_papers_parameters_to_help_all() {
        for args in [&["sort", "--help"][..], &["--help"]] {
            let lines = help(args).lines().count();
            assert!((24..=44).contains(&lines), "{args:?}: {lines} lines");
        }
        let (short, all) = (help(&["sort", "--help"]), help(&["sort", "--help-all"]));
        assert!(short.contains("1e5 becomes 100000"));
        for option in [
            "--base-case",
            "--warps",
            "--buckets",
            "--samples",
            "--seed",
            "--tuning",
            "--separator",
            "--temp-dir",
        ] {
            assert!(!short.contains(option) && all.contains(option), "{option}");
        }
        for command in ["bench", "audit"] {
            assert!(help(&[command, "--help"]).contains("--base-case"));
        }
    }

    #[test]
    fn usage_errors_keep_their_lines_and_their_tips_help() {
        for (args, told) in [
            (&["sort", "-m"][..], "tip: leave it out: sorted files"),
            (&["sort", "--random-sort"], "tip: 'shuf' shuffles"),
            (&["sort", "--parallel=4"], "tip: all cores sort"),
            (&["sort", "--select", "a"], "tip: '--by' names"),
            (
                &["sort", "--check=loud"],
                "possible values: diagnose-first, quiet",
            ),
            (&["sort", "--descending"], "tip: '-r' sorts in descending"),
            (&["sort", "--desc"], "tip: '-r' sorts in descending"),
            (
                &["sort", "--reverse-order"],
                "tip: '-r' sorts in descending",
            ),
            (&["sort", "--engine", "gpu"], "tip: 'auto', the default"),
            (&["sort", "-t", "u8"], "a separator is one byte"),
            (&["sort", "-f", "json"], "possible values: raw, text, lines"),
            (&["sort", "--memory", "-5"], "'-5' is negative"),
            (&["sort", "--memory", "10^21"], "'10^21' is too large"),
            (&["sort", "--memory", "ten"], "'ten' is not a count"),
            (&["sort", "--memory", "999K"], "at least 1M is needed"),
            (
                &["gen", "random", "-n", "1", "--range", "0.5..1.5"],
                "whole numbers only",
            ),
            (&["sort", "--engin", "cpu"], "exists: '--engine'"),
            (&["check", "-x"], "unexpected argument '-x' found\n\nUsage:"),
        ] {
            run(args)
                .code(2)
                .stdout("")
                .stderr(usage().and(contains(told)).and(contains("-- -").not()));
        }
        let folder = Folder::new();
        let file = folder.write("keys", "");
        run(&[&file])
            .code(2)
            .stderr(usage().and(contains("'wgpu-bcfsort sort ")));
    }

    #[test]
    fn wrong_usage_is_2() {
        for args in [
            &["frobnicate"][..],
            &["sort", "--frobnicate"],
            &["sort", "-t", "u8"],
            &["sort", "-f", "csv"],
            &["sort", "--engine", "quick"],
            &["sort", "--engine", "cpu", "--buckets", "4"],
            &["sort", "--engine", "cpu", "--seed", "4"],
            &["sort", "--engine", "bcf", "--seed", "4"],
            &["sort", "--engine", "warpsort", "--seed", "-1"],
            &["sort", "--buckets", "many"],
            &["gen", "random"],
            &["gen", "random", "-n", "ten"],
            &["gen", "random", "-n", "2^64"],
            &["gen", "nonsense", "-n", "10"],
            &["gen", "random", "-n", "10", "--range", "5..1"],
            &["gen", "random", "-n", "10", "--range=-5..1"],
            &["gen", "distinct", "-n", "10", "--distinct", "3"],
            &["gen", "adversary", "-n", "1000"],
            &["bench", "--repeats", "0"],
            &["tune", "--count", "0"],
            &["sort", "--engine", "fast", "--tuning", "no/such/file"],
            &["completions", "tcl"],
        ] {
            cli()
                .args(args)
                .write_stdin("")
                .assert()
                .code(2)
                .stdout("")
                .stderr(starts_with("wgpu-bcfsort: "));
        }
        cli().assert().code(2).stdout("").stderr(contains("Usage:"));
    }

    #[test]
    fn options_that_the_engine_ignores_are_refused() {
        for option in [
            ["--base-case", "transpose"],
            ["--warps", "4"],
            ["--buckets", "4"],
            ["--samples", "4"],
        ] {
            for args in [
                &["sort", "--engine", "sample-sort"][..],
                &["sort", "--engine", "cpu"],
                &["audit", "--engine", "fast"],
                &["bench", "--engines", "fast"],
            ] {
                let message = format!("{} has no meaning with --engine", option[0]);
                cli()
                    .args(args)
                    .args(option)
                    .write_stdin("")
                    .assert()
                    .code(2)
                    .stdout("")
                    .stderr(one_line().and(contains(message)));
            }
        }
        cli()
            .args(["sort", "--seed", "4"])
            .write_stdin("")
            .assert()
            .code(2)
            .stderr("wgpu-bcfsort: --seed is for --engine warpsort only\n");
    }

    #[test]
    fn completions_and_manual_pages_are_made() {
        for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
            run(&["completions", shell])
                .code(0)
                .stdout(contains("wgpu-bcfsort"));
        }
        run(&["man"]).code(0).stdout(contains(".TH wgpu-bcfsort"));
        let folder = Folder::new();
        run(&["man", "--dir", &folder.name("")]).code(0);
        assert!(folder.list().contains(&"wgpu-bcfsort.1".to_owned()));
        assert!(folder.list().contains(&"wgpu-bcfsort-sort.1".to_owned()));
        assert!(folder.list().contains(&"wgpu-bcfsort-audit.1".to_owned()));
    }
}

mod generate {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        let make = |seed: &str| {
            let args = ["gen", "random", "-n", "1K", "--seed", seed];
            run(&args).code(0).get_output().stdout.clone()
        };
        assert_eq!(make("7").len(), 4000);
        assert_eq!(make("7"), make("7"));
        assert_ne!(make("7"), make("8"));
    }

    #[test]
    fn types_formats_and_parameters() {
        run(&["gen", "ascending", "-n", "3", "-f", "text", "-t", "f64"]).stdout("1\n2\n3\n");
        run(&["gen", "maximal", "-n", "1", "-f", "text", "-t", "i64"])
            .stdout("9223372036854775807\n");
        run(&["gen", "maximal", "-n", "1", "-f", "text", "-t", "f32"]).stdout("NaN(0x7fffff)\n");
        run(&[
            "gen", "random", "-n", "2", "-f", "text", "-t", "i32", "--range", "-5..-5",
        ])
        .stdout("-5\n-5\n");
        let full = run(&["gen", "full", "-n", "100"])
            .get_output()
            .stdout
            .clone();
        run(&["gen", "random", "-n", "100", "--range", "full"]).stdout(full);
        run(&["gen", "constant", "-n", "2^10"]).stdout(bytes(&[7; 1024]));
        run(&["gen", "constant", "-n", "0"]).code(0).stdout("");
    }

    #[test]
    fn wrong_parameters_name_what_is_right() {
        run(&["gen", "ascending", "-n", "9", "--distinct", "4"])
            .code(2)
            .stderr(one_line().and(contains("takes no --distinct, which is for duplicates, ")));
        run(&["gen", "random", "-n", "9", "--range", "-1..5"])
            .code(2)
            .stderr(one_line().and(contains("outside u32: use -t i32")));
        run(&["gen", "runs", "-n", "9", "--runs", "0"])
            .code(2)
            .stderr(one_line().and(contains("--runs is 0: ")));
    }

    #[test]
    fn the_adversary_names_the_counts_that_exist() {
        run(&["gen", "adversary", "-n", "1000"])
            .code(2)
            .stderr(one_line().and(contains("544 and 1088")));
        run(&["gen", "adversary", "-n", "960", "--items", "15"]).code(0);
    }
}

mod check {
    use super::*;

    #[test]
    fn sorted_keys_are_silent_success() {
        let folder = Folder::new();
        let file = folder.write("keys", bytes(&[1, 2, 2, 3]));
        run(&["check", &file]).code(0).stdout("").stderr("");
        cli().arg("check").write_stdin("").assert().code(0);
        cli()
            .args(["check", "-f", "text", "-r"])
            .write_stdin("3\n2\n2")
            .assert()
            .code(0);
        let floats = "-NaN\n-inf\n-1\n-0\n0\n1e-45\ninf\nNaN\n";
        let args = ["check", "-f", "text", "-t", "f32"];
        cli().args(args).write_stdin(floats).assert().code(0);
    }

    #[test]
    fn the_first_place_out_of_order_is_named() {
        let folder = Folder::new();
        let file = folder.write("keys", bytes(&[1, 5, 3, 2]));
        run(&["check", &file])
            .code(1)
            .stdout(contains("index 2: 3 after 5"))
            .stderr("");
        cli()
            .args(["check", "-f", "text"])
            .write_stdin("1\n5\n3\n2\n")
            .assert()
            .code(1)
            .stdout(contains("line 3: 3 after 5\n"));
        cli()
            .args(["check", "-f", "text"])
            .write_stdin("5\n5\n3\n2\n")
            .assert()
            .code(1)
            .stdout(contains("line 3: 3 after 5 (descending? -r)\n"));
        run(&["check", "-r", &file])
            .code(1)
            .stdout(contains("index 1: 5 after 1"));
        run(&["check", "-q", &file]).code(1).stdout("").stderr("");
        // Beyond the chunks in which the file is read.
        let mut keys: Vec<u32> = (0..600_000).collect();
        keys[524_288] = 7;
        let file = folder.write("keys", bytes(&keys));
        run(&["check", &file])
            .code(1)
            .stdout(contains("index 524288: 7 after 524287"));
    }

    #[test]
    fn records_of_the_sort_benchmark_have_a_checksum() {
        let folder = Folder::new();
        let sorted = folder.write("sorted", [[b'a'; 100], [b'a'; 100], [b'b'; 100]].concat());
        // crc32('a' * 100) = af707a64, and that of 'b' 250162db.
        let results = "records         3\nchecksum        183e257a3\nduplicate keys  1\n";
        run(&["check", "-f", "gensort", &sorted])
            .code(0)
            .stdout(results)
            .stderr("");
        run(&["check", "-f", "gensort", "-r", &sorted])
            .code(1)
            .stdout(format!(
                "{sorted}: not sorted: record 2 is the first of 1 out of order\n{results}"
            ));
        run(&["check", "-f", "gensort", "-r", "-q", &sorted])
            .code(1)
            .stdout("");
        run(&["check", "-f", "gensort", "-t", "u32", &sorted])
            .code(2)
            .stderr(one_line().and(contains("keys of 10 bytes")));
    }
}

mod bad_input {
    use super::*;

    fn both(args: &[&str], input: &[u8], message: &str) {
        for command in [&["sort", "--engine", "cpu"][..], &["check"]] {
            cli()
                .args(command)
                .args(args)
                .write_stdin(input)
                .assert()
                .code(2)
                .stdout("")
                .stderr(one_line().and(contains(message)));
        }
    }

    #[test]
    fn truncated_files_name_their_size_and_the_width() {
        both(
            &[],
            &[0; 10],
            "10 bytes, not a multiple of the 4 bytes of a u32 key",
        );
        both(
            &["-t", "f64"],
            &[0; 12],
            "12 bytes, not a multiple of the 8 bytes of a f64 key",
        );
        both(&[], b"x\n1\n2\n3\n4\n", "stdin looks like text: -f text");
        both(&[], b"caf\xe9 1\n", "or is text (-f text)");
    }

    #[test]
    fn bad_lines_are_named() {
        let text = &["-f", "text"];
        both(text, b"1\n\n2\n", "line 2 is empty");
        both(text, b"1\n2\n\n", "line 3 is empty");
        both(text, b"1\ntwo\n", "line 2: 'two' is not a valid u32 key");
        both(
            text,
            b"1\n-2\n",
            "line 2: '-2' is not a valid u32 key: u32 is 0 to 4294967295",
        );
        both(text, b"1\n1.5\n", "floats need -t f32 or -t f64");
        both(
            text,
            b"1\n\x1b[31m\n",
            "line 2: '\\u{1b}[31m' is not a valid u32 key",
        );
        both(text, &vec![b'9'; 100_000], "line 1: '9999");
        both(
            text,
            b"id,score\n1,2\n",
            "line 1: 'id,score' is not a valid u32 key: one number per line",
        );
        both(
            text,
            b"score\n1\n",
            "line 1: 'score' is not a valid u32 key: is it a header? skip it with tail -n +2",
        );
        both(
            &["-f", "text", "-t", "f64"],
            b"-1e400\n",
            "line 1: '-1e400' is not a valid f64 key: too large for f64",
        );
    }

    #[test]
    fn crlf_blanks_and_a_missing_last_newline_are_fine() {
        cli()
            .args(["sort", "--engine", "cpu", "-f", "text", "-t", "i32"])
            .write_stdin(" 3\r\n\t-1 \r\n2")
            .assert()
            .code(0)
            .stdout("-1\n2\n3\n");
    }

    #[test]
    fn faults_of_tuning_files_are_named() {
        let folder = Folder::new();
        for (text, message) in [
            (
                "tile 2048",
                "not a file of 'wgpu-bcfsort tune -o': expected",
            ),
            (r#"{"tile": 2048}"#, "missing field `tuning`"),
            (r#"{"tuning": {"tiles": 2048}}"#, "unknown field `tiles`"),
            (
                r#"{"tuning": {"samples": 3000}}"#,
                "option tuning.samples is 3000, but must be a power of two from 1024 to 4096",
            ),
        ] {
            let file = folder.write("tuning.json", text);
            for args in [
                &["sort", "--engine", "fast"][..],
                &["bench", "--engines", "fast"],
            ] {
                cli()
                    .args(args)
                    .args(["--tuning", &file])
                    .write_stdin("")
                    .assert()
                    .code(2)
                    .stdout("")
                    .stderr(usage().and(contains(message)));
            }
        }
        // Others than the fast engine have no use for a good one.
        let file = folder.write("tuning.json", r#"{"tuning": {}}"#);
        for args in [
            &["sort", "--engine", "bcf"][..],
            &["sort", "--engine", "cpu"],
            &["bench", "--engines", "bcf,bcf-pb"],
        ] {
            cli()
                .args(args)
                .args(["--tuning", &file])
                .write_stdin("")
                .assert()
                .code(2)
                .stderr(one_line().and(contains("--tuning has no meaning with")));
        }
    }

    #[test]
    fn missing_files_and_directories() {
        let folder = Folder::new();
        let (missing, directory) = (folder.name("missing"), folder.name(""));
        for command in ["sort", "check"] {
            run(&[command, &missing])
                .code(2)
                .stderr(one_line().and(contains("missing: cannot read: No such file")));
            run(&[command, &directory])
                .code(2)
                .stderr(one_line().and(contains("is a directory: give a file of keys")));
        }
        let file = folder.write("keys", bytes(&[2, 1]));
        run(&["sort", "--engine", "cpu", &file, "-o", &directory])
            .code(2)
            .stderr(one_line().and(contains("is a directory: give a file to write")));
        run(&[
            "sort",
            "--engine",
            "cpu",
            &file,
            "-o",
            &folder.name("no/where"),
        ])
        .code(2)
        .stderr(one_line().and(contains("/no does not exist")));
        assert_eq!(folder.list(), ["keys"]);
    }
}

mod sort_on_the_cpu {
    use super::*;

    #[test]
    fn every_type_and_direction() {
        for key in ["u32", "i32", "f32", "u64", "i64", "f64"] {
            for direction in [&[][..], &["-r"]] {
                let keys = run(&["gen", "special", "-n", "5000", "-t", key])
                    .get_output()
                    .clone();
                let sorted = cli()
                    .args(["sort", "--engine", "cpu", "--verify", "-t", key])
                    .args(direction)
                    .write_stdin(keys.stdout.clone())
                    .assert()
                    .code(0);
                let sorted = sorted.get_output().stdout.clone();
                assert_eq!(sorted.len(), keys.stdout.len());
                cli()
                    .args(["check", "-t", key])
                    .args(direction)
                    .write_stdin(sorted)
                    .assert()
                    .code(0);
            }
        }
    }

    #[test]
    fn an_input_beyond_the_memory_is_sorted_in_parts() {
        let folder = Folder::new();
        let file = folder.name("keys");
        run(&["gen", "random", "-n", "500003", "-o", &file]).code(0);
        let mut expected = words(&folder.path("keys"));
        expected.sort_unstable();
        let sort = |args: &[&str]| run(&[&["sort", "--engine", "cpu"], args].concat()).code(0);
        // A part takes a third of the memory: many parts, 2 parts, and all of the input, exactly.
        for memory in ["1M", "1.5M", "4M", "6000036", "1G"] {
            let sorted = folder.name("sorted");
            sort(&["--memory", memory, "--verify", &file, "-o", &sorted]).stderr(
                "wgpu-bcfsort: verified: 500003 keys, ascending, the same as in the input\n",
            );
            assert!(words(&folder.path("sorted")) == expected, "{memory}");
        }
        assert_eq!(folder.list(), ["keys", "sorted"]);
        sort(&["-S", "1M", "--timings", &file, "-o", &file]).stderr(contains("7 parts"));
        assert!(words(&folder.path("keys")) == expected);
        sort(&["-r", "-S", "1M", "-T", &folder.name(""), &file, "-o", &file]);
        expected.reverse();
        assert!(words(&folder.path("keys")) == expected);
        let nowhere = folder.name("nowhere");
        for (args, message) in [
            (["-S", "1M", "-T", &nowhere], "nowhere: cannot be used: "),
            (["-S", "1M", "-T", "/dev/null"], "/dev/null"),
        ] {
            run(&[&["sort", "--engine", "cpu", &file, "-o", &file], &args[..]].concat())
                .code(2)
                .stderr(one_line().and(contains(message)));
        }
        assert!(words(&folder.path("keys")) == expected);
    }

    #[test]
    fn the_timings_name_the_engine() {
        cli()
            .args(["sort", "--engine", "cpu", "--timings"])
            .write_stdin(bytes(&[3, 1, 2]))
            .assert()
            .code(0)
            .stdout(bytes(&[1, 2, 3]))
            .stderr(contains("engine   cpu").and(contains("keys     3 u32, ascending")));
    }

    #[test]
    fn empty_input() {
        for format in ["raw", "text"] {
            cli()
                .args(["sort", "-q", "--engine", "cpu", "--verify", "-f", format])
                .write_stdin("")
                .assert()
                .code(0)
                .stdout("")
                .stderr("");
        }
    }
}

mod files {
    use super::*;

    const SORT: [&str; 3] = ["sort", "--engine", "cpu"];

    fn sort(args: &[&str]) -> assert_cmd::assert::Assert {
        cli().args(SORT).args(args).assert()
    }

    #[test]
    fn a_file_can_be_sorted_onto_itself() {
        let folder = Folder::new();
        let file = folder.write("keys", bytes(&[3, 1, 2]));
        sort(&[&file, "-o", &file]).code(0);
        assert_eq!(words(&folder.path("keys")), [1, 2, 3]);
        assert_eq!(folder.list(), ["keys"]);
    }

    #[test]
    fn a_failure_leaves_the_old_file() {
        let folder = Folder::new();
        let file = folder.write("keys", [0; 7]);
        let old = folder.write("old", "precious");
        sort(&[&file, "-o", &old]).code(2);
        sort(&[&file, "-o", &folder.name("new")]).code(2);
        assert_eq!(fs::read_to_string(folder.path("old")).unwrap(), "precious");
        assert_eq!(folder.list(), ["keys", "old"]);
    }

    #[test]
    fn output_in_the_working_directory() {
        let folder = Folder::new();
        cli()
            .current_dir(folder.0.path())
            .args(["gen", "constant", "-n", "1", "-o", "here"])
            .assert()
            .code(0);
        assert_eq!(folder.list(), ["here"]);
    }

    #[cfg(unix)]
    mod unix {
        use super::*;
        use std::fs::File;
        use std::io::{Read, Write};
        use std::os::unix::fs::{PermissionsExt, symlink};
        use std::process::Stdio;
        use std::time::Duration;

        fn mode(path: &Path) -> u32 {
            fs::metadata(path).unwrap().permissions().mode() & 0o7777
        }

        fn shell(script: &str, folder: &Folder) -> std::process::Output {
            std::process::Command::new("sh")
                .args(["-c", script])
                .current_dir(folder.0.path())
                .env("CLI", env!("CARGO_BIN_EXE_wgpu-bcfsort"))
                .output()
                .unwrap()
        }

        #[test]
        fn the_mode_of_the_target_is_kept() {
            let folder = Folder::new();
            let file = folder.write("keys", bytes(&[3, 1, 2]));
            for bits in [0o640, 0o600, 0o777] {
                fs::set_permissions(&file, fs::Permissions::from_mode(bits)).unwrap();
                sort(&[&file, "-o", &file]).code(0);
                assert_eq!(mode(&folder.path("keys")), bits);
            }
            let script = "umask 027; \"$CLI\" sort --engine cpu keys -o new";
            assert!(shell(script, &folder).status.success());
            assert_eq!(mode(&folder.path("new")), 0o640);
        }

        #[test]
        fn symbolic_links_are_followed() {
            let folder = Folder::new();
            fs::create_dir(folder.path("far")).unwrap();
            let file = folder.write("keys", bytes(&[3, 1, 2]));
            folder.write("far/target", "old");
            symlink("far/target", folder.path("link")).unwrap();
            symlink("link", folder.path("chain")).unwrap();
            sort(&[&file, "-o", &folder.name("chain")]).code(0);
            assert_eq!(words(&folder.path("far/target")), [1, 2, 3]);
            assert!(folder.path("link").is_symlink() && folder.path("chain").is_symlink());
            // One that points to nothing yet.
            symlink("far/new", folder.path("dangling")).unwrap();
            sort(&[&file, "-o", &folder.name("dangling")]).code(0);
            assert_eq!(words(&folder.path("far/new")), [1, 2, 3]);
            assert!(folder.path("dangling").is_symlink());
            symlink("loop", folder.path("loop")).unwrap();
            sort(&[&file, "-o", &folder.name("loop")])
                .code(2)
                .stderr(one_line());
        }

        #[test]
        fn a_full_disk_is_reported() {
            if !Path::new("/dev/full").exists() {
                return;
            }
            let folder = Folder::new();
            let file = folder.write("keys", bytes(&[3, 1, 2]));
            sort(&[&file, "-o", "/dev/full"])
                .code(2)
                .stderr(one_line().and(contains("/dev/full: cannot write: No space left")));
            sort(&["-f", "text", "-o", "/dev/full"]).code(0);
            for command in [
                "sort --engine cpu keys",
                "gen random -n 9 -f text",
                "devices --help",
            ] {
                let output = shell(&format!("\"$CLI\" {command} > /dev/full"), &folder);
                if !command.ends_with("help") {
                    assert_eq!(output.status.code(), Some(2), "{command}");
                }
            }
            assert!(Path::new("/dev/full").exists());
        }

        #[test]
        fn devices_and_descriptors_are_written_directly() {
            let folder = Folder::new();
            let file = folder.write("keys", bytes(&[3, 1, 2]));
            sort(&[&file, "-o", "/dev/stdout"])
                .code(0)
                .stdout(bytes(&[1, 2, 3]));
            sort(&[&file, "-o", "/dev/null"]).code(0).stdout("");
            let script =
                "(echo first; \"$CLI\" gen ascending -n 2 -f text -o /dev/stdout; echo last) > all";
            assert!(shell(script, &folder).status.success());
            assert_eq!(
                fs::read_to_string(folder.path("all")).unwrap(),
                "first\n1\n2\nlast\n"
            );
            let script =
                "mkfifo pipe; cat pipe > got & \"$CLI\" sort --engine cpu keys -o pipe && wait";
            assert!(shell(script, &folder).status.success());
            assert_eq!(words(&folder.path("got")), [1, 2, 3]);
            let script = "\"$CLI\" gen constant -n 1 -f text -o /dev/fd/3 3> third";
            assert!(shell(script, &folder).status.success());
            assert_eq!(fs::read_to_string(folder.path("third")).unwrap(), "7\n");
        }

        #[test]
        fn a_closed_pipe_does_not_change_what_check_finds() {
            let folder = Folder::new();
            let keys = folder.write("keys", bytes(&[2, 1]));
            let script = "(sleep 0.2; \"$CLI\" check \"$KEYS\"; echo $? > code) | true; \
                          while [ ! -s code ]; do sleep 0.05; done";
            Command::new("sh")
                .args(["-c", script])
                .env("CLI", env!("CARGO_BIN_EXE_wgpu-bcfsort"))
                .env("KEYS", keys)
                .current_dir(folder.0.path())
                .assert()
                .success();
            assert_eq!(fs::read_to_string(folder.path("code")).unwrap().trim(), "1");
        }

        #[test]
        fn a_closed_pipe_is_success() {
            let folder = Folder::new();
            for command in [
                "gen ascending -n 1M -f text",
                "gen ascending -n 1M",
                "gen random -n 1M | \"$CLI\" sort --engine cpu",
                "gen random -n 1M | \"$CLI\" sort --engine cpu --memory 2M",
            ] {
                let script =
                    format!("(\"$CLI\" {command}; echo $? > code) | head -c 2 > /dev/null");
                let output = shell(&script, &folder);
                assert_eq!(
                    fs::read_to_string(folder.path("code")).unwrap(),
                    "0\n",
                    "{command}"
                );
                assert!(output.stderr.is_empty(), "{command}");
            }
        }

        #[test]
        fn protected_files_stay() {
            let folder = Folder::new();
            let file = folder.write("keys", bytes(&[3, 1, 2]));
            fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
            if File::options().write(true).open(&file).is_ok() {
                return; // The superuser may write anywhere.
            }
            sort(&[&file, "-o", &file])
                .code(2)
                .stderr(one_line().and(contains("Permission denied")));
            assert_eq!(words(&folder.path("keys")), [3, 1, 2]);
        }

        #[test]
        fn an_unwritable_directory_is_named_without_the_temporary_file() {
            let folder = Folder::new();
            let own = folder.0.path();
            fs::set_permissions(own, fs::Permissions::from_mode(0o500)).unwrap();
            // The superuser may write there, but not to Linux's /sys.
            for directory in [own, Path::new("/sys")] {
                let file = directory.join("sorted");
                if !directory.exists() || File::create_new(&file).is_ok() {
                    continue;
                }
                let file = file.to_str().unwrap();
                let message = contains("so the directory must be writable")
                    .and(contains(".tmp").not())
                    .and(starts_with(format!(
                        "wgpu-bcfsort: {file}: cannot make a file in "
                    )));
                cli()
                    .args(["gen", "constant", "-n", "1", "-o", file])
                    .assert()
                    .code(2)
                    .stderr(one_line().and(message));
            }
        }

        #[test]
        fn an_interrupt_leaves_no_temporary() {
            for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
                let folder = Folder::new();
                folder.write("old", "precious");
                let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"))
                    .args(SORT)
                    .args(["--memory", "1M", "-o", &folder.name("old")])
                    .stdin(Stdio::piped())
                    .spawn()
                    .unwrap();
                let mut stdin = child.stdin.take().unwrap();
                stdin.write_all(&bytes(&vec![5; 300_000])).unwrap();
                while folder.list().len() < 2 {
                    assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
                    std::thread::sleep(Duration::from_millis(5));
                }
                // The shell's own kill: a program of that name is not on every system.
                let kill = std::process::Command::new("sh")
                    .args(["-c", &format!("kill -s {signal} {}", child.id())])
                    .status();
                assert!(kill.unwrap().success());
                assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
                assert_eq!(folder.list(), ["old"]);
                assert_eq!(fs::read_to_string(folder.path("old")).unwrap(), "precious");
            }
        }

        #[test]
        fn a_file_that_shrinks_while_it_is_read_gives_no_crash() {
            let folder = Folder::new();
            let file = folder.write("keys", vec![1; 64 << 20]);
            let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"))
                .args(SORT)
                .args(["--memory", "5M", &file])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            File::options()
                .write(true)
                .open(&file)
                .unwrap()
                .set_len(4001)
                .unwrap();
            let mut sorted = Vec::new();
            child
                .stdout
                .take()
                .unwrap()
                .read_to_end(&mut sorted)
                .unwrap();
            let code = child.wait().unwrap().code();
            assert!(matches!(code, Some(0 | 2)), "{code:?}");
        }
    }
}

/// These need an adapter; a software one such as lavapipe will do. Without any they check that the
/// absence is handled, and with `WGPU_BCFSORT_REQUIRE_ADAPTER=1` they fail.
mod sort_on_the_gpu {
    use super::*;

    fn adapter() -> bool {
        let output = cli().args(["devices", "--json"]).output().unwrap();
        let found = output.status.success();
        assert!(
            found || std::env::var("WGPU_BCFSORT_REQUIRE_ADAPTER").as_deref() != Ok("1"),
            "no adapter, and WGPU_BCFSORT_REQUIRE_ADAPTER=1"
        );
        if !found {
            assert_eq!(output.status.code(), Some(3));
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "[]");
        }
        found
    }

    #[test]
    fn devices_are_listed() {
        if adapter() {
            run(&["devices"]).code(0).stdout(starts_with("0: "));
            let json = run(&["devices", "--json"]).get_output().stdout.clone();
            let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
            assert_eq!(json[0]["index"], 0);
            assert!(json[0]["name"].is_string() && json[0]["timestamps"].is_boolean());
        }
    }

    #[test]
    fn the_default_adapter_sorts() {
        if !adapter() {
            return;
        }
        for key in ["u32", "i32", "f32", "u64", "i64", "f64"] {
            for engine in ["bcf", "bcf-pb", "warpsort", "auto"] {
                let keys = run(&["gen", "special", "-n", "20011", "-t", key])
                    .get_output()
                    .clone();
                let sort = |args: &[&str]| {
                    let assert = cli()
                        .args(["sort", "-t", key])
                        .args(args)
                        .env("WGPU_BCFSORT_REQUIRE_ADAPTER", "1")
                        .write_stdin(keys.stdout.clone())
                        .assert()
                        .code(0);
                    assert.get_output().clone()
                };
                let gpu = sort(&["--engine", engine, "--verify", "--timings"]);
                let cpu = sort(&["--engine", "cpu"]);
                assert!(gpu.stdout == cpu.stdout, "{key} {engine}");
                let report = String::from_utf8(gpu.stderr).unwrap();
                let name = if engine == "auto" { "bcf-pb" } else { engine };
                for part in [
                    &format!("engine   {name}\n"),
                    "adapter  ",
                    "20011",
                    "phase",
                    "total",
                ] {
                    assert!(report.contains(part), "{report}");
                }
            }
        }
    }

    #[test]
    fn chunks_and_parameters() {
        if !adapter() {
            return;
        }
        let keys = run(&["gen", "random", "-n", "100000"]).get_output().clone();
        let mut outputs = Vec::new();
        for args in [
            &["--engine", "cpu"][..],
            &["--memory", "1M"],
            &["--base-case", "transpose"],
            &["--base-case", "warp-bitonic"],
            &["--engine", "warpsort", "--buckets", "16", "--seed", "9"],
            &[
                "--base-case",
                "diagonal",
                "--buckets",
                "4",
                "--samples",
                "32",
            ],
            &["--adapter", "0"],
        ] {
            let assert = cli()
                .args(["sort", "-r", "--verify"])
                .args(args)
                .write_stdin(keys.stdout.clone())
                .assert()
                .code(0);
            outputs.push(assert.get_output().stdout.clone());
        }
        assert!(outputs.windows(2).all(|pair| pair[0] == pair[1]));
        for adapter in ["999", "no such adapter"] {
            cli()
                .args(["sort", "--adapter", adapter])
                .write_stdin("")
                .assert()
                .code(2)
                .stderr(one_line().and(contains("devices")));
        }
    }

    #[cfg(unix)]
    #[test]
    fn text_sorts_as_with_gnu_sort() {
        if !adapter() {
            return;
        }
        let folder = Folder::new();
        let file = folder.name("keys");
        run(&[
            "gen", "full", "-n", "50000", "-t", "u64", "-f", "text", "-o", &file,
        ])
        .code(0);
        let gnu = std::process::Command::new("sort")
            .args(["-n", &file])
            .env("LC_ALL", "C")
            .output();
        let ours = run(&["sort", "-t", "u64", "-f", "text", &file]).code(0);
        assert!(gnu.unwrap().stdout == ours.get_output().stdout);
    }

    #[test]
    fn the_fast_engine_has_two_names() {
        if !adapter() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (input, output) = (dir.path().join("in"), dir.path().join("out"));
        let keys: Vec<u32> = (0..3000).map(|i| i * 7919 % 3001).collect();
        std::fs::write(&input, bytemuck::cast_slice(&keys)).unwrap();
        for name in ["fast", "sample-sort"] {
            run(&[
                "sort",
                "--engine",
                name,
                "--timings",
                "--verify",
                input.to_str().unwrap(),
                "-o",
                output.to_str().unwrap(),
            ])
            .code(0)
            .stderr(contains("sample-sort").and(contains("base case")));
        }
    }

    #[test]
    fn what_tune_writes_the_fast_engine_sorts_with() {
        if !adapter() {
            return;
        }
        let folder = Folder::new();
        let file = folder.name("tuning.json");
        // One tile: few kernels to compile.
        run(&["tune", "--quick", "--count", "1000", "-o", &file])
            .code(0)
            .stdout("")
            .stderr(contains("adapter  ").and(contains("samples")));
        let text = fs::read_to_string(&file).unwrap();
        let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
        assert!(json["measured"][0]["tuned_ms"].as_f64().unwrap() > 0.0);

        // By default so few keys are merged.
        for (number, value) in [("tile", 1024), ("samples", 1024), ("merged", 0)] {
            json["tuning"][number] = value.into();
        }
        let keys: Vec<u32> = (0..3000).map(|i| i * 7919 % 3001).collect();
        let input = folder.write("in", bytes(&keys));
        let mut sorted = keys;
        sorted.sort_unstable();
        let output = folder.name("out");
        folder.write("tuning.json", json.to_string());
        let fast = ["sort", "--engine", "fast", "--tuning", &file];
        cli()
            .args(fast)
            .args([&input, "-o", &output, "--timings"])
            .assert()
            .code(0)
            .stderr(contains("splitters").and(contains("the tuning file").not()));
        assert_eq!(words(&folder.path("out")), sorted);

        json["adapter"] = "another".into();
        folder.write("tuning.json", json.to_string());
        let warning = one_line().and(contains("the tuning file was made for another ("));
        cli()
            .args(fast)
            .write_stdin("")
            .assert()
            .code(0)
            .stderr(warning);
    }

    #[test]
    fn bench_reports_every_contender() {
        if !adapter() {
            return;
        }
        let args = [
            "bench",
            "--sizes",
            "3000,2^12",
            "--repeats",
            "3",
            "--patterns",
            "random,adversary",
        ];
        run(&args).code(0).stdout(
            contains("bcf-pb")
                .and(contains("cpu"))
                .and(contains("2176")),
        );
        let json = cli()
            .args(args)
            .arg("--json")
            .assert()
            .code(0)
            .get_output()
            .stdout
            .clone();
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        let results = json["results"].as_array().unwrap();
        // Four engines and the CPU.
        assert_eq!(results.len(), 20);
        for result in results {
            assert!(result["engine"].is_string() && result["adapter"].is_string());
            assert!(result["keys_per_second"].as_f64().unwrap() > 0.0);
            assert_eq!(result["verified"], true);
        }
    }
}

/// On the adapter where there is one, else on the CPU: the result is the same.
mod prefix_sums {
    use super::*;

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
            "-t",
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
        let args = ["prefix-sums", "-q", "-f", "text", "-t", "i32", "-", &colors];
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
                "-t",
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
            &["-t", "u64", &values, &few],
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
}

/// Compiled kernels are kept in a file, on adapters that have pipeline caches.
mod kernel_cache {
    use super::*;
    use std::ffi::OsStr;

    const HEADER: &str = concat!("wgpu-bcfsort ", env!("CARGO_PKG_VERSION"), " kernels\n");

    /// Sorts with this environment and these arguments besides, and returns what is on stderr.
    fn sort(variables: &[(&str, &OsStr)], args: &[&str]) -> String {
        let keys: Vec<u32> = (0..2000_u32)
            .map(|i| i.wrapping_mul(2_654_435_761))
            .collect();
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        let output = cli()
            .args(["sort", "--engine", "bcf"])
            .args(args)
            .envs(variables.iter().copied())
            .write_stdin(bytes(&keys))
            .assert()
            .code(0)
            .get_output()
            .clone();
        assert!(output.stdout == bytes(&sorted));
        String::from_utf8(output.stderr).unwrap()
    }

    /// Whether the command finds an adapter that has pipeline caches.
    fn has_caches() -> bool {
        let folder = Folder::new();
        if !cli().arg("devices").output().unwrap().status.success() {
            return false;
        }
        let kept = folder.path("kept");
        sort(&[("WGPU_BCFSORT_CACHE_DIR", kept.as_os_str())], &[]);
        if !kept.exists() {
            println!("SKIPPED: no pipeline caches on this adapter");
        }
        kept.exists()
    }

    #[test]
    fn kernels_are_kept_and_damaged_files_are_written_anew() {
        if !has_caches() {
            return;
        }
        let folder = Folder::new();
        let variables = [("WGPU_BCFSORT_CACHE_DIR", folder.0.path().as_os_str())];
        sort(&variables, &[]);
        let [name] = &folder.list()[..] else {
            panic!("{:?}", folder.list());
        };
        assert!(name.starts_with("wgpu_pipeline_cache_"), "{name}");
        let whole = fs::read(folder.path(name)).unwrap();
        assert!(whole.starts_with(HEADER.as_bytes()));
        assert_eq!(sort(&variables, &[]), "");

        let older = [b"wgpu-bcfsort 0.0.1 kernels\n", &whole[HEADER.len()..]].concat();
        for damaged in [&b"no cache"[..], &[], &whole[..whole.len() - 1], &older] {
            fs::write(folder.path(name), damaged).unwrap();
            assert_eq!(sort(&variables, &[]), "");
            let again = fs::read(folder.path(name)).unwrap();
            assert!(again.starts_with(HEADER.as_bytes()) && again != damaged);
        }
        fs::write(folder.path(name), b"no cache").unwrap();
        let told = sort(&[variables[0], ("RUST_LOG", "warn".as_ref())], &[]);
        assert!(told.contains("damaged"), "{told}");
        // Written beside it, and renamed.
        assert_eq!(&folder.list(), std::slice::from_ref(name));

        let ones = folder.write("ones", bytes(&[1, 1, 1]));
        let colors = folder.write("colors", bytes(&[0, 0, 0]));
        fs::remove_file(folder.path(name)).unwrap();
        cli()
            .args(["prefix-sums", &ones, &colors])
            .envs(variables)
            .assert()
            .code(0)
            .stdout(bytes(&[1, 2, 3]));
        assert!(folder.path(name).exists());
    }

    /// A whole file with this data, as the command writes it.
    fn file_of(data: &[u8]) -> Vec<u8> {
        let length = (data.len() as u64).to_le_bytes();
        let sum = (length.iter().chain(data)).fold(0xcbf2_9ce4_8422_2325, |sum: u64, &byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        [HEADER.as_bytes(), &sum.to_le_bytes(), data].concat()
    }

    #[test]
    fn kernels_of_another_device_are_written_anew() {
        if !has_caches() {
            return;
        }
        let folder = Folder::new();
        let variables = [
            ("WGPU_BCFSORT_CACHE_DIR", folder.0.path().as_os_str()),
            ("RUST_LOG", "warn".as_ref()),
        ];
        sort(&variables[..1], &[]);
        let file = folder.path(&folder.list()[0]);
        let whole = fs::read(&file).unwrap();
        let data = &whole[HEADER.len() + 8..];
        assert!(file_of(data) == whole);
        // wgpu's header: 8 bytes, two words, the backend, the device.
        let mut of_another = data.to_vec();
        of_another[20] ^= 1;
        fs::write(&file, file_of(&of_another)).unwrap();
        let told = sort(&variables, &[]);
        assert!(told.contains("refused"), "{told}");
        let again = fs::read(&file).unwrap();
        assert!(again[HEADER.len() + 8 + 20] == data[20]);
        assert!(!sort(&variables, &[]).contains("refused"));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_have_written_is_not_used() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        if !has_caches() {
            return;
        }
        let folder = Folder::new();
        let directory = folder.path("kernels");
        let variables = [
            ("WGPU_BCFSORT_CACHE_DIR", directory.as_os_str()),
            ("RUST_LOG", "warn".as_ref()),
        ];
        assert!(!sort(&variables, &[]).contains("no kernel cache"));
        let file = (fs::read_dir(&directory).unwrap().next().unwrap().unwrap()).path();
        let refused = |why: &str| {
            let told = sort(&variables, &[]);
            assert!(
                told.contains("no kernel cache") && told.contains(why),
                "{told}"
            );
        };
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        refused("666");
        let elsewhere = folder.path("elsewhere");
        fs::rename(&file, &elsewhere).unwrap();
        symlink(&elsewhere, &file).unwrap();
        refused("link");
        fs::remove_file(&file).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&file).status();
        assert!(made.unwrap().success());
        refused("regular");
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
        refused("777");
    }

    #[test]
    fn the_directory_is_the_users_or_is_named_or_there_is_none() {
        if !has_caches() || !cfg!(target_os = "linux") {
            return;
        }
        let folder = Folder::new();
        let root = folder.0.path().as_os_str();
        let named = folder.path("named");
        let no_cache = ("WGPU_BCFSORT_CACHE_DIR", OsStr::new(""));
        sort(&[("XDG_CACHE_HOME", root), no_cache], &[]);
        sort(
            &[("WGPU_BCFSORT_CACHE_DIR", named.as_os_str())],
            &["--no-cache"],
        );
        // (A driver may have a cache of its own there.)
        let is_ours = |name: &String| name.contains("bcfsort") || name == "named";
        let ours = || -> Vec<_> { folder.list().into_iter().filter(is_ours).collect() };
        assert!(ours().is_empty(), "{:?}", ours());

        cli()
            .args(["sort", "--engine", "bcf"])
            .env("XDG_CACHE_HOME", root)
            .env_remove("WGPU_BCFSORT_CACHE_DIR")
            .write_stdin(bytes(&[2, 1]))
            .assert()
            .code(0);
        assert_eq!(ours(), ["wgpu-bcfsort"]);
        assert_eq!(
            fs::read_dir(folder.path("wgpu-bcfsort")).unwrap().count(),
            1
        );
    }

    #[test]
    fn a_cache_that_cannot_be_is_a_warning_in_the_log() {
        if !has_caches() {
            return;
        }
        let folder = Folder::new();
        let file = folder.write("file", "");
        let nowhere = Path::new(&file).join("kernels");
        let variables = [("WGPU_BCFSORT_CACHE_DIR", nowhere.as_os_str())];
        assert_eq!(sort(&variables, &[]), "");
        let told = sort(&[variables[0], ("RUST_LOG", "warn".as_ref())], &[]);
        assert!(told.contains("no kernel cache"), "{told}");
    }
}

mod without_an_adapter {
    use super::*;

    /// Hides the Vulkan drivers, which are all that Linux has.
    fn hidden() -> Command {
        let mut command = cli();
        command
            .env("VK_ICD_FILENAMES", "/nonexistent.json")
            .env("VK_DRIVER_FILES", "/nonexistent.json")
            .env_remove("WGPU_BCFSORT_REQUIRE_ADAPTER");
        command
    }

    fn none_left() -> bool {
        cfg!(target_os = "linux")
            && hidden().arg("devices").output().unwrap().status.code() == Some(3)
    }

    #[test]
    fn prefix_sums_are_added_up_on_the_cpu_with_one_warning() {
        if !none_left() {
            return;
        }
        let folder = Folder::new();
        let ones = folder.write("ones", "1\n1\n1\n");
        hidden()
            .args(["prefix-sums", "-f", "text", &ones, &ones])
            .assert()
            .code(0)
            .stdout("1\n2\n3\n")
            .stderr(one_line().and(contains("prefix sums on the CPU: no GPU adapter found")));
    }

    #[test]
    fn auto_sorts_on_the_cpu_with_one_warning() {
        if !none_left() {
            return;
        }
        // An option of the GPU's engines: without one, so few keys need no adapter.
        let keys = bytes(&[3, 1, 2]);
        hidden()
            .args(["sort", "--buckets", "4", "--timings"])
            .write_stdin(keys.clone())
            .assert()
            .code(0)
            .stdout(bytes(&[1, 2, 3]))
            .stderr(contains("wgpu-bcfsort: sorting on the CPU: ").and(contains("engine   cpu")));
        hidden()
            .args(["sort", "--buckets", "4"])
            .write_stdin(keys.clone())
            .assert()
            .code(0)
            .stderr(one_line().and(contains("mesa-vulkan-drivers")));
        hidden()
            .args(["sort", "--buckets", "4", "--quiet"])
            .write_stdin(keys)
            .assert()
            .code(0)
            .stderr("");
    }

    #[test]
    fn options_are_checked_though_no_adapter_asks_for_them() {
        if !none_left() {
            return;
        }
        for command in ["sort", "bench"] {
            hidden()
                .args([command, "--buckets", "0"])
                .write_stdin("")
                .assert()
                .code(2)
                .stderr(one_line().and(contains("--buckets is 0, but must be 1 to 1024")));
        }
    }

    #[test]
    fn what_needs_the_gpu_is_3() {
        if !none_left() {
            return;
        }
        let message = || one_line().and(contains("mesa-vulkan-drivers"));
        for args in [
            &["sort", "--engine", "bcf"][..],
            &["sort", "--adapter", "0"],
            &["devices"],
            &["bench", "--engines", "bcf"],
        ] {
            hidden()
                .args(args)
                .write_stdin("")
                .assert()
                .code(3)
                .stderr(message());
        }
        for command in ["sort", "bench"] {
            hidden()
                .arg(command)
                .env("WGPU_BCFSORT_REQUIRE_ADAPTER", "1")
                .write_stdin("")
                .assert()
                .code(3)
                .stdout("")
                .stderr(message());
        }
        hidden()
            .args(["sort", "--engine", "cpu"])
            .env("WGPU_BCFSORT_REQUIRE_ADAPTER", "1")
            .write_stdin("")
            .assert()
            .code(0);
    }
}

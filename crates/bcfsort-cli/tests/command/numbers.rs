//! Numbers that are made, checked and sorted on the CPU, and inputs that are wrong.

use crate::cli::{Folder, bytes, cli, one_line, run, usage, words};
use predicates::prelude::*;
use predicates::str::contains;

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
        run(&["gen", "ascending", "-n", "3", "-f", "text", "--type", "f64"]).stdout("1\n2\n3\n");
        run(&["gen", "maximal", "-n", "1", "-f", "text", "--type", "i64"])
            .stdout("9223372036854775807\n");
        run(&["gen", "maximal", "-n", "1", "-f", "text", "--type", "f32"])
            .stdout("NaN(0x7fffff)\n");
        run(&[
            "gen", "random", "-n", "2", "-f", "text", "--type", "i32", "--range", "-5..-5",
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
            .stderr(one_line().and(contains("outside u32: use --type i32")));
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
        let args = ["check", "-f", "text", "--type", "f32"];
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
        run(&["check", "-f", "gensort", "--type", "u32", &sorted])
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
            &["--type", "f64"],
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
        both(text, b"1\n1.5\n", "floats need --type f32 or --type f64");
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
            &["-f", "text", "--type", "f64"],
            b"-1e400\n",
            "line 1: '-1e400' is not a valid f64 key: too large for f64",
        );
    }

    #[test]
    fn crlf_blanks_and_a_missing_last_newline_are_fine() {
        cli()
            .args(["sort", "--engine", "cpu", "-f", "text", "--type", "i32"])
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
                let keys = run(&["gen", "special", "-n", "5000", "--type", key])
                    .get_output()
                    .clone();
                let sorted = cli()
                    .args(["sort", "--engine", "cpu", "--verify", "--type", key])
                    .args(direction)
                    .write_stdin(keys.stdout.clone())
                    .assert()
                    .code(0);
                let sorted = sorted.get_output().stdout.clone();
                assert_eq!(sorted.len(), keys.stdout.len());
                cli()
                    .args(["check", "--type", key])
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

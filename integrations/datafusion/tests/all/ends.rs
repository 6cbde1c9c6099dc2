//! How `bcfsort-sql sort` ends if it does not succeed: one line, exit code 2 or that of the signal,
//! and nothing left behind.

use crate::command::{command, stderr};
use std::fmt::Write;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const SORT: &str = env!("CARGO_BIN_EXE_bcfsort-sql");

/// A directory with `keep.csv` and an empty one for runs, `tmp`.
fn directory(rows: u64) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let mut text = "a,b\n".to_owned();
    for row in 0..rows {
        writeln!(text, "{},{row}", row * 7919 % 1_000_003).expect("text");
    }
    std::fs::write(directory.path().join("keep.csv"), text).expect("a file");
    std::fs::create_dir(directory.path().join("tmp")).expect("a directory");
    directory
}

/// The names in the directory and in its `tmp`, sorted.
fn names(directory: &TempDir) -> Vec<String> {
    let mut names = Vec::new();
    for place in [directory.path().to_owned(), directory.path().join("tmp")] {
        for entry in std::fs::read_dir(place).expect("a directory") {
            let name = entry.expect("an entry").file_name();
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    names
}

/// Runs a line of the shell, where `$SORT` is a sort of `keep.csv` by a.
fn shell(directory: &TempDir, line: &str) -> Output {
    let sort = format!("{SORT} sort --device cpu keep.csv --by a");
    Command::new("sh")
        .args(["-c", line])
        .env("SORT", sort)
        .env("TMPDIR", directory.path().join("tmp"))
        .env("RUST_BACKTRACE", "1")
        .current_dir(directory.path())
        .output()
        .expect("sh")
}

fn is_one_line(output: &Output, with: &str) {
    let error = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.starts_with("error: "), "{error}");
    assert!(error.contains(with), "{error}");
}

/// Starts a sort, and sends it a signal when it has made its first directory.
#[cfg(target_os = "linux")]
fn interrupted(directory: &TempDir, signal: &str, how: &str) -> Output {
    let sort = format!("{how} {SORT} sort --device cpu keep.csv --by a -o out.csv");
    let mut sort = Command::new("sh")
        .args(["-c", &sort])
        .env("TMPDIR", directory.path().join("tmp"))
        .current_dir(directory.path())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command");
    while !names(directory)
        .iter()
        .any(|name| name.starts_with(".bcfsort-"))
    {
        let ended = sort.try_wait().expect("its state");
        assert!(ended.is_none(), "it ended with {ended:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
    let id = sort.id().to_string();
    let sent = Command::new("kill").args([signal, &id]).status();
    assert!(sent.expect("kill").success());
    sort.wait_with_output().expect("its end")
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_leaves_nothing() {
    let directory = directory(300_000);
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let ended = interrupted(&directory, signal, "exec env --default-signal=HUP,INT,TERM");
        assert_eq!(ended.status.code(), Some(code), "{}", stderr(&ended));
        assert_eq!(names(&directory), ["keep.csv", "tmp"], "{signal}");
    }
    // With SIGHUP ignored, as by nohup.
    let ended = interrupted(&directory, "-HUP", "trap '' HUP; exec");
    assert_eq!(ended.status.code(), Some(0), "{}", stderr(&ended));
    assert_eq!(names(&directory), ["keep.csv", "out.csv", "tmp"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_of_a_files_size_is_an_error() {
    let directory = directory(300_000);
    for output in ["o.csv", "o.parquet", "o.arrow"] {
        let ended = shell(&directory, &format!("ulimit -f 100; $SORT -o {output}"));
        is_one_line(&ended, "File too large");
        assert_eq!(names(&directory), ["keep.csv", "tmp"], "{output}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn too_little_memory_is_an_error() {
    let directory = directory(300_000);
    for limit in (100_000..400_000).step_by(10_000) {
        let help = format!("ulimit -v {limit}; {SORT} sort --help");
        if !shell(&directory, &help).status.success() {
            // The system cannot even start the program.
            continue;
        }
        let ended = shell(&directory, &format!("ulimit -v {limit}; $SORT -o o.csv"));
        let error = stderr(&ended);
        if ended.status.success() {
            std::fs::remove_file(directory.path().join("o.csv")).expect("an output");
            continue;
        }
        is_one_line(&ended, "out of memory");
        assert_eq!(names(&directory), ["keep.csv", "tmp"], "{limit}: {error}");
    }
}

#[test]
fn messages_are_one_line() {
    let directory = directory(10);
    let sort = ["sort", "no\u{1b}\n.csv", "--by", "x", "-o", "o.csv"];
    is_one_line(&command(&directory, &sort), "no\\u{1b}\\n.csv");
    let ragged = "a,b\n1,2,3\n1\n";
    std::fs::write(directory.path().join("rag.csv"), ragged).expect("a file");
    for output in ["o.parquet", "o.arrow"] {
        let ended = command(&directory, &["sort", "rag.csv", "--by", "b", "-o", output]);
        is_one_line(
            &ended,
            "rag.csv, row 2: the row has 3 cells, but the header has 2",
        );
    }
    std::fs::write(directory.path().join("nl.csv"), "\n").expect("a file");
    let ended = command(&directory, &["sort", "nl.csv", "--by", "a", "-o", "o.csv"]);
    is_one_line(&ended, "no column \"a\": the input has no columns");
    assert_eq!(names(&directory), ["keep.csv", "nl.csv", "rag.csv", "tmp"]);
}

#[test]
fn a_summary_says_what_is_written() {
    let directory = directory(2);
    for output in ["o.csv", "o.parquet"] {
        for (limit, said) in [
            ("0", "no row written (--limit 0)"),
            ("1", "1 of 2 rows written (sorted on the CPU)"),
            ("2", "2 rows sorted (on the CPU)"),
        ] {
            let sort = [
                "sort", "keep.csv", "--device", "cpu", "--by", "a", "--limit", limit, "-o",
            ];
            let ended = command(&directory, &[&sort[..], &[output]].concat());
            let error = stderr(&ended);
            assert!(error.starts_with(said), "{output}, {limit}: {error}");
        }
    }
}

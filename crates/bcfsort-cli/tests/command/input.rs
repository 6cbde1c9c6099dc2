//! Inputs and arguments that are easy to get wrong, terminals, signals, and full disks.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::{contains, ends_with};

const LOOKS: &str = " looks like text: -f text reads it as numbers, -f raw as bytes; sort and \
                     check have -f lines and csv\n";

fn cli(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"));
    command.env_remove("RUST_LOG");
    command.env("WGPU_BCFSORT_CACHE_DIR", "").args(args);
    command
}

#[test]
fn text_is_refused_unless_a_format_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let text = file("text", b"123\n-2e5\n0.5\r\n7\n");
    let raw = file("raw", &[0; 16]);
    let sort: &[&str] = &["sort", "-q", "--engine", "cpu"];
    for args in [
        &["sort", "-q", "--engine", "cpu", &text][..],
        &["check", &text],
        &["prefix-sums", &text, &raw],
        &["prefix-sums", &raw, &text],
    ] {
        let told = contains("wgpu-bcfsort: ").and(ends_with(text.clone() + LOOKS));
        cli(args).assert().code(2).stdout("").stderr(told);
    }
    let told = format!("wgpu-bcfsort: stdin{LOOKS}");
    let stdin = |input: &[u8]| cli(sort).write_stdin(input).assert();
    for input in ["123\n", "1\n2\n3\n", "12345678", "5\n"] {
        stdin(input.as_bytes())
            .code(2)
            .stdout("")
            .stderr(told.clone());
    }
    // A file of one u32 key, which is too short to tell without a newline.
    stdin(b"1234").code(0).stdout("1234");
    stdin(b"").code(0).stdout("");

    cli(sort)
        .args(["-f", "raw"])
        .write_stdin("4321123\n")
        .assert()
        .code(0)
        .stdout("123\n4321");
    cli(sort)
        .args(["-f", "text"])
        .write_stdin("4321\n123\n")
        .assert()
        .code(0)
        .stdout("123\n4321\n");
    cli(&["check", "-f", "raw"])
        .write_stdin("4321123\n")
        .assert()
        .code(1);
    cli(&[
        "prefix-sums",
        "-q",
        "-f",
        "raw",
        "-",
        &file("color", &[0; 4]),
    ])
    .write_stdin("123\n")
    .assert()
    .code(0)
    .stdout("123\n");
}

#[test]
fn counts_may_have_exponents_and_fractions() {
    for (count, keys) in [("1e3", 1000), ("1.5K", 1500), ("0.001M", 1000), ("2.0", 2)] {
        let output = cli(&["gen", "random", "-n", count]).assert().code(0);
        assert_eq!(output.get_output().stdout.len(), 4 * keys, "{count}");
    }
    let within = ["sort", "-q", "--engine", "cpu", "-f", "text", "--memory"];
    cli(&within)
        .arg("0.001G")
        .write_stdin("3\n2\n1\n")
        .assert()
        .code(0)
        .stdout("1\n2\n3\n");
    for count in ["1.5", "1.0001K", "1.25e1"] {
        let told = contains(format!("'{count}' is not a whole number"));
        cli(&["gen", "random", "-n", count])
            .assert()
            .code(2)
            .stderr(told.clone());
        cli(&within).arg(count).assert().code(2).stderr(told);
    }
}

/// Needs the program `script` for a terminal. A unit test checks the same without one.
#[cfg(target_os = "linux")]
#[test]
fn raw_keys_go_to_a_terminal_only_on_request() {
    let on_terminal = |args: &str| {
        let line = format!("{} {args}", env!("CARGO_BIN_EXE_wgpu-bcfsort"));
        let output = std::process::Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .stdin(std::process::Stdio::null())
            .output()
            .ok()?;
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        Some((output.status.code(), stdout))
    };
    let told = "raw keys would go to the terminal: -f text, -o FILE, or -o - to do it all the same";
    for args in ["gen constant -n 1", "sort", "argsort", "prefix-sums a b"] {
        let Some((code, shown)) = on_terminal(args) else {
            return;
        };
        assert_eq!(code, Some(2), "{args}: {shown}");
        assert_eq!(shown.trim_end(), format!("wgpu-bcfsort: {told}"), "{args}");
    }
    for (args, start) in [
        ("gen ascending -n 2 -f text", "1\r\n2\r\n"),
        ("gen ascending -n 2 -o -", "\u{1}\0\0\0\u{2}\0\0\0"),
    ] {
        let (code, shown) = on_terminal(args).unwrap();
        assert_eq!((code, &*shown), (Some(0), start), "{args}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_2() {
    for args in [
        &["--help"][..],
        &["--version"],
        &["sort", "--help"],
        &["man"],
        &["completions", "bash"],
        &["gen", "random", "-n", "10"],
    ] {
        let full = std::fs::File::create("/dev/full").unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"))
            .args(args)
            .stdout(full)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(
            told.starts_with("wgpu-bcfsort: stdout: cannot write: "),
            "{told}"
        );
    }
}

//! The command line, as scripts see it: help, usage errors, exit codes, completions, manual pages.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(super) fn cli() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"));
    command.env_remove("RUST_LOG");
    // Tests leave nothing in the user's directories.
    command.env("WGPU_BCFSORT_CACHE_DIR", "");
    command
}

pub(super) fn run(args: &[&str]) -> assert_cmd::assert::Assert {
    cli().args(args).assert()
}

/// A directory of its own for each test.
pub(super) struct Folder(pub(super) TempDir);

impl Folder {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), content).unwrap();
        self.name(name)
    }

    pub(super) fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// The names of all files, hidden ones too.
    pub(super) fn list(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

pub(super) fn bytes(keys: &[u32]) -> Vec<u8> {
    keys.iter().flat_map(|key| key.to_le_bytes()).collect()
}

pub(super) fn words(path: &Path) -> Vec<u32> {
    let bytes = fs::read(path).unwrap();
    assert_eq!(bytes.len() % 4, 0);
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

/// One line on stderr that begins with the program's name, and nothing of the drivers'.
pub(super) fn one_line() -> impl Predicate<str> {
    predicate::function(|text: &str| {
        text.lines().count() == 1 && text.starts_with("wgpu-bcfsort: ") && text.ends_with('\n')
    })
}

/// An error of the command line, as clap lays it out over several lines.
pub(super) fn usage() -> impl Predicate<str> {
    predicate::function(|text: &str| {
        text.starts_with("wgpu-bcfsort: ") && text.contains("\n\n") && text.ends_with("'--help'.\n")
    })
}

mod general {
    use super::*;

    const COMMANDS: [&str; 14] = [
        "sort",
        "argsort",
        "merge",
        "uniq",
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
    fn every_count_may_be_a_power_or_have_a_unit() {
        let folder = Folder::new();
        let keys = folder.write("keys", bytes(&[3, 1, 2, 4]));
        let colors = folder.write("colors", bytes(&[0, 1, 0, 1]));
        let none = ["--engine", "cpu", "-o", "-"];
        for (args, option) in [
            (&["gen", "random", "-n", "1"][..], "--seed"),
            (&["gen", "duplicates", "-n", "1000"], "--distinct"),
            (&["gen", "runs", "-n", "1000"], "--runs"),
            (&["gen", "adversary", "-n", "2^15"], "--items"),
            (
                &["sort", "-f", "fixed", "--key", "0:u32", &keys],
                "--record",
            ),
            (
                &["check", "-f", "fixed", "--key", "0:u32", &keys],
                "--record",
            ),
            (&["prefix-sums", &keys, &colors], "--colors"),
            (&["audit", "-n", "32"], "--seed"),
            (&["audit", "-n", "32"], "--banks"),
            (&["audit", "-n", "32"], "--max-degree"),
            (&["audit", "-n", "32"], "--max-iterations"),
            (&["audit", "-n", "32"], "--max-lane-instructions"),
        ] {
            for count in ["2^4", "1.6e1", "0.016K"] {
                let mut command = cli();
                command.args(args).args([option, count]);
                if args[0] == "sort" {
                    command.args(none);
                }
                let output = command.assert().get_output().clone();
                let told = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(!told.contains("invalid value"), "{args:?} {option}: {told}");
                assert!(!told.contains("unexpected"), "{args:?} {option}: {told}");
            }
            run(&[args, &[option, "1.6"]].concat())
                .code(2)
                .stderr(contains("invalid value '1.6'"));
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
            "--temp-dir",
        ] {
            assert!(!short.contains(option) && all.contains(option), "{option}");
        }
        for command in ["bench", "audit"] {
            assert!(help(&[command, "--help"]).contains("--base-case"));
        }
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

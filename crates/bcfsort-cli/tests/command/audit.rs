//! `wgpu-bcfsort audit`, as scripts and people see it: the kernels of sorts. What it finds in wrong
//! shaders, the tests of wgsl-lockstep show.

use assert_cmd::Command;
use bcfsort_testkit::all_cases;
use predicates::prelude::*;
use predicates::str::{contains, starts_with};
use serde_json::Value;
use std::fs;

fn cli() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"));
    command.env_remove("RUST_LOG").arg("audit");
    command
}

fn audit(args: &[&str]) -> assert_cmd::assert::Assert {
    cli().args(args).assert()
}

fn stdout(assert: &assert_cmd::assert::Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

fn json(args: &[&str], code: i32) -> Value {
    let assert = audit(&[args, &["--json"]].concat()).code(code);
    serde_json::from_slice(&assert.get_output().stdout).unwrap()
}

fn one_line() -> impl Predicate<str> {
    predicate::function(|text: &str| {
        text.lines().count() == 1 && text.starts_with("wgpu-bcfsort: ") && text.ends_with('\n')
    })
}

/// Of one line, or of clap's several.
fn told() -> impl Predicate<str> {
    starts_with("wgpu-bcfsort: ")
}

#[test]
fn wrong_usage_is_2() {
    for args in [
        &["shader.wgsl"][..],
        &["--entry", "main"],
        &["--json", "--markdown"],
        &["--all", "-n", "5"],
        &["--all", "--engine", "bcf"],
        &["--warp", "5"],
        &["--banks", "65"],
        &["--max-degree", "0"],
        &["-n", "2^33"],
        &["--buckets", "0"],
        &["--pattern", "adversary", "-n", "1000"],
        &["--print", "no.kernel"],
        &["--print", "merge.page_merge.1w", "-n", "5"],
    ] {
        audit(args).code(2).stdout("").stderr(told());
    }
}

#[test]
fn help_and_errors_name_the_command_for_other_shaders() {
    audit(&["--help"]).code(0).stdout(contains("wgsl-audit"));
    for args in [
        &["shader.wgsl"][..],
        &["shader.wgsl", "--json"],
        &["-n", "5", "shader.wgsl"],
    ] {
        let refused = audit(args).code(2).stdout("").stderr(told());
        refused.stderr(contains("'shader.wgsl'").and(contains("wgsl-audit")));
    }
}

#[test]
fn kernels_are_printed_by_name() {
    let names = stdout(&audit(&["--print"]).code(0).stderr(""));
    let name = "merge.page_merge.1w";
    assert!(names.lines().any(|line| line == name), "{names}");
    let shown = include_str!("../../../../docs/kernels/merge.page_merge.1w.wgsl");
    audit(&["--print", name]).code(0).stderr("").stdout(shown);
}

mod sorts {
    use super::*;

    /// A row of a table that begins with these cells.
    fn row(cells: &'static str) -> impl Predicate<str> {
        predicate::function(move |text: &str| {
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            text.lines().any(|line| words(line).starts_with(cells))
        })
    }

    #[test]
    fn every_kernel_of_a_sort_is_clean() {
        for (engine, key, more) in [
            ("bcf", "u32", &["--base-case", "transpose", "-r"][..]),
            ("bcf-pb", "f64", &["--pattern", "zero-one"]),
        ] {
            let args = [
                "-n",
                "4500",
                "--engine",
                engine,
                "--type",
                key,
                "--buckets",
                "3",
                "--max-degree",
                "1",
            ];
            audit(&[&args, more].concat()).code(0).stdout(
                contains("the same bytes as the CPU's sort")
                    .and(row("distribution buckets.distribute 1"))
                    .and(row("merge merge.page_merge"))
                    .and(contains("a second"))
                    .and(contains("\nclean")),
            );
        }
    }

    #[test]
    fn nothing_to_sort_is_clean() {
        for n in ["0", "1"] {
            audit(&["-n", n]).code(0).stdout(contains("\nclean\n"));
        }
    }

    #[test]
    fn lines_are_shown_on_demand() {
        let line = || contains(" tile ").and(contains(" store "));
        let lines = ["-n", "1500", "--lines"];
        audit(&lines)
            .code(0)
            .stdout(contains("base case: bcfsort.base_case.bitonic_matrix.").and(line()));
        audit(&lines[..2]).code(0).stdout(line().not());
        // Its conflicts are notes.
        let conflicts = [&lines[..2], &["--base-case", "odd-even-transposition"]].concat();
        audit(&conflicts)
            .code(0)
            .stdout(contains(" notes (--lines shows them)\n").and(line().not()));
    }

    /// What `--all` prints is in the documentation of the recordings, and `tests/lockstep` holds it
    /// to what it should be.
    #[test]
    fn markdown_is_a_table_and_nothing_else() {
        let sort = stdout(&audit(&["-n", "3000", "--markdown"]).code(0));
        assert!(sort.starts_with("| phase"));
        let mut tables = vec![sort];
        if all_cases() {
            let all = stdout(&audit(&["--all", "--markdown"]).code(0).stderr(""));
            let shown = include_str!("../../../bcfsort-testkit/src/recordings/kernels.md");
            assert_eq!(all, shown);
            tables.push(all);
        }
        for table in tables {
            let mut lines = table.lines();
            let head = lines.next().unwrap();
            assert!(head.contains("max degree"));
            assert!(lines.next().unwrap().starts_with("|--"));
            assert!(lines.clone().count() >= 2);
            let columns = head.matches('|').count();
            let cells = |line: &str| line.matches('|').count();
            assert!(table.lines().all(|line| cells(line) == columns));
        }
    }
}

mod documents {
    use super::*;

    #[test]
    fn json_of_a_sort_says_whether_it_sorted() {
        let report = json(&["-n", "1500", "--type", "i32", "-r"], 0);
        assert_eq!(report["command"], "sort");
        assert!(report.get("buffers").is_none());
        assert_eq!(report["sort"]["sorted"], true);
        assert_eq!(report["sort"]["keys"], 1500);
        assert_eq!(report["sort"]["order"], "descending");
        assert_eq!(report["clean"], true);
        let kernels = report["kernels"].as_array().unwrap();
        let phases: Vec<_> = kernels.iter().map(|kernel| &kernel["phase"]).collect();
        assert_eq!(phases, ["encode", "copy", "base case", "merge", "decode"]);
        assert_eq!(kernels[2]["workgroup"]["max_degree"], 1);
        let each = kernels.iter().map(|k| k["lane_instructions"].as_u64());
        assert_eq!(
            each.sum::<Option<u64>>(),
            report["lane_instructions"].as_u64()
        );
    }

    #[test]
    fn heatmaps_have_a_panel_for_each_kernel() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("map.svg");
        let map = path.to_str().unwrap();
        audit(&["-n", "3000", "--heatmap", map]).code(0);
        let picture = fs::read_to_string(&path).unwrap();
        let document = roxmltree::Document::parse(&picture).unwrap();
        let elements = document.descendants().filter(|e| e.has_tag_name("text"));
        let texts: Vec<&str> = elements.filter_map(|e| Some(e.text()?.trim())).collect();
        let title = |start: &str| texts.iter().any(|text| text.starts_with(start));
        assert!(title("base case: bcfsort."), "{texts:?}");
        assert!(title("merge: bcfsort.merge.page_merge.1w"), "{texts:?}");

        let wrong = directory.path().join("no/such/map.svg");
        audit(&["-n", "10", "--heatmap", wrong.to_str().unwrap()])
            .code(2)
            .stdout("")
            .stderr(one_line());
    }
}

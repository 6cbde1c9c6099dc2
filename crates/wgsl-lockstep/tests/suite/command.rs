//! The command `wgsl-audit`, as scripts and people use it: the faults that it finds, and their
//! locations, in shaders with one defect each.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

pub(super) fn cli() -> Command {
    Command::new(env!("CARGO_BIN_EXE_wgsl-audit"))
}

pub(super) fn audit(args: &[&str]) -> assert_cmd::assert::Assert {
    cli().args(args).assert()
}

pub(super) fn stdout(assert: &assert_cmd::assert::Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

pub(super) fn json(args: &[&str], code: i32) -> Value {
    let assert = audit(&[args, &["--json"]].concat()).code(code);
    serde_json::from_slice(&assert.get_output().stdout).unwrap()
}

pub(super) fn one_line() -> impl Predicate<str> {
    predicate::function(|text: &str| {
        text.lines().count() == 1 && text.starts_with("wgsl-audit: ") && text.ends_with('\n')
    })
}

/// A shader of `tests/fixtures`.
pub(super) struct Fixture {
    pub(super) path: String,
    /// The line with `// here` at its end.
    pub(super) here: usize,
}

pub(super) fn fixture(name: &str) -> Fixture {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(format!("{name}.wgsl"));
    let source = fs::read_to_string(&path).unwrap();
    let marked = |line: &str| line.ends_with("// here");
    Fixture {
        path: path.to_str().unwrap().to_owned(),
        here: source.lines().position(marked).map_or(0, |line| line + 1),
    }
}

impl Fixture {
    pub(super) fn audit(&self, args: &[&str]) -> assert_cmd::assert::Assert {
        audit(&[&[self.path.as_str()], args].concat())
    }

    /// Checks that the audit fails with `word`, at the marked line only.
    fn fails(&self, args: &[&str], word: &str) {
        let report = stdout(&self.audit(args).code(1));
        let failures: Vec<&str> = report
            .lines()
            .filter(|line| line.starts_with(&self.path) && line.contains(&format!(": {word}: ")))
            .collect();
        assert!(!failures.is_empty(), "{report}");
        let start = format!("{}:{}:", self.path, self.here);
        assert!(failures.iter().all(|f| f.starts_with(&start)), "{report}");
        // The line itself is printed.
        assert!(report.contains("// here\n"), "{report}");
        // Nothing else fails.
        let plural = if failures.len() == 1 { "" } else { "s" };
        let verdict = format!("\n{} failure{plural}", failures.len());
        assert!(report.contains(&verdict), "{report}");
    }

    /// The largest degree, and the lines with this degree.
    fn degree(&self) -> (u64, BTreeSet<u64>) {
        let report = json(&[&self.path], 0);
        let sites = report["kernels"][0]["sites"].as_array().unwrap();
        let degree = |site: &Value| site["banks"]["max_degree"].as_u64().unwrap_or(0);
        let most = sites.iter().map(degree).max().unwrap();
        let worst = sites.iter().filter(|site| degree(site) == most);
        (most, worst.map(|s| s["line"].as_u64().unwrap()).collect())
    }
}

mod findings {
    use super::*;

    #[test]
    fn a_missing_barrier() {
        fixture("missing_barrier").fails(&[], "race");
        // The other access is reported as well.
        let report = stdout(&fixture("missing_barrier").audit(&[]).code(1));
        assert!(report.contains("tile[lane] = data[lane];"), "{report}");
        assert!(report.contains("workgroupBarrier()"), "{report}");
    }

    #[test]
    fn the_wrong_barrier() {
        fixture("wrong_barrier").fails(&[], "race");
        let report = stdout(&fixture("wrong_barrier").audit(&[]).code(1));
        assert!(report.contains("storageBarrier()"), "{report}");
    }

    #[test]
    fn a_race_between_workgroups() {
        let fixture = fixture("workgroups_race");
        fixture.fails(&["--workgroups", "2"], "race");
        fixture.fails(&["--workgroups", "1,1,3"], "race");
        fixture.audit(&[]).code(0);
    }

    #[test]
    fn an_unguarded_tail() {
        let fixture = fixture("unguarded_tail");
        let args = ["--workgroups", "2", "--buffer", "0=random:100"];
        fixture.fails(&args, "bounds");
        let report = stdout(&fixture.audit(&args).code(1));
        assert!(report.contains("28 times"), "{report}");
        // Enough elements, or fewer in the other buffer as well, so that none is out of bounds.
        fixture.audit(&["--workgroups", "2"]).code(0);
        let few = ["--buffer", "0=random:100", "--buffer", "0.1=zero:100"];
        fixture.audit(&[&args[..2], &few].concat()).code(0);
    }

    #[test]
    fn a_divergent_barrier() {
        fixture("divergent_barrier").fails(&[], "barrier");
    }

    #[test]
    fn a_runaway_loop() {
        let fixture = fixture("runaway_loop");
        fixture.fails(&["--max-iterations", "10K"], "loop");
        fixture.audit(&["--buffer", "1=words:1"]).code(0);
        // The limit is so low that it stops a correct loop.
        let args = ["--buffer", "1=words:1", "--max-iterations", "100"];
        fixture.fails(&args, "loop");
        fixture
            .audit(&["--max-lane-instructions", "2^16"])
            .code(1)
            .stdout(contains(": loop: ").and(contains("\n1 failure\n")));
    }

    #[test]
    fn an_uninitialised_read_is_a_warning() {
        let fixture = fixture("uninitialised");
        let place = format!("{}:{}:", fixture.path, fixture.here);
        fixture.audit(&[]).code(0).stdout(
            contains("warning: 'tile'")
                .and(contains(place))
                .and(contains("(32 times)"))
                .and(contains("\nclean, 1 warning\n")),
        );
    }

    #[test]
    fn a_limit_without_accesses_fails() {
        let fixture = fixture("empty_size");
        let limit = ["--max-degree", "1"];
        let start = format!("{}:{}:9: unreached: ", fixture.path, fixture.here);
        fixture.audit(&limit).code(1).stdout(
            contains(start)
                .and(contains(
                    "no access to workgroup memory was executed, so --max-degree 1 checks nothing",
                ))
                .and(contains("others: 20:42 (load of 'tile')\n"))
                .and(contains(
                    "is a buffer all zero? set it with --buffer 0.0=... (size);",
                ))
                .and(contains("warning: unreached: 2 of 2 accesses to storage"))
                .and(contains("\n1 failure, 1 warning\n")),
        );
        // Without a limit it is a warning.
        fixture.audit(&[]).code(0).stdout(
            contains(": warning: unreached: 2 of 2 accesses to workgroup memory were never")
                .and(contains("\nclean, 2 warnings\n")),
        );
        let report = json(&[&[fixture.path.as_str()][..], &limit].concat(), 1);
        assert_eq!(report["clean"], false);
        assert_eq!(report["kernels"][0]["sites"][0]["accesses"], 0);
        // With a size the limit finds the conflict, and nothing is unreached.
        let size = ["--buffer", "size=words:32,32"];
        fixture
            .audit(&[&size[..], &limit].concat())
            .code(1)
            .stdout(contains(": conflict: degree 32, above").and(contains("unreached").not()));
        // It is zero by choice.
        fixture
            .audit(&["--buffer", "size=zero:2"])
            .code(0)
            .stdout(contains("another --buffer, --override or --workgroups"));
    }

    #[test]
    fn a_branch_that_is_not_reached_is_a_warning() {
        let source = "
            @group(0) @binding(0) var<uniform> mode: u32;
            @group(0) @binding(1) var<storage, read_write> data: array<u32>;
            var<workgroup> tile: array<u32, 64>;
            @compute @workgroup_size(64)
            fn main(@builtin(local_invocation_index) lane: u32) {
                switch mode {
                    case 0u: { tile[lane] = 1u; }
                    case 1u: { tile[lane] = data[lane]; }
                    default: { tile[lane] += 2u; }
                }
            }";
        let run = |args: &[&str]| {
            let args = [&["-", "--max-degree", "1"], args].concat();
            cli().args(args).write_stdin(source).assert()
        };
        // A line counts its load and its store.
        run(&[]).code(0).stdout(
            contains("stdin:9:32: warning: unreached: 3 of 4 accesses to workgroup memory were")
                .and(contains(
                    "stdin:9:45: warning: unreached: load of 'data' was never",
                ))
                .and(contains("\nclean, 2 warnings\n")),
        );
        run(&["--buffer", "mode=words:2"])
            .code(0)
            .stdout(contains("unreached: 2 of 4 accesses"));
        // An access that is out of bounds in all lanes was executed.
        let outside = "
            var<workgroup> tile: array<u32, 64>;
            @compute @workgroup_size(64)
            fn main(@builtin(local_invocation_index) lane: u32) { tile[lane + 64u] = 1u; }";
        let args = ["-", "--max-degree", "1"];
        let run = cli().args(args).write_stdin(outside).assert().code(1);
        run.stdout(contains(": bounds: ").and(contains("unreached").not()));
    }

    #[test]
    fn what_is_right_is_clean() {
        for (name, args) in [
            ("padded_transpose", &[][..]),
            ("reduction", &["--workgroups", "3"]),
            (
                "reduction",
                &["--workgroups", "2", "--buffer", "0=random:200"],
            ),
            ("reduction", &["--override", "LANES=64"]),
        ] {
            fixture(name)
                .audit(&[args, &["--max-degree", "1"]].concat())
                .code(0)
                .stdout(contains("\nclean\n"));
        }
    }
}

mod conflicts {
    use super::*;

    #[test]
    fn degrees_are_exact() {
        for (name, degree) in [("stride_2", 2), ("stride_32", 32), ("two_way_diagonal", 2)] {
            let fixture = fixture(name);
            let here = BTreeSet::from([fixture.here as u64]);
            if name == "stride_2" {
                // The reads have the same degree as the writes.
                let (most, lines) = fixture.degree();
                assert_eq!(most, degree);
                assert!(lines.is_superset(&here));
            } else {
                assert_eq!(fixture.degree(), (degree, here), "{name}");
            }
        }
        assert_eq!(fixture("padded_transpose").degree().0, 1);
        assert_eq!(fixture("reduction").degree().0, 1);
    }

    #[test]
    fn they_fail_above_the_limit_only() {
        let fixture = fixture("stride_32");
        fixture
            .audit(&[])
            .code(0)
            .stdout(contains("note: conflict"));
        fixture.audit(&["--max-degree", "32"]).code(0);
        fixture.fails(&["--max-degree", "31"], "conflict");
        fixture.fails(&["--max-degree", "1"], "conflict");
    }

    #[test]
    fn the_hint_names_the_distance() {
        fixture("stride_32")
            .audit(&[])
            .stdout(contains("32 words apart").and(contains("33 words")));
    }

    #[test]
    fn the_hardware_decides() {
        let degree = |args: &[&str]| {
            let fixture = fixture("stride_32");
            let report = json(&[&[fixture.path.as_str()], args].concat(), 0);
            report["kernels"][0]["workgroup"]["max_degree"].as_u64()
        };
        assert_eq!(degree(&["--warp", "8"]), Some(8));
        assert_eq!(degree(&["--banks", "64"]), Some(16));
        assert_eq!(degree(&["--banks", "33"]), Some(1));
    }

    #[test]
    fn structures_in_storage_are_told_of() {
        let source = "struct Body { place: vec4<f32>, mass: f32 }
            @group(0) @binding(0) var<storage, read_write> bodies: array<Body>;
            @compute @workgroup_size(64)
            fn main(@builtin(local_invocation_index) i: u32) { bodies[i].mass *= 2.0; }";
        cli()
            .arg("-")
            .write_stdin(source)
            .assert()
            .code(0)
            .stdout(contains(
                "stdin:4:64: note: uncoalesced load and store of 'bodies': 8.00x",
            ));
    }
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a\u{1b}]0;x\u{7}.wgsl");
    let good = "@group(0) @binding(0) var<storage, read_write> s: array<u32>;
                @compute @workgroup_size(2) fn main() { /* \u{1b}[31m\u{202e} */ s[9] = 1u; }";
    for text in [
        good,
        "fn \u{1b}[31m",
        "const a = \u{9b}31m;",
        "const a = 1;\r\n\r\nlet",
    ] {
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_wgsl-audit"));
        let output = command
            .arg(&file)
            .arg("--buffer=s=words:1")
            .output()
            .unwrap();
        for printed in [output.stdout, output.stderr] {
            let printed = String::from_utf8(printed).unwrap();
            let raw = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
            assert!(!printed.contains(raw), "{printed:?}");
        }
    }
}

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
    fn a_limit_without_accesses_fails_in_json_too() {
        let report = json(&[&fixture("empty_size").path, "--max-degree", "1"], 1);
        assert_eq!(report["clean"], false);
        assert_eq!(report["kernels"][0]["sites"][0]["accesses"], 0);
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

//! The command `wgsl-audit`, as scripts and people use it: the faults that it finds, and their
//! locations, in shaders with one defect each.

use crate::sarif;
use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn cli() -> Command {
    Command::new(env!("CARGO_BIN_EXE_wgsl-audit"))
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
        text.lines().count() == 1 && text.starts_with("wgsl-audit: ") && text.ends_with('\n')
    })
}

/// A shader of `tests/fixtures`.
struct Fixture {
    path: String,
    /// The line with `// here` at its end.
    here: usize,
}

fn fixture(name: &str) -> Fixture {
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
    fn audit(&self, args: &[&str]) -> assert_cmd::assert::Assert {
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

mod shaders {
    use super::*;

    /// A shader that checks the contents of its buffers.
    const SUM: &str = "
        @group(0) @binding(0) var<storage, read_write> sum: array<u32>;
        @group(1) @binding(2) var<storage, read> a: array<u32>;
        @group(1) @binding(3) var<uniform> b: vec4<i32>;
        struct Mixed { f: f32, list: array<vec3<f32>> }
        @group(2) @binding(0) var<storage, read> mixed: Mixed;
        var<workgroup> tile: array<u32, 64>;
        @compute @workgroup_size(1)
        fn main() {
            // What is wrong is out of bounds of the tile.
            let right = a[2] == 5u && b.y == -7 && b.z == 16 && mixed.f == 1.5;
            sum[0] = arrayLength(&mixed.list);
            tile[select(64u, 0u, right)] = 1u;
        }";

    fn sum(args: &[&str]) -> assert_cmd::assert::Assert {
        cli().arg("-").args(args).write_stdin(SUM).assert()
    }

    #[test]
    fn buffers_are_filled_as_specified() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a");
        fs::write(&file, [3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0]).unwrap();
        let a = format!("1.2=file:{}", file.display());
        let b = "1.3=words:1,-7,0x10,0";
        let mixed = "2.0=words:1.5,0,0,0,1,2,3,0";
        let args = ["--buffer", &a, "--buffer", b, "--buffer", mixed];
        sum(&args).code(0).stdout(contains("\nclean"));
        let by_name = [&args[..4], &["--buffer", "mixed=words:1.5,0,0,0,1,2,3,0"]].concat();
        sum(&by_name).code(0).stdout(contains("\nclean"));
        // Without the option for `mixed`, its default contents are wrong.
        sum(&args[..4]).code(1).stdout(contains(": bounds: "));
        let iota = [&args[2..], &["--buffer", "1.2=iota:6"]].concat();
        sum(&iota).code(1);
        fs::write(&file, [0; 7]).unwrap();
        sum(&args)
            .code(2)
            .stderr(one_line().and(contains("7 bytes")));
        fs::remove_file(&file).unwrap();
        sum(&args)
            .code(2)
            .stderr(one_line().and(contains("cannot read")));
    }

    #[test]
    fn defaults_are_reported() {
        let report = stdout(&sum(&[]).code(1));
        for line in [
            "buffer 0.0 (sum, storage): random:4096 (--buffer 0.0=... sets it)\n",
            "buffer 1.3 (b, uniform): zero:4 (--buffer 1.3=... sets it)\n",
            // 4 words before the array, and elements of 4 words.
            "buffer 2.0 (mixed, storage): random:4096 (--buffer 2.0=... sets it)\n",
        ] {
            assert!(report.contains(line), "{report}");
        }
    }

    #[test]
    fn what_there_is_not_is_listed() {
        sum(&["--buffer", "4=zero:1"]).code(2).stdout("").stderr(
            one_line().and(contains("0.4")).and(contains(
                "0.0 (sum, storage), 1.2 (a, storage), 1.3 (b, uniform), 2.0 (mixed, storage)",
            )),
        );
        sum(&["--buffer", "c=zero:1"])
            .code(2)
            .stderr(one_line().and(contains("--buffer c: stdin uses no such buffer")));
        sum(&["--buffer", "sum=zero:1", "--buffer", "0=zero:1"])
            .code(2)
            .stderr(one_line().and(contains("given twice")));
        let two = "@compute @workgroup_size(1) fn a() {}
                   @compute @workgroup_size(1) fn b() {}";
        let run = |args: &[&str]| cli().arg("-").args(args).write_stdin(two).assert();
        run(&[]).code(2).stderr(one_line().and(contains("a, b")));
        run(&["--entry", "c"]).code(2).stderr(contains("'c'"));
        run(&["--entry", "b"])
            .code(0)
            .stdout(contains("entry point b"));
    }

    #[test]
    fn what_cannot_be_run_is_shown() {
        let run = |source: &str| {
            let source = source.to_owned();
            cli()
                .arg("-")
                .write_stdin(source)
                .assert()
                .code(2)
                .stdout("")
        };
        run("fn main() { let x = ; }").stderr(
            contains("stdin is not valid WGSL")
                .and(contains("stdin:1:21"))
                .and(contains("expected expression")),
        );
        run("@group(0) @binding(0) var image: texture_2d<f32>;
             @compute @workgroup_size(1) fn main() { _ = textureDimensions(image); }")
        .stderr(
            contains("stdin:1:23: cannot run a texture")
                .and(contains("var image: texture_2d<f32>;\n")),
        );
        run("").stderr(one_line().and(contains("no compute entry point")));
        cli()
            .arg("-")
            .write_stdin(vec![0xff, 0xfe])
            .assert()
            .code(2)
            .stderr(one_line().and(contains("UTF-8")));
        audit(&["no/such.wgsl"])
            .code(2)
            .stderr(one_line().and(contains("no/such.wgsl: cannot read")));
        // A terminal does not obey a name.
        audit(&["no/\u{1b}[31m\u{202e}.wgsl"])
            .code(2)
            .stderr(one_line().and(contains("no/\\u{1b}[31m\\u{202e}.wgsl: cannot read")));
        let directory = tempfile::tempdir().unwrap();
        audit(&[directory.path().to_str().unwrap()])
            .code(2)
            .stderr(one_line().and(contains("is a directory")));
    }

    #[test]
    fn too_much_is_refused() {
        let path = fixture("reduction").path;
        for args in [
            ["--buffer", "0=zero:1G"],
            ["--buffer", "0=random:18446744073709551615"],
            ["--workgroups", "2^31"],
            ["--workgroups", "65535,65535,2"],
        ] {
            audit(&[&[path.as_str()][..], &args].concat())
                .code(2)
                .stdout("")
                .stderr(one_line());
        }
    }

    #[test]
    fn wrong_usage_is_2() {
        // The shader itself is clean.
        let path = fixture("padded_transpose").path;
        for args in [
            &["--engine", "bcf"][..],
            &["another.wgsl"],
            &["--workgroups", "0"],
            &["--workgroups", "1,2,3,4"],
            &["--workgroups", "4*4"],
            &["--quiet", "--json"],
            &["--buffer", "0=ones:4"],
            &["--buffer", "zero:4"],
            &["--buffer", "0=zero:4096", "--buffer", "0=zero:4096"],
            &["--override", "N"],
            &["--override", "N=many"],
            &["--warp", "5"],
            &["--banks", "65"],
            &["--max-degree", "0"],
            &["--max-iterations", "0"],
            &["--seed", "x"],
            &["--sarif", "no/such/folder/a.sarif"],
            &["--heatmap", "no/such/folder/a.svg"],
        ] {
            audit(&[&[path.as_str()], args].concat())
                .code(2)
                .stdout("")
                .stderr(one_line());
        }
        audit(&[]).code(2).stderr(one_line().and(contains("FILE")));
        // Clap's tip is kept, its usage is dropped.
        audit(&[&path, "--buffers", "0=zero:1"])
            .code(2)
            .stderr(contains("'--buffer'").and(contains("Usage").not()));
    }

    #[test]
    fn quiet_prints_failures_and_warnings_only() {
        for quiet in ["-q", "--quiet"] {
            fixture("padded_transpose")
                .audit(&[quiet])
                .code(0)
                .stdout("");
            fixture("stride_32").audit(&[quiet]).code(0).stdout("");
        }
        let fixture = fixture("stride_32");
        let start = format!("{}:{}:36: conflict: ", fixture.path, fixture.here);
        fixture
            .audit(&["-q", "--max-degree", "1"])
            .code(1)
            .stdout(predicate::str::starts_with(start).and(contains("1 failure").not()));
    }

    #[test]
    fn workgroups_are_separated_by_commas_or_x() {
        for text in ["2,3", "2x3"] {
            let fixture = fixture("reduction");
            let report = json(&[&fixture.path, "--workgroups", text], 0);
            assert_eq!(report["dispatched"], serde_json::json!([2, 3, 1]));
        }
    }

    #[test]
    fn help_teaches() {
        audit(&["--help"]).code(0).stdout(
            contains("Exit codes:")
                .and(contains("Examples:"))
                .and(contains("SARIF")),
        );
        let brief = stdout(&audit(&["-h"]).code(0));
        assert!(brief.contains("Exit codes:"), "{brief}");
        assert!(brief.lines().count() < 60, "{brief}");
        audit(&["--version"]).code(0).stdout(concat!(
            "wgsl-audit ",
            env!("CARGO_PKG_VERSION"),
            "\n"
        ));
    }

    #[test]
    fn overrides_go_by_name_and_by_id() {
        let source = "
            @id(1300) override gain: f32 = 1.0;
            override rows: u32;
            @group(0) @binding(0) var<storage, read_write> result: array<f32>;
            var<workgroup> tile: array<f32, 64>;
            @compute @workgroup_size(rows)
            fn main(@builtin(local_invocation_index) lane: u32) {
                // Out of bounds of the tile, if the gain is 1.
                tile[select(lane, 64u, gain == 1.0)] = gain;
                result[lane] = gain;
            }";
        let run = |args: &[&str]| cli().arg("-").args(args).write_stdin(source).assert();
        for gain in ["gain=2", "1300=2"] {
            run(&["--override", gain, "--override", "rows=64"]).code(0);
        }
        run(&["--override", "rows=64"]).code(1);
        run(&["--override", "rows=2.5e300"])
            .code(2)
            .stderr(contains("stdin: Source f64 value doesn't fit"));
        run(&[]).code(2).stderr(
            one_line()
                .and(contains("'rows' has no default"))
                .and(contains("give it by --override rows=VALUE")),
        );
        for wrong in ["gains=2", "1301=2"] {
            run(&["--override", wrong])
                .code(2)
                .stderr(one_line().and(contains("the shader has: gain (@id 1300), rows")));
        }
    }

    #[test]
    fn made_up_contents_are_told_where_they_do_harm() {
        let source = "
            @group(0) @binding(0) var<storage, read> indices: array<u32>;
            @group(0) @binding(1) var<storage, read> values: array<u32>;
            @group(0) @binding(2) var<storage, read_write> result: array<u32>;
            @compute @workgroup_size(64)
            fn main(@builtin(local_invocation_index) lane: u32) {
                result[lane] = values[indices[lane]];
            }";
        let run = |args: &[&str]| cli().arg("-").args(args).write_stdin(source).assert();
        let told = "nobody chose the contents of ";
        run(&[]).code(1).stdout(
            contains("buffer 0.0 (indices, storage): random:4096 (--buffer 0.0=... sets it)\n")
                .and(contains(
                    told.to_owned() + "0.0 (indices), 0.1 (values), 0.2 (result)",
                )),
        );
        let sensible = ["--buffer", "0=iota:64"];
        let others = ["--buffer", "1=zero:64", "--buffer", "2=zero:64"];
        run(&[&sensible[..], &others].concat())
            .code(0)
            .stdout(contains("sets it").not());
        let outside = ["--buffer", "0=words:64"];
        run(&[&outside[..], &others].concat())
            .code(1)
            .stdout(contains(": bounds: ").and(contains(told).not()));
    }

    #[test]
    fn random_buffers_are_the_same_for_a_seed() {
        let source = "
            @group(0) @binding(0) var<storage, read> numbers: array<u32>;
            var<workgroup> tile: array<atomic<u32>, 1024>;
            @compute @workgroup_size(32)
            fn main(@builtin(local_invocation_index) lane: u32) {
                atomicAdd(&tile[numbers[lane] % 1024u], 1u);
            }";
        let sites = |seed: &str| {
            let run = cli()
                .args(["-", "--json", "--seed", seed])
                .write_stdin(source)
                .assert();
            let report: Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
            report["kernels"][0]["sites"].to_string()
        };
        assert_eq!(sites("1"), sites("1"));
        assert_ne!(sites("1"), sites("2"));
    }

    #[test]
    fn more_workgroup_memory_than_webgpu_guarantees_is_noted() {
        let run = |words: u32| {
            let source = format!(
                "@group(0) @binding(0) var<storage, read_write> data: array<u32>;
                 var<workgroup> tile: array<u32, {words}>;
                 var<workgroup> flag: atomic<u32>;
                 var<workgroup> unused: array<u32, 20000>;
                 @compute @workgroup_size(32)
                 fn main(@builtin(local_invocation_index) lane: u32) {{
                     tile[lane] = data[lane];
                     atomicStore(&flag, 1u);
                     data[lane] = tile[lane];
                 }}"
            );
            cli().arg("-").write_stdin(source).assert().code(0)
        };
        // The flag uses 16 bytes.
        run(4092).stdout(contains("workgroup memory:").not());
        run(4093).stdout(
            contains(
                "stdin:2:18: note: workgroup memory: 16400 bytes, and WebGPU guarantees 16384",
            )
            .and(contains("bytes by variable: tile 16372, flag 4\n"))
            .and(contains("\nclean, 1 note\n")),
        );
    }
}

mod documents {
    use super::*;

    #[test]
    fn json_of_a_shader_has_everything() {
        let fixture = fixture("missing_barrier");
        let assert = fixture.audit(&["--json"]).code(1);
        let report: Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
        assert_eq!(report["entry"], "main");
        assert_eq!(report["buffers"][0]["given"], false);
        assert_eq!(report["clean"], false);
        assert_eq!(report["config"]["warp"], 32);
        assert!(report["config"]["max_lane_instructions"].is_null());
        assert_eq!(report["buffers"][0]["contents"], "random:4096");
        let failure = report["failures"][0].as_str().unwrap();
        assert!(failure.contains(": race: "), "{failure}");
        // The failures are printed on stderr, too.
        assert.stderr(format!("{failure}\n"));
        let kernel = &report["kernels"][0];
        assert_eq!(kernel["faults"]["race"], 64);
        assert_eq!(kernel["workgroup"]["accesses"], 4);
        assert_eq!(kernel["workgroup"]["oblivious"], true);
        assert_eq!(kernel["storage"]["sectors"], 16);
        let finding = &kernel["findings"][0];
        assert_eq!(finding["fault"], "race");
        assert_eq!(finding["line"], fixture.here);
        assert_eq!(finding["other"]["line"], fixture.here - 1);
        let sites = kernel["sites"].as_array().unwrap();
        let in_space = |space: &str| sites.iter().find(|site| site["space"] == space).unwrap();
        let (banked, stored) = (in_space("workgroup"), in_space("storage"));
        assert_eq!(banked["variable"], "tile");
        assert_eq!(banked["bank_degrees"].as_array().unwrap().len(), 32);
        assert_eq!(banked["worst"][1], serde_json::json!([1, 4]));
        assert!(banked.get("sectors").is_none());
        assert_eq!(stored["sectors"], 8);
        assert!(stored.get("banks").is_none());
    }

    #[test]
    fn sarif_has_every_note() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.sarif");
        let log = path.to_str().unwrap();
        let sarif_of = |shader: &str, args: &[&str], code: i32| {
            audit(&[&[shader, "--sarif", log], args].concat()).code(code);
            sarif::read(&fs::read_to_string(&path).unwrap())
        };
        let results = |log: &Value| log["runs"][0]["results"].as_array().unwrap().clone();
        for (name, args, rule, level, code) in [
            ("missing_barrier", &[][..], "race", "error", 1),
            ("wrong_barrier", &[], "race", "error", 1),
            (
                "unguarded_tail",
                &["--workgroups", "65"],
                "out-of-bounds",
                "error",
                1,
            ),
            ("divergent_barrier", &[], "divergent-barrier", "error", 1),
            (
                "runaway_loop",
                &["--max-iterations", "100"],
                "runaway-loop",
                "error",
                1,
            ),
            ("uninitialised", &[], "uninitialised-read", "warning", 0),
            ("empty_size", &[], "unreached-access", "warning", 0),
            (
                "empty_size",
                &["--max-degree", "1"],
                "unreached-access",
                "error",
                1,
            ),
            ("stride_32", &[], "bank-conflict", "note", 0),
            (
                "stride_32",
                &["--max-degree", "1"],
                "bank-conflict",
                "error",
                1,
            ),
        ] {
            let fixture = fixture(name);
            let outputs = ["--buffer", "0.1=zero:10000"];
            let more = if name == "unguarded_tail" {
                &outputs[..]
            } else {
                &[]
            };
            let results = results(&sarif_of(&fixture.path, &[args, more].concat(), code));
            let of_rule = results.iter().find(|result| result["ruleId"] == rule);
            let result = of_rule.unwrap_or_else(|| panic!("{name}: {results:#?}"));
            assert_eq!(result["level"], level, "{name}");
            let location = &result["locations"][0]["physicalLocation"];
            assert_eq!(location["region"]["startLine"], fixture.here, "{name}");
            let uri = location["artifactLocation"]["uri"].as_str().unwrap();
            assert!(
                uri.ends_with(&format!("tests/fixtures/{name}.wgsl")),
                "{uri}"
            );
            if rule == "race" {
                let other = &result["relatedLocations"][0]["physicalLocation"]["region"];
                assert!(other["startLine"].as_u64().unwrap() < fixture.here as u64);
            }
        }
        // A clean shader has a log, too: it closes earlier alerts.
        let clean = sarif_of(&fixture("reduction").path, &[], 0);
        assert!(results(&clean).is_empty());
        // Columns count characters, and relative paths stay relative.
        let shader = directory.path().join("umläute.wgsl");
        let source = "@group(0) @binding(0) var<storage, read_write> d: array<u32>;
@compute @workgroup_size(1) fn main() { let ä = 9999u; /* ä */ d[ä] = 1u; }";
        fs::write(&shader, source).unwrap();
        cli()
            .current_dir(directory.path())
            .args(["umläute.wgsl", "--sarif", "log.sarif"])
            .assert()
            .code(1);
        let log = sarif::read(&fs::read_to_string(&path).unwrap());
        let location = &results(&log)[0]["locations"][0]["physicalLocation"];
        assert_eq!(location["artifactLocation"]["uri"], "uml%C3%A4ute.wgsl");
        let line = source.lines().nth(1).unwrap();
        let at = location["region"]["startColumn"].as_u64().unwrap() as usize;
        let marked: String = line.chars().skip(at - 1).collect();
        assert!(marked.starts_with("d["), "{marked}");
    }

    /// The texts of all elements of a kind. Checks that every opened element is closed.
    fn texts(picture: &str) -> Vec<String> {
        use svg::parser::Event;
        let mut open = Vec::new();
        let mut texts = Vec::new();
        for event in svg::read(picture).unwrap() {
            match event {
                Event::Error(error) => panic!("{error}"),
                Event::Tag(name, svg::node::element::tag::Type::Start, _) => open.push(name),
                Event::Tag(name, svg::node::element::tag::Type::End, _) => {
                    assert_eq!(open.pop(), Some(name));
                }
                Event::Text(text) if open.last() == Some(&"text") => {
                    texts.push(text.trim().to_owned());
                }
                _ => {}
            }
        }
        assert!(open.is_empty());
        texts
    }

    #[test]
    fn heatmaps_are_pictures() {
        let directory = tempfile::tempdir().unwrap();
        // A name that would break the picture if it were not escaped.
        let shader = directory.path().join("a<b>&\"c\".wgsl");
        fs::copy(fixture("stride_32").path, &shader).unwrap();
        let path = directory.path().join("map.svg");
        let map = path.to_str().unwrap();
        audit(&[shader.to_str().unwrap(), "--heatmap", map]).code(0);
        let picture = fs::read_to_string(&path).unwrap();
        assert!(picture.contains("a&lt;b&gt;&amp;"));
        let texts = texts(&picture);
        for text in ["Bank conflicts", "9:9 tile store", "13:36 tile load", "32"] {
            assert!(texts.iter().any(|t| t == text), "{text}: {texts:?}");
        }
        // No temporary file is left.
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_shader_without_workgroup_memory_has_a_picture_too() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("map.svg");
        let map = path.to_str().unwrap();
        fixture("unguarded_tail").audit(&["--heatmap", map]).code(0);
        let texts = texts(&fs::read_to_string(&path).unwrap());
        assert!(texts.contains(&"nothing accesses workgroup memory".to_owned()));
    }

    #[cfg(unix)]
    #[test]
    fn a_closed_stdout_is_quiet() {
        use std::process::{Command, Stdio};
        for (name, code) in [("stride_32", 0), ("missing_barrier", 1)] {
            let mut child = Command::new(env!("CARGO_BIN_EXE_wgsl-audit"))
                .args([&fixture(name).path])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            drop(child.stdout.take());
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{name}");
            assert!(output.stderr.is_empty());
        }
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

//! The command `wgsl-audit` with its options and with the buffers, overrides and limits of shaders.

use crate::command::{audit, cli, fixture, json, one_line, stdout};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::fs;

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
    sum(&["--buffer", "4=zero:1"])
        .code(2)
        .stdout("")
        .stderr(one_line().and(contains("0.4")).and(contains(
            "0.0 (sum, storage), 1.2 (a, storage), 1.3 (b, uniform), 2.0 (mixed, storage)",
        )));
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
        contains("stdin:1:23: cannot run a texture").and(contains("var image: texture_2d<f32>;\n")),
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
    audit(&["--version"])
        .code(0)
        .stdout(concat!("wgsl-audit ", env!("CARGO_PKG_VERSION"), "\n"));
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
        contains("buffer 0.0 (indices, storage): random:4096 (--buffer 0.0=... sets it)\n").and(
            contains(told.to_owned() + "0.0 (indices), 0.1 (values), 0.2 (result)"),
        ),
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
        contains("stdin:2:18: note: workgroup memory: 16400 bytes, and WebGPU guarantees 16384")
            .and(contains("bytes by variable: tile 16372, flag 4\n"))
            .and(contains("\nclean, 1 note\n")),
    );
}

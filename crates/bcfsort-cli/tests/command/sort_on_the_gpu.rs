//! Sorts of numbers on the GPU, `devices`, `tune` and `bench`, as scripts see them.
//!
//! These need an adapter; a software one such as lavapipe will do. Without any they check that the
//! absence is handled, and with `WGPU_BCFSORT_REQUIRE_ADAPTER=1` they fail.

use crate::cli::{Folder, bytes, cli, one_line, run, words};
use predicates::prelude::*;
use predicates::str::{contains, starts_with};
use std::fs;

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
            let keys = run(&["gen", "special", "-n", "20011", "--type", key])
                .get_output()
                .clone();
            let sort = |args: &[&str]| {
                let assert = cli()
                    .args(["sort", "--type", key])
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
        &["--device", "0"],
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
            .args(["sort", "--device", adapter])
            .write_stdin("")
            .assert()
            .code(2)
            .stderr(one_line().and(contains("no adapter matches").and(contains("0: "))));
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
        "gen", "full", "-n", "50000", "--type", "u64", "-f", "text", "-o", &file,
    ])
    .code(0);
    let gnu = std::process::Command::new("sort")
        .args(["-n", &file])
        .env("LC_ALL", "C")
        .output();
    let ours = run(&["sort", "--type", "u64", "-f", "text", &file]).code(0);
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

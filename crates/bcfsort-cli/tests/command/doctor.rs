//! `wgpu-bcfsort doctor`: its report, with and without an adapter, and the page of devices.

use crate::cli::{Folder, cli, one_line};
use crate::without_an_adapter::{hidden, none_left};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::fs;
use std::path::Path;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

/// The JSON at the end of a report in text.
fn json_in(text: &str) -> Value {
    let (_, json) = text.split_once("\n{").unwrap();
    serde_json::from_str(&format!("{{{json}")).unwrap()
}

#[test]
fn wrong_usage_is_2() {
    let folder = Folder::new();
    let no_report = folder.write("x.json", "{\"schema\": 2}");
    for args in [
        &["--device", "cpu"][..],
        &["--device", "all"],
        &["--table", "docs", "--quick"],
        &["--table", "docs", "--report", "x"],
        &["--quick", "extra"],
    ] {
        let refused = cli().arg("doctor").args(args).assert();
        refused
            .code(2)
            .stdout("")
            .stderr(contains("wgpu-bcfsort: "));
    }
    for args in [
        ["--table", "/no/such/folder"],
        ["--report", "/no/such/folder/x.json"],
    ] {
        let refused = cli().arg("doctor").args(args).assert();
        refused.code(2).stdout("").stderr(one_line());
    }
    let refused = cli().args(["doctor", "--table", &folder.name("")]).assert();
    let told = contains("schema 2").and(contains("x.json")).and(one_line());
    refused.code(2).stdout("").stderr(told);
    fs::remove_file(no_report).unwrap();
    let refused = cli().args(["doctor", "--table", &folder.name("")]).assert();
    refused
        .code(2)
        .stdout("")
        .stderr(contains("has no reports").and(one_line()));
}

#[test]
fn the_page_of_devices_is_current() {
    let reports = format!("{DOCS}/devices");
    let page = cli().args(["doctor", "--table", &reports]).assert().code(0);
    let page = String::from_utf8(page.get_output().stdout.clone()).unwrap();
    assert!(
        fs::read_to_string(Path::new(DOCS).join("devices.md")).unwrap() == page,
        "write it anew: wgpu-bcfsort doctor --table docs/devices > docs/devices.md"
    );
    let rows = page.lines().filter(|line| line.starts_with("| ")).count();
    let files = fs::read_dir(reports).unwrap().count();
    assert_eq!(rows, 1 + files);
}

#[test]
fn without_an_adapter_the_report_says_why() {
    if !none_left() {
        return;
    }
    let folder = Folder::new();
    for name in ["report.json", "report.txt"] {
        let file = folder.name(name);
        let told = contains("problem: no GPU adapter found: no Vulkan driver that VK_DRIVER_FILES");
        hidden()
            .args(["doctor", "--report", &file])
            .assert()
            .code(1)
            .stdout(told.and(contains("VK_DRIVER_FILES is set")))
            .stderr("");
        let text = fs::read_to_string(file).unwrap();
        let report = match name {
            "report.json" => serde_json::from_str(&text).unwrap(),
            _ => json_in(&text),
        };
        assert_eq!(report["schema"], 1);
        assert_eq!(report["source"], "doctor");
        assert_eq!(report.get("device"), None);
        assert_eq!(report["found"]["adapters"], Value::Array(Vec::new()));
        assert_eq!(report["found"]["problems"].as_array().unwrap().len(), 1);
    }
}

/// A device that is examined in each run of the tests takes little: few kernels, short sorts.
#[test]
fn a_report_tells_what_ran_and_nothing_private() {
    let has_adapter = cli().arg("devices").output().unwrap().status.success();
    if !has_adapter {
        return;
    }
    let folder = Folder::new();
    let [text, json] = ["report.txt", "report.json"].map(|name| folder.name(name));
    let secrets = [
        "jane-of-the-tests",
        "host-of-the-tests",
        "value-of-the-tests",
    ];
    let examined = |file: &str| {
        cli()
            .args(["doctor", "--quick", "--report", file])
            .env("USER", secrets[0])
            .env("HOME", format!("/home/{}", secrets[0]))
            .env("HOSTNAME", secrets[1])
            .env("VK_OF_THE_TESTS", secrets[2])
            .env("WGPU_BCFSORT_DEVICE", "0")
            .assert()
    };
    let printed = examined(&text).code(0).stdout(contains("all is right"));
    let text = fs::read_to_string(text).unwrap();
    let printed = String::from_utf8(printed.get_output().stdout.clone()).unwrap();
    let shown = printed.split("\nThe report is in ").next().unwrap();
    assert!(text.starts_with(shown), "{text}\n{shown}");
    let report = json_in(&text);
    let found = &report["found"];
    let names: Vec<&str> = (found["environment"].as_array().unwrap().iter())
        .map(|name| name.as_str().unwrap())
        .collect();
    assert!(names.contains(&"VK_OF_THE_TESTS") && names.contains(&"WGPU_BCFSORT_DEVICE"));
    let kernels = &found["kernels"];
    let right = kernels["right"].as_array().unwrap();
    // (As many as there is time for.)
    assert!(right.len() > 5, "{kernels}");
    for kind in ["wrong", "failed", "executor_wrong"] {
        assert_eq!(kernels[kind], Value::Array(Vec::new()), "{kind}");
    }
    let sorts = found["sorts"].as_array().unwrap();
    assert_eq!(sorts.len(), 7 * 4);
    assert!(sorts.iter().all(|sort| sort.get("wrong").is_none()));
    assert_eq!(found["times"].as_array().unwrap().len(), 5);

    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    // (A short name may be a part of any word.)
    let host = Some(host.trim()).filter(|host| host.len() > 7);
    for secret in secrets.into_iter().chain(host) {
        assert!(!text.contains(secret), "{secret}");
    }
    assert!(!text.contains("/home/") && !text.contains("/tmp/"));

    // With a name that is no adapter's, the best one is examined, and that is a problem.
    cli()
        .args(["doctor", "--quick", "--report", &json])
        .env("WGPU_BCFSORT_DEVICE", secrets[2])
        .assert()
        .code(1)
        .stdout(contains("problem: WGPU_BCFSORT_DEVICE names no adapter"));
    let json = fs::read_to_string(json).unwrap();
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["found"]["quick"], true);
    assert!(!json.contains(secrets[2]));
}

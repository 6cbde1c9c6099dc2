//! What the command `wgsl-audit` writes for other programs: JSON, SARIF and pictures.

use crate::command::{audit, cli, fixture};
use crate::sarif;
use serde_json::Value;
use std::fs;

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

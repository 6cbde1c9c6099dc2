//! The answers to requests: the command's JSON, advice, fields, and problems.

use bcfsort_web_auditor::{all_limits, audit, limits, resources};
use serde_json::{Value, json};
use wgsl_lockstep::Config;
use wgsl_lockstep::audit::Dispatch;

/// The page's lessons. Their shaders are template literals.
const LESSONS: &str = include_str!("../../demo/lessons.js");

fn shaders() -> Vec<&'static str> {
    let literals = LESSONS.split('`').skip(1).step_by(2);
    literals.filter(|text| text.contains("@compute")).collect()
}

fn answer(request: &Value) -> Value {
    serde_json::from_str(&audit(&request.to_string())).unwrap()
}

fn listing(request: &Value) -> Value {
    serde_json::from_str(&resources(&request.to_string())).unwrap()
}

/// The problem that a request is answered with.
fn problem(request: &Value) -> (String, u64, u64) {
    let answer = answer(request);
    let error = &answer["error"];
    (
        error["message"].as_str().unwrap().to_owned(),
        error["line"].as_u64().unwrap(),
        error["column"].as_u64().unwrap(),
    )
}

/// Takes away what differs from run to run.
fn without_time(mut report: Value) -> Value {
    for key in ["seconds", "lane_instructions_per_second"] {
        assert!(report.as_object_mut().unwrap().remove(key).is_some());
    }
    report
}

/// The command's JSON for a dispatch.
fn command(dispatch: Dispatch, wgsl: &str) -> Value {
    let mut prepared = dispatch.prepare(wgsl).unwrap();
    let report = prepared.run().unwrap();
    let audit = prepared.audit(report);
    let json = prepared.json(&audit, env!("CARGO_PKG_VERSION")).unwrap();
    without_time(serde_json::from_str(&json).unwrap())
}

#[test]
fn lessons_give_the_report_of_the_command() {
    let shaders = shaders();
    assert_eq!(shaders.len(), 4);
    let mut degrees = Vec::new();
    for wgsl in shaders {
        let mut answer = answer(&json!({"wgsl": wgsl}));
        let mut dispatch = Dispatch::new("shader.wgsl");
        dispatch.config = Config::default().max_lane_instructions(limits::LANE_INSTRUCTIONS);
        let expected = command(dispatch, wgsl);
        assert_eq!(without_time(answer["report"].take()), expected);
        degrees.push(expected["kernels"][0]["workgroup"]["max_degree"].as_u64());
        // Each has one kind of fault, and advice on it.
        let notes = answer["notes"].as_array().unwrap();
        assert!(!notes.is_empty());
        for note in notes {
            let rule = note["rule"].as_str().unwrap();
            assert!(["bank-conflict", "race"].contains(&rule), "{note}");
            assert!(note["line"].as_u64().unwrap() > 0, "{note}");
            assert!(!note["help"].as_str().unwrap().is_empty(), "{note}");
        }
    }
    assert_eq!(degrees, [32, 16, 32, 1].map(Some));
}

#[test]
fn all_options_are_those_of_the_command() {
    let wgsl = "override STEP = 1u;
        @group(0) @binding(0) var<uniform> size: u32;
        @group(1) @binding(2) var<storage, read_write> data: array<u32>;
        var<workgroup> tile: array<u32, 512>;
        @compute @workgroup_size(64)
        fn first(@builtin(local_invocation_index) lane: u32) { data[lane] = 0u; }
        @compute @workgroup_size(64)
        fn second(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) id: vec3u) {
            tile[lane * STEP] = data[lane * id.x];
            if lane < size { data[id.x + id.y] += tile[lane * STEP]; }
        }";
    let request = json!({
        "wgsl": wgsl,
        "file": "a.wgsl",
        "entry": "second",
        "workgroups": [3, 2, 1],
        "buffers": {"size": "words:5", "1.2": "random:100"},
        "overrides": {"STEP": "2^2"},
        "seed": 7,
        "warp": 64,
        "banks": 16,
        "max_degree": 2,
        "max_iterations": 1000,
        "max_lane_instructions": 1_000_000,
    });
    let mut dispatch = Dispatch::new("a.wgsl");
    dispatch.entry = Some("second".to_owned());
    dispatch.workgroups = [3, 2, 1];
    for contents in ["1.2=random:100", "size=words:5"] {
        dispatch.buffers.push(contents.parse().unwrap());
    }
    dispatch.overrides.push(("STEP".to_owned(), 4.0));
    dispatch.seed = 7;
    dispatch.config = Config::default()
        .warp(64)
        .banks(16)
        .max_iterations(1000)
        .max_lane_instructions(1_000_000);
    dispatch.max_degree = Some(2);
    let mut answer = answer(&request);
    let expected = command(dispatch, wgsl);
    assert!(!expected["failures"].as_array().unwrap().is_empty());
    assert_eq!(without_time(answer["report"].take()), expected);
    // A race names its other access.
    let notes = answer["notes"].as_array().unwrap();
    let race = notes.iter().find(|note| note["rule"] == "race").unwrap();
    assert_eq!(race["severity"], "failure");
    assert!(
        notes
            .iter()
            .any(|note| note["other"]["line"].as_u64() > Some(0))
    );
}

#[test]
fn wrong_texts_have_a_line() {
    let (message, line, column) = problem(&json!({"wgsl": "fn f() {\n  let x = ;\n}"}));
    assert!(message.contains("expected expression"), "{message}");
    assert_eq!((line, column), (2, 11));
    let (message, line, _) = problem(&json!({"wgsl": "fn f() -> u32 {\n  return 1i;\n}"}));
    assert!(
        message.starts_with("Function [0] 'f' is invalid: "),
        "{message}"
    );
    assert_eq!(line, 2);
    let deep = format!("fn f() {{\n let x = {}true; }}", "!".repeat(10_000));
    assert_eq!(problem(&json!({"wgsl": deep})).1, 2);
    let answer = answer(&json!({"wgsl": "fn f( {}", "file": "b.wgsl"}));
    let detail = answer["error"]["detail"].as_str().unwrap();
    assert!(detail.contains("─ b.wgsl:1:7"), "{detail}");
}

#[test]
fn wrong_inputs_are_told() {
    let wgsl = "override N: u32;
        @group(0) @binding(0) var<storage, read_write> data: array<u32>;
        @compute @workgroup_size(1) fn main() { data[0] = N; }";
    let told = |more: Value| {
        let mut request = json!({"wgsl": wgsl, "overrides": {"N": "1"}});
        let fields = more.as_object().unwrap().clone();
        request.as_object_mut().unwrap().extend(fields);
        problem(&request).0
    };
    for (more, message) in [
        (json!({"overrides": {}}), "the override 'N' has no default"),
        (
            json!({"overrides": {"N": "many"}}),
            "override N: 'many' is not a number",
        ),
        (
            json!({"entry": "other"}),
            "no compute entry point 'other'; the shader has: main",
        ),
        (json!({"buffers": {"0": "ones:4"}}), "buffer 0: write it as"),
        (
            json!({"buffers": {"1": "zero:4"}}),
            "--buffer 0.1: shader.wgsl uses no such binding",
        ),
        (
            json!({"buffers": {"0": "zero:0"}}),
            "the buffer of binding 0.0 (data) has 0 bytes",
        ),
        (
            json!({"buffers": {"0": "file:a"}}),
            "buffer 0: a page reads no files",
        ),
        (
            json!({"buffers": {"0": "zero:1G"}}),
            "at most 512 MiB are allowed",
        ),
        (
            json!({"buffers": {"0": "zero:2^63"}}),
            "at most 512 MiB are allowed",
        ),
        (
            json!({"workgroups": [1, 0, 1]}),
            "the number of workgroups is 0",
        ),
        (
            json!({"workgroups": [65536, 65536, 1]}),
            "more than 2^32 lanes",
        ),
        (json!({"warp": 5}), "the warp is 5, and must be"),
        (json!({"banks": 65}), "the number of banks is 65"),
        (json!({"max_degree": 0}), "the limit of the degree is 0"),
        (
            json!({"max_iterations": 1_u64 << 40}),
            "the limit of iterations is 1099511627776;",
        ),
        (
            json!({"max_lane_instructions": 0}),
            "the limit of lane-instructions is 0;",
        ),
        (json!({"seed": -1}), "the request is not understood"),
        (json!({"banana": 1}), "the request is not understood"),
    ] {
        let text = told(more);
        assert!(text.contains(message), "{text}");
    }
    let long = "/".repeat(limits::MOST_TEXT + 1);
    assert!(
        problem(&json!({"wgsl": long}))
            .0
            .contains("at most 1024 KiB")
    );
    assert!(audit("").contains("the request is not understood"));
}

#[test]
fn loops_without_end_are_stopped() {
    let wgsl = "@compute @workgroup_size(64) fn main() { loop { } }";
    let answer = answer(&json!({"wgsl": wgsl, "max_iterations": 1000}));
    assert_eq!(answer["report"]["kernels"][0]["faults"]["loop"], 1);
    assert_eq!(answer["notes"][0]["rule"], "runaway-loop");
    let calls = "@compute @workgroup_size(64) fn main() {
        for (var i = 0u; i < 1000000u; i++) { for (var j = 0u; j < 1000000u; j++) { } }
    }";
    let request = json!({"wgsl": calls, "max_lane_instructions": 1_000_000});
    let report = &self::answer(&request)["report"];
    assert_eq!(report["clean"], false);
    assert!(report["lane_instructions"].as_u64().unwrap() < 1_001_000);
}

#[test]
fn fields_are_listed() {
    let wgsl = "override LANES: u32;
        @id(3) override SCALE = 1.5;
        struct Size { columns: u32, rows: u32 }
        @group(0) @binding(0) var<uniform> size: Size;
        @group(0) @binding(1) var<storage, read> input: array<vec4f>;
        @group(2) @binding(0) var<storage, read_write> output: array<f32, 64>;
        var<workgroup> tile: array<f32, 64>;
        @compute @workgroup_size(LANES, 2)
        fn main() { output[0] = input[size.rows].x * SCALE + tile[0]; }
        @compute @workgroup_size(8)
        fn other() { output[1] = 1.0; }";
    let listed = listing(&json!({"wgsl": wgsl, "overrides": {"LANES": "4", "RENAMED": "1"}}));
    let main = &listed["entries"][0];
    assert_eq!(main["name"], "main");
    assert_eq!(main["error"], Value::Null);
    assert_eq!(main["workgroup_size"], json!([4, 2, 1]));
    assert_eq!(main["workgroup_bytes"], 256);
    assert_eq!(
        main["variables"],
        json!([{"name": "tile", "bytes": 256, "line": 7}])
    );
    let buffers = main["buffers"].as_array().unwrap();
    assert_eq!(
        buffers[1],
        json!({
            "group": 0, "binding": 1, "name": "input", "space": "storage", "writable": false,
            "min_words": 4, "stride": 4, "contents": "random:4096",
        })
    );
    let contents: Vec<_> = buffers
        .iter()
        .map(|b| b["contents"].as_str().unwrap())
        .collect();
    assert_eq!(contents, ["zero:2", "random:4096", "random:64"]);
    assert_eq!(listed["entries"][1]["buffers"].as_array().unwrap().len(), 1);
    let overrides = json!([
        {"name": "LANES", "id": null, "kind": "u32", "has_default": false},
        {"name": "SCALE", "id": 3, "kind": "f32", "has_default": true},
    ]);
    assert_eq!(listed["overrides"], overrides);
    // Without a value that it needs, an entry point is listed with the reason.
    let without = listing(&json!({"wgsl": wgsl}));
    let message = without["entries"][0]["error"]["message"].as_str().unwrap();
    assert!(message.contains("'LANES' has no default"), "{message}");
    assert_eq!(without["entries"][1]["error"], Value::Null);
    assert_eq!(listing(&json!({"wgsl": "fn f("}))["error"]["line"], 1);
}

#[test]
fn limits_are_listed() {
    let listed: Value = serde_json::from_str(&all_limits()).unwrap();
    assert_eq!(listed["most_memory"], limits::MOST_MEMORY);
    assert_eq!(listed["lane_instructions"], limits::LANE_INSTRUCTIONS);
    assert!(listed["iterations"].as_u64() <= listed["most_iterations"].as_u64());
}

//! `wgpu-bcfsort experiment` as its users see it: the files it writes, what a second run measures,
//! and what it makes of other people's sorts.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const FIGURES: [&str; 12] = [
    "prefix-sums",
    "random",
    "distinct",
    "zero-one",
    "duplicates",
    "base-case",
    "parameters",
    "bucket-sizes",
    "memory",
    "passes",
    "adversary",
    "fast",
];

fn cli(args: &[&str], out: &Path) -> assert_cmd::assert::Assert {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"));
    command.env_remove("RUST_LOG").arg("experiment").args(args);
    command.arg("--out").arg(out).assert()
}

/// Small data sets, without the peers that the machine may have.
fn small(args: &[&str], out: &Path) -> assert_cmd::assert::Assert {
    let common = ["--quick", "--max-n", "2^13", "--repeats", "2"];
    let peers: &[&str] = if args.contains(&"--peers") {
        &[]
    } else {
        &["--no-peers"]
    };
    cli(&[args, &common, peers].concat(), out)
}

fn adapter() -> bool {
    if wgpu_bcfsort::adapters().is_empty() {
        let required = std::env::var_os("WGPU_BCFSORT_REQUIRE_ADAPTER");
        assert!(
            required.is_none_or(|value| value != "1"),
            "no adapter, and WGPU_BCFSORT_REQUIRE_ADAPTER=1"
        );
        return false;
    }
    true
}

fn stdout(assert: &assert_cmd::assert::Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn files(out: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(out)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

/// The measurements: outcomes by what was measured.
fn measured(out: &Path) -> BTreeMap<String, Value> {
    let text = fs::read_to_string(out.join("results.jsonl")).unwrap();
    text.lines()
        .filter_map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let part = line.get("part")?;
            Some((part["id"].as_str()?.to_owned(), part["outcomes"].clone()))
        })
        .collect()
}

/// The cells of a CSV file without quoted line ends, by column.
fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(path).unwrap();
    let cells = |line: &str| -> Vec<String> {
        let mut cells = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '"' => quoted = !quoted,
                ',' if !quoted => cells.push(String::new()),
                c => cells.last_mut().unwrap().push(c),
            }
        }
        cells
    };
    let mut lines = text.lines();
    let header = cells(lines.next().unwrap());
    lines
        .map(|line| {
            let cells = cells(line);
            assert_eq!(cells.len(), header.len(), "{line}");
            assert!(cells.iter().all(|cell| !cell.is_empty()), "{line}");
            header.iter().cloned().zip(cells).collect()
        })
        .collect()
}

/// One complete run, and everything that can be said of its files.
#[test]
fn every_figure_is_produced_and_kept() {
    if !adapter() {
        return;
    }
    let folder = directory();
    let out = folder.path().join("new").join("figures");
    let first = small(&["all"], &out).success();
    assert!(stdout(&first).contains("12 figures"), "{}", stdout(&first));
    for name in FIGURES {
        let progress = String::from_utf8(first.get_output().stderr.clone()).unwrap();
        // What passes shows is measured for distinct.
        let told = name == "passes" || progress.contains(&format!("{name}: "));
        assert!(told, "{name}: {progress}");
    }
    every_chart_and_table_is_well_formed(&out);
    the_report_is_whole(&out);
    times_are_plausible(&out);

    // A second run draws the same and measures nothing; one more size is all that a third measures.
    let before = measured(&out);
    let second = small(&["all"], &out).success();
    assert!(
        stdout(&second).contains("measured 0 series now"),
        "{}",
        stdout(&second)
    );
    assert_eq!(measured(&out), before);
    cli(
        &[
            "random",
            "--quick",
            "--max-n",
            "2^14",
            "--repeats",
            "2",
            "--no-peers",
            "--quiet",
        ],
        &out,
    )
    .success()
    .stdout("")
    .stderr("");
    let after = measured(&out);
    let new: Vec<&String> = after
        .keys()
        .filter(|id| !before.contains_key(*id))
        .collect();
    assert_eq!(new.len(), 1, "{new:?}");
    assert!(new[0].contains("16384 u32 random"));

    // Other settings do not mix with these, and leave them as they are.
    cli(&["random", "--quick", "--seed", "2"], &out)
        .code(2)
        .stderr(contains("--restart").and(contains("--out")));
    small(&["random", "--seed", "2"], &out)
        .code(2)
        .stderr(contains("seed '1', not '2'"));
    assert_eq!(measured(&out), after);
    small(&["adversary", "--seed", "2", "--restart"], &out).success();
    assert!(
        measured(&out)
            .keys()
            .all(|id| id.contains("adversary") || id.contains("distinct"))
    );
}

fn every_chart_and_table_is_well_formed(out: &Path) {
    for name in FIGURES {
        let of = |path: &PathBuf| {
            let stem = path.file_stem().unwrap().to_str().unwrap();
            stem == name || stem.starts_with(&format!("{name}-"))
        };
        assert!(files(out, "svg").iter().any(of), "no chart of {name}");
        let tables: Vec<PathBuf> = files(out, "csv")
            .into_iter()
            .filter(|path| of(path))
            .collect();
        assert_eq!(tables.len(), 1, "{name}");
        let rows = rows(&tables[0]);
        assert!(!rows.is_empty());
        assert!(rows.iter().all(|row| row["figure"] == name));
        // The fast engine is measured with other records, too.
        let types: BTreeSet<&str> = rows.iter().map(|row| row["type"].as_str()).collect();
        let all = BTreeSet::from(["u32", "u64"]);
        assert!(types == BTreeSet::from(["u32"]) || (name == "fast" && types == all));
    }
    for path in files(out, "svg") {
        let name = path.display();
        let text = fs::read_to_string(&path).unwrap();
        let svg = roxmltree::Document::parse(&text).unwrap();
        assert_eq!(svg.root_element().tag_name().name(), "svg");
        let all: BTreeSet<&str> = svg
            .descendants()
            .filter_map(|n| n.text())
            .map(str::trim)
            .collect();
        // An axis that is named, and numbers at it.
        assert!(
            all.iter().any(|text| ["(", "passes", "/", "cycles"]
                .iter()
                .any(|unit| text.contains(unit))),
            "{name}: {all:?}"
        );
        assert!(
            all.iter()
                .filter(|text| text.starts_with(|c: char| c.is_ascii_digit()))
                .count()
                >= 2,
            "{name}: {all:?}"
        );
        // Everything lies within the picture.
        for node in svg.descendants() {
            for (attribute, most) in [("x", 960.0), ("cx", 960.0), ("y", 560.0), ("cy", 560.0)] {
                if let Some(folder) = node.attribute(attribute) {
                    let folder: f64 = folder.parse().unwrap();
                    assert!(
                        (0.0..=most).contains(&folder),
                        "{name}: {attribute} {folder}"
                    );
                }
            }
        }
    }
}

fn the_report_is_whole(out: &Path) {
    let html = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>"));
    for name in FIGURES {
        assert!(html.contains(&format!("<section id=\"{name}\">")), "{name}");
        assert!(html.contains(&format!("href=\"#{name}\"")), "{name}");
    }
    assert_eq!(html.matches("<svg").count(), files(out, "svg").len());
    // Nothing is fetched: the page is one file.
    assert!(!html.contains("<script") && !html.contains("src=") && !html.contains("<link"));
    assert!(!html.contains("NaN") && !html.contains("inf "));
    let adapter = wgpu_bcfsort::adapters()[0].get_info().name;
    assert!(html.contains(adapter.split('(').next().unwrap().trim()));
}

fn times_are_plausible(out: &Path) {
    for name in [
        "random",
        "distinct",
        "zero-one",
        "duplicates",
        "parameters",
        "adversary",
        "base-case",
    ] {
        for row in rows(&out.join(format!("{name}.csv"))) {
            let number = |column: &str| row[column].parse::<f64>().unwrap();
            let times = ["min_s", "q1_s", "median_s", "q3_s", "max_s"].map(number);
            assert!(times.is_sorted() && times[0] > 0.0, "{row:?}");
            assert!((number("ns_per_key") / (times[2] * 1e9 / number("keys")) - 1.0).abs() < 1e-2);
            assert_eq!(row["runs"], "2");
            assert_eq!(row["verified"], "true");
        }
    }
    let contenders: BTreeSet<String> = rows(&out.join("random.csv"))
        .into_iter()
        .map(|row| row["contender"].clone())
        .collect();
    for engine in wgpu_bcfsort::Engine::MERGESORTS {
        assert!(contenders.contains(engine.name()), "{contenders:?}");
    }
    assert!(contenders.contains("cpu") && contenders.contains("cpu-rayon"));
    // Each record in turns, and compared with its own time.
    let fast = rows(&out.join("fast.csv"));
    assert!(fast.iter().any(|row| row["moves"] == "values"));
    for row in fast {
        assert_eq!(
            (&*row["contender"], &*row["of_sample_sort"], &*row["runs"]),
            ("sample-sort", "1.000", "2")
        );
    }
    // Lemma 1 holds where keys are distinct.
    let buckets = rows(&out.join("bucket-sizes.csv"));
    let distinct = buckets
        .iter()
        .filter(|row| ["distinct", "ascending"].contains(&row["pattern"].as_str()));
    assert!(distinct.clone().count() > 0);
    assert!(distinct.clone().all(|row| row["within_bound"] == "true"));
    // Every base case was measured, or is told to be left out.
    let html = fs::read_to_string(out.join("report.html")).unwrap();
    let measured = rows(&out.join("base-case.csv"));
    for base_case in wgpu_bcfsort::paper::BaseCase::ALL {
        let name = base_case.name();
        let there = measured.iter().any(|row| row["contender"] == name);
        assert!(there || html.contains(&format!("{name} at ")), "{name}");
    }
}

#[test]
fn a_run_in_pieces_measures_what_a_whole_one_does() {
    if !adapter() {
        return;
    }
    let (whole, pieces) = (directory(), directory());
    let figures = ["random", "adversary", "memory"];
    small(&figures, whole.path()).success();
    let no_time = [&figures[..], &["--time-limit", "0"]].concat();
    let stopped = small(&no_time, pieces.path()).success();
    assert!(
        stdout(&stopped).contains("goes on from here"),
        "{}",
        stdout(&stopped)
    );
    // As an interrupt would leave it: with half a line.
    let path = pieces.path().join("results.jsonl");
    small(&["random"], pieces.path()).success();
    let mut text = fs::read_to_string(&path).unwrap();
    let lines = text.lines().count();
    text.truncate(text.len() - 20);
    fs::write(&path, &text).unwrap();
    small(&figures, pieces.path())
        .success()
        .stdout(contains("goes on from here").not());
    let ids = |out: &Path| measured(out).into_keys().collect::<Vec<String>>();
    assert_eq!(ids(whole.path()), ids(pieces.path()));
    assert!(fs::read_to_string(&path).unwrap().lines().count() > lines);
    // And only the figures asked for are in the report.
    let html = fs::read_to_string(pieces.path().join("report.html")).unwrap();
    assert_eq!(html.matches("<section").count(), figures.len());
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_what_was_measured() {
    if !adapter() {
        return;
    }
    let folder = directory();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"))
        .args(["experiment", "all", "--quick", "--no-peers", "--out"])
        .arg(folder.path())
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let path = folder.path().join("results.jsonl");
    let parts = || {
        let text = fs::read_to_string(&path).unwrap_or_default();
        text.lines()
            .filter(|line| line.starts_with("{\"part\""))
            .count()
    };
    while parts() < 2 {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // Not SIGINT: where a shell ignores it for the tests, so does the command.
    let kill = std::process::Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let code = child.wait().unwrap().code();
    let kept = parts();
    assert_eq!(code, Some(143));
    assert!(kept >= 2);
    let out = folder.path();
    // The first figure, which has four series.
    let rest = cli(&["prefix-sums", "--quick", "--no-peers"], out).success();
    assert!(
        !stdout(&rest).contains("measured 4 series"),
        "{}",
        stdout(&rest)
    );
    assert!(parts() >= kept && out.join("report.html").exists());
}

#[test]
fn wrong_usage_is_told() {
    let folder = directory();
    cli(&["nonsense"], folder.path())
        .code(2)
        .stderr(contains("nonsense").and(contains("bucket-sizes")));
    cli(&["all", "--max-n", "0"], folder.path()).code(2);
    cli(&["all", "--device", "no such adapter"], folder.path()).code(if adapter() { 2 } else { 3 });
    let mut help = Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"));
    let help = help.args(["experiment", "--help"]).assert().success();
    let text = stdout(&help);
    assert!(FIGURES.iter().all(|name| text.contains(name)));
    assert!(text.contains("results.jsonl") && text.contains("goes on where it stopped"));
    if adapter() {
        fs::write(folder.path().join("file"), "").unwrap();
        small(&["random"], &folder.path().join("file").join("below")).code(2);
        let missing = folder.path().join("no peers here");
        small(
            &["random", "--peers", missing.to_str().unwrap()],
            folder.path(),
        )
        .code(2)
        .stderr(contains("no peers here"));
    }
}

/// Peers made of shell scripts.
#[cfg(unix)]
mod peers {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn script(directory: &Path, name: &str, body: &str) {
        let path = directory.join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Sorts nothing, but knows how many keys there were, and copies what it was given.
    fn good(seen: &Path) -> String {
        format!(
            r#"while [ $# -gt 0 ]; do
  case $1 in
    --input) input=$2 ;;
    --expected) expected=$2 ;;
    --type) type=$2 ;;
    --repeats) repeats=$2 ;;
    *) exit 2 ;;
  esac
  shift 2
done
keys=$(($(wc -c < "$input") / 4))
cp "$input" "{seen}/input-$keys" && cp "$expected" "{seen}/expected-$keys"
echo "a greeting"
echo '{{"peer":"fake","version":"9","device":"Fake GPU","clock":"fake clock","results":[
  {{"engine":"fake-sort","type":"'$type'","keys":'$keys',"times_s":[0.001,0.002],"verified":true,"scratch_bytes":'$((keys * 8))',"moves":"keys"}},
  {{"engine":"fake-wrong","times_s":[0.001],"verified":false}},
  {{"engine":"fake-unable","error":"needs a larger '$repeats'"}}]}}' | tr -d '\n'
"#,
            seen = seen.display()
        )
    }

    #[test]
    fn the_good_are_drawn_and_the_bad_are_told() {
        if !adapter() {
            return;
        }
        let folder = directory();
        let (peers, seen) = (folder.path().join("peers"), folder.path().join("seen"));
        fs::create_dir(&peers).unwrap();
        fs::create_dir(&seen).unwrap();
        script(&peers, "fake.sh", &good(&seen));
        script(&peers, "crash", "echo 'out of luck' >&2\nkill -9 $$\n");
        script(&peers, "chatter", "echo no JSON\n");
        let hangs = seen.join("hangs");
        let hang = format!("echo begun >> {}\nexec sleep 600\n", hangs.display());
        script(&peers, "hang", &hang);
        script(&peers, "deviceless", "echo none >&2\nexit 3\n");
        // No program: without the permission to run.
        fs::write(peers.join("README"), "words").unwrap();
        let out = folder.path().join("out");
        let args = [
            "random",
            "memory",
            "--peers",
            peers.to_str().unwrap(),
            "--peer-timeout",
            "1",
        ];
        small(&args, &out).success();
        // A peer that hangs is stopped, and not asked again.
        assert_eq!(fs::read_to_string(hangs).unwrap(), "begun\n");

        // It saw the keys and their order.
        let input = fs::read(seen.join("input-4096")).unwrap();
        let mut keys: Vec<u32> = input
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect();
        assert!(!keys.is_sorted());
        keys.sort_unstable();
        let expected: Vec<u8> = keys.iter().flat_map(|key| key.to_le_bytes()).collect();
        assert_eq!(fs::read(seen.join("expected-4096")).unwrap(), expected);

        let of = |name: &str| -> Vec<BTreeMap<String, String>> {
            let mut rows = rows(&out.join("random.csv"));
            rows.retain(|row| row["contender"] == name);
            rows
        };
        let fake = of("fake-sort");
        assert_eq!(fake.len(), of("bcf").len());
        assert_eq!(fake[0]["clock"], "fake clock");
        assert_eq!(fake[0]["device"], "Fake GPU (fake 9)");
        assert!((fake[0]["median_s"].parse::<f64>().unwrap() - 0.0015).abs() < 1e-9);
        for absent in [
            "fake-wrong",
            "fake-unable",
            "crash",
            "chatter",
            "hang",
            "deviceless",
        ] {
            assert!(of(absent).is_empty(), "{absent}");
        }
        let html = fs::read_to_string(out.join("report.html")).unwrap();
        for told in [
            "fake-sort",
            "Fake GPU",
            "its result is wrong",
            "needs a larger 2",
            "out of luck",
            "printed no result",
            "took longer than 1 s",
            "finds no device",
        ] {
            assert!(html.contains(told), "{told}");
        }
        let memory = rows(&out.join("memory.csv"));
        let scratch = memory.iter().find(|row| row["contender"] == "fake-sort");
        assert_eq!(scratch.unwrap()["scratch_bytes_per_key"], "8.0000");
        // Keys for peers are gone.
        let hidden = fs::read_dir(&out).unwrap().filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().starts_with('.')
        });
        assert_eq!(hidden.count(), 0);

        // Those who failed are asked again by the next run; what went well is kept.
        for name in ["crash", "chatter", "hang", "deviceless"] {
            fs::remove_file(peers.join(name)).unwrap();
        }
        let before = measured(&out);
        small(&args, &out)
            .success()
            .stdout(contains("measured 0 series now"));
        assert_eq!(measured(&out), before);
        script(
            &peers,
            "crash",
            &good(&seen).replace("fake-sort", "recovered"),
        );
        small(&args, &out).success();
        assert_eq!(of("recovered").len(), fake.len());
        assert_eq!(of("fake-sort"), fake);
    }
}

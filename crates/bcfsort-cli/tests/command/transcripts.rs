//! The transcripts of `tests/transcripts` and `docs/command.md`: what the command prints, in small
//! examples of everything that people type.

use crate::cli::cli;
use crate::without_an_adapter::none_left;
use std::fs;
use std::path::Path;
use trycmd::TestCases;

/// `TRYCMD=overwrite` in the environment writes them anew.
fn check(files: impl AsRef<Path>) {
    cases(&TestCases::new(), files);
}

fn cases(cases: &TestCases, files: impl AsRef<Path>) {
    cases
        .case(files)
        .env("COLUMNS", "100")
        .env("RUST_LOG", "off")
        .env("WGPU_BCFSORT_CACHE_DIR", "");
}

#[test]
fn transcripts_are_what_the_command_prints() {
    check("tests/transcripts/*.md");
}

#[test]
fn doctor_prints_its_transcript_where_there_is_no_adapter() {
    if none_left() {
        let hidden = TestCases::new();
        for name in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] {
            hidden.env(name, "/nonexistent.json");
        }
        cases(&hidden, "tests/transcripts/devices/none.md");
    }
}

#[test]
fn doctor_prints_its_transcript_on_an_adapter() {
    if cli().arg("devices").output().unwrap().status.success() {
        check("tests/transcripts/devices/one.md");
    }
}

#[test]
fn the_documents_examples_are_what_the_command_prints() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/command.md");
    let text = fs::read_to_string(document).unwrap();
    // The files of the examples are blocks of these kinds.
    let files = |kind: &str| -> Vec<String> {
        let start = format!("\n```{kind}\n");
        let blocks = text.split(&start).skip(1);
        let blocks = blocks.map(|block| block.split("```").next().unwrap().to_owned());
        blocks.collect()
    };
    let (tables, lines) = (files("csv"), files("text"));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("command.md"), &text).unwrap();
    fs::create_dir(folder.path().join("command.in")).unwrap();
    for (name, content) in [
        ("people.csv", &tables[0]),
        ("monday.txt", &lines[0]),
        ("tuesday.txt", &lines[1]),
    ] {
        fs::write(folder.path().join("command.in").join(name), content).unwrap();
    }
    check(folder.path().join("command.md"));
}

//! The transcripts of `tests/transcripts` and `docs/command.md`: what the command prints, in small
//! examples of everything that people type.

use std::fs;
use std::path::Path;

/// `TRYCMD=overwrite` in the environment writes them anew.
fn check(files: impl AsRef<Path>) {
    trycmd::TestCases::new()
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
fn the_documents_example_is_what_the_command_prints() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/command.md");
    let text = fs::read_to_string(document).unwrap();
    let (_, table) = text.split_once("```csv\n").unwrap();
    let (table, _) = table.split_once("```").unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("command.md"), &text).unwrap();
    fs::create_dir(folder.path().join("command.in")).unwrap();
    fs::write(folder.path().join("command.in/people.csv"), table).unwrap();
    check(folder.path().join("command.md"));
}

//! The documents of the repository: every relative link leads to a file, and every anchor to one of
//! its headings.

use bcfsort_testkit::kernels_of_tests::family;
use bcfsort_testkit::recordings::{dispatched, short_label};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use wgpu_bcfsort::internals;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The links of a document, and the anchors of its headings.
fn parse(text: &str) -> (Vec<String>, BTreeSet<String>) {
    let (mut links, mut anchors) = (Vec::new(), BTreeSet::new());
    let mut heading: Option<String> = None;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                links.push(dest_url.into_string());
            }
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                anchors.extend(heading.take().map(|heading| anchor(&heading)));
            }
            _ => {}
        }
    }
    (links, anchors)
}

/// The anchor that GitHub and mdBook give a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c => (c.is_alphanumeric() || c == '-' || c == '_').then_some(c),
    });
    kept.collect()
}

/// The broken links of a document.
fn broken(file: &Path, text: &str) -> Vec<String> {
    let (links, anchors) = parse(text);
    let is_wrong = |link: &&String| {
        if link.contains("://") || link.starts_with("mailto:") {
            return false;
        }
        let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
        if path.is_empty() {
            return !anchors.contains(fragment);
        }
        let target = file.parent().unwrap_or(Path::new(".")).join(path);
        if !target.exists() {
            return true;
        }
        let is_document = target
            .extension()
            .is_some_and(|extension| extension == "md");
        !fragment.is_empty()
            && is_document
            && !parse(&std::fs::read_to_string(&target).unwrap())
                .1
                .contains(fragment)
    };
    let wrong = links.iter().filter(is_wrong);
    wrong
        .map(|link| format!("{}: {link}", file.display()))
        .collect()
}

/// All documents that git lists; without git, those in the root and in `docs`.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(ROOT);
    let mut git = Command::new("git");
    git.args(["-C", ROOT, "ls-files", "--cached", "--others"]);
    let listed = git.args(["--exclude-standard", "*.md"]).output();
    if let Ok(listed) = listed
        && listed.status.success()
    {
        let names = String::from_utf8(listed.stdout).unwrap();
        let files = names.lines().map(|name| root.join(name));
        return files.filter(|file| file.exists()).collect();
    }
    let entries = [root.to_owned(), root.join("docs")].into_iter();
    let files = entries.flat_map(|directory| std::fs::read_dir(directory).unwrap());
    let files = files.map(|entry| entry.unwrap().path());
    files
        .filter(|file| file.extension().is_some_and(|e| e == "md"))
        .collect()
}

#[test]
fn links_of_documents_lead_somewhere() {
    let mut wrong = Vec::new();
    let documents = documents();
    assert!(documents.len() > 10, "{documents:?}");
    for file in documents {
        wrong.extend(broken(&file, &std::fs::read_to_string(&file).unwrap()));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_broken_link_is_found() {
    let file = Path::new(ROOT).join("README.md");
    let text = "# A `B` c!\n[a](#a-b-c) [b](#a-b) [c](docs/none.md) [d](docs/library.md#none) \
                ![e](none.svg) [f](https://example.org/#g) [h](docs/glossary.md#input)";
    let found = broken(&file, text);
    let names: Vec<&str> = found
        .iter()
        .filter_map(|text| text.split(": ").nth(1))
        .collect();
    let expected = ["#a-b", "docs/none.md", "docs/library.md#none", "none.svg"];
    assert_eq!(names, expected);
}

/// The first paragraph of what a file of Rust says of itself.
fn purpose(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    let lines = lines.map(str::trim).take_while(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

/// What `docs/kernels` shows is what a device gets.
#[test]
fn the_shown_kernels_are_current() {
    let kernels = dispatched();
    let files = std::fs::read_dir(Path::new(ROOT).join("docs/kernels")).unwrap();
    let mut shown = 0;
    for file in files {
        let file = file.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap();
        let kernel = kernels.iter().find(|kernel| short_label(kernel) == name);
        let kernel = kernel.unwrap_or_else(|| panic!("there is no kernel {name}"));
        assert!(
            std::fs::read_to_string(&file).unwrap() == kernel.wgsl(),
            "write it anew: wgpu-bcfsort audit --print {name} > docs/kernels/{name}.wgsl"
        );
        shown += 1;
    }
    assert_eq!(shown, 3);
}

/// The tables of `tests/README.md` have what each file says of itself.
#[test]
fn the_list_of_tests_is_current() {
    let folders = [
        "tests/properties",
        "tests/lockstep",
        "tests/gpu",
        "crates/bcfsort-cli/tests/command",
    ];
    let mut tables = String::new();
    for folder in folders {
        let files = std::fs::read_dir(Path::new(ROOT).join(folder)).unwrap();
        let files = files.map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = files
            .filter(|file| file.extension().is_some_and(|e| e == "rs"))
            .collect();
        files.sort_unstable();
        let main = files.iter().position(|file| file.ends_with("main.rs"));
        let main = files.remove(main.unwrap());
        tables += &format!(
            "\n## {folder}\n\n{}\n\n| file | tests |\n|---|---|\n",
            purpose(&main)
        );
        for file in files {
            let (name, purpose) = (file.file_name().unwrap().display(), purpose(&file));
            assert!(!purpose.is_empty(), "{name} does not say what it tests");
            tables += &format!("| `{name}` | {purpose} |\n");
        }
    }
    let readme = std::fs::read_to_string(Path::new(ROOT).join("tests/README.md")).unwrap();
    assert!(
        readme.ends_with(&tables),
        "tests/README.md is to end with:\n{tables}"
    );
}

/// The table itself is made by a run: `.ci/kernels-of-tests`.
#[test]
fn the_table_of_kernels_has_all_of_them_and_their_tests() {
    let tests = Path::new(ROOT).join("tests");
    let readme = std::fs::read_to_string(tests.join("README.md")).unwrap();
    let mut listed = BTreeSet::new();
    let (_, table) = readme.split_once("| kernel |").unwrap();
    for row in table.lines().skip(2).take_while(|line| !line.is_empty()) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, kernel, lockstep, gpu, _] = cells[..] else {
            panic!("{row}");
        };
        listed.insert(kernel.replace('`', ""));
        for (folder, files) in [("lockstep", lockstep), ("gpu", gpu)] {
            for file in files.split_whitespace() {
                let file = tests.join(folder).join(file.replace('`', ""));
                assert!(file.exists(), "{}, of {kernel}", file.display());
            }
        }
    }
    let kernels = internals::kernels();
    let all: BTreeSet<String> = kernels.iter().map(|k| family(k.label())).collect();
    assert_eq!(listed, all, "run make kernels-of-tests");
}

#[test]
fn the_readme_is_short() {
    let readme = std::fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let lines = readme.lines().count();
    assert!(lines <= 250, "{lines} lines");
}

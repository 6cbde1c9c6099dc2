//! Checks the output of the command in README.md.

use std::fs;
use std::process::Command;
use wgsl_lockstep::{Buffers, Config, Shader};

const README: &str = include_str!("../../README.md");

/// The code blocks in a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let start = format!("```{language}\n");
    let rest = README.split(start.as_str()).skip(1);
    rest.map(|text| text.split("```").next().unwrap()).collect()
}

/// Checks that a text has these lines in this order; `...` stands for any number of other lines.
fn assert_shown(shown: &str, text: &str) {
    let mut lines = text.lines();
    let mut may_skip = false;
    for wanted in shown.lines() {
        if wanted == "..." {
            may_skip = true;
            continue;
        }
        let found = if may_skip {
            lines.any(|line| line == wanted)
        } else {
            lines.next() == Some(wanted)
        };
        assert!(found, "README.md shows this line:\n{wanted}\nof\n{text}");
        may_skip = false;
    }
    assert!(lines.next().is_none(), "README.md ends early:\n{text}");
}

#[test]
fn the_conflict_is_found_and_mended() {
    let directory = tempfile::tempdir().unwrap();
    let shader = blocks("wgsl")[0];
    let mended = shader.replace("const ROW = 32u;", "const ROW = 33u;");
    let outputs = blocks("text");
    for (shader, shown, code) in [(shader, outputs[0], 1), (&mended, outputs[1], 0)] {
        fs::write(directory.path().join("transpose.wgsl"), shader).unwrap();
        let (command, shown) = shown.split_once('\n').unwrap();
        let args = command.strip_prefix("$ wgsl-audit ").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_wgsl-audit"))
            .args(args.split(' '))
            .current_dir(directory.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code));
        assert_shown(shown, &String::from_utf8(output.stdout).unwrap());
    }
}

#[test]
fn the_test_in_rust_shows_the_line() {
    let test = blocks("rust")[1];
    let (_, wgsl) = test.split_once("const WGSL: &str = \"").unwrap();
    let (padded, _) = wgsl.split_once("\";").unwrap();
    let wgsl = padded.replace("array<f32, 33>", "array<f32, 32>");
    assert_ne!(wgsl, padded);
    let shader = Shader::new(&wgsl, None, &[]).unwrap();
    let len = 32 * 32;
    let mut buffers = Buffers::from([
        ((0, 0), vec![32, 32]),
        ((0, 1), vec![0; len]),
        ((0, 2), vec![0; len]),
    ]);
    let report = shader
        .run(&mut buffers, [1, 1, 1], &Config::default())
        .unwrap();
    let site = report.sites.iter().find(|s| s.banks.max_degree > 1);
    let site = site.unwrap();
    let shown = format!(
        "{}-way bank conflict, {} of {}:\n{}\n",
        site.banks.max_degree,
        site.kind,
        site.variable,
        site.location.excerpt(&wgsl)
    );
    assert_eq!(blocks("text")[2], shown);
}

#[test]
fn its_options_exist() {
    let help = Command::new(env!("CARGO_BIN_EXE_wgsl-audit"))
        .arg("--help")
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let is_part = |c: char| c.is_ascii_lowercase() || c == '-';
    let words = README.split(|c| !is_part(c));
    let options = words.filter(|word| word.starts_with("--") && word.len() > 3);
    // Options of cargo, and one that need not be listed.
    let others = [
        "--features",
        "--path",
        "--git",
        "--dev",
        "--locked",
        "--help",
    ];
    let own = options.filter(|option| !others.contains(option));
    let mut count = 0;
    for option in own {
        assert!(help.contains(&format!("{option} ")), "{option}");
        count += 1;
    }
    assert!(count > 10);
}

//! Compute shaders of other crates, as unpacked by cargo: each entry point runs, or is refused with
//! a reason in one line.
//!
//! The contents of buffers are arbitrary, so findings say nothing about these shaders.

use crate::packages::{PACKAGES, Package};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use wgsl_lockstep::audit::{Audit, Subject};
use wgsl_lockstep::{Buffers, Config, Resource, Shader, ShaderError, Space};

/// The result for an entry point, or for a file that is not plain WGSL.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Ran,
    /// The reason.
    Refused(String),
    /// naga's message: the crate adds missing parts of the text before it compiles it.
    Template(String),
}

/// All files below a folder that end in `.wgsl`.
fn shaders(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "wgsl") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Text that a crate adds to its shaders before it compiles them, with its defaults.
struct Filling {
    package: &'static str,
    /// Text before the shader.
    head: &'static str,
    /// Replacements of identifiers and of other texts.
    replaced: &'static [(&'static str, &'static str)],
}

const FILLINGS: [Filling; 3] = [
    Filling {
        package: "lampshade",
        head: "",
        replaced: &[
            ("{{BLOCK_SIZE}}", "256"),
            ("{{VT}}", "4"),
            ("{{ITEM_TYPE}}", "KeyValue"),
            ("{{KEY_ACCESS}}", "item.key"),
            ("{{KEY_MEMBER}}", ".key"),
            ("{{VALUE_EXPRESSION}}", "item.key"),
            ("{{IDENTITY}}", "0u"),
            ("{{COMBINE}}", "lhs + rhs"),
            ("{{MAX_BINS}}", "1024"),
            ("{{MAX_WORKGROUPS_X}}", "65535"),
            ("{{RADIX_BUCKETS}}", "16"),
            ("{{RADIX_BUCKET_GROUPS}}", "4"),
            ("{{LOCAL_HISTOGRAM_SIZE}}", "1024"),
            ("{{UNIFORM_STRIDE_WORDS}}", "64"),
        ],
    },
    Filling {
        package: "web-rwkv",
        head: "",
        replaced: &[
            ("BLOCK_SIZE", "32u"),
            ("BLOCK_SIZE_X", "16u"),
            ("BLOCK_SIZE_Y", "16u"),
            ("NF4_BLOCK_SIZE", "64u"),
            ("INT8_BLOCK_SIZE", "128u"),
            ("HEAD_SIZE", "16u"),
            ("MIN_SUBGROUP_SIZE", "32u"),
            ("SUBGROUP_SIZE_32_32", ""),
            (
                "ACTIVATION_DEFINE",
                "\nfn sigmoid(x: vec4<f32>) -> vec4<f32> { return 1.0 / (1.0 + exp(-x)); }",
            ),
            ("ACT", "tanh"),
            ("ACT_X", "tanh"),
            ("ACT_Y", "tanh"),
            ("ACT_OUT", "tanh"),
            ("SCALE", "2.0"),
            ("BIAS", "1.0"),
            ("EPS", "0.00001"),
        ],
    },
    Filling {
        package: "wgpu_sort",
        head: "const histogram_sg_size: u32 = 32u;
               const histogram_wg_size: u32 = 256u;
               const rs_radix_log2: u32 = 8u;
               const rs_radix_size: u32 = 256u;
               const rs_keyval_size: u32 = 4u;
               const rs_histogram_block_rows: u32 = 15u;
               const rs_scatter_block_rows: u32 = 15u;
               const rs_mem_dwords: u32 = 4096u;
               const rs_mem_sweep_0_offset: u32 = 0u;
               const rs_mem_sweep_1_offset: u32 = 8u;
               const rs_mem_sweep_2_offset: u32 = 8u;\n",
        replaced: &[
            ("{histogram_wg_size}", "256"),
            ("{prefix_wg_size}", "128"),
            ("{scatter_wg_size}", "256"),
        ],
    },
];

/// Prepares a text as its crate does: expands `#import` of files of the folder `shared` and
/// `#ifdef` of names in the filling, and makes the replacements.
fn prepare(package: &Package, text: &str) -> String {
    let none = Filling {
        package: "",
        head: "",
        replaced: &[],
    };
    let filling = FILLINGS.iter().find(|f| f.package == package.name);
    let filling = filling.unwrap_or(&none);
    let text = preprocess(package, filling, text);
    let mut result = filling.head.to_owned();
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let replacement = |word: &str| {
        let known = filling.replaced.iter().find(|(name, _)| *name == word);
        known.map_or(word, |(_, value)| value).to_owned()
    };
    // Identifiers one by one, and the text between them.
    for piece in text.split_inclusive(|c| !is_part(c)) {
        let word = piece.trim_end_matches(|c| !is_part(c));
        result += &replacement(word);
        result += &piece[word.len()..];
    }
    let braced = filling.replaced.iter().filter(|r| r.0.starts_with('{'));
    braced.fold(result, |text, (name, value)| text.replace(name, value))
}

fn preprocess(package: &Package, filling: &Filling, text: &str) -> String {
    let mut result = String::new();
    // The values of all enclosing conditions.
    let mut conditions: Vec<bool> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let directive = words.next();
        let name = words.next();
        let is_defined = || filling.replaced.iter().any(|(n, _)| Some(*n) == name);
        match directive {
            Some("#ifdef") => conditions.push(is_defined()),
            Some("#ifndef") => conditions.push(!is_defined()),
            Some("#else") => {
                let last = conditions.last_mut().unwrap();
                *last = !*last;
            }
            Some("#endif") => {
                conditions.pop();
            }
            _ if !conditions.iter().all(|&holds| holds) => {}
            Some("#import") => {
                let file = format!("shader/shared/{}.wgsl", name.unwrap());
                let text = fs::read_to_string(package.directory.join(file)).unwrap();
                result += &preprocess(package, filling, &text);
            }
            _ => {
                result += line;
                result.push('\n');
            }
        }
    }
    result
}

/// Buffers similar to those of `wgsl-audit`: zeros in uniforms, and a pattern that covers all bits
/// in storage.
fn buffers(resources: &[Resource]) -> Buffers {
    let buffer = |resource: &Resource| {
        let least = resource.min_bytes.div_ceil(4);
        let words = match resource.stride {
            Some(stride) => least + 4096 / stride.max(4) * stride.div_ceil(4),
            None => least,
        };
        let word = |i: u32| match resource.space {
            Space::Uniform => 0,
            _ => i.wrapping_mul(0x9e37_79b9),
        };
        let place = (resource.group, resource.binding);
        (place, (0..words).map(word).collect())
    };
    resources.iter().map(buffer).collect()
}

/// Runs two workgroups of an entry point.
fn run(wgsl: &str, entry: &str) -> Result<(), ShaderError> {
    let mut overrides = Vec::new();
    let shader = loop {
        match Shader::new(wgsl, Some(entry), &overrides) {
            // Any number will do.
            Err(ShaderError::MissingOverride { name }) => {
                assert!(!overrides.iter().any(|(known, _)| *known == name), "{name}");
                overrides.push((name, 4.0));
            }
            shader => break shader?,
        }
    };
    let config = Config::default()
        .max_iterations(1 << 10)
        .max_lane_instructions(1 << 22);
    let report = shader.run(&mut buffers(shader.resources()), [2, 1, 1], &config)?;
    assert!(report.workgroups <= 2);
    // All output formats can be made.
    let audit = Audit::new(vec![Subject::new("shader.wgsl", &shader, report)], config);
    let _ = (audit.text("", true), audit.sarif(), audit.heatmap());
    Ok(())
}

/// The results of all entry points of a file.
fn outcomes(file: &Path, text: &str) -> Vec<Outcome> {
    let entries = match Shader::entry_points(text) {
        Ok(entries) => entries,
        Err(error) => return vec![Outcome::Template(error.to_string())],
    };
    let outcome = |entry: &String| {
        let result = catch_unwind(|| run(text, entry));
        let result = result.unwrap_or_else(|_| panic!("{}: {entry}", file.display()));
        match result {
            Ok(()) => Outcome::Ran,
            Err(error) => {
                let reason = error.to_string();
                let line = reason.lines().next().unwrap();
                let what = line
                    .split_once("cannot run ")
                    .map_or(line, |(_, what)| what);
                Outcome::Refused(what.to_owned())
            }
        }
    };
    entries.iter().map(outcome).collect()
}

#[test]
fn each_shader_runs_or_says_why_not() {
    let mut texts = HashSet::new();
    let mut rows: BTreeMap<String, Vec<(PathBuf, Outcome)>> = BTreeMap::new();
    for package in PACKAGES.iter() {
        for file in shaders(&package.directory) {
            let title = format!("{} {}", package.name, package.version);
            let name = file.strip_prefix(&package.directory).unwrap();
            let text = prepare(package, &fs::read_to_string(&file).unwrap());
            // Versions of a crate share many shaders.
            if !text.contains("@compute") || !texts.insert(text.clone()) {
                continue;
            }
            let all = outcomes(&file, &text).into_iter();
            let row = all.map(|outcome| (name.to_owned(), outcome));
            rows.entry(title).or_default().extend(row);
        }
    }
    rows.retain(|_, outcomes| !outcomes.is_empty());

    let mut table = String::from(
        "| package | entry points | run | refused | files that are not WGSL |\n\
         |---|---:|---:|---:|---:|\n",
    );
    let mut reasons = BTreeSet::new();
    let mut all = [0; 4];
    for (title, outcomes) in &rows {
        let count = |is: fn(&Outcome) -> bool| outcomes.iter().filter(|(_, o)| is(o)).count();
        let ran = count(|outcome| *outcome == Outcome::Ran);
        let refused = count(|outcome| matches!(outcome, Outcome::Refused(_)));
        let templates = count(|outcome| matches!(outcome, Outcome::Template(_)));
        let row = [ran + refused, ran, refused, templates];
        let _ = writeln!(
            table,
            "| {title} | {} | {ran} | {refused} | {templates} |",
            ran + refused
        );
        for (sum, count) in all.iter_mut().zip(row) {
            *sum += count;
        }
        for (file, outcome) in outcomes {
            println!("{title}: {}: {outcome:?}", file.display());
            if let Outcome::Refused(reason) = outcome {
                reasons.insert(reason.clone());
            }
        }
    }
    let [entries, ran, refused, templates] = all;
    let _ = writeln!(
        table,
        "| all | {entries} | {ran} | {refused} | {templates} |"
    );
    println!("{table}");
    let readme = include_str!("../../README.md");
    assert!(
        readme.contains(&table),
        "README.md lacks this table:\n{table}"
    );
    for reason in reasons {
        assert!(readme.contains(&reason), "README.md does not say: {reason}");
    }
}

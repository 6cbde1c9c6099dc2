//! DataFusion's own tests of sorts, with the rule on: from the published source of the crate
//! datafusion-sqllogictest, which cargo has fetched.

use crate::always;
use bcfsort_datafusion::{BcfsortOptions, Switch, with_gpu_sort};
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::SessionContext;
use datafusion_sqllogictest::{
    DFColumnType, DataFusion, TestContext, df_value_validator, setup_scratch_dir, value_normalizer,
};
use indicatif::ProgressBar;
use sqllogictest::{Normalizer, Record, Runner, parse_file, strict_column_validator};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The files whose queries sort, and the fewest of their records that must pass.
///
/// Some records cannot: they read files that are not in the published source. Such a record must
/// fail without the rule as well.
const FILES: [(&str, usize); 11] = [
    ("order.slt", 141),
    ("sort_pushdown.slt", 373),
    ("topk.slt", 17),
    ("limit.slt", 84),
    ("window.slt", 372),
    ("subquery_sort.slt", 5),
    ("filter_without_sort_exec.slt", 14),
    ("parquet_sorted_statistics.slt", 19),
    ("sort_merge_join.slt", 93),
    ("sort_merge_join_spill.slt", 46),
    ("ordered_aggregate_spill.slt", 37),
];

/// The folder of the package, as cargo has it.
pub(crate) fn package() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--all-features",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let of = |package: &serde_json::Value| {
        let manifest = package["manifest_path"].as_str()?;
        Some(Path::new(manifest).parent()?.to_owned())
    };
    let is_meant = |p: &&serde_json::Value| p["name"] == "datafusion-sqllogictest";
    packages
        .iter()
        .find(is_meant)
        .and_then(of)
        .expect("the package")
}

/// The sorts on the GPU in the plans that the tests show.
static SORTS: AtomicUsize = AtomicUsize::new(0);

/// The text of a plan as it would be without the rule.
fn without_rule(line: &str) -> String {
    let mut line = line.to_owned();
    if let Some(begin) = line.find(", cpu=[") {
        line.truncate(begin);
    }
    if let Some((before, after)) = line.split_once("GpuSortExec: ") {
        SORTS.fetch_add(1, Ordering::Relaxed);
        let after = after.split(", keys=[").next().unwrap_or_default();
        let after = match after
            .strip_prefix("fetch=")
            .and_then(|rest| rest.split_once(", "))
        {
            Some((rows, rest)) => format!("TopK(fetch={rows}), {rest}"),
            None => after.to_owned(),
        };
        line = format!("{before}SortExec: {after}");
    }
    line
}

fn validator(normalizer: Normalizer, actual: &[Vec<String>], expected: &[String]) -> bool {
    let rewritten = |row: &Vec<String>| row.iter().map(|cell| without_rule(cell)).collect();
    let actual: Vec<Vec<String>> = actual.iter().map(rewritten).collect();
    df_value_validator(normalizer, &actual, expected)
}

/// The records of a file that fail, by their place, and the number of those that pass.
async fn failures(file: &str, options: Option<BcfsortOptions>) -> (Vec<String>, usize) {
    let path = Path::new(file);
    let context = TestContext::try_new_for_test_file(path)
        .await
        .expect("a session");
    let session = match options {
        None => context.session_ctx().clone(),
        Some(options) => {
            let mut builder = SessionStateBuilder::new_from_existing(context.session_ctx().state());
            if let Some(config) = builder.config() {
                config.options_mut().extensions.insert(options);
            }
            SessionContext::new_with_state(with_gpu_sort(builder).build())
        }
    };
    setup_scratch_dir(path).expect("a scratch directory");
    let mut runner = Runner::new(|| async {
        Ok(DataFusion::new(
            session.clone(),
            path.to_owned(),
            ProgressBar::hidden(),
        ))
    });
    runner.add_label("Datafusion");
    runner.with_column_validator(strict_column_validator);
    runner.with_normalizer(value_normalizer);
    runner.with_validator(validator);
    let records = parse_file::<DFColumnType>(Path::new("test_files").join(path)).expect("records");
    let (mut failed, mut passed) = (Vec::new(), 0);
    for record in records {
        if let Record::Halt { .. } = record {
            break;
        }
        let is_query = matches!(record, Record::Statement { .. } | Record::Query { .. });
        match runner.run_async(record).await {
            Ok(_) => passed += usize::from(is_query),
            Err(error) => failed.push(format!("{}: {error}", error.location())),
        }
    }
    (failed, passed)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn datafusions_own_tests() {
    let directory = tempfile::tempdir().expect("a directory");
    // The tests write beside their files, and read them by relative paths.
    let copied = Command::new("cp")
        .args(["-r", "--no-preserve=mode"])
        .args(["test_files", "data"].map(|folder| package().join(folder)))
        .arg(directory.path())
        .status()
        .expect("cp");
    assert!(copied.success());
    std::env::set_current_dir(directory.path()).expect("the directory");
    let mut options = always();
    // So that plans have the shape that the tests expect.
    options.single_run = Switch::Never;
    for (file, least) in FILES {
        let (without, passed_without) = failures(file, None).await;
        let (with, passed) = failures(file, Some(options.clone())).await;
        let place = |failure: &String| failure.split(": ").next().unwrap_or_default().to_owned();
        let known: Vec<String> = without.iter().map(place).collect();
        let new: Vec<&String> = with.iter().filter(|f| !known.contains(&place(f))).collect();
        assert!(new.is_empty(), "{file}: only with the rule:\n{new:#?}");
        assert_eq!(passed, passed_without, "{file}");
        assert!(passed >= least, "{file}: {passed} passed");
        eprintln!(
            "{file}: {passed} passed, {} read what is not published",
            with.len()
        );
    }
    let sorts = SORTS.load(Ordering::Relaxed);
    assert!(sorts >= 40, "{sorts} sorts on the GPU");
}

//! Queries, executors that die, and errors.

use crate::{Cluster, pairs, ports, read, sorted, success, wait};
use std::process::{Command, Stdio};

const SQL: &str = "SELECT * FROM t ORDER BY k DESC NULLS FIRST, v";

#[test]
fn both_executors_sort() {
    let cluster = Cluster::start();
    let table = cluster.table(20_000);
    success(
        &cluster
            .client(&["sql", "--table", "t=t", SQL, "-o", "out.parquet"])
            .output()
            .expect("sql"),
    );
    let (rows, is_whole) = pairs(&read(&cluster.path("out.parquet")));
    assert!(is_whole);
    assert!(rows == sorted(&table), "not the order of one process");
    for executor in ["e0", "e1"] {
        assert!(
            cluster.has_sorted(executor),
            "{executor}: {}",
            cluster.log(executor)
        );
    }
    let printed = cluster
        .client(&[
            "sql",
            "--table",
            "t=t/0.parquet",
            "SELECT v FROM t ORDER BY v DESC LIMIT 1",
        ])
        .output()
        .expect("sql");
    success(&printed);
    assert!(String::from_utf8_lossy(&printed.stdout).contains("| 19999 |"));
    // A closed pipe, as by `| head`, is not an error.
    let mut unread = cluster
        .client(&["sql", "--table", "t=t/0.parquet", "SELECT v FROM t"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("sql");
    drop(unread.stdout.take());
    success(&unread.wait_with_output().expect("sql"));
    // A query that fails leaves the old file.
    let written = std::fs::read(cluster.path("out.parquet")).expect("the file");
    let divided = "SELECT 1 / (v - 5) FROM t";
    let failed = cluster
        .client(&["sql", "--table", "t=t", divided, "-o", "out.parquet"])
        .output()
        .expect("sql");
    assert!(!failed.status.success());
    let left = std::fs::read(cluster.path("out.parquet")).expect("the file");
    assert!(left == written, "the old file has changed");
    let wrong = cluster
        .client(&["sql", "--table", "t=t", "SELECT nope FROM t"])
        .output()
        .expect("sql");
    assert!(!wrong.status.success());
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("nope"));
}

#[test]
fn an_executor_is_killed() {
    let mut cluster = Cluster::start();
    let table = cluster.table(100_000);
    let mut query = cluster
        .client(&["sql", "--table", "t=t", SQL, "-o", "out.parquet"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("sql");
    // It has sorted a part, which the others have not fetched yet.
    wait("an executor sorts", || cluster.has_sorted("e1"));
    cluster.processes[2].kill().expect("the executor runs");
    assert!(query.try_wait().expect("a process").is_none(), "too late");
    success(&query.wait_with_output().expect("the query ends"));
    let (rows, is_whole) = pairs(&read(&cluster.path("out.parquet")));
    assert!(is_whole);
    assert!(
        rows == sorted(&table),
        "rows were lost, or are out of order"
    );
    // The other one has sorted its part again.
    let again: usize = cluster.sorts("e0").iter().sum();
    assert!(again >= table.num_rows(), "{}", cluster.log("e0"));
}

/// The parts that it had sorted are lost, too, after the stage that sorts has ended.
#[test]
fn an_executor_is_killed_while_it_merges() {
    let mut cluster = Cluster::start();
    let table = cluster.table(100_000);
    let mut query = cluster
        .client(&["sql", "--table", "t=t", SQL, "-o", "out.parquet"])
        .spawn()
        .expect("sql");
    // A line ends with [TID job/stage.attempt/task.attempt]. The first tasks sort.
    let merges = |executor: &str| {
        let log = cluster.log(executor);
        let mut stages: Vec<&str> = (log.lines().filter(|line| line.contains("Execute task")))
            .filter_map(|line| line.split('/').nth(1))
            .collect();
        stages.dedup();
        stages.len() > 1
    };
    wait("an executor merges", || merges("e0") || merges("e1"));
    let (merging, other) = if merges("e0") { (1, "e1") } else { (2, "e0") };
    cluster.processes[merging]
        .kill()
        .expect("the executor runs");
    assert!(query.try_wait().expect("a process").is_none(), "too late");
    wait("the query ends", || {
        query.try_wait().expect("a process").is_some()
    });
    assert!(query.wait().expect("a process").success());
    let (rows, is_whole) = pairs(&read(&cluster.path("out.parquet")));
    assert!(is_whole && rows == sorted(&table));
    let again: usize = cluster.sorts(other).iter().sum();
    assert!(again >= table.num_rows(), "{}", cluster.log(other));
}

#[test]
fn an_executor_refuses_an_unknown_device() {
    let output = Command::new(env!("CARGO_BIN_EXE_bcfsort-ballista"))
        .args(["executor", "--device", "no such adapter"])
        .output()
        .expect("the command");
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let listed = "error: no adapter matches 'no such adapter': there are 0: ";
    assert!(error.starts_with(listed), "{error}");
}

#[test]
fn without_a_scheduler() {
    let [port] = ports::<1>();
    let output = Command::new(env!("CARGO_BIN_EXE_bcfsort-ballista"))
        .args([
            "sql",
            "SELECT 1",
            "--scheduler",
            &format!("127.0.0.1:{port}"),
        ])
        .output()
        .expect("the command");
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        error.starts_with("error: ") && !error.contains("panicked"),
        "{error}"
    );
}

/// Characters that a terminal would obey are escaped in messages of every kind.
#[test]
fn messages_are_escaped() {
    let hidden = "a\u{1b}[2J\u{202e}";
    for arguments in [
        vec!["sql", hidden, hidden],
        vec!["sort-table", "t", "--by", "k", "--parts", hidden, "-o", "o"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_bcfsort-ballista"))
            .args(&arguments)
            .current_dir(tempfile::tempdir().expect("a directory").path())
            .output()
            .expect("the command");
        assert!(!output.status.success());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.starts_with("error: "), "{error}");
        assert!(!error.contains(['\u{1b}', '\u{202e}']), "{error}");
    }
}

//! Limits that the system sets, and the rights of output files.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The user and the group without rights.
const NOBODY: u32 = 65_534;

/// Runs a line of the shell in a folder. `$B` is the command.
fn shell(folder: &TempDir, line: &str) -> Output {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).current_dir(folder.path());
    command.env("B", env!("CARGO_BIN_EXE_wgpu-bcfsort"));
    command.env("WGPU_BCFSORT_CACHE_DIR", "");
    command.stdin(Stdio::null()).output().unwrap()
}

fn numbers(folder: &TempDir, count: u32) {
    let lines = (0..count).map(|i| format!("{}\n", i.wrapping_mul(2_654_435_761)));
    fs::write(folder.path().join("in"), lines.collect::<String>()).unwrap();
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Fails unless the call was an error with one line, and left nothing.
fn is_clean_error(folder: &TempDir, output: &Output, what: &str, message: &str) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{what}: {error}");
    assert_eq!(error.lines().count(), 1, "{what}: {error}");
    assert!(error.contains(message), "{what}: {error}");
    assert_eq!(names(folder), ["in"], "{what}");
}

#[test]
fn a_file_over_the_limit_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    numbers(&folder, 300_000);
    for call in [
        "sort -f lines in -o out",
        "sort -f lines -S 2M in -o out",
        "sort -f text in -o out",
        "argsort -f text in -o out",
        "gen random -n 1M -o out",
    ] {
        let output = shell(&folder, &format!("ulimit -f 100; $B {call} -q"));
        is_clean_error(&folder, &output, call, "File too large");
    }
}

#[test]
fn too_little_memory_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    numbers(&folder, 3_000_000);
    for call in [
        "sort -f lines --engine cpu -S 4G in -o out",
        "sort -f csv --by 1:num --engine cpu -S 4G in -o out",
        "gen random -n 100M -o out",
    ] {
        let output = shell(&folder, &format!("ulimit -v 120000; $B {call} -q"));
        is_clean_error(&folder, &output, call, "out of memory");
    }
    // By default, the limit is what a sort keeps to.
    let sorted = shell(
        &folder,
        "ulimit -v 200000; $B sort -q -f lines --engine cpu in -o out",
    );
    assert!(sorted.status.success(), "{sorted:?}");
}

#[test]
fn with_any_address_space_a_sort_ends_well_or_with_one_line() {
    let folder = tempfile::tempdir().unwrap();
    numbers(&folder, 200_000);
    let mut failures = 0;
    for call in ["-f lines", "-f csv --by 1:num -S 1M", "-f text"] {
        // With less, the optimised build or this one is not even loaded.
        let limits = (30_000..90_000).step_by(4_000);
        for kilobytes in limits.chain((100_000..320_000).step_by(25_000)) {
            let line = format!("ulimit -v {kilobytes}; $B sort -q {call} --engine cpu in -o out");
            let output = shell(&folder, &format!("export RAYON_NUM_THREADS=4; {line}"));
            if output.status.success() {
                fs::remove_file(folder.path().join("out")).unwrap();
            } else {
                is_clean_error(&folder, &output, &line, "out of memory");
                failures += 1;
            }
        }
    }
    assert!(failures > 0);
    let line = "ulimit -s 100; $B sort -q -f lines --engine cpu in -o out";
    let sorted = shell(&folder, line);
    assert!(sorted.status.success(), "{line}: {sorted:?}");
}

#[test]
fn a_closed_stdin_or_stdout_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    numbers(&folder, 10);
    for (line, message) in [
        ("$B sort -f lines -o out <&-", "stdin is closed"),
        ("$B sort -f text - -o out <&-", "stdin is closed"),
        ("$B check -f text <&-", "stdin is closed"),
        ("$B sort -f lines in >&-", "stdout is closed"),
        ("$B argsort -f text in >&-", "stdout is closed"),
        ("$B gen random -n 1 >&-", "stdout is closed"),
        ("$B --help >&-", "stdout is closed"),
        ("$B --version >&-", "stdout is closed"),
        ("$B sort -h >&-", "stdout is closed"),
        ("$B sort --help-all >&-", "stdout is closed"),
    ] {
        is_clean_error(&folder, &shell(&folder, line), line, message);
    }
    // What is not used may be closed.
    let sorted = shell(&folder, "$B sort -f text in -o out <&- >&-");
    assert!(sorted.status.success(), "{sorted:?}");
    let empty = shell(&folder, "$B sort -f lines < /dev/null");
    assert!(
        empty.status.success() && empty.stdout.is_empty(),
        "{empty:?}"
    );
}

#[test]
fn a_full_disk_is_told_while_a_pipe_is_idle() {
    let folder = tempfile::tempdir().unwrap();
    numbers(&folder, 1_000_000);
    let line = "ulimit -f 1000; exec $B sort -q -f lines -S 2M -o out";
    let mut sort = Command::new("sh")
        .args(["-c", line])
        .current_dir(folder.path())
        .env("B", env!("CARGO_BIN_EXE_wgpu-bcfsort"))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = sort.stdin.take().unwrap();
    // It ends before all is written, or while it waits for more.
    let _ = pipe.write_all(&fs::read(folder.path().join("in")).unwrap());
    let started = Instant::now();
    while sort.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = sort.wait_with_output().unwrap();
    drop(pipe);
    is_clean_error(&folder, &output, line, "temporary file");
}

#[test]
fn no_signal_counts_once_the_output_is_there() {
    let folder = tempfile::tempdir().unwrap();
    numbers(&folder, 20_000);
    let out = folder.path().join("out");
    let mut ended = [0, 0];
    for round in 0..60 {
        fs::write(&out, "old").unwrap();
        let mut sort = Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"))
            .args([
                "sort", "-q", "-f", "lines", "--engine", "cpu", "in", "-o", "out",
            ])
            .current_dir(folder.path())
            .spawn()
            .unwrap();
        // Some come before, some after the output is renamed.
        if round % 2 == 0 {
            std::thread::sleep(Duration::from_millis(round / 4));
        } else {
            while fs::metadata(&out).unwrap().len() == 3 && sort.try_wait().unwrap().is_none() {}
        }
        let id = sort.id().to_string();
        let _ = Command::new("kill").arg(&id).stderr(Stdio::null()).status();
        let status = sort.wait().unwrap();
        let is_old = fs::read(&out).unwrap() == b"old";
        // (A signal that comes before the handler is there ends the process by itself.)
        assert_eq!(status.success(), !is_old, "round {round}: {status}");
        ended[usize::from(is_old)] += 1;
        fs::remove_file(&out).unwrap();
        assert_eq!(names(&folder), ["in"], "round {round}");
    }
    assert!(ended[0] > 0, "{ended:?}");
}

fn sorted_onto_itself(folder: &TempDir, before: &str) -> u32 {
    let output = shell(
        folder,
        &format!("{before} $B sort -q -f lines --engine cpu in -o in"),
    );
    assert!(output.status.success(), "{output:?}");
    let metadata = fs::metadata(folder.path().join("in")).unwrap();
    metadata.permissions().mode() & 0o7777
}

#[test]
fn an_output_gives_nobody_more_rights() {
    let folder = tempfile::tempdir().unwrap();
    numbers(&folder, 10);
    let file = folder.path().join("in");
    let set = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    // One's own file keeps its mode.
    for mode in [0o600, 0o644, 0o4755, 0o2750] {
        set(mode);
        assert_eq!(sorted_onto_itself(&folder, ""), mode, "{mode:o}");
    }
    if fs::metadata(&file).unwrap().uid() != 0 || !Path::new("/usr/bin/setpriv").exists() {
        return;
    }
    let owners = || {
        let metadata = fs::metadata(&file).unwrap();
        (metadata.uid(), metadata.gid())
    };
    // Root keeps the owner, and so never makes a program of its own.
    chown(&file, Some(NOBODY), Some(1)).unwrap();
    set(0o6755);
    assert_eq!(sorted_onto_itself(&folder, ""), 0o6755);
    assert_eq!(owners(), (NOBODY, 1));
    // Others cannot: the special bits go, and the new group gets no more than all others.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let as_nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    for (mode, after) in [
        (0o6755, 0o755),
        (0o640, 0o600),
        (0o664, 0o644),
        (0o666, 0o666),
    ] {
        chown(&file, Some(NOBODY), Some(1)).unwrap();
        set(mode);
        if !shell(&folder, &format!("{as_nobody} test -x $B"))
            .status
            .success()
        {
            // The build lies where nobody else may look.
            return;
        }
        assert_eq!(sorted_onto_itself(&folder, as_nobody), after, "{mode:o}");
        assert_eq!(owners(), (NOBODY, NOBODY));
    }
}

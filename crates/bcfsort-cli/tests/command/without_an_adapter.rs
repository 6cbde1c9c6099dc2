//! What the command does where there is no adapter: it sorts on the CPU, or fails with exit code 3.

use crate::cli::{Folder, bytes, cli, one_line};
use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

/// Hides the Vulkan drivers, which are all that Linux has.
pub(super) fn hidden() -> Command {
    let mut command = cli();
    command
        .env("VK_ICD_FILENAMES", "/nonexistent.json")
        .env("VK_DRIVER_FILES", "/nonexistent.json")
        .env_remove("WGPU_BCFSORT_REQUIRE_ADAPTER");
    command
}

pub(super) fn none_left() -> bool {
    cfg!(target_os = "linux") && hidden().arg("devices").output().unwrap().status.code() == Some(3)
}

#[test]
fn prefix_sums_are_added_up_on_the_cpu_with_one_warning() {
    if !none_left() {
        return;
    }
    let folder = Folder::new();
    let ones = folder.write("ones", "1\n1\n1\n");
    hidden()
        .args(["prefix-sums", "-f", "text", &ones, &ones])
        .assert()
        .code(0)
        .stdout("1\n2\n3\n")
        .stderr(one_line().and(contains("prefix sums on the CPU: no GPU adapter found")));
}

#[test]
fn auto_sorts_on_the_cpu_with_one_warning() {
    if !none_left() {
        return;
    }
    // An option of the GPU's engines: without one, so few keys need no adapter.
    let keys = bytes(&[3, 1, 2]);
    hidden()
        .args(["sort", "--buckets", "4", "--timings"])
        .write_stdin(keys.clone())
        .assert()
        .code(0)
        .stdout(bytes(&[1, 2, 3]))
        .stderr(contains("wgpu-bcfsort: sorting on the CPU: ").and(contains("engine   cpu")));
    hidden()
        .args(["sort", "--buckets", "4"])
        .write_stdin(keys.clone())
        .assert()
        .code(0)
        .stderr(one_line().and(contains("no Vulkan driver that VK_DRIVER_FILES names")));
    hidden()
        .args(["sort", "--buckets", "4", "--quiet"])
        .write_stdin(keys)
        .assert()
        .code(0)
        .stderr("");
}

#[test]
fn options_are_checked_though_no_adapter_asks_for_them() {
    if !none_left() {
        return;
    }
    for command in ["sort", "bench"] {
        hidden()
            .args([command, "--buckets", "0"])
            .write_stdin("")
            .assert()
            .code(2)
            .stderr(one_line().and(contains("--buckets is 0, but must be 1 to 1024")));
    }
}

#[test]
fn what_needs_the_gpu_is_3() {
    if !none_left() {
        return;
    }
    let message = || one_line().and(contains("no Vulkan driver that VK_DRIVER_FILES names"));
    for args in [
        &["sort", "--engine", "bcf"][..],
        &["sort", "--device", "0"],
        &["sort", "--device", "all"],
        &["devices"],
        &["bench", "--engines", "bcf"],
    ] {
        hidden()
            .args(args)
            .write_stdin("")
            .assert()
            .code(3)
            .stderr(message());
    }
    for command in ["sort", "bench"] {
        hidden()
            .arg(command)
            .env("WGPU_BCFSORT_REQUIRE_ADAPTER", "1")
            .write_stdin("")
            .assert()
            .code(3)
            .stdout("")
            .stderr(message());
    }
    hidden()
        .args(["sort", "--engine", "cpu"])
        .env("WGPU_BCFSORT_REQUIRE_ADAPTER", "1")
        .write_stdin("")
        .assert()
        .code(0);
}

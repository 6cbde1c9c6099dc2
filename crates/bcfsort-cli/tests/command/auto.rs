//! The engine that `sort` chooses by itself.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::{contains, ends_with};

const REQUIRE_ADAPTER: &str = "WGPU_BCFSORT_REQUIRE_ADAPTER";

/// The command where the CPU may sort.
fn cli() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"));
    command
        .env_remove("RUST_LOG")
        .env_remove(REQUIRE_ADAPTER)
        .env_remove("WGPU_BCFSORT_DEVICE")
        .env("WGPU_BCFSORT_CACHE_DIR", "");
    command
}

fn keys(args: &[&str]) -> Vec<u8> {
    let made = cli().arg("gen").args(args).assert().code(0);
    made.get_output().stdout.clone()
}

fn is_sorted(sorted: &[u8], args: &[&str]) {
    cli()
        .arg("check")
        .args(args)
        .write_stdin(sorted)
        .assert()
        .code(0);
}

#[test]
fn few_keys_are_sorted_on_the_cpu_and_no_adapter_is_needed() {
    let reason = "engine   cpu (auto: too few keys for a GPU)\nadapter  none\n";
    let input = keys(&["random", "-n", "100"]);
    for drivers in [None, Some("/nonexistent.json")] {
        let mut command = cli();
        if let Some(drivers) = drivers {
            // Hides the Vulkan drivers.
            command.env("VK_ICD_FILENAMES", drivers);
            command.env("VK_DRIVER_FILES", drivers);
        }
        let sorted = command
            .args(["sort", "--timings"])
            .write_stdin(input.clone())
            .assert()
            .code(0)
            .stderr(predicate::str::starts_with(reason));
        is_sorted(&sorted.get_output().stdout, &[]);
    }
    cli()
        .arg("sort")
        .write_stdin(input)
        .assert()
        .code(0)
        .stderr("");
}

#[test]
fn a_chosen_engine_has_no_reason() {
    cli()
        .args(["sort", "--engine", "cpu", "--timings"])
        .write_stdin("")
        .assert()
        .code(0)
        .stderr(contains("engine   cpu\n"));
}

#[test]
fn a_required_adapter_or_an_option_of_the_gpu_takes_the_gpu() {
    if !cli().arg("devices").output().unwrap().status.success() {
        return;
    }
    let input = keys(&["random", "-n", "100"]);
    for (required, args) in [
        ("1", &[][..]),
        ("0", &["--adapter", "0"]),
        ("0", &["--device", "gpu"]),
        ("0", &["--buckets", "4"]),
    ] {
        let sorted = cli()
            .args(["sort", "--timings"])
            .args(args)
            .env(REQUIRE_ADAPTER, required)
            .write_stdin(input.clone())
            .assert()
            .code(0)
            .stderr(contains("engine   bcf-pb\n").and(contains("adapter  none").not()));
        is_sorted(&sorted.get_output().stdout, &[]);
    }
}

#[test]
fn the_environment_names_the_device_where_no_option_does() {
    let has_adapter = cli().arg("devices").output().unwrap().status.success();
    for (device, args, code, message) in [
        ("cpu", &[][..], 0, "engine   cpu\n"),
        ("cpu", &["--device", "auto"], 0, "engine   cpu\n"),
        ("nonesuch", &["--device", "cpu"], 0, "engine   cpu\n"),
        ("nonesuch", &["--engine", "cpu"], 0, "engine   cpu\n"),
        (
            "",
            &["--engine", "cpu", "--device", "gpu"],
            2,
            "does not run on the device gpu",
        ),
        (
            "",
            &["--engine", "bcf", "--device", "cpu"],
            2,
            "does not run on the device cpu",
        ),
        (
            "nonesuch",
            &[],
            2,
            "no adapter matches 'nonesuch': there are 0: ",
        ),
        ("cpu", &["--engine", "bcf"], 0, "engine   bcf\n"),
        ("gpu", &[], 0, "engine   bcf-pb\n"),
        ("0", &["--device", "all"], 0, "engine   bcf-pb\n"),
    ] {
        if has_adapter || message == "engine   cpu\n" || code == 2 && device.is_empty() {
            cli()
                .args(["sort", "--timings"])
                .args(args)
                .env("WGPU_BCFSORT_DEVICE", device)
                .write_stdin([2, 0, 0, 0, 1, 0, 0, 0])
                .assert()
                .code(code)
                .stderr(contains(message));
        }
    }
}

#[test]
fn wrong_options_are_refused_before_the_input_is_read() {
    for (args, message) in [
        (&["--buckets", "0"][..], "--buckets is 0, but must be"),
        (&["--warps", "3"], "--warps is 3, but must be"),
        (&["--seed", "4"], "--seed is for --engine warpsort only"),
        (&["--tuning", "no/such/file"], "no/such/file"),
        (&["--memory", "0"], "at least 1 is needed"),
    ] {
        cli()
            .arg("sort")
            .args(args)
            // Three bytes are no key: an error too, if they are read.
            .write_stdin("abc")
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(message));
    }
}

#[test]
fn every_type_is_sorted_as_by_the_sequential_sort() {
    for key in ["u32", "i32", "f32", "u64", "i64", "f64"] {
        for direction in [&[][..], &["-r"]] {
            // Enough keys for several threads.
            let input = keys(&["special", "-n", "100003", "--type", key]);
            let sort = |args: &[&str]| {
                let sorted = cli()
                    .args(["sort", "--timings", "--verify", "--type", key])
                    .args(direction)
                    .args(args)
                    .write_stdin(input.clone())
                    .assert()
                    .code(0)
                    .stderr(contains("engine   cpu (auto: ").and(ends_with("keys/s\n")));
                sorted.get_output().stdout.clone()
            };
            let parallel = sort(&[]);
            assert_eq!(parallel.len(), input.len());
            is_sorted(&parallel, &[&["--type", key][..], direction].concat());
            // Parts below the size that is worth threads, if keys have 8 bytes.
            assert!(sort(&["--memory", "1M"]) == parallel, "{key}");
        }
    }
}

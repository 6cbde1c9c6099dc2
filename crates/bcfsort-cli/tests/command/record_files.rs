//! Sorts of records with pipes, links and full disks, and the memory that they take.

use crate::records::{Folder, large, sort};
#[cfg(target_os = "linux")]
use predicates::str::contains;
use std::fs;
use std::os::unix::fs::MetadataExt;

fn shell(script: &str, folder: &Folder) -> std::process::Output {
    std::process::Command::new("sh")
        .args(["-c", script])
        .current_dir(folder.0.path())
        .env(
            "SORT",
            format!("{} sort --engine cpu", env!("CARGO_BIN_EXE_wgpu-bcfsort")),
        )
        .output()
        .unwrap()
}

#[test]
fn named_pipes_are_inputs_and_outputs() {
    for (case, memory) in [
        (large::lines(), "1G"),
        (large::rows(), "1M"),
        (large::structs(), "1M"),
        (large::gensort(), "1M"),
    ] {
        let folder = Folder::new();
        folder.write("records", &case.input);
        let script = format!(
            "mkfifo in out && (cat records > in & cat out > sorted & \
             $SORT {} -S {memory} in -o out && wait)",
            case.args
        );
        let done = shell(&script, &folder);
        assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
        assert!(fs::read(folder.name("sorted")).unwrap() == case.expected);
        assert_eq!(folder.list(), ["in", "out", "records", "sorted"]);
    }
}

#[test]
fn a_closed_pipe_is_success() {
    let folder = Folder::new();
    folder.write("records", large::lines().input);
    for memory in ["1G", "2M"] {
        let script =
            format!("($SORT -f lines -S {memory} records; echo $? > code) | head -c 2 > start");
        assert!(shell(&script, &folder).stderr.is_empty());
        assert_eq!(fs::read_to_string(folder.name("code")).unwrap(), "0\n");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let folder = Folder::new();
    let file = folder.write("records", large::gensort().input);
    for memory in ["1G", "1M"] {
        let told = "wgpu-bcfsort: /dev/full: cannot write: No space left";
        sort("-f gensort -o /dev/full")
            .args(["-S", memory, &file])
            .assert()
            .code(2)
            .stderr(contains(told));
        let script = format!("$SORT -f gensort -S {memory} records > /dev/full");
        let done = shell(&script, &folder);
        assert_eq!(done.status.code(), Some(2));
        let told = String::from_utf8(done.stderr).unwrap();
        assert!(told.starts_with("wgpu-bcfsort: stdout: cannot write: No space left"));
    }
}

#[test]
fn a_hard_link_keeps_the_old_records() {
    let folder = Folder::new();
    let file = folder.write("records", "b\na\n");
    fs::hard_link(&file, folder.name("link")).unwrap();
    sort("-f lines").args([&file, "-o", &file]).assert().code(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), "a\nb\n");
    assert_eq!(fs::read_to_string(folder.name("link")).unwrap(), "b\na\n");
    assert_eq!(fs::metadata(&file).unwrap().nlink(), 1);
}

#[cfg(target_os = "linux")]
mod memory {
    use super::*;
    use crate::records::Random;
    use std::io::Read;
    use std::process::{Command, Stdio};

    const MIB: u64 = 1 << 20;

    /// Bytes that a pipe holds at most here, and more.
    const REST: u64 = 2 * MIB;

    /// Sorts a file in 20 MB, and returns the most memory that the command took.
    fn peak(args: &str, file: &str) -> u64 {
        let bytes = fs::metadata(file).unwrap().len();
        let folder = Folder::new();
        let mut child = Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"))
            .args([
                "sort",
                "--engine",
                "cpu",
                "--memory",
                "20M",
                "-T",
                &folder.name(""),
            ])
            .args(args.split_whitespace())
            .arg(file)
            // Each thread has small buffers of its own.
            .env("RAYON_NUM_THREADS", "8")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // While the end of its output is not read, the command waits and can be examined.
        let mut stdout = child.stdout.take().unwrap();
        let mut first = (&mut stdout).take(bytes - REST);
        let read = std::io::copy(&mut first, &mut std::io::sink()).unwrap();
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let read = read + std::io::copy(&mut stdout, &mut std::io::sink()).unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(read, bytes);
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.unwrap().trim().trim_end_matches(" kB");
        kib.parse::<u64>().unwrap() * 1024
    }

    #[test]
    fn no_more_is_taken_than_allowed() {
        let folder = Folder::new();
        let mut random = Random(6);
        let block = random.bytes(60 << 10);
        // Other numbers in each block, from the same bytes.
        let numbers: Vec<u8> = (0..=u8::MAX)
            .cycle()
            .take(1000)
            .flat_map(|mask| block.iter().map(move |byte| byte ^ mask))
            .collect();
        let numbers = folder.write("numbers", numbers);
        let mut lines = Vec::with_capacity(61_000_000);
        while lines.len() < 60_000_000 {
            let start = random.below(block.len() - 100);
            let line = &block[start..start + random.below(100)];
            lines.extend(line.iter().map(|byte| byte % 64 + b' '));
            lines.push(b'\n');
        }
        let lines = folder.write("lines", lines);
        for (args, file) in [("--type u32", &numbers), ("-f lines", &lines)] {
            let peak = peak(args, file);
            assert!(peak <= 20_000_000 + 64 * MIB, "{args}: {} MiB", peak / MIB);
        }
    }
}

//! Output files of sorts of numbers: links, modes, devices, pipes, full disks, and interrupts.

use crate::cli::{Folder, bytes, cli, words};
use std::fs;

const SORT: [&str; 3] = ["sort", "--engine", "cpu"];

fn sort(args: &[&str]) -> assert_cmd::assert::Assert {
    cli().args(SORT).args(args).assert()
}

#[test]
fn a_file_can_be_sorted_onto_itself() {
    let folder = Folder::new();
    let file = folder.write("keys", bytes(&[3, 1, 2]));
    sort(&[&file, "-o", &file]).code(0);
    assert_eq!(words(&folder.path("keys")), [1, 2, 3]);
    assert_eq!(folder.list(), ["keys"]);
}

#[test]
fn a_failure_leaves_the_old_file() {
    let folder = Folder::new();
    let file = folder.write("keys", [0; 7]);
    let old = folder.write("old", "precious");
    sort(&[&file, "-o", &old]).code(2);
    sort(&[&file, "-o", &folder.name("new")]).code(2);
    assert_eq!(fs::read_to_string(folder.path("old")).unwrap(), "precious");
    assert_eq!(folder.list(), ["keys", "old"]);
}

#[test]
fn output_in_the_working_directory() {
    let folder = Folder::new();
    cli()
        .current_dir(folder.0.path())
        .args(["gen", "constant", "-n", "1", "-o", "here"])
        .assert()
        .code(0);
    assert_eq!(folder.list(), ["here"]);
}

#[cfg(unix)]
mod unix {
    use super::*;
    use crate::cli::one_line;
    use assert_cmd::Command;
    use predicates::prelude::*;
    use predicates::str::{contains, starts_with};
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;
    use std::process::Stdio;
    use std::time::Duration;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn shell(script: &str, folder: &Folder) -> std::process::Output {
        std::process::Command::new("sh")
            .args(["-c", script])
            .current_dir(folder.0.path())
            .env("CLI", env!("CARGO_BIN_EXE_wgpu-bcfsort"))
            .output()
            .unwrap()
    }

    #[test]
    fn the_mode_of_the_target_is_kept() {
        let folder = Folder::new();
        let file = folder.write("keys", bytes(&[3, 1, 2]));
        for bits in [0o640, 0o600, 0o777] {
            fs::set_permissions(&file, fs::Permissions::from_mode(bits)).unwrap();
            sort(&[&file, "-o", &file]).code(0);
            assert_eq!(mode(&folder.path("keys")), bits);
        }
        let script = "umask 027; \"$CLI\" sort --engine cpu keys -o new";
        assert!(shell(script, &folder).status.success());
        assert_eq!(mode(&folder.path("new")), 0o640);
    }

    #[test]
    fn symbolic_links_are_followed() {
        let folder = Folder::new();
        fs::create_dir(folder.path("far")).unwrap();
        let file = folder.write("keys", bytes(&[3, 1, 2]));
        folder.write("far/target", "old");
        symlink("far/target", folder.path("link")).unwrap();
        symlink("link", folder.path("chain")).unwrap();
        sort(&[&file, "-o", &folder.name("chain")]).code(0);
        assert_eq!(words(&folder.path("far/target")), [1, 2, 3]);
        assert!(folder.path("link").is_symlink() && folder.path("chain").is_symlink());
        // One that points to nothing yet.
        symlink("far/new", folder.path("dangling")).unwrap();
        sort(&[&file, "-o", &folder.name("dangling")]).code(0);
        assert_eq!(words(&folder.path("far/new")), [1, 2, 3]);
        assert!(folder.path("dangling").is_symlink());
        symlink("loop", folder.path("loop")).unwrap();
        sort(&[&file, "-o", &folder.name("loop")])
            .code(2)
            .stderr(one_line());
    }

    #[test]
    fn a_full_disk_is_reported() {
        if !Path::new("/dev/full").exists() {
            return;
        }
        let folder = Folder::new();
        let file = folder.write("keys", bytes(&[3, 1, 2]));
        sort(&[&file, "-o", "/dev/full"])
            .code(2)
            .stderr(one_line().and(contains("/dev/full: cannot write: No space left")));
        sort(&["-f", "text", "-o", "/dev/full"]).code(0);
        for command in [
            "sort --engine cpu keys",
            "gen random -n 9 -f text",
            "devices --help",
        ] {
            let output = shell(&format!("\"$CLI\" {command} > /dev/full"), &folder);
            if !command.ends_with("help") {
                assert_eq!(output.status.code(), Some(2), "{command}");
            }
        }
        assert!(Path::new("/dev/full").exists());
    }

    #[test]
    fn devices_and_descriptors_are_written_directly() {
        let folder = Folder::new();
        let file = folder.write("keys", bytes(&[3, 1, 2]));
        sort(&[&file, "-o", "/dev/stdout"])
            .code(0)
            .stdout(bytes(&[1, 2, 3]));
        sort(&[&file, "-o", "/dev/null"]).code(0).stdout("");
        let script =
            "(echo first; \"$CLI\" gen ascending -n 2 -f text -o /dev/stdout; echo last) > all";
        assert!(shell(script, &folder).status.success());
        assert_eq!(
            fs::read_to_string(folder.path("all")).unwrap(),
            "first\n1\n2\nlast\n"
        );
        let script =
            "mkfifo pipe; cat pipe > got & \"$CLI\" sort --engine cpu keys -o pipe && wait";
        assert!(shell(script, &folder).status.success());
        assert_eq!(words(&folder.path("got")), [1, 2, 3]);
        let script = "\"$CLI\" gen constant -n 1 -f text -o /dev/fd/3 3> third";
        assert!(shell(script, &folder).status.success());
        assert_eq!(fs::read_to_string(folder.path("third")).unwrap(), "7\n");
    }

    #[test]
    fn a_closed_pipe_does_not_change_what_check_finds() {
        let folder = Folder::new();
        let keys = folder.write("keys", bytes(&[2, 1]));
        let script = "(sleep 0.2; \"$CLI\" check \"$KEYS\"; echo $? > code) | true; \
                      while [ ! -s code ]; do sleep 0.05; done";
        Command::new("sh")
            .args(["-c", script])
            .env("CLI", env!("CARGO_BIN_EXE_wgpu-bcfsort"))
            .env("KEYS", keys)
            .current_dir(folder.0.path())
            .assert()
            .success();
        assert_eq!(fs::read_to_string(folder.path("code")).unwrap().trim(), "1");
    }

    #[test]
    fn a_closed_pipe_is_success() {
        let folder = Folder::new();
        for command in [
            "gen ascending -n 1M -f text",
            "gen ascending -n 1M",
            "gen random -n 1M | \"$CLI\" sort --engine cpu",
            "gen random -n 1M | \"$CLI\" sort --engine cpu --memory 2M",
        ] {
            let script = format!("(\"$CLI\" {command}; echo $? > code) | head -c 2 > /dev/null");
            let output = shell(&script, &folder);
            assert_eq!(
                fs::read_to_string(folder.path("code")).unwrap(),
                "0\n",
                "{command}"
            );
            assert!(output.stderr.is_empty(), "{command}");
        }
    }

    #[test]
    fn protected_files_stay() {
        let folder = Folder::new();
        let file = folder.write("keys", bytes(&[3, 1, 2]));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
        if File::options().write(true).open(&file).is_ok() {
            return; // The superuser may write anywhere.
        }
        sort(&[&file, "-o", &file])
            .code(2)
            .stderr(one_line().and(contains("Permission denied")));
        assert_eq!(words(&folder.path("keys")), [3, 1, 2]);
    }

    #[test]
    fn an_unwritable_directory_is_named_without_the_temporary_file() {
        let folder = Folder::new();
        let own = folder.0.path();
        fs::set_permissions(own, fs::Permissions::from_mode(0o500)).unwrap();
        // The superuser may write there, but not to Linux's /sys.
        for directory in [own, Path::new("/sys")] {
            let file = directory.join("sorted");
            if !directory.exists() || File::create_new(&file).is_ok() {
                continue;
            }
            let file = file.to_str().unwrap();
            let message = contains("so the directory must be writable")
                .and(contains(".tmp").not())
                .and(starts_with(format!(
                    "wgpu-bcfsort: {file}: cannot make a file in "
                )));
            cli()
                .args(["gen", "constant", "-n", "1", "-o", file])
                .assert()
                .code(2)
                .stderr(one_line().and(message));
        }
    }

    /// True if the child ignores the signal, as far as Linux tells.
    fn is_ignored(child: &std::process::Child, signal: i32) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id()));
        let ignored = status.ok().and_then(|status| {
            let mask = status
                .lines()
                .find_map(|line| line.strip_prefix("SigIgn:"))?;
            u64::from_str_radix(mask.trim(), 16).ok()
        });
        ignored.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
    }

    #[test]
    fn signals_that_were_ignored_stay_ignored() {
        for ignored in ["HUP", "INT", "TERM"] {
            let folder = Folder::new();
            let script = format!(
                "trap '' {ignored}; mkfifo pipe
                 \"$CLI\" sort --engine cpu --memory 1M -f lines -o out < pipe & exec 3> pipe
                 sleep 0.5; kill -s {ignored} $!; sleep 0.2
                 printf 'b\\na\\n' >&3; exec 3>&-; wait $!"
            );
            let output = shell(&script, &folder);
            assert_eq!(output.status.code(), Some(0), "{ignored}: {output:?}");
            assert_eq!(fs::read_to_string(folder.path("out")).unwrap(), "a\nb\n");
        }
    }

    #[test]
    fn an_interrupt_leaves_no_temporary() {
        for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
            let code = 128 + number;
            let folder = Folder::new();
            folder.write("old", "precious");
            let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"))
                .args(SORT)
                .args(["--memory", "1M", "-o", &folder.name("old")])
                .stdin(Stdio::piped())
                .spawn()
                .unwrap();
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(&bytes(&vec![5; 300_000])).unwrap();
            while folder.list().len() < 2 {
                assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
                std::thread::sleep(Duration::from_millis(5));
            }
            // The shell's own kill: a program of that name is not on every system.
            let kill = std::process::Command::new("sh")
                .args(["-c", &format!("kill -s {signal} {}", child.id())])
                .status();
            assert!(kill.unwrap().success());
            if is_ignored(&child, number) {
                // As the tests themselves do, below nohup: it goes on.
                drop(stdin);
                assert_eq!(child.wait().unwrap().code(), Some(0), "{signal}");
                continue;
            }
            assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
            assert_eq!(folder.list(), ["old"]);
            assert_eq!(fs::read_to_string(folder.path("old")).unwrap(), "precious");
        }
    }

    #[test]
    fn a_file_that_shrinks_while_it_is_read_gives_no_crash() {
        let folder = Folder::new();
        let file = folder.write("keys", vec![1; 64 << 20]);
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"))
            .args(SORT)
            .args(["--memory", "5M", &file])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_len(4001)
            .unwrap();
        let mut sorted = Vec::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_end(&mut sorted)
            .unwrap();
        let code = child.wait().unwrap().code();
        assert!(matches!(code, Some(0 | 2)), "{code:?}");
    }
}

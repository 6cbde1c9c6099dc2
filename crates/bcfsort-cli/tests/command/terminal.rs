//! What messages print to a terminal.

use assert_cmd::Command;
use std::fs;

fn cli() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"));
    command.env("WGPU_BCFSORT_CACHE_DIR", "");
    command
}

/// Runs the command, checks that it prints no control character, and returns what it printed.
#[track_caller]
fn told(command: &mut Command, code: i32) -> String {
    let output = command.assert().code(code).get_output().clone();
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8(printed).expect("text");
    let hidden = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202e}' | '\u{ad}');
    assert!(!printed.contains(hidden), "{printed:?}");
    printed
}

/// Escape, bell, a control character of 8 bits, and text from right to left.
const EVIL: &str = "\u{1b}]0;x\u{7}\u{1b}[31m\u{9b}31m\u{202e}\u{ad}";
const ESCAPED: &str = "\\u{1b}]0;x\\u{7}\\u{1b}[31m\\u{9b}31m\\u{202e}\\u{ad}";

#[test]
fn contents_of_files_are_escaped() {
    let header = format!("a,{EVIL}\n1,2\n");
    let npy = {
        let dict = format!(
            "{{'descr': [('a', '<u4'), ('{EVIL}', '<u4')], 'fortran_order': False, 'shape': (0,), }}"
        );
        let length = (dict.len() as u32).to_le_bytes();
        [&b"\x93NUMPY\x03\x00"[..], &length, dict.as_bytes()].concat()
    };
    let tabs = header.replace(',', "\t");
    let cases = [
        ("-f csv --by c", header.as_bytes(), "the header has 'a', '"),
        ("-f tsv --by c", tabs.as_bytes(), "the header has 'a', '"),
        ("-f npy --by c", &npy, "the array has 'a', '"),
        (
            "-f csv --no-header --by 2:num",
            header.as_bytes(),
            "column '2': '",
        ),
        (
            "-f text",
            format!("{EVIL}\n").leak().as_bytes(),
            "line 1: '",
        ),
    ];
    for (args, input, before) in cases {
        let mut command = cli();
        command.arg("sort").args(args.split(' ')).write_stdin(input);
        let told = told(&mut command, 2);
        assert!(told.contains(&format!("{before}{ESCAPED}")), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
}

#[test]
fn values_of_options_are_escaped() {
    let missing = format!("/no/{EVIL}\nfile");
    let cases = [
        vec!["sort", "-f", "csv", "--by", EVIL],
        vec!["sort", "-f", EVIL],
        vec!["sort", "--memory", EVIL],
        vec!["sort", EVIL, EVIL],
        vec!["sort", &missing],
        vec!["sort", "-o", &missing],
        vec!["check", &missing],
        vec!["argsort", &missing],
        vec![EVIL],
        vec!["audit", "--pattern", EVIL],
        vec!["gen", EVIL, "-n", "1"],
        vec!["gen", "random", "-n", EVIL],
        vec!["gen", "random", "-n", "1", "--range", EVIL],
        vec!["bench", "--engines", EVIL],
        vec!["devices", EVIL],
    ];
    for args in cases {
        let mut command = cli();
        command.args(&args).write_stdin("a\n");
        let told = told(&mut command, 2);
        assert!(told.contains(ESCAPED), "{args:?}: {told}");
    }
}

#[cfg(unix)]
#[test]
fn names_of_files_are_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("{EVIL}\n"));
    fs::write(&file, "2\n1\n").unwrap();
    let told = told(cli().args(["check", "-f", "text"]).arg(&file), 1);
    assert!(told.contains(ESCAPED), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[cfg(unix)]
#[test]
fn names_need_not_be_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let name = OsStr::from_bytes(b"caf\xe9.bin");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), [2, 0, 0, 0, 1, 0, 0, 0]).unwrap();
    let run = |args: &[&OsStr], code| {
        let mut command = cli();
        command.current_dir(folder.path()).args(args);
        told(&mut command, code)
    };
    run(&[name], 2);
    run(&[OsStr::new("sort"), name, OsStr::new("--wrong")], 2);
    run(&[OsStr::new("check"), name, OsStr::new("--type"), name], 2);
    let not_sorted = run(&[OsStr::new("check"), name], 1);
    assert!(
        not_sorted.contains("not sorted: index 1: 1 after 2"),
        "{not_sorted}"
    );
    let mut sort = cli();
    sort.current_dir(folder.path());
    sort.arg("sort").arg(name).arg("-o").arg(name).arg("-q");
    sort.assert().code(0);
    run(&[OsStr::new("check"), name], 0);
}

#[test]
fn newlines_in_values_are_escaped() {
    let told_of = |args: &[&str]| told(cli().args(args), 2);
    for (args, quoted) in [
        (&["sort", "-S", "1\n"][..], "'1\\n'"),
        (&["sort", "--sort", "x\n"], "'x\\n'"),
        (&["sort", "--tuning", "x\n"], "'x\\n'"),
        (&["--foo\n"], "'--foo\\n'"),
        (&["so\nrt"], "'so\\nrt'"),
        (&["gen", "random", "-n", "1\n\n2"], "'1\\n\\n2'"),
        (&["devices", "a\n\nb"], "'a\\n\\nb'"),
    ] {
        let told = told_of(args);
        assert!(told.contains(quoted), "{args:?}: {told}");
        let first = told.lines().next().unwrap();
        assert!(first.contains(quoted), "{args:?}: {told}");
    }
}

#[cfg(unix)]
#[test]
fn separators_and_quotes_are_any_bytes_and_other_values_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let byte = OsStr::from_bytes(b"\xff");
    let of = |options: &[&OsStr]| {
        let mut command = cli();
        command.args(["sort", "--engine", "cpu", "-f", "csv", "--no-header"]);
        command.args(options);
        command
    };
    let by = [OsStr::new("--by"), OsStr::new("2")];
    for option in ["-t", "--field-separator", "--separator", "--delimiter"] {
        let mut sort = of(&[by[0], by[1], OsStr::new(option), byte]);
        let sorted = sort.write_stdin(&b"a\xff2\nb\xff1\n"[..]).assert().code(0);
        assert_eq!(sorted.get_output().stdout, b"b\xff1\na\xff2\n");
    }
    let mut sort = of(&[by[0], by[1], OsStr::new("--quote"), byte]);
    let sorted = sort
        .write_stdin(&b"\xff,\xff,2\nb,1\n"[..])
        .assert()
        .code(0);
    assert_eq!(sorted.get_output().stdout, b"b,1\n\xff,\xff,2\n");
    let two = OsStr::from_bytes(b"\xff\xfe");
    for (options, text) in [
        (&[by[0], byte][..], "an argument is not UTF-8"),
        (
            &[by[0], by[1], OsStr::new("--quote"), two],
            "is no quote: give one byte",
        ),
        (
            &[by[0], by[1], OsStr::new("-t"), two],
            "a separator is one byte",
        ),
        (
            &[by[0], by[1], OsStr::new("-t"), OsStr::new("\n")],
            "a newline cannot separate fields",
        ),
        (
            &[by[0], by[1], OsStr::new("-t"), OsStr::new("\r")],
            "--field-separator '\\r' is a line end",
        ),
    ] {
        let told = told(of(options).write_stdin(""), 2);
        let first = told.lines().next().unwrap();
        assert!(first.contains(text), "{told}");
    }
}

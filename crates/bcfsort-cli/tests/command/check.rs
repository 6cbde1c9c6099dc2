//! `check` of records, `sort -c`, and `sort -u`.

use assert_cmd::Command;

/// Runs the command on this input. Returns the exit code, stdout and stderr.
#[track_caller]
fn run(args: &str, input: &str) -> (i32, String, String) {
    let output = Command::cargo_bin("wgpu-bcfsort")
        .expect("the command")
        .args(args.split(' '))
        .write_stdin(input)
        .output()
        .expect("an output");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let code = output.status.code().expect("an exit code");
    (code, text(output.stdout), text(output.stderr))
}

#[track_caller]
fn check(args: &str, input: &str, code: i32, stdout: &str) {
    let expected = (code, stdout.to_owned(), String::new());
    assert_eq!(run(&format!("check {args}"), input), expected, "{args}");
    let silent = (code, String::new(), String::new());
    assert_eq!(run(&format!("check {args} -q"), input), silent, "{args}");
    assert_eq!(run(&format!("sort {args} -C"), input), silent, "{args}");
    let (of_sort, stdout, stderr) = run(&format!("sort {args} -c"), input);
    assert_eq!((of_sort, stdout.is_empty()), (code, true), "{args}");
    assert_eq!(
        stderr.contains(": disorder:"),
        code == 1,
        "{args}: {stderr}"
    );
}

#[test]
fn records_of_every_format_are_checked() {
    let lines = "stdin: not sorted: line 3: a after b\n";
    check("-f lines", "a\nb\na\n", 1, lines);
    check("-f lines", "a\nb\nb", 0, "");
    check("-f lines -r", "b\na\na\n", 0, "");
    check(
        "-f lines -u",
        "a\na\n",
        1,
        "stdin: not sorted: line 2: a after a\n",
    );
    check("-f lines -n", "9\n10\n", 0, "");
    check("-f lines -k2V -t,", "b,a9\na,a10\n", 0, "");
    check(
        "-f lines -z",
        "b\0a\0",
        1,
        "stdin: not sorted: line 2: a after b\n",
    );
    let rows = "n,m\n2,\"x\ny\"\n10,x\n9,z\n";
    let text = "stdin: not sorted: line 5: 9,z after 10,x\n";
    check("-f csv --by n:num", rows, 1, text);
    check(
        "-f csv --by m",
        rows,
        1,
        "stdin: not sorted: line 4: 10,x after 2,\"x\\ny\"\n",
    );
    check("-f tsv --by 1 --no-header", "a\tb\nb\ta\n", 0, "");
    check("-f fixed --record 2 --key 0:u8", "a1b1b2", 0, "");
    let index = "stdin: not sorted: index 2\n";
    check("-f fixed --record 2 --key 0:u8", "a1b1a2", 1, index);
    check(
        "-f text",
        "1\n3\n2\n",
        1,
        "stdin: not sorted: line 3: 2 after 3\n",
    );
}

/// In parts that are merged, and written in many blocks.
#[test]
fn equal_keys_are_found_across_parts() {
    let lines = |numbers: &mut dyn Iterator<Item = u64>| {
        let texts: Vec<String> = numbers.map(|n| format!("{n:06}\n")).collect();
        texts.concat()
    };
    let input = lines(&mut (0..120_000).map(|n| n * 7919 % 5000));
    let (code, stdout, stderr) = run("sort -f lines -n -u -S 2M", &input);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout == lines(&mut (0..5000)));
    let sorted = lines(&mut (0..120_000));
    check("-f lines", &sorted, 0, "");
}

#[test]
fn the_message_of_sort_ends_as_that_of_gnu_sort() {
    let message = |input: &str| run("sort -f lines -c", input).2;
    assert_eq!(message("a\n\n"), "wgpu-bcfsort: -:2: disorder: \n");
    assert_eq!(message("b\na \n"), "wgpu-bcfsort: -:2: disorder: a \n");
    // Unlike there, a terminal obeys none of it.
    assert_eq!(
        message("b\na\t\u{1b}\n"),
        "wgpu-bcfsort: -:2: disorder: a\\t\\u{1b}\n"
    );
}

//! The keys and orders of GNU sort.

use super::{RecordKind, fails, sorts};

/// Checks that these words, each on a line, are in order and in pairs of equal ones if they share a
/// line of `ordered`.
#[track_caller]
fn in_order(line: &str, ordered: &[&[&str]]) {
    let words = |groups: &mut dyn Iterator<Item = &&[&str]>| {
        let words: Vec<&str> = groups.flat_map(|group| group.iter().copied()).collect();
        words.join("\n") + "\n"
    };
    let backward = words(&mut ordered.iter().rev());
    let forward = words(&mut ordered.iter());
    sorts(RecordKind::Lines, line, &backward, &forward);
    let reverse = super::sorted(RecordKind::Lines, line, true, forward.as_bytes());
    assert_eq!(reverse.expect(line), backward.as_bytes(), "{line} -r");
}

#[test]
fn general_numbers_are_in_the_order_of_80_bit_floats() {
    in_order(
        "-g",
        &[
            &["", "x", "+", "-", ".", "e5", "- 1"],
            &["nan", "NaN(1)", "+nan"],
            &["-nan"],
            &["-inf", "-INFINITY", "-1e5000", "-1e99999999999999999999"],
            &["-1e4932"],
            &["-1"],
            &["-2e-4951"],
            &[
                "0",
                "-0",
                "0x",
                "0e9",
                "1e-4952",
                "1e-99999999999999999999",
                "0x0p9",
            ],
            &["2e-4951", "0x1p-16445"],
            &["1e-4950"],
            &["0.1", "1e-1", "0x1.999999999999999ap-4"],
            &[
                "1", "0x1", "0X.8P1", "\t\u{b}1", "+1", "1e", "1e+", "1.e0", "0.0001e4",
            ],
            &["0x1.0000000000000002p0"],
            &["18446744073709551616", "18446744073709551617", "0x1p64"],
            &["18446744073709551618", "0x1.0000000000000002p64"],
            &["1.18e4932"],
            &["1.1897314953572317650e4932"],
            &["inf", "1.19e4932", "Infinity", "infx", "0x1p16384"],
        ],
    );
}

#[test]
fn numbers_with_units_are_by_unit_first() {
    in_order(
        "--human-numeric-sort",
        &[
            &["-1G"],
            &["-2K"],
            &["-1k"],
            &["-3"],
            &["0K", "", "x", "-0M", "K"],
            &["5", "5x", " 5"],
            &["1023"],
            &[".5K"],
            &["1K", "1k", "1.K"],
            &["1024K"],
            &["1M"],
            &["1G"],
            &["1T"],
            &["1P"],
            &["1E"],
            &["1Z"],
            &["1Y"],
            &["1R"],
            &["1Q"],
        ],
    );
}

#[test]
fn versions_are_without_suffixes_first() {
    in_order(
        "-V",
        &[
            &[""],
            &["."],
            &[".."],
            &[".a"],
            &[".b"],
            &["0", "00"],
            &["1", "01"],
            &["2"],
            &["10"],
            &["a~"],
            &["a", "a0"],
            &["a.b"],
            &["a-1.9.tar.gz"],
            &["a-1.10.tar.gz", "a-1.010.tar.gz"],
            &["a-1.10b.tar.gz"],
            &["é"],
        ],
    );
}

#[test]
fn natural_order_has_digits_as_whole_numbers() {
    in_order(
        "--natural-sort",
        &[
            &[""],
            &["\0"],
            &["\0a"],
            &["-1"],
            &["1"],
            &["1a"],
            &["02", "2"],
            &["10"],
            &["a"],
            &["a-"],
            &["a9", "a0009"],
            &["a10"],
            &["a10.5"],
            &["a10.10"],
            &["aa"],
            &["é"],
        ],
    );
    let long = |digits: usize| "7".repeat(digits);
    let (a, b, c) = (long(254), long(255), long(256));
    in_order("--natural-sort", &[&[&a], &[&b], &[&c]]);
    in_order("-V", &[&[&a], &[&b], &[&c]]);
}

#[test]
fn months_are_known_by_three_letters() {
    in_order(
        "-M",
        &[
            &["", "ja", "month", "J AN"],
            &["JAN", " january", "\tjan"],
            &["Feb"],
            &["mAR"],
            &["apr"],
            &["may"],
            &["jun"],
            &["jul"],
            &["aug"],
            &["sep"],
            &["oct"],
            &["nov"],
            &["dec"],
        ],
    );
}

#[test]
fn characters_that_do_not_count_are_ignored() {
    in_order(
        "--ignore-case",
        &[&["A", "a"], &["aa", "Aa"], &["B"], &["["], &["~"]],
    );
    in_order(
        "-d",
        &[&["", "-", "\u{1}"], &[" x"], &["(b)a", "ba"], &["b-b"]],
    );
    in_order(
        "-i",
        &[
            &["", "\u{1}", "\t"],
            &["a\tb", "ab"],
            &["b\u{7f}", "b", "\0b"],
        ],
    );
    in_order("-d -i", &[&["-", "", "\u{1}"], &["a"]]);
    in_order("-b", &[&["", "  "], &["\t a", "a"], &["b"]]);
    in_order("-k1,1 -d --ignore-case", &[&["A.", "a"], &["b"]]);
    sorts(RecordKind::Lines, "-k1fd,1", "b\n.a\nA\n", ".a\nA\nb\n");
    // Before a number or a version is read.
    in_order(
        "--human-numeric-sort --ignore-case",
        &[&["9k"], &["1m", "1M"]],
    );
    in_order("-V -d", &[&["a.9", "a9"], &["a-10"]]);
}

#[test]
fn lines_may_end_with_a_zero() {
    let lines = RecordKind::Lines;
    sorts(lines, "-z", "b\n\0a\0", "a\0b\n\0");
    sorts(lines, "-z", "b\0a", "a\0b\0");
    sorts(lines, "-z -k2", "x\nb\0y\na\0", "y\na\0x\nb\0");
}

#[test]
fn keys_without_options_have_those_of_the_command() {
    let lines = RecordKind::Lines;
    sorts(lines, "-k2 -n", "x 10\nx 9\n", "x 9\nx 10\n");
    sorts(lines, "-k2b -n", "x 9\nx 10\n", "x 10\nx 9\n");
    sorts(lines, "-k2 -V", "x a10\nx a9\n", "x a9\nx a10\n");
    sorts(lines, "--sort=version", "a10\na9\n", "a9\na10\n");
    sorts(lines, "-k2,2N", "x a10\nx a9\n", "x a9\nx a10\n");
}

#[test]
fn any_number_is_a_field_or_a_byte() {
    let lines = RecordKind::Lines;
    for key in [
        "1000000000000",
        "18446744073709551616",
        "1.18446744073709551616",
        "18446744073709551616.18446744073709551616,18446744073709551616",
    ] {
        for separator in ["", " -t:"] {
            // All keys are empty.
            sorts(
                lines,
                &format!("-k{key}{separator}"),
                "2 b\n1 a\n",
                "2 b\n1 a\n",
            );
        }
    }
    for end in [
        "18446744073709551616",
        "1.18446744073709551616",
        "18446744073709551615.1",
    ] {
        sorts(lines, &format!("-k1,{end}"), "2 b\n1 a\n", "1 a\n2 b\n");
    }
}

#[test]
fn wrong_keys_are_errors() {
    let lines = RecordKind::Lines;
    for (line, message) in [
        ("-k1gn", "-k 1gn: the options n and g exclude each other"),
        ("-n -M", "the options n and M exclude each other"),
        ("-k1 -n -M", "-k 1: the options n and M exclude each other"),
        ("-n -d", "the options n and d exclude each other"),
        ("-i -g", "the options g and i exclude each other"),
        (
            "-V --natural-sort",
            "the options V and N exclude each other",
        ),
        (
            "-k1x",
            "-k 1x: there is no option 'x': b, d, f, g, h, i, M, n, N, r, V there are",
        ),
        (
            "-kx",
            "-k x: 'x' is not a number: F[.C][OPTIONS][,F[.C][OPTIONS]]",
        ),
        ("-k0", "-k 0: fields are counted from 1"),
        ("-k1.0", "-k 1.0: bytes are counted from 1"),
        ("-k1,0", "-k 1,0: fields are counted from 1"),
        (
            "-k1.,2",
            "-k 1.,2: '' is not a number: F[.C][OPTIONS][,F[.C][OPTIONS]]",
        ),
        (
            "-k1n2",
            "-k 1n2: '2' is out of place: F[.C][OPTIONS][,F[.C][OPTIONS]]",
        ),
    ] {
        fails(lines, line, "a\n", message);
    }
}

#[cfg(target_os = "linux")]
mod gnu {
    use super::super::{Random, RecordKind, sorted};
    use std::io::Write;
    use std::process::{Command, Stdio};

    const CASES: u64 = 300;

    /// What GNU sort makes of the input; `None` if the options are wrong.
    fn sort(options: &[String], input: &[u8]) -> Option<Vec<u8>> {
        let mut process = Command::new("sort")
            .env("LC_ALL", "C")
            .arg("-s")
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("GNU sort");
        let mut stdin = process.stdin.take().expect("its input");
        // With wrong options, nobody reads it.
        let _ = stdin.write_all(input);
        drop(stdin);
        let output = process.wait_with_output().expect("its output");
        output.status.success().then_some(output.stdout)
    }

    /// True if this GNU sort takes all of `.A` as a suffix, as the versions before and behind 9.1
    /// do not.
    fn hides_differently() -> bool {
        let ordered = b".0\n.A\n";
        sort(&["-V".to_owned()], ordered).as_deref() != Some(ordered)
    }

    fn letters(random: &mut Random) -> String {
        match random.below(3) {
            0 => String::new(),
            1 => random.text(1, &["b", "d", "f", "g", "h", "i", "M", "n", "r", "V"]),
            _ => random
                .pick(&[
                    "fr", "bn", "gr", "hb", "fV", "dfb", "Vr", "Mr", "di", "ir", "gf",
                ])
                .to_owned(),
        }
    }

    fn position(random: &mut Random, least: u64) -> String {
        let field = random.below(4) + 1;
        match random.below(3) {
            0 => format!("{field}.{}", random.below(5) + least),
            _ => field.to_string(),
        }
    }

    fn key(random: &mut Random) -> String {
        let mut key = position(random, 1) + &letters(random);
        if random.below(2) == 0 {
            key += &format!(",{}{}", position(random, 0), letters(random));
        }
        key
    }

    #[test]
    fn random_keys_and_orders_are_those_of_gnu_sort() {
        // No NaN: GNU sort compares them by the bits of memory that no number has set.
        let pieces: &[&[&str]] = &[
            &[
                "a", "B", "b", "A", "~", ".", "0", "1", "10", "-", "_", "z", ".c", ".d9", "é",
            ],
            &[
                "1", "0", "9", ".", "-", "e", "e3", "E-2", "0x", "p1", "inf", "+", "x", " ",
            ],
            &[
                "12345678901234567890",
                "9007199254740993",
                "e4932",
                "e-4950",
                "5",
                ".",
                "00",
                "-",
            ],
            &[
                "1", "K", "k", "M", "G", "T", "P", "E", "Z", "Y", "0", ".", "-", "5", "m",
            ],
            &["jan", "FEB", "Mar", "apr", "x", " ", "DECember", "ja", "1"],
            &["\0", "\u{1}", "\t", " ", "a", "A", "-", "é", "1", "2"],
            &[
                "..", ".", "a", "1", "~", ".tar", ".gz", ".7z", "-", "01", "\u{b}",
            ],
        ];
        let blanks = [" ", "  ", "\t", ",", " ,", "", " "];
        let no_points = hides_differently();
        let mut random = Random(4);
        let mut wrong = 0;
        for case in 0..CASES {
            let mut options = Vec::new();
            for _ in 0..random.below(4) {
                options.push(format!("-k{}", key(&mut random)));
            }
            let of_all = letters(&mut random);
            let ends_with_zero = random.below(6) == 0;
            if ends_with_zero {
                options.push("-z".to_owned());
            }
            let mut ours = options.clone();
            for letter in of_all.chars() {
                options.push(format!("-{letter}"));
                match letter {
                    'f' => ours.push("--ignore-case".to_owned()),
                    'h' => ours.push("--human-numeric-sort".to_owned()),
                    'r' => {}
                    other => ours.push(format!("-{other}")),
                }
            }
            let end = if ends_with_zero { "\0" } else { "\n" };
            let mut input = String::new();
            for _ in 0..random.below(60) {
                let pieces = pieces[random.below(pieces.len() as u64) as usize];
                for _ in 0..random.below(4) {
                    let field = random.text(4, pieces);
                    input += &field;
                    input += random.pick(&blanks);
                }
                input += match random.below(9) {
                    0 if ends_with_zero => "\n",
                    _ => "",
                };
                input += end;
            }
            if no_points && options.iter().any(|option| option.contains('V')) {
                input = input.replace('.', "_");
            }
            let separator = match random.below(3) {
                0 => " -t,",
                _ => "",
            };
            options.extend(separator.split_whitespace().map(str::to_owned));
            let result = sorted(
                RecordKind::Lines,
                &(ours.join(" ") + separator),
                of_all.contains('r'),
                input.as_bytes(),
            );
            let result = result.ok();
            let expected = sort(&options, input.as_bytes());
            wrong += u64::from(expected.is_none());
            let text = |bytes: Option<Vec<u8>>| {
                bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            };
            let (result, expected) = (text(result), text(expected));
            assert_eq!(result, expected, "case {case}: {options:?} of {input:?}");
        }
        assert!(wrong < CASES / 3, "{wrong} cases had wrong options");
    }

    #[test]
    fn random_versions_are_in_the_order_of_gnu_sort() {
        let pieces = [
            "a", "Z", "~", ".", "..", "0", "00", "1", "10", "9", "-", "_", ".tar", ".gz", ".7z",
            ".~1~", ".b2", "é", " ", "\0", "+",
        ];
        let mut random = Random(5);
        for _ in 0..CASES / 10 {
            let mut input = String::new();
            for _ in 0..200 {
                // No hidden files.
                input += random.pick(&["a", "a1", "b-", "~", "0", "10.", "é"]);
                input += &random.text(6, &pieces);
                input += "\n";
            }
            for reverse in [false, true] {
                let options = ["-V", "-r"][..=usize::from(reverse)].iter();
                let options: Vec<String> = options.map(|&option| option.to_owned()).collect();
                let result = sorted(RecordKind::Lines, "-V", reverse, input.as_bytes());
                let expected = sort(&options, input.as_bytes()).expect("right options");
                assert_eq!(
                    String::from_utf8_lossy(&result.expect("sorted")),
                    String::from_utf8_lossy(&expected),
                    "{options:?} of {input:?}"
                );
            }
        }
    }
}

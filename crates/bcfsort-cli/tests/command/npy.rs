//! `sort -f npy`: files of arrays, as scripts see them.

use assert_cmd::Command;

fn sort(args: &[&str], input: &[u8]) -> assert_cmd::assert::Assert {
    Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"))
        .env_remove("RUST_LOG")
        .env("WGPU_BCFSORT_CACHE_DIR", "")
        .args(["sort", "--engine", "cpu", "-f", "npy"])
        .args(args)
        .write_stdin(input)
        .assert()
}

/// A file of version 1 with a header of 128 bytes, as `numpy.save` writes it.
fn npy(dtype: &str, count: usize, data: &[u8]) -> Vec<u8> {
    let dict = format!("{{'descr': {dtype}, 'fortran_order': False, 'shape': ({count},), }}");
    let start = b"\x93NUMPY\x01\x00\x76\x00";
    [&start[..], format!("{dict:<117}\n").as_bytes(), data].concat()
}

#[test]
fn arrays_come_back_as_arrays() {
    let floats = |values: [f64; 4]| npy("'<f8'", 4, &values.map(f64::to_le_bytes).concat());
    let input = floats([0.5, f64::NAN, -3.0, f64::INFINITY]);
    sort(&["--verify"], &input)
        .code(0)
        .stdout(floats([-3.0, 0.5, f64::INFINITY, f64::NAN]))
        .stderr("wgpu-bcfsort: verified: 4 records, sorted, the same as in the input\n");
    sort(&["-r", "-q"], &input)
        .code(0)
        .stdout(floats([f64::NAN, f64::INFINITY, 0.5, -3.0]))
        .stderr("");
    let dtype = "[('a', '|i1'), ('b', '|u1')]";
    sort(&["--by", "a:desc,b"], &npy(dtype, 3, &[255, 1, 2, 9, 2, 8]))
        .code(0)
        .stdout(npy(dtype, 3, &[2, 8, 2, 9, 255, 1]));
}

#[test]
fn the_name_of_a_field_may_end_like_an_option() {
    let dtype = "[('a:desc', '|u1')]";
    for (by, order) in [("a:desc", [1, 2]), ("a:desc:desc", [2, 1])] {
        let result = npy(dtype, 2, &order);
        sort(&["--by", by], &npy(dtype, 2, &[2, 1]))
            .code(0)
            .stdout(result);
    }
}

#[test]
fn the_header_counts_the_elements_that_are_left() {
    let numbers = |numbers: &[i32]| {
        let data: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        npy("'<i4'", numbers.len(), &data)
    };
    let all = numbers(&[3, 1, 1, 2, 2, 2, 3]);
    sort(&["-u", "-q", "--verify"], &all)
        .code(0)
        .stdout(numbers(&[1, 2, 3]));
    sort(&["-u", "-r"], &numbers(&[]))
        .code(0)
        .stdout(numbers(&[]));
    let dtype = "[('a', '|i1'), ('b', '|u1')]";
    sort(&["-u", "--by", "a"], &npy(dtype, 3, &[255, 1, 2, 9, 2, 8]))
        .code(0)
        .stdout(npy(dtype, 2, &[255, 1, 2, 9]));
    // Onto itself, of several files, in little memory.
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let many: Vec<i32> = (0..300_000).map(|i| i % 1000 * 7919 % 1000).collect();
    std::fs::write(file("many"), numbers(&many)).unwrap();
    std::fs::write(file("all"), &all).unwrap();
    let args = [
        "-u",
        "-S",
        "1M",
        &file("many"),
        &file("all"),
        "-o",
        &file("many"),
    ];
    sort(&args, &[]).code(0).stdout("");
    let sorted: Vec<i32> = (0..1000).collect();
    assert!(std::fs::read(file("many")).unwrap() == numbers(&sorted));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn what_is_wrong_with_an_array_is_told_in_a_line() {
    let text = "stdin: this is no .npy file: it does not begin with \\x93NUMPY";
    let short =
        "stdin: the file has 131 bytes, but should have 132 by the shape (4,) in its header";
    let wrong = "stdin: the header is wrong: ',' is missing before ':'";
    for (input, told) in [
        (b"5\n3\n2\n1\n".to_vec(), text),
        (npy("'|u1'", 4, &[1; 3]), short),
        (npy("[('a', '<u4'", 4, &[1; 16]), wrong),
    ] {
        let output = sort(&[], &input).code(2).stdout("").get_output().clone();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            stderr.starts_with(&format!("wgpu-bcfsort: {told}")),
            "{stderr}"
        );
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}

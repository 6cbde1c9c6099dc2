//! Arrays: headers, times, and several files.

use super::{RecordKind, fails, npy, npy_of, sort_files, sorted};
use std::fs;

#[test]
fn names_of_version_1_are_latin_1() {
    let file = |values: [u8; 2]| {
        let mut file = npy("[('grXXe', '|u1')]", "(2,)", &values);
        let at = file.iter().position(|&byte| byte == b'X').expect("a name");
        file[at..at + 2].copy_from_slice(b"\xf6\xdf");
        file
    };
    let result = sorted(RecordKind::Npy, "--by größe", false, &file([2, 1]));
    assert_eq!(result, Ok(file([1, 2])));
}

#[test]
fn times_may_have_any_unit_and_those_that_are_none_are_last() {
    for dtype in ["<m8[2h]", "<M8[25s]", "<M8", "<m8", "<M8[s/3]", ">M8[ns]"] {
        let bytes = |time: i64| {
            if dtype.starts_with('>') {
                time.to_be_bytes()
            } else {
                time.to_le_bytes()
            }
        };
        let file = |times: [i64; 5]| npy(&format!("'{dtype}'"), "(5,)", &times.map(bytes).concat());
        let none = i64::MIN;
        let input = file([3, none, i64::MAX, none + 1, -1]);
        let up = file([none + 1, -1, 3, i64::MAX, none]);
        let down = file([i64::MAX, 3, -1, none + 1, none]);
        assert_eq!(sorted(RecordKind::Npy, "", false, &input), Ok(up));
        assert_eq!(sorted(RecordKind::Npy, "", true, &input), Ok(down));
    }
    let wrong = "file: the header is wrong: '<i8[s]' is no type";
    fails(RecordKind::Npy, "", npy("'<i8[s]'", "(1,)", &[0; 8]), wrong);
}

#[test]
fn fields_have_titles_and_other_fields_any_type() {
    let dtype = "[(('The title', 'n'), '<i2'), ('at', '<m8'), ('c', '<c16'), ('f', '>f16'), \
                 (('T', 'u'), '<U2'), ('p', [(('t', 'x'), '|S1', (2, 2))], (2,)), ('', '|V3')]";
    let record = |key: i16| [&key.to_le_bytes()[..], &[7; 8 + 16 + 16 + 8 + 8 + 3]].concat();
    let file = |keys: [i16; 3]| npy(dtype, "(3,)", &keys.map(record).concat());
    for by in ["n", "n,at"] {
        let line = format!("--by {by}");
        let result = sorted(RecordKind::Npy, &line, false, &file([5, -1, 300]));
        assert_eq!(result, Ok(file([-1, 5, 300])), "{by}");
    }
    let result = sorted(RecordKind::Npy, "--by n", true, &file([5, -1, 300]));
    assert_eq!(result, Ok(file([300, 5, -1])));
    let titled = "[(('T', 'n'), '|u1')]";
    let result = sorted(
        RecordKind::Npy,
        "--by T",
        false,
        &npy(titled, "(2,)", &[2, 1]),
    );
    assert_eq!(result, Ok(npy(titled, "(2,)", &[1, 2])));
    let objects = npy("[('k', '|u1'), ('o', [('x', '|O')])]", "(1,)", &[0; 9]);
    let told = "file: field 'o' holds objects, which stand elsewhere";
    fails(RecordKind::Npy, "--by k", objects, told);
}

#[test]
fn hostile_headers_are_errors() {
    let huge = "18446744073709551615";
    for (dtype, told) in [
        ("", "',' begins no value"),
        ("5", "a type is no string and no list"),
        ("''", "'' is no type"),
        ("'<'", "'<' is no type"),
        ("'<i'", "'<i' is no type"),
        ("'<\u{e9}8'", "'<\u{c3}\u{a9}8' is no type"),
        (
            "'<U18446744073709551615'",
            "'<U18446744073709551615' is no type",
        ),
        (
            "'<i99999999999999999999'",
            "'<i99999999999999999999' is no type",
        ),
        (
            "[('k', '|u1', 'x')]",
            "a shape has something else than numbers",
        ),
        (
            "[('k',)]",
            "a field has other parts than a name, a type and a shape",
        ),
        ("[5]", "a field is no tuple"),
        (
            "[((1, 2), '|u1')]",
            "the title and the name of a field are no strings",
        ),
    ] {
        let told = format!("file: the header is wrong: {told}");
        fails(RecordKind::Npy, "", npy(dtype, "(1,)", &[]), &told);
    }
    let large = format!("[('k', '|u1'), ('x', '|V{huge}'), ('y', '|V{huge}')]");
    let told = "file: an element is too large";
    fails(RecordKind::Npy, "--by k", npy(&large, "(1,)", &[]), told);
    let large = format!("[('k', '|u1'), ('x', '|V8', ({huge}, 2))]");
    let told = "file: the header is wrong: an element is too large";
    fails(RecordKind::Npy, "--by k", npy(&large, "(1,)", &[]), told);
    let empty = npy("[]", "(1,)", &[]);
    let told = "file: --by k: there is no such field: the array has ";
    fails(RecordKind::Npy, "--by k", empty, told);
    let told = "file: no file has room for the shape (18446744073709551615,)";
    fails(
        RecordKind::Npy,
        "",
        npy("'|u1'", &format!("({huge},)"), &[]),
        told,
    );
    let dict = "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), 'x': 1}";
    let told = "file: the header is wrong: the key 'x' is not known";
    fails(RecordKind::Npy, "", npy_of([1, 0], dict, &[1]), told);
}

#[test]
fn several_arrays_become_one_of_the_same_type() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, file: &[u8]| fs::write(path(name), file).expect("written");
    let numbers = |version, values: &[u16]| {
        let shape = values.len();
        let dict = format!("{{'descr': '<u2', 'fortran_order': False, 'shape': ({shape},), }}");
        let data = values.iter().flat_map(|value| value.to_le_bytes());
        npy_of(version, &dict, &data.collect::<Vec<_>>())
    };
    write("a", &numbers([1, 0], &[300, 1]));
    write("b", &numbers([2, 0], &[]));
    write("c", &numbers([3, 0], &[2, 4, 3, 0, 9, 8, 7, 6, 5]));
    let (a, b, c, out) = (path("a"), path("b"), path("c"), path("out"));
    let sort =
        |inputs: &[&std::path::Path]| sort_files(RecordKind::Npy, "", (inputs, &out), "1M", true);
    assert_eq!(sort(&[&a, &b, &c]), Ok(()));
    let all = numbers([1, 0], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 300]);
    assert!(fs::read(&out).expect("an output") == all);
    write("d", &npy("'>u2'", "(1,)", &[0, 1]));
    let error = sort(&[&a, &path("d")]).expect_err("another type");
    let told = format!("its elements are '>u2', those of {} are '<u2'", a.display());
    assert!(error.contains(&told), "{error}");
    // Each file must have what its header says.
    write("e", &numbers([1, 0], &[1, 2])[..130]);
    let error = sort(&[&a, &path("e")]).expect_err("too short");
    assert!(
        error.contains("the file has 130 bytes, but should have 132"),
        "{error}"
    );
}

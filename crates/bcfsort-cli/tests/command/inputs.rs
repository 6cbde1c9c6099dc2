//! Several inputs, lists of inputs, and compressed files.

use assert_cmd::Command;
use predicates::str::contains;
use std::fs;
use tempfile::TempDir;

fn cli(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"));
    command.env_remove("RUST_LOG");
    command.env("WGPU_BCFSORT_CACHE_DIR", "").args(args);
    command
}

/// `sort` on the CPU in a folder.
fn sort(folder: &Folder, args: &str) -> Command {
    let mut command = cli(&["sort", "-q", "--engine", "cpu"]);
    command.args(args.split_whitespace());
    command.current_dir(folder.0.path());
    command
}

struct Folder(TempDir);

impl Folder {
    fn of(files: &[(&str, &[u8])]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, content) in files {
            fs::write(folder.0.path().join(name), content).unwrap();
        }
        folder
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.path().join(name)).unwrap()
    }

    fn files(&self) -> usize {
        fs::read_dir(self.0.path()).unwrap().count()
    }

    fn sorts(&self, args: &str, expected: &str) {
        let sorted = sort(self, args).assert().code(0).get_output().clone();
        assert_eq!(String::from_utf8_lossy(&sorted.stdout), expected, "{args}");
    }

    fn fails(&self, args: &str, told: &str) {
        let files = self.files();
        let failed = sort(self, args).assert().code(2).stdout("");
        let stderr = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
        assert!(stderr.contains(told), "{args}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{args}: {stderr}");
        assert_eq!(self.files(), files, "{args}");
    }
}

#[test]
fn several_files_are_sorted_as_one() {
    let folder = Folder::of(&[
        ("a", b"30\n1"),
        ("b", b""),
        ("c", b"\xef\xbb\xbf2\r\n4"),
        ("raw", &[9, 0, 0, 0, 2, 0, 0, 0]),
        ("short", &[5, 0, 0]),
        ("fixed", b"bb22aa11"),
        ("more", b"ab33"),
    ]);
    folder.sorts("-f text a b c", "1\n2\n4\n30\n");
    folder.sorts("-f lines a b c", "1\n2\r\n30\n4\n");
    folder.sorts("-f lines -n a b c --verify --memory 1M", "1\n2\r\n4\n30\n");
    folder.sorts(
        "-f fixed --record 4 --key 0:bytes2 fixed more",
        "aa11ab33bb22",
    );
    folder.fails(
        "-f fixed --record 4 --key 0:bytes2 fixed short",
        "short: byte 0",
    );
    folder.fails("raw short", "short: the input is 3 bytes");
    folder.fails("-f text a raw", "raw: line 1");
    folder.fails("-f text a missing", "missing: cannot read");
    folder.fails("-f text a .", ". is a directory");
    folder.fails("-f text - a -", "- is given twice");
    let raw = sort(&folder, "raw - raw")
        .write_stdin([7, 0, 0, 0])
        .assert()
        .code(0);
    raw.stdout(vec![
        2, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0,
    ]);
    let stdin = sort(&folder, "-f lines a -")
        .write_stdin("0")
        .assert()
        .code(0);
    stdin.stdout("0\n1\n30\n");
    // The output may be one of the inputs.
    folder.sorts("-f text c a -o a", "");
    assert_eq!(folder.read("a"), b"1\n2\n4\n30\n");
    assert_eq!(folder.read("c"), b"\xef\xbb\xbf2\r\n4");
}

#[test]
fn errors_name_the_file_and_the_line_in_it() {
    let folder = Folder::of(&[
        ("a", b"k\n1\n2"),
        ("b", b"k\n3\nx\n"),
        ("c", b"j,k\n1,3\n1,x\n"),
        ("d", b"k,j\n1,3\n"),
        ("e", b"j,k\n1,3\n5\n"),
    ]);
    folder.fails(
        "-f csv --by k:num a b",
        "b: line 3, byte 4: column 'k': 'x' is not a number",
    );
    folder.fails(
        "-f csv --by k:num d c",
        "c: line 3, byte 8: column 'k': 'x' is not a number",
    );
    folder.fails(
        "-f csv --by k:num d e",
        "e: line 3, byte 8: the row has 1 cell, but the header 2",
    );
}

#[test]
fn columns_of_several_tables_are_matched_by_name() {
    let folder = Folder::of(&[
        ("1", b"a,b\n1,200\n3,400"),
        ("2", b"\xef\xbb\xbfb,a\r\n\"x\ny\",02\r\n100,1.0\r\n"),
        ("3", b"a,c\n5,6\n"),
        ("4", b"b,a\n"),
        ("empty", b""),
        ("tabs", b"a\tb\n0\t9\n"),
        ("none", b"7,8\n"),
        ("three", b"7,8,9\n"),
        ("cr", b"a,b\r0,1\r"),
    ]);
    let sorted = "a,b\n1,200\n1.0,100\r\n02,\"x\ny\"\r\n3,400\n";
    folder.sorts("-f csv --by a:num 1 2 4 --verify", sorted);
    folder.sorts("-f csv --by a:num empty 1 empty 2 --memory 1M", sorted);
    folder.sorts("-f csv --by b 4 1", "b,a\n200,1\n400,3\n");
    folder.fails(
        "-f csv --by a 1 2 3",
        "3: its columns are not those of 1: it lacks 'b', and only it has 'c'",
    );
    folder.fails(
        "-f csv --by a 1 tabs",
        "tabs: its columns are not those of 1: it lacks",
    );
    folder.fails("-f csv --by a 1 cr", "cr: its line ends are not those of 1");
    folder.sorts("-f csv --no-header --by 1 none empty 4", "7,8\nb,a\n");
    folder.sorts("-f csv --no-header --by 1,3 three none", "7,8,9\n7,8\n");
    folder.sorts("-f csv --by a empty empty", "");
}

#[test]
fn a_list_names_the_files() {
    let folder = Folder::of(&[
        ("a b", b"2\n"),
        ("c", b"1\n"),
        ("list", b"a b\0c"),
        ("hole", b"c\0\0c\0"),
        ("none", b""),
        ("stdin", b"c\0-\0"),
    ]);
    folder.sorts("-f text --files0-from list", "1\n2\n");
    folder.sorts("-f text --files0-from=list", "1\n2\n");
    folder.fails(
        "-f text --files0-from hole",
        "--files0-from hole: name 2 is empty",
    );
    folder.fails(
        "-f text --files0-from none",
        "there is no name of a file in it",
    );
    folder.fails("-f text --files0-from gone", "gone: cannot read");
    folder.fails(
        "-f text --files0-from list c",
        "c: files cannot be given beside --files0-from",
    );
    #[cfg(unix)]
    folder.fails("-f text --files0-from /dev/zero", "name 1 is empty");
    let listed = |list: &str| {
        let mut command = sort(&folder, "-f text --files0-from -");
        command.write_stdin(list).assert()
    };
    listed("c\0a b\0").code(0).stdout("1\n2\n");
    listed("c\0-\0")
        .code(2)
        .stderr(contains("stdin has the names of the files"));
    let mut stdin = sort(&folder, "-f text --files0-from stdin");
    stdin.write_stdin("0\n").assert().code(0).stdout("0\n1\n");
}

#[test]
fn indices_go_on_from_one_file_to_the_next() {
    let folder = Folder::of(&[("a", b"30\n10\n"), ("b", b"20")]);
    let mut argsort = cli(&["argsort", "-q", "--engine", "cpu", "-f", "text", "a", "b"]);
    argsort.current_dir(folder.0.path());
    argsort.assert().code(0).stdout("1\n2\n0\n");
}

/// "a\n" and "b\n", as `gzip -n` and `zstd` write them.
const A_GZIP: &[u8] =
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\xe4\x02\x00\x07\xa1\xea\xdd\x02\x00\x00\x00";
const B_GZIP: &[u8] =
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\xe2\x02\x00\xc4\xf2\xc7\xf6\x02\x00\x00\x00";
const C_ZSTD: &[u8] = b"\x28\xb5\x2f\xfd\x20\x02\x11\x00\x00c\n";

#[test]
fn compressed_files_are_read_and_written() {
    let gzip = [B_GZIP, A_GZIP].concat();
    let zstd = [C_ZSTD, C_ZSTD].concat();
    let folder = Folder::of(&[
        ("b.gz", &gzip),
        ("no-name", &gzip),
        ("c.zst", &zstd),
        ("d", b"d\n"),
        ("key", b"\x1f\x8b\x08\x00\x01\x00\x00\x00"),
    ]);
    folder.sorts("-f lines -r d no-name c.zst b.gz", "d\nc\nc\nb\nb\na\na\n");
    let stdin = sort(&folder, "-f lines").write_stdin(gzip).assert();
    stdin.code(0).stdout("a\nb\n");
    for name in ["out.gz", "out.ZST", "out"] {
        folder.sorts(&format!("-f lines b.gz d -o {name}"), "");
        let is_plain = folder.read(name) == b"a\nb\nd\n";
        assert_eq!(is_plain, name == "out");
        folder.sorts(&format!("-f lines {name}"), "a\nb\nd\n");
    }
    let told = |args: &str| {
        sort(&folder, args)
            .assert()
            .code(0)
            .get_output()
            .stdout
            .clone()
    };
    assert_eq!(
        told("-f lines d --compress zstd")[..4],
        *b"\x28\xb5\x2f\xfd"
    );
    folder.sorts("-f lines d -o plain.gz --compress none", "");
    assert_eq!(folder.read("plain.gz"), b"d\n");
    folder.sorts("-f lines plain.gz --decompress none", "d\n");
    // Keys may begin with any bytes.
    let keys = told("key");
    assert_eq!(keys, b"\x01\x00\x00\x00\x1f\x8b\x08\x00");
    folder.sorts("key -o key.zst", "");
    assert_eq!(told("key.zst"), keys);
    for (args, output) in [
        (
            &["argsort", "-q", "--engine", "cpu", "-f", "text", "n.gz"][..],
            "0\n1\n2\n",
        ),
        (&["check", "-f", "text", "n.gz"], ""),
        (&["check", "-f", "text", "n"], ""),
    ] {
        sort(&folder, "-f text -o n.gz")
            .write_stdin("1\n2\n3\n")
            .assert()
            .code(0);
        fs::copy(folder.0.path().join("n.gz"), folder.0.path().join("n")).unwrap();
        cli(args)
            .current_dir(folder.0.path())
            .assert()
            .code(0)
            .stdout(output);
    }
}

#[test]
fn compressed_data_that_is_wrong_is_an_error_and_leaves_nothing() {
    let folder = Folder::of(&[
        ("short.gz", &A_GZIP[..A_GZIP.len() - 5]),
        ("empty.gz", b""),
        ("plain.gz", b"these lines\nare not compressed\n"),
        ("short.zst", &C_ZSTD[..C_ZSTD.len() - 1]),
        ("more.zst", &[C_ZSTD, b"garbage"].concat()),
    ]);
    for (name, told) in [
        ("short.gz", "the gzip data is cut short"),
        ("empty.gz", "the gzip data is cut short"),
        ("plain.gz", "it is no gzip data: --decompress none"),
        ("short.zst", "the zstd data is corrupt or cut short"),
        ("more.zst", "the zstd data is corrupt or cut short"),
    ] {
        for format in [
            "-f lines",
            "-f text",
            "-f csv --by 1",
            "-f fixed --record 2 --key 0:u8",
        ] {
            folder.fails(&format!("{format} {name} -o out"), told);
        }
    }
}

/// A zstd frame to be skipped, as pzstd and writers of seekable files put in front.
fn skippable(content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u32).to_le_bytes();
    [&b"\x50\x2a\x4d\x18"[..], &length, content].concat()
}

#[test]
fn zstd_that_begins_with_a_skippable_frame_is_recognised() {
    let first = [&skippable(b"size")[..], C_ZSTD, &skippable(b""), C_ZSTD].concat();
    let mut npy = b"\x93NUMPY\x01\x00\x36\x00".to_vec();
    npy.extend(b"{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}");
    npy[8] = (npy.len() - 10) as u8;
    npy.push(7);
    // A raw block, in a frame whose header has the size in one byte.
    let size = npy.len() as u8;
    let frame = [
        &b"\x28\xb5\x2f\xfd\x20"[..],
        &[size, size << 3 | 1, size >> 5, 0],
        &npy,
    ]
    .concat();
    let folder = Folder::of(&[
        ("plain", &first),
        ("named.zst", &first),
        ("none", &skippable(b"b\na\n")),
        ("array", &[skippable(b"x"), frame].concat()),
        ("short", &skippable(b"xyz")[..9]),
    ]);
    for name in ["plain", "named.zst"] {
        folder.sorts(&format!("-f lines {name}"), "c\nc\n");
        folder.sorts(&format!("-f csv --no-header --by 1 {name}"), "c\nc\n");
        folder.fails(&format!("-f text {name}"), "line 1: 'c'");
    }
    for format in ["lines", "text", "csv --by 1", "tsv --by 1"] {
        folder.sorts(&format!("-f {format} none"), "");
        folder.fails(&format!("-f {format} short"), "the zstd data is cut short");
    }
    let sorted = sort(&folder, "-f npy array").assert().code(0);
    assert_eq!(sorted.get_output().stdout, npy);
    let stdin = sort(&folder, "-f lines").write_stdin(first).assert();
    stdin.code(0).stdout("c\nc\n");
    cli(&["check", "-f", "text", "plain"])
        .current_dir(folder.0.path())
        .assert()
        .code(2)
        .stderr(contains("line 1: 'c'"));
}

#[test]
fn compressed_data_that_cannot_be_read_is_no_text() {
    for (start, tool) in [
        (&b"\xfd7zXZ\0\0\x04"[..], "xz"),
        (b"BZh91AY&SY\x01\n", "bzip2"),
        (b"\x04\x22\x4d\x18\x64\n", "lz4"),
    ] {
        let folder = Folder::of(&[("a", start)]);
        for format in ["lines", "text", "csv --by 1", "tsv --by 1", "npy"] {
            folder.fails(
                &format!("-f {format} a -o out"),
                &format!("a: it is compressed with {tool}: unpack it first"),
            );
        }
        cli(&[
            "sort", "-q", "--engine", "cpu", "-f", "lines", "a", "-o", "b",
        ])
        .args(["--decompress", "none"])
        .current_dir(folder.0.path())
        .assert()
        .code(0);
        assert!(folder.read("b").starts_with(&start[..4]));
    }
    // Text that only begins alike.
    let folder = Folder::of(&[("a", b"BZh91\nBZh9\n")]);
    folder.sorts("-f lines a", "BZh9\nBZh91\n");
}

//! `argsort`: the indices that sort numbers, as scripts see them.

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::contains;
use wgpu_bcfsort::{Order, SortKey};

fn argsort(args: &[&str], input: impl Into<Vec<u8>>) -> Assert {
    cli(&["argsort"]).args(args).write_stdin(input).assert()
}

fn cli(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgpu-bcfsort"));
    command.env_remove("RUST_LOG");
    command.env("WGPU_BCFSORT_CACHE_DIR", "").args(args);
    command
}

/// The engines to test: those of GPUs only with an adapter, a software one included.
fn engines() -> Vec<&'static str> {
    let found = cli(&["devices", "--json"]).output().unwrap().status;
    let is_required = std::env::var("WGPU_BCFSORT_REQUIRE_ADAPTER").as_deref() == Ok("1");
    assert!(found.success() || !is_required, "no adapter");
    let gpu = ["sample-sort", "bcf", "bcf-pb", "warpsort"];
    let gpu = gpu.into_iter().filter(|_| found.success());
    ["auto", "cpu"].into_iter().chain(gpu).collect()
}

/// Numbers of which many are equal, with zeros of both signs, infinities and NaNs of both signs.
fn numbers<T: SortKey>(count: usize) -> Vec<T> {
    let mut state = 1_u64;
    let special = [0_u64, 1 << 31, 1 << 63, 0x7f80_0000, 0x7ff0 << 48, u64::MAX];
    (0..count)
        .map(|index| {
            state = state
                .wrapping_mul(0x5851_f42d_4c95_7f2d)
                .wrapping_add(0x1405_7b7e_f767_814f);
            T::from_bits64(match index % 4 {
                0 => special[(state >> 40) as usize % special.len()],
                1 => state >> 60,
                _ => state.rotate_left(32),
            })
        })
        .collect()
}

fn bytes<T: SortKey>(keys: &[T]) -> Vec<u8> {
    let width = T::KEY_TYPE.bytes() as usize;
    keys.iter()
        .flat_map(|key| key.to_bits64().to_le_bytes().into_iter().take(width))
        .collect()
}

/// The indices that a stable sort of the standard library finds.
fn expected<T: SortKey>(keys: &[T], order: Order) -> Vec<u32> {
    let mut indices: Vec<u32> = (0..keys.len() as u32).collect();
    indices.sort_by(|&a, &b| {
        let (a, b) = (keys[a as usize], keys[b as usize]);
        match order {
            Order::Ascending => a.total_order(&b),
            Order::Descending => b.total_order(&a),
        }
    });
    indices
}

fn compare<T: SortKey>(engines: &[&str]) {
    let keys = numbers::<T>(5003);
    for order in [Order::Ascending, Order::Descending] {
        let direction: &[&str] = match order {
            Order::Ascending => &[],
            Order::Descending => &["-r"],
        };
        let expected = bytes(&expected(&keys, order));
        let verified = format!(
            "wgpu-bcfsort: verified: 5003 indices, of keys that are {}\n",
            order.name()
        );
        for engine in engines {
            let key = T::KEY_TYPE.name();
            let args = ["--type", key, "--engine", engine, "--verify"];
            let output = argsort(&[&args, direction].concat(), bytes(&keys))
                .code(0)
                .stderr(verified.clone())
                .get_output()
                .clone();
            assert!(output.stdout == expected, "{key} {} {engine}", order.name());
        }
    }
}

#[test]
fn every_type_direction_and_engine_is_a_stable_sort() {
    let engines = engines();
    compare::<u32>(&engines);
    compare::<i32>(&engines);
    compare::<f32>(&engines);
    compare::<u64>(&engines);
    compare::<i64>(&engines);
    compare::<f64>(&engines);
}

#[test]
fn text_files_and_empty_inputs() {
    argsort(&["-f", "text"], "30\n10\n20\n10\n")
        .code(0)
        .stdout("1\n3\n2\n0\n")
        .stderr("");
    argsort(
        &["-f", "text", "--type", "f64", "-r"],
        "-0\nnan\n0\n1e300\n0",
    )
    .code(0)
    .stdout("1\n3\n2\n4\n0\n");
    for format in ["raw", "text"] {
        argsort(&["-q", "--verify", "-f", format], "")
            .code(0)
            .stdout("")
            .stderr("");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    let name = path.to_str().unwrap();
    let keys = numbers::<i64>(100_000);
    std::fs::write(&path, bytes(&keys)).unwrap();
    // The output may be the input, as in a sort.
    cli(&["argsort", "--type", "i64", name, "-o", name])
        .assert()
        .code(0)
        .stdout("");
    let indices = expected(&keys, Order::Ascending);
    assert!(std::fs::read(&path).unwrap() == bytes(&indices));
}

#[test]
fn the_timings_name_the_engine_and_the_keys() {
    argsort(&["--engine", "cpu", "--timings"], bytes(&[3_u32, 1, 2]))
        .code(0)
        .stdout(bytes(&[1_u32, 2, 0]))
        .stderr(
            contains("engine   cpu\n")
                .and(contains("keys     3 u32, ascending\n"))
                .and(contains("\nargsort, transfers included "))
                .and(contains("\ntotal, file I/O included ")),
        );
}

#[test]
fn what_argsort_cannot_do_is_told_in_a_line() {
    let many = bytes(&numbers::<u32>(35_715));
    let text = "7\n".repeat(35_715);
    let within = "has more than the 35714 keys that fit in 1000000 bytes of memory, at 28 bytes \
                  each: allow more with --memory, or split the file";
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (raw_file, text_file) = (file("raw", &many), file("text", text.as_bytes()));
    for (args, input, told) in [
        (&["-S", "1M"][..], &many[..], within),
        (&["-S", "1M", "-f", "text"], text.as_bytes(), within),
        (&["-S", "1M", &raw_file], b"", within),
        (&["-S", "1M", "-f", "text", &text_file], b"", within),
        (&[&text_file], b"", "looks like text: -f text reads"),
        (&["-f", "text"], b"1\nx\n", "line 2"),
        (&["--type", "u64"], &[0; 12], "12 bytes"),
        (&["--seed", "1"], b"", "--seed is for --engine warpsort"),
        (&["no/such/file"], b"", "no/such/file: cannot read"),
    ] {
        let args = [&["--engine", "cpu"], args].concat();
        let output = argsort(&args, input).code(2).stdout("");
        let stderr = String::from_utf8(output.get_output().stderr.clone()).unwrap();
        assert!(stderr.contains(told), "{args:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
    }
    // One key less fits.
    for (args, input) in [
        (&["-S", "1M"][..], &many[4..]),
        (&["-S", "1M", "-f", "text"], &text.as_bytes()[2..]),
    ] {
        argsort(args, input).code(0);
    }
    argsort(&["-f", "csv"], "").code(2).stdout("");
}

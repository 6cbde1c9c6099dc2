//! Compiled kernels are kept in a file, on adapters that have pipeline caches.

use crate::cli::{Folder, bytes, cli};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

const HEADER: &str = concat!("wgpu-bcfsort ", env!("CARGO_PKG_VERSION"), " kernels\n");

/// Sorts with this environment and these arguments besides, and returns what is on stderr.
fn sort(variables: &[(&str, &OsStr)], args: &[&str]) -> String {
    let keys: Vec<u32> = (0..2000_u32)
        .map(|i| i.wrapping_mul(2_654_435_761))
        .collect();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    let output = cli()
        .args(["sort", "--engine", "bcf"])
        .args(args)
        .envs(variables.iter().copied())
        .write_stdin(bytes(&keys))
        .assert()
        .code(0)
        .get_output()
        .clone();
    assert!(output.stdout == bytes(&sorted));
    String::from_utf8(output.stderr).unwrap()
}

/// Whether the command finds an adapter that has pipeline caches.
fn has_caches() -> bool {
    let folder = Folder::new();
    if !cli().arg("devices").output().unwrap().status.success() {
        return false;
    }
    let kept = folder.path("kept");
    sort(&[("WGPU_BCFSORT_CACHE_DIR", kept.as_os_str())], &[]);
    if !kept.exists() {
        println!("SKIPPED: no pipeline caches on this adapter");
    }
    kept.exists()
}

#[test]
fn kernels_are_kept_and_damaged_files_are_written_anew() {
    if !has_caches() {
        return;
    }
    let folder = Folder::new();
    let variables = [("WGPU_BCFSORT_CACHE_DIR", folder.0.path().as_os_str())];
    sort(&variables, &[]);
    let [name] = &folder.list()[..] else {
        panic!("{:?}", folder.list());
    };
    assert!(name.starts_with("wgpu_pipeline_cache_"), "{name}");
    let whole = fs::read(folder.path(name)).unwrap();
    assert!(whole.starts_with(HEADER.as_bytes()));
    assert_eq!(sort(&variables, &[]), "");

    let older = [b"wgpu-bcfsort 0.0.1 kernels\n", &whole[HEADER.len()..]].concat();
    for damaged in [&b"no cache"[..], &[], &whole[..whole.len() - 1], &older] {
        fs::write(folder.path(name), damaged).unwrap();
        assert_eq!(sort(&variables, &[]), "");
        let again = fs::read(folder.path(name)).unwrap();
        assert!(again.starts_with(HEADER.as_bytes()) && again != damaged);
    }
    fs::write(folder.path(name), b"no cache").unwrap();
    let told = sort(&[variables[0], ("RUST_LOG", "warn".as_ref())], &[]);
    assert!(told.contains("damaged"), "{told}");
    // Written beside it, and renamed.
    assert_eq!(&folder.list(), std::slice::from_ref(name));

    let ones = folder.write("ones", bytes(&[1, 1, 1]));
    let colors = folder.write("colors", bytes(&[0, 0, 0]));
    fs::remove_file(folder.path(name)).unwrap();
    cli()
        .args(["prefix-sums", &ones, &colors])
        .envs(variables)
        .assert()
        .code(0)
        .stdout(bytes(&[1, 2, 3]));
    assert!(folder.path(name).exists());
}

/// A whole file with this data, as the command writes it.
fn file_of(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let sum = (length.iter().chain(data)).fold(0xcbf2_9ce4_8422_2325, |sum: u64, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    [HEADER.as_bytes(), &sum.to_le_bytes(), data].concat()
}

#[test]
fn kernels_of_another_device_are_written_anew() {
    if !has_caches() {
        return;
    }
    let folder = Folder::new();
    let variables = [
        ("WGPU_BCFSORT_CACHE_DIR", folder.0.path().as_os_str()),
        ("RUST_LOG", "warn".as_ref()),
    ];
    sort(&variables[..1], &[]);
    let file = folder.path(&folder.list()[0]);
    let whole = fs::read(&file).unwrap();
    let data = &whole[HEADER.len() + 8..];
    assert!(file_of(data) == whole);
    // wgpu's header: 8 bytes, two words, the backend, the device.
    let mut of_another = data.to_vec();
    of_another[20] ^= 1;
    fs::write(&file, file_of(&of_another)).unwrap();
    let told = sort(&variables, &[]);
    assert!(told.contains("refused"), "{told}");
    let again = fs::read(&file).unwrap();
    assert!(again[HEADER.len() + 8 + 20] == data[20]);
    assert!(!sort(&variables, &[]).contains("refused"));
}

#[cfg(unix)]
#[test]
fn a_file_that_others_may_have_written_is_not_used() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    if !has_caches() {
        return;
    }
    let folder = Folder::new();
    let directory = folder.path("kernels");
    let variables = [
        ("WGPU_BCFSORT_CACHE_DIR", directory.as_os_str()),
        ("RUST_LOG", "warn".as_ref()),
    ];
    assert!(!sort(&variables, &[]).contains("no kernel cache"));
    let file = (fs::read_dir(&directory).unwrap().next().unwrap().unwrap()).path();
    let refused = |why: &str| {
        let told = sort(&variables, &[]);
        assert!(
            told.contains("no kernel cache") && told.contains(why),
            "{told}"
        );
    };
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    refused("666");
    let elsewhere = folder.path("elsewhere");
    fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    refused("link");
    fs::remove_file(&file).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&file).status();
    assert!(made.unwrap().success());
    refused("regular");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
    refused("777");
}

#[test]
fn the_directory_is_the_users_or_is_named_or_there_is_none() {
    if !has_caches() || !cfg!(target_os = "linux") {
        return;
    }
    let folder = Folder::new();
    let root = folder.0.path().as_os_str();
    let named = folder.path("named");
    let no_cache = ("WGPU_BCFSORT_CACHE_DIR", OsStr::new(""));
    sort(&[("XDG_CACHE_HOME", root), no_cache], &[]);
    sort(
        &[("WGPU_BCFSORT_CACHE_DIR", named.as_os_str())],
        &["--no-cache"],
    );
    // (A driver may have a cache of its own there.)
    let is_ours = |name: &String| name.contains("bcfsort") || name == "named";
    let ours = || -> Vec<_> { folder.list().into_iter().filter(is_ours).collect() };
    assert!(ours().is_empty(), "{:?}", ours());

    cli()
        .args(["sort", "--engine", "bcf"])
        .env("XDG_CACHE_HOME", root)
        .env_remove("WGPU_BCFSORT_CACHE_DIR")
        .write_stdin(bytes(&[2, 1]))
        .assert()
        .code(0);
    assert_eq!(ours(), ["wgpu-bcfsort"]);
    assert_eq!(
        fs::read_dir(folder.path("wgpu-bcfsort")).unwrap().count(),
        1
    );
}

#[test]
fn a_cache_that_cannot_be_is_a_warning_in_the_log() {
    if !has_caches() {
        return;
    }
    let folder = Folder::new();
    let file = folder.write("file", "");
    let nowhere = Path::new(&file).join("kernels");
    let variables = [("WGPU_BCFSORT_CACHE_DIR", nowhere.as_os_str())];
    assert_eq!(sort(&variables, &[]), "");
    let told = sort(&[variables[0], ("RUST_LOG", "warn".as_ref())], &[]);
    assert!(told.contains("no kernel cache"), "{told}");
}

//! An on-disk cache of compiled kernels, which saves later runs of the command the compilation.
//!
//! The file holds the data of a [`wgpu::PipelineCache`], which only Vulkan has. Drivers trust such
//! data, and wgpu checks only its header. So the file starts with a checksum, against damage. It is
//! used only if nobody but this user and root can have written it: see `private` and `read`. A
//! damaged file, and one that wgpu refuses, is ignored and rewritten. Faults of the cache do not
//! fail the command: they are logged as warnings.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use wgpu_bcfsort::wgpu;

/// Environment variable with the cache directory; an empty value disables the cache.
const DIRECTORY: &str = "WGPU_BCFSORT_CACHE_DIR";

/// Start of the file, with the version. A file of another version is replaced, so that its kernels
/// do not accumulate.
const HEADER: &str = concat!("wgpu-bcfsort ", env!("CARGO_PKG_VERSION"), " kernels\n");

/// The most bytes of a file that is read. All kernels of the library take a few MiB.
const MOST_BYTES: u64 = 256 << 20;

/// The option of the kernel cache.
#[derive(clap::Args)]
pub struct Cache {
    /// Do not read or write the on-disk cache of compiled kernels
    #[arg(long, hide_short_help = true)]
    no_cache: bool,
}

impl Cache {
    /// The cache directory, or `None` if the cache is disabled.
    pub fn directory(&self) -> Option<PathBuf> {
        if self.no_cache {
            None
        } else {
            directory(cfg!(windows), cfg!(target_os = "macos"), |name| {
                std::env::var_os(name)
            })
        }
    }
}

/// The cache directory: the one in the environment variable, else the default of the platform.
fn directory(
    is_windows: bool,
    is_macos: bool,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Option<PathBuf> {
    if let Some(named) = variable(DIRECTORY) {
        return (!named.is_empty()).then(|| named.into());
    }
    // A relative path would depend on the working directory.
    let absolute = |name| {
        let path = variable(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let caches = if is_windows {
        absolute("LOCALAPPDATA")?
    } else if is_macos {
        absolute("HOME")?.join("Library/Caches")
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?
    };
    Some(caches.join("wgpu-bcfsort"))
}

/// The compiled kernels of one device.
///
/// On drop, it writes new kernels to the file. So they are kept however the command ends, except by
/// an interrupt.
pub struct KernelCache {
    file: PathBuf,
    /// The data read from the file.
    read: Option<Vec<u8>>,
    cache: wgpu::PipelineCache,
}

impl KernelCache {
    /// Opens the cache of a device, with the data of its file. Returns `None` without a directory,
    /// or if wgpu has no pipeline cache on this device.
    pub fn open(device: &wgpu::Device, directory: Option<PathBuf>) -> Option<Self> {
        let directory = directory?;
        if !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return None;
        }
        let key = wgpu::util::pipeline_cache_key(&device.adapter_info())?;
        let prepared = private(&directory).and_then(|directory| {
            let file = directory.join(key);
            Ok((read(&file)?, file))
        });
        let (mut read, file) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                log::warn!("no kernel cache in {}: {error}", directory.display());
                return None;
            }
        };
        let mut made = make(device, read.as_deref());
        // wgpu refuses data of another device or driver.
        if let Some(error) = made.as_ref().err().filter(|_| read.is_some()) {
            log::warn!("{}: refused, and written anew: {error}", file.display());
            read = None;
            made = make(device, None);
        }
        match made {
            Ok(cache) => Some(Self { file, read, cache }),
            Err(error) => {
                log::warn!("no kernel cache: {error}");
                None
            }
        }
    }

    pub const fn cache(&self) -> &wgpu::PipelineCache {
        &self.cache
    }
}

impl Drop for KernelCache {
    fn drop(&mut self) {
        let Some(data) = self.cache.get_data() else {
            return;
        };
        if self.read.as_ref() == Some(&data) {
            return;
        }
        match write(&self.file, &data) {
            Ok(()) => log::debug!("{} bytes of kernels in {}", data.len(), self.file.display()),
            Err(error) => log::warn!("{}: kernels are not kept: {error}", self.file.display()),
        }
    }
}

/// A pipeline cache with the data of [`read`], or an empty one.
fn make(device: &wgpu::Device, data: Option<&[u8]>) -> Result<wgpu::PipelineCache, wgpu::Error> {
    let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
    // SAFETY: the data is what `get_data` returned in this version of the program. Only `write`
    // makes such files. It writes a temporary file that nobody else can open, in a directory where
    // nobody but this user and root can put, rename or remove a file (`private`), and renames it.
    // `read` takes a regular file that belongs to this user or root, and that nobody else can write
    // to. The checksum shows that it is whole. wgpu checks that it is for this device and driver.
    //
    // Windows has no such check here: `%LOCALAPPDATA%` is the user's alone, and a directory that
    // the environment names is as trusted as the programs in its `PATH`.
    let cache = unsafe {
        device.create_pipeline_cache(&wgpu::PipelineCacheDescriptor {
            label: Some("wgpu-bcfsort"),
            data,
            fallback: true,
        })
    };
    pollster::block_on(scope.pop()).map_or(Ok(cache), Err)
}

/// Creates the directory, accessible to this user only, and returns its path without links. Fails
/// if anybody but this user and root can write to it, or replace it or a directory above it.
fn private(directory: &Path) -> io::Result<PathBuf> {
    let directory = std::path::absolute(directory)?;
    // Nothing is created in a directory that is not trusted.
    let mut above = directory.ancestors();
    if let Some(existing) = above.find(|path| path.symlink_metadata().is_ok()) {
        check_path(&existing.canonicalize()?)?;
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&directory)?;
    let directory = directory.canonicalize()?;
    check_path(&directory)?;
    check_mode(&directory.symlink_metadata()?)?;
    Ok(directory)
}

/// Checks each directory of a path without links, from the root on. It belongs to this user or
/// root, and nobody else can write to it. So the next one cannot be replaced after it was checked.
/// In a sticky directory, such as `/tmp`, others can write, but not rename or remove what belongs
/// to this user or root.
fn check_path(path: &Path) -> io::Result<()> {
    let mut directories: Vec<_> = path.ancestors().collect();
    directories.reverse();
    for directory in directories {
        let found = directory.symlink_metadata()?;
        let check = || {
            if !found.is_dir() {
                return Err(io::Error::from(io::ErrorKind::NotADirectory));
            }
            check_owner(&found)?;
            if is_sticky(&found) {
                return Ok(());
            }
            check_mode(&found)
        };
        let name = |error: io::Error| {
            io::Error::new(error.kind(), format!("{}: {error}", directory.display()))
        };
        check().map_err(name)?;
    }
    Ok(())
}

fn refused(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, message)
}

#[cfg(unix)]
fn is_sticky(found: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(found) & 0o1000 != 0
}

/// Fails if it belongs to neither this user nor root.
#[cfg(unix)]
fn check_owner(found: &Metadata) -> io::Result<()> {
    let owner = std::os::unix::fs::MetadataExt::uid(found);
    if owner == 0 || owner == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(refused(format!("it belongs to another user ({owner})")))
}

/// Fails if others than the owner can write to it.
#[cfg(unix)]
fn check_mode(found: &Metadata) -> io::Result<()> {
    let mode = std::os::unix::fs::MetadataExt::mode(found) & 0o777;
    if mode & 0o022 == 0 {
        return Ok(());
    }
    let safe = if found.is_dir() { 700 } else { 600 };
    let message = format!("other users may write to it (mode {mode:o}; {safe} is safe)");
    Err(refused(message))
}

#[cfg(not(unix))]
fn is_sticky(_: &Metadata) -> bool {
    false
}

#[cfg(not(unix))]
fn check_owner(_: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn check_mode(_: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Opens a regular file that only this user and root can write to. Follows no link, and does not
/// wait for the other end of a named pipe.
fn open(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    let opened = options.open(file)?;
    let found = opened.metadata()?;
    if !found.is_file() {
        return Err(refused("it is not a regular file".to_owned()));
    }
    check_owner(&found)?;
    check_mode(&found)?;
    Ok(opened)
}

/// Reads the data of a file in a [`private`] directory. Returns `None` if the file is missing or
/// damaged.
fn read(file: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut content = Vec::new();
    let read = open(file).and_then(|opened| opened.take(MOST_BYTES).read_to_end(&mut content));
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let name = file.file_name().unwrap_or_default().display();
            return Err(io::Error::new(error.kind(), format!("{name}: {error}")));
        }
    }
    let data = checked(&content);
    if data.is_none() {
        log::warn!(
            "{}: not of this version, or damaged: ignored",
            file.display()
        );
    }
    Ok(data.map(<[u8]>::to_vec))
}

/// The data in the content of a file, if the header and the checksum are right.
fn checked(content: &[u8]) -> Option<&[u8]> {
    let rest = content.strip_prefix(HEADER.as_bytes())?;
    let (sum, data) = rest.split_first_chunk()?;
    (u64::from_le_bytes(*sum) == checksum(data)).then_some(data)
}

/// FNV-1a (Fowler, Noll and Vo) hash of the length and the bytes.
fn checksum(data: &[u8]) -> u64 {
    let length = (data.len() as u64).to_le_bytes();
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    length.iter().chain(data).fold(0xcbf2_9ce4_8422_2325, step)
}

/// Writes a file atomically.
fn write(file: &Path, data: &[u8]) -> io::Result<()> {
    let directory = file.parent().unwrap_or(Path::new("."));
    let mut whole = NamedTempFile::new_in(directory)?;
    whole.write_all(HEADER.as_bytes())?;
    whole.write_all(&checksum(data).to_le_bytes())?;
    whole.write_all(data)?;
    whole.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_environment_names_the_directory() {
        let of = |is_windows, is_macos, variables: &[(&str, &str)]| {
            directory(is_windows, is_macos, |name| {
                let found = variables.iter().find(|variable| variable.0 == name);
                found.map(|variable| variable.1.into())
            })
        };
        let home = ("HOME", "/home/me");
        let xdg = ("XDG_CACHE_HOME", "/caches");
        for (variables, expected) in [
            (&[home, xdg][..], Some("/caches/wgpu-bcfsort")),
            (&[home], Some("/home/me/.cache/wgpu-bcfsort")),
            // The XDG specification says that relative paths are ignored.
            (
                &[home, ("XDG_CACHE_HOME", "relative")],
                Some("/home/me/.cache/wgpu-bcfsort"),
            ),
            (&[], None),
            (&[home, xdg, (DIRECTORY, "here")], Some("here")),
            (&[home, xdg, (DIRECTORY, "")], None),
        ] {
            let found = of(false, false, variables);
            assert_eq!(found, expected.map(PathBuf::from), "{variables:?}");
        }
        let on_macos = of(false, true, &[home, xdg]).unwrap();
        assert!(
            on_macos.ends_with("me/Library/Caches/wgpu-bcfsort"),
            "{on_macos:?}"
        );
        assert_eq!(of(true, false, &[home]), None);
        assert_eq!(of(true, false, &[(DIRECTORY, "here")]), Some("here".into()));
    }

    #[test]
    fn a_damaged_file_is_ignored() {
        let temporary = tempfile::tempdir().unwrap();
        let file = temporary.path().join("kernels");
        assert_eq!(read(&file).unwrap(), None);
        let data: Vec<u8> = (0..1000_u32).map(|i| i as u8).collect();
        write(&file, &data).unwrap();
        assert_eq!(read(&file).unwrap().as_ref(), Some(&data));
        // No temporary file is left in the directory.
        assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 1);

        let whole = fs::read(&file).unwrap();
        for position in [0, HEADER.len() + 1, HEADER.len() + 8, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[position] ^= 1;
            assert_eq!(checked(&damaged), None, "byte {position}");
        }
        for length in [0, HEADER.len(), HEADER.len() + 7, whole.len() - 1] {
            assert_eq!(checked(&whole[..length]), None, "{length} bytes");
        }
        write(&file, &[]).unwrap();
        assert_eq!(read(&file).unwrap(), Some(Vec::new()));
    }

    #[cfg(unix)]
    mod of_others {
        use super::*;
        use std::os::unix::fs::{PermissionsExt, chown, symlink};

        const NOBODY: u32 = 65_534;

        fn set_mode(path: &Path, mode: u32) {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }

        /// Gives a path to another user. Only root can: for others, it stays as it is.
        fn give_away(path: &Path) -> bool {
            chown(path, Some(NOBODY), None).is_ok()
        }

        fn refusal<T: std::fmt::Debug>(result: io::Result<T>) -> String {
            result.unwrap_err().to_string()
        }

        #[test]
        fn a_directory_is_created_private_and_found_again() {
            let temporary = tempfile::tempdir().unwrap();
            let directory = temporary.path().join("a/b");
            let real = private(&directory).unwrap();
            assert_eq!(real, directory.canonicalize().unwrap());
            let mode = fs::metadata(&directory).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
            assert_eq!(private(&directory).unwrap(), real);
            // Through a link whose target is private.
            let link = temporary.path().join("link");
            symlink("a", &link).unwrap();
            assert_eq!(private(&link.join("b")).unwrap(), real);
        }

        #[test]
        fn a_directory_that_others_can_write_to_or_replace_is_refused() {
            let temporary = tempfile::tempdir().unwrap();
            let above = temporary.path().join("above");
            let directory = above.join("kernels");
            private(&directory).unwrap();
            for (path, mode) in [(&directory, 0o770), (&directory, 0o1777), (&above, 0o777)] {
                set_mode(path, mode);
                let refused = refusal(private(&directory));
                let mode = format!("{:o}", mode & 0o777);
                assert!(refused.contains(&mode), "{refused}");
                set_mode(path, 0o700);
            }
            // Nobody can rename what belongs to others in a sticky directory.
            set_mode(&above, 0o1777);
            private(&directory).unwrap();
            set_mode(&above, 0o700);

            // A link to a directory that others can replace.
            set_mode(&above, 0o777);
            let link = temporary.path().join("link");
            symlink(&directory, &link).unwrap();
            assert!(refusal(private(&link)).contains("777"));
            // Nothing is created there.
            assert!(refusal(private(&above.join("new"))).contains("777"));
            assert!(!above.join("new").exists());
            set_mode(&above, 0o700);

            for path in [&directory, &above] {
                if !give_away(path) {
                    return;
                }
                let refused = refusal(private(&directory));
                assert!(refused.contains("another user (65534)"), "{refused}");
                chown(path, Some(0), None).unwrap();
            }
            private(&directory).unwrap();
        }

        #[test]
        fn a_file_that_others_can_write_to_is_refused() {
            let temporary = tempfile::tempdir().unwrap();
            let file = temporary.path().join("kernels");
            write(&file, b"data").unwrap();
            let mode = fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            set_mode(&file, 0o666);
            let refused = refusal(read(&file));
            assert!(
                refused.contains("kernels: other users") && refused.contains("666"),
                "{refused}"
            );
            set_mode(&file, 0o644);
            assert_eq!(read(&file).unwrap().unwrap(), b"data");

            let link = temporary.path().join("link");
            symlink(&file, &link).unwrap();
            assert!(read(&link).is_err());
            assert!(refusal(read(temporary.path())).contains("regular"));
            if give_away(&file) {
                assert!(refusal(read(&file)).contains("another user"));
            }
        }

        #[test]
        fn a_named_pipe_is_not_waited_for() {
            let temporary = tempfile::tempdir().unwrap();
            let pipe = temporary.path().join("pipe");
            let made = std::process::Command::new("mkfifo").arg(&pipe).status();
            assert!(made.unwrap().success());
            assert!(refusal(read(&pipe)).contains("regular"));
        }
    }
}

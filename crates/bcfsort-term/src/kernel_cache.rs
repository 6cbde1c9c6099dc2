//! An on-disk cache of compiled kernels, which saves later runs of the command the compilation.
//!
//! The file holds the data of a [`wgpu::PipelineCache`], which only Vulkan has. Drivers trust such
//! data, and wgpu checks only its header. So the file starts with a checksum, and a directory that
//! other users can write to is not used. A damaged file is ignored and rewritten. Faults of the
//! cache do not fail the command: they are logged as warnings.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use wgpu_bcfsort::wgpu;

/// Environment variable with the cache directory; an empty value disables the cache.
const DIRECTORY: &str = "WGPU_BCFSORT_CACHE_DIR";

/// Start of the file, with the version. A file of another version is replaced, so that its kernels
/// do not accumulate.
const HEADER: &str = concat!("wgpu-bcfsort ", env!("CARGO_PKG_VERSION"), " kernels\n");

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
        let prepared = make_private(&directory).and_then(|()| {
            let file = directory.join(key);
            Ok((read(&file)?, file))
        });
        let (read, file) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                log::warn!("no kernel cache in {}: {error}", directory.display());
                return None;
            }
        };
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        // SAFETY: the data was returned by `get_data` in this version of the program: the checksum
        // shows that, and no other user can write to the directory.
        let cache = unsafe {
            device.create_pipeline_cache(&wgpu::PipelineCacheDescriptor {
                label: Some("wgpu-bcfsort"),
                data: read.as_deref(),
                fallback: true,
            })
        };
        if let Some(error) = pollster::block_on(scope.pop()) {
            log::warn!("no kernel cache: {error}");
            return None;
        }
        Some(Self { file, read, cache })
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

/// Creates the directory, accessible to this user only, or checks that no other user can write to
/// it.
fn make_private(directory: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(directory)?.permissions().mode();
        if mode & 0o022 != 0 {
            let mode = mode & 0o777;
            let message = format!("other users may write to it (mode {mode:o}; 700 is safe)");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
    }
    Ok(())
}

/// Reads the data of a file. Returns `None` if the file is missing or damaged.
fn read(file: &Path) -> io::Result<Option<Vec<u8>>> {
    let content = match fs::read(file) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
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
    #[test]
    fn a_directory_that_others_may_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let temporary = tempfile::tempdir().unwrap();
        let directory = temporary.path().join("a/b");
        make_private(&directory).unwrap();
        let mode = |directory: &Path| fs::metadata(directory).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&directory), 0o700);
        make_private(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o770)).unwrap();
        let refused = make_private(&directory).unwrap_err().to_string();
        assert!(refused.contains("770"), "{refused}");
    }
}

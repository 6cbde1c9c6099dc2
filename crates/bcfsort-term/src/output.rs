//! Output that appears whole or not at all.
//!
//! A regular file is written as a temporary beside the target and renamed over it at the end, so
//! that a failed or interrupted command leaves the old file as it was, and a file can be sorted
//! onto itself. Pipes, devices and `/dev/stdout` cannot be replaced and are written directly.

use crate::fault::Fault;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempPath;

/// The temporary that exists now. The handler of interrupts removes it; whoever makes, renames or
/// removes it holds the lock meanwhile, so that the handler never sees half of that.
static TEMPORARY: Mutex<Option<PathBuf>> = Mutex::new(None);

fn temporary() -> MutexGuard<'static, Option<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes interrupts (SIGINT, SIGTERM, SIGHUP, Ctrl-C) remove the temporary and exit with 130.
pub fn remove_temporary_when_interrupted() -> Result<(), Fault> {
    ctrlc::set_handler(|| {
        // Held until the end of the process, so that no new temporary appears.
        let mut temporary = temporary();
        if let Some(path) = temporary.take() {
            let _ = fs::remove_file(path);
        }
        std::process::exit(130);
    })
    .map_err(|error| Fault::Usage(format!("cannot handle interrupts: {error}")))
}

/// An open output.
pub struct Output {
    pub name: String,
    sink: Sink,
}

enum Sink {
    Stdout(io::Stdout),
    Direct(File),
    Whole(Whole),
}

impl Output {
    /// Opens the file, or stdout for `-`.
    pub fn create(path: &Path) -> Result<Self, Fault> {
        let name = path.display().to_string();
        if path == Path::new("-") {
            return Ok(Self {
                name: "stdout".to_owned(),
                sink: Sink::Stdout(io::stdout()),
            });
        }
        let failed = |error: &io::Error| Fault::io(&name, "cannot write", error);
        let sink = match resolve(path).map_err(|error| failed(&error))? {
            Target::Stdout => Sink::Stdout(io::stdout()),
            Target::Descriptor(path) => Sink::Direct(
                OpenOptions::new()
                    .write(true)
                    .open(path)
                    .map_err(|error| failed(&error))?,
            ),
            Target::File(path) => match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => {
                    return Err(Fault::Usage(format!(
                        "{name} is a directory: give a file to write"
                    )));
                }
                Ok(metadata) => {
                    // Opened even where it will be replaced: write-protected files stay.
                    let file = OpenOptions::new()
                        .write(true)
                        .open(&path)
                        .map_err(|error| failed(&error))?;
                    if metadata.is_file() {
                        Sink::Whole(Whole::create(path, Some(metadata.permissions()), &name)?)
                    } else {
                        Sink::Direct(file)
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    Sink::Whole(Whole::create(path, None, &name)?)
                }
                Err(error) => return Err(failed(&error)),
            },
        };
        Ok(Self { name, sink })
    }

    /// Where large temporaries of this output belong: beside it, if it is a file.
    pub fn directory(&self) -> PathBuf {
        match &self.sink {
            Sink::Whole(whole) => directory(&whole.target).to_owned(),
            Sink::Stdout(_) | Sink::Direct(_) => std::env::temp_dir(),
        }
    }

    /// Makes what was written appear. Without this call a file stays as it was.
    pub fn commit(mut self) -> Result<(), Fault> {
        let done = self.flush().and_then(|()| match self.sink {
            Sink::Whole(whole) => whole.commit(),
            Sink::Stdout(_) | Sink::Direct(_) => Ok(()),
        });
        done.map_err(|error| Fault::io(&self.name, "cannot write", &error))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.write(bytes),
            Sink::Direct(file) => file.write(bytes),
            Sink::Whole(whole) => whole.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.flush(),
            Sink::Direct(file) => file.flush(),
            Sink::Whole(whole) => whole.file.flush(),
        }
    }
}

/// Writes a short text to stdout.
pub fn print(text: &str) -> Result<(), Fault> {
    let mut stdout = io::stdout();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| Fault::io("stdout", "cannot write", &error))
}

/// A temporary file that is to replace its target.
struct Whole {
    file: File,
    path: Option<TempPath>,
    target: PathBuf,
}

impl Whole {
    fn create(
        target: PathBuf,
        permissions: Option<fs::Permissions>,
        name: &str,
    ) -> Result<Self, Fault> {
        let directory = directory(&target);
        let failed = |error: io::Error| {
            let what = format!("cannot make a file in {}", directory.display());
            Fault::io(name, &what, &error)
        };
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(target.file_name().unwrap_or(OsStr::new("output")));
        prefix.push(".");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".tmp");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // A new file gets what the umask leaves; temporaries are private by default. While
            // it is written, the copy of a private file must not be public either.
            let mode = if permissions.is_some() { 0o600 } else { 0o666 };
            builder.permissions(fs::Permissions::from_mode(mode));
        }
        let (file, path) = {
            let mut temporary = temporary();
            let (file, path) = builder.tempfile_in(directory).map_err(failed)?.into_parts();
            *temporary = Some(path.to_path_buf());
            (file, path)
        };
        let whole = Self {
            file,
            path: Some(path),
            target,
        };
        if let Some(permissions) = permissions {
            whole
                .file
                .set_permissions(permissions)
                .map_err(|error| Fault::io(name, "cannot set the permissions", &error))?;
        }
        Ok(whole)
    }

    fn commit(mut self) -> io::Result<()> {
        // Some file systems report a lack of space only now.
        self.file.sync_all()?;
        let mut temporary = temporary();
        if let Some(path) = self.path.take() {
            path.persist(&self.target).map_err(|error| error.error)?;
        }
        *temporary = None;
        Ok(())
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            let mut temporary = temporary();
            drop(path);
            *temporary = None;
        }
    }
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// What a path stands for.
enum Target {
    Stdout,
    /// A descriptor of this process, which shares its position with others.
    Descriptor(PathBuf),
    File(PathBuf),
}

/// Follows symbolic links, also one that points to nothing, up to the file that is to be replaced
/// or to `/dev/stdout` and its kin. These must be recognised by name: with stdout redirected to a
/// file they look like that file, and replacing it would lose what the shell already put there.
fn resolve(path: &Path) -> io::Result<Target> {
    let mut path = path.to_owned();
    for _ in 0..40 {
        let parent = fs::canonicalize(directory(&path))?;
        let name = path.file_name().unwrap_or(OsStr::new("")).to_owned();
        let process = parent.starts_with("/proc") && parent.ends_with("fd");
        if process || parent == Path::new("/dev/fd") {
            return Ok(if name == "1" {
                Target::Stdout
            } else {
                Target::Descriptor(path)
            });
        }
        match fs::read_link(&path) {
            Ok(link) => path = parent.join(link),
            Err(_) => return Ok(Target::File(path)),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// An unnamed file, gone when closed.
pub fn unnamed_file(directory: &Path) -> io::Result<File> {
    // Where the system has no unnamed files, it has a name for a moment.
    let _no_exit_meanwhile = temporary();
    tempfile::tempfile_in(directory)
}

//! Output files that are written atomically.
//!
//! A regular file is written to a temporary file in the same directory, which is then renamed. So a
//! failed or interrupted command leaves the old file unchanged, and a file can be sorted onto
//! itself. Pipes, devices and `/dev/stdout` cannot be replaced; they are written directly.

use crate::codec::{Codec, Encoder};
use crate::fault::Fault;
use crate::{stdio, threads};
use bcfsort_data::escaped;
use fs4::FileExt as _;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use tempfile::TempPath;

/// How far the outputs are.
struct Progress {
    /// The temporary files that are written.
    temporary: Vec<PathBuf>,
    /// The command's last output is complete: signals come too late.
    is_done: bool,
}

impl Progress {
    /// The temporary file is no longer there.
    fn forget(&mut self, path: &Path) {
        self.temporary.retain(|written| written != path);
    }
}

/// How far the current outputs are. The interrupt handler removes the temporary files. Code that
/// creates, renames or removes a file holds the lock, so the handler never sees an intermediate
/// state.
static PROGRESS: Mutex<Progress> = Mutex::new(Progress {
    temporary: Vec::new(),
    is_done: false,
});

fn progress() -> MutexGuard<'static, Progress> {
    PROGRESS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn remove_temporary(progress: &mut Progress) {
    for path in progress.temporary.drain(..) {
        let _ = fs::remove_file(path);
    }
}

/// Ends the process at once, whatever other threads do, without temporary files.
pub fn exit(code: u8) -> ! {
    let mut progress = progress();
    remove_temporary(&mut progress);
    std::process::exit(code.into());
}

/// As [`exit`], for a thread that may hold any lock and cannot allocate memory.
pub(crate) fn exit_without_memory(code: u8) -> ! {
    if let Ok(mut progress) = PROGRESS.try_lock() {
        remove_temporary(&mut progress);
    }
    #[cfg(unix)]
    signal_hook::low_level::exit(code.into());
    #[cfg(not(unix))]
    std::process::exit(code.into());
}

/// On SIGINT, SIGTERM and SIGHUP, removes the temporary files and exits with 128 + the signal's
/// number, as shells report it. Elsewhere than on Unix, Ctrl-C counts as SIGINT. A file that
/// exceeds the limit of `ulimit -f` becomes an error of the write, instead of a signal that ends
/// the process. Signals that were ignored from the start, as by `nohup` and in the background jobs
/// of a script, stay so.
pub fn remove_temporary_when_interrupted() -> Result<(), Fault> {
    wait_for_signals().map_err(|error| Fault::Usage(format!("cannot handle interrupts: {error}")))
}

#[cfg(unix)]
fn wait_for_signals() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    let signals = [SIGHUP, SIGINT, SIGTERM].into_iter();
    let signals = signals.filter(|&signal| !is_ignored(signal));
    let mut signals = signal_hook::iterator::Signals::new(signals)?;
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            signals.forever().for_each(exit_on_signal);
        })
        .map(drop)
}

/// True if the process ignores the signal.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action, this only writes the present one, to which the pointer leads.
    let done = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: its fields are integers, pointers and an optional function: zeros are valid, and so
    // is what the system wrote.
    done == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

#[cfg(not(unix))]
fn wait_for_signals() -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(|| exit_on_signal(2))
}

fn exit_on_signal(signal: i32) {
    // Held until the process ends, so that no new temporary file is created.
    let mut progress = progress();
    if progress.is_done {
        return;
    }
    remove_temporary(&mut progress);
    std::process::exit(128 + signal);
}

/// An open output.
pub struct Output {
    pub name: String,
    sink: Sink,
    encoder: Option<Encoder>,
}

enum Sink {
    Stdout(io::Stdout),
    Direct(File),
    Whole(Box<Whole>),
}

impl Output {
    /// Opens the file, or stdout for `-`. It is compressed if its extension says so.
    pub fn create(path: &Path) -> Result<Self, Fault> {
        Self::create_as(path, Codec::of_name(path))
    }

    /// Opens the file, or stdout for `-`, to be compressed with `codec`.
    pub fn create_as(path: &Path, codec: Option<Codec>) -> Result<Self, Fault> {
        let encoder = codec.map(Encoder::new);
        let name = path.display().to_string();
        if path == Path::new("-") {
            return Ok(Self {
                name: "stdout".to_owned(),
                sink: Sink::Stdout(stdio::stdout()?),
                encoder,
            });
        }
        let failed = |error: &io::Error| Fault::io(&name, "cannot write", error);
        let sink = match resolve(path).map_err(|error| failed(&error))? {
            Target::Stdout => Sink::Stdout(stdio::stdout()?),
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
                    // Opened even if it will be replaced, to fail for a write-protected file.
                    let file = OpenOptions::new()
                        .write(true)
                        .open(&path)
                        .map_err(|error| failed(&error))?;
                    if metadata.is_file() {
                        Sink::Whole(Whole::create(path, Some(metadata), &name)?)
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
        Ok(Self {
            name,
            sink,
            encoder,
        })
    }

    /// Directory for large temporary files of this output: its own, if it is a file.
    pub fn directory(&self) -> PathBuf {
        match &self.sink {
            Sink::Whole(whole) => directory(&whole.target).to_owned(),
            Sink::Stdout(_) | Sink::Direct(_) => std::env::temp_dir(),
        }
    }

    /// Reserves space for the bytes to come, on another thread. The first write waits for it, and
    /// fails if the file system is full. What is not written is given back.
    ///
    /// In a file system in memory, writing takes half the time where space is reserved. No error
    /// where space cannot be reserved, and nothing is done for a compressed output.
    pub fn reserve(&mut self, bytes: u64) {
        if let (Sink::Whole(whole), None) = (&mut self.sink, &self.encoder) {
            whole.reserve(bytes);
        }
    }

    /// Finishes the output: renames the temporary file over the target. Without this call, the
    /// target is unchanged.
    pub fn commit(self) -> Result<(), Fault> {
        self.finish(false)
    }

    /// As [`commit`](Self::commit), for the last output of a command, which is then a success: no
    /// signal ends it.
    pub fn commit_last(self) -> Result<(), Fault> {
        self.finish(true)
    }

    fn finish(mut self, is_last: bool) -> Result<(), Fault> {
        let encoded = match &mut self.encoder {
            Some(encoder) => encoder.finish(&mut self.sink),
            None => Ok(()),
        };
        let flushed = encoded.and_then(|()| self.sink.flush());
        let done = flushed.and_then(|()| match self.sink {
            Sink::Whole(whole) => whole.commit(is_last),
            Sink::Stdout(_) | Sink::Direct(_) => {
                progress().is_done = is_last;
                Ok(())
            }
        });
        done.map_err(|error| Fault::io(&self.name, "cannot write", &error))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.encoder {
            Some(encoder) => encoder.write(bytes, &mut self.sink),
            None => self.sink.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::Direct(file) => file.write(bytes),
            Self::Whole(whole) => {
                whole.wait_for_space()?;
                whole.file.write(bytes)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::Direct(file) => file.flush(),
            Self::Whole(whole) => whole.file.flush(),
        }
    }
}

/// Writes a short text to stdout, for people: control characters are escaped, as in messages.
pub fn print(text: &str) -> Result<(), Fault> {
    print_data(&escaped(text))
}

/// Writes a short text to stdout, unchanged, for other programs.
pub fn print_data(text: &str) -> Result<(), Fault> {
    let mut stdout = stdio::stdout()?;
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| Fault::io("stdout", "cannot write", &error))
}

/// A temporary file that replaces its target on commit.
struct Whole {
    file: File,
    path: Option<TempPath>,
    target: PathBuf,
    /// The metadata of the file that it replaces.
    old: Option<fs::Metadata>,
    reserving: Option<JoinHandle<io::Result<()>>>,
    is_reserved: bool,
}

impl Whole {
    fn create(target: PathBuf, old: Option<fs::Metadata>, name: &str) -> Result<Box<Self>, Fault> {
        let directory = directory(&target);
        let failed = |error: &io::Error| {
            let error = error.to_string();
            // The rest is the name of the temporary file.
            let reason = error
                .split_once(" at path ")
                .map_or(&*error, |(why, _)| why);
            Fault::Usage(format!(
                "{name}: cannot make a file in {}: {reason}. The output is first written beside \
                 its final name, so the directory must be writable",
                directory.display()
            ))
        };
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(target.file_name().unwrap_or(OsStr::new("output")));
        prefix.push(".");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".tmp");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // A new file gets the permissions that the umask leaves (temporary files are private by
            // default). The copy of a private file must stay private while it is written.
            let mode = if old.is_some() { 0o600 } else { 0o666 };
            builder.permissions(fs::Permissions::from_mode(mode));
        }
        let (file, path) = {
            let mut progress = progress();
            let (file, path) = (builder.tempfile_in(directory))
                .map_err(|error| failed(&error))?
                .into_parts();
            progress.temporary.push(path.to_path_buf());
            (file, path)
        };
        Ok(Box::new(Self {
            file,
            path: Some(path),
            target,
            old,
            reserving: None,
            is_reserved: false,
        }))
    }

    fn reserve(&mut self, bytes: u64) {
        let Ok(file) = self.file.try_clone() else {
            return;
        };
        self.reserving = threads::spawn_if_possible("reserve", move || file.allocate(bytes));
    }

    fn wait_for_space(&mut self) -> io::Result<()> {
        let Some(reserving) = self.reserving.take() else {
            return Ok(());
        };
        self.is_reserved = true;
        let reserved = reserving.join();
        match reserved.unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
            Err(error) if is_full(&error) => Err(error),
            // Not all file systems can reserve space.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn commit(mut self, is_last: bool) -> io::Result<()> {
        self.wait_for_space()?;
        if self.is_reserved {
            let end = self.file.stream_position()?;
            self.file.set_len(end)?;
        }
        if let Some(old) = &self.old {
            keep_access(&self.file, old)?;
        }
        // Some file systems report a full disk only here.
        self.file.sync_all()?;
        let mut progress = progress();
        if let Some(path) = self.path.take() {
            progress.forget(&path);
            // An error removes the temporary file.
            (path.persist(&self.target)).map_err(|error| error.error)?;
        }
        progress.is_done = is_last;
        Ok(())
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            let mut progress = progress();
            progress.forget(&path);
            drop(path);
        }
    }
}

/// Gives a file the owner, the group and the mode of the one that it replaces, as far as the user
/// may. Nobody gets more rights than the old file gave: setuid, setgid and sticky stay only with
/// owner and group, and another group than the old one gets what all others have, at most.
#[cfg(unix)]
fn keep_access(file: &File, old: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let ids = |metadata: &fs::Metadata| (metadata.uid(), metadata.gid());
    if ids(&file.metadata()?) != ids(old) && fchown(file, Some(old.uid()), Some(old.gid())).is_err()
    {
        // Only root may give a file away, but its owner may choose among his groups.
        let _ = fchown(file, None, Some(old.gid()));
    }
    let new = file.metadata()?;
    let mut mode = old.mode() & 0o7777;
    if ids(&new) != ids(old) {
        mode &= 0o777;
    }
    if new.gid() != old.gid() {
        mode &= 0o707 | (mode & 0o007) << 3;
    }
    // Last: a change of the owner clears some of these bits.
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn keep_access(file: &File, old: &fs::Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// The kind of output that a path names.
enum Target {
    Stdout,
    /// A descriptor of this process, with a shared file position.
    Descriptor(PathBuf),
    File(PathBuf),
}

/// Follows symbolic links, dangling ones included, to the file to replace, or to `/dev/stdout` and
/// similar names. These must be recognized by name: if stdout is redirected to a file, they resolve
/// to that file, and replacing it would lose what the shell already wrote there.
fn resolve(path: &Path) -> io::Result<Target> {
    let mut path = path.to_owned();
    for _ in 0..40 {
        let directory = directory(&path);
        let parent = fs::canonicalize(directory).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                let missing = format!("the directory {} does not exist", directory.display());
                io::Error::new(error.kind(), missing)
            }
            _ => error,
        })?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_space_that_is_not_written_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        for (reserved, text) in [(1 << 20, "sorted"), (3, "sorted"), (5, "")] {
            let mut output = Output::create(&path).unwrap();
            output.reserve(reserved);
            output.write_all(text.as_bytes()).unwrap();
            output.commit().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_file_system_is_an_error_of_the_first_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        fs::write(&path, "old").unwrap();
        let mut output = Output::create(&path).unwrap();
        output.reserve(1 << 62);
        let error = output.write(b"new").unwrap_err();
        assert!(is_full(&error), "{error}");
        drop(output);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

//! Private directories of a command, which are removed however it ends, even by a signal or for
//! lack of memory. Only SIGKILL leaves them.

use anyhow::{Context, Result, anyhow};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tempfile::TempDir;

/// The directories to remove.
struct Remains {
    /// Each directory with the files that it may hold, as far as their names are known.
    directories: Vec<(PathBuf, Vec<PathBuf>)>,
    /// Whether the output has its final name: from then on, signals have no effect.
    is_done: bool,
}

/// Code that makes, renames or removes something holds the lock, so that the thread that ends the
/// process never sees an intermediate state.
static REMAINS: Mutex<Remains> = Mutex::new(Remains {
    directories: Vec::new(),
    is_done: false,
});

fn remains() -> MutexGuard<'static, Remains> {
    REMAINS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Remains {
    fn remove(&self) {
        // Other threads may create files during the removal.
        const TRIES: usize = 20;
        for (directory, files) in &self.directories {
            // Without memory, a directory cannot be listed.
            for file in files {
                let _ = std::fs::remove_file(file);
            }
            if std::fs::remove_dir(directory).is_ok() {
                continue;
            }
            for _ in 0..TRIES {
                match std::fs::remove_dir_all(directory) {
                    Ok(()) => break,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                    Err(_) => {}
                }
            }
        }
    }
}

/// A directory that only this user can read. It is removed with its contents.
pub struct Private(Option<TempDir>);

impl Private {
    /// Makes the directory.
    ///
    /// # Errors
    ///
    /// If `inside` cannot be written, or signals cannot be handled.
    pub fn inside(inside: &Path) -> Result<Self> {
        handle_signals()?;
        let mut remains = remains();
        let directory = tempfile::Builder::new()
            .prefix(".bcfsort-")
            .tempdir_in(inside)
            .with_context(|| format!("cannot write to {}", inside.display()))?;
        let path = directory.path().to_owned();
        remains.directories.push((path, Vec::new()));
        Ok(Self(Some(directory)))
    }

    /// The path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.as_ref().map_or(Path::new(""), TempDir::path)
    }

    /// Names files that may be created in it. They are removed even if the process is out of
    /// memory.
    pub(crate) fn expect(&self, files: Vec<PathBuf>) {
        let mut remains = remains();
        for (path, expected) in &mut remains.directories {
            if path == self.path() {
                *expected = files;
                return;
            }
        }
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        let mut remains = remains();
        let path = self.path().to_owned();
        drop(self.0.take());
        // A directory that could not be removed stays listed, to be tried again if the process is
        // ended.
        remains
            .directories
            .retain(|(other, _)| *other != path || path.exists());
    }
}

/// Completes the command's output by calling `done`. After its success, signals have no effect.
pub(crate) fn complete<T, E>(done: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let mut remains = remains();
    let done = done();
    remains.is_done |= done.is_ok();
    done
}

/// Removes the directories, unless their list is locked, and ends the process.
///
/// For a thread that may hold any lock and has little memory.
pub fn exit_without_memory(code: i32) -> ! {
    if let Ok(remains) = REMAINS.try_lock() {
        // The C library needs memory to list a directory.
        system::release_address_space();
        remains.remove();
    }
    system::exit(code)
}

/// Makes signals that end the process remove the directories first.
fn handle_signals() -> Result<()> {
    static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
    let started = STARTED.get_or_init(|| system::start().map_err(|error| error.to_string()));
    let started = started.clone();
    started.map_err(|error| anyhow!("cannot handle interrupts: {error}"))
}

#[cfg(unix)]
pub(crate) use system::file_size_is_an_error;

#[cfg(unix)]
mod system {
    use super::remains;
    use std::ffi::c_void;
    use std::future::poll_fn;
    use std::io;
    use std::sync::atomic::{AtomicPtr, Ordering};
    use std::sync::mpsc;
    use std::task::Poll;
    use tokio::signal::unix::{Signal, SignalKind, signal};

    /// Starts the thread that waits for signals, which ends the process with 128 + the signal's
    /// number, as shells report it. Signals that are ignored, as by nohup, stay ignored.
    pub(super) fn start() -> io::Result<()> {
        reserve_address_space();
        let (tell, told) = mpsc::channel();
        let thread = std::thread::Builder::new().name("signals".to_owned());
        let started = thread.spawn(move || {
            // A runtime of its own: all threads of the command's may be busy.
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_io()
                .build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => return drop(tell.send(Err(error))),
            };
            runtime.block_on(async {
                match listen() {
                    Ok(signals) => {
                        let _ = tell.send(Ok(()));
                        wait(signals).await;
                    }
                    Err(error) => drop(tell.send(Err(error))),
                }
            });
        });
        started.map_err(|error| {
            io::Error::other(format!(
                "out of memory or threads (ulimit -v, -u): cannot start a thread: {error}"
            ))
        })?;
        let started = told.recv();
        started.unwrap_or_else(|_| Err(io::Error::other("the thread ended")))
    }

    fn listen() -> io::Result<Vec<(i32, Signal)>> {
        let signals = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];
        let signals = signals.into_iter().filter(|&number| !is_ignored(number));
        let listen = |number| Ok((number, signal(SignalKind::from_raw(number))?));
        signals.map(listen).collect()
    }

    async fn wait(mut signals: Vec<(i32, Signal)>) {
        loop {
            let number = poll_fn(|context| {
                for (number, signal) in &mut signals {
                    if signal.poll_recv(context).is_ready() {
                        return Poll::Ready(*number);
                    }
                }
                Poll::Pending
            });
            let number = number.await;
            // The lock is held until the process ends, so that no new directory is made.
            let remains = remains();
            if !remains.is_done {
                remains.remove();
                exit(128 + number);
            }
        }
    }

    /// Address space in reserve, to be released when no other is left. It takes no memory.
    static RESERVED: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    const RESERVE: usize = 1 << 20;

    #[expect(unsafe_code)]
    fn reserve_address_space() {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON;
        let anywhere = std::ptr::null_mut();
        // SAFETY: a new mapping replaces none.
        let reserved = unsafe { libc::mmap(anywhere, RESERVE, libc::PROT_NONE, flags, -1, 0) };
        if reserved != libc::MAP_FAILED {
            RESERVED.store(reserved, Ordering::Relaxed);
        }
    }

    #[expect(unsafe_code)]
    pub(super) fn release_address_space() {
        let reserved = RESERVED.swap(std::ptr::null_mut(), Ordering::Relaxed);
        if !reserved.is_null() {
            // SAFETY: the mapping is of this length, nobody uses it, and it is released once.
            unsafe { libc::munmap(reserved, RESERVE) };
        }
    }

    #[expect(unsafe_code)]
    fn is_ignored(signal: i32) -> bool {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: without a new action the call only writes the present one, for which there is
        // room; all zeros is a valid one, should it fail.
        let action = unsafe {
            libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
            action.assume_init()
        };
        action.sa_sigaction == libc::SIG_IGN
    }

    /// A file that exceeds the limit of `ulimit -f` becomes an error of the write, instead of a
    /// signal that ends the process.
    #[expect(unsafe_code)]
    pub(crate) fn file_size_is_an_error() {
        // SAFETY: to ignore a signal runs no code.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    }

    /// Skips the C library's exit handlers: they would tear down what other threads still use.
    #[expect(unsafe_code)]
    pub(super) fn exit(code: i32) -> ! {
        // SAFETY: it ends the process, and no more code runs.
        unsafe { libc::_exit(code) }
    }
}

#[cfg(not(unix))]
mod system {
    pub(super) fn start() -> std::io::Result<()> {
        Ok(())
    }

    pub(super) fn release_address_space() {}

    pub(super) fn exit(code: i32) -> ! {
        std::process::exit(code)
    }
}

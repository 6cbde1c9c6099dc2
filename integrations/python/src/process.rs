//! Runs work on all cores, even in a forked process.

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The ID of the process that imported the package. A forked process has another ID.
static FIRST: OnceLock<u32> = OnceLock::new();

pub(crate) fn begin() {
    FIRST.get_or_init(std::process::id);
}

/// Works without the GIL, on all cores.
pub(crate) fn detach<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> R {
    py.detach(|| match forked_pool() {
        None => work(),
        Some(pool) => pool.install(work),
    })
}

/// As [`detach`], but does short work on this thread, with the GIL: it ends before another thread
/// could take the GIL.
pub(crate) fn detach_if<R: Send>(
    py: Python<'_>,
    is_long: bool,
    work: impl FnOnce() -> R + Send,
) -> R {
    if is_long { detach(py, work) } else { work() }
}

/// The threads of a forked process, or None if it was not forked. It lacks its parent's threads,
/// and work for those would wait forever.
fn forked_pool() -> Option<&'static ThreadPool> {
    static POOL: Mutex<Option<(u32, &ThreadPool)>> = Mutex::new(None);

    let process = std::process::id();
    if FIRST.get() == Some(&process) {
        return None;
    }
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match *pool {
        Some((of, pool)) if of == process => Some(pool),
        _ => {
            let built: &ThreadPool = Box::leak(Box::new(ThreadPoolBuilder::new().build().ok()?));
            *pool = Some((process, built));
            Some(built)
        }
    }
}

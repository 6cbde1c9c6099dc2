//! Threads, also of a process that was forked.

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The process that has imported the package. One that it forks has another number.
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

/// The same, but with the GIL and on this thread if the work is short: it is over before another
/// thread could have the GIL.
pub(crate) fn detach_if<R: Send>(
    py: Python<'_>,
    is_long: bool,
    work: impl FnOnce() -> R + Send,
) -> R {
    if is_long { detach(py, work) } else { work() }
}

/// Rayon's threads in a process that was forked: those of its parent are not there, and work for
/// them would wait forever.
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

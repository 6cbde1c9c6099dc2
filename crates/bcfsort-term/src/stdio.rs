//! Stdin and stdout. One that is closed (`<&-`) is an error: the standard library puts `/dev/null`
//! in its place before `main`, where an input would be empty, and an output would vanish.

use crate::fault::Fault;
use std::io;

/// Stdin, unless the process began without.
pub fn stdin() -> Result<io::Stdin, Fault> {
    begun_with("stdin", began::STDIN)?;
    Ok(io::stdin())
}

/// Stdout, unless the process began without.
pub fn stdout() -> Result<io::Stdout, Fault> {
    begun_with("stdout", began::STDOUT)?;
    Ok(io::stdout())
}

fn begun_with(name: &str, stream: usize) -> Result<(), Fault> {
    if began::without(stream) {
        return Err(Fault::Usage(format!("{name} is closed")));
    }
    Ok(())
}

#[cfg(target_os = "linux")]
mod began {
    use rustix::io::fcntl_getfd;
    use rustix::stdio;
    use std::sync::atomic::{AtomicBool, Ordering};

    pub(super) const STDIN: usize = 0;
    pub(super) const STDOUT: usize = 1;

    static CLOSED: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

    // SAFETY: the C library calls the functions of this section one after the other before `main`,
    // in the only thread, and they may have no parameters. This one makes system calls and writes
    // to atomics, which needs nothing that is set up later.
    #[unsafe(link_section = ".init_array")]
    #[used]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        for (closed, stream) in CLOSED.iter().zip([stdio::stdin(), stdio::stdout()]) {
            closed.store(fcntl_getfd(stream).is_err(), Ordering::Relaxed);
        }
    }

    pub(super) fn without(stream: usize) -> bool {
        CLOSED[stream].load(Ordering::Relaxed)
    }
}

/// Elsewhere it is not known.
#[cfg(not(target_os = "linux"))]
mod began {
    pub(super) const STDIN: usize = 0;
    pub(super) const STDOUT: usize = 1;

    pub(super) const fn without(_stream: usize) -> bool {
        false
    }
}

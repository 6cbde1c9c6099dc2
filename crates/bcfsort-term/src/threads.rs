//! The threads of a command. Where the system starts none, it is an error and no panic.

use crate::fault::Fault;
use crate::memory;
use std::io;
use std::panic::resume_unwind;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread::{self, JoinHandle, Scope, ScopedJoinHandle};

/// Address space for each thread of the pool: its stack, and its part of buffers.
const THREAD: u64 = 8 << 20;

/// The least address space, for stacks and the program itself. With less, the standard library and
/// that of C end the process when a thread starts and finds no memory.
const LEAST: u64 = 32 << 20;

/// Address space that a thread needs to start, with some to spare.
const START: u64 = 4 << 20;

/// Bytes of stack for what a command does. The system's own may be smaller (`ulimit -s`), and one
/// that cannot grow ends the process without an error.
const STACK: usize = 4 << 20;

/// Threads that a command starts beside those of the pool, to read, write and show progress.
const OTHERS: usize = 4;

/// Runs a command on a thread with a stack of its own. Fails if there is too little address space.
/// To be called first, while there is no other thread.
pub fn run(command: impl FnOnce() -> ExitCode + Send + 'static) -> Result<ExitCode, Fault> {
    if let Some(free) = memory::address_space() {
        if free < LEAST {
            return Err(Fault::Usage(format!(
                "out of memory: {free} bytes are left of the address space or the data segment, \
                 and {LEAST} is the least that this command needs (ulimit -v, -d)"
            )));
        }
        share_the_heap();
    }
    let started = thread::Builder::new()
        .name("main".to_owned())
        .stack_size(STACK)
        .spawn(command);
    let thread = started.map_err(|error| not_started(&error))?;
    Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
}

/// Lets all threads take memory from one heap. By default, glibc reserves 64 MiB of address space
/// for a heap of each thread.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn share_the_heap() {
    use std::ffi::c_int;
    unsafe extern "C" {
        fn mallopt(parameter: c_int, value: c_int) -> c_int;
    }
    const M_ARENA_MAX: c_int = -8;
    // SAFETY: the function takes two numbers, and is safe to call while there is one thread only,
    // as here. A parameter that the C library does not know changes nothing.
    unsafe { mallopt(M_ARENA_MAX, 1) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn share_the_heap() {}

/// Starts the threads of rayon's pool: as many as `RAYON_NUM_THREADS` says, or one for each core.
/// There are fewer if the address space is limited to less than they need, or if the system starts
/// no more.
///
/// Started by rayon itself when they are first needed, threads that cannot be started are a panic.
pub fn start_pool() -> Result<(), Fault> {
    let fitting = memory::address_space().and_then(|free| usize::try_from(free / THREAD).ok());
    let most = wanted().min(fitting.unwrap_or(usize::MAX)).max(1);
    let mut workers = Vec::new();
    while workers.len() < most + OTHERS {
        let (hand_over, work) = mpsc::channel::<rayon::ThreadBuilder>();
        let started = thread::Builder::new().spawn(move || {
            if let Ok(work) = work.recv() {
                work.run();
            }
        });
        match started {
            Ok(thread) => workers.push((hand_over, thread)),
            Err(error) if workers.is_empty() => return Err(not_started(&error)),
            Err(_) => break,
        }
    }
    // The last ones have shown that the others can be started, and end.
    let pool = workers.len().saturating_sub(OTHERS).max(1);
    for (hand_over, thread) in workers.drain(pool..) {
        drop(hand_over);
        // It has waited for work, and got none.
        let _ = thread.join();
    }
    // Fails if there is a pool already.
    let _ = rayon::ThreadPoolBuilder::new()
        .num_threads(workers.len())
        .spawn_handler(|work| {
            let sent = workers[work.index()].0.send(work);
            sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
        })
        .build_global();
    Ok(())
}

/// The number of threads that the user or else the machine asks for.
fn wanted() -> usize {
    let asked = std::env::var("RAYON_NUM_THREADS").ok();
    let asked = asked.and_then(|count| count.parse().ok());
    asked
        .filter(|&count| count > 0)
        .unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Starts a thread in a scope.
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Fault> {
    check_space()?;
    let started = thread::Builder::new().spawn_scoped(scope, work);
    started.map_err(|error| not_started(&error))
}

/// Fails if a thread would find no memory when it starts, where it cannot tell of it.
fn check_space() -> Result<(), Fault> {
    if memory::address_space().is_some_and(|free| free < START) {
        return Err(not_started(&io::ErrorKind::OutOfMemory.into()));
    }
    Ok(())
}

/// Starts a thread that may as well not be there.
pub(crate) fn spawn_if_possible<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<JoinHandle<T>> {
    check_space().ok()?;
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(work).ok()
}

fn not_started(error: &io::Error) -> Fault {
    Fault::Usage(format!(
        "a thread cannot be started: {error}; allow more address space or threads (ulimit -v, -u)"
    ))
}

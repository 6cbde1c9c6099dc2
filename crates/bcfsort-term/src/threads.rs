//! The threads of a command. Where the system starts none, it is an error and no panic.

use crate::fault::Fault;
use crate::memory;
use std::io;
use std::sync::mpsc;
use std::thread::{self, Scope, ScopedJoinHandle};

/// Address space of a thread: its stack, and what the allocator reserves for it.
const THREAD: u64 = 256 << 20;

/// The least address space, for stacks and the program itself. With less, the standard library and
/// that of C end the process when a thread starts and finds no memory.
const LEAST: u64 = 32 << 20;

/// Bytes of its stack that the main thread is to have, if the address space is limited.
const STACK: usize = 1 << 19;

/// Threads that a command starts beside those of the pool, to read, write and show progress.
const OTHERS: usize = 4;

/// Fails if the address space is limited to less than 32 MiB. If it is limited, takes the main
/// thread's stack: one that cannot grow ends the process without an error.
pub fn check_space() -> Result<(), Fault> {
    let Some(free) = memory::address_space() else {
        return Ok(());
    };
    if free < LEAST {
        return Err(Fault::Usage(format!(
            "out of memory: {free} bytes of address space are left, and {LEAST} is the least that \
             this command needs (ulimit -v)"
        )));
    }
    #[expect(clippy::large_stack_arrays, reason = "these pages are what it is for")]
    std::hint::black_box([0_u8; STACK]);
    Ok(())
}

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
    let started = thread::Builder::new().spawn_scoped(scope, work);
    started.map_err(|error| not_started(&error))
}

fn not_started(error: &io::Error) -> Fault {
    Fault::Usage(format!(
        "a thread cannot be started: {error}; allow more address space or threads (ulimit -v, -u)"
    ))
}

//! Ends the command with a message and exit code 2 when it runs out of memory.

use bcfsort_datafusion::commands::{exit_without_memory, in_one_line, tell};
use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::{Cell, UnsafeCell};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// The least free address space that the command begins with. If a thread finds none when it
/// starts, the standard library or the C library aborts the process.
const LEAST: u64 = 32 << 20;

/// Address space for each thread of the runtime.
const THREAD: u64 = 16 << 20;

/// Mimalloc, with an orderly end when it runs out of memory: the process removes its temporary
/// files, prints a message and exits with code 2. The standard library would abort it.
pub(crate) struct OrExit;

// SAFETY: each call passes the caller's arguments to mimalloc, and returns its result. If that is
// null, the thread that ends the process gets memory of the reserve, and for other threads the call
// does not return. The reserve's memory is never passed to mimalloc.
#[expect(unsafe_code)]
unsafe impl GlobalAlloc for OrExit {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the contract, which is the same.
        let memory = unsafe { MiMalloc.alloc(layout) };
        if memory.is_null() {
            return RESERVE.take(layout);
        }
        memory
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the contract, which is the same.
        let memory = unsafe { MiMalloc.alloc_zeroed(layout) };
        if memory.is_null() {
            // It is zero, and handed out once only.
            return RESERVE.take(layout);
        }
        memory
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !RESERVE.has(memory) {
            // SAFETY: the caller keeps to the contract, which is the same.
            let grown = unsafe { MiMalloc.realloc(memory, layout, size) };
            if !grown.is_null() {
                return grown;
            }
        }
        // SAFETY: the caller vouches for the size.
        let larger = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let grown = RESERVE.take(larger);
        // SAFETY: both have this many bytes, and the new ones are nobody else's.
        unsafe { grown.copy_from_nonoverlapping(memory, layout.size().min(size)) };
        grown
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if !RESERVE.has(memory) {
            // SAFETY: the caller keeps to the contract, which is the same.
            unsafe { MiMalloc.dealloc(memory, layout) }
        }
    }
}

/// Memory to remove files with when there is no other left.
struct Reserve {
    bytes: UnsafeCell<[u8; Self::SIZE]>,
    used: AtomicUsize,
}

// SAFETY: no two calls hand out the same bytes.
#[expect(unsafe_code)]
unsafe impl Sync for Reserve {}

static RESERVE: Reserve = Reserve {
    bytes: UnsafeCell::new([0; Reserve::SIZE]),
    used: AtomicUsize::new(0),
};

thread_local! {
    /// Whether this thread ends the process.
    static ENDS: Cell<bool> = const { Cell::new(false) };
}

impl Reserve {
    const SIZE: usize = 256 << 10;

    fn has(&self, memory: *mut u8) -> bool {
        let begin = self.bytes.get() as usize;
        (begin..begin + Self::SIZE).contains(&(memory as usize))
    }

    /// Memory for the thread that ends the process. On any other thread, the call ends the process.
    #[cold]
    fn take(&self, layout: Layout) -> *mut u8 {
        if !ENDS.get() {
            ENDS.set(true);
            exit(layout.size());
        }
        let begin = self.bytes.get() as usize;
        let mut used = self.used.load(Ordering::Relaxed);
        loop {
            let from = (begin + used).next_multiple_of(layout.align()) - begin;
            let end = from.saturating_add(layout.size());
            if end > Self::SIZE {
                exit_without_memory(2);
            }
            let taken =
                (self.used).compare_exchange(used, end, Ordering::Relaxed, Ordering::Relaxed);
            match taken {
                Ok(_) => return self.bytes.get().cast::<u8>().wrapping_add(from),
                Err(other) => used = other,
            }
        }
    }
}

#[cold]
fn exit(size: usize) -> ! {
    // Formats without memory of its own, into a buffer on the stack.
    let mut text = [0; 160];
    let mut rest = &mut text[..];
    let _ = writeln!(
        rest,
        "error: out of memory: cannot allocate {size} bytes: raise the limits (ulimit -v, -d), \
         or set a lower --memory-limit"
    );
    let left = rest.len();
    let length = text.len() - left;
    end(&text[..length])
}

/// Ends the process with a message. If another thread does already, that is the only message.
fn end(message: &[u8]) -> ! {
    static IS_ENDING: AtomicBool = AtomicBool::new(false);
    if IS_ENDING.swap(true, Ordering::Relaxed) {
        std::thread::sleep(Duration::from_secs(1));
    } else {
        let _ = std::io::stderr().write_all(message);
    }
    exit_without_memory(2)
}

/// Prints each panic as one line, without a backtrace. A panic for lack of threads or memory ends
/// the process. Others may be caught, as those of the GPU's driver are.
pub(crate) fn shorten_panics() {
    // ENOMEM and EAGAIN, as `Display` and as `Debug` write them.
    const SIGNS: [&str; 5] = [
        "os error 12",
        "os error 11",
        "code: 12,",
        "code: 11,",
        "OutOfMemory",
    ];
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.payload_as_str().unwrap_or("without a message");
        if SIGNS.iter().any(|sign| text.contains(sign)) {
            let text = format!("error: out of memory or threads (ulimit -v, -u): {text}");
            end((in_one_line(&text) + "\n").as_bytes());
        }
        let place = panic.location().map(ToString::to_string);
        let place = place.unwrap_or_default();
        tell(&format!("error: a library failed at {place}: {text}"));
    }));
}

/// How many threads the runtime may have, if the address space is limited.
///
/// # Errors
///
/// If that is too little to begin with.
pub(crate) fn threads() -> anyhow::Result<Option<usize>> {
    let Some(free) = address_space() else {
        return Ok(None);
    };
    anyhow::ensure!(
        free >= LEAST,
        "out of memory: {free} bytes of address space are free, but this command needs {LEAST}: \
         raise the limit (ulimit -v)"
    );
    Ok(Some((free / THREAD) as usize))
}

/// Bytes of address space that are free, if they are limited.
fn address_space() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let limit = (limits.lines()).find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = limit.split_whitespace().next()?.parse().ok()?;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let used = (status.lines()).find_map(|line| line.strip_prefix("VmSize:"))?;
    let used: u64 = used.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(used << 10))
}

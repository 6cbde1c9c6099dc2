//! What a command does if it gets no memory: it says so, and ends with exit code 2.

use crate::output;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The system's allocator. Where that has no memory, the process ends with a message and exit code
/// 2, and no temporary file is left. (The standard library would abort it.)
pub struct OrExit;

// SAFETY: each call is passed to the system's allocator with the caller's arguments, and what it
// returns is returned, unless it is null: then nothing is.
unsafe impl GlobalAlloc for OrExit {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the contract, which is the same.
        or_exit(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the contract, which is the same.
        or_exit(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps to the contract, which is the same.
        or_exit(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps to the contract, which is the same.
        unsafe { System.dealloc(memory, layout) }
    }
}

fn or_exit(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() {
        exit(size);
    }
    memory
}

#[cold]
fn exit(size: usize) -> ! {
    static ENDS: AtomicBool = AtomicBool::new(false);
    if ENDS.swap(true, Ordering::Relaxed) {
        // Another thread got no memory either: one message is enough. (Or this one does not while
        // it ends the process, and shall not wait for ever.)
        std::thread::sleep(Duration::from_secs(1));
        output::exit_without_memory(2);
    }
    // Formats without memory of its own, into a buffer on the stack.
    let mut text = [0; 200];
    let mut rest = &mut text[..];
    let _ = writeln!(
        rest,
        "wgpu-bcfsort: out of memory: cannot allocate {size} bytes; limits (ulimit -v, -d) count, \
         and a sort takes less with less --memory"
    );
    let left = rest.len();
    let length = text.len() - left;
    let _ = std::io::stderr().write_all(&text[..length]);
    output::exit_without_memory(2)
}

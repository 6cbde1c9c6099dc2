//! The memory of a command: in huge pages where it is large. If there is none, the command says so,
//! and ends with exit code 2.

use crate::output;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The system's allocator. Where that has no memory, the process ends with a message and exit code
/// 2, and no temporary file is left. (The standard library would abort it.)
///
/// Large memory is in huge pages, where Linux has them on request: a sort of 10 million lines with
/// 16 threads took a sixth less time with a five-hundredth of the page faults.
pub struct Allocator;

/// Bytes from which on memory is in huge pages. So much the C library maps by itself, and does not
/// share a page with anything else; and the page more that it may take is little beside it.
const LARGE: usize = 32 << 20;

// SAFETY: each call is passed to the system's allocator with the caller's arguments, and what it
// returns is returned, unless it is null: then nothing is. The advice changes neither the contents
// nor the address.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the contract, which is the same.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the contract, which is the same.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps to the contract, which is the same.
        checked(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps to the contract, which is the same.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Memory of `size` bytes that the system's allocator has returned.
fn checked(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() {
        exit(size);
    }
    if size >= LARGE {
        ask_for_huge_pages(memory, size);
    }
    memory
}

/// Asks for huge pages in memory of these many bytes. Without them it works as well.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages(memory: *mut u8, size: usize) {
    const PAGE: usize = 64 << 10;
    // Whole pages, of any size that Linux has.
    let before = memory.align_offset(PAGE);
    let whole = size.saturating_sub(before) / PAGE * PAGE;
    if whole > 0 {
        // SAFETY: the range lies within memory that belongs to the caller, who gets it only after
        // this. The advice does not change what is read there.
        unsafe { libc::madvise(memory.add(before).cast(), whole, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
const fn ask_for_huge_pages(_: *mut u8, _: usize) {}

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

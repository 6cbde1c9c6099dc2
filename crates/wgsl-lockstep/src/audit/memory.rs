//! The memory limit of a run.

/// The memory limit of [`check_memory`] in bytes.
pub const MOST_MEMORY: u64 = 4 << 30;

/// Checks that `needed` bytes are available for a run. They are the sum of
/// [`Resource::memory_a_word`](crate::Resource::memory_a_word) over all words of buffers.
///
/// # Errors
///
/// A message if `needed` is above [`MOST_MEMORY`] or above the memory available now.
pub fn check_memory(needed: u64) -> Result<(), String> {
    check_memory_below(needed, MOST_MEMORY)
}

/// Checks that `needed` bytes are available, and that they are at most `most`.
pub(super) fn check_memory_below(needed: u64, most: u64) -> Result<(), String> {
    // Tests an allocation, since a failed allocation in the executor would abort the process.
    let room = || {
        let mut room: Vec<u8> = Vec::new();
        room.try_reserve_exact(usize::try_from(needed).ok()?).ok()
    };
    if needed > most || room().is_none() {
        return Err(format!(
            "the buffers and the records of who touched their words need {} MiB; at most {} MiB \
             are allowed",
            needed >> 20,
            most >> 20
        ));
    }
    Ok(())
}

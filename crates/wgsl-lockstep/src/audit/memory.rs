//! How much memory a run may take.

/// The most memory that [`check_memory`] allows a run.
pub const MOST_MEMORY: u64 = 4 << 30;

/// Checks that a run may have `needed` bytes: the sum of
/// [`Resource::memory_a_word`](crate::Resource::memory_a_word) over all words of buffers.
///
/// # Errors
///
/// A message if that is more than [`MOST_MEMORY`] or than the system gives now.
pub fn check_memory(needed: u64) -> Result<(), String> {
    // Tried out, since a failed allocation in the executor would end the process.
    let room = || {
        let mut room: Vec<u8> = Vec::new();
        room.try_reserve_exact(usize::try_from(needed).ok()?).ok()
    };
    if needed > MOST_MEMORY || room().is_none() {
        return Err(format!(
            "the buffers and the records of who touched their words need {} MiB; at most {} MiB \
             are allowed",
            needed >> 20,
            MOST_MEMORY >> 20
        ));
    }
    Ok(())
}

//! What is kept on disk for later runs.

use sha2::{Digest as _, Sha256};
use std::collections::HashSet;
use std::io::Write as _;
use std::path::PathBuf;

/// A digest of all of these, as the name of a file.
pub(crate) fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        // With its length: else "a", "bc" and "ab", "c" were the same.
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest
        .finalize()
        .iter()
        .fold(String::new(), |mut name, byte| {
            name += &format!("{byte:02x}");
            name
        })
}

/// A folder of files, each of words that are named by the digest of what they were made of.
pub(crate) struct Cache {
    pub(crate) folder: PathBuf,
}

/// Bytes of the checksum that each file begins with.
const SUM: usize = 32;

impl Cache {
    /// The words of this name; `None` if there are none, or if they are not as they were written.
    pub(crate) fn read(&self, name: &str) -> Option<Vec<u32>> {
        let bytes = std::fs::read(self.folder.join(name)).ok()?;
        let (sum, bytes) = bytes.split_at_checked(SUM)?;
        if sum != &Sha256::digest(bytes)[..] {
            return None;
        }
        Some(bytemuck::pod_collect_to_vec(bytes))
    }

    /// Writes them, all at once: who reads meanwhile finds what was there before, or nothing.
    pub(crate) fn write(&self, name: &str, words: &[u32]) -> Result<(), String> {
        let write = || {
            std::fs::create_dir_all(&self.folder)?;
            let bytes = bytemuck::cast_slice(words);
            let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
            file.write_all(&Sha256::digest(bytes))?;
            file.write_all(bytes)?;
            file.persist(self.folder.join(name))?;
            Ok(())
        };
        write().map_err(|e: std::io::Error| format!("{}: {e}", self.folder.display()))
    }

    /// Removes all files of other names.
    pub(crate) fn keep(&self, names: &HashSet<&str>) {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        for entry in entries.flatten() {
            if !names.contains(&*entry.file_name().to_string_lossy()) {
                // One that stays takes room, and does no harm.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

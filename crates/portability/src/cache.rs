//! Results stored on disk for later runs.

use sha2::{Digest as _, Sha256};
use std::collections::HashSet;
use std::io::Write as _;
use std::path::PathBuf;

/// A digest of all parts, as a file name.
pub(crate) fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        // The length distinguishes "a", "bc" from "ab", "c".
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

/// A folder of files with words. The name of each file is the digest of its sources.
pub(crate) struct Cache {
    pub(crate) folder: PathBuf,
}

/// Length of the checksum at the start of each file, in bytes.
const SUM: usize = 32;

impl Cache {
    /// Reads the words of this name. Returns `None` if the file is missing or damaged.
    pub(crate) fn read(&self, name: &str) -> Option<Vec<u32>> {
        let bytes = std::fs::read(self.folder.join(name)).ok()?;
        let (sum, bytes) = bytes.split_at_checked(SUM)?;
        if sum != &Sha256::digest(bytes)[..] {
            return None;
        }
        Some(bytemuck::pod_collect_to_vec(bytes))
    }

    /// Writes words atomically, so that concurrent readers find the old file or none.
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

    /// Removes all files with other names.
    pub(crate) fn keep(&self, names: &HashSet<&str>) {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        for entry in entries.flatten() {
            if !names.contains(&*entry.file_name().to_string_lossy()) {
                // A file that cannot be removed only wastes space.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

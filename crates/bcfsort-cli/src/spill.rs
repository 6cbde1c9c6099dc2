//! Temporary storage of sorted chunks on disk.

use bcfsort_term::fault::Fault;
use bcfsort_term::output::unnamed_file;
use std::cell::RefCell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::Path;
use std::rc::Rc;
use wgpu_bcfsort::SortKey;

/// Memory for the merge in bytes, shared by all runs.
const MEMORY: usize = 256 << 20;

/// Sorted runs of keys in one unnamed temporary file.
///
/// One file holds all runs: a file for each could exceed the limit on open files.
pub(crate) struct Spill<T> {
    file: File,
    name: String,
    /// End offset of each run in bytes.
    ends: Vec<u64>,
    key: PhantomData<T>,
}

impl<T: SortKey> Spill<T> {
    pub(crate) fn create(directory: &Path) -> Result<Self, Fault> {
        let name = format!("temporary file in {}", directory.display());
        let file =
            unnamed_file(directory).map_err(|error| Fault::io(&name, "cannot be made", &error))?;
        Ok(Self {
            file,
            name,
            ends: Vec::new(),
            key: PhantomData,
        })
    }

    /// Appends a run.
    pub(crate) fn push(&mut self, keys: &[T]) -> Result<(), Fault> {
        self.file
            .write_all(bytemuck::cast_slice(keys))
            .map_err(|error| Fault::io(&self.name, "cannot write", &error))?;
        let end = self.ends.last().copied().unwrap_or(0);
        self.ends.push(end + size_of_val(keys) as u64);
        Ok(())
    }

    /// Returns one iterator over the keys of each run.
    pub(crate) fn into_runs(self) -> Vec<Run<T>> {
        let shared = Rc::new(Shared {
            file: RefCell::new(self.file),
            name: self.name,
        });
        let buffer = (MEMORY / self.ends.len().max(1)).clamp(1 << 16, 4 << 20) / size_of::<T>();
        let mut position = 0;
        let run = |end| Run {
            shared: Rc::clone(&shared),
            position: std::mem::replace(&mut position, end),
            end,
            keys: Vec::new().into_iter(),
            buffer,
        };
        self.ends.into_iter().map(run).collect()
    }
}

struct Shared {
    file: RefCell<File>,
    name: String,
}

/// Iterator that reads the keys of one run.
pub(crate) struct Run<T> {
    shared: Rc<Shared>,
    position: u64,
    end: u64,
    keys: std::vec::IntoIter<T>,
    buffer: usize,
}

impl<T: SortKey> Run<T> {
    fn refill(&mut self) -> Result<(), Fault> {
        let left = (self.end - self.position) / T::KEY_TYPE.bytes();
        let len = usize::try_from(left).map_or(self.buffer, |left| left.min(self.buffer));
        let mut keys = vec![T::from_bits64(0); len];
        let mut file = self.shared.file.borrow_mut();
        file.seek(SeekFrom::Start(self.position))
            .and_then(|_| file.read_exact(bytemuck::cast_slice_mut(&mut keys)))
            .map_err(|error| Fault::io(&self.shared.name, "cannot read", &error))?;
        self.position += size_of_val(keys.as_slice()) as u64;
        self.keys = keys.into_iter();
        Ok(())
    }
}

impl<T: SortKey> Iterator for Run<T> {
    type Item = Result<T, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(key) = self.keys.next() {
            return Some(Ok(key));
        }
        if self.position == self.end {
            return None;
        }
        if let Err(fault) = self.refill() {
            // The iterator ends after an error.
            self.position = self.end;
            return Some(Err(fault));
        }
        self.keys.next().map(Ok)
    }
}

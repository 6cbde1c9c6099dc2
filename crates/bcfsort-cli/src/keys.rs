//! Numbers of several files, read as one input.

use crate::input::{Input, Inputs};
use bcfsort_term::fault::Fault;
use bcfsort_testkit::data::{DataError, Format, KeyReader};
use std::io::BufRead;
use wgpu_bcfsort::SortKey;

/// Reads the keys of files, one file after the other.
pub(crate) struct Keys<T> {
    inputs: Inputs,
    format: Format,
    /// The file that is read.
    name: String,
    reader: KeyReader<T, Box<dyn BufRead + Send>>,
    /// The keys of the files before.
    passed: u64,
}

impl<T: SortKey> Keys<T> {
    /// Opens the first file.
    pub(crate) fn open(mut inputs: Inputs, format: Format) -> Result<Self, Fault> {
        let first = inputs.first()?;
        Ok(Self {
            inputs,
            format,
            name: first.name.clone(),
            reader: reader(first, format),
            passed: 0,
        })
    }

    /// What to call the input in a message.
    pub(crate) fn name(&self) -> &str {
        match self.inputs.count {
            1 => &self.name,
            _ => "the input",
        }
    }

    /// The expected number of keys of all files, if their sizes are known. An estimate for text.
    pub(crate) fn expected(&self) -> Option<u64> {
        let bytes = self.inputs.bytes?;
        Some(KeyReader::<T, &[u8]>::expected_in(bytes, self.format))
    }

    /// The number of keys returned so far.
    pub(crate) fn count(&self) -> u64 {
        self.passed + self.reader.count()
    }

    /// True if there are no more keys.
    pub(crate) fn at_end(&mut self) -> Result<bool, Fault> {
        loop {
            if !self.reader.at_end().map_err(|error| self.fault(&error))? {
                return Ok(false);
            }
            if !self.open_next()? {
                return Ok(true);
            }
        }
    }

    /// Reads the next `max` keys, or fewer if these are all.
    pub(crate) fn read_chunk(&mut self, max: usize) -> Result<Vec<T>, Fault> {
        let mut keys = self.read_of_file(max)?;
        while keys.len() < max && self.open_next()? {
            let more = self.read_of_file(max - keys.len())?;
            if keys.is_empty() {
                keys = more;
                continue;
            }
            // All at once if their number is known, else twice as many each time.
            let left = self.expected().map(|all| all.saturating_sub(self.passed));
            let left = left.map_or(keys.len(), |left| left as usize);
            let room = left.max(more.len()).min(max - keys.len());
            if keys.capacity() - keys.len() < more.len() {
                keys.try_reserve_exact(room).map_err(|_| {
                    let count = (keys.len() + room) as u64;
                    let bytes = count * T::KEY_TYPE.bytes();
                    let key = T::KEY_TYPE;
                    self.fault(&DataError::OutOfMemory { count, key, bytes })
                })?;
            }
            keys.extend_from_slice(&more);
        }
        Ok(keys)
    }

    fn read_of_file(&mut self, max: usize) -> Result<Vec<T>, Fault> {
        let keys = self.reader.read_chunk(max);
        keys.map_err(|error| self.fault(&error))
    }

    /// Goes on to the next file. Returns false if there is none.
    fn open_next(&mut self) -> Result<bool, Fault> {
        let Some(next) = self.inputs.next()? else {
            return Ok(false);
        };
        self.passed += self.reader.count();
        self.name.clone_from(&next.name);
        self.reader = reader(next, self.format);
        Ok(true)
    }

    fn fault(&self, error: &DataError) -> Fault {
        Fault::data(&self.name, error)
    }
}

fn reader<T: SortKey>(input: Input, format: Format) -> KeyReader<T, Box<dyn BufRead + Send>> {
    KeyReader::new(input.stream, format).with_bytes(input.bytes)
}

//! Numbers of several files, read as one input.

use crate::input::{Input, Inputs};
use bcfsort_data::{DataError, Format, KeyReader, text_at_once};
use bcfsort_term::fault::Fault;
use std::io::BufRead;
use wgpu_bcfsort::SortKey;

/// How a sort of numbers divides its memory.
#[derive(Clone, Copy)]
pub(crate) struct KeysMemory {
    /// Bytes for the keys.
    pub(crate) keys: u64,
    /// Bytes of text in memory at a time; 0 for raw keys.
    pub(crate) text_at_once: u64,
}

impl KeysMemory {
    /// Divides `memory` bytes. All threads together parse and format a small piece of a text at a
    /// time, so the memory that it takes does not grow with their number beyond `memory`.
    pub(crate) fn new(memory: u64, format: Format) -> Self {
        if format != Format::Text {
            return Self {
                keys: memory,
                text_at_once: 0,
            };
        }
        let text_at_once = text_at_once(memory / 32) as u64;
        Self {
            // While a text is read: it, its keys in parts, and these joined. While one is written:
            // it, and the reader's buffer.
            keys: memory.saturating_sub(4 * text_at_once).max(text_at_once),
            text_at_once,
        }
    }
}

/// Reads the keys of files, one file after the other.
pub(crate) struct Keys<T> {
    inputs: Inputs,
    format: Format,
    /// Bytes of text that are in memory at a time, at most.
    text_at_once: u64,
    /// The file that is read.
    name: String,
    reader: KeyReader<T, Box<dyn BufRead + Send>>,
    /// The keys of the files before.
    passed: u64,
}

impl<T: SortKey> Keys<T> {
    /// Opens the first file. Of text, at most `text_at_once` bytes are in memory, and the keys that
    /// are parsed from it.
    pub(crate) fn open(
        mut inputs: Inputs,
        format: Format,
        text_at_once: u64,
    ) -> Result<Self, Fault> {
        let first = inputs.first()?;
        Ok(Self {
            inputs,
            format,
            text_at_once,
            name: first.name.clone(),
            reader: reader(first, format, text_at_once),
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
        self.reader = reader(next, self.format, self.text_at_once);
        Ok(true)
    }

    fn fault(&self, error: &DataError) -> Fault {
        Fault::data(&self.name, error)
    }
}

fn reader<T: SortKey>(
    input: Input,
    format: Format,
    text_at_once: u64,
) -> KeyReader<T, Box<dyn BufRead + Send>> {
    KeyReader::new(input.stream, format)
        .with_bytes(input.bytes)
        .with_text_at_once(text_at_once)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_takes_a_share_of_the_memory_however_many_threads_there_are() {
        let share = |threads, memory, format| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let memory = || KeysMemory::new(memory, format);
            let KeysMemory { keys, text_at_once } = pool.build().unwrap().install(memory);
            (keys, text_at_once)
        };
        let mib = 1 << 20;
        for threads in [1, 32] {
            assert_eq!(share(threads, 32 * mib, Format::Text), (28 * mib, mib));
            assert_eq!(share(threads, mib, Format::Text), (7 << 17, 1 << 15));
            assert_eq!(share(threads, mib, Format::Raw), (mib, 0));
        }
        // With much memory, the text takes what all threads need for full speed, and no more.
        assert_eq!(share(4, 1024 * mib, Format::Text), (1008 * mib, 4 * mib));
    }
}

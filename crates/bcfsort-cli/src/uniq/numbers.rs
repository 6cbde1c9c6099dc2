//! The command `uniq` for numbers.

use super::{Args, CHUNK_BYTES, CHUNK_KEYS, Counts, Groups, push_count};
use crate::keys::{Keys, KeysMemory};
use bcfsort_data::{Format, KeyWriter};
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::Progress;
use bcfsort_term::output::Output;
use std::io::Write;
use wgpu_bcfsort::SortKey;

/// Keeps the first of equal neighbours of type `T`.
pub(super) fn uniq<T: SortKey>(args: &Args, encoding: Format) -> Result<(), Fault> {
    let inputs = args.files.inputs(encoding == Format::Text)?;
    let text_at_once = KeysMemory::new(CHUNK_BYTES, encoding).text_at_once;
    let mut keys = Keys::<T>::open(inputs, encoding, text_at_once)?;
    let mut writing = Writing {
        output: args.files.output(&args.output)?,
        counts: Counts::create(args.counts.as_deref())?,
        encoding,
        counts_in_front: args.count,
    };
    let mut progress = Progress::new(args.quiet);
    let mut groups = Groups::new(args.kept());
    let mut last = None;
    loop {
        let chunk = keys.read_chunk(CHUNK_KEYS)?;
        let (mut firsts, mut counts) = (Vec::new(), Vec::new());
        let mut take = |first: &[T], count| {
            firsts.extend_from_slice(first);
            counts.push(count);
        };
        for key in &chunk {
            // Keys are equal in the total order if their bits are.
            let bits = key.to_bits64();
            let is_equal = last.replace(bits) == Some(bits);
            groups.push(std::slice::from_ref(key), is_equal, &mut take);
        }
        if chunk.is_empty() {
            groups.end(&mut take);
        }
        writing.write(&firsts, &counts)?;
        if chunk.is_empty() {
            return writing.counts.commit(writing.output);
        }
        let bytes = |keys: u64| keys * T::KEY_TYPE.bytes();
        progress.bytes("reading", bytes(keys.count()), keys.expected().map(bytes));
    }
}

/// The outputs.
struct Writing {
    output: Output,
    counts: Counts,
    encoding: Format,
    counts_in_front: bool,
}

impl Writing {
    fn write<T: SortKey>(&mut self, keys: &[T], counts: &[u64]) -> Result<(), Fault> {
        let name = &self.output.name;
        let mut writer = KeyWriter::new(Vec::new(), self.encoding);
        let written = writer.write(keys).and_then(|()| writer.finish());
        let mut bytes = written.map_err(|error| Fault::data(name, &error))?;
        if self.counts_in_front {
            let lines = bytes.split_inclusive(|&byte| byte == b'\n');
            let mut text = Vec::with_capacity(2 * bytes.len());
            for (line, &count) in lines.zip(counts) {
                push_count(count, &mut text);
                text.extend_from_slice(line);
            }
            bytes = text;
        }
        let done = self.output.write_all(&bytes);
        done.map_err(|error| Fault::io(&self.output.name, "cannot write", &error))?;
        self.counts.write(counts)
    }
}

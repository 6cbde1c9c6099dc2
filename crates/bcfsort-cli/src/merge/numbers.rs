//! The command `merge` for numbers.

use super::Args;
use super::streams::{Files, Shares, Stream, merge as merge_streams, open_all};
use crate::input::Inputs;
use crate::keys::KeysMemory;
use crate::numbers::{ByContender, Writing};
use crate::ordered::OrderedKeys;
use crate::spool::Spooled;
use bcfsort_data::{Format, KeyReader};
use bcfsort_term::engine::Contender;
use bcfsort_term::fault::Fault;
use bcfsort_term::notice::Progress;
use std::io::Read;
use std::ops::Range;
use wgpu_bcfsort::{Order, SortKey};

/// Merges sorted files of keys of type `T`.
pub(super) fn merge<T: SortKey>(args: &Args, encoding: Format) -> Result<(), Fault> {
    let inputs = args.files.inputs(encoding == Format::Text)?;
    let bytes = inputs.bytes;
    let memory = KeysMemory::new(args.memory.bytes(), encoding);
    let shares = Shares::new(memory.keys, inputs.count);
    let mut output = args.files.output(&args.output)?;
    let unique = args.unique.unique;
    if let (Format::Raw | Format::AssumedRaw, Some(bytes), false) = (encoding, bytes, unique) {
        output.reserve(bytes);
    }
    let directory = args.memory.directory(output.directory());
    let order = args.direction.order();
    let all = bytes.map(|bytes| KeyReader::<T, &[u8]>::expected_in(bytes, encoding));
    let contender = Contender::cpu();
    let format = ByContender::<T>::new(&contender, order, false);
    let mut files = Sorted {
        inputs,
        encoding,
        order,
        keys: usize::try_from(shares.chunk / T::KEY_TYPE.bytes()).unwrap_or(usize::MAX),
        // Parsed keys take up to twice as much as their text.
        text_at_once: shares.chunk / 4,
    };
    let streams = open_all(&format, &mut files, shares, &directory)?;
    let progress = Progress::new(args.quiet);
    let mut writing = Writing::new(output, (encoding, memory), unique, all, progress);
    merge_streams(&format, streams, &mut |block| writing.take(block))?;
    writing.finish()?;
    Ok(())
}

/// Sorted files of numbers.
struct Sorted {
    inputs: Inputs,
    encoding: Format,
    order: Order,
    /// Keys in a chunk.
    keys: usize,
    /// Bytes of text of each file in memory at a time.
    text_at_once: u64,
}

impl<'a, T: SortKey> Files<'a, T> for Sorted {
    fn next(&mut self) -> Result<Option<Stream<'a, T>>, Fault> {
        let Some(input) = self.inputs.next()? else {
            return Ok(None);
        };
        let (encoding, order, keys) = (self.encoding, self.order, self.keys);
        let mut file = OrderedKeys::new(input, encoding, order, false, self.text_at_once);
        Ok(Some(Box::new(move || Ok(file.next(keys)?))))
    }

    fn reopen(&self, spooled: &Spooled, run: Range<u64>) -> Stream<'a, T> {
        let name = spooled.name().to_owned();
        let mut left = (run.end - run.start) / T::KEY_TYPE.bytes();
        let mut part = spooled.part(run);
        let keys = self.keys;
        Box::new(move || {
            let count = usize::try_from(left).map_or(keys, |left| left.min(keys));
            left -= count as u64;
            // Not by a reader of keys: runs have the byte order of the machine.
            let mut chunk = vec![T::from_bits64(0); count];
            part.read_exact(bytemuck::cast_slice_mut(&mut chunk))
                .map_err(|error| Fault::io(&name, "cannot read", &error))?;
            Ok(Some(chunk).filter(|chunk| !chunk.is_empty()))
        })
    }
}

//! Any bytes as a file of keys: they are read or refused, whatever the sizes of the pieces they
//! come in, and what was read is written and read again the same.

#![no_main]

use bcfsort_data::{Format, KeyReader, KeyWriter, Pattern, Range, parse_count};
use libfuzzer_sys::fuzz_target;
use std::io::BufReader;
use wgpu_bcfsort::SortKey;

/// All keys in pieces of some size, or the error's text.
fn read<T: SortKey>(
    bytes: &[u8],
    format: Format,
    buffer: usize,
    piece: usize,
) -> Result<Vec<u64>, String> {
    let mut reader = KeyReader::<T, _>::new(BufReader::with_capacity(buffer, bytes), format);
    let mut keys = Vec::new();
    loop {
        let chunk = reader
            .read_chunk(piece)
            .map_err(|error| error.to_string())?;
        if chunk.is_empty() {
            assert!(reader.at_end().unwrap());
            assert_eq!(reader.count(), keys.len() as u64);
            return Ok(keys);
        }
        keys.extend(chunk.into_iter().map(SortKey::to_bits64));
    }
}

fn check<T: SortKey>(bytes: &[u8], format: Format, buffer: usize, piece: usize) {
    let read_at_once = read::<T>(bytes, format, 1 << 16, usize::MAX);
    assert_eq!(read::<T>(bytes, format, buffer, piece), read_at_once);
    let Ok(bits) = read_at_once else { return };
    let keys: Vec<T> = bits.iter().map(|&bits| T::from_bits64(bits)).collect();
    let mut writer = KeyWriter::new(Vec::new(), format);
    writer.write(&keys).unwrap();
    let written = writer.finish().unwrap();
    assert_eq!(read::<T>(&written, format, 1 << 16, usize::MAX), Ok(bits));
    if format == Format::Raw {
        assert_eq!(written, bytes);
    }
}

fuzz_target!(|input: (u8, u8, u8, &[u8])| {
    let (which, buffer, piece, bytes) = input;
    let format = Format::ALL[usize::from(which) % 2];
    let (buffer, piece) = (usize::from(buffer) + 1, usize::from(piece) + 1);
    match which / 2 % 6 {
        0 => check::<u32>(bytes, format, buffer, piece),
        1 => check::<i32>(bytes, format, buffer, piece),
        2 => check::<f32>(bytes, format, buffer, piece),
        3 => check::<u64>(bytes, format, buffer, piece),
        4 => check::<i64>(bytes, format, buffer, piece),
        _ => check::<f64>(bytes, format, buffer, piece),
    }
    if let Ok(text) = str::from_utf8(bytes) {
        let _ = parse_count(text);
        let _ = text.parse::<Pattern>();
        let _ = text.parse::<Range>();
    }
});

//! Sorts the records of a CSV file by two columns: ascending by a text, then descending by a
//! number. The GPU sorts the columns, and the host moves the records.
//!
//! ```text
//! cargo run --release --example csv_records
//! cargo run --release --example csv_records -- bodies.csv kind mass
//! ```

use std::io::Read;
use wgpu_bcfsort::{Comparator, Options, Order, Sorter, members};

const BODIES: &str = "name,kind,mass
Mercury,planet,3.30e23
Ceres,dwarf planet,9.38e20
Earth,planet,5.97e24
Titan,moon,1.35e23
Pluto,dwarf planet,1.31e22
Ganymede,moon,1.48e23
Mars,planet,6.42e23
";

/// Both columns of a record, and its index. Texts that share their first 16 bytes compare equal.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Row {
    text: [u32; 4],
    number: f32,
    record: u32,
}

const BY_TEXT_AND_NUMBER: &str = "
struct Row {
    text: array<u32, 4>,
    number: u32,
    record: u32,
}

// Ranks the bits of an f32 in the order of `total_cmp`, NaN and -0 included.
fn rank(bits: u32) -> u32 {
    return select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u);
}

fn precedes(a: Row, b: Row) -> bool {
    var left = a.text;
    var right = b.text;
    for (var i = 0u; i < 4u; i++) {
        if left[i] != right[i] {
            return left[i] < right[i];
        }
    }
    return rank(a.number) > rank(b.number);
}";

/// The first 16 bytes of a text, as words that compare like the text.
fn words(text: &str) -> [u32; 4] {
    let mut bytes = [0; 16];
    let len = text.len().min(16);
    bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    words
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (file, text, number) = match args.as_slice() {
        [] => (None, "kind", "mass"),
        [file, text, number] => (Some(file), text.as_str(), number.as_str()),
        _ => return Err("csv_records [FILE TEXT_COLUMN NUMBER_COLUMN]".into()),
    };
    let source: Box<dyn Read> = match file {
        Some(file) => Box::new(std::fs::File::open(file)?),
        None => Box::new(BODIES.as_bytes()),
    };
    let mut reader = csv::Reader::from_reader(source);
    let headers = reader.headers()?.clone();
    let column = |name: &str| {
        let found = headers.iter().position(|header| header == name);
        found.ok_or_else(|| format!("there is no column {name}"))
    };
    let (text, number) = (column(text)?, column(number)?);
    let records = reader.records().collect::<Result<Vec<_>, _>>()?;
    let row = |(i, record): (usize, &csv::StringRecord)| {
        Ok(Row {
            text: words(&record[text]),
            number: record[number].trim().parse()?,
            record: i as u32,
        })
    };
    let rows = records.iter().enumerate().map(row);
    let mut rows = rows.collect::<Result<Vec<Row>, Box<dyn std::error::Error>>>()?;
    // The CPU's result, for comparison.
    let mut expected = rows.clone();
    expected.sort_by(|a, b| (a.text.cmp(&b.text)).then(b.number.total_cmp(&a.number)));

    let members = members!(Row {
        text,
        number,
        record
    });
    let comparator = Comparator::of(BY_TEXT_AND_NUMBER, members)?;
    let sorter = Sorter::open(Options::default())?;
    sorter.sort_by(&mut rows, &comparator, Order::Ascending)?;
    let numbers = |rows: &[Row]| rows.iter().map(|row| row.record).collect::<Vec<_>>();
    assert_eq!(numbers(&rows), numbers(&expected));

    let mut writer = csv::Writer::from_writer(std::io::stdout());
    writer.write_record(&headers)?;
    for row in rows {
        writer.write_record(&records[row.record as usize])?;
    }
    writer.flush()?;
    Ok(())
}

//! Tables of several files, whose columns have the same names.

use super::dialect::Dialect;
use super::header::Header;
use super::{Table, count_of_cells};
use crate::records::reader::{ChunkReader, Front, Rearrange};
use bcfsort_data::listed;
use bcfsort_term::fault::Fault;
use std::collections::HashMap;

/// What further files must have in common with the first one.
pub(super) struct Union {
    /// The line ends are those of the first file.
    pub(super) dialect: Dialect,
    /// The header of the first file; `None` if files have none.
    pub(super) header: Option<Vec<u8>>,
    /// The name of the first file.
    pub(super) name: String,
    /// Bytes of memory for a header.
    pub(super) memory: u64,
}

impl Front for Union {
    fn open(&mut self, file: &mut ChunkReader) -> Result<Option<Rearrange>, Fault> {
        file.take_mark()?;
        let dialect = self.dialect;
        let (of_file, row) = dialect.of_next(file, self.memory)?;
        if row.is_empty() {
            return Ok(None);
        }
        let failed = |why: String| Fault::Usage(format!("{}: {why}", file.name()));
        // A file of one row that lacks its end has none that could differ.
        let has_end = row.ends_with(b"\r") || row.ends_with(b"\n");
        if of_file.line_end != dialect.line_end && has_end {
            return Err(failed(format!(
                "its line ends are not those of {}: one has carriage returns alone",
                self.name
            )));
        }
        let Some(header) = &self.header else {
            return Ok(None);
        };
        let places = places(dialect, header, &row)
            .map_err(|why| failed(format!("its columns are not those of {}: {why}", self.name)))?;
        file.next_record(&Table::rows(dialect), self.memory)?;
        Ok(places.map(|places| rearrange(dialect, places, self.name.clone())))
    }
}

/// Where each column of the first header stands in another one. `None` if all stand at the same
/// places. An error says which columns only one of them has.
fn places(dialect: Dialect, first: &[u8], other: &[u8]) -> Result<Option<Vec<usize>>, String> {
    let (first, other) = (Header::new(dialect, first), Header::new(dialect, other));
    // Columns of the same name are taken in their order.
    let mut of_other: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (index, name) in other.names().iter().enumerate().rev() {
        of_other.entry(name).or_default().push(index);
    }
    let mut places = Vec::with_capacity(first.count());
    let mut missing = Vec::new();
    for name in first.names() {
        match of_other.get_mut(&**name).and_then(Vec::pop) {
            Some(index) => places.push(index),
            None => missing.push(&**name),
        }
    }
    let mut left: Vec<usize> = of_other.into_values().flatten().collect();
    left.sort_unstable();
    let more: Vec<_> = left
        .into_iter()
        .map(|index| &*other.names()[index])
        .collect();
    if missing.is_empty() && more.is_empty() {
        let is_same = places.iter().copied().eq(0..places.len());
        return Ok((!is_same).then_some(places));
    }
    let mut why = Vec::new();
    if !missing.is_empty() {
        why.push(format!("it lacks {}", listed(&missing)));
    }
    let (again, more): (Vec<_>, Vec<_>) = (more.into_iter()).partition(|name| first.has(name));
    if !more.is_empty() {
        why.push(format!("only it has {}", listed(&more)));
    }
    if !again.is_empty() {
        why.push(format!("it has {} more often", listed(&again)));
    }
    Err(why.join(", and "))
}

/// Moves the cells of a row to where the first file has them. They stay as they are.
fn rearrange(dialect: Dialect, places: Vec<usize>, first: String) -> Rearrange {
    Box::new(move |row, rearranged| {
        let cells: Vec<_> = dialect.cells(row).collect();
        if cells.len() != places.len() && !cells.is_empty() {
            return Err(format!(
                "the row has {}, but the header {}: rows must be whole, since the columns of \
                 {first} have another order",
                count_of_cells(cells.len()),
                places.len()
            ));
        }
        let start = rearranged.len();
        if !cells.is_empty() {
            for (index, &place) in places.iter().enumerate() {
                if index > 0 {
                    rearranged.push(dialect.separator);
                }
                rearranged.extend_from_slice(&row[cells[place].clone()]);
            }
        }
        let end_of_row = rearranged.len() - start;
        rearranged.extend_from_slice(&row[end_of_row..]);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: Dialect = Dialect {
        separator: b',',
        quote: Some(b'"'),
        line_end: b'\n',
    };

    fn of(first: &str, other: &str) -> Result<Option<Vec<usize>>, String> {
        places(CSV, first.as_bytes(), other.as_bytes())
    }

    #[test]
    fn columns_are_matched_by_their_names() {
        assert_eq!(of("a,b\n", "a,b\r\n"), Ok(None));
        assert_eq!(of("a,\"b\"\n", "\"a\",b"), Ok(None));
        assert_eq!(of("a,b,c\n", "c,a,b\n"), Ok(Some(vec![1, 2, 0])));
        assert_eq!(of("a,b,a\n", "b,a,a\n"), Ok(Some(vec![1, 0, 2])));
        let why = |first, other| of(first, other).expect_err("other names");
        assert_eq!(why("a,b\n", "a,c\n"), "it lacks 'b', and only it has 'c'");
        assert_eq!(why("a,b\n", "a\n"), "it lacks 'b'");
        assert_eq!(why("a\n", "a,a\n"), "it has 'a' more often");
        // In linear time: otherwise this takes minutes.
        let columns = |prefix| -> String {
            let names = (0..200_000).map(|i| format!("{prefix}{i},"));
            names.collect()
        };
        let both = why(&columns('c'), &columns('e'));
        assert!(both.ends_with("'e19' and 199980 more"), "{both}");
    }

    #[test]
    fn cells_are_moved_as_they_are() {
        let rearrange = rearrange(CSV, vec![2, 0, 1], "first".to_owned());
        let of = |row: &str| {
            let mut rearranged = Vec::new();
            rearrange(row.as_bytes(), &mut rearranged)?;
            Ok::<_, String>(String::from_utf8(rearranged).expect("text"))
        };
        assert_eq!(of("1,2,3\r\n"), Ok("3,1,2\r\n".to_owned()));
        assert_eq!(of("\"x,\n\", 02,\n"), Ok(",\"x,\n\", 02\n".to_owned()));
        assert_eq!(of("\n"), Ok("\n".to_owned()));
        let why = of("1,2\n").expect_err("a short row");
        assert!(
            why.starts_with("the row has 2 cells, but the header 3"),
            "{why}"
        );
    }
}

//! The names of the columns.

use super::dialect::{Dialect, unquoted};
use bcfsort_data::listed;
use std::borrow::Cow;
use std::collections::HashMap;

/// The first row of a table, whose cells are the names of the columns.
pub(super) struct Header<'a> {
    names: Vec<Cow<'a, [u8]>>,
    /// The first column of each name, and whether there are more.
    places: HashMap<Cow<'a, [u8]>, (usize, bool)>,
}

impl<'a> Header<'a> {
    pub(super) fn new(dialect: Dialect, row: &'a [u8]) -> Self {
        let cells = dialect.cells(row);
        let names: Vec<_> = cells
            .map(|cell| unquoted(&row[cell], dialect.quote))
            .collect();
        let mut places = HashMap::with_capacity(names.len());
        for (name, index) in names.iter().zip(0..) {
            let place = places.entry(name.clone());
            place
                .and_modify(|place: &mut (usize, bool)| place.1 = true)
                .or_insert((index, false));
        }
        Self { names, places }
    }

    /// The number of columns.
    pub(super) const fn count(&self) -> usize {
        self.names.len()
    }

    /// The names of all columns.
    pub(super) fn names(&self) -> &[Cow<'a, [u8]>] {
        &self.names
    }

    /// True if there is a column of this name.
    pub(super) fn has(&self, name: &[u8]) -> bool {
        self.places.contains_key(name)
    }

    /// The column of this name, if there is one. Several are an error.
    pub(super) fn find(&self, name: &str) -> Option<Result<usize, String>> {
        let (index, is_repeated) = *self.places.get(name.as_bytes())?;
        Some(if is_repeated {
            Err("several columns have this name: give the column's number".to_owned())
        } else {
            Ok(index)
        })
    }

    /// The first names, for a message.
    pub(super) fn list(&self) -> String {
        match self.count() {
            0 => "the header is a blank line".to_owned(),
            _ => format!("the header has {}", listed(&self.names)),
        }
    }
}

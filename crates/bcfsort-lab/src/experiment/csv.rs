//! CSV tables with one row per measurement, so that any tool can group and plot them.

use bcfsort_term::fault::Fault;

/// A table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(columns: [&'static str; N]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    pub(crate) fn text(&self) -> Result<String, Fault> {
        let failed =
            |error: &dyn std::fmt::Display| Fault::Usage(format!("cannot write CSV: {error}"));
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer
            .write_record(&self.columns)
            .map_err(|error| failed(&error))?;
        for row in &self.rows {
            writer.write_record(row).map_err(|error| failed(&error))?;
        }
        let bytes = writer.into_inner().map_err(|error| failed(&error))?;
        String::from_utf8(bytes).map_err(|error| failed(&error))
    }
}

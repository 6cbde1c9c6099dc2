//! The files to sort, and whether they have the same columns.

use super::Format;
use super::table::places;
use anyhow::{Context, Result, bail, ensure};
use bcfsort_datafusion::commands::{parquet_footer, url_of};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::arrow::ipc::reader::{FileReader, StreamReader};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use std::ffi::OsString;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files of one format.
pub(super) struct Inputs {
    pub(super) format: Format,
    /// With its dot, as in the files' names.
    pub(super) extension: String,
    pub(super) files: Vec<PathBuf>,
}

impl Inputs {
    /// Finds the files of `inputs`: files, directories, patterns.
    pub(super) async fn find(session: &SessionContext, inputs: &[OsString]) -> Result<Self> {
        let mut files = Vec::new();
        for input in inputs {
            let path = Path::new(input);
            // A file may have the name of a pattern.
            if path.exists() && !path.is_dir() {
                Format::of(path)?;
                files.push(path.to_owned());
                continue;
            }
            let text = input.to_str();
            let is_pattern = text.is_some_and(|text| text.contains(['*', '?', '[']));
            let is_url = text.is_some_and(|text| text.contains("://"));
            ensure!(
                path.is_dir() || is_pattern || is_url,
                "{}: no such file",
                path.display()
            );
            let url = match text {
                Some(text) if !path.is_dir() => {
                    ListingTableUrl::parse(text).with_context(|| cannot_read(path))?
                }
                _ => ListingTableUrl::try_new(url_of(path)?, None)?,
            };
            let before = files.len();
            files.extend(list(session, &url).await?);
            ensure!(
                files.len() > before,
                "{}: no Parquet, Arrow, CSV or TSV files",
                path.display()
            );
        }
        let extension = extension(&files[0]);
        if let Some(other) = files
            .iter()
            .map(|file| self::extension(file))
            .find(|other| *other != extension)
        {
            bail!(
                "the inputs have several extensions, {extension} and {other}: sort them separately"
            );
        }
        Ok(Self {
            format: Format::of(&files[0])?,
            extension,
            files,
        })
    }

    /// The URLs of the files, in which no character is taken for a pattern.
    pub(super) fn urls(&self) -> Result<Vec<String>> {
        let url = |file: &PathBuf| {
            ensure!(
                file.to_str().is_some(),
                "{}: the name is not UTF-8: rename the file, or sort CSV or TSV to CSV or TSV",
                file.display()
            );
            Ok(url_of(file)?.to_string())
        };
        self.files.iter().map(url).collect()
    }

    /// The message if a file cannot be read, and it is not known which.
    pub(super) fn cannot_read(&self) -> String {
        const FEW: usize = 3;
        let few: Vec<String> = (self.files.iter().take(FEW))
            .map(|file| file.display().to_string())
            .collect();
        let more = if self.files.len() > FEW { ", ..." } else { "" };
        format!("cannot read {}{more}", few.join(", "))
    }

    /// The columns of all files, with the metadata of the first one.
    ///
    /// Fails if the files differ in the names or types of columns. The order may differ.
    pub(super) fn schema(&self) -> Result<Schema> {
        let first = schema_of(&self.files[0], self.format)?;
        let mut fields: Vec<Arc<Field>> = first.fields().to_vec();
        let names = |schema: &Schema| -> Vec<String> {
            let fields = schema.fields().iter();
            fields.map(|field| field.name().clone()).collect()
        };
        let ours = names(&first);
        for file in &self.files[1..] {
            let schema = schema_of(file, self.format)?;
            let theirs = names(&schema);
            let places = places((&self.files[0], &ours), (file, &theirs))?;
            for (column, field) in fields.iter_mut().enumerate() {
                let place = places.as_ref().map_or(column, |places| places[column]);
                let other = schema.field(place);
                ensure!(
                    other.data_type() == field.data_type(),
                    "the inputs have different columns: {:?} is {} in {}, and {} in {}",
                    field.name(),
                    other.data_type(),
                    file.display(),
                    field.data_type(),
                    self.files[0].display()
                );
                if other.is_nullable() && !field.is_nullable() {
                    *field = Arc::new(field.as_ref().clone().with_nullable(true));
                }
            }
        }
        Ok(Schema::new_with_metadata(fields, first.metadata().clone()))
    }
}

async fn list(session: &SessionContext, url: &ListingTableUrl) -> Result<Vec<PathBuf>> {
    let state = session.state();
    let store = session.runtime_env().object_store(url)?;
    let found: Vec<_> = (url.list_all_files(&state, &store, "").await?)
        .try_collect()
        .await?;
    let mut files: Vec<PathBuf> = found
        .iter()
        .map(|file| PathBuf::from(format!("/{}", file.location)))
        .filter(|file| Format::of(file).is_ok())
        .collect();
    files.sort();
    Ok(files)
}

/// The end of a file's name, from its last dot on.
fn extension(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.rfind('.')
        .map_or(String::new(), |dot| name[dot..].to_owned())
}

fn cannot_read(path: &Path) -> String {
    format!("cannot read {}", path.display())
}

fn schema_of(path: &Path, format: Format) -> Result<Schema> {
    Ok(match format {
        Format::Arrow => {
            let file = File::open(path).with_context(|| cannot_read(path))?;
            let schema = match FileReader::try_new(BufReader::new(file), None) {
                Ok(reader) => reader.schema(),
                // The file may be in Arrow's stream format.
                Err(error) => File::open(path)
                    .ok()
                    .and_then(|file| StreamReader::try_new(file, None).ok())
                    .map(|reader| reader.schema())
                    .ok_or(error)
                    .with_context(|| cannot_read(path))?,
            };
            schema.as_ref().clone()
        }
        _ => parquet_footer(path)?.schema().as_ref().clone(),
    })
}

//! The columns to sort by, as the command line has them.

use anyhow::{Result, bail};

/// How the cells of a column compare, if the command line says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// By bytes.
    Str,
    /// Any decimal number, by its exact value.
    Num,
    /// By the instant.
    Date,
}

impl Kind {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "str" => Some(Self::Str),
            "num" => Some(Self::Num),
            "date" => Some(Self::Date),
            _ => None,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Str => "str",
            Self::Num => "num",
            Self::Date => "date",
        }
    }
}

/// A column to sort by.
#[derive(Clone, Debug)]
pub(super) struct Key {
    name: String,
    kind: Option<Kind>,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

impl Key {
    /// Finds the column among these names, and how its cells compare.
    ///
    /// If a column is named `a:num`, then `:num` is part of the name.
    pub(super) fn find(&self, names: &[impl AsRef<str>]) -> Result<(usize, Option<Kind>)> {
        let places = |name: &str| {
            let all = names.iter().enumerate();
            let mut all = all.filter(|(_, other)| other.as_ref() == name);
            (all.next().map(|(index, _)| index), all.next().is_some())
        };
        if let Some(kind) = self.kind
            && let (Some(index), false) = places(&format!("{}:{}", self.name, kind.name()))
        {
            return Ok((index, None));
        }
        match places(&self.name) {
            (Some(index), false) => Ok((index, self.kind)),
            (Some(_), true) => bail!(
                "several columns are named {:?}: rename all but one",
                self.name
            ),
            (None, _) => {
                if names.iter().any(|name| name.as_ref().contains('\0')) {
                    bail!(
                        "no column {:?}: names have NUL characters, as if the file were in UTF-16: \
                         iconv -f UTF-16 -t UTF-8 makes UTF-8 of it",
                        self.name
                    );
                }
                if names.is_empty() {
                    bail!("no column {:?}: the input has no columns", self.name);
                }
                bail!("no column {:?}: there are {}", self.name, listed(names))
            }
        }
    }
}

/// The first of these names, for a message.
pub(super) fn listed(names: &[impl AsRef<str>]) -> String {
    const FEW: usize = 20;
    let few = names.iter().take(FEW);
    let few: Vec<String> = few.map(|name| format!("{:?}", name.as_ref())).collect();
    match names.len().checked_sub(FEW) {
        None | Some(0) => few.join(", "),
        Some(more) => format!("{} and {more} more", few.join(", ")),
    }
}

impl std::str::FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut name = text;
        let (mut descending, mut nulls_first, mut kind) = (None, None, None);
        // From the end: names may have colons.
        while let Some((rest, word)) = name.rsplit_once(':') {
            let is_new = match word {
                "asc" | "desc" => descending.replace(word == "desc").is_none(),
                "nulls-first" | "nulls-last" => {
                    nulls_first.replace(word == "nulls-first").is_none()
                }
                _ => match Kind::parse(word) {
                    Some(given) => kind.replace(given).is_none(),
                    None => break,
                },
            };
            if !is_new {
                return Err(format!("{word} contradicts or repeats another word"));
            }
            name = rest;
        }
        if name.is_empty() {
            return Err("a column has no name".to_owned());
        }
        let descending = descending.unwrap_or(false);
        Ok(Self {
            name: name.to_owned(),
            kind,
            descending,
            nulls_first: nulls_first.unwrap_or(descending),
        })
    }
}

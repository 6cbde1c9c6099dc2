//! The keys of GNU sort: `-k F[.C][OPTIONS][,F[.C][OPTIONS]]`, and their options.

use super::super::key::order;
use wgpu_bcfsort::Order;

/// One key of a line: from a position to another one, or to the line's end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineKey {
    pub(super) start: Position,
    pub(super) end: Option<Position>,
    pub(super) comparison: Comparison,
    pub(super) characters: Characters,
    pub(super) order: Order,
}

/// A byte in a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// From 0.
    pub(super) field: usize,
    /// From 0. An end is the byte behind the key, and 0 is the end of the field.
    pub(super) byte: usize,
    /// Bytes are counted from the first one that is no blank.
    pub(super) skips_blanks: bool,
}

/// How fields compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Comparison {
    #[default]
    Bytes,
    Numeric,
    General,
    Human,
    Month,
    Version,
    Natural,
}

impl Comparison {
    /// Those that have a letter, which is that of GNU sort but for natural order.
    const ALL: [(Self, u8); 6] = [
        (Self::Numeric, b'n'),
        (Self::General, b'g'),
        (Self::Human, b'h'),
        (Self::Month, b'M'),
        (Self::Version, b'V'),
        (Self::Natural, b'N'),
    ];
}

/// Which characters of a field count, and as which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Characters {
    ignored: Ignored,
    /// Letters count as uppercase.
    ignores_case: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ignored {
    #[default]
    None,
    /// All but printable ones.
    Nonprinting,
    /// All but letters, digits and blanks.
    Punctuation,
}

impl Characters {
    /// True if all count as they are.
    pub(super) fn are_all(self) -> bool {
        self == Self::default()
    }

    /// What counts of a field.
    pub(super) fn of(self, field: &[u8]) -> impl Iterator<Item = u8> {
        let counts = move |byte: u8| match self.ignored {
            Ignored::None => true,
            Ignored::Nonprinting => matches!(byte, b' '..=b'~'),
            Ignored::Punctuation => {
                byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'\t' | b'\n')
            }
        };
        let counting = field.iter().copied().filter(move |&byte| counts(byte));
        counting.map(move |byte| {
            if self.ignores_case {
                byte.to_ascii_uppercase()
            } else {
                byte
            }
        })
    }
}

/// The options of one key, or of all keys that have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// True for each of [`Comparison::ALL`] that is given.
    comparisons: [bool; 6],
    characters: Characters,
    reverse: bool,
    /// Leading blanks do not count where the key begins, and where it ends.
    skips_blanks: [bool; 2],
}

/// Where options stand: at the start or the end of a key, or for all keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    End,
    All,
}

/// The letters of all options, as messages list them.
const LETTERS: &str = "bdfghiMnNrV";

impl Options {
    /// The options that these letters of GNU sort stand for, and `N`.
    pub(super) fn of_all(letters: impl IntoIterator<Item = u8>) -> Self {
        let mut options = Self::default();
        for letter in letters {
            options.set(letter, Place::All);
        }
        options
    }

    /// Sets an option. False if there is none with this letter.
    fn set(&mut self, letter: u8, place: Place) -> bool {
        match letter {
            b'b' => {
                self.skips_blanks[0] |= place != Place::End;
                self.skips_blanks[1] |= place != Place::Start;
            }
            b'd' => self.characters.ignored = Ignored::Punctuation,
            b'f' => self.characters.ignores_case = true,
            b'i' => {
                // What d ignores includes what i does.
                if self.characters.ignored == Ignored::None {
                    self.characters.ignored = Ignored::Nonprinting;
                }
            }
            b'r' => self.reverse = true,
            _ => {
                let mut all = Comparison::ALL.iter();
                match all.position(|(_, of)| letter == *of) {
                    Some(place) => self.comparisons[place] = true,
                    None => return false,
                }
            }
        }
        true
    }

    /// How fields compare. An error if there are several ways.
    fn comparison(&self) -> Result<Comparison, String> {
        let all = Comparison::ALL.into_iter().zip(self.comparisons);
        let mut given = all.filter_map(|(comparison, is_given)| is_given.then_some(comparison));
        let Some((comparison, letter)) = given.next() else {
            return Ok(Comparison::Bytes);
        };
        let ignored = match (comparison, self.characters.ignored) {
            (Comparison::Version | Comparison::Natural, _) | (_, Ignored::None) => None,
            (_, Ignored::Nonprinting) => Some(b'i'),
            (_, Ignored::Punctuation) => Some(b'd'),
        };
        let Some(other) = given.next().map(|(_, letter)| letter).or(ignored) else {
            return Ok(comparison);
        };
        Err(format!(
            "the options {} and {} exclude each other",
            char::from(letter),
            char::from(other)
        ))
    }
}

impl LineKey {
    /// The key that is the whole line.
    pub(super) fn line(options: &Options) -> Result<Self, String> {
        Self::new(Position::default(), None, options)
    }

    fn new(start: Position, end: Option<Position>, options: &Options) -> Result<Self, String> {
        let skips = options.skips_blanks;
        let skipping = |position, skips_blanks| Position {
            skips_blanks,
            ..position
        };
        Ok(Self {
            start: skipping(start, skips[0]),
            end: end.map(|end| skipping(end, skips[1])),
            comparison: options.comparison()?,
            characters: options.characters,
            order: order(options.reverse),
        })
    }

    /// Parses `F[.C][OPTIONS][,F[.C][OPTIONS]]`. A key without options has those of all keys.
    pub(super) fn parse(text: &str, of_all: &Options) -> Result<Self, String> {
        let mut options = Options::default();
        let mut rest = text;
        let (start, byte) = position(&mut rest)?;
        let byte = byte.unwrap_or(1).checked_sub(1);
        let start = Position {
            byte: byte.ok_or("bytes are counted from 1")?,
            ..start
        };
        letters(&mut rest, &mut options, Place::Start);
        let end = match rest.strip_prefix(',') {
            None => None,
            Some(behind) => {
                rest = behind;
                let (end, byte) = position(&mut rest)?;
                letters(&mut rest, &mut options, Place::End);
                Some(Position {
                    byte: byte.unwrap_or(0),
                    ..end
                })
            }
        };
        if let Some(stray) = rest.chars().next() {
            return Err(if stray.is_ascii_alphabetic() {
                let all: Vec<String> = LETTERS.chars().map(String::from).collect();
                format!("there is no option '{stray}': {} there are", all.join(", "))
            } else {
                format!(
                    "'{}' is out of place: F[.C][OPTIONS][,F[.C][OPTIONS]]",
                    rest.escape_debug()
                )
            });
        }
        let has_none = options == Options::default();
        Self::new(start, end, if has_none { of_all } else { &options })
    }
}

/// Removes the letters of options.
fn letters(text: &mut &str, options: &mut Options, place: Place) {
    while let Some(&letter) = text.as_bytes().first() {
        if !options.set(letter, place) {
            break;
        }
        *text = &text[1..];
    }
}

/// Removes `F[.C]`, and returns the beginning of the field, and C.
fn position(text: &mut &str) -> Result<(Position, Option<usize>), String> {
    let field = number(text)?.checked_sub(1);
    let position = Position {
        field: field.ok_or("fields are counted from 1")?,
        ..Position::default()
    };
    let byte = match text.strip_prefix('.') {
        None => None,
        Some(rest) => {
            *text = rest;
            Some(number(text)?)
        }
    };
    Ok((position, byte))
}

/// Removes a number, as C does: after white space, and a plus. Large ones are the largest one.
fn number(text: &mut &str) -> Result<usize, String> {
    let space = |c: char| matches!(c, ' ' | '\t'..='\r');
    let trimmed = text.trim_start_matches(space);
    let trimmed = trimmed.strip_prefix('+').unwrap_or(trimmed);
    let other = trimmed.find(|c: char| !c.is_ascii_digit());
    let (digits, rest) = trimmed.split_at(other.unwrap_or(trimmed.len()));
    if digits.is_empty() {
        let end = text.find([',', '.']);
        let shown = &text[..end.unwrap_or(text.len())];
        return Err(format!(
            "'{}' is not a number: F[.C][OPTIONS][,F[.C][OPTIONS]]",
            shown.escape_debug()
        ));
    }
    *text = rest;
    Ok(digits.parse().unwrap_or(usize::MAX))
}

//! What not every device has, named in plain words and with its location: naga says only which of
//! its own flags is missing, and of types not where.

use super::{Source, validate_with};
use crate::Error;
use naga::valid::Capabilities;
use naga::{Module, Span};

/// Something that takes a feature of the device.
pub(super) struct Feature {
    capability: Capabilities,
    /// Why it is refused.
    why: &'static str,
    /// Whether a word of a text is about it.
    is_word: fn(&str) -> bool,
}

pub(super) const F16: Feature = Feature {
    capability: Capabilities::SHADER_FLOAT16,
    why: "f16 is not supported in comparators, as not every device has it: have two of them in a \
          u32, and read them by unpack2x16float",
    is_word: |word| {
        let is_alias = word.starts_with("vec") || word.starts_with("mat");
        word == "f16" || is_alias && word.ends_with('h') || is_number(word, &["h"])
    },
};

const FEATURES: [Feature; 4] = [
    F16,
    Feature {
        capability: Capabilities::FLOAT64,
        why: "f64 is not supported in comparators, as not every device has it",
        is_word: |word| word == "f64" || is_number(word, &["lf"]),
    },
    Feature {
        capability: Capabilities::SHADER_INT64,
        why: "i64 and u64 are not supported in comparators, as not every device has them: compare \
              the two words of each",
        is_word: |word| ["i64", "u64"].contains(&word) || is_number(word, &["li", "lu"]),
    },
    Feature {
        capability: Capabilities::SUBGROUP,
        why: "subgroup operations are not supported in comparators, whose lanes do not compare at \
              the same time",
        is_word: |word| word.starts_with("subgroup") || word.starts_with("quad"),
    },
];

fn is_number(word: &str, suffixes: &[&str]) -> bool {
    let ends = |suffix: &&str| word.ends_with(suffix);
    word.starts_with(|c: char| c.is_ascii_digit()) && suffixes.iter().any(ends)
}

/// What naga refuses a module for, if it is a feature: with that one naga says something else, or
/// nothing.
pub(super) fn taken(module: &Module, wgsl: &str, why: &str) -> Option<&'static Feature> {
    FEATURES.iter().find(|feature| {
        let otherwise = validate_with(module, wgsl, feature.capability);
        otherwise.err().as_deref() != Some(why)
    })
}

impl Feature {
    /// The error, with the first location that needs the feature.
    pub(super) fn refuse(&self, source: Source) -> Error {
        let words = words(source.0);
        let is_enabled = |at: usize| at > 0 && words[at - 1].0 == "enable";
        let mut about = (0..words.len()).filter(|&at| (self.is_word)(words[at].0));
        // To enable it is no use of it.
        let first = about.find(|&at| !is_enabled(at));
        let span = first.map_or(Span::UNDEFINED, |at| words[at].1);
        source.refuse(span, self.why)
    }
}

/// The names, keywords and numbers of a text, and where they are; no comments.
fn words(wgsl: &str) -> Vec<(&str, Span)> {
    let mut words = Vec::new();
    let mut rest = wgsl;
    while let Some(next) = rest.chars().next() {
        let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
        // (A point belongs to a number, and ends a name.)
        let is_of_this = |c| is_of_word(c) || c == '.' && next.is_ascii_digit();
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            len_of_comment(rest)
        } else if is_of_word(next) {
            let len = rest.find(|c| !is_of_this(c)).unwrap_or(rest.len());
            let at = wgsl.len() - rest.len();
            words.push((&rest[..len], Span::new(at as u32, (at + len) as u32)));
            len
        } else {
            next.len_utf8()
        };
        rest = &rest[len..];
    }
    words
}

/// Bytes of the comment that a text begins with, in which there may be others.
fn len_of_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        let step = match rest {
            [b'/', b'*', ..] => {
                depth += 1;
                2
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_and_comments_are_none() {
        let text = "enable f16; // f16\n/* a /* b */ */vec3h(1.5h, a.x) -é_1/**/2lu";
        let found = words(text);
        let expected = ["enable", "f16", "vec3h", "1.5h", "a", "x", "é_1", "2lu"];
        assert_eq!(
            found.iter().map(|word| word.0).collect::<Vec<_>>(),
            expected
        );
        for (word, span) in found {
            assert_eq!(&text[span.to_range().unwrap()], word);
        }
        for text in ["", "/*", "/*/", "//", "1", "/* é", "é"] {
            assert!(words(text).len() <= 1, "{text}");
        }
    }
}

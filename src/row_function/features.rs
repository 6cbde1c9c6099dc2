//! Errors for optional device features, with a plain name and a location. naga only names its own
//! missing flag, and gives no location for types.

use super::{Source, validate_with};
use crate::error::Error;
use naga::valid::Capabilities;
use naga::{Module, Span};

/// A part of WGSL that needs a device feature.
pub(super) struct Feature {
    capability: Capabilities,
    /// The error message.
    why: &'static str,
    /// Returns true if a token uses the feature.
    is_token: fn(&str) -> bool,
}

pub(super) const F16: Feature = Feature {
    capability: Capabilities::SHADER_FLOAT16,
    why: "f16 is not supported, as not every device has it: have two of them in a \
          u32, and read them by unpack2x16float",
    is_token: |token| {
        let is_alias = token.starts_with("vec") || token.starts_with("mat");
        token == "f16" || is_alias && token.ends_with('h') || is_number(token, &["h"])
    },
};

const FEATURES: [Feature; 4] = [
    F16,
    Feature {
        capability: Capabilities::FLOAT64,
        why: "f64 is not supported, as not every device has it",
        is_token: |token| token == "f64" || is_number(token, &["lf"]),
    },
    Feature {
        capability: Capabilities::SHADER_INT64,
        why: "i64 and u64 are not supported, as not every device has them: compare the two words \
              of each",
        is_token: |token| ["i64", "u64"].contains(&token) || is_number(token, &["li", "lu"]),
    },
    Feature {
        capability: Capabilities::SUBGROUP,
        why: "subgroup operations are not supported, as lanes do not call the function at the \
              same time",
        is_token: |token| token.starts_with("subgroup") || token.starts_with("quad"),
    },
];

fn is_number(token: &str, suffixes: &[&str]) -> bool {
    let ends = |suffix: &&str| token.ends_with(suffix);
    token.starts_with(|c: char| c.is_ascii_digit()) && suffixes.iter().any(ends)
}

/// The missing feature that caused naga's error `why`, if it was one. With that feature enabled,
/// naga gives another error or none.
pub(super) fn missing(module: &Module, wgsl: &str, why: &str) -> Option<&'static Feature> {
    FEATURES.iter().find(|feature| {
        let enabled = validate_with(module, wgsl, feature.capability);
        enabled.err().as_deref() != Some(why)
    })
}

impl Feature {
    /// An error at the first use of the feature.
    pub(super) fn refuse(&self, source: Source) -> Error {
        let tokens = tokens(source.wgsl);
        let is_enabled = |at: usize| at > 0 && tokens[at - 1].0 == "enable";
        let mut uses = (0..tokens.len()).filter(|&at| (self.is_token)(tokens[at].0));
        // An `enable` directive is not a use.
        let first = uses.find(|&at| !is_enabled(at));
        let span = first.map_or(Span::UNDEFINED, |at| tokens[at].1);
        source.refuse(span, self.why)
    }
}

/// The tokens of a text that are names, keywords or numbers, with their spans.
fn tokens(wgsl: &str) -> Vec<(&str, Span)> {
    let mut tokens = Vec::new();
    let mut rest = wgsl;
    while let Some(next) = rest.chars().next() {
        let is_of_token = |c: char| c.is_alphanumeric() || c == '_';
        // A point is a part of a number, and ends a name.
        let continues = |c| is_of_token(c) || c == '.' && next.is_ascii_digit();
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            len_of_comment(rest)
        } else if is_of_token(next) {
            let len = rest.find(|c| !continues(c)).unwrap_or(rest.len());
            let at = wgsl.len() - rest.len();
            tokens.push((&rest[..len], Span::new(at as u32, (at + len) as u32)));
            len
        } else {
            next.len_utf8()
        };
        rest = &rest[len..];
    }
    tokens
}

/// The length in bytes of the block comment that a text begins with. Block comments nest.
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
    fn tokens_are_found_and_comments_are_skipped() {
        let text = "enable f16; // f16\n/* a /* b */ */vec3h(1.5h, a.x) -é_1/**/2lu";
        let found = tokens(text);
        let expected = ["enable", "f16", "vec3h", "1.5h", "a", "x", "é_1", "2lu"];
        assert_eq!(
            found.iter().map(|token| token.0).collect::<Vec<_>>(),
            expected
        );
        for (token, span) in found {
            assert_eq!(&text[span.to_range().unwrap()], token);
        }
        for text in ["", "/*", "/*/", "//", "1", "/* é", "é"] {
            assert!(tokens(text).len() <= 1, "{text}");
        }
    }
}

//! Text of files in messages.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The number of bytes that [`clipped`] shows.
const SHOWN: usize = 40;

/// True if a terminal would not print the character, but obey it: control characters, and those
/// that change the direction of text or take no room.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// The text with control characters as escapes, which a terminal does not obey. Line feeds and tabs
/// stay.
///
/// # Examples
///
/// ```
/// use bcfsort_data::escaped;
/// assert_eq!(escaped("größe\t\u{1b}[2J"), "größe\t\\u{1b}[2J");
/// ```
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    let is_escaped = |c| is_hidden(c) && !matches!(c, '\n' | '\t');
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::new();
    for c in text.chars() {
        push(&mut escaped, c, is_escaped(c));
    }
    Cow::Owned(escaped)
}

/// The start of a text from a file on one line, with control characters and bytes that are not
/// UTF-8 as escapes.
///
/// # Examples
///
/// ```
/// use bcfsort_data::clipped;
/// assert_eq!(clipped(b"a\nb\xff"), "a\\nb\\xff");
/// assert_eq!(clipped(&[b'x'; 50]), "x".repeat(40) + "...");
/// ```
#[must_use]
pub fn clipped(text: &[u8]) -> String {
    let mut end = text.len().min(SHOWN);
    // Not in the middle of a character, which has at most 4 bytes.
    while end < text.len() && end > SHOWN - 3 && text[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    let mut clipped = String::new();
    for chunk in text[..end].utf8_chunks() {
        for c in chunk.valid().chars() {
            push(&mut clipped, c, is_hidden(c));
        }
        for byte in chunk.invalid() {
            let _ = write!(clipped, "\\x{byte:02x}");
        }
    }
    if end < text.len() {
        clipped += "...";
    }
    clipped
}

fn push(text: &mut String, c: char, is_escaped: bool) {
    if is_escaped {
        text.extend(c.escape_default());
    } else {
        text.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_is_left() {
        for c in (0..0xa0_u8)
            .map(char::from)
            .chain("\u{202e}\u{2066}\u{200f}\u{feff}".chars())
        {
            let text = format!("<{c}>");
            let is_left = escaped(&text) == text;
            let is_text = (' '..='~').contains(&c);
            assert_eq!(is_left, is_text || matches!(c, '\n' | '\t'), "{c:?}");
            assert_eq!(clipped(text.as_bytes()) == text, is_text, "{c:?}");
        }
        for text in ["größe", "日本語", "🙂", "\u{65}\u{301}"] {
            assert_eq!(escaped(text), text);
            assert_eq!(clipped(text.as_bytes()), text);
        }
        assert_eq!(escaped("\u{9b}31m\u{7f}"), "\\u{9b}31m\\u{7f}");
    }

    #[test]
    fn a_character_is_clipped_whole() {
        assert_eq!(clipped("é".repeat(21).as_bytes()), "é".repeat(20) + "...");
        let odd = format!("x{}", "é".repeat(21));
        assert_eq!(clipped(odd.as_bytes()), format!("x{}...", "é".repeat(19)));
        assert_eq!(clipped(&[0x80; 41]), "\\x80".repeat(37) + "...");
        assert_eq!(clipped("é".repeat(20).as_bytes()), "é".repeat(20));
    }
}

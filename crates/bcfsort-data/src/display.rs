//! Text of files in messages.

use std::fmt::Write as _;

/// The number of bytes that [`clipped`] shows.
const SHOWN: usize = 40;

/// The text with escapes in place of what a terminal would obey or not show: characters that
/// control it, change the direction of text, or take no room. Line feeds and tabs stay.
///
/// # Examples
///
/// ```
/// use bcfsort_data::escaped;
/// assert_eq!(escaped("größe\t\u{1b}[2J"), "größe\t\\u{1b}[2J");
/// ```
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => escaped.push(c),
            _ => push(&mut escaped, c),
        }
    }
    escaped
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
            push(&mut clipped, c);
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

/// The first of these names, each as [`clipped`] and in quotes, and the number of the others.
///
/// # Examples
///
/// ```
/// use bcfsort_data::listed;
/// assert_eq!(listed(&["a", "b,c"]), "'a', 'b,c'");
/// assert!(listed(&["x"; 25]).ends_with("'x', 'x' and 5 more"));
/// ```
#[must_use]
pub fn listed(names: &[impl AsRef<[u8]>]) -> String {
    const LISTED: usize = 20;
    let first = names.iter().take(LISTED);
    let first: Vec<String> = first
        .map(|name| format!("'{}'", clipped(name.as_ref())))
        .collect();
    match names.len().checked_sub(LISTED) {
        None | Some(0) => first.join(", "),
        Some(more) => format!("{} and {more} more", first.join(", ")),
    }
}

/// A number of bytes, for a message.
///
/// # Examples
///
/// ```
/// use bcfsort_data::bytes;
/// assert_eq!([bytes(1), bytes(20)], ["1 byte", "20 bytes"]);
/// ```
#[must_use]
pub fn bytes(count: u64) -> String {
    match count {
        1 => "1 byte".to_owned(),
        count => format!("{count} bytes"),
    }
}

/// Appends a character, or an escape in place of one that a terminal would obey or not show: those
/// that control it, change the direction of text, or take no room.
fn push(text: &mut String, c: char) {
    if matches!(c, ' '..='~') {
        text.push(c);
    } else {
        // Behind another one, a character that combines with it is no escape.
        text.extend(format!("x{c}").escape_debug().skip(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_is_left() {
        for c in (0..0xa0_u8)
            .map(char::from)
            .chain("\u{ad}\u{61c}\u{180e}\u{202e}\u{2066}\u{200f}\u{feff}\u{e0061}".chars())
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

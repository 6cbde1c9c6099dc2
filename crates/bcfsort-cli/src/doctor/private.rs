//! Removes what is private from messages: paths, the user's name and the host's.

use std::env;

/// What to remove, whole words only.
pub(crate) struct Private {
    words: Vec<String>,
}

impl Private {
    /// The names of this user and this host.
    pub(crate) fn of_this_machine() -> Self {
        let variables = ["USER", "LOGNAME", "USERNAME", "HOSTNAME", "COMPUTERNAME"];
        let words = variables.into_iter().filter_map(|name| env::var(name).ok());
        // Linux has the host's name in a file, and only some shells have it in a variable.
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        Self::new(words.chain(host))
    }

    fn new(words: impl IntoIterator<Item = String>) -> Self {
        let words = words.into_iter().map(|word| word.trim().to_owned());
        Self {
            words: words.filter(|word| !word.is_empty()).collect(),
        }
    }

    /// The text in one line, with `<path>` for each path, and `<name>` for each private name.
    pub(crate) fn clear(&self, text: &str) -> String {
        let is_end = |c: char| c.is_whitespace() || "\"'`()[]{}<>,;".contains(c);
        let mut clear = String::new();
        for piece in text.split_inclusive(is_end) {
            let word = piece.trim_end_matches(is_end);
            clear += &self.clear_word(word);
            // Of a line break, too, a space is left.
            clear.extend(
                piece[word.len()..]
                    .chars()
                    .map(|c| if c == '\n' { ' ' } else { c }),
            );
        }
        clear.trim().to_owned()
    }

    fn clear_word(&self, word: &str) -> String {
        if is_path(word) {
            return "<path>".to_owned();
        }
        let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        let mut clear = String::new();
        for piece in word.split_inclusive(|c| !is_part(c)) {
            let name = piece.trim_end_matches(|c| !is_part(c));
            if self.words.iter().any(|private| private == name) {
                clear += "<name>";
                clear += &piece[name.len()..];
            } else {
                clear += piece;
            }
        }
        // A name with other characters, such as a point, is several pieces.
        self.words
            .iter()
            .filter(|name| !name.chars().all(is_part))
            .fold(clear, |clear, name| clear.replace(name.as_str(), "<name>"))
    }
}

/// True for an absolute path or one in the home directory, after other characters, too, as in
/// `file:///tmp/a`. (A rate, as in `keys/s`, is none.)
fn is_path(word: &str) -> bool {
    let is_drive = |at: usize| at == 1 && word.as_bytes()[0].is_ascii_alphabetic();
    let windows = word.find(":\\").is_some_and(is_drive) || word.starts_with("\\\\");
    let starts = |start: &str| word.starts_with(start) && word.len() > start.len();
    let inner = ["=/", ":/", "~/"].iter().any(|part| word.contains(part));
    windows || starts("/") || inner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_names_are_removed_and_all_else_is_kept() {
        let private = Private::new(["jane".to_owned(), "jane-pc".to_owned(), "a.b".to_owned()]);
        for (text, clear) in [
            ("cannot open /home/jane/x.json: no", "cannot open <path> no"),
            ("'C:\\Users\\jane' is missing", "'<path>' is missing"),
            ("\\\\server\\share", "<path>"),
            ("layer=/tmp/layer (jane)", "<path> (<name>)"),
            ("see ~/drivers", "see <path>"),
            ("jane@jane-pc:\nlost", "<name>@<name>: lost"),
            ("host a.b, janet", "host <name>, janet"),
            ("85 Mkeys/s of 1/2, bcfsort.merge.page_merge.1w", ""),
        ] {
            let expected = if clear.is_empty() { text } else { clear };
            assert_eq!(private.clear(text), expected);
        }
        assert_eq!(Private::new([" \n".to_owned()]).clear("a b"), "a b");
    }
}

//! Python literals, in which the headers of arrays are written.

/// The deepest nesting: structs in structs in structs.
const MAX_DEPTH: usize = 8;

/// A literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    Number(u64),
    Bool(bool),
    Tuple(Vec<Literal>),
    List(Vec<Literal>),
}

/// Reads literals from a text, from left to right and in linear time.
pub(super) struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The next character behind blanks, which is not taken.
    fn peek(&mut self) -> Option<char> {
        let rest = self.rest().trim_ascii_start();
        self.at = self.text.len() - rest.len();
        rest.chars().next()
    }

    /// Takes a character if it is the next one.
    pub(super) fn take(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        if found {
            self.at += expected.len_utf8();
        }
        found
    }

    pub(super) fn expect(&mut self, expected: char) -> Result<(), String> {
        if self.take(expected) {
            return Ok(());
        }
        Err(match self.peek() {
            Some(found) => format!("'{expected}' is missing before {found:?}"),
            None => format!("it ends without '{expected}'"),
        })
    }

    /// True if there is nothing left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// The next literal, and its text.
    pub(super) fn literal(&mut self) -> Result<(Literal, &'a str), String> {
        let first = self.peek();
        let start = self.at;
        let literal = match first {
            Some('\'' | '"') => Literal::Text(self.string()?),
            Some('0'..='9') => Literal::Number(self.number()?),
            Some('(') => {
                let (mut items, has_comma) = self.items(')')?;
                // Brackets alone make no tuple.
                match items.pop() {
                    Some(item) if items.is_empty() && !has_comma => item,
                    last => {
                        items.extend(last);
                        Literal::Tuple(items)
                    }
                }
            }
            Some('[') => Literal::List(self.items(']')?.0),
            Some(_) if self.rest().starts_with("True") => self.word("True", true),
            Some(_) if self.rest().starts_with("False") => self.word("False", false),
            Some(other) => return Err(format!("{other:?} begins no value")),
            None => return Err("it ends before a value".to_owned()),
        };
        Ok((literal, &self.text[start..self.at]))
    }

    fn word(&mut self, word: &str, value: bool) -> Literal {
        self.at += word.len();
        Literal::Bool(value)
    }

    fn number(&mut self) -> Result<u64, String> {
        let rest = self.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        self.at += digits;
        // Python 2 wrote long numbers so.
        if self.rest().starts_with('L') {
            self.at += 1;
        }
        let digits = &rest[..digits];
        digits
            .parse()
            .map_err(|_| format!("{} has more than 64 bits", clipped(digits)))
    }

    /// The items between brackets, and whether a comma is among them.
    fn items(&mut self, end: char) -> Result<(Vec<Literal>, bool), String> {
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} deep"));
        }
        let mut items = Vec::new();
        let mut has_comma = false;
        while !self.take(end) {
            if !items.is_empty() {
                self.expect(',')?;
                has_comma = true;
                if self.take(end) {
                    break;
                }
            }
            items.push(self.literal()?.0);
        }
        self.depth -= 1;
        Ok((items, has_comma))
    }

    fn string(&mut self) -> Result<String, String> {
        let mut chars = self.rest().char_indices();
        let quote = chars.next().map_or('\'', |(_, quote)| quote);
        let mut text = String::new();
        while let Some((at, char)) = chars.next() {
            match char {
                '\\' => {
                    let (_, escape) = chars.next().ok_or("a string has no end")?;
                    let mut code = |digits: usize| {
                        let mut digits = chars.by_ref().take(digits).map(|(_, digit)| digit);
                        digits
                            .try_fold(0, |code, digit| Some(code << 4 | digit.to_digit(16)?))
                            .and_then(char::from_u32)
                            .ok_or("an escape of a string is wrong")
                    };
                    text.push(match escape {
                        'n' => '\n',
                        'r' => '\r',
                        't' => '\t',
                        'x' => code(2)?,
                        'u' => code(4)?,
                        'U' => code(8)?,
                        '\\' | '\'' | '"' => escape,
                        _ => return Err(format!("the escape \\{escape:?} is not known")),
                    });
                }
                _ if char == quote => {
                    self.at += at + char.len_utf8();
                    return Ok(text);
                }
                _ => text.push(char),
            }
        }
        Err("a string has no end".to_owned())
    }
}

/// The beginning of a long text, for a message.
pub(super) fn clipped(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Literal, String> {
        Parser::new(text).literal().map(|(literal, _)| literal)
    }

    fn text(text: &str) -> Literal {
        Literal::Text(text.to_owned())
    }

    #[test]
    fn literals_are_those_of_python() {
        use Literal::{Bool, List, Number, Tuple};
        assert_eq!(parse(" (3,)"), Ok(Tuple(vec![Number(3)])));
        assert_eq!(parse("( 3L, 4 )"), Ok(Tuple(vec![Number(3), Number(4)])));
        assert_eq!(parse("(3)"), Ok(Number(3)));
        assert_eq!(parse("()"), Ok(Tuple(vec![])));
        assert_eq!(
            parse("[True, False,]"),
            Ok(List(vec![Bool(true), Bool(false)]))
        );
        assert_eq!(
            parse(r#"'a"\'\\\n\xe9\u20ac\U0001f600'"#),
            Ok(text("a\"'\\\né€😀"))
        );
        assert_eq!(parse("\"it's\""), Ok(text("it's")));
    }

    #[test]
    fn what_is_no_literal_is_an_error() {
        for wrong in [
            "",
            "x",
            "'a",
            "'\\",
            "'\\x4",
            "'\\ud800'",
            "'\\q'",
            "(1",
            "(1 2)",
            "[1,,2]",
            "[,]",
            "-1",
            "99999999999999999999",
            "((((((((((1))))))))))",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        // In linear time, and without a deep stack.
        let long = "(".repeat(1 << 16);
        assert_eq!(
            parse(&long),
            Err("it is nested more than 8 deep".to_owned())
        );
        let long = "[1,".repeat(7) + &"1,".repeat(1 << 15);
        assert!(parse(&long).is_err());
    }
}

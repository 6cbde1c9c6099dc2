//! A check of how deeply a text is nested, before naga follows it by recursion.
//!
//! naga has limits for brackets and blocks, but none for chains such as `a + a + a`, of which each
//! operator is a level. A stack that overflows is an error in a thread, but ends a WebAssembly
//! module.

/// Maximum number of nested brackets. naga gives up at some more, without a location.
const MOST_BRACKETS: usize = 120;

/// Maximum number of operators in one expression, brackets around it included.
const MOST_OPERATORS: u32 = 500;

/// Maximum number of `else if` in one chain, blocks around it included.
const MOST_ELSE: u32 = 200;

/// Operators of two characters.
const LONG: [&[u8]; 9] = [
    b"&&", b"||", b"<<", b">>", b"==", b"!=", b"<=", b">=", b"->",
];

/// A text that is nested too deeply, from a place on. Lines and columns begin at 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooDeep {
    /// The line.
    pub line: u32,
    /// The column, in bytes.
    pub column: u32,
    /// What is nested, and how deeply it may be.
    pub message: String,
}

/// Counts that are nested: one for each level.
struct Levels {
    counts: Vec<u32>,
    sum: u32,
}

impl Levels {
    fn new() -> Self {
        Self {
            counts: vec![0],
            sum: 0,
        }
    }

    fn enter(&mut self) {
        self.counts.push(0);
    }

    fn leave(&mut self) {
        // A text may have more closing brackets than opening ones.
        if self.counts.len() > 1 {
            self.sum -= self.counts.pop().unwrap_or(0);
        }
    }

    fn count(&mut self) {
        if let Some(count) = self.counts.last_mut() {
            *count += 1;
            self.sum += 1;
        }
    }

    /// Begins anew at this level.
    fn restart(&mut self) {
        if let Some(count) = self.counts.last_mut() {
            self.sum -= *count;
            *count = 0;
        }
    }
}

/// Checks that a text is not nested too deeply for the stack of a page.
///
/// # Errors
///
/// The first place that is.
pub fn check(wgsl: &str) -> Result<(), TooDeep> {
    let bytes = wgsl.as_bytes();
    let mut operators = Levels::new();
    let mut chains = Levels::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let mut length = 1;
        match byte {
            b'/' if rest.starts_with(b"//") => length = line_comment(rest),
            b'/' if rest.starts_with(b"/*") => length = block_comment(rest),
            b'(' | b'[' => operators.enter(),
            b')' | b']' => operators.leave(),
            b',' => operators.restart(),
            b';' => operators = Levels::new(),
            b'{' => {
                operators = Levels::new();
                chains.enter();
            }
            b'}' => {
                operators = Levels::new();
                chains.leave();
                if follows_else_if(&rest[1..]) {
                    chains.count();
                } else {
                    chains.restart();
                }
            }
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' => length = word(rest),
            b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^' | b'!' | b'~' | b'<' | b'>'
            | b'=' | b'.' => {
                operators.count();
                length = 1 + usize::from(LONG.iter().any(|long| rest.starts_with(long)));
            }
            _ => {}
        }
        let too_deep = if operators.counts.len() > MOST_BRACKETS {
            Some(format!(
                "brackets are nested more than {MOST_BRACKETS} deep"
            ))
        } else if operators.sum > MOST_OPERATORS {
            Some(format!(
                "an expression has more than {MOST_OPERATORS} operators"
            ))
        } else if chains.sum > MOST_ELSE {
            Some(format!("more than {MOST_ELSE} 'else if' are in one chain"))
        } else {
            None
        };
        if let Some(message) = too_deep {
            return Err(problem(wgsl, at, &message));
        }
        at += length;
    }
    Ok(())
}

fn problem(wgsl: &str, at: usize, message: &str) -> TooDeep {
    let before = &wgsl[..at];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    TooDeep {
        line: before.matches('\n').count() as u32 + 1,
        column: (at - start) as u32 + 1,
        message: format!("{message}: a page's stack is too small for that"),
    }
}

fn line_comment(text: &[u8]) -> usize {
    let end = text.iter().position(|&byte| byte == b'\n');
    end.unwrap_or(text.len())
}

/// Block comments may be nested.
fn block_comment(text: &[u8]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// The length of a name or a number, which may have a point.
fn word(text: &[u8]) -> usize {
    let is_number = text[0].is_ascii_digit();
    let is_part =
        |&byte: &u8| byte.is_ascii_alphanumeric() || byte == b'_' || (is_number && byte == b'.');
    let end = text.iter().position(|byte| !is_part(byte));
    end.unwrap_or(text.len())
}

fn follows_else_if(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    text.strip_prefix(b"else").is_some_and(|text| {
        let condition = text.trim_ascii_start();
        condition.len() < text.len() && condition.starts_with(b"if")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(wgsl: &str) -> Option<(u32, u32, String)> {
        let problem = check(wgsl).err()?;
        Some((problem.line, problem.column, problem.message))
    }

    #[test]
    fn chains_are_limited() {
        let operators = |count| format!("fn f() {{\n let x = 1{};\n}}", " + 1".repeat(count));
        assert_eq!(message(&operators(499)), None);
        let (line, column, text) = message(&operators(600)).unwrap();
        assert_eq!((line, column), (2, 2 + 9 + 4 * 499 + 1));
        assert!(text.contains("500 operators"), "{text}");
        let negations = format!("const A = {}true;", "!".repeat(501));
        assert!(message(&negations).is_some());
        let shifts = format!("const A = 1{};", " << 1u".repeat(490));
        assert_eq!(message(&shifts), None);

        let brackets = |count| format!("const A = {}1{};", "(".repeat(count), ")".repeat(count));
        assert_eq!(message(&brackets(119)), None);
        assert_eq!(message(&brackets(120)).unwrap().1, 130);

        let chain = |count| format!("fn f() {{ if a {{}} {} }}", "else if a { }\n".repeat(count));
        assert_eq!(message(&chain(200)), None);
        assert!(message(&chain(201)).unwrap().2.contains("else if"));
    }

    #[test]
    fn what_is_not_nested_is_not_limited() {
        // Statements, elements of a list, comments, and numbers.
        assert_eq!(message(&"x = y + 1;\n".repeat(10_000)), None);
        assert_eq!(message(&format!("f({});", "a + 1, ".repeat(10_000))), None);
        assert_eq!(message(&format!("f({});", "1.5, ".repeat(10_000))), None);
        assert_eq!(message(&format!("// {}\n", "+".repeat(10_000))), None);
        assert_eq!(
            message(&format!("/* /* */ {} */", "+(".repeat(10_000))),
            None
        );
        assert_eq!(message(&"if a {}\n".repeat(10_000)), None);
        // Texts that end, or close brackets, where nobody expects it.
        for text in [
            "", "/*", "/", "}}}", ")))", "}else", "}else if", "1", "//", "ä.1",
        ] {
            assert_eq!(message(text), None, "{text}");
        }
    }
}

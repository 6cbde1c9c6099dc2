//! A check of how deeply a text is nested, before naga follows it by recursion.
//!
//! naga has limits for brackets and blocks, but none for chains such as `a + a + a`, of which each
//! operator is a level. A stack that overflows ends the process, or a WebAssembly module. And its
//! time grows with the square of the length of a function.

/// Maximum number of nested brackets. naga gives up at some more, without a location.
const MOST_BRACKETS: usize = 120;

/// Maximum number of operators in one expression, brackets around it included. The stack of a page
/// is small; elsewhere texts are read on [a stack of their own](on_a_deep_stack).
const MOST_OPERATORS: u32 = if cfg!(target_family = "wasm") {
    500
} else {
    10_000
};

/// Maximum number of `else if` in one chain, blocks around it included.
const MOST_ELSE: u32 = 200;

/// Maximum number of functions. naga's time grows by their square: 0.4 s for as many, and half a
/// minute for ten times as many.
const MOST_FUNCTIONS: u32 = 10_000;

/// Maximum product of the [two counts](Length) of a function, or of all that is outside of
/// functions. naga's time grows by it: 1 ns for each, and minutes for a `switch` of 100,000 cases.
const MOST_TIME: u64 = 1 << 32;

/// The stack to read a text on, in bytes: for the nested blocks, and for each operator of the
/// longest expression. An unoptimised naga needs 10 MiB for the 127 nested blocks that it allows,
/// and 6 KiB for an operator.
const STACK: usize = 64 << 20;
const STACK_AN_OPERATOR: usize = 16 << 10;

/// Operators of two characters.
const LONG: [&[u8]; 9] = [
    b"&&", b"||", b"<<", b">>", b"==", b"!=", b"<=", b">=", b"->",
];

/// A text that is nested too deeply, or is too long, from a place on. Lines and columns begin at 1.
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

/// How long a function is. For each step naga walks over all expressions before it.
#[derive(Clone, Copy, Default)]
struct Length {
    /// Names and numbers.
    words: u64,
    /// Operators, statements and blocks.
    steps: u64,
}

impl Length {
    fn is_too_long(self) -> bool {
        self.words.saturating_mul(self.steps) > MOST_TIME
    }
}

/// Calls `read` on a stack that is deep enough for a text, if it is not nested too deeply. In
/// browsers, where no call may wait for a thread, that is the page's.
///
/// # Errors
///
/// The first place that is nested too deeply; line 0 if no thread could be started.
pub(crate) fn on_a_deep_stack<T: Send>(
    wgsl: &str,
    read: impl FnOnce() -> T + Send,
) -> Result<T, TooDeep> {
    let operators = check(wgsl)?;
    if cfg!(target_family = "wasm") {
        return Ok(read());
    }
    let stack = STACK + operators as usize * STACK_AN_OPERATOR;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(stack);
        let reader = thread.spawn_scoped(scope, read).map_err(|error| TooDeep {
            line: 0,
            column: 0,
            message: format!("expressions need {stack} bytes of stack: no thread starts: {error}"),
        })?;
        let done = reader.join();
        Ok(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Checks that a text is not nested too deeply. Returns the number of operators of the longest
/// expression. O(n) time, no recursion.
///
/// # Errors
///
/// The first place that is nested too deeply.
pub fn check(wgsl: &str) -> Result<u32, TooDeep> {
    let bytes = wgsl.as_bytes();
    let (mut longest, mut functions) = (0, 0);
    let mut operators = Levels::new();
    let mut chains = Levels::new();
    // Of what is outside of functions, and of the function.
    let mut lengths = [Length::default(); 2];
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let mut length = 1;
        let is_inside = chains.counts.len() > 1;
        let counts = &mut lengths[usize::from(is_inside)];
        match byte {
            b'/' if rest.starts_with(b"//") => length = line_comment(rest),
            b'/' if rest.starts_with(b"/*") => length = block_comment(rest),
            b'(' | b'[' => operators.enter(),
            b')' | b']' => operators.leave(),
            b',' => operators.restart(),
            b';' => {
                operators = Levels::new();
                counts.steps += 1;
            }
            b'{' => {
                operators = Levels::new();
                counts.steps += 1;
                chains.enter();
            }
            b'}' => {
                operators = Levels::new();
                chains.leave();
                if chains.counts.len() == 1 {
                    lengths[1] = Length::default();
                }
                if follows_else_if(&rest[1..]) {
                    chains.count();
                } else {
                    chains.restart();
                }
            }
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                length = word(rest);
                counts.words += 1;
                functions += u32::from(&rest[..length] == b"fn");
            }
            b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^' | b'!' | b'~' | b'<' | b'>'
            | b'=' | b'.' => {
                operators.count();
                counts.steps += 1;
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
        } else if functions > MOST_FUNCTIONS {
            Some(format!("there are more than {MOST_FUNCTIONS} functions"))
        } else if lengths[1].is_too_long() {
            let steps = lengths[1].steps;
            Some(format!(
                "a function is too long: {steps} operators, statements and blocks are up to here"
            ))
        } else if lengths[0].is_too_long() {
            Some("there are too many declarations".to_owned())
        } else {
            None
        };
        longest = longest.max(operators.sum);
        if let Some(message) = too_deep {
            return Err(problem(wgsl, at, &message));
        }
        at += length;
    }
    Ok(longest)
}

fn problem(wgsl: &str, at: usize, message: &str) -> TooDeep {
    let before = &wgsl[..at];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    TooDeep {
        line: before.matches('\n').count() as u32 + 1,
        column: (at - start) as u32 + 1,
        message: message.to_owned(),
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
        // The first operator of each is `=`.
        let most = MOST_OPERATORS as usize;
        let operators = |count| format!("fn f() {{\n let x = 1{};\n}}", " + 1".repeat(count));
        assert_eq!(check(&operators(most - 1)), Ok(MOST_OPERATORS));
        let (line, column, text) = message(&operators(most + 100)).unwrap();
        assert_eq!((line, column as usize), (2, 2 + 9 + 4 * (most - 1) + 1));
        assert!(text.contains(&format!("{most} operators")), "{text}");
        for chain in ["!", "- ", "~", "*&"] {
            let negations = format!("const A = {}true;", chain.repeat(most));
            assert!(message(&negations).is_some(), "{chain}");
        }
        let members = format!("const A = a{};", ".xyzw".repeat(most));
        assert!(message(&members).is_some());
        let shifts = format!("const A = 1{};", " << 1u".repeat(most - 10));
        assert_eq!(message(&shifts), None);

        let functions = |count| "fn f() {}\n".repeat(count);
        assert_eq!(message(&functions(MOST_FUNCTIONS as usize)), None);
        let (line, _, text) = message(&functions(MOST_FUNCTIONS as usize + 5)).unwrap();
        assert_eq!(line, MOST_FUNCTIONS + 1);
        assert!(text.contains("functions"), "{text}");

        let brackets = |count| format!("const A = {}1{};", "(".repeat(count), ")".repeat(count));
        assert_eq!(message(&brackets(119)), None);
        assert_eq!(message(&brackets(120)).unwrap().1, 130);

        let chain = |count| format!("fn f() {{ if a {{}} {} }}", "else if a { }\n".repeat(count));
        assert_eq!(message(&chain(200)), None);
        assert!(message(&chain(201)).unwrap().2.contains("else if"));
    }

    #[test]
    fn long_functions_are_refused() {
        let cases = |count| {
            let case = "case 1u: { out[lane] = 5u; }\n".repeat(count);
            format!("fn f() {{ switch x {{\n{case} default: {{}} }} }}")
        };
        assert_eq!(message(&cases(10_000)), None);
        assert!(message(&cases(100_000)).unwrap().2.contains("too long"));
        // Each function has its own length.
        assert_eq!(message(&cases(10_000).repeat(10)), None);
        let constants = |count| "const a = 1u;\n".repeat(count);
        assert_eq!(message(&constants(25_000)), None);
        assert!(
            message(&constants(100_000))
                .unwrap()
                .2
                .contains("declarations")
        );
        // Tables may be long.
        let table = format!("const A = array({});", "1u, ".repeat(1_000_000));
        assert_eq!(message(&table), None);
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

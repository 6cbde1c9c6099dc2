//! How long and how deep a caller's text may be.
//!
//! naga's front end, its writers and the compilers behind them descend into expressions, statements
//! and types by calls of their own, and end the process where the stack does. So what could lead
//! them deep is counted before anything reads the text: brackets, operators, blocks and
//! declarations. It is read on a thread with a stack for that ([`on_a_deep_stack`]).
//!
//! What is written of it goes through naga again, on the caller's thread: the least is a main
//! thread's on Windows, 1 MiB, with naga not optimised, where a statement within another takes up
//! to 38 KiB and an expression 25. Deep expressions are cut apart by then, see
//! [`deep_expressions`]; statements and types are not, and so may be less deep.

use super::Place;
use crate::Error;
use naga::valid::FunctionInfo;
use naga::{Expression, Function, Handle, Module, Span, Statement};

/// Bytes of text. (Hundreds of lines; a few are usual.)
pub(super) const MOST_TEXT: usize = 1 << 16;
/// Declarations outside of functions. The front end follows them from one to the next, in whatever
/// order they stand.
pub(super) const MOST_DECLARATIONS: u32 = 128;
/// Brackets within each other in an expression.
pub(super) const MOST_BRACKETS: usize = 48;
/// Operators that may stand above each other in the tree of an expression, in the text.
pub(super) const MOST_OPERATORS: u32 = 256;
/// Blocks within each other, in the text, where `else if` is within what is before it, and as they
/// are once it was read.
pub(super) const MOST_BLOCKS: u32 = 16;
/// Types within each other.
pub(super) const MOST_TYPES: u32 = 8;
/// Expressions within each other that are written so.
const MOST_WRITTEN: u32 = 4;
/// The stack on which a text is read. naga, not optimised, takes 12 KiB for an operator of the
/// text, 3 MiB in all; and up to 5 for an `array(...)` in another, of which constants that are made
/// of constants have as many as there is text for: 9000.
const DEEP_STACK: usize = 64 << 20;

/// Runs something where there is stack enough for a text within the limits, or else where it is
/// called.
pub(super) fn on_a_deep_stack<T: Send>(run: impl Fn() -> T + Sync) -> T {
    // (Browsers have no threads that a call may wait for.)
    if cfg!(target_family = "wasm") {
        return run();
    }
    let joined = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(DEEP_STACK);
        thread
            .spawn_scoped(scope, &run)
            .ok()
            .map(std::thread::ScopedJoinHandle::join)
    });
    match joined {
        Some(Ok(done)) => done,
        Some(Err(panic)) => std::panic::resume_unwind(panic),
        None => run(),
    }
}

/// What was counted of an expression up to some token, in one pair of brackets.
#[derive(Clone, Copy, Default)]
struct Counted {
    /// Operators since the last comma.
    operators: u32,
    /// What may begin the arguments of a type: of these a comma is no end.
    templates: u32,
    /// The most of what stands in brackets here, since the last comma.
    within: u32,
    /// The most up to there.
    before: u32,
}

impl Counted {
    fn depth(self) -> u32 {
        self.operators + self.templates + self.within
    }

    fn end_part(&mut self) {
        self.before = self.before.max(self.depth());
        (self.operators, self.within) = (0, 0);
    }
}

/// That a text is short enough, and nothing in it too deep, whether it is WGSL or not.
pub(super) fn check_text(wgsl: &str) -> Result<(), Error> {
    if wgsl.len() > MOST_TEXT {
        let why = format!(
            "a text of {} bytes, where {MOST_TEXT} are allowed",
            wgsl.len()
        );
        return Err(Error::Comparator(why));
    }
    let place = Place(wgsl);
    // Of an expression by its brackets, and for each open block how many `else` stand one behind
    // the other in it.
    let mut brackets = vec![Counted::default()];
    let mut blocks: Vec<u32> = Vec::new();
    let (mut elses, mut outside) = (0, 0);
    let mut declarations = 0;
    let mut block_ended = false;
    for (at, token) in Tokens(wgsl, 0) {
        let refuse = |why: String| Err(place.refuse(Span::new(at as u32, at as u32 + 1), &why));
        let ended = std::mem::replace(&mut block_ended, token == Token::CloseBlock);
        if ended && token != Token::Word("else") {
            let chain = blocks.last_mut().unwrap_or(&mut outside);
            elses -= std::mem::take(chain);
        }
        // (There is one always.)
        let depth = brackets.len();
        let Some(counted) = brackets.last_mut() else {
            break;
        };
        match token {
            Token::Word("else") => {
                *blocks.last_mut().unwrap_or(&mut outside) += 1;
                elses += 1;
            }
            Token::Word(
                "fn" | "struct" | "const" | "alias" | "var" | "override" | "const_assert",
            ) if blocks.is_empty() => {
                declarations += 1;
                if declarations > MOST_DECLARATIONS {
                    return refuse(format!("more than {MOST_DECLARATIONS} declarations"));
                }
            }
            Token::Operator => counted.operators += 1,
            Token::Template => counted.templates += 1,
            Token::Comma => counted.end_part(),
            Token::Open { indexes } => {
                counted.operators += u32::from(indexes);
                if depth > MOST_BRACKETS {
                    return refuse(format!("more than {MOST_BRACKETS} brackets in each other"));
                }
                brackets.push(Counted::default());
            }
            Token::Close if depth > 1 => {
                counted.end_part();
                let within = counted.before + 1;
                brackets.pop();
                if let Some(around) = brackets.last_mut() {
                    around.within = around.within.max(within);
                }
            }
            Token::Word(_) | Token::Close => {}
            // (Those of `for` are in brackets.)
            Token::Semicolon => {
                counted.end_part();
                counted.templates = 0;
                if depth == 1 {
                    *counted = Counted::default();
                }
            }
            Token::OpenBlock | Token::CloseBlock => {
                brackets = vec![Counted::default()];
                if token == Token::OpenBlock {
                    blocks.push(0);
                } else if let Some(chain) = blocks.pop() {
                    elses -= chain;
                }
            }
        }
        if brackets.last().is_some_and(|c| c.depth() > MOST_OPERATORS) {
            return refuse(format!(
                "an expression of more than {MOST_OPERATORS} operators up to here: say a part of \
                 it before, with `let`"
            ));
        }
        if blocks.len() as u32 + elses > MOST_BLOCKS {
            return refuse(format!(
                "more than {MOST_BLOCKS} blocks in each other, where `else if` is in what is \
                 before it: say `switch`, or call a function"
            ));
        }
    }
    Ok(())
}

/// What matters of a token.
#[derive(Clone, Copy, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    Operator,
    /// `<`, which is one or begins the arguments of a type.
    Template,
    /// `(`, or `[`, which takes a part of what is before it.
    Open {
        indexes: bool,
    },
    Close,
    OpenBlock,
    CloseBlock,
    Comma,
    Semicolon,
}

/// Tokens of a text, and where they begin; comments end where they do for naga.
struct Tokens<'a>(&'a str, usize);

impl<'a> Iterator for Tokens<'a> {
    type Item = (usize, Token<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Self(text, at) = *self;
            let rest = &text[at..];
            let mut chars = rest.chars();
            let first = chars.next()?;
            let second = chars.next();
            self.1 += first.len_utf8();
            let token = match (first, second) {
                ('/', Some('/')) => {
                    self.1 = at + rest.find(ends_line).unwrap_or(rest.len());
                    continue;
                }
                ('/', Some('*')) => {
                    self.1 = at + comment(rest);
                    continue;
                }
                ('(', _) => Token::Open { indexes: false },
                ('[', _) => Token::Open { indexes: true },
                (')' | ']', _) => Token::Close,
                ('{', _) => Token::OpenBlock,
                ('}', _) => Token::CloseBlock,
                (',', _) => Token::Comma,
                (';', _) => Token::Semicolon,
                ('-', Some('>')) => {
                    self.1 += 1;
                    continue;
                }
                // (One operator of two characters, or the ends of two types' arguments, of which
                // none is too many.)
                ('&', Some('&'))
                | ('|', Some('|'))
                | ('<', Some('<' | '='))
                | ('>', Some('>' | '='))
                | ('=' | '!', Some('=')) => {
                    self.1 += 1;
                    Token::Operator
                }
                ('<', _) => Token::Template,
                // (That in a number is none; one before a name is.)
                ('.', Some(second)) if second.is_ascii_digit() => continue,
                (
                    '+' | '-' | '*' | '/' | '%' | '&' | '|' | '^' | '!' | '~' | '=' | '.' | '>',
                    _,
                ) => Token::Operator,
                (c, _) if is_word(c) => {
                    let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                    self.1 = at + end;
                    Token::Word(&rest[..end])
                }
                _ => continue,
            };
            return Some((at, token));
        }
    }
}

fn is_word(c: char) -> bool {
    let is_blank = ends_line(c) || c.is_whitespace() || matches!(c, '\u{200e}' | '\u{200f}');
    c == '_' || c.is_ascii_alphanumeric() || !(c.is_ascii() || is_blank)
}

/// What ends a comment of a line.
fn ends_line(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Bytes of the comment that a text begins with, and of those in it.
fn comment(text: &str) -> usize {
    let mut chars = text.char_indices().skip(2);
    let mut before = chars.next().map(|(_, c)| c);
    let mut depth = 1;
    for (at, c) in chars {
        before = match (before, c) {
            (Some('*'), '/') => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
                None
            }
            (Some('/'), '*') => {
                depth += 1;
                None
            }
            _ => Some(c),
        };
    }
    text.len()
}

/// That what was read is not too deep for those that write it again, and for the compilers behind
/// them.
pub(super) fn check_depths(module: &Module, place: Place) -> Result<(), Error> {
    let mut types: Vec<u32> = Vec::new();
    for (at, ty) in module.types.iter() {
        let of = |ty: Handle<naga::Type>| types.get(ty.index()).copied().unwrap_or(0);
        let depth = match &ty.inner {
            naga::TypeInner::Array { base, .. } | naga::TypeInner::Pointer { base, .. } => {
                of(*base)
            }
            naga::TypeInner::Struct { members, .. } => members
                .iter()
                .map(|member| of(member.ty))
                .max()
                .unwrap_or(0),
            _ => 0,
        };
        if depth >= MOST_TYPES {
            let why = format!("more than {MOST_TYPES} types in each other");
            // (Arrays have no place of their own in the text.)
            return Err(match ty.name {
                Some(_) => place.refuse(module.types.get_span(at), &why),
                None => Error::Comparator(why),
            });
        }
        types.push(depth + 1);
    }
    let mut functions = module.functions.iter();
    functions.try_for_each(|(_, function)| check_blocks(&function.body, 1, place))
}

/// The expressions of a function that are to be written by themselves, before they are used: those
/// that the caller named, and as many more that none has more than [`MOST_WRITTEN`] within each
/// other. Numbers and vectors alone: others are parts of variables, of which there are no more in
/// each other than types, and compilers do better without copies of them.
pub(super) fn deep_expressions(
    module: &Module,
    function: &Function,
    info: &FunctionInfo,
) -> Vec<Handle<Expression>> {
    let mut computed = vec![false; function.expressions.len()];
    mark_computed(&function.body, &mut computed);
    let mut depths: Vec<u32> = Vec::with_capacity(computed.len());
    let mut deep = Vec::new();
    // Each stands behind what it is made of.
    for (at, expression) in function.expressions.iter() {
        let mut depth = 0;
        parts(expression, |part| {
            depth = depth.max(depths.get(part.index()).copied().unwrap_or(0));
        });
        let is_number = matches!(
            info[at].ty.inner_with(&module.types),
            naga::TypeInner::Scalar(_) | naga::TypeInner::Vector { .. }
        );
        let is_named = function.named_expressions.contains_key(&at) || depth >= MOST_WRITTEN;
        if is_number && is_named && computed[at.index()] {
            deep.push(at);
            depth = 0;
        }
        depths.push(depth + 1);
    }
    deep
}

/// Marks what is computed when it is its turn, as constants are not.
fn mark_computed(block: &naga::Block, computed: &mut [bool]) {
    for statement in block {
        match statement {
            Statement::Emit(range) => range.clone().for_each(|at| computed[at.index()] = true),
            Statement::Block(block) => mark_computed(block, computed),
            Statement::If { accept, reject, .. } => {
                mark_computed(accept, computed);
                mark_computed(reject, computed);
            }
            Statement::Switch { cases, .. } => {
                let bodies = cases.iter().map(|case| &case.body);
                bodies.for_each(|body| mark_computed(body, computed));
            }
            Statement::Loop {
                body, continuing, ..
            } => {
                mark_computed(body, computed);
                mark_computed(continuing, computed);
            }
            _ => {}
        }
    }
}

/// What an expression is made of.
fn parts(expression: &Expression, mut part: impl FnMut(Handle<Expression>)) {
    match *expression {
        Expression::Compose { ref components, .. } => components.iter().copied().for_each(part),
        Expression::Access { base, index } => {
            part(base);
            part(index);
        }
        Expression::AccessIndex { base: value, .. }
        | Expression::Splat { value, .. }
        | Expression::Swizzle { vector: value, .. }
        | Expression::Load { pointer: value }
        | Expression::Unary { expr: value, .. }
        | Expression::As { expr: value, .. }
        | Expression::Derivative { expr: value, .. }
        | Expression::Relational {
            argument: value, ..
        }
        | Expression::ArrayLength(value) => part(value),
        Expression::Binary { left, right, .. } => {
            part(left);
            part(right);
        }
        Expression::Select {
            condition,
            accept,
            reject,
        } => {
            part(condition);
            part(accept);
            part(reject);
        }
        Expression::Math {
            arg,
            arg1,
            arg2,
            arg3,
            ..
        } => {
            part(arg);
            [arg1, arg2, arg3].into_iter().flatten().for_each(part);
        }
        // Of images, atomics, rays and others a comparator has none.
        _ => {}
    }
}

/// That blocks are not too deep in each other: `depth` is that of this one.
fn check_blocks(block: &naga::Block, depth: u32, place: Place) -> Result<(), Error> {
    for (statement, &span) in block.span_iter() {
        if depth > MOST_BLOCKS {
            let why = format!(
                "more than {MOST_BLOCKS} blocks in each other, where a loop is two and what is right \
                 of `&&` or `||` is one"
            );
            return Err(place.refuse(span, &why));
        }
        let check = |block| check_blocks(block, depth + 1, place);
        match statement {
            Statement::Block(block) => check(block)?,
            Statement::If { accept, reject, .. } => {
                check(accept)?;
                check(reject)?;
            }
            Statement::Switch { cases, .. } => {
                cases.iter().try_for_each(|case| check(&case.body))?;
            }
            Statement::Loop {
                body, continuing, ..
            } => {
                check(body)?;
                check(continuing)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Bytes of a type, and of a function's variables, at the most. A lane has registers for a quarter
/// of that, and compilers of drivers fail on what is many times as much.
const MOST_BYTES: u32 = 4096;

/// That two rows, and what a function keeps, are no more than compilers can take.
pub(super) fn check_sizes(module: &Module, place: Place) -> Result<(), Error> {
    let mut layouter = naga::proc::Layouter::default();
    if layouter.update(module.to_ctx()).is_err() {
        return Err(Error::Comparator("a type is too large".into()));
    }
    for (_, function) in module.functions.iter() {
        let mut bytes = 0_u32;
        for (at, variable) in function.local_variables.iter() {
            bytes = bytes.saturating_add(layouter[variable.ty].size);
            if bytes > MOST_BYTES {
                let span = function.local_variables.get_span(at);
                let why = "the variables up to this one are of more than 4096 bytes";
                return Err(place.refuse(span, why));
            }
        }
    }
    let mut types = module.types.iter();
    if let Some((large, _)) = types.find(|ty| layouter[ty.0].size > MOST_BYTES) {
        let why = "a type of more than 4096 bytes: no compiler has registers for its values";
        // (Arrays have no place of their own in the text.)
        return Err(match module.types[large].name {
            Some(_) => place.refuse(module.types.get_span(large), why),
            None => Error::Comparator(why.into()),
        });
    }
    Ok(())
}

//! A caller's comparator: WGSL, read and checked on its own, and written again under names that clash with none.

use crate::Error;
use naga::{Expression, Function, Handle, LocalVariable, Module, Span, Statement};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The most rounds and calls that a comparison may take.
const MOST_ROUNDS: u64 = 4096;

/// An order of structs that the caller gives, in WGSL: what a row is, and which of two precedes the other. For
/// [`BufferSort::compared`](crate::BufferSort::compared).
///
/// The text has a `struct` for rows and a function `fn precedes(a: Row, b: Row) -> bool`, whatever the
/// struct's name, and may have other functions, structs and constants. It is validated by itself; the sorter's own names are
/// not in its way. What could do harm is refused: variables of the module, entry points, barriers, and loops of which it is
/// not plain that they end: `for (var i = 0u; i < 16u; i++)` does, with nothing else that writes to `i`. Rounds
/// and calls may be 4096 together at the most, those within each other multiplied. Types, and a function's variables together, are of
/// 4096 bytes at the most. Structs have no `@align` or `@size`. The sort runs it with all of wgpu's checks, but that of loops, which
/// are known to end.
///
/// Rows that it does not tell apart come in the order of the input, as they do where each precedes the other. If it is
/// no strict weak order at all, the result is some order of the rows: none is lost, and none is there twice.
///
/// # Examples
///
/// Particles by cell, and in a cell by depth:
///
/// ```
/// use wgpu_bcfsort::Comparator;
///
/// #[repr(C)]
/// struct Particle {
///     cell: u32,
///     depth: f32,
/// }
///
/// let by_cell = Comparator::new(
///     "struct Particle {
///         cell: u32,
///         depth: f32,
///     }
///     fn precedes(a: Particle, b: Particle) -> bool {
///         if a.cell != b.cell {
///             return a.cell < b.cell;
///         }
///         return a.depth < b.depth;
///     }",
/// )?;
/// by_cell.check_layout::<Particle>(&[
///     ("cell", std::mem::offset_of!(Particle, cell)),
///     ("depth", std::mem::offset_of!(Particle, depth)),
/// ])?;
///
/// let error = Comparator::new("fn precedes(a: u33, b: u33) -> bool { return false; }").unwrap_err();
/// assert!(error.to_string().contains("wgsl:1:16"));
/// # Ok::<(), wgpu_bcfsort::Error>(())
/// ```
///
/// # Kept by sorters
///
/// A sorter keeps the kernels that it compiles for a comparator, as it keeps all others: make each comparator once, and put what
/// changes into the rows and not into the text.
#[derive(Clone)]
pub struct Comparator(Arc<Checked>);

/// A comparator that was checked.
struct Checked {
    /// Its text under names of its own: the struct `user_row`, the function `user_precedes`.
    text: String,
    /// Two functions that take a row apart into words, and make it of them.
    of_words: String,
    /// 32-bit words from one row to the next.
    words: u32,
    /// Names of the row's members, and their offsets in bytes.
    members: Vec<(String, u32)>,
}

impl std::fmt::Debug for Comparator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Comparator")
            .field("words", &self.0.words)
            .field("members", &self.0.members)
            .finish_non_exhaustive()
    }
}

impl PartialEq for Comparator {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Eq for Comparator {}

impl Hash for Comparator {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.text.hash(state);
    }
}

/// How several words are one key: see [`Comparator::wide`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WideKey {
    /// An unsigned number, the least significant word first: `u128` on the computers that wgpu runs on.
    LeastFirst,
    /// An unsigned number, the most significant word first: `[u32; N]` in Rust's order of arrays.
    MostFirst,
    /// A string of bytes, the first byte of a word in its lower bits, as it is copied to the GPU: `[u8; 4 * N]` in Rust's
    /// order of arrays.
    Bytes,
}

impl Comparator {
    /// Keys of `words` words, and nothing else in a row: `u128`, addresses, hashes, names of fixed width.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] for no word, or more than 64: comparisons would take longer than a GPU should.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use wgpu_bcfsort::{Comparator, Options, Order, Sorter, WideKey};
    /// let sorter = Sorter::open(Options::default())?;
    ///
    /// let mut keys: [u128; 3] = [1 << 100, 5, 1 << 64];
    /// let numbers = Comparator::wide(4, WideKey::LeastFirst)?;
    /// sorter.sort_compared(&mut keys, &numbers, Order::Ascending)?;
    /// assert_eq!(keys, [5, 1 << 64, 1 << 100]);
    ///
    /// let mut names = [*b"Weichert\0\0\0\0", *b"Sitchinava\0\0"];
    /// let strings = Comparator::wide(3, WideKey::Bytes)?;
    /// sorter.sort_compared(&mut names, &strings, Order::Ascending)?;
    /// assert_eq!(&names[0][..10], b"Sitchinava");
    /// # Ok(()) }
    /// ```
    pub fn wide(words: u32, key: WideKey) -> Result<Self, Error> {
        if !(1..=64).contains(&words) {
            return Err(Error::InvalidOption {
                name: "words of a key",
                value: words.into(),
                allowed: "1 to 64",
            });
        }
        let at = match key {
            WideKey::LeastFirst => format!("{words}u - 1u - i"),
            WideKey::MostFirst | WideKey::Bytes => "i".into(),
        };
        let digit = match key {
            WideKey::LeastFirst | WideKey::MostFirst => "word",
            WideKey::Bytes => {
                "(word << 24u) | ((word & 0xff00u) << 8u) | ((word >> 8u) & 0xff00u) | (word >> 24u)"
            }
        };
        Self::new(&format!(
            "struct Row {{ words: array<u32, {words}> }}
            fn digit(word: u32) -> u32 {{ return {digit}; }}
            fn precedes(a: Row, b: Row) -> bool {{
                for (var i = 0u; i < {words}u; i++) {{
                    let x = digit(a.words[{at}]);
                    let y = digit(b.words[{at}]);
                    if x != y {{ return x < y; }}
                }}
                return false;
            }}"
        ))
    }

    /// Reads and checks a comparator.
    ///
    /// # Errors
    ///
    /// [`Error::Comparator`], with the line and the column in `wgsl` where something is wrong.
    pub fn new(wgsl: &str) -> Result<Self, Error> {
        let mut module = naga::front::wgsl::parse_str(wgsl)
            .map_err(|e| Error::Comparator(e.emit_to_string(wgsl)))?;
        let info = validate(&module, wgsl).map_err(Error::Comparator)?;
        let refuse = |span: Span, why: &str| {
            let place = span.location(wgsl);
            let line = wgsl.lines().nth(place.line_number.max(1) as usize - 1);
            Error::Comparator(format!(
                "wgsl:{}:{}: {why}\n{}",
                place.line_number,
                place.line_position,
                line.unwrap_or_default()
            ))
        };
        if let Some((handle, _)) = module.global_variables.iter().next() {
            let span = module.global_variables.get_span(handle);
            return Err(refuse(
                span,
                "a comparator has no variables outside of its functions",
            ));
        }
        if let Some((handle, _)) = module.overrides.iter().next() {
            let span = module.overrides.get_span(handle);
            return Err(refuse(span, "a comparator has no overrides: use `const`"));
        }
        if let Some(point) = module.entry_points.first() {
            let why = format!("a comparator has no entry points, as `{}` is", point.name);
            return Err(Error::Comparator(why));
        }
        check_functions(&module, &refuse)?;
        check_sizes(&module, &refuse)?;

        let is_precedes = |f: &Function| f.name.as_deref() == Some("precedes");
        let found = module.functions.iter().find(|f| is_precedes(f.1));
        let Some((precedes, function)) = found else {
            let why = "there is no function `precedes`: fn precedes(a: Row, b: Row) -> bool";
            return Err(Error::Comparator(why.into()));
        };
        let span = module.functions.get_span(precedes);
        let wrong = || {
            refuse(
                span,
                "it should be fn precedes(a: Row, b: Row) -> bool, of a struct",
            )
        };
        let [a, b] = function.arguments.as_slice() else {
            return Err(wrong());
        };
        let row = a.ty;
        let returns_bool = function.result.as_ref().is_some_and(|result| {
            let inner = &module.types[result.ty].inner;
            *inner == naga::TypeInner::Scalar(naga::Scalar::BOOL)
        });
        let naga::TypeInner::Struct {
            members,
            span: bytes,
        } = &module.types[row].inner
        else {
            return Err(wrong());
        };
        if a.ty != b.ty || !returns_bool {
            return Err(wrong());
        }
        if !info[row].contains(naga::valid::TypeFlags::HOST_SHAREABLE) {
            let why = "rows are not of a type that a buffer can hold";
            return Err(refuse(module.types.get_span(row), why));
        }
        if let Some(other) = laid_out_by_attributes(&module) {
            let why = "structs with @align or @size are not read: a member that fills the gap is";
            return Err(refuse(module.types.get_span(other), why));
        }
        let members: Vec<_> = members
            .iter()
            .map(|member| (member.name.clone().unwrap_or_default(), member.offset))
            .collect();
        let bytes = *bytes;
        rename(&mut module, row, precedes);
        let written = |why: String| Error::Comparator(format!("it cannot be written again: {why}"));
        let flags = naga::back::wgsl::WriterFlags::empty();
        let text = naga::back::wgsl::write_string(&module, &info, flags)
            .map_err(|e| written(e.to_string()))?;
        // What was read is what is written.
        let read =
            naga::front::wgsl::parse_str(&text).map_err(|e| written(e.emit_to_string(&text)))?;
        validate(&read, &text).map_err(written)?;
        Ok(Self(Arc::new(Checked {
            of_words: of_words(&read),
            text,
            words: bytes / 4,
            members,
        })))
    }

    /// That the struct lies in memory as a Rust type does: its size, and the offsets of the members that are named.
    ///
    /// # Errors
    ///
    /// [`Error::Comparator`], with both numbers.
    pub fn check_layout<T>(&self, members: &[(&str, usize)]) -> Result<(), Error> {
        let rust = std::any::type_name::<T>();
        let stride = self.0.words as usize * 4;
        if size_of::<T>() != stride {
            return Err(Error::Comparator(format!(
                "{rust} is of {} bytes, and a row of {stride}",
                size_of::<T>()
            )));
        }
        for &(name, offset) in members {
            let found = self.0.members.iter().find(|member| member.0 == name);
            match found {
                Some(&(_, there)) if there as usize == offset => {}
                Some((_, there)) => {
                    return Err(Error::Comparator(format!(
                        "member {name} is at byte {offset} of {rust}, and at byte {there} of a row"
                    )));
                }
                None => {
                    return Err(Error::Comparator(format!("a row has no member {name}")));
                }
            }
        }
        Ok(())
    }

    /// 32-bit words from one row to the next in a buffer.
    #[must_use]
    pub fn row_words(&self) -> u32 {
        self.0.words
    }

    /// The text, under names that begin with `user_`.
    pub(crate) fn text(&self) -> &str {
        &self.0.text
    }

    /// `user_row_to`, which takes a row apart into words, and `user_row_of`, which makes it of them.
    pub(crate) fn of_words(&self) -> &str {
        &self.0.of_words
    }

    /// What stands in for a caller's, where kernels are looked at with none: words in ascending order.
    pub(crate) const STAND_IN: &str = "struct user_row {
    key: u32,
}

fn user_precedes(a: user_row, b: user_row) -> bool {
    return a.key < b.key;
}
";

    /// Its [`of_words`](Self::of_words).
    pub(crate) const STAND_IN_OF_WORDS: &str =
        "fn user_row_to(row: user_row, words: ptr<function, array<u32, ROW_WORDS>>) {
    (*words)[0] = row.key;
}

fn user_row_of(words: array<u32, ROW_WORDS>) -> user_row {
    var row: user_row;
    row.key = words[0];
    return row;
}
";

    /// That, as a comparator.
    #[cfg(feature = "lockstep")]
    pub(crate) fn stand_in() -> Self {
        Self(Arc::new(Checked {
            text: Self::STAND_IN.into(),
            of_words: Self::STAND_IN_OF_WORDS.into(),
            words: 1,
            members: vec![("key".into(), 0)],
        }))
    }
}

/// Functions that take a row apart into `ROW_WORDS` words, and make it of them. What fills gaps is left out.
fn of_words(module: &Module) -> String {
    let is_row = |ty: &naga::Type| ty.name.as_deref() == Some("user_row");
    let row = module.types.iter().find(|ty| is_row(ty.1));
    let mut numbers = Vec::new();
    if let Some((row, _)) = row {
        collect_numbers(module, row, "row".into(), 0, &mut numbers);
    }
    let mut to =
        "fn user_row_to(row: user_row, words: ptr<function, array<u32, ROW_WORDS>>) {\n".to_owned();
    let mut of =
        "fn user_row_of(words: array<u32, ROW_WORDS>) -> user_row {\n    var row: user_row;\n"
            .to_owned();
    for Numbers {
        path,
        word,
        scalar,
        size,
    } in &numbers
    {
        let ty = match scalar {
            naga::ScalarKind::Sint => "i32",
            naga::ScalarKind::Float => "f32",
            _ => "u32",
        };
        let components = match size {
            None => vec![String::new()],
            Some(size) => [".x", ".y", ".z", ".w"].map(String::from)[..*size as usize].to_vec(),
        };
        let words = (*word..).take(components.len());
        let words: Vec<String> = words
            .map(|word| format!("bitcast<{ty}>(words[{word}])"))
            .collect();
        for (component, word) in components.iter().zip(*word..) {
            to += &format!("    (*words)[{word}] = bitcast<u32>({path}{component});\n");
        }
        // (Whole vectors: of single components of a matrix FXC makes nonsense.)
        of += &match size {
            None => format!("    {path} = {};\n", words[0]),
            Some(size) => format!(
                "    {path} = vec{}<{ty}>({});\n",
                *size as u32,
                words.join(", ")
            ),
        };
    }
    format!("{to}}}\n\n{of}    return row;\n}}\n")
}

/// A number of a row, or a vector of them.
struct Numbers {
    /// How it is reached.
    path: String,
    /// Which word of the row is the first.
    word: u32,
    /// Of what kind: of a word each, since naga was told of no capability for others.
    scalar: naga::ScalarKind,
    /// How many, if they are a vector.
    size: Option<naga::VectorSize>,
}

fn collect_numbers(
    module: &Module,
    ty: Handle<naga::Type>,
    path: String,
    bytes: u32,
    numbers: &mut Vec<Numbers>,
) {
    let mut add = |path, bytes: u32, scalar: naga::Scalar, size| {
        numbers.push(Numbers {
            path,
            word: bytes / 4,
            scalar: scalar.kind,
            size,
        });
    };
    match &module.types[ty].inner {
        naga::TypeInner::Scalar(scalar) => add(path, bytes, *scalar, None),
        naga::TypeInner::Vector { size, scalar } => add(path, bytes, *scalar, Some(*size)),
        naga::TypeInner::Matrix {
            columns,
            rows,
            scalar,
        } => {
            // (A column of three is as far from the next as one of four.)
            let stride = if *rows == naga::VectorSize::Bi { 8 } else { 16 };
            for i in 0..*columns as u32 {
                add(
                    format!("{path}[{i}]"),
                    bytes + i * stride,
                    *scalar,
                    Some(*rows),
                );
            }
        }
        naga::TypeInner::Array {
            base,
            size: naga::ArraySize::Constant(size),
            stride,
        } => {
            for i in 0..size.get() {
                let path = format!("{path}[{i}]");
                collect_numbers(module, *base, path, bytes + i * stride, numbers);
            }
        }
        naga::TypeInner::Struct { members, .. } => {
            for member in members {
                let name = member.name.as_deref().unwrap_or_default();
                let path = format!("{path}.{name}");
                collect_numbers(module, member.ty, path, bytes + member.offset, numbers);
            }
        }
        // No row has anything else.
        _ => {}
    }
}

/// Has naga look at a module; what it says names the lines of its text.
fn validate(module: &Module, wgsl: &str) -> Result<naga::valid::ModuleInfo, String> {
    let (flags, none) = (
        naga::valid::ValidationFlags::all(),
        naga::valid::Capabilities::empty(),
    );
    let mut validator = naga::valid::Validator::new(flags, none);
    validator
        .validate(module)
        .map_err(|e| e.emit_to_string(wgsl))
}

/// Gives everything that a module declares a name of its own, which begins with `user_`; the row's struct is `user_row`, and
/// the function `user_precedes`. Names within functions are made anew.
fn rename(module: &mut Module, row: Handle<naga::Type>, precedes: Handle<Function>) {
    let mut types = naga::UniqueArena::new();
    for (handle, ty) in module.types.iter() {
        let mut ty = ty.clone();
        // (Types without names differ by what they are, and those with names by these: handles stay what they are.)
        ty.name = ty.name.map(|_| format!("user_t{}", handle.index()));
        if handle == row {
            ty.name = Some("user_row".into());
        }
        types.insert(ty, module.types.get_span(handle));
    }
    module.types = types;
    for (handle, constant) in module.constants.iter_mut() {
        constant.name = Some(format!("user_c{}", handle.index()));
    }
    for (handle, function) in module.functions.iter_mut() {
        function.name = Some(format!("user_f{}", handle.index()));
        if handle == precedes {
            function.name = Some("user_precedes".into());
        }
        function.named_expressions.clear();
        for argument in &mut function.arguments {
            argument.name = None;
        }
        for (_, variable) in function.local_variables.iter_mut() {
            variable.name = None;
        }
    }
}

/// The first struct whose members do not lie where they would without attributes, which are not written again.
fn laid_out_by_attributes(module: &Module) -> Option<Handle<naga::Type>> {
    let mut layouter = naga::proc::Layouter::default();
    layouter.update(module.to_ctx()).ok()?;
    let is_other = |members: &[naga::StructMember], span: u32| {
        let (mut end, mut alignment) = (0, naga::proc::Alignment::ONE);
        for member in members {
            let layout = layouter[member.ty];
            if layout.alignment.round_up(end) != member.offset {
                return true;
            }
            end = member.offset + layout.size;
            alignment = alignment.max(layout.alignment);
        }
        alignment.round_up(end) != span
    };
    let mut structs = module.types.iter().filter(|(_, ty)| match &ty.inner {
        naga::TypeInner::Struct { members, span } => is_other(members, *span),
        _ => false,
    });
    structs.next().map(|found| found.0)
}

/// Bytes of a type, and of a function's variables, at the most. A lane has registers for a quarter of that, and
/// compilers of drivers fail on what is many times as much.
const MOST_BYTES: u32 = 4096;

/// That two rows, and what a function keeps, are no more than compilers can take.
fn check_sizes(module: &Module, refuse: &impl Fn(Span, &str) -> Error) -> Result<(), Error> {
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
                return Err(refuse(span, why));
            }
        }
    }
    let mut types = module.types.iter();
    if let Some((large, _)) = types.find(|ty| layouter[ty.0].size > MOST_BYTES) {
        let why = "a type of more than 4096 bytes: no compiler has registers for its values";
        // (Arrays have no place of their own in the text.)
        return Err(match module.types[large].name {
            Some(_) => refuse(module.types.get_span(large), why),
            None => Error::Comparator(why.into()),
        });
    }
    Ok(())
}

/// That no function does what could do harm, or too much.
fn check_functions(module: &Module, refuse: &impl Fn(Span, &str) -> Error) -> Result<(), Error> {
    // (A function stands behind those that it calls.)
    let mut works = Vec::new();
    for (handle, function) in module.functions.iter() {
        let derives = |e: &Expression| matches!(e, Expression::Derivative { .. });
        if let Some((at, _)) = function.expressions.iter().find(|e| derives(e.1)) {
            let span = function.expressions.get_span(at);
            return Err(refuse(
                span,
                "a comparator has no neighbours to differ from",
            ));
        }
        let work = check_block(module, function, &function.body, &works, refuse)?;
        if work > MOST_ROUNDS {
            let span = module.functions.get_span(handle);
            return Err(refuse(span, "this takes more than 4096 rounds and calls"));
        }
        works.push(work);
    }
    Ok(())
}

/// How many rounds and calls a block makes at the most, if it has nothing in it that could do harm. `works`: those of the
/// functions before this one.
fn check_block(
    module: &Module,
    function: &Function,
    block: &naga::Block,
    works: &[u64],
    refuse: &impl Fn(Span, &str) -> Error,
) -> Result<u64, Error> {
    let check = |block| check_block(module, function, block, works, refuse);
    let mut work = 0_u64;
    let mut before: Option<&Statement> = None;
    for (statement, &span) in block.span_iter() {
        let more = match statement {
            Statement::Emit(_) => continue,
            Statement::Block(block) => check(block)?,
            Statement::If { accept, reject, .. } => check(accept)?.saturating_add(check(reject)?),
            Statement::Switch { cases, .. } => cases.iter().try_fold(0_u64, |work, case| {
                check(&case.body).map(|more| work.saturating_add(more))
            })?,
            Statement::Loop {
                body,
                continuing,
                break_if,
            } => {
                let rounds = rounds(module, function, before, body, continuing);
                let Some(rounds) = rounds.filter(|_| break_if.is_none()) else {
                    let why = "it is not plain that this loop ends: say for (var i = 0u; i < 16u; i++), and write to i \
                               nowhere else";
                    return Err(refuse(span, why));
                };
                let each = check(body)?.saturating_add(check(continuing)?);
                let all = rounds.saturating_mul(each.saturating_add(1));
                if all > MOST_ROUNDS {
                    let why = "this loop takes more than 4096 rounds and calls";
                    return Err(refuse(span, why));
                }
                all
            }
            Statement::Call { function, .. } => {
                let called = works.get(function.index());
                let Some(called) = called else {
                    return Err(refuse(span, "what is called here stands behind it"));
                };
                called.saturating_add(1)
            }
            Statement::Break
            | Statement::Continue
            | Statement::Return { .. }
            | Statement::Store { .. } => 0,
            _ => {
                return Err(refuse(
                    span,
                    "a comparator compares, and does nothing like this",
                ));
            }
        };
        work = work.saturating_add(more);
        before = Some(statement);
    }
    Ok(work)
}

/// How many rounds a loop takes at the most, if it is one that counts: from a number that a variable begins with, or that is
/// stored just before it, to one that is compared first in each round, by one that is added at its end; and nothing else writes to what it counts in.
fn rounds(
    module: &Module,
    function: &Function,
    before: Option<&Statement>,
    body: &naga::Block,
    continuing: &naga::Block,
) -> Option<u64> {
    let number = |handle| number(module, function, handle);
    let mut steps = continuing
        .iter()
        .filter(|s| !matches!(s, Statement::Emit(_)));
    let (Some(&Statement::Store { pointer, value }), None) = (steps.next(), steps.next()) else {
        return None;
    };
    let whole = |pointer: Handle<Expression>| match function.expressions[pointer] {
        Expression::LocalVariable(variable) => Some(variable),
        _ => None,
    };
    let counter = whole(pointer)?;
    // That it is read there, and not before.
    let is_counter = |handle: Handle<Expression>, block: &naga::Block| {
        let reads = matches!(&function.expressions[handle],
            &Expression::Load { pointer } if whole(pointer) == Some(counter));
        let mut emitted = block.iter().map_while(|statement| match statement {
            Statement::Emit(range) => Some(range.clone()),
            _ => None,
        });
        reads && emitted.any(|mut range| range.any(|there| there == handle))
    };
    let mut steps = body.iter().filter(|s| !matches!(s, Statement::Emit(_)));
    let Some(Statement::If {
        condition,
        accept,
        reject,
    }) = steps.next()
    else {
        return None;
    };
    if !accept.is_empty() || !matches!(reject.iter().next(), Some(Statement::Break)) {
        return None;
    }
    let end = match &function.expressions[*condition] {
        Expression::Binary { op, left, right } if is_counter(*left, body) => match op {
            naga::BinaryOperator::Less => number(*right)?,
            naga::BinaryOperator::LessEqual => number(*right)? + 1,
            _ => return None,
        },
        _ => return None,
    };
    let added = match &function.expressions[value] {
        Expression::Binary {
            op: naga::BinaryOperator::Add,
            left,
            right,
        } if is_counter(*left, continuing) => number(*right)?,
        _ => return None,
    };
    // That store, and one just before the loop, unless the variable begins with a number.
    let (start, stores) = match before {
        Some(&Statement::Store { pointer, value }) if whole(pointer) == Some(counter) => {
            (number(value)?, 2)
        }
        _ => (number(function.local_variables[counter].init?)?, 1),
    };
    let only_counts = writes(function, &function.body, counter) == stores;
    let rounds = (end - start).max(0).unsigned_abs();
    // Beyond that it would begin again.
    let wraps = end + added > i64::from(i32::MAX);
    (added > 0 && only_counts && !wraps).then(|| rounds.div_ceil(added.unsigned_abs()))
}

/// A number that is known when the text is read.
fn number(module: &Module, function: &Function, handle: Handle<Expression>) -> Option<i64> {
    let literal = |expression: &Expression| match expression {
        Expression::Literal(naga::Literal::U32(number)) => Some(i64::from(*number)),
        Expression::Literal(naga::Literal::I32(number)) => Some(i64::from(*number)),
        _ => None,
    };
    match &function.expressions[handle] {
        Expression::Constant(constant) => {
            literal(&module.global_expressions[module.constants[*constant].init])
        }
        expression => literal(expression),
    }
}

/// The variable that a pointer is to, or to a part of.
fn local(function: &Function, pointer: Handle<Expression>) -> Option<Handle<LocalVariable>> {
    match function.expressions[pointer] {
        Expression::LocalVariable(variable) => Some(variable),
        Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => {
            local(function, base)
        }
        _ => None,
    }
}

/// How many statements write to a variable, or let others do.
fn writes(function: &Function, block: &naga::Block, variable: Handle<LocalVariable>) -> usize {
    let is_it = |handle| usize::from(local(function, handle) == Some(variable));
    block
        .iter()
        .map(|statement| match statement {
            Statement::Store { pointer, .. } => is_it(*pointer),
            Statement::Call { arguments, .. } => arguments.iter().map(|&a| is_it(a)).sum(),
            Statement::Block(block) => writes(function, block, variable),
            Statement::If { accept, reject, .. } => {
                writes(function, accept, variable) + writes(function, reject, variable)
            }
            Statement::Switch { cases, .. } => cases
                .iter()
                .map(|case| writes(function, &case.body, variable))
                .sum(),
            Statement::Loop {
                body, continuing, ..
            } => writes(function, body, variable) + writes(function, continuing, variable),
            _ => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(wgsl: &str) -> String {
        Comparator::new(wgsl).unwrap_err().to_string()
    }

    fn with(body: &str) -> String {
        format!("struct Row {{ key: u32 }}\nfn precedes(a: Row, b: Row) -> bool {{\n{body}\n}}")
    }

    #[test]
    fn errors_show_the_callers_own_line() {
        let error = refused(&with("return a.kye < b.key;"));
        assert!(
            error.contains("wgsl:3:10") && error.contains("kye"),
            "{error}"
        );
        let error = refused(&with("return a.key;"));
        assert!(error.contains("return a.key;"), "{error}");
        for (wgsl, place) in [
            (with("loop { }\nreturn true;"), "wgsl:3:1: it is not plain"),
            (
                with("for (var i = 0u; i < a.key; i++) { }\nreturn true;"),
                "wgsl:3:1: it is not plain",
            ),
            (
                with("for (var i = 0u; i < 9u; i++) { i = 0u; }\nreturn true;"),
                "wgsl:3:1: it is not plain",
            ),
            (
                with("for (var i = 0u; i < 99999u; i++) { }\nreturn true;"),
                "wgsl:3:1: this loop takes",
            ),
            (
                with("for (var i = 0u; i < 9u; i += 4294967290u) { }\nreturn true;"),
                "wgsl:3:1: it is not plain",
            ),
            (
                with(
                    "for (var i = 0; i < 99; i++) {\nfor (var j = 0; j < 99; j++) { }\n}\nreturn true;",
                ),
                "wgsl:3:1: this loop takes",
            ),
            (
                with("var i = 0u; let c = i;\nfor (; c < 4u; i++) { }\nreturn true;"),
                "wgsl:4:1: it is not plain",
            ),
            (
                with("var i = 0u; let n = i + 1u;\nfor (; i < 4u; i = n) { }\nreturn true;"),
                "wgsl:4:1: it is not plain",
            ),
            (
                with("var v: vec2<u32>;\nfor (v.x = 0u; v.x < 4u; v.y += 1u) { }\nreturn true;"),
                "wgsl:4:1: it is not plain",
            ),
            (
                "fn f() -> u32 { for (var i = 0u; i < 99u; i++) { }\nreturn 1u; }\n".to_owned()
                    + &with("for (var i = 0u; i < 99u; i++) { _ = f(); }\nreturn true;"),
                "wgsl:5:1: this loop takes",
            ),
            (
                with(
                    "var x: array<u32, 1000>;\nvar y: array<u32, 25>;\nreturn x[a.key] < y[b.key];",
                ),
                "wgsl:4:1: the variables up to this one",
            ),
            (
                with("return true;").replace("u32", "array<u32, 1025>"),
                "a type of more than 4096 bytes",
            ),
            (
                with("return dpdx(f32(a.key)) < 0.0;"),
                "wgsl:3:8: a comparator has no neighbours",
            ),
            (
                with("workgroupBarrier();\nreturn true;"),
                "wgsl:3:1: a comparator compares",
            ),
            (
                with("return true;") + "\nvar<private> x: u32;",
                "wgsl:5:1: a comparator has no variables",
            ),
            (
                "struct Row { key: u32 }\nfn precedes(a: Row) -> bool { return true; }".into(),
                "wgsl:2:1: it should be",
            ),
            (
                "fn precedes(a: u32, b: u32) -> bool { return a < b; }".into(),
                "wgsl:1:1: it should be",
            ),
        ] {
            let error = refused(&wgsl);
            assert!(error.contains(place), "{error}");
        }
        assert!(refused("struct Row { key: u32 }").contains("no function `precedes`"));
        assert!(refused(&with("return true;").replace("key: u32", "key: bool")).contains("Row"));
        let point = with("return true;") + "\n@compute @workgroup_size(1) fn main() {}";
        assert!(refused(&point).contains("`main`"));
    }

    #[test]
    fn loops_that_count_are_allowed_and_names_do_not_clash() {
        for body in [
            "for (var i = 0u; i < 4u; i++) { if i == a.key { return true; } }\nreturn false;",
            "for (var i = 0; i <= 4; i += 2) { if a.key == 1u { continue; } }\nreturn false;",
            "var x = 0u;\nfor (var i = 0u; i < 3u; i++) { for (var j = 0u; j < 3u; j++) { x += j; } }\nreturn x > a.key;",
        ] {
            Comparator::new(&with(body)).unwrap_or_else(|e| panic!("{e}"));
        }
        // What is called is the caller's `precedes`, and no function of a like name.
        let like = with("return precedes_(b, a);")
            + "\nfn precedes_(a: Row, b: Row) -> bool { return a.key < b.key; }";
        let text = Comparator::new(&like).unwrap().text().to_owned();
        let body = text.split("fn user_precedes(").nth(1).unwrap();
        assert!(body.contains("user_f"), "{text}");
        // Names of the sorter's, and of each other.
        let wgsl = "const W = 7u;
            alias Key = u32;
            struct user_row { lane: Key, tile: Key }
            alias row = vec2<f32>;
            alias other_row = vec2<f32>;
            fn both(a: row, b: other_row) -> f32 { return a.x + b.y; }
            struct Record { tile: user_row, key: vec3<f32> }
            fn compare_exchange(a: u32) -> u32 { return a + W; }
            fn precedes(a: Record, b: Record) -> bool {
                return compare_exchange(a.tile.lane) < compare_exchange(b.tile.lane);
            }";
        // Small enough to be sorted in workgroup memory, word by word.
        let small = "struct words { user_row: i32 }
            struct row { user_row_to: array<words, 2>, first: f32, second: u32 }
            fn user_row_of(words: row) -> i32 { return words.user_row_to[1].user_row; }
            fn precedes(a: row, b: row) -> bool { return user_row_of(a) < user_row_of(b); }";
        for (wgsl, words) in [(wgsl, 8), (small, 4)] {
            let comparator = Comparator::new(wgsl).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(comparator.row_words(), words);
            for kernel in crate::kernel::SampleSortKernel::all_by_comparators() {
                let kernel = crate::kernel::Kernel::SampleSort(kernel)
                    .specialise(crate::KeyType::U32, crate::Order::Descending)
                    .comparing(true);
                // In their buffer, and beside their numbers.
                for kernel in [kernel, kernel.with_rows(words, 48 << 10)] {
                    let assembled = kernel.assemble_comparing(Some(&comparator));
                    let assembled = assembled.unwrap_or_else(|e| panic!("{e}"));
                    assert!(assembled.bindings.len() <= 9, "{}", kernel.label());
                    // With what stands in for it, too.
                    kernel.assemble().unwrap_or_else(|e| panic!("{e}"));
                }
            }
        }
    }

    #[test]
    fn rows_are_taken_apart_as_they_lie_in_memory() {
        let wgsl = "struct Inner { a1: vec3<f32>, b: i32 }
            struct Row { key: u32, m: mat3x2<f32>, n: mat2x3<f32>, inner: array<Inner, 2>, last: vec2<u32> }
            fn precedes(a: Row, b: Row) -> bool { return a.key < b.key; }";
        let comparator = Comparator::new(wgsl).unwrap_or_else(|e| panic!("{e}"));
        let made: Vec<_> = comparator
            .of_words()
            .lines()
            .filter_map(|line| line.trim().strip_prefix("row."))
            .collect();
        let float = |words: &[u32]| {
            let words: Vec<_> = words
                .iter()
                .map(|w| format!("bitcast<f32>(words[{w}])"))
                .collect();
            format!("vec{}<f32>({});", words.len(), words.join(", "))
        };
        let expected = [
            "key = bitcast<u32>(words[0]);".to_owned(),
            format!("m[0] = {}", float(&[2, 3])),
            format!("m[1] = {}", float(&[4, 5])),
            format!("m[2] = {}", float(&[6, 7])),
            format!("n[0] = {}", float(&[8, 9, 10])),
            format!("n[1] = {}", float(&[12, 13, 14])),
            format!("inner[0].a1_ = {}", float(&[16, 17, 18])),
            "inner[0].b = bitcast<i32>(words[19]);".to_owned(),
            format!("inner[1].a1_ = {}", float(&[20, 21, 22])),
            "inner[1].b = bitcast<i32>(words[23]);".to_owned(),
            "last = vec2<u32>(bitcast<u32>(words[24]), bitcast<u32>(words[25]));".to_owned(),
        ];
        assert_eq!(made, expected);
        // (The other way, word by word.)
        assert!(
            comparator
                .of_words()
                .contains("(*words)[13] = bitcast<u32>(row.n[1].y);")
        );
    }

    #[test]
    fn layouts_are_those_of_rust_or_refused() {
        #[repr(C)]
        struct Row {
            key: u32,
            position: [f32; 3],
        }
        let packed = "struct Row { key: u32, position: array<f32, 3> }
            fn precedes(a: Row, b: Row) -> bool { return a.key < b.key; }";
        let packed = Comparator::new(packed).unwrap();
        let members = [
            ("key", 0),
            ("position", std::mem::offset_of!(Row, position)),
        ];
        packed.check_layout::<Row>(&members).unwrap();
        let error = packed
            .check_layout::<Row>(&[("key", 4)])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("at byte 4 of") && error.ends_with("at byte 0 of a row"),
            "{error}"
        );
        assert!(packed.check_layout::<Row>(&[("kye", 0)]).is_err());
        // In WGSL a vec3 begins at 16 bytes, and the struct is of 32.
        let aligned = "struct Row { key: u32, position: vec3<f32> }
            fn precedes(a: Row, b: Row) -> bool { return a.key < b.key; }";
        let error = Comparator::new(aligned)
            .unwrap()
            .check_layout::<Row>(&members);
        let error = error.unwrap_err().to_string();
        assert!(
            error.ends_with("is of 16 bytes, and a row of 32"),
            "{error}"
        );
        // Attributes would be lost, also in a member's struct.
        let spread = "struct Inner { v: vec4<u32>, a: u32, @align(8) b: u32 }
            struct Row { inner: Inner, key: u32 }
            fn precedes(a: Row, b: Row) -> bool { return a.inner.b < b.inner.b; }";
        assert!(refused(spread).contains("wgsl:1:1: structs with @align or @size"));
    }
}

//! WGSL functions of rows that a user writes, comparators and predicates: parsed and validated by
//! themselves, then written again under names that cannot clash with a kernel's.

mod checks;
mod comparator;
mod features;
mod predicate;
mod rows;
#[cfg(test)]
mod tests;

pub use comparator::{Comparator, WideKey};
pub use predicate::Predicate;
pub use rows::{FieldOf, Members};

use crate::error::Error;
use naga::valid::Capabilities;
use naga::{Expression, Function, Handle, Module, Span};
use rows::Member;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What a function says of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Which of two comes first.
    Comparator,
    /// Whether one is kept.
    Predicate,
}

impl Role {
    /// What the user calls it.
    const fn name(self) -> &'static str {
        match self {
            Self::Comparator => "comparator",
            Self::Predicate => "predicate",
        }
    }

    /// The function's name in the user's text, and its arguments.
    const fn function(self) -> (&'static str, usize) {
        match self {
            Self::Comparator => ("precedes", 2),
            Self::Predicate => ("keeps", 1),
        }
    }

    const fn declaration(self) -> &'static str {
        match self {
            Self::Comparator => "fn precedes(a: Row, b: Row) -> bool",
            Self::Predicate => "fn keeps(row: Row) -> bool",
        }
    }

    const fn error(self, why: String) -> Error {
        match self {
            Self::Comparator => Error::Comparator(why),
            Self::Predicate => Error::Predicate(why),
        }
    }

    /// A stand-in for the user's text where kernels are examined without one: words in ascending
    /// order, or those that are not 0.
    pub(crate) const fn stand_in(self) -> &'static str {
        match self {
            Self::Comparator => {
                "struct user_row {
    key: u32,
}

fn user_precedes(a: user_row, b: user_row) -> bool {
    return a.key < b.key;
}
"
            }
            Self::Predicate => {
                "struct user_row {
    key: u32,
}

fn user_keeps(row: user_row) -> bool {
    return row.key != 0u;
}
"
            }
        }
    }
}

/// A validated function, with all that it calls. A clone shares the text with its original.
#[derive(Clone)]
pub struct RowFunction(Arc<Checked>);

struct Checked {
    role: Role,
    /// The renamed text, with the struct `user_row` and the function `user_precedes` or
    /// `user_keeps`.
    text: String,
    /// The WGSL function `user_row_of`, which builds a small row from its words. Empty for larger
    /// rows.
    of_words: String,
    /// The stride of rows in 32-bit words.
    words: u32,
    members: Vec<Member>,
    /// True if the text has loops that are not known to end.
    loops: bool,
}

impl PartialEq for RowFunction {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Eq for RowFunction {}

impl Hash for RowFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.text.hash(state);
    }
}

impl std::fmt::Debug for RowFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowFunction")
            .field("role", &self.0.role)
            .field("words", &self.0.words)
            .finish_non_exhaustive()
    }
}

impl RowFunction {
    fn read(wgsl: &str, role: Role) -> Result<Self, Error> {
        Checked::read(wgsl, role).map(|checked| Self(Arc::new(checked)))
    }

    /// The [stand-in](Role::stand_in) for a comparator as a function.
    pub(crate) fn stand_in() -> Self {
        let role = Role::Comparator;
        Self(Arc::new(Checked {
            role,
            text: role.stand_in().into(),
            of_words: Self::STAND_IN_OF_WORDS.into(),
            words: 1,
            members: Vec::new(),
            loops: false,
        }))
    }

    /// The stride of rows in 32-bit words.
    pub(crate) fn words(&self) -> u32 {
        self.0.words
    }

    /// The renamed text. All its names begin with `user_`.
    pub(crate) fn text(&self) -> &str {
        &self.0.text
    }

    /// True if the text has loops that are not known to end.
    pub(crate) fn has_loops(&self) -> bool {
        self.0.loops
    }

    /// The function `user_row_of`, for kernels that store a row's words beside its index.
    pub(crate) fn of_words(&self) -> &str {
        &self.0.of_words
    }

    /// Words of the largest rows that kernels store beside their indices.
    pub(crate) const MOST_WORDS_BESIDE: u32 = 4;

    /// The [`of_words`](Self::of_words) of the stand-ins.
    pub(crate) const STAND_IN_OF_WORDS: &str = "fn user_row_of(words: vec4<u32>) -> user_row {
    var row: user_row;
    row.key = words.x;
    return row;
}
";

    /// Fails unless rows have the size of `T`.
    fn check_size<T>(&self) -> Result<(), Error> {
        rows::check_size::<T>(self.words() as usize * 4).map_err(|why| self.0.role.error(why))
    }

    /// Fails unless rows have the size of `T`, and its members, where these are.
    fn check_members<T>(&self, members: Members<T>) -> Result<(), Error> {
        self.check_size::<T>()?;
        rows::check_members(&self.0.members, members).map_err(|why| self.0.role.error(why))
    }

    /// True if the size alone determines the layout of a row.
    fn is_plain(&self) -> bool {
        rows::is_plain(&self.0.members)
    }
}

impl Checked {
    /// Parses, validates and renames a text.
    fn read(wgsl: &str, role: Role) -> Result<Self, Error> {
        let source = Source { wgsl, role };
        checks::on_a_deep_stack(source, Self::read_here)
    }

    fn read_here(source: Source) -> Result<Self, Error> {
        let Source { wgsl, role } = source;
        let mut module = naga::front::wgsl::parse_str(wgsl).map_err(|e| {
            // naga advises to enable f16, which only leads to the next error.
            if e.message().contains("`f16` enable extension") {
                return features::F16.refuse(source);
            }
            role.error(naga_message(&e.emit_to_string(wgsl)))
        })?;
        let refuse = |span: Span, why: &str| source.refuse(span, why);
        checks::check_declarations(&module, source)?;
        let info = validate(&module, wgsl).map_err(|why| {
            match features::missing(&module, wgsl, &why) {
                Some(feature) => feature.refuse(source),
                None => role.error(why),
            }
        })?;
        let checks::Checked { loops, computed } = checks::check(&module, &info, source)?;

        let (name, arity) = role.function();
        let is_it = |f: &Function| f.name.as_deref() == Some(name);
        let found = module.functions.iter().find(|f| is_it(f.1));
        let Some((handle, function)) = found else {
            let why = format!("there is no function `{name}`: {}", role.declaration());
            return Err(role.error(why));
        };
        let span = module.functions.get_span(handle);
        let wrong = || {
            let why = format!("it should be {}, of a struct", role.declaration());
            refuse(span, &why)
        };
        let [first, others @ ..] = function.arguments.as_slice() else {
            return Err(wrong());
        };
        let row = first.ty;
        let returns_bool = function.result.as_ref().is_some_and(|result| {
            let inner = &module.types[result.ty].inner;
            *inner == naga::TypeInner::Scalar(naga::Scalar::BOOL)
        });
        let naga::TypeInner::Struct { span: bytes, .. } = module.types[row].inner else {
            return Err(wrong());
        };
        let are_rows = others.len() + 1 == arity && others.iter().all(|other| other.ty == row);
        if !are_rows || !returns_bool {
            return Err(wrong());
        }
        if !info[row].contains(naga::valid::TypeFlags::HOST_SHAREABLE) {
            let why = "rows are not of a type that a buffer can hold";
            return Err(refuse(module.types.get_span(row), why));
        }
        if let Some(other) = rows::laid_out_by_attributes(&module) {
            let why = "structs with @align or @size are not read: a member that fills the gap is";
            return Err(refuse(module.types.get_span(other), why));
        }
        let members = rows::members(&module, row);
        rename(&mut module, &computed, row, (handle, name));
        let written = |why: String| role.error(format!("it cannot be written again: {why}"));
        let text = write(&module, &info).map_err(|e| written(e.to_string()))?;
        // Check the text that was written.
        let read = naga::front::wgsl::parse_str(&text)
            .map_err(|e| written(naga_message(&e.emit_to_string(&text))))?;
        validate(&read, &text).map_err(written)?;
        Ok(Self {
            role,
            of_words: match bytes / 4 {
                0..=RowFunction::MOST_WORDS_BESIDE => rows::of_words(&read),
                _ => String::new(),
            },
            text,
            words: bytes / 4,
            members,
            loops,
        })
    }
}

/// The user's text. Errors quote a line of it.
#[derive(Clone, Copy)]
struct Source<'a> {
    wgsl: &'a str,
    role: Role,
}

impl Source<'_> {
    /// An error with the reason, line and column, and the first 200 characters of that line.
    fn refuse(self, span: Span, why: &str) -> Error {
        // Unnamed types have no span.
        if !span.is_defined() {
            return self.role.error(why.into());
        }
        let location = span.location(self.wgsl);
        let line = self
            .wgsl
            .lines()
            .nth(location.line_number.max(1) as usize - 1);
        let line: String = line.unwrap_or_default().chars().take(200).collect();
        self.role.error(format!(
            "wgsl:{}:{}: {why}\n{}",
            location.line_number, location.line_position, line
        ))
    }
}

/// Validates a module. The error quotes lines of `wgsl`.
fn validate(module: &Module, wgsl: &str) -> Result<naga::valid::ModuleInfo, String> {
    validate_with(module, wgsl, Capabilities::empty())
}

/// Validates a module for a device with optional capabilities.
fn validate_with(
    module: &Module,
    wgsl: &str,
    capabilities: Capabilities,
) -> Result<naga::valid::ModuleInfo, String> {
    let flags = naga::valid::ValidationFlags::all();
    let mut validator = naga::valid::Validator::new(flags, capabilities);
    validator
        .validate(module)
        .map_err(|e| naga_message(&e.emit_to_string(wgsl)))
}

/// naga's message without its prefix. The lines after the first show the location.
fn naga_message(text: &str) -> String {
    let text = text.trim_end();
    text.strip_prefix("error: ").unwrap_or(text).to_owned()
}

/// Writes a module of at most [`MOST_WRITTEN`] bytes. The limit is needed because naga writes each
/// constant out in full wherever another one uses it, so a short text can become gigabytes.
fn write(
    module: &Module,
    info: &naga::valid::ModuleInfo,
) -> Result<String, naga::back::wgsl::Error> {
    struct Bounded(String);
    impl std::fmt::Write for Bounded {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            if self.0.len() + text.len() > MOST_WRITTEN {
                return Err(std::fmt::Error);
            }
            self.0.write_str(text)
        }
    }
    let flags = naga::back::wgsl::WriterFlags::empty();
    let mut writer = naga::back::wgsl::Writer::new(Bounded(String::new()), flags);
    writer.write(module, info)?;
    Ok(writer.finish().0)
}

/// The maximum size of the renamed text in bytes.
const MOST_WRITTEN: usize = 1 << 20;

/// Renames all declarations of a module to unique names that begin with `user_`: the struct of rows
/// to `user_row`, and the function to `user_` and its name. naga invents the names within
/// functions.
fn rename(
    module: &mut Module,
    computed: &[Vec<Handle<Expression>>],
    row: Handle<naga::Type>,
    (own, name): (Handle<Function>, &str),
) {
    let mut types = naga::UniqueArena::new();
    for (handle, ty) in module.types.iter() {
        let mut ty = ty.clone();
        // Named types stay distinct by their new names, unnamed ones by their contents. So no types
        // merge, and handles stay valid.
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
        if handle == own {
            function.name = Some(format!("user_{name}"));
        }
        // A named expression is written once, as a `let`, instead of nested in each of its uses.
        let computed = computed[handle.index()].iter();
        function.named_expressions = computed
            .map(|&at| (at, format!("user_l{}", at.index())))
            .collect();
        for argument in &mut function.arguments {
            argument.name = None;
        }
        for (_, variable) in function.local_variables.iter_mut() {
            variable.name = None;
        }
    }
}

//! A caller's comparator: WGSL, read and checked on its own, and written again under names that
//! clash with none.

mod checks;
mod features;
mod rows;
#[cfg(test)]
mod tests;

pub use rows::{FieldOf, Members};

use crate::Error;
use naga::valid::Capabilities;
use naga::{Expression, Function, Handle, Module, Span};
use rows::Member;
use std::any::TypeId;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A comparator of rows in WGSL: a struct, and a function that says which of two precedes the
/// other.
///
/// It is for [`Sorter::sort_by`](crate::Sorter::sort_by) and
/// [`SortJob::by`](crate::SortJob::by).
///
/// The text has a `struct` for rows and a function `fn precedes(a: Row, b: Row) -> bool`, whatever
/// the struct's name, and may have other functions, structs and constants. It is validated by
/// itself; the sorter's own names are not in its way. [`of`](Self::of) also makes sure that a Rust
/// struct lies in memory as the one in the text does.
///
/// The sort is stable: rows of which neither precedes the other, or each the other, keep the order
/// of the input. If the function is no strict weak order, the result is some permutation of the
/// rows.
///
/// # What is refused
///
/// What naga refuses: text that is not valid WGSL, and what takes a feature of the device: `f16`,
/// numbers of 64 bits and subgroup operations. Besides that:
///
/// | refused | since |
/// |---|---|
/// | variables of the module, and with them atomics, textures and buffers; overrides; entry points | they are the kernel's |
/// | barriers | lanes of a workgroup compare different numbers of times |
/// | derivatives and `discard` | compute shaders have none |
/// | rows of a type that a buffer cannot hold | |
/// | structs with `@align` or `@size` | a member that fills the gap is read |
/// | more than 16,384 bytes of text, 16 nested blocks (a loop is two, and each `else if` is nested in what is before it) or 16 nested types | compilers are recursive, and the process ends where their stack does |
///
/// # Loops
///
/// The caller sees to it that loops end. Where one does not, the driver resets the GPU after some
/// seconds: the device may be lost, and the sort returns an error.
///
/// The sort runs the text with wgpu's bounds checks. If there is a loop in the text, all loops of
/// its kernels count their iterations as well, since an endless loop is undefined behaviour to the
/// compilers of some drivers. That keeps them from unrolling loops: where speed matters, write out
/// loops of few iterations. ([`wide`](Self::wide) has a loop that ends, which is not counted.)
///
/// # Examples
///
/// Particles by cell, and in a cell by depth:
///
/// ```
/// use wgpu_bcfsort::{Comparator, members};
///
/// #[repr(C)]
/// struct Particle {
///     cell: u32,
///     depth: f32,
/// }
///
/// let by_cell = Comparator::of(
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
///     members!(Particle { cell, depth }),
/// )?;
/// assert_eq!(by_cell.row_words(), 2);
/// # Ok::<(), wgpu_bcfsort::Error>(())
/// ```
///
/// # Kept by sorters
///
/// A sorter keeps the kernels that it compiles for a comparator, as it keeps all others: make each
/// comparator once, and put what changes into the rows and not into the text. A copy of one is a
/// pointer to the same.
#[derive(Clone)]
pub struct Comparator {
    checked: Arc<Checked>,
    /// The Rust type that lies in memory as rows do, if it was made of one.
    rust: Option<(TypeId, &'static str)>,
}

/// A comparator that was checked.
struct Checked {
    /// Its text under names of its own: the struct `user_row`, the function `user_precedes`.
    text: String,
    /// A function that makes a row of its words, if they are few.
    of_words: String,
    /// 32-bit words from one row to the next.
    words: u32,
    members: Vec<Member>,
    /// Whether there are loops of which it is not known that they end.
    loops: bool,
}

impl std::fmt::Debug for Comparator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Comparator")
            .field("words", &self.checked.words)
            .field("of", &self.rust.map(|(_, name)| name))
            .finish_non_exhaustive()
    }
}

impl PartialEq for Comparator {
    fn eq(&self, other: &Self) -> bool {
        self.checked.text == other.checked.text
    }
}

impl Eq for Comparator {}

impl Hash for Comparator {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.checked.text.hash(state);
    }
}

/// How several words are one key: see [`Comparator::wide`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WideKey {
    /// An unsigned number, the least significant word first: `u128` on the computers that wgpu runs
    /// on.
    LeastFirst,
    /// An unsigned number, the most significant word first: `[u32; N]` in Rust's order of arrays.
    MostFirst,
    /// A string of bytes, the first byte of a word in its lower bits, as it is copied to the GPU:
    /// `[u8; 4 * N]` in Rust's order of arrays.
    Bytes,
}

impl Comparator {
    /// Keys of `words` words, and nothing else in a row: `u128`, addresses, hashes, names of fixed
    /// width. A comparison takes time in proportion to the words that two keys have in common.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] for no word, or more than 64.
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
    /// sorter.sort_by(&mut keys, &numbers, Order::Ascending)?;
    /// assert_eq!(keys, [5, 1 << 64, 1 << 100]);
    ///
    /// let mut names = [*b"Weichert\0\0\0\0", *b"Sitchinava\0\0"];
    /// let strings = Comparator::wide(3, WideKey::Bytes)?;
    /// sorter.sort_by(&mut names, &strings, Order::Ascending)?;
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
                "(word << 24u) | ((word & 0xff00u) << 8u) | ((word >> 8u) & 0xff00u) \
                 | (word >> 24u)"
            }
        };
        let text = format!(
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
        );
        // (Its loop ends: nothing else writes to `i`.)
        let checked = checks::on_a_deep_stack(&text, Checked::read)?;
        Ok(Self::from(Checked {
            loops: false,
            ..checked
        }))
    }

    /// Reads and checks a comparator of structs that lie in memory as `T` does: each member of the
    /// struct in the text is a field of its name, at the same byte and as large, and the structs
    /// are of one size, which is how far rows are apart. What a field's words are, floats or
    /// integers, the text says alone.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new), and [`Error::Comparator`] with both numbers where the structs
    /// differ, or with the name of a member that the fields lack. (A `vec3` begins at 16 bytes, and
    /// so do structs with one in them. In place of that an `array<f32, 3>` lies as `[f32; 3]`
    /// does.)
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{Comparator, members};
    ///
    /// #[repr(C)]
    /// struct Record {
    ///     key: u32,
    ///     index: u32,
    /// }
    ///
    /// // Of the same size, and not the same.
    /// let error = Comparator::of(
    ///     "struct Record { index: u32, key: u32 }
    ///     fn precedes(a: Record, b: Record) -> bool { return a.key < b.key; }",
    ///     members!(Record { key, index }),
    /// )
    /// .unwrap_err();
    /// assert!(error.to_string().contains("member index is at byte 4 of"));
    /// ```
    pub fn of<T: 'static>(wgsl: &str, members: Members<T>) -> Result<Self, Error> {
        let mut comparator = Self::new(wgsl)?;
        rows::check_size::<T>(comparator.row_bytes())?;
        rows::check_members(&comparator.checked.members, members)?;
        comparator.rust = Some((TypeId::of::<T>(), std::any::type_name::<T>()));
        Ok(comparator)
    }

    /// Reads and checks a comparator of rows in a GPU buffer, whatever has written them there. For
    /// structs of Rust's prefer [`of`](Self::of), without which
    /// [`Sorter::sort_by`](crate::Sorter::sort_by) takes rows of one member alone: an
    /// array, or a `vec4`.
    ///
    /// # Current implementation
    ///
    /// naga reads the text, and what it read is written again under other names: the sorter's
    /// kernels have that in them. It takes about the time of compiling the text twice, and no GPU.
    ///
    /// # Errors
    ///
    /// [`Error::Comparator`], with the line and the column in `wgsl` where something is wrong: what
    /// naga says, or what is [refused](Self#what-is-refused) beyond that.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::Comparator;
    ///
    /// let error = Comparator::new(
    ///     "struct Row { key: u32 }
    ///     fn precedes(a: Row, b: Row) -> bool { return a.kye < b.key; }",
    /// )
    /// .unwrap_err();
    /// assert!(error.to_string().contains("wgsl:2:52"));
    ///
    /// let error = Comparator::new(
    ///     "var<workgroup> calls: atomic<u32>;
    ///     struct Row { key: u32 }
    ///     fn precedes(a: Row, b: Row) -> bool { return a.key < b.key; }",
    /// )
    /// .unwrap_err();
    /// assert!(error.to_string().contains("wgsl:1:1: a comparator has no variables"));
    /// ```
    pub fn new(wgsl: &str) -> Result<Self, Error> {
        checks::on_a_deep_stack(wgsl, Checked::read).map(Self::from)
    }

    /// That rows in memory are as `T` is: that it was made of `T`, or that nothing is to be known
    /// but its size.
    pub(crate) fn check_rows<T: 'static>(&self) -> Result<(), Error> {
        let of = std::any::type_name::<T>();
        rows::check_size::<T>(self.row_bytes())?;
        match self.rust {
            Some((id, _)) if id == TypeId::of::<T>() => Ok(()),
            None if rows::is_plain(&self.checked.members) => Ok(()),
            Some((_, other)) => Err(Error::Comparator(format!(
                "it was made of {other}, and these rows are of {of}"
            ))),
            None => Err(Error::Comparator(format!(
                "where the members of a row are in {of} is not known: make the comparator with \
                 Comparator::of(wgsl, members!(...)), which names them"
            ))),
        }
    }

    /// 32-bit words from one row to the next in a buffer.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::Comparator;
    ///
    /// let by_depth = Comparator::new(
    ///     "struct Row { at: vec3<f32>, depth: f32, cell: u32 }
    ///     fn precedes(a: Row, b: Row) -> bool { return a.depth < b.depth; }",
    /// )?;
    /// // (With three that fill up what a `vec3` takes.)
    /// assert_eq!(by_depth.row_words(), 8);
    /// # Ok::<(), wgpu_bcfsort::Error>(())
    /// ```
    #[must_use]
    pub fn row_words(&self) -> u32 {
        self.checked.words
    }

    fn row_bytes(&self) -> usize {
        self.checked.words as usize * 4
    }

    /// The text, under names that begin with `user_`.
    pub(crate) fn text(&self) -> &str {
        &self.checked.text
    }

    /// Whether there are loops of which it is not known that they end.
    pub(crate) fn has_loops(&self) -> bool {
        self.checked.loops
    }

    /// `user_row_of`, which makes a row of its words, where they are beside its index.
    pub(crate) fn of_words(&self) -> &str {
        &self.checked.of_words
    }

    /// Words of the largest rows that kernels have beside their indices.
    pub(crate) const MOST_WORDS_BESIDE: u32 = 4;

    /// What stands in for a caller's, where kernels are looked at with none: words in ascending
    /// order.
    pub(crate) const STAND_IN: &str = "struct user_row {
    key: u32,
}

fn user_precedes(a: user_row, b: user_row) -> bool {
    return a.key < b.key;
}
";

    /// Its [`of_words`](Self::of_words).
    pub(crate) const STAND_IN_OF_WORDS: &str = "fn user_row_of(words: vec4<u32>) -> user_row {
    var row: user_row;
    row.key = words.x;
    return row;
}
";

    /// That, as a comparator.
    pub(crate) fn stand_in() -> Self {
        let checked = Checked {
            text: Self::STAND_IN.into(),
            of_words: Self::STAND_IN_OF_WORDS.into(),
            words: 1,
            members: Vec::new(),
            loops: false,
        };
        Self::from(checked)
    }
}

impl Checked {
    /// Reads and checks a text.
    fn read(wgsl: &str) -> Result<Self, Error> {
        let source = Source(wgsl);
        let mut module = naga::front::wgsl::parse_str(wgsl).map_err(|e| {
            // (What naga advises, to enable it, would only lead to the next error.)
            if e.message().contains("`f16` enable extension") {
                return features::F16.refuse(source);
            }
            Error::Comparator(said(&e.emit_to_string(wgsl)))
        })?;
        let refuse = |span: Span, why: &str| source.refuse(span, why);
        checks::check_declarations(&module, source)?;
        let info = validate(&module, wgsl).map_err(|why| {
            features::taken(&module, wgsl, &why)
                .map_or(Error::Comparator(why), |feature| feature.refuse(source))
        })?;
        let checks::Checked { loops, computed } = checks::check(&module, &info, source)?;

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
        let naga::TypeInner::Struct { span: bytes, .. } = module.types[row].inner else {
            return Err(wrong());
        };
        if a.ty != b.ty || !returns_bool {
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
        rename(&mut module, &computed, row, precedes);
        let written = |why: String| Error::Comparator(format!("it cannot be written again: {why}"));
        let text = write(&module, &info).map_err(|e| written(e.to_string()))?;
        // What was read is what is written.
        let read = naga::front::wgsl::parse_str(&text)
            .map_err(|e| written(said(&e.emit_to_string(&text))))?;
        validate(&read, &text).map_err(written)?;
        Ok(Self {
            of_words: match bytes / 4 {
                0..=Comparator::MOST_WORDS_BESIDE => rows::of_words(&read),
                _ => String::new(),
            },
            text,
            words: bytes / 4,
            members,
            loops,
        })
    }
}

impl From<Checked> for Comparator {
    fn from(checked: Checked) -> Self {
        Self {
            checked: Arc::new(checked),
            rust: None,
        }
    }
}

/// The text of a comparator: errors quote the line that they are about.
#[derive(Clone, Copy)]
struct Source<'a>(&'a str);

impl Source<'_> {
    /// Says why, with the line and the column, and the line itself, or what it begins with.
    fn refuse(self, span: Span, why: &str) -> Error {
        // (Types without names have none.)
        if !span.is_defined() {
            return Error::Comparator(why.into());
        }
        let location = span.location(self.0);
        let line = self.0.lines().nth(location.line_number.max(1) as usize - 1);
        let line: String = line.unwrap_or_default().chars().take(200).collect();
        Error::Comparator(format!(
            "wgsl:{}:{}: {why}\n{}",
            location.line_number, location.line_position, line
        ))
    }
}

/// Has naga look at a module; what it says names the lines of its text.
fn validate(module: &Module, wgsl: &str) -> Result<naga::valid::ModuleInfo, String> {
    validate_with(module, wgsl, Capabilities::empty())
}

/// That, on a device that has more than every device has.
fn validate_with(
    module: &Module,
    wgsl: &str,
    capabilities: Capabilities,
) -> Result<naga::valid::ModuleInfo, String> {
    let flags = naga::valid::ValidationFlags::all();
    let mut validator = naga::valid::Validator::new(flags, capabilities);
    validator
        .validate(module)
        .map_err(|e| said(&e.emit_to_string(wgsl)))
}

/// What naga says: what is wrong, and on lines of their own where.
fn said(text: &str) -> String {
    let text = text.trim_end();
    text.strip_prefix("error: ").unwrap_or(text).to_owned()
}

/// Writes a module, if that takes at most [`MOST_WRITTEN`] bytes: a constant that is made of others
/// is written with the whole of each, so that a short text can become one of gigabytes.
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

/// Bytes of text under the names that kernels have.
const MOST_WRITTEN: usize = 1 << 20;

/// Gives everything that a module declares a name of its own, which begins with `user_`; the row's
/// struct is `user_row`, and the function `user_precedes`. Names within functions are made anew.
fn rename(
    module: &mut Module,
    computed: &[Vec<Handle<Expression>>],
    row: Handle<naga::Type>,
    precedes: Handle<Function>,
) {
    let mut types = naga::UniqueArena::new();
    for (handle, ty) in module.types.iter() {
        let mut ty = ty.clone();
        // (Types without names differ by what they are, and those with names by these: handles stay
        // what they are.)
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
        // What has a name is written once, however often it is used, and in nothing else.
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

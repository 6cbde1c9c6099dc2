//! Custom comparators in WGSL: parsed and validated by themselves, then written again under names
//! that cannot clash with a kernel's.

mod checks;
mod features;
mod rows;
#[cfg(test)]
mod tests;

pub use rows::{FieldOf, Members};

use crate::error::Error;
use naga::valid::Capabilities;
use naga::{Expression, Function, Handle, Module, Span};
use rows::Member;
use std::any::TypeId;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A custom comparator in WGSL: a struct for rows, and a function that returns true if the first of
/// two rows precedes the second.
///
/// [`Sorter::sort_by`](crate::Sorter::sort_by) and [`SortJob::by`](crate::SortJob::by) sort with
/// it.
///
/// The WGSL text has a struct of any name, here `Row`, and a function
/// `fn precedes(a: Row, b: Row) -> bool`. It may have other functions, structs and constants. It is
/// validated by itself, and its names cannot clash with the sorter's. [`of`](Self::of) also checks
/// that a Rust struct has the same memory layout.
///
/// The sort is stable. Two rows are equal if neither precedes the other, or if each precedes the
/// other. If the function is not a strict weak order, the result is some permutation of the rows.
///
/// # What is refused
///
/// Text that is not valid WGSL, and whatever needs a device feature: `f16`, 64-bit numbers and
/// subgroup operations. Also:
///
/// | refused | reason |
/// |---|---|
/// | module-scope variables (atomics, textures, buffers), overrides, entry points | only the kernel may have them |
/// | barriers | the lanes of a workgroup make different numbers of comparisons |
/// | derivatives and `discard` | compute shaders have none |
/// | rows of a type that a buffer cannot hold | |
/// | structs with `@align` or `@size` | the attributes are not kept: use a member that fills the gap |
/// | more than 16,384 bytes of text, 16 nested blocks or 16 nested types | compilers are recursive, and a stack overflow ends the process |
///
/// A loop counts as two nested blocks, and each `else if` is nested in the `if` before it.
///
/// # Loops
///
/// You must make sure that every loop ends. If one does not, the driver resets the GPU after some
/// seconds: the device may be lost, and the sort returns an error.
///
/// Kernels with a comparator have wgpu's bounds checks. If the text has a loop, all loops of these
/// kernels also count their iterations, since an endless loop is undefined behaviour for the
/// compilers of some drivers. Compilers cannot unroll such loops: where speed matters, unroll short
/// loops by hand. The loop of [`wide`](Self::wide) is known to end and has no counter.
///
/// # Floats
///
/// `<` and `==` of floats are no total order: NaN neither precedes nor follows anything, and -0
/// equals +0. With NaNs they are not even a strict weak order. For the order of [`f32::total_cmp`],
/// declare the member as `u32` and compare the `rank` of its bits, as in the example. A member of
/// type `f32` is less safe: WGSL lets a device assume that there are no NaNs, and replace subnormal
/// numbers by zero.
///
/// # Examples
///
/// Particles by cell, and within a cell by depth, in the order of [`f32::total_cmp`]:
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
///         depth: u32, // the bits of the f32
///     }
///     fn rank(bits: u32) -> u32 {
///         return select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u);
///     }
///     fn precedes(a: Particle, b: Particle) -> bool {
///         if a.cell != b.cell {
///             return a.cell < b.cell;
///         }
///         return rank(a.depth) < rank(b.depth);
///     }",
///     members!(Particle { cell, depth }),
/// )?;
/// assert_eq!(by_cell.row_words(), 2);
/// # Ok::<(), wgpu_bcfsort::Error>(())
/// ```
///
/// # Kept by sorters
///
/// A sorter keeps the kernels that it compiles for a comparator. So make each comparator once, and
/// put values that change into the rows, not into the text. A clone shares the text with its
/// original.
#[derive(Clone)]
pub struct Comparator {
    checked: Arc<Checked>,
    /// The Rust type with the memory layout of a row, if it was checked.
    rust: Option<(TypeId, &'static str)>,
}

/// A validated comparator.
struct Checked {
    /// The renamed text, with the struct `user_row` and the function `user_precedes`.
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

/// The order of the words in a wide key: see [`Comparator::wide`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WideKey {
    /// An unsigned number, least significant word first: `u128` on all platforms of wgpu, which
    /// [`KeyField::U128`](crate::KeyField::U128) sorts faster.
    LeastFirst,
    /// An unsigned number, most significant word first: `[u32; N]` in Rust's order of arrays.
    MostFirst,
    /// A string of bytes, compared from the first byte on: `[u8; 4 * N]` in Rust's order of arrays.
    /// The first byte is in the lowest bits of a word, as in a copy to the GPU.
    Bytes,
}

impl Comparator {
    /// Makes a comparator of wide keys of `words` 32-bit words: `u128`, addresses, hashes, and
    /// strings of fixed width. A row is one key.
    ///
    /// The time of a comparison is proportional to the length of the common prefix of the two keys.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] if `words` is 0 or more than 64.
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
        // The loop ends: nothing else writes to `i`.
        let checked = checks::on_a_deep_stack(&text, Checked::read)?;
        Ok(Self::from(Checked {
            loops: false,
            ..checked
        }))
    }

    /// Makes a comparator of rows with the memory layout of the Rust struct `T`.
    ///
    /// Each member of the WGSL struct must have a field of the same name, byte offset and size in
    /// `T`, and both structs must have the same size, which is the stride of rows. Scalar types are
    /// not compared: the WGSL text alone defines whether a field holds floats or integers.
    ///
    /// | Rust | WGSL |
    /// |---|---|
    /// | `u32`, `i32` | the same |
    /// | `f32` | `f32`, or `u32` for its bits: see [Floats](Self#floats) |
    /// | `u64`, `i64`, `f64` | `vec2<u32>` or `array<u32, 2>`, the low word first |
    /// | `[f32; 2]` | `vec2<f32>` or `array<f32, 2>` |
    /// | `[f32; 3]` | `array<f32, 3>` |
    /// | `[f32; 4]` | `vec4<f32>` or `array<f32, 4>` |
    /// | `[u8; 16]` | `array<u32, 4>` |
    /// | `u128` | `vec4<u32>` or `array<u32, 4>`, the low word first |
    /// | `[u8; 4]`, `[u16; 2]` | `u32`, the first number in the lowest bits |
    ///
    /// A `vec2` is aligned to 8 bytes, a `vec3` or `vec4` to 16, and an array as its elements.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new), and [`Error::Comparator`] with both numbers if the layouts
    /// differ, or with the name of a member that has no field. A common cause is `vec3`: it is
    /// aligned to 16 bytes, as is every struct that contains it. Use `array<f32, 3>` for
    /// `[f32; 3]`.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{Comparator, members};
    ///
    /// #[repr(C)]
    /// struct Wide {
    ///     id: u64,
    ///     position: [f32; 3],
    ///     cost: f32,
    ///     address: [u8; 16],
    /// }
    /// Comparator::of(
    ///     "struct Wide {
    ///         id: vec2<u32>,
    ///         position: array<f32, 3>,
    ///         cost: u32,
    ///         address: array<u32, 4>,
    ///     }
    ///     fn precedes(a: Wide, b: Wide) -> bool { return a.address[0] < b.address[0]; }",
    ///     members!(Wide { id, position, cost, address }),
    /// )?;
    ///
    /// #[repr(C)]
    /// struct Record {
    ///     key: u32,
    ///     index: u32,
    /// }
    ///
    /// // The sizes agree, the offsets do not.
    /// let error = Comparator::of(
    ///     "struct Record { index: u32, key: u32 }
    ///     fn precedes(a: Record, b: Record) -> bool { return a.key < b.key; }",
    ///     members!(Record { key, index }),
    /// )
    /// .unwrap_err();
    /// assert!(error.to_string().contains("member index is at byte 4 of"));
    /// # Ok::<(), wgpu_bcfsort::Error>(())
    /// ```
    pub fn of<T: 'static>(wgsl: &str, members: Members<T>) -> Result<Self, Error> {
        let mut comparator = Self::new(wgsl)?;
        rows::check_size::<T>(comparator.row_bytes())?;
        rows::check_members(&comparator.checked.members, members)?;
        comparator.rust = Some((TypeId::of::<T>(), std::any::type_name::<T>()));
        Ok(comparator)
    }

    /// Makes a comparator from WGSL text, without checking the layout of a Rust struct.
    ///
    /// For Rust structs prefer [`of`](Self::of): [`Sorter::sort_by`](crate::Sorter::sort_by)
    /// rejects rows of several members otherwise. Rows of one member, such as an array or a `vec4`,
    /// need no check.
    ///
    /// # Current implementation
    ///
    /// naga parses and validates the text and writes it again under other names, as a part of the
    /// sorter's kernels. It needs no GPU, and about twice the time of parsing and validating.
    ///
    /// # Errors
    ///
    /// [`Error::Comparator`], with line and column in `wgsl` and naga's message, or the reason why
    /// the text is [refused](Self#what-is-refused).
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

    /// Fails unless rows have the size of `T`, and either the comparator was made by
    /// [`of`](Self::of) for `T`, or rows have one member.
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

    /// Returns the stride of rows in a buffer, in 32-bit words.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::Comparator;
    ///
    /// let by_cell = Comparator::new(
    ///     "struct Row { at: vec3<f32>, depth: f32, cell: u32 }
    ///     fn precedes(a: Row, b: Row) -> bool { return a.cell < b.cell; }",
    /// )?;
    /// // 5 words and 3 of padding: a `vec3` aligns the struct to 16 bytes.
    /// assert_eq!(by_cell.row_words(), 8);
    /// # Ok::<(), wgpu_bcfsort::Error>(())
    /// ```
    #[must_use]
    pub fn row_words(&self) -> u32 {
        self.checked.words
    }

    fn row_bytes(&self) -> usize {
        self.checked.words as usize * 4
    }

    /// The renamed text. All its names begin with `user_`.
    pub(crate) fn text(&self) -> &str {
        &self.checked.text
    }

    /// True if the text has loops that are not known to end.
    pub(crate) fn has_loops(&self) -> bool {
        self.checked.loops
    }

    /// The function `user_row_of`, for kernels that store a row's words beside its index.
    pub(crate) fn of_words(&self) -> &str {
        &self.checked.of_words
    }

    /// Words of the largest rows that kernels store beside their indices.
    pub(crate) const MOST_WORDS_BESIDE: u32 = 4;

    /// A stand-in for the user's text where kernels are examined without a comparator: words in
    /// ascending order.
    pub(crate) const STAND_IN: &str = "struct user_row {
    key: u32,
}

fn user_precedes(a: user_row, b: user_row) -> bool {
    return a.key < b.key;
}
";

    /// The [`of_words`](Self::of_words) of the stand-in.
    pub(crate) const STAND_IN_OF_WORDS: &str = "fn user_row_of(words: vec4<u32>) -> user_row {
    var row: user_row;
    row.key = words.x;
    return row;
}
";

    /// The stand-in as a comparator.
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
    /// Parses, validates and renames a text.
    fn read(wgsl: &str) -> Result<Self, Error> {
        let source = Source(wgsl);
        let mut module = naga::front::wgsl::parse_str(wgsl).map_err(|e| {
            // naga advises to enable f16, which only leads to the next error.
            if e.message().contains("`f16` enable extension") {
                return features::F16.refuse(source);
            }
            Error::Comparator(naga_message(&e.emit_to_string(wgsl)))
        })?;
        let refuse = |span: Span, why: &str| source.refuse(span, why);
        checks::check_declarations(&module, source)?;
        let info = validate(&module, wgsl).map_err(|why| {
            features::missing(&module, wgsl, &why)
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
        // Check the text that was written.
        let read = naga::front::wgsl::parse_str(&text)
            .map_err(|e| written(naga_message(&e.emit_to_string(&text))))?;
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

/// The user's text. Errors quote a line of it.
#[derive(Clone, Copy)]
struct Source<'a>(&'a str);

impl Source<'_> {
    /// An error with the reason, line and column, and the first 200 characters of that line.
    fn refuse(self, span: Span, why: &str) -> Error {
        // Unnamed types have no span.
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
/// to `user_row`, and the function to `user_precedes`. naga invents the names within functions.
fn rename(
    module: &mut Module,
    computed: &[Vec<Handle<Expression>>],
    row: Handle<naga::Type>,
    precedes: Handle<Function>,
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
        if handle == precedes {
            function.name = Some("user_precedes".into());
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

//! Custom comparators in WGSL.

use super::rows::Members;
use super::{Checked, Role, RowFunction};
use crate::error::Error;
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
    function: RowFunction,
    /// The Rust type with the memory layout of a row, if it was checked.
    rust: Option<(TypeId, &'static str)>,
}

impl std::fmt::Debug for Comparator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Comparator")
            .field("words", &self.row_words())
            .field("of", &self.rust.map(|(_, name)| name))
            .finish_non_exhaustive()
    }
}

impl PartialEq for Comparator {
    fn eq(&self, other: &Self) -> bool {
        self.function == other.function
    }
}

impl Eq for Comparator {}

impl Hash for Comparator {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.hash(state);
    }
}

impl From<RowFunction> for Comparator {
    fn from(function: RowFunction) -> Self {
        Self {
            function,
            rust: None,
        }
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
        let checked = Checked::read(&text, Role::Comparator)?;
        Ok(Self::from(RowFunction(Arc::new(Checked {
            loops: false,
            ..checked
        }))))
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
        comparator.function.check_members(members)?;
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
        RowFunction::read(wgsl, Role::Comparator).map(Self::from)
    }

    /// Fails unless rows have the size of `T`, and either the comparator was made by
    /// [`of`](Self::of) for `T`, or rows have one member.
    pub(crate) fn check_rows<T: 'static>(&self) -> Result<(), Error> {
        let of = std::any::type_name::<T>();
        self.function.check_size::<T>()?;
        match self.rust {
            Some((id, _)) if id == TypeId::of::<T>() => Ok(()),
            None if self.function.is_plain() => Ok(()),
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
        self.function.words()
    }

    /// The function that compares.
    pub(crate) const fn function(&self) -> &RowFunction {
        &self.function
    }
}

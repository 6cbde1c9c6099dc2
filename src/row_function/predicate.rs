//! Predicates in WGSL.

use super::rows::Members;
use super::{Role, RowFunction};
use crate::error::Error;

/// A predicate in WGSL: a struct for rows, and a function that returns true for the rows that a
/// [`CompactJob`](crate::CompactJob::by) keeps.
///
/// The WGSL text has a struct of any name, here `Row`, and a function `fn keeps(row: Row) -> bool`.
/// It may have other functions, structs and constants. It is validated by itself, its names cannot
/// clash with the library's, and it is refused for the same reasons as a
/// [`Comparator`](crate::Comparator#what-is-refused), whose remarks on
/// [loops](crate::Comparator#loops) and [floats](crate::Comparator#floats) hold here, too.
///
/// A sorter keeps the kernel that it compiles for a predicate. So make each predicate once, and put
/// values that change into the rows, not into the text. A clone shares the text with its original.
///
/// # Examples
///
/// Particles that are alive and before the camera, with the check that the Rust struct has the same
/// memory layout:
///
/// ```
/// use wgpu_bcfsort::{CompactJob, Options, Predicate, Sorter, members};
///
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
/// struct Particle {
///     life: u32,
///     depth: f32,
/// }
///
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// let is_seen = Predicate::of(
///     "struct Particle { life: u32, depth: f32 }
///     fn keeps(particle: Particle) -> bool {
///         return particle.life > 0u && particle.depth > 0.0;
///     }",
///     members!(Particle { life, depth }),
/// )?;
/// let all = [(3, 0.5), (0, 2.0), (1, -1.0), (2, 4.0)];
/// let all = all.map(|(life, depth)| Particle { life, depth });
///
/// let sorter = Sorter::open(Options::default())?;
/// let (particles, kept) = (sorter.upload(&all)?, sorter.upload(&all)?);
/// let count = sorter.upload(&[0_u32])?;
/// let seen = CompactJob::by(&particles, &is_seen, 4, &count).rows(&particles, 8, &kept);
/// seen.prepare(&sorter)?.run()?;
/// assert_eq!(sorter.download::<u32>(&count)?, [2]);
/// assert_eq!(sorter.download::<Particle>(&kept)?[..2], [all[0], all[3]]);
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Predicate(RowFunction);

impl std::fmt::Debug for Predicate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Predicate")
            .field("words", &self.row_words())
            .finish_non_exhaustive()
    }
}

impl Predicate {
    /// Makes a predicate of rows with the memory layout of the Rust struct `T`.
    ///
    /// Members are compared as by [`Comparator::of`](crate::Comparator::of), which has a table of
    /// the types.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new), and [`Error::Predicate`] with both numbers if the layouts
    /// differ, or with the name of a member that has no field.
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::{Predicate, members};
    ///
    /// #[repr(C)]
    /// struct Record {
    ///     key: u32,
    ///     index: u32,
    /// }
    ///
    /// let error = Predicate::of(
    ///     "struct Record { index: u32, key: u32 }
    ///     fn keeps(record: Record) -> bool { return record.key > 7u; }",
    ///     members!(Record { key, index }),
    /// )
    /// .unwrap_err();
    /// assert!(error.to_string().contains("predicate: member index is at byte 4 of"));
    /// # Ok::<(), wgpu_bcfsort::Error>(())
    /// ```
    pub fn of<T>(wgsl: &str, members: Members<T>) -> Result<Self, Error> {
        let predicate = Self::new(wgsl)?;
        predicate.0.check_members(members)?;
        Ok(predicate)
    }

    /// Makes a predicate from WGSL text, without checking the layout of a Rust struct. Rows of one
    /// member need no check.
    ///
    /// # Errors
    ///
    /// [`Error::Predicate`], with line and column in `wgsl` and naga's message, or the reason why
    /// the text is [refused](crate::Comparator#what-is-refused).
    ///
    /// # Examples
    ///
    /// ```
    /// use wgpu_bcfsort::Predicate;
    ///
    /// let is_odd = "struct Row { key: u32 }
    ///     fn keeps(row: Row) -> bool { return (row.key & 1) > 0; }";
    /// assert_eq!(Predicate::new(is_odd)?.row_words(), 1);
    ///
    /// let error = Predicate::new("fn keeps(key: u32) -> bool { return key > 7u; }").unwrap_err();
    /// let why = "wgsl:1:1: it should be fn keeps(row: Row) -> bool, of a struct";
    /// assert!(error.to_string().contains(why));
    /// # Ok::<(), wgpu_bcfsort::Error>(())
    /// ```
    pub fn new(wgsl: &str) -> Result<Self, Error> {
        RowFunction::read(wgsl, Role::Predicate).map(Self)
    }

    /// Returns the stride of rows in a buffer, in 32-bit words.
    ///
    /// # Examples
    ///
    /// See [`Predicate::new`].
    #[must_use]
    pub fn row_words(&self) -> u32 {
        self.0.words()
    }

    /// The function that tells.
    pub(crate) const fn function(&self) -> &RowFunction {
        &self.0
    }
}

//! What a caller may choose about prefix sums.

use crate::Error;
use crate::kernel::MOST_COLORS;
use crate::options::named;
use crate::plan::MOST_TILES;

/// Where the sums of the lanes lie in workgroup memory while prefix sums are computed. The result is the
/// same, bit for bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PrefixSumsMethod {
    /// Each lane's sums in a bank of its own, through which the scan goes a bank at a time: d lanes meet
    /// in it. It is there to be compared with: the paper's introduction shows what bank conflicts cost
    /// by it.
    Naive,
    /// The same, but turned before the scan and back after it: no two lanes ever meet (paper,
    /// Appendix A).
    #[default]
    ConflictFree,
}
named!(PrefixSumsMethod, "method", Naive => "naive", ConflictFree => "conflict-free");

/// Whether an element's own value is part of its prefix sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scan {
    /// The sum of all elements of its color up to this one.
    #[default]
    Inclusive,
    /// The sum of all elements of its color before this one; 0 for the first.
    Exclusive,
}
named!(Scan, "scan", Inclusive => "inclusive", Exclusive => "exclusive");

/// What [`PrefixSums`](crate::PrefixSums) computes, and how. The default is inclusive prefix sums of one
/// color.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::{PrefixSumsOptions, Scan};
/// let options = PrefixSumsOptions::default().colors(4).scan(Scan::Exclusive);
/// assert!(options.validate().is_ok());
/// assert!(options.colors(17).validate().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PrefixSumsOptions {
    /// The paper's d: colors are 0 to d - 1. 1 to 16; 1 by default.
    pub colors: u32,
    /// How: by default without bank conflicts.
    pub method: PrefixSumsMethod,
    /// Inclusive by default.
    pub scan: Scan,
    /// The paper's P: tiles, each of which a workgroup takes. 1 to 16,384; by default
    /// [`plan::default_tiles`](crate::plan::default_tiles) of the number of elements. What comes of it is
    /// [`plan::Tiling`](crate::plan::Tiling): fewer, where there is not a page of 1024 elements for each,
    /// and more, where tiles would be so long that a dispatch took long.
    ///
    /// Sums of floats are rounded in an order that depends on it.
    pub tiles: Option<u32>,
}

impl Default for PrefixSumsOptions {
    fn default() -> Self {
        Self {
            colors: 1,
            method: PrefixSumsMethod::default(),
            scan: Scan::default(),
            tiles: None,
        }
    }
}

impl PrefixSumsOptions {
    /// Sets [`colors`](Self::colors).
    #[must_use]
    pub const fn colors(mut self, colors: u32) -> Self {
        self.colors = colors;
        self
    }

    /// Sets [`method`](Self::method).
    #[must_use]
    pub const fn method(mut self, method: PrefixSumsMethod) -> Self {
        self.method = method;
        self
    }

    /// Sets [`scan`](Self::scan).
    #[must_use]
    pub const fn scan(mut self, scan: Scan) -> Self {
        self.scan = scan;
        self
    }

    /// Sets [`tiles`](Self::tiles).
    #[must_use]
    pub const fn tiles(mut self, tiles: u32) -> Self {
        self.tiles = Some(tiles);
        self
    }

    /// Checks every option's range.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] with the option's name, value and range.
    pub fn validate(&self) -> Result<(), Error> {
        if !(1..=MOST_COLORS).contains(&self.colors) {
            return Err(Error::InvalidOption {
                name: "colors",
                value: self.colors.into(),
                allowed: "1 to 16",
            });
        }
        match self.tiles {
            Some(tiles) if !(1..=MOST_TILES).contains(&tiles) => Err(Error::InvalidOption {
                name: "tiles",
                value: tiles.into(),
                allowed: "1 to 16384",
            }),
            _ => Ok(()),
        }
    }
}

//! Options of prefix sums.

use super::method::{MOST_COLORS, PrefixSumsMethod, Scan};
use super::tiling::MOST_TILES;
use crate::error::Error;

/// Options of [`PrefixSums`](crate::paper::PrefixSums). The default is inclusive prefix sums of one
/// color.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::paper::{PrefixSumsOptions, Scan};
/// let options = PrefixSumsOptions::default().colors(4).scan(Scan::Exclusive);
/// assert!(options.validate().is_ok());
/// assert!(options.colors(17).validate().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PrefixSumsOptions {
    /// The paper's d, the number of colors: colors are 0 to d - 1. 1 to 16. Default: 1.
    pub colors: u32,
    /// The layout of sums in workgroup memory. Default: the one without bank conflicts.
    pub method: PrefixSumsMethod,
    /// Inclusive or exclusive sums. Default: inclusive.
    pub scan: Scan,
    /// The paper's P: the number of tiles, with one workgroup each. 1 to 16,384. Default: one tile
    /// per page of 1024 elements, up to 2048. The number is reduced to that of pages, and increased
    /// if tiles would exceed 2^20 elements.
    ///
    /// Floats are added in an order that depends on the number of tiles, and so does rounding.
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

    /// Checks that every option is in its range.
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

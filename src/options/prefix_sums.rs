//! Options of prefix sums.

use crate::Error;
use crate::algorithm::{MOST_COLORS, PrefixSumsMethod, Scan};
use crate::plan::MOST_TILES;

/// What [`PrefixSums`](crate::paper::PrefixSums) computes, and how. The default is inclusive prefix
/// sums of one color.
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
    /// The paper's d: colors are 0 to d - 1. 1 to 16; 1 by default.
    pub colors: u32,
    /// How: by default without bank conflicts.
    pub method: PrefixSumsMethod,
    /// Inclusive by default.
    pub scan: Scan,
    /// The paper's P: tiles, each of which a workgroup takes. 1 to 16,384; by default one for each
    /// page of 1024 elements, up to 2048. There are fewer where there is not a page for each, and
    /// more where tiles would be longer than 2^20 elements.
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

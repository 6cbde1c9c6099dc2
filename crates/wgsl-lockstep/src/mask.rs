//! Sets of lanes of a workgroup.

/// Maximum number of lanes of a workgroup.
pub(crate) const MOST_LANES: usize = 1024;
const WORDS: usize = MOST_LANES / 64;

/// A set of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mask([u64; WORDS]);

impl Mask {
    pub(crate) const NONE: Self = Self([0; WORDS]);

    /// The first `lanes` lanes.
    pub(crate) fn first(lanes: usize) -> Self {
        Self(std::array::from_fn(|i| {
            match lanes.saturating_sub(i * 64) {
                0 => 0,
                n if n >= 64 => u64::MAX,
                n => (1 << n) - 1,
            }
        }))
    }

    fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }

    pub(crate) fn without(self, other: Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    pub(crate) fn count(self) -> u32 {
        self.0.iter().map(|w| w.count_ones()).sum()
    }

    /// The lowest lane of the set.
    pub(crate) fn lowest(self) -> Option<usize> {
        let word = self.0.iter().position(|&w| w != 0)?;
        Some(word * 64 + self.0[word].trailing_zeros() as usize)
    }

    pub(crate) fn insert(&mut self, lane: usize) {
        self.0[lane / 64] |= 1 << (lane % 64);
    }

    /// Lanes `32 * chunk ..` as bits.
    pub(crate) const fn chunk(self, chunk: usize) -> u32 {
        (self.0[chunk / 2] >> (chunk % 2 * 32)) as u32
    }

    /// Lanes `warp * width ..` as bits. The width must divide 64.
    pub(crate) const fn warp(self, warp: usize, width: usize) -> u64 {
        let first = warp * width;
        let bits = self.0[first / 64] >> (first % 64);
        if width == 64 {
            bits
        } else {
            bits & ((1 << width) - 1)
        }
    }
}

/// The positions of the set bits.
pub(crate) fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros() as usize;
            word &= word - 1;
            bit
        })
    })
}

//! The random numbers of the data sets.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// `ChaCha8` with the seed itself as its key, so that the numbers do not depend on how a library
/// expands seeds or draws from ranges.
pub(super) struct Random(ChaCha8Rng);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Self(ChaCha8Rng::from_seed(key))
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `0..bound`, each equally likely; `bound` must not be 0.
    ///
    /// Multiplies and shifts; draws again for the few products that would bias the result (Lemire,
    /// "Fast random integer generation in an interval", 2019).
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        loop {
            let product = u128::from(self.bits()) * u128::from(bound);
            let low = product as u64;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }

    /// A number in `0..=last`.
    pub(super) fn up_to(&mut self, last: u64) -> u64 {
        match last.checked_add(1) {
            Some(bound) => self.below(bound),
            None => self.bits(),
        }
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.up_to(i as u64) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_pinned() {
        // The published key stream of ChaCha8 for a key of zeros.
        let published = [0x3e, 0x00, 0xef, 0x2f, 0x89, 0x5f, 0x40, 0xd6];
        assert_eq!(Random::new(0).bits().to_le_bytes(), published);
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(
            drawn,
            [
                7_037_237_572_835_827_407,
                5_440_448_899_038_119_230,
                14_725_191_807_199_933_458
            ]
        );
    }

    #[test]
    fn draws_stay_below_the_bound_and_reach_every_value() {
        let mut random = Random::new(2);
        for bound in [1, 2, 3, 7, 1 << 20, u64::MAX / 2 + 2, u64::MAX] {
            assert!((0..1000).all(|_| random.below(bound) < bound));
        }
        let mut seen = [0u32; 7];
        for _ in 0..7000 {
            seen[random.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|&s| (800..1200).contains(&s)), "{seen:?}");
    }

    #[test]
    fn a_shuffle_is_a_permutation() {
        let mut items: Vec<u32> = (0..1000).collect();
        Random::new(3).shuffle(&mut items);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert!(items.into_iter().eq(0..1000));
        Random::new(3).shuffle::<u32>(&mut []);
    }
}

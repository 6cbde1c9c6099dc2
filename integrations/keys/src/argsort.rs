//! Sorts of integers.

use rayon::prelude::*;
use std::convert::Infallible;

/// A stable sort of integers, which returns indices.
///
/// Equal keys must have ascending indices. There are fewer than 2^32 keys.
pub trait Argsort {
    /// Why a sort failed.
    type Error;

    /// The indices that sort the keys.
    ///
    /// # Errors
    ///
    /// Those of the sort.
    fn argsort_u32(&self, keys: &[u32]) -> Result<Vec<u32>, Self::Error>;

    /// The indices that sort the keys.
    ///
    /// # Errors
    ///
    /// Those of the sort.
    fn argsort_u64(&self, keys: &[u64]) -> Result<Vec<u32>, Self::Error>;
}

/// Sorts on all cores of the CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu;

impl Argsort for Cpu {
    type Error = Infallible;

    fn argsort_u32(&self, keys: &[u32]) -> Result<Vec<u32>, Infallible> {
        // Key and index in one word: the order of words is stable.
        let mut words: Vec<u64> = (keys.par_iter().enumerate())
            .map(|(index, &key)| u64::from(key) << 32 | index as u64)
            .collect();
        words.par_sort_unstable();
        Ok(words.into_par_iter().map(|word| word as u32).collect())
    }

    fn argsort_u64(&self, keys: &[u64]) -> Result<Vec<u32>, Infallible> {
        let mut pairs: Vec<(u64, u32)> = (keys.par_iter().enumerate())
            .map(|(index, &key)| (key, index as u32))
            .collect();
        pairs.par_sort_unstable();
        Ok(pairs.into_par_iter().map(|(_, index)| index).collect())
    }
}

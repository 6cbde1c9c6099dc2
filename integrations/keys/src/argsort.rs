//! Integer sorts that the keys are passed to: the traits, and a sort on the CPU.

use bcfsort_auto::cpu;
use std::convert::Infallible;
use wgpu_bcfsort::Order;

/// A stable sort of integers, which returns indices.
///
/// Equal keys must have ascending indices. An implementation is given fewer than 2^32 keys.
pub trait Argsort {
    /// Why a sort failed.
    type Error;

    /// Returns the indices that sort the keys, ascending.
    ///
    /// # Errors
    ///
    /// The error of the sort.
    fn argsort_u32(&self, keys: &[u32]) -> Result<Vec<u32>, Self::Error>;

    /// Returns the indices that sort the keys, ascending.
    ///
    /// # Errors
    ///
    /// The error of the sort.
    fn argsort_u64(&self, keys: &[u64]) -> Result<Vec<u32>, Self::Error>;

    /// Whether [`argsort_u64`](Self::argsort_u64) sorts this number of keys on a GPU. Rows that tie
    /// in the first bytes of strings are then sorted by their next bytes with it, and else by
    /// comparisons on the CPU, as by default.
    fn is_on_gpu(&self, _len: usize) -> bool {
        false
    }
}

/// A sort of integers without indices, for [`NarrowRows`](crate::NarrowRows).
///
/// It need not be stable: equal keys are the same.
pub trait SortKeys: Argsort {
    /// Sorts the keys, ascending.
    ///
    /// # Errors
    ///
    /// The error of the sort. The slice then holds the same keys, in any order.
    fn sort_u32(&self, keys: &mut [u32]) -> Result<(), Self::Error>;

    /// Sorts the keys, ascending.
    ///
    /// # Errors
    ///
    /// The error of the sort. The slice then holds the same keys, in any order.
    fn sort_u64(&self, keys: &mut [u64]) -> Result<(), Self::Error>;
}

/// Sorts on all cores of the CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu;

impl Argsort for Cpu {
    type Error = Infallible;

    fn argsort_u32(&self, keys: &[u32]) -> Result<Vec<u32>, Infallible> {
        Ok(cpu::argsort(keys, Order::Ascending))
    }

    fn argsort_u64(&self, keys: &[u64]) -> Result<Vec<u32>, Infallible> {
        Ok(cpu::argsort(keys, Order::Ascending))
    }
}

impl SortKeys for Cpu {
    fn sort_u32(&self, keys: &mut [u32]) -> Result<(), Infallible> {
        cpu::sort(keys, Order::Ascending);
        Ok(())
    }

    fn sort_u64(&self, keys: &mut [u64]) -> Result<(), Infallible> {
        cpu::sort(keys, Order::Ascending);
        Ok(())
    }
}

//! Sorts words as keys of the type of their values.

use crate::codes::{Kind, Order, Word};
use crate::gpu;
use bcfsort_auto::cpu;
use bytemuck::{cast_slice, cast_slice_mut};
use wgpu_bcfsort::{Error, MultiSorter, SortKey};

/// A word that is sorted by the type of its value, in the total order: the position of missing
/// values depends on their bits.
pub(crate) trait Keys: Word + SortKey {
    /// Whether words are sorted as keys. Words of 8 and 16 bits are sorted as codes: they are few
    /// bytes, and slices of half floats have no sort.
    const ARE_KEYS: bool = size_of::<Self>() >= 4;

    /// Passes the sorted words to a closure, in blocks.
    fn sort_to(
        gpus: &MultiSorter,
        words: &[Self],
        order: &Order,
        take: &mut dyn FnMut(&[Self]),
    ) -> Result<(), Error>;

    fn sort(gpus: &MultiSorter, words: &mut [Self], order: &Order) -> Result<(), Error>;

    /// Whether any value of a block comes no later than `bound`, or earlier if `is_strict`. NaNs
    /// come after all numbers.
    fn has_any(block: &[Self; BLOCK], bound: Self, order: &Order, is_strict: bool) -> bool;

    /// Writes the indices that sort words, on GPUs.
    fn argsort_on(
        gpus: &MultiSorter,
        words: &[Self],
        order: &Order,
        out: &mut [i64],
    ) -> Result<(), Error>;

    /// The indices that sort words, on the CPU.
    fn argsort(words: &[Self], order: &Order) -> Vec<u32>;
}

/// Elements that are compared with a bound at once.
pub(crate) const BLOCK: usize = 32;

/// Whether any value of a block comes no later than `bound`, or earlier if `is_strict`. Without
/// branches, so that one instruction compares several values.
#[inline(always)]
fn has_any<T: PartialOrd + Copy>(block: &[T], bound: T, descending: bool, is_strict: bool) -> bool {
    match (descending, is_strict) {
        (false, false) => block.iter().fold(false, |any, &x| any | (x <= bound)),
        (false, true) => block.iter().fold(false, |any, &x| any | (x < bound)),
        (true, false) => block.iter().fold(false, |any, &x| any | (x >= bound)),
        (true, true) => block.iter().fold(false, |any, &x| any | (x > bound)),
    }
}

macro_rules! keys {
    ($word:ty: $signed:ty, $float:ty) => {
        impl Keys for $word {
            fn sort_to(
                gpus: &MultiSorter,
                words: &[Self],
                order: &Order,
                take: &mut dyn FnMut(&[Self]),
            ) -> Result<(), Error> {
                keys!(order, $word, $signed, $float, T => {
                    gpus.sort_to(cast_slice(words), order.direction(), |block: &[T]| {
                        take(cast_slice(block));
                        Ok(())
                    })
                })
            }

            fn sort(gpus: &MultiSorter, words: &mut [Self], order: &Order) -> Result<(), Error> {
                keys!(order, $word, $signed, $float, T => {
                    gpus.sort::<T>(cast_slice_mut(words), order.direction())
                })
            }

            fn has_any(
                block: &[Self; BLOCK],
                bound: Self,
                order: &Order,
                is_strict: bool,
            ) -> bool {
                keys!(order, $word, $signed, $float, T => {
                    let block: &[T; BLOCK] = bytemuck::cast_ref(block);
                    has_any(block, bytemuck::cast::<Self, T>(bound), order.descending, is_strict)
                })
            }

            fn argsort_on(
                gpus: &MultiSorter,
                words: &[Self],
                order: &Order,
                out: &mut [i64],
            ) -> Result<(), Error> {
                keys!(order, $word, $signed, $float, T => {
                    gpu::argsort::<T>(gpus, cast_slice(words), order.direction(), out)
                })
            }

            fn argsort(words: &[Self], order: &Order) -> Vec<u32> {
                keys!(order, $word, $signed, $float, T => {
                    cpu::argsort::<T>(cast_slice(words), order.direction())
                })
            }
        }
    };
    ($order:expr, $unsigned:ty, $signed:ty, $float:ty, $T:ident => $call:expr) => {
        match $order.kind {
            Kind::Unsigned => {
                type $T = $unsigned;
                $call
            }
            Kind::Signed => {
                type $T = $signed;
                $call
            }
            Kind::Float(_) => {
                type $T = $float;
                $call
            }
        }
    };
}
// Words of 8 and 16 bits are sorted as codes, which are unsigned.
keys!(u8: u8, u8);
keys!(u16: u16, u16);
keys!(u32: i32, f32);
keys!(u64: i64, f64);

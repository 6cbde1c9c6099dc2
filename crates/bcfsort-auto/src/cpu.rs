//! Sorts on all cores of the CPU, in the order of the GPU's sorts: the same bits.
//!
//! The order of keys is that of unsigned integers ([`SortKey::rank`]), so one radix sort serves all
//! types. It is rdst's, which needs no additional memory for most of its passes. Few elements are
//! sorted by comparisons: by the sort of the standard library.

use rayon::prelude::*;
use rdst::{RadixKey, RadixSort};
use wgpu_bcfsort::{Order, SortKey};

/// Fewer elements are sorted by comparisons, on one thread.
const FEW: usize = 1 << 12;

/// Parts of maps on several threads: fewer elements than a core maps while it starts.
const PART: usize = 1 << 14;

/// Sorts keys.
///
/// O(n) passes over the bytes of the keys, on the threads of the calling thread's pool of rayon.
/// Memory: at most a copy of the keys.
///
/// # Examples
///
/// ```
/// use bcfsort_auto::cpu;
/// use wgpu_bcfsort::Order;
/// let mut keys = [0.0_f32, -0.0, f32::NAN, -1.0];
/// cpu::sort(&mut keys, Order::Ascending);
/// assert_eq!(keys.map(f32::to_bits), [-1.0, -0.0, 0.0, f32::NAN].map(f32::to_bits));
/// ```
pub fn sort<T: SortKey>(keys: &mut [T], order: Order) {
    match T::KEY_TYPE.bytes() {
        1 => sort_as::<T, u8>(keys, order),
        2 => sort_as::<T, u16>(keys, order),
        4 => sort_as::<T, u32>(keys, order),
        _ => sort_as::<T, u64>(keys, order),
    }
}

/// The indices that sort keys: `keys[indices[i] as usize]` has rank i. Stable: equal keys have
/// ascending indices, also in descending order.
///
/// There are fewer than 2^32 keys. Time as that of [`sort`], for keys that are as long as key and
/// index. Memory: 8 bytes for each key, 16 for keys of 8 bytes, and 4 for each index.
///
/// # Panics
///
/// There are more keys than a `u32` can number.
///
/// # Examples
///
/// ```
/// use bcfsort_auto::cpu;
/// use wgpu_bcfsort::Order;
/// assert_eq!(cpu::argsort(&[2.5_f64, 0.5, 2.5, 9.0], Order::Descending), [3, 0, 2, 1]);
/// ```
#[must_use]
pub fn argsort<T: SortKey>(keys: &[T], order: Order) -> Vec<u32> {
    assert!(
        u32::try_from(keys.len()).is_ok(),
        "more keys than a u32 can number"
    );
    // The key and, below it, the bytes of the index that so many keys need: no two records are
    // equal, so the order is stable.
    match (
        T::KEY_TYPE.bytes(),
        keys.len().checked_ilog2().unwrap_or(0) / 8,
    ) {
        (1..=4, 0 | 1) => argsort_as::<T, Narrow<2>>(keys, order),
        (1..=4, 2) => argsort_as::<T, Narrow<3>>(keys, order),
        (1..=4, _) => argsort_as::<T, Narrow<4>>(keys, order),
        (_, 0 | 1) => argsort_as::<T, Wide<2>>(keys, order),
        (_, 2) => argsort_as::<T, Wide<3>>(keys, order),
        (_, _) => argsort_as::<T, Wide<4>>(keys, order),
    }
}

/// An unsigned integer of the size of a key.
trait Word: RadixKey + bytemuck::Pod + Ord + Send + Sync {
    fn new(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! word {
    ($($type:ty)*) => {
        $(impl Word for $type {
            fn new(bits: u64) -> Self {
                bits as Self
            }
            fn bits(self) -> u64 {
                self.into()
            }
        })*
    };
}
word!(u8 u16 u32 u64);

fn sort_as<T: SortKey, W: Word>(keys: &mut [T], order: Order) {
    let map = T::KEY_TYPE.map(order);
    // The map is that of the upper bits of a word of 32.
    let unused = 32_u64.saturating_sub(T::KEY_TYPE.bytes() * 8);
    let words: &mut [W] = bytemuck::cast_slice_mut(keys);
    let is_identity = map.sign_mask == 0 && map.flip == 0;
    if !is_identity {
        map_all(words, |bits| map.encode(bits << unused) >> unused);
    }
    if words.len() < FEW {
        words.sort_unstable();
    } else {
        radix_sort(words);
    }
    if !is_identity {
        map_all(words, |bits| map.decode(bits << unused) >> unused);
    }
}

fn map_all<W: Word>(words: &mut [W], map: impl Fn(u64) -> u64 + Sync) {
    let map = |part: &mut [W]| part.iter_mut().for_each(|w| *w = W::new(map(w.bits())));
    if words.len() <= PART {
        map(words);
    } else {
        words.par_chunks_mut(PART).for_each(map);
    }
}

fn radix_sort<R: RadixKey + Copy + Send + Sync>(records: &mut [R]) {
    let sort = records.radix_sort_builder();
    if rayon::current_num_threads() == 1 {
        sort.with_single_threaded_tuner()
            .with_parallel(false)
            .sort();
    } else {
        sort.sort();
    }
}

/// A key with its index.
trait Indexed: RadixKey + Copy + Ord + Send + Sync {
    fn new(key: u64, index: u32) -> Self;
    fn index(self) -> u32;
}

/// A key of up to 32 bits, and below it an index of `BYTES` bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Narrow<const BYTES: usize>(u64);

impl<const BYTES: usize> RadixKey for Narrow<BYTES> {
    const LEVELS: usize = BYTES + 4;

    #[inline]
    fn get_level(&self, level: usize) -> u8 {
        (self.0 >> (level * 8)) as u8
    }
}

impl<const BYTES: usize> Indexed for Narrow<BYTES> {
    fn new(key: u64, index: u32) -> Self {
        Self(key << (BYTES * 8) | u64::from(index))
    }

    fn index(self) -> u32 {
        (self.0 & (u64::MAX >> (64 - BYTES * 8))) as u32
    }
}

/// A key of 64 bits, and an index of `BYTES` bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wide<const BYTES: usize> {
    key: u64,
    index: u32,
}

impl<const BYTES: usize> RadixKey for Wide<BYTES> {
    const LEVELS: usize = BYTES + 8;

    #[inline]
    fn get_level(&self, level: usize) -> u8 {
        if level < BYTES {
            (self.index >> (level * 8)) as u8
        } else {
            (self.key >> ((level - BYTES) * 8)) as u8
        }
    }
}

impl<const BYTES: usize> Indexed for Wide<BYTES> {
    fn new(key: u64, index: u32) -> Self {
        Self { key, index }
    }

    fn index(self) -> u32 {
        self.index
    }
}

fn argsort_as<T: SortKey, R: Indexed>(keys: &[T], order: Order) -> Vec<u32> {
    let record = |(key, index): (&T, u32)| R::new(key.rank(order), index);
    if keys.len() < FEW {
        let mut records: Vec<R> = keys.iter().zip(0..).map(record).collect();
        records.sort_unstable();
        return records.into_iter().map(R::index).collect();
    }
    let indices = 0..keys.len() as u32;
    let numbered = keys.par_iter().with_min_len(PART).zip(indices);
    let mut records: Vec<R> = numbered.map(record).collect();
    radix_sort(&mut records);
    let records = records.into_par_iter().with_min_len(PART);
    records.map(R::index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys with duplicates, zeros of both signs and NaNs.
    fn keys<T: SortKey>(len: usize) -> Vec<T> {
        let mut state = 1_u64;
        let key = |i: usize| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let low = [0, 1 << 31, 1 << 63, u64::MAX][i / 3 % 4];
            T::from_bits64(if i.is_multiple_of(3) {
                low
            } else {
                state.rotate_left(32)
            })
        };
        (0..len).map(key).collect()
    }

    fn check<T: SortKey>() {
        for len in [
            0,
            1,
            2,
            255,
            256,
            257,
            FEW - 1,
            FEW,
            1 << 16,
            (1 << 16) + 1,
            300_000,
        ] {
            let keys = keys::<T>(len);
            for order in [Order::Ascending, Order::Descending] {
                for threads in [1, 3] {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                    let (sorted, indices) = pool.unwrap().install(|| {
                        let mut sorted = keys.clone();
                        sort(&mut sorted, order);
                        (sorted, argsort(&keys, order))
                    });
                    let mut expected: Vec<u32> = (0..len as u32).collect();
                    expected.sort_by_key(|&i| keys[i as usize].rank(order));
                    let bits = |keys: Vec<T>| -> Vec<u64> {
                        keys.into_iter().map(SortKey::to_bits64).collect()
                    };
                    let what = format!("{len} {}, {order:?}, {threads} threads", T::KEY_TYPE);
                    let gathered = expected.iter().map(|&i| keys[i as usize]).collect();
                    assert!(bits(sorted) == bits(gathered), "{what}");
                    assert!(indices == expected, "{what}");
                }
            }
        }
    }

    #[test]
    fn all_types_have_the_order_of_their_ranks_and_argsorts_are_stable() {
        check::<u8>();
        check::<i8>();
        check::<u16>();
        check::<i16>();
        check::<u32>();
        check::<i32>();
        check::<f32>();
        check::<u64>();
        check::<i64>();
        check::<f64>();
    }
}

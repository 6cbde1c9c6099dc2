//! Prefix sums on the CPU: the reference for the GPU's results.

use super::method::Scan;
use super::options::PrefixSumsOptions;
use super::tiling::Tiling;
use crate::error::Error;
use crate::key::{KeyType, SortKey};
use crate::shader::{MATRIX, W};

/// A type that prefix sums support: `u32`, `i32`, `f32`. The trait is sealed, as [`SortKey`] is.
pub trait Summand: SortKey {
    /// The sum of no values: 0, or +0 for floats.
    const ZERO: Self;
    /// The sum of two values: integers wrap around, floats are rounded to nearest, ties to even.
    #[must_use]
    fn plus(self, other: Self) -> Self;
}

impl Summand for u32 {
    const ZERO: Self = 0;
    #[inline]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

impl Summand for i32 {
    const ZERO: Self = 0;
    #[inline]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

impl Summand for f32 {
    const ZERO: Self = 0.0;
    #[inline]
    fn plus(self, other: Self) -> Self {
        self + other
    }
}

/// Checks that each value has a color, and that it is below the number of colors.
pub(super) fn check(
    values: usize,
    colors: &[u32],
    options: &PrefixSumsOptions,
) -> Result<(), Error> {
    options.validate()?;
    if values != colors.len() {
        return Err(Error::LengthsDiffer {
            of: "values",
            first: values as u64,
            with: "colors",
            second: colors.len() as u64,
        });
    }
    match colors.iter().position(|&color| color >= options.colors) {
        Some(index) => Err(Error::ColorOutOfRange {
            index: index as u64,
            color: colors[index],
            colors: options.colors,
        }),
        None => Ok(()),
    }
}

/// Replaces each value by the inclusive or exclusive sum of the values of its color, on the CPU.
///
/// The order of the additions is that of [`PrefixSums`](crate::paper::PrefixSums). So floats are
/// the same bits, too, on devices that round as IEEE 754 says
/// ([rounding](crate::paper::PrefixSums#rounding)). [`PrefixSumsOptions::method`] makes no
/// difference. O(n) time.
///
/// # Errors
///
/// [`Error::InvalidOption`], [`Error::LengthsDiffer`], [`Error::ColorOutOfRange`],
/// [`Error::TooLarge`] from about 2^32 values on. The values are unchanged after an error.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), wgpu_bcfsort::Error> {
/// use wgpu_bcfsort::paper::{PrefixSumsOptions, prefix_sums_on_cpu};
/// let mut values = [1_i32, 10, 2, 20, -3];
/// prefix_sums_on_cpu(&mut values, &[0, 1, 0, 1, 0], &PrefixSumsOptions::default().colors(2))?;
/// assert_eq!(values, [1, 10, 3, 30, 0]);
/// # Ok(()) }
/// ```
pub fn prefix_sums_on_cpu<T: Summand>(
    values: &mut [T],
    colors: &[u32],
    options: &PrefixSumsOptions,
) -> Result<(), Error> {
    check(values.len(), colors, options)?;
    let exclusive = options.scan == Scan::Exclusive;
    let d = options.colors as usize;
    if T::KEY_TYPE != KeyType::F32 {
        // Integer sums do not depend on the order of the additions.
        run_through(values, colors, &mut vec![T::ZERO; d], exclusive);
        return Ok(());
    }
    let most = u64::from(u32::MAX) - 2 * u64::from(crate::shader::LARGEST_TILE);
    let len = u32::try_from(values.len())
        .ok()
        .filter(|&len| u64::from(len) <= most);
    let len = len.ok_or(Error::TooLarge {
        len: values.len() as u64,
        key: T::KEY_TYPE,
        bytes: size_of_val(values) as u64,
        max_len: most,
        limit: "indices of 32 bits",
        limit_bytes: most * T::KEY_TYPE.bytes(),
    })?;
    let tiling = Tiling::new(len, options.tiles);
    let tile = tiling.tile as usize;

    // Phase 1: the sums of each tile, a row per tile.
    let mut sums: Vec<Vec<T>> = values
        .chunks(tile)
        .zip(colors.chunks(tile))
        .map(|(values, colors)| {
            let mut lanes = vec![vec![T::ZERO; d]; W as usize];
            for (i, (&value, &color)) in values.iter().zip(colors).enumerate() {
                let sum = &mut lanes[i % W as usize][color as usize];
                *sum = sum.plus(value);
            }
            (0..d)
                .map(|color| sum(lanes.iter().map(|lane| lane[color])))
                .collect()
        })
        .collect();

    // Phase 2: a lane has `rounds` consecutive tiles, and continues the sum of the lanes before it.
    for color in 0..d {
        let mut offset = T::ZERO;
        for lane in sums.chunks_mut(tiling.rounds().max(1) as usize) {
            let all = sum(lane.iter().map(|sums| sums[color]));
            let mut running = offset;
            for sums in lane {
                let sum = std::mem::replace(&mut sums[color], running);
                running = running.plus(sum);
            }
            offset = offset.plus(all);
        }
    }

    // Phase 3: a lane has 32 consecutive elements of each page.
    let tiles = values.chunks_mut(tile).zip(colors.chunks(tile));
    for ((values, colors), offsets) in tiles.zip(&mut sums) {
        let pages = values.chunks_mut(MATRIX as usize);
        for (values, colors) in pages.zip(colors.chunks(MATRIX as usize)) {
            let lanes = values.chunks_mut(W as usize);
            for (values, colors) in lanes.zip(colors.chunks(W as usize)) {
                let mut of_chunk = vec![T::ZERO; d];
                for (&value, &color) in values.iter().zip(colors) {
                    let sum = &mut of_chunk[color as usize];
                    *sum = sum.plus(value);
                }
                run_through(values, colors, &mut offsets.clone(), exclusive);
                for (offset, sum) in offsets.iter_mut().zip(of_chunk) {
                    *offset = offset.plus(sum);
                }
            }
        }
    }
    Ok(())
}

/// The sum of values from first to last.
fn sum<T: Summand>(values: impl Iterator<Item = T>) -> T {
    values.fold(T::ZERO, T::plus)
}

/// Sequential prefix sums, starting from the sums of each color before.
fn run_through<T: Summand>(values: &mut [T], colors: &[u32], sums: &mut [T], exclusive: bool) {
    for (value, &color) in values.iter_mut().zip(colors) {
        let before = sums[color as usize];
        let sum = before.plus(*value);
        sums[color as usize] = sum;
        *value = if exclusive { before } else { sum };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn color_of(i: usize, d: u32) -> u32 {
        ((i as u64 * 0x9e37_79b9) >> 7) as u32 % d
    }

    /// The definition of prefix sums, in exact numbers.
    fn defined(values: &[i64], colors: &[u32], exclusive: bool) -> Vec<i64> {
        (0..values.len())
            .map(|i| {
                let end = if exclusive { i } else { i + 1 };
                let of_color = (0..end).filter(|&k| colors[k] == colors[i]);
                of_color.map(|k| values[k]).sum()
            })
            .collect()
    }

    #[test]
    fn sums_match_the_definition() {
        for (n, d, tiles) in [
            (0, 1, None),
            (1, 3, None),
            (33, 16, None),
            (1025, 5, None),
            (5000, 7, Some(2)),
            (5000, 2, Some(4)),
        ] {
            for scan in Scan::ALL {
                let mut options = PrefixSumsOptions::default().colors(d).scan(scan);
                options.tiles = tiles;
                let colors: Vec<u32> = (0..n).map(|i| color_of(i, d)).collect();
                let values: Vec<i64> = (0_i64..).take(n).map(|i| i * 37 % 101 - 40).collect();
                let expected = defined(&values, &colors, scan == Scan::Exclusive);
                let mut integers: Vec<i32> = values.iter().map(|&v| v as i32).collect();
                prefix_sums_on_cpu(&mut integers, &colors, &options).unwrap();
                assert!(integers.iter().map(|&v| i64::from(v)).eq(expected.clone()));
                // Each of these sums is exact as a float.
                let mut floats: Vec<f32> = values.iter().map(|&v| v as f32).collect();
                prefix_sums_on_cpu(&mut floats, &colors, &options).unwrap();
                assert!(floats.iter().map(|&v| v as i64).eq(expected));
            }
        }
    }

    #[test]
    fn integers_wrap_and_floats_begin_at_zero() {
        let one = PrefixSumsOptions::default();
        let mut values = [u32::MAX, 3];
        prefix_sums_on_cpu(&mut values, &[0, 0], &one).unwrap();
        assert_eq!(values, [u32::MAX, 2]);
        let mut values = [i32::MAX, 1];
        prefix_sums_on_cpu(&mut values, &[0, 0], &one).unwrap();
        assert_eq!(values, [i32::MAX, i32::MIN]);
        let mut values = [-0.0_f32, -0.0];
        prefix_sums_on_cpu(&mut values, &[0, 0], &one).unwrap();
        assert_eq!(values.map(f32::to_bits), [0, 0]);
        let mut values = [1.0, f32::INFINITY, 2.0, f32::NEG_INFINITY, 5.0];
        prefix_sums_on_cpu(&mut values, &[0; 5], &one).unwrap();
        assert_eq!(values[..3], [1.0, f32::INFINITY, f32::INFINITY]);
        assert!(values[3..].iter().all(|v| v.is_nan()));
    }

    #[test]
    fn wrong_input_is_refused_with_the_numbers_and_changes_nothing() {
        let mut values = [1_u32, 2, 3];
        let options = PrefixSumsOptions::default().colors(2);
        let error = prefix_sums_on_cpu(&mut values, &[0, 1], &options).unwrap_err();
        assert_eq!(
            error.to_string(),
            "3 values but 2 colors: the lengths must be equal"
        );
        let error = prefix_sums_on_cpu(&mut values, &[0, 2, 9], &options).unwrap_err();
        assert_eq!(
            error.to_string(),
            "color 2 at index 1: with 2 colors the greatest is 1"
        );
        for (options, name) in [
            (options.clone().colors(0), "colors"),
            (options.clone().colors(17), "colors"),
            (options.clone().tiles(0), "tiles"),
            (options.tiles(16_385), "tiles"),
        ] {
            let error = prefix_sums_on_cpu(&mut values, &[0; 3], &options).unwrap_err();
            assert!(matches!(error, Error::InvalidOption { name: n, .. } if n == name));
        }
        assert_eq!(values, [1, 2, 3]);
    }
}

//! Inputs of prefix sums, and the expected results.

use wgpu_bcfsort::KeyType;
use wgpu_bcfsort::internals::recording::Recording;
use wgpu_bcfsort::internals::shader::{MATRIX, W};
use wgpu_bcfsort::paper::{PrefixSumsOptions, Scan, Summand, prefix_sums_on_cpu};

/// A way to color values. The ways differ most in which lanes of prefix sums meet in one bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Coloring {
    /// Random.
    Random,
    /// All equal.
    Equal,
    /// By the lanes that process the value in the first and in the third phase.
    Lanes,
    /// The worst case if each lane's sums were contiguous: the largest possible number of lanes, d,
    /// would meet in one bank. Even pages have it in the third phase, odd ones in the first.
    Worst,
    /// Random, with some beyond the last color: those values have no color.
    Beyond,
}

impl Coloring {
    /// Every coloring.
    pub const ALL: [Self; 5] = [
        Self::Random,
        Self::Equal,
        Self::Lanes,
        Self::Worst,
        Self::Beyond,
    ];

    /// Colors `len` values with `colors` colors. The result is the same each time.
    #[must_use]
    pub fn make(self, len: u32, colors: u32) -> Vec<u32> {
        (0..len).map(|i| self.color(i, colors)).collect()
    }

    fn color(self, i: u32, d: u32) -> u32 {
        // A multiplicative hash (Knuth): its upper bits are as good as random.
        let random = i.wrapping_add(1).wrapping_mul(0x9e37_79b1) >> 9;
        let random = (random ^ (random >> 11)).wrapping_mul(0x85eb_ca6b) >> 13;
        let (line, position) = (i % MATRIX / W, i % W);
        match self {
            Self::Equal => d - 1,
            Self::Lanes => (line ^ (position << 2)) % d,
            Self::Worst => {
                let (lane, step) = if (i / MATRIX).is_multiple_of(2) {
                    (line, position)
                } else {
                    (position, line)
                };
                // The sum of color c would be in bank (lane * d + c) % 32. This c puts it into
                // bank `step`.
                let color = (step + W * d - lane * d) % W;
                color % d
            }
            Self::Beyond if random.is_multiple_of(7) => {
                [d, 31, u32::MAX, 1 << 31][random as usize % 4].max(d)
            }
            Self::Random | Self::Beyond => random % d,
        }
    }
}

/// The expected contents of [`Buffer::Keys`](wgpu_bcfsort::internals::recording::Buffer::Keys)
/// after a recording of prefix sums of these values and colors: the CPU's sums, and unchanged
/// values that have no color. The words are those of `u32`, `i32` or `f32` values. If a sum is a
/// `NaN`, its bits are the CPU's.
///
/// # Panics
///
/// If the recording is not of prefix sums, or not of this number of values.
#[must_use]
pub fn prefix_sums_of(recording: &Recording, values: &[u32], colors: &[u32]) -> Vec<u32> {
    fn sums<T: Summand>(words: &[u32], colors: &[u32], options: &PrefixSumsOptions) -> Vec<u32> {
        let mut values: Vec<T> = bytemuck::pod_collect_to_vec(words);
        prefix_sums_on_cpu(&mut values, colors, options).expect("checked by the recording");
        bytemuck::pod_collect_to_vec(&values)
    }
    let last = recording.steps.last();
    let parameter = |name| last.and_then(|step| step.parameter(name));
    let parameter = |name| parameter(name).expect("a recording of prefix sums");
    let d = parameter("colors");
    let mut options = PrefixSumsOptions::default()
        .colors(d)
        .tiles(recording.len.div_ceil(parameter("tile")));
    if parameter("exclusive") == 1 {
        options = options.scan(Scan::Exclusive);
    }
    // Adding a 0 changes no bit of a sum, since no sum is -0.
    let pairs = values.iter().zip(colors);
    let (added, of): (Vec<u32>, Vec<u32>) = pairs
        .clone()
        .map(|(&value, &color)| if color < d { (value, color) } else { (0, 0) })
        .unzip();
    let sums = match recording.key {
        KeyType::U32 => sums::<u32>(&added, &of, &options),
        KeyType::I32 => sums::<i32>(&added, &of, &options),
        KeyType::F32 => sums::<f32>(&added, &of, &options),
        other => panic!("no sums of {other}"),
    };
    pairs
        .zip(sums)
        .map(|((&value, &color), sum)| if color < d { sum } else { value })
        .collect()
}

//! Inputs of prefix sums and scans, and the expected results.

use wgpu_bcfsort::KeyType;
use wgpu_bcfsort::internals::recording::{Recording, Step};
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
/// values that have no color. The words are those of values of the recording's type. If a sum is a
/// `NaN`, its bits are the CPU's. Of a scan, there are no colors.
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
    let is_scan = |step: &Step| step.kernel.is("scan.tile_sums");
    if recording.steps.first().is_some_and(is_scan) {
        return scan_of(recording, values);
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

/// Lanes of a workgroup, and values of a tile.
const LANES: usize = 256;
const TILE: usize = 32 * LANES;

/// A type that scans add, as they add it.
trait Added: bytemuck::Pod + Default {
    fn added(self, other: Self) -> Self;
}

impl Added for u32 {
    fn added(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

impl Added for u64 {
    fn added(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

impl Added for f32 {
    fn added(self, other: Self) -> Self {
        self + other
    }
}

fn sum<T: Added>(values: impl IntoIterator<Item = T>) -> T {
    values.into_iter().fold(T::default(), T::added)
}

/// The sum of the lanes before each, and that of all, by `lib/scan.wgsl`.
fn sums_before<T: Added>(of_lanes: &[T]) -> (Vec<T>, T) {
    let totals = of_lanes
        .chunks(LANES / 32)
        .map(|own| sum(own.iter().copied()));
    let totals: Vec<T> = totals.collect();
    let mut before = Vec::new();
    for (number, own) in of_lanes.chunks(LANES / 32).enumerate() {
        let mut so_far = sum(totals[..number].iter().copied());
        for &value in own {
            before.push(so_far);
            so_far = so_far.added(value);
        }
    }
    let last = of_lanes.len() - 1;
    let all = before[last].added(of_lanes[last]);
    (before, all)
}

/// The sum of a tile, by `scan/tile_sums.wgsl`.
fn tile_sum<T: Added>(tile: &[T]) -> T {
    let lane = |lane: usize| sum(tile.iter().copied().skip(lane).step_by(LANES));
    let lanes: Vec<T> = (0..LANES).map(lane).collect();
    let of_32 = |first: usize| {
        let others = lanes.iter().copied().skip(first).step_by(32);
        others.reduce(T::added).unwrap_or_default()
    };
    (0..32).map(of_32).reduce(T::added).unwrap_or_default()
}

/// The scan of some values in chunks of `each` values per lane, after a sum, by
/// `scan/tile_offsets.wgsl` and `scan/prefix_sums.wgsl`.
fn scan_after<T: Added>(mut before: T, values: &[T], each: usize, is_exclusive: bool) -> Vec<T> {
    let mut sums = Vec::new();
    for chunk in values.chunks(each * LANES) {
        let mut padded = chunk.to_vec();
        padded.resize(each * LANES, T::default());
        let of_lanes = padded.chunks(each).map(|own| sum(own.iter().copied()));
        let (of_others, all) = sums_before(&of_lanes.collect::<Vec<T>>());
        for (own, of_others) in padded.chunks(each).zip(of_others) {
            let mut so_far = before.added(of_others);
            for &value in own {
                let with_own = so_far.added(value);
                sums.push(if is_exclusive { so_far } else { with_own });
                so_far = with_own;
            }
        }
        before = before.added(all);
    }
    sums.truncate(values.len());
    sums
}

/// The expected sums of a scan: in the order in which the kernels add.
fn scan_of(recording: &Recording, words: &[u32]) -> Vec<u32> {
    fn scan<T: Added>(words: &[u32], each: usize, is_exclusive: bool) -> Vec<u32> {
        let values: Vec<T> = bytemuck::pod_collect_to_vec(words);
        let tile_sums: Vec<T> = values.chunks(TILE).map(tile_sum).collect();
        let offsets = scan_after(T::default(), &tile_sums, 8, true);
        let tiles = values.chunks(TILE).zip(offsets);
        let sums: Vec<T> = tiles
            .flat_map(|(tile, before)| scan_after(before, tile, each, is_exclusive))
            .collect();
        bytemuck::pod_collect_to_vec(&sums)
    }
    let is_exclusive = recording.steps[0].parameter("exclusive") == Some(1);
    match recording.key {
        KeyType::F32 => scan::<f32>(words, 8, is_exclusive),
        key if key.words() == 2 => scan::<u64>(words, 4, is_exclusive),
        _ => scan::<u32>(words, 8, is_exclusive),
    }
}

//! Comparator networks, and their text in WGSL.
//!
//! Networks are unrolled with constant indices. In a loop, the register array falls out of the
//! registers (the hazard of the paper's section 3.3), which is 25 times slower on an NVIDIA H200.

/// A comparator network: applied in order, its [`comparators`](Self::comparators) sort or merge any
/// `lines` values.
///
/// # Examples
///
/// ```
/// use wgpu_bcfsort::internals::shader::Network;
/// let network = Network::odd_even_merge_sort(32);
/// assert_eq!(network.comparators().len(), 191);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    lines: u32,
    comparators: Vec<(u32, u32)>,
}

impl Network {
    /// Batcher's odd-even merge sort ("Sorting networks and their applications", 1968). `lines` is
    /// a power of two: 191 comparators for 32.
    ///
    /// # Panics
    ///
    /// If `lines` is not a power of two.
    #[must_use]
    pub fn odd_even_merge_sort(lines: u32) -> Self {
        assert!(lines.is_power_of_two());
        let mut comparators = Vec::new();
        let mut block = 1;
        while block < lines {
            let mut distance = block;
            while distance >= 1 {
                for start in (distance % block..lines - distance).step_by(2 * distance as usize) {
                    for i in start..(start + distance).min(lines - distance) {
                        if i / (2 * block) == (i + distance) / (2 * block) {
                            comparators.push((i, i + distance));
                        }
                    }
                }
                distance /= 2;
            }
            block *= 2;
        }
        Self { lines, comparators }
    }

    /// Batcher's bitonic merger: sorts every rotation of an ascending followed by a descending
    /// sequence. `lines / 2 * log2(lines)` comparators: 80 for 32.
    ///
    /// # Panics
    ///
    /// If `lines` is not a power of two.
    #[must_use]
    pub fn bitonic_merger(lines: u32) -> Self {
        assert!(lines.is_power_of_two());
        let comparators = stages(lines, lines / 2).collect();
        Self { lines, comparators }
    }

    /// The part of a bitonic merge that compares keys of different lines of a matrix. Each block of
    /// `2^k` lines has two ascending sequences, one in each half of its lines. Each position of the
    /// lines is merged separately, with `lines / 2 * k` comparators; the bitonic merger of each
    /// line completes the merge.
    ///
    /// The values are at one position in the lines of a block's first half, and at the opposite
    /// position in the lines of its second half. These lines are read backwards, which makes the
    /// two sequences a bitonic one.
    ///
    /// # Panics
    ///
    /// If `lines` is not a power of two, or a block has more than `lines` lines.
    #[must_use]
    pub fn bitonic_cross(lines: u32, k: u32) -> Self {
        assert!(lines.is_power_of_two() && (1..=lines.ilog2()).contains(&k));
        let mut comparators: Vec<_> = (0..lines)
            .filter(|i| i >> (k - 1) & 1 == 0)
            // The opposite line of the block.
            .map(|i| (i, i ^ ((1 << k) - 1)))
            .collect();
        comparators.extend(stages(lines, (1 << k) / 4));
        Self { lines, comparators }
    }

    /// The last stages of a bitonic merger, with distances below `2^bits`: merges each block of
    /// `2^bits` lines.
    ///
    /// # Panics
    ///
    /// If `lines` is not a power of two, or a block has more than `lines` lines.
    #[must_use]
    pub fn half_cleaners(lines: u32, bits: u32) -> Self {
        let block = Self::bitonic_merger(1 << bits);
        assert!(lines.is_power_of_two() && bits <= lines.ilog2());
        // Stage by stage, so that neighbouring comparators are independent.
        let stages = block.comparators.chunks(block.lines.max(2) as usize / 2);
        let comparators = stages
            .flat_map(|stage| {
                (0..lines >> bits).flat_map(move |copy| {
                    stage
                        .iter()
                        .map(move |&(a, b)| (a + (copy << bits), b + (copy << bits)))
                })
            })
            .collect();
        Self { lines, comparators }
    }

    /// `copies` copies of this network, each on its own consecutive lines.
    #[must_use]
    pub fn side_by_side(&self, copies: u32) -> Self {
        let shifted = |by: u32| {
            self.comparators
                .iter()
                .map(move |&(low, high)| (low + by, high + by))
        };
        Self {
            lines: self.lines * copies,
            comparators: (0..copies)
                .flat_map(|copy| shifted(copy * self.lines))
                .collect(),
        }
    }

    /// Pairs of lines in the order of their comparators; the smaller key goes to the first line.
    #[must_use]
    pub fn comparators(&self) -> &[(u32, u32)] {
        &self.comparators
    }

    /// The comparators of the first stage. Every stage must compare each line with another one.
    pub(crate) fn first_stage(&self) -> &[(u32, u32)] {
        &self.comparators[..self.lines as usize / 2]
    }

    /// Applies the network to values on the CPU.
    ///
    /// # Panics
    ///
    /// If `values` has fewer elements than the network has lines.
    pub fn apply<T: Ord>(&self, values: &mut [T]) {
        for &(low, high) in &self.comparators {
            if values[low as usize] > values[high as usize] {
                values.swap(low as usize, high as usize);
            }
        }
    }

    /// The network as a WGSL function over an array of keys, one statement per comparator.
    #[must_use]
    pub fn to_wgsl(&self, function: &str) -> String {
        let mut text = format!(
            "// {} comparators, written by src/shader/network.rs.\nfn {function}(r: ptr<function, \
             array<Key, {}>>) {{\n    var x: Ordered;\n",
            self.comparators.len(),
            self.lines
        );
        for (low, high) in &self.comparators {
            text += &format!(
                "    x = compare_exchange((*r)[{low}], (*r)[{high}]); (*r)[{low}] = x.low; \
                 (*r)[{high}] = x.high;\n"
            );
        }
        text.push_str("}\n");
        text
    }
}

/// The stages of a bitonic merge with the distances `distance`, `distance / 2` and so on to 1. Each
/// compares lines that are as far apart.
fn stages(lines: u32, distance: u32) -> impl Iterator<Item = (u32, u32)> {
    let halves = std::iter::successors(Some(distance), |distance| Some(distance / 2));
    let distances = halves.take_while(|&distance| distance >= 1);
    distances.flat_map(move |distance| {
        (0..lines)
            .filter(move |i| i & distance == 0)
            .map(move |i| (i, i + distance))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(value: u32, lines: u32) -> Vec<bool> {
        (0..lines).map(|i| value >> i & 1 == 1).collect()
    }

    #[test]
    fn odd_even_merge_sort_sorts_every_zero_one_input() {
        for lines in [1, 2, 4, 8, 16] {
            let network = Network::odd_even_merge_sort(lines);
            for value in 0..1 << lines {
                let mut values = bits(value, lines);
                network.apply(&mut values);
                assert!(values.is_sorted(), "{lines} lines, input {value:b}");
            }
        }
    }

    /// In place of 2^32 inputs: the network begins with that of 16 lines on both halves, as the
    /// test asserts. It sorts them (proven above), so it is enough to merge every pair of sorted
    /// halves.
    #[test]
    fn odd_even_merge_sort_of_32_sorts_every_zero_one_input() {
        let network = Network::odd_even_merge_sort(32);
        let half = Network::odd_even_merge_sort(16);
        let merge = network.comparators().len() - 2 * half.comparators().len();
        let (halves, last) = network.comparators().split_at(2 * half.comparators().len());
        assert_eq!(merge, 65);
        let of = |offset: u32| -> Vec<(u32, u32)> {
            halves
                .iter()
                .filter(|c| c.0 / 16 == offset && c.1 / 16 == offset)
                .map(|c| (c.0 - 16 * offset, c.1 - 16 * offset))
                .collect()
        };
        assert_eq!(of(0), half.comparators());
        assert_eq!(of(1), half.comparators());
        for zeros_low in 0..=16 {
            for zeros_high in 0..=16 {
                let mut values: Vec<bool> = (0..32)
                    .map(|i| {
                        if i < 16 {
                            i >= zeros_low
                        } else {
                            i - 16 >= zeros_high
                        }
                    })
                    .collect();
                for &(low, high) in last {
                    if values[low as usize] && !values[high as usize] {
                        values.swap(low as usize, high as usize);
                    }
                }
                assert!(values.is_sorted(), "{zeros_low} and {zeros_high} zeros");
            }
        }
    }

    #[test]
    fn bitonic_merger_sorts_every_bitonic_zero_one_input() {
        for lines in [1, 2, 4, 8, 16, 32] {
            let network = Network::bitonic_merger(lines);
            for start in 0..lines {
                for ones in 0..=lines {
                    let mut values: Vec<bool> = (0..lines)
                        .map(|i| (i + lines - start) % lines < ones)
                        .collect();
                    network.apply(&mut values);
                    assert!(values.is_sorted(), "{ones} ones from {start} of {lines}");
                }
            }
        }
    }

    /// For two sorted halves of every block, and lines of one key. For lines of more keys, the
    /// merge is proven in tests/properties/proofs.rs.
    #[test]
    fn bitonic_cross_merges_every_two_sorted_halves_of_every_block() {
        for lines in [2u32, 4, 8, 16, 32] {
            for k in 1..=lines.ilog2() {
                let network = Network::bitonic_cross(lines, k);
                assert_eq!(network.comparators().len() as u32, lines / 2 * k);
                let half = 1 << (k - 1);
                for (first, second) in (0..=half).flat_map(|a| (0..=half).map(move |b| (a, b))) {
                    // Every other block has its halves exchanged, so that blocks differ.
                    let is_one = |i: u32| {
                        let other = (i / half) % 2 != (i / half / 2) % 2;
                        i % half >= if other { second } else { first }
                    };
                    let mut values: Vec<bool> = (0..lines).map(is_one).collect();
                    network.apply(&mut values);
                    let mut blocks = values.chunks(2 * half as usize);
                    assert!(blocks.all(<[bool]>::is_sorted), "{lines} lines, k = {k}");
                }
            }
        }
    }

    #[test]
    fn networks_side_by_side_sort_their_own_lines() {
        let network = Network::odd_even_merge_sort(4).side_by_side(3);
        assert_eq!(network.comparators().len(), 3 * 5);
        for value in 0..1 << 12 {
            let mut values = bits(value, 12);
            let ones: Vec<_> = values
                .chunks(4)
                .map(|c| c.iter().filter(|b| **b).count())
                .collect();
            network.apply(&mut values);
            for (chunk, ones) in values.chunks(4).zip(ones) {
                assert!(chunk.is_sorted());
                assert_eq!(chunk.iter().filter(|b| **b).count(), ones);
            }
        }
        let none = Network::odd_even_merge_sort(1).side_by_side(32);
        assert_eq!((none.lines, none.comparators().len()), (32, 0));
    }

    #[test]
    fn comparator_counts_are_as_published() {
        assert_eq!(Network::odd_even_merge_sort(16).comparators().len(), 63);
        assert_eq!(Network::odd_even_merge_sort(32).comparators().len(), 191);
        assert_eq!(Network::bitonic_merger(32).comparators().len(), 80);
    }

    #[test]
    fn a_network_without_its_last_comparator_fails() {
        let mut network = Network::odd_even_merge_sort(8);
        network.comparators.pop();
        let sorted = |value| {
            let mut values = bits(value, 8);
            network.apply(&mut values);
            values.is_sorted()
        };
        assert!(!(0..256).all(sorted));
    }
}
